"""A page as a Jupyter notebook that runs with torch alone."""

import ast
import base64
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import dropwhile, groupby
from pathlib import Path
from typing import Any

from docutils import nodes

from claimbook.checking.compare import HEADER
from claimbook.exports import figures
from claimbook.exports.listing import listing, pieces
from claimbook.exports.markdown import has
from claimbook.model import Claim, Example, Lane, anchor

Cell = dict[str, Any]

SETUP = Path(__file__).with_name("notebook-setup.txt").read_text("utf-8")
"""The code of the first cell."""
NUMPY = """

import importlib.util

if not importlib.util.find_spec("numpy"):
    %pip install --quiet numpy
"""
"""Added to `SETUP` on a page whose code uses NumPy."""
FRESH = "_fresh()\n"
"""How the first cell of a claim begins."""
CATCH = """\
except Exception as error:
    print(f"{type(error).__name__}: {error}")
"""
"""The end of a cell whose example raises an error, so that the cells below it run."""
MODULE = re.compile(r"^(?:\w+\.)+(?=\w+(?::|$))")
"""The module before the type of an error, which `CATCH` does not print: `torch.` of
`torch.OutOfMemoryError: …`."""
LEFT_OUT = ("claim-session", "claim-badges", "claim-fold", "claim-more")
"""Parts of a claim's card that are not prose, left out of a notebook."""

NOT_HERE = {
    "claimbook": "Not a cell: it needs `claimbook.teach`, the helpers of the book{where}.",
    "asyncio.run": "Not a cell: it starts an event loop, and a notebook has one already.",
}
"""Text in code that no notebook cell can run → why."""


def notebook(
    doctree: nodes.document,
    claims: Collection[Claim],
    write: Callable[[nodes.Node], str],
    repository: str,
) -> Cell:
    """Return the page in Jupyter's format 4.5; its cells run from top to bottom.

    Args:
        claims: the claims of the page.
        write: converts a part of the page to Markdown.
        repository: `owner/name` on GitHub, from which to install the helpers; may be empty.
    """
    by_anchor = {anchor(claim.id): claim for claim in claims}
    cells = list(_joined(_Page(by_anchor, write, repository).cells(doctree)))
    numpy = NUMPY * any("numpy" in claim.code for claim in claims)
    cells.insert(1, _code(SETUP + numpy))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    return {
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


@dataclass(frozen=True)
class _Page:
    """Converts one page to cells."""

    claims: dict[str, Claim]
    """Id of an element → its claim."""
    write: Callable[[nodes.Node], str]
    repository: str

    def cells(self, node: nodes.Element) -> Iterator[Cell]:
        """Yield a cell for each part of the page; prose cells are not yet joined."""
        for child in node.children:
            assert isinstance(child, nodes.Element)
            if has(child, "claim") or has(child, "claim-body"):
                yield from self._card(child)
            elif has(child, "cell_output") or isinstance(child, nodes.raw):
                yield from map(_picture, figures.FIGURE.findall(child.astext()))
            elif has(child, "cell") or isinstance(child, nodes.section):
                yield from self.cells(child)
            elif not any(has(child, kind) for kind in LEFT_OUT):
                yield _markdown(self.write(child))

    def _card(self, card: nodes.Element) -> Iterator[Cell]:
        """Yield a claim's prose, its cells, and the notes on their outputs."""
        shown = [part for part in card if has(part, "claim-shown")]
        yield from self.cells(nodes.container("", *(part for part in card if part not in shown)))
        if claim := self.claims.get(next(iter(card["ids"]), "")):
            yield from _claim_cells(claim, self.repository)
        yield from (_markdown(self.write(part)) for part in shown)


def _claim_cells(claim: Claim, repository: str) -> Iterator[Cell]:
    if reason := _why_no_cell(claim, repository):
        code = listing(claim.examples(Lane.CPU))
        yield _markdown(f"{reason}\n\n```python\n{code}```\n")
        return
    start = FRESH
    for fence in claim.fences:
        for piece in pieces(fence.examples):
            yield _example_cell(piece, start)
            start = ""


def _why_no_cell(claim: Claim, repository: str) -> str:
    """Return why the code of a claim is shown as text; empty if cells can run it."""
    if Lane.CPU not in claim.lanes:
        return "Not a cell: it shows what a GPU does."
    where = f" (`pip install git+https://github.com/{repository}`)" if repository else ""
    reasons = (why.format(where=where) for word, why in NOT_HERE.items() if word in claim.code)
    return next(reasons, "")


def _example_cell(examples: list[Example], start: str) -> Cell:
    *before, last = examples
    text = start + listing(before)
    printed, is_error, error = last.want.partition(HEADER)
    if not is_error:
        return _code(text + last.source, _shown(last))
    lines = dropwhile(lambda line: not line[:1].strip(), error.split("\n"))
    text += f"try:\n{textwrap.indent(last.source, '    ')}{CATCH}"
    return _code(text, _stream(printed + MODULE.sub("", "\n".join(lines))))


def _shown(example: Example) -> list[Cell]:
    """Return an example's output in Jupyter's format: a value, or text."""
    if not example.want:
        return []
    last = ast.parse(example.source).body[-1]
    if not isinstance(last, ast.Expr) or "print(" in ast.unparse(last):
        return _stream(example.want)
    return [
        {
            "output_type": "execute_result",
            "execution_count": None,
            "data": {"text/plain": example.want},
            "metadata": {},
        }
    ]


def _stream(text: str) -> list[Cell]:
    return [{"output_type": "stream", "name": "stdout", "text": text + "\n"}]


def _code(source: str, outputs: list[Cell] | None = None) -> Cell:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": outputs or [],
        "source": source.rstrip("\n"),
    }


def _markdown(source: str) -> Cell:
    return {"cell_type": "markdown", "metadata": {}, "source": source.strip("\n")}


def _picture(html: str) -> Cell:
    """Return a drawn figure as an attachment."""
    cell = _markdown(f"![{figures.label(html)}](attachment:figure.svg)")
    data = base64.b64encode(figures.standalone(html).encode()).decode()
    return {**cell, "attachments": {"figure.svg": {"image/svg+xml": data}}}


def _is_prose(cell: Cell) -> bool:
    return cell["cell_type"] == "markdown" and "attachments" not in cell


def _joined(cells: Iterable[Cell]) -> Iterator[Cell]:
    """Join adjacent prose cells."""
    for is_prose, group in groupby(cells, _is_prose):
        if is_prose:
            yield _markdown("\n\n".join(cell["source"] for cell in group))
        else:
            yield from group
