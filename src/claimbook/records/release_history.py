"""What changed from one release to the next, and on which releases a claim holds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, groupby, repeat

from claimbook.checking.compare import compare
from claimbook.model import Claim, Lane, Outcome
from claimbook.records.book_runs import BookRun, Result

NOT_REACHED = "(not reached)"


@dataclass(frozen=True)
class Change:
    """The first example of a claim that prints something else than on the release before."""

    claim: str
    page: str
    """The claim's docname."""
    statement: str
    source: str
    """Of the example."""
    before: str
    after: str
    kind: str
    """What kind of difference it is, in words."""


@dataclass(frozen=True)
class Span:
    """Neighbouring releases on which a claim did the same."""

    first: str
    last: str
    result: Result

    def __str__(self) -> str:
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


def changed(claims: Iterable[Claim], older: BookRun, newer: BookRun) -> Iterator[Change]:
    """Yield what claims print on one of two releases and not on the other, claim by claim."""
    for claim in claims:
        was, now = older.of(claim), newer.of(claim)
        if was and now and was != now and (change := _change(claim, was, now, newer.lane)):
            yield change


def spans(claim: Claim, releases: Iterable[BookRun]) -> list[Span]:
    """Return on which releases a claim did what, from the oldest on."""
    found = [(release.name, result) for release in releases if (result := release.of(claim))]
    grouped = [list(group) for _, group in groupby(found, key=lambda pair: pair[1])]
    return [Span(group[0][0], group[-1][0], group[0][1]) for group in grouped]


def _printed(claim: Claim, result: Result, lane: Lane) -> Iterable[str]:
    """Return what each example printed, and without end `NOT_REACHED` for those never reached."""
    if result.outcome is Outcome.PASSED:
        return [example.want for example in claim.examples(lane)]
    return chain(result.outputs, repeat(NOT_REACHED))


def _change(claim: Claim, was: Result, now: Result, lane: Lane) -> Change | None:
    about = claim.id, claim.docname, claim.statement
    old, new = _printed(claim, was, lane), _printed(claim, now, lane)
    for example, before, after in zip(claim.examples(lane), old, new, strict=False):
        if before is NOT_REACHED or after is NOT_REACHED:
            kind = str((now if after is NOT_REACHED else was).outcome)
            return Change(*about, example.source, before, after, kind)
        # The one that the page documents may have `...` for what differs from run to run.
        want, got = (after, before) if now.outcome is Outcome.PASSED else (before, after)
        if difference := compare(want, got, lane):
            return Change(*about, example.source, before, after, difference.kind)
    return None
