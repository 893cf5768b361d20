"""What changed in the book from one version to the next."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from claimbook.records.versions import Card, Contents, Verdict, Version

NO_ENTRY = Verdict("no entry", (), "")
"""What is said of an entry that the register did not, or does not, have."""


class Kind(StrEnum):
    """How a claim changed; the worst first."""

    OUTPUT = "other output"
    CODE = "other code"
    STATEMENT = "restated"
    PAGE = "moved"
    NEW = "new"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True)
class ClaimChange:
    """A claim that changed."""

    id: str
    before: Card | None
    after: Card | None
    kinds: tuple[Kind, ...]

    @property
    def card(self) -> Card:
        """What it is now; what it was, if it is withdrawn."""
        found = self.after or self.before
        assert found
        return found


@dataclass(frozen=True)
class VerdictChange:
    """An entry of which the book says something else."""

    id: str
    before: Verdict
    after: Verdict


@dataclass(frozen=True)
class Changes:
    """All that changed."""

    verdicts: Sequence[VerdictChange]
    claims: Sequence[ClaimChange]

    def counts(self) -> Iterator[tuple[str, int]]:
        """How many verdicts changed, and how many claims in which way."""
        kinds = Counter(kind for change in self.claims for kind in change.kinds)
        if self.verdicts:
            yield "other verdict", len(self.verdicts)
        yield from ((str(kind), kinds[kind]) for kind in Kind if kinds[kind])


def changes(older: Contents, newer: Contents) -> Changes:
    """What changed between two: verdicts in the order of entries, claims page by page."""
    verdicts = [
        VerdictChange(name, was, now)
        for name in {**older.entries, **newer.entries}
        if (was := older.entries.get(name, NO_ENTRY)).relation
        != (now := newer.entries.get(name, NO_ENTRY)).relation
    ]
    claims = [
        ClaimChange(name, before, after, kinds)
        for name in {**older.claims, **newer.claims}
        if (kinds := (*_kinds(before := older.claims.get(name), after := newer.claims.get(name)),))
    ]
    return Changes(verdicts, sorted(claims, key=lambda change: (change.card.page, change.id)))


def _kinds(was: Card | None, now: Card | None) -> Iterator[Kind]:
    if was is None or now is None:
        yield Kind.NEW if was is None else Kind.WITHDRAWN
        return
    if was.code != now.code:
        yield Kind.CODE
    elif was.examples != now.examples:
        yield Kind.OUTPUT
    if was.statement != now.statement:
        yield Kind.STATEMENT
    if was.page != now.page:
        yield Kind.PAGE


@dataclass(frozen=True)
class Age:
    """In which versions a claim came and last changed; None where none has it yet."""

    since: str | None
    changed: str | None


def ages(versions: Sequence[Version], now: Contents) -> dict[str, Age]:
    """Claim id → since when the book has the claim as it stands."""
    found: dict[str, Age] = {}
    steps = [(version.version, version.contents) for version in versions]
    for (_, older), (version, newer) in pairwise([("", Contents({}, {})), *steps, (None, now)]):
        for change in changes(older, newer).claims:
            since = found[change.id].since if change.before else version
            found[change.id] = Age(since, version)
    return found
