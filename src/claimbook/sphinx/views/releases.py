"""Show other releases of torch: badges and outputs on cards, and the view `timeline`."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise

from docutils import nodes

from claimbook.checking.difference import Kind, Severity
from claimbook.model import Claim, Lane
from claimbook.pages.text import first_sentence
from claimbook.records.book_runs import BookRun
from claimbook.records.release_history import Change, Span, changed, spans
from claimbook.sphinx import elements, render
from claimbook.sphinx.domain import ClaimDomain


def data(claim: Claim, releases: Iterable[BookRun]) -> dict[str, str]:
    """Return release → result of the claim, in a word."""
    return {run.name: result.word for run in releases if (result := run.of(claim))}


def _spans(claim: Claim, domain: ClaimDomain) -> dict[Lane, list[Span]]:
    """Return lane → spans of releases with the same result."""
    runs = {Lane.CPU: domain.releases, Lane.CUDA: domain.cuda_releases}
    return {lane: spans(claim, found) for lane, found in runs.items()}


def usual(claims: Iterable[Claim], releases: list[BookRun]) -> str:
    """Return the span of releases on which most claims of a page hold; empty without any."""
    found = (spans(claim, releases) for claim in claims if Lane.CPU in claim.lanes)
    held = Counter(str(s[0]) for s in found if len(s) == 1 and s[0].result.holds)
    return max(held, key=held.__getitem__, default="")


def badges(claim: Claim, domain: ClaimDomain, usual: str) -> Iterator[nodes.Node]:
    """Yield a badge with the releases on which the claim holds, if not the usual ones.

    On CUDA, where few releases were run, name only those on which it does not hold.
    """
    by_lane = _spans(claim, domain)
    found = by_lane[Lane.CPU]
    differs = any(not span.result.holds for span in found)
    words = [_told(span) if differs else str(span) for span in _alike(found)]
    if found and words != [usual]:
        yield render.badge("torch", "stale" if differs else "current", " · ".join(words))
    elif usual and not found and Lane.CPU in claim.lanes:
        yield render.badge("torch", "missing", "not run on other releases")
    others = [span for span in _alike(by_lane[Lane.CUDA]) if not span.result.holds]
    if others:
        yield render.badge("torch with CUDA", "stale", " · ".join(map(_told, others)))


def folds(claim: Claim, domain: ClaimDomain) -> Iterator[nodes.Node]:
    """Yield a folded output for each span of releases on which the claim does not hold."""
    for lane, found in _spans(claim, domain).items():
        for span in found:
            if not (result := span.result).holds:
                title = f"On torch {span}{WITH[lane]}"
                yield render.differing(title, claim, lane, result.outputs, result.message)


WITH = {Lane.CPU: "", Lane.CUDA: " with CUDA"}
"""Suffix of releases on a lane."""


Step = tuple[str, str, list[Change]]
"""Two consecutive releases on a lane, with the changes between them."""


def timeline_data(domain: ClaimDomain) -> tuple[list[list[str]], list[Step]]:
    """Return how many claims hold on each release, and what each release changed."""
    claims = domain.book.claims
    runs = [*domain.releases, *domain.cuda_releases]
    pairs = [*pairwise(domain.cuda_releases), *pairwise(domain.releases)]
    steps = [
        (_name(older), _name(newer), [*changed(claims, older, newer)]) for older, newer in pairs
    ]
    return [_counted(run, claims) for run in runs], steps


def _name(run: BookRun) -> str:
    return f"{run.name}{WITH[run.lane]}"


def timeline(data: tuple[list[list[str]], list[Step]]) -> list[nodes.Node]:
    """Return a table of how many claims hold on each release, and the changes, newest first."""
    counted, steps = data
    rows = [render.plain(*row) for row in counted]
    table = render.table(["torch", "examples", "as printed", "differ in"], rows, [16, 18, 18, 48])
    return [render.wide(table), *(_step(*step) for step in reversed(steps))]


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


def _step(older: str, newer: str, changes: list[Change]) -> nodes.section:
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


def _alike(found: Iterable[Span]) -> list[Span]:
    """Join consecutive spans in which the claim holds throughout, or nowhere."""
    rows = [[*row] for _, row in groupby(found, key=lambda span: span.result.holds)]
    return [Span(row[0].first, row[-1].last, row[0].result) for row in rows]


def _told(span: Span) -> str:
    return f"{'holds' if span.result.holds else 'differs'} on {span}"
