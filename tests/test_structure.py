"""The shape of the package: who imports whom."""

import ast
import re
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import claimbook
from helpers import python

SOURCE = Path(claimbook.__file__).parent
FILES = {
    path.relative_to(SOURCE).with_suffix("").as_posix().removesuffix("/__init__"): path
    for path in SOURCE.rglob("*.py")
}
DESIGN = Path(__file__).parents[1] / "docs" / "contributing" / "design.md"


def table():
    """Yield each folder of the design's table, with what it may import."""
    _, _, rest = DESIGN.read_text("utf-8").partition("| folder | holds | may import |\n")
    rows = rest.partition("\n\n")[0]
    for names, allowed in re.findall(r"^\| (`.*?`) \| .* \| (.*) \|$", rows, re.MULTILINE):
        for name in re.findall(r"\w+", names):
            yield name, set(re.findall(r"\w+", allowed)) - {"nothing"}


MAY_IMPORT = {**dict(table()), "__init__": set(), "__main__": {"cli"}}

TORCH = {
    *("engine/worker", "engine/isolation", "engine/environment"),
    *("sweeps/search", "sweeps/strategies"),
    "sphinx/execute/labs",
}
"""Who imports torch, beside `teach`."""

OTHERS = {
    "pages": {"docutils", "markdown_it", "myst_parser", "yaml"},
    "engine": {"torch"},
    "records": {"msgspec"},
    "pytest_plugin": {"pytest"},
    "cli": {"click", "rich"},
    "sphinx": {
        *("docutils", "sphinx", "sphinx_gallery", "torch", "matplotlib", "joblib"),
    },
    "exports": {
        *("docutils", "sphinx", "sphinx_markdown_builder"),
        *("genanki", "markdown_it", "pygments"),
    },
    "sweeps": {"torch", "hypothesis", "yaml"},
    "teach": {"torch", "matplotlib"},
}
"""What each may import that is neither Python's own nor this package's."""


def part(module):
    """The row of the table that a module belongs to."""
    return module.partition("/")[0]


def imports(path, *, inside_functions=True):
    """The dotted names that a file imports."""
    tree = ast.parse(path.read_text("utf-8"))
    nodes = ast.walk(tree) if inside_functions else tree.body
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own(name):
    """The module of this package that an imported name stands for; None if it is another's."""
    first, _, rest = name.partition(".")
    if first != "claimbook":
        return None
    parts = rest.split(".")
    while parts and "/".join(parts) not in FILES:
        parts.pop()
    return "/".join(parts) or "__init__"


@pytest.mark.parametrize("module", sorted(FILES))
def test_imports_follow_the_table(module):
    """No module imports what the design does not let it."""
    used = {part(name) for name in map(own, imports(FILES[module])) if name}
    assert used - {part(module), "__init__"} <= MAY_IMPORT[part(module)]


@pytest.mark.parametrize("module", sorted(FILES))
def test_imports_from_elsewhere(module):
    """No module imports a library that its task does not need."""
    foreign = {name.partition(".")[0] for name in imports(FILES[module]) if not own(name)}
    assert foreign - set(sys.stdlib_module_names) <= OTHERS.get(part(module), set())


def test_who_imports_torch():
    """Few do, and only inside functions or in a process of their own."""
    found = {
        module
        for module, path in FILES.items()
        if part(module) != "teach" and any(name.split(".")[0] == "torch" for name in imports(path))
    }
    assert found == TORCH


def test_no_circles():
    """The modules can be put in an order, imports inside functions included."""
    graph = {
        module: {name for name in map(own, imports(path)) if name} - {module}
        for module, path in FILES.items()
    }
    assert [*TopologicalSorter(graph).static_order()]


SLOW = "torch sphinx matplotlib IPython jupyter_client"


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        ("claimbook.engine.pool, claimbook.pages.parser", SLOW),
        ("claimbook.cli", SLOW),
        ("claimbook.pytest_plugin", SLOW),
        ("claimbook.sphinx", "torch matplotlib nbformat genanki"),
    ],
)
def test_what_an_import_loads(modules, absent):
    """What needs no torch, Sphinx or Matplotlib does not load it."""
    code = f"import {modules}, sys; print([m for m in {absent.split()} if m in sys.modules])"
    assert python("-c", code).stdout == "[]\n"
