"""The directive `code-map`: draw the folders of this package and their imports."""

import ast
from collections.abc import Iterator
from functools import cache
from itertools import permutations
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

import claimbook

PACKAGE = Path(claimbook.__file__).parent
SHARED = {"__init__", "__main__", "model", "files"}
"""Modules that all folders import, or none: not drawn."""


class CodeMapDirective(SphinxDirective):
    """Draws the package as it is; any change of the code makes Sphinx read all pages again."""

    def run(self) -> list[nodes.Node]:
        """Return boxes for the folders, with arrows to the folders that import them."""
        from claimbook.teach.boxes import Box, draw
        from claimbook.teach.figure import Figure

        used = imports_between_folders()
        folders = sorted(used)
        arrows = [(folders.index(below), folders.index(above)) for below, above in shown(used)]
        boxes = [Box(name, _count(name)) for name in folders]
        words = (f"{name} imports {', '.join(sorted(used[name])) or 'nothing'}" for name in folders)
        alt = "\n".join(
            ["The folders of the package; arrows lead to the folders that import them.", *words]
        )
        picture = Figure(draw(boxes, arrows), alt)._repr_html_()
        return [nodes.raw("", picture, format="html")]


def imports_between_folders() -> dict[str, set[str]]:
    """Return folder, or top-level module → the ones that it imports."""
    used: dict[str, set[str]] = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        if (here := _folder(file)) not in SHARED:
            used.setdefault(here, set()).update(set(_imported(file)) - {here} - SHARED)
    return used


def shown(used: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the pairs (imported, importer) to draw, without those implied by a path of others."""

    @cache
    def reached(name: str) -> set[str]:
        return used[name].union(*map(reached, used[name]))

    return [
        (below, above)
        for above, below in permutations(used, 2)
        if below in used[above] and not any(below in reached(other) for other in used[above])
    ]


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            root, _, rest = node.module.partition(".")
            if root == PACKAGE.name and rest:
                yield rest.partition(".")[0]


def _folder(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _count(folder: str) -> str:
    number = len([*(PACKAGE / folder).rglob("*.py")]) or 1
    return f"{number} file{'s' * (number != 1)}"
