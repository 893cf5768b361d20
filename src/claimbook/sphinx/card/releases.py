"""Show on cards the releases of torch on which a claim holds, and what others print."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby

from docutils import nodes

from claimbook.model import Claim, Lane
from claimbook.records.book_runs import BookRun, Span, spans
from claimbook.sphinx import render
from claimbook.sphinx.domain import ClaimDomain


def _spans(claim: Claim, domain: ClaimDomain) -> dict[Lane, list[Span]]:
    """Return lane → spans of releases with the same result."""
    runs = {Lane.CPU: domain.releases, Lane.CUDA: domain.cuda_releases}
    return {lane: spans(claim, found) for lane, found in runs.items()}


def usual(claims: Iterable[Claim], releases: list[BookRun]) -> str:
    """Return the span of releases on which most claims of a page hold; empty without any."""
    found = (spans(claim, releases) for claim in claims if Lane.CPU in claim.lanes)
    held = Counter(str(s[0]) for s in found if len(s) == 1 and s[0].result.holds)
    return next((span for span, _ in held.most_common(1)), "")


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
                title = f"On torch {span}{render.WORDING['with'][lane]}"
                yield render.differing(title, claim, lane, result.outputs, result.message)


def _alike(found: Iterable[Span]) -> list[Span]:
    """Join consecutive spans in which the claim holds throughout, or nowhere."""
    rows = [[*row] for _, row in groupby(found, key=lambda span: span.result.holds)]
    return [Span(row[0].first, row[-1].last, row[0].result) for row in rows]


def _told(span: Span) -> str:
    return f"{'as shown' if span.result.holds else 'other output'} on {span}"
