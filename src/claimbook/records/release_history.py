"""Changes from one release to the next, and the releases on which a claim holds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby, repeat

from claimbook.checking.compare import compare
from claimbook.model import Claim, Lane
from claimbook.records.book_runs import BookRun, Result

NOT_REACHED = "(not reached)"


@dataclass(frozen=True)
class Change:
    """The first example of a claim that prints something different on the next release."""

    claim: str
    page: str
    """The claim's docname."""
    statement: str
    source: str
    """The source of the example."""
    before: str
    after: str
    kind: str
    """The kind of difference, in words."""
    new: bool = True
    """Whether the newer release differs from the page; else the older one did."""


@dataclass(frozen=True)
class Span:
    """Consecutive releases on which a claim had the same result."""

    first: str
    last: str
    result: Result

    def __str__(self) -> str:
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


def changed(claims: Iterable[Claim], older: BookRun, newer: BookRun) -> Iterator[Change]:
    """Yield the change of each claim whose result differs between two releases."""
    for claim in claims:
        was, now = older.of(claim), newer.of(claim)
        if was and now and was != now and (change := _change(claim, was, now, newer.lane)):
            yield change


def flipped(claims: Iterable[Claim], older: BookRun, newer: BookRun) -> list[Claim]:
    """Return the claims that hold on only one of two releases."""
    results = ((claim, older.of(claim), newer.of(claim)) for claim in claims)
    return [claim for claim, was, now in results if was and now and was.holds != now.holds]


def spans(claim: Claim, releases: Iterable[BookRun]) -> list[Span]:
    """Return the spans of releases with the same result for a claim, oldest first."""
    found = [(release.name, result) for release in releases if (result := release.of(claim))]
    grouped = [list(group) for _, group in groupby(found, key=lambda pair: pair[1])]
    return [Span(group[0][0], group[-1][0], group[0][1]) for group in grouped]


def _printed(claim: Claim, result: Result, lane: Lane) -> Iterable[str]:
    """Return each example's output, followed, if it did not finish, by endless `NOT_REACHED`."""
    if result.holds:
        return [example.want for example in claim.examples(lane)]
    return chain(result.outputs, repeat(NOT_REACHED))


def _change(claim: Claim, was: Result, now: Result, lane: Lane) -> Change | None:
    about = claim.id, claim.docname, claim.statement
    outputs = _printed(claim, was, lane), _printed(claim, now, lane)
    new = not now.holds
    for example, before, after in zip(claim.examples(lane), *outputs, strict=False):
        if before is NOT_REACHED or after is NOT_REACHED:
            kind = str((now if after is NOT_REACHED else was).outcome)
            return Change(*about, example.source, before, after, kind, after is NOT_REACHED)
        # The want of the page may have `...`, so it goes first.
        want, got = (before, after) if new else (after, before)
        if difference := compare(want, got, lane):
            return Change(*about, example.source, before, after, difference.kind, new)
    return None
