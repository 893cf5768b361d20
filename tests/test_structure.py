"""The shape of the package: who imports whom."""

import ast
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
EVERYTHING = {
    *("__init__", "model", "myst", "directive", "parser", "register", "checker"),
    *("environment", "runner", "state", "worker"),
    *("line", "store", "records", "mutants", "falsify", "report", "accept", "book", "export"),
    *("errors", "apis", "prose", "releases", "machines", "versions", "perturb"),
}
MAY_IMPORT = {
    "__init__": set(),
    "model": set(),
    "prose": set(),
    "myst": {"model"},
    "directive": {"model", "myst", "prose"},
    "parser": {"model", "myst", "directive", "prose"},
    "register": {"model"},
    "checker": {"model"},
    "environment": {"model"},
    "line": set(),
    "state": {"model"},
    "worker": {"model", "environment", "line", "state"},
    "runner": {"model", "checker", "environment", "line"},
    "store": {"model"},
    "records": {"model", "environment", "store"},
    "mutants": {"model"},
    "falsify": {"model", "mutants", "runner", "store"},
    "report": {"model", "checker"},
    "accept": {"model", "checker", "parser", "store"},
    "book": {"model", "parser", "register", "records"},
    "errors": {"model", "checker"},
    "apis": set(),
    "export": {"model", "register"},
    "perturb": {"model"},
    "releases": {
        "__init__",
        "model",
        "checker",
        "environment",
        "accept",
        "store",
        "records",
        "book",
    },
    "machines": {"model", "releases", "store"},
    "versions": {
        "__init__",
        "model",
        "environment",
        "store",
        "records",
        "register",
        "export",
        "book",
    },
    "pytest_plugin": {"model", "book", "register", "report", "runner"},
    "cli": EVERYTHING,
    "editions": {"model", "myst", "prose", "register", "checker", "export", "errors"},
    "__main__": {"cli"},
    "sphinx": EVERYTHING | {"editions", "teach"},
    "teach": set(),
}
"""The table of DESIGN.md, section 4."""

OTHERS = {
    "myst": {"docutils", "markdown_it", "myst_parser"},
    "directive": {"docutils", "markdown_it"},
    "parser": {"docutils", "markdown_it"},
    "register": {"yaml"},
    "environment": {"torch"},
    "state": {"torch"},
    "worker": {"torch"},
    "falsify": {"torch"},
    "perturb": {"torch"},
    "pytest_plugin": {"pytest"},
    "cli": {"click", "rich"},
    "sphinx": {
        *("docutils", "sphinx", "sphinx_gallery", "torch", "matplotlib", "joblib"),
        *("ipykernel", "jupyter_cache", "jupyter_client"),
    },
    "editions": {
        *("docutils", "sphinx", "sphinx_markdown_builder", "PIL"),
        *("genanki", "markdown_it", "pygments"),
    },
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
    assert used - {part(module)} <= MAY_IMPORT[part(module)]


@pytest.mark.parametrize("module", sorted(FILES))
def test_imports_from_elsewhere(module):
    """No module imports a library that its task does not need."""
    foreign = {name.partition(".")[0] for name in imports(FILES[module]) if not own(name)}
    assert foreign - set(sys.stdlib_module_names) <= OTHERS.get(part(module), set())


def test_no_circles():
    """The modules can be put in an order, imports inside functions included."""
    graph = {
        module: {name for name in map(own, imports(path)) if name} - {module}
        for module, path in FILES.items()
    }
    assert [*TopologicalSorter(graph).static_order()]


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        ("claimbook.runner, claimbook.parser", "torch sphinx matplotlib IPython jupyter_client"),
        ("claimbook.cli", "torch sphinx matplotlib IPython jupyter_client"),
        ("claimbook.pytest_plugin", "torch sphinx matplotlib IPython jupyter_client"),
        ("claimbook.sphinx", "torch matplotlib genanki"),
        ("claimbook.sphinx.forms", "torch matplotlib nbformat genanki"),
    ],
)
def test_what_an_import_loads(modules, absent):
    """What needs no torch, Sphinx or Matplotlib does not load it."""
    code = f"import {modules}, sys; print([m for m in {absent.split()} if m in sys.modules])"
    assert python("-c", code).stdout == "[]\n"
