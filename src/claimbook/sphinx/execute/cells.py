"""Run the code cells of pages, which draw, as claims are run: all cells of a page in one session.

Pictures are cached until the code, the drawing helpers or the environment changes.
"""

import ast
import base64
import json
import re
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from claimbook.checking.compare import mismatches
from claimbook.engine.pool import Runner
from claimbook.files import write_atomically
from claimbook.model import Claim, Example, Fence, Lane, Location, Outcome, Run
from claimbook.records.reading import load_file, structure
from claimbook.sphinx import elements
from claimbook.sphinx.complaints import warn
from claimbook.sphinx.domain import ClaimDomain, claim_domain
from claimbook.sphinx.execute.labs import drawn_with

SECONDS = 120.0
"""Time limit for the cells of a page, in seconds."""

PRINT = (
    "import base64, zlib; "
    "print('picture', base64.b85encode(zlib.compress(({})._repr_html_().encode())).decode())\n"
)
"""Prints a picture as compressed HTML, since a worker keeps only 100,000 characters."""


_PICTURES = partial(structure, type=list[str])
"""Checks what the file of a page's pictures says."""
_NO_PICTURE = re.compile(r"AttributeError: '(\w+)' object has no attribute '_repr_html_'")


def connect(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("code-cell", CellDirective)


class CellDirective(SphinxDirective):
    """Shows the value of its last expression, as a notebook does."""

    optional_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"tags": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return a placeholder for the picture."""
        try:
            statements = ast.parse("\n".join(self.content)).body
        except SyntaxError as error:
            line = self.lineno + self.content_offset + (error.lineno or 1)
            message = f"a code cell is not valid Python: {error.msg}, in line {line}"
            raise self.error(message) from error
        if not (statements and isinstance(last := statements.pop(), ast.Expr)):
            raise self.error("a code cell must end with an expression that draws")
        setup = "".join(f"{ast.unparse(statement)}\n" for statement in statements)
        cells = claim_domain(self.env).pages[self.env.docname].cells
        place = elements.place(what="cell", page=self.env.docname, number=len(cells) // 2)
        for source, want in (
            (f"exec({setup!r})\n", ""),
            (PRINT.format(ast.unparse(last)), "picture ..."),
        ):
            cells.append(Example(source, want, self.lineno))
        return [place]


def draw(domain: ClaimDomain) -> None:
    """Run the cells without cached pictures, or whose file of them is broken."""
    env, folder = domain.env, Path(domain.env.srcdir, "_build", "cells", drawn_with())
    pages = domain.pages.items()
    claims = {name: _as_claim(name, page.cells) for name, page in pages if page.cells}
    files = {name: folder / f"{claim.digest(Lane.CPU)}.json" for name, claim in claims.items()}
    kept = {name: load_file(file, _PICTURES, "", lambda *_: None) for name, file in files.items()}
    domain.drawings = {name: pictures for name, pictures in kept.items() if pictures is not None}
    due = [claim for name, claim in claims.items() if name not in domain.drawings]
    for claim, run in _run(due):
        if run.outcome is Outcome.PASSED:
            pictures = domain.drawings[run.claim] = [*map(_picture, run.outputs[1::2])]
            write_atomically(files[run.claim], json.dumps(pictures))
        else:
            line, problem = _first_problem(claim, run)
            place = f"{env.doc2path(run.claim)}:{line}"
            warn(place, f"a code cell only draws: {problem}", "bad-cell")


def _as_claim(docname: str, cells: list[Example]) -> Claim:
    """Return the cells of a page as a claim."""
    place = Location(docname, cells[0].line)
    return Claim(docname, "", place, (Fence(tuple(cells)),), lanes=(Lane.CPU,), timeout=SECONDS)


def _picture(printed: str) -> str:
    return zlib.decompress(base64.b85decode(printed.removeprefix("picture "))).decode()


def _run(due: list[Claim]) -> Iterator[tuple[Claim, Run]]:
    if due:
        with Runner(tries=1) as runner:
            yield from runner.run(due, Lane.CPU)


def _first_problem(claim: Claim, run: Run) -> tuple[int, str]:
    """Return the line of the first cell with a problem, and the problem."""
    for mismatch in mismatches(claim, Lane.CPU, run.outputs):
        said = str(mismatch.difference)
        if other := _NO_PICTURE.search(said):
            drawn = "a picture, as `lines(…)` of `claimbook.teach` returns one"
            said = f"its last line must be {drawn}, and is of type {other[1]}"
        return mismatch.example.line, said
    return claim.examples(Lane.CPU)[: len(run.outputs) + 1][-1].line, run.message


def show(domain: ClaimDomain, place: nodes.Element) -> list[nodes.Node]:
    """Return the picture of a cell; an empty container if it failed."""
    pictures = domain.drawings.get(place["page"], ())[place["number"] :]
    shown = (
        nodes.raw("", picture, format="html", classes=["output", "text_html"])
        for picture in pictures[:1]
    )
    output = nodes.container("", *shown, classes=["cell_output"])
    return [nodes.container("", output, classes=["cell", "tag_remove-input"])]
