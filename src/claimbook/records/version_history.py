"""What changed in the book from one version to the next."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from claimbook.records.versions import Card, Contents, Version

NO_ENTRY = "no entry"
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
    page: str
    """Where it stands now; where it stood, if it is withdrawn."""
    kinds: tuple[Kind, ...]


@dataclass(frozen=True)
class VerdictChange:
    """An entry of which the book says something else."""

    id: str
    before: str
    after: str


@dataclass(frozen=True)
class Changes:
    """All that changed."""

    verdicts: Sequence[VerdictChange]
    claims: Sequence[ClaimChange]

    def told(self) -> str:
        """Return the counts as the commands tell them; nothing if nothing has changed."""
        return ", ".join(f"{word} ({count})" for word, count in self.counts())

    def counts(self) -> Iterator[tuple[str, int]]:
        """Count the verdicts that changed, and the claims by how they did."""
        kinds = Counter(kind for change in self.claims for kind in change.kinds)
        if self.verdicts:
            yield "other verdict", len(self.verdicts)
        yield from ((str(kind), kinds[kind]) for kind in Kind if kinds[kind])


def changes(older: Contents, newer: Contents) -> Changes:
    """Return what changed between two: verdicts in the order of entries, claims page by page."""
    verdicts = [
        VerdictChange(name, was, now)
        for name in {**older.entries, **newer.entries}
        if (was := older.entries.get(name, NO_ENTRY)) != (now := newer.entries.get(name, NO_ENTRY))
    ]
    claims = [
        ClaimChange(name, card.page, kinds)
        for name, card in {**older.claims, **newer.claims}.items()
        if (kinds := (*_kinds(older.claims.get(name), newer.claims.get(name)),))
    ]
    return Changes(verdicts, sorted(claims, key=lambda change: (change.page, change.id)))


def _kinds(was: Card | None, now: Card | None) -> Iterator[Kind]:
    if was is None or now is None:
        yield Kind.NEW if was is None else Kind.WITHDRAWN
        return
    if was.code != now.code:
        yield Kind.CODE
    elif was.outputs != now.outputs:
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
    """Return, by claim id, since when the book has the claim as it stands."""
    found: dict[str, Age] = {}
    steps = [(version.name, version) for version in versions]
    for (_, older), (version, newer) in pairwise([("", Contents({}, {})), *steps, (None, now)]):
        for change in changes(older, newer).claims:
            since = version if Kind.NEW in change.kinds else found[change.id].since
            found[change.id] = Age(since, version)
    return found
