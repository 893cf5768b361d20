"""The view `timeline`: what each release of torch changed."""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from docutils import nodes

from claimbook.checking.difference import Kind, Severity
from claimbook.model import Claim, Lane
from claimbook.pages.text import first_sentence
from claimbook.records.book_runs import BookRun, Change, changed
from claimbook.sphinx import elements, render
from claimbook.sphinx.card.releases import WITH
from claimbook.sphinx.domain import ClaimDomain


class Step(NamedTuple):
    """Two consecutive releases on a lane, and the changes from one to the other."""

    older: str
    newer: str
    changes: list[Change]


def data(domain: ClaimDomain) -> tuple[list[list[str]], list[Step]]:
    """Return how many claims hold on each release, and what each release changed."""
    claims = domain.book.claims
    runs = [*domain.releases, *domain.cuda_releases]
    pairs = [*pairwise(domain.cuda_releases), *pairwise(domain.releases)]
    steps = [
        Step(_name(older), _name(newer), [*changed(claims, older, newer)]) for older, newer in pairs
    ]
    return [_counted(run, claims) for run in runs], steps


def _name(run: BookRun) -> str:
    return f"{run.name}{WITH[run.lane]}"


def show(data: tuple[list[list[str]], list[Step]]) -> list[nodes.Node]:
    """Return a table of how many claims hold on each release, and the changes, newest first."""
    counted, steps = data
    rows = [render.plain(*row) for row in counted]
    table = render.table(["torch", "examples", "as printed", "differ in"], rows, [16, 18, 18, 48])
    return [render.scrollable(table), *map(_section, reversed(steps))]


def _counted(run: BookRun, claims: Iterable[Claim]) -> list[str]:
    """Return a row: release, number of claims run, number that hold, and results of the others."""
    results = [result for claim in claims if (result := run.of(claim))]
    differ = Counter(result.word for result in results if not result.holds)
    told = "; ".join(f"{DIFFERS.get(word, word)}: {count}" for word, count in differ.most_common())
    device = f" ({run.environment.device})" * (run.lane is Lane.CUDA)
    ran, held = len(results), len(results) - differ.total()
    return [f"{_name(run)}{device}", f"{ran:,}", f"{held:,}", told]


DIFFERS: dict[str, str] = {
    Severity.ERROR: "errors or warnings",
    Severity.VALUE: "values",
    Severity.SHAPE: "shape, dtype or grad_fn",
    Severity.ROUNDING: "rounding",
    Severity.COSMETIC: "white space",
}
"""Severity of a difference → what differs, in words for readers."""


def _section(step: Step) -> nodes.section:
    older, newer, changes = step
    title = nodes.Text(f"From {older.removesuffix(WITH[Lane.CUDA])} to {newer}")
    section = render.section(f"torch-{newer.lower().replace(' ', '-')}", title)
    if not changes:
        section += nodes.paragraph("", "No example prints anything different.")
    for what, count in Counter(map(title_of, changes)).most_common():
        section += nodes.rubric("", f"{what} ({count})")
        alike = (change for change in changes if title_of(change) == what)
        section += [_changed(change, older, newer) for change in alike]
    return section


TITLES: dict[str, str] = {
    Kind.ERROR_TEXT: "Errors worded differently",
    Kind.ERROR_TYPE: "Errors of another type",
    Kind.VALUE: "Other values",
    Kind.NOT_RAISED: "Errors no longer raised",
    Kind.RAISED: "New errors",
    Kind.WARNING: "New warnings",
    Kind.GRAPH: "Another requires_grad or grad_fn",
}
"""Kind of difference → what changed, if the newer release is the one that differs."""

BACK: dict[str, str] = {
    Kind.NOT_RAISED: TITLES[Kind.RAISED],
    Kind.RAISED: TITLES[Kind.NOT_RAISED],
    Kind.WARNING: "Warnings no longer shown",
}
"""The same, if the older release differs."""


def title_of(change: Change) -> str:
    """Return what a change is, in words that say which release does what."""
    known = TITLES if change.new else TITLES | BACK
    return known.get(change.kind, change.kind.capitalize())


def _changed(change: Change, older: str, newer: str) -> nodes.Node:
    fold = elements.fold(title=first_sentence(change.statement), classes=["timeline-change"])
    named = render.claim_link(change.page, change.claim, change.claim)
    fold += nodes.paragraph("", "", nodes.Text("Example "), named)
    fold += render.code(change.source)
    for version, text in ((older, change.before), (newer, change.after)):
        box = render.output(text)
        box.insert(0, nodes.paragraph("", f"on torch {version}", classes=["claim-lane"]))
        fold += box
    return fold
