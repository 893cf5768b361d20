"""Versions of the book, one file each, and what changes from one to the next.

They are kept as digests; the texts are on each version's site.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise

from claimbook.model import Claim, Lane, Provenance, digest
from claimbook.pages.book import Book
from claimbook.records.by_name import ByName

NO_ENTRY = "no entry"
"""The verdict on an entry that is not in the register of one of the versions."""
LETTERS = 16
"""Characters of a digest that are kept."""


@dataclass(frozen=True)
class Card:
    """The visible parts of a claim as digests, to detect changes."""

    page: str
    """Its docname, not a digest."""
    statement: str
    code: str
    outputs: str
    """The digest of its outputs on the CPU."""


@dataclass(frozen=True)
class Contents:
    """The contents of the whole book."""

    claims: Mapping[str, Card]
    entries: Mapping[str, str]
    """Entry id → verdict: a relation such as `confirms`, `remark`, or `open`."""


@dataclass(frozen=True)
class Version(Contents):
    """The contents of the book, as published under a version number."""

    name: str
    recorded: Provenance = field(compare=False)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*))+", self.name):
            raise ValueError(f"{self.name or repr('')} is not a version such as 1.2.3")


def contents_of(book: Book) -> Contents:
    """Return the current contents of a book."""
    return Contents(
        {claim.id: _card(claim) for claim in sorted(book.claims, key=lambda claim: claim.id)},
        {name: answer.word or "open" for name, answer in book.answers.items()},
    )


def _card(claim: Claim) -> Card:
    texts = claim.statement, claim.code, [each.want for each in claim.examples(Lane.CPU)]
    return Card(claim.docname, *(digest(text)[:LETTERS] for text in texts))


class Versions(ByName[Version]):
    """The versions of a book, one file each."""

    kind = "version"
    value_type = Version


class Kind(StrEnum):
    """How a claim changed, the most serious first."""

    OUTPUT = "changed output"
    CODE = "changed code"
    STATEMENT = "restated"
    PAGE = "moved"
    NEW = "new"
    WITHDRAWN = "withdrawn"
    RESET = "changed options or output on CUDA"
    """Versions do not keep these; it is told of revisions alone."""


@dataclass(frozen=True)
class ClaimChange:
    """A claim that changed."""

    id: str
    page: str
    """Its page; for a withdrawn claim, its last page."""
    kinds: tuple[Kind, ...]


@dataclass(frozen=True)
class VerdictChange:
    """An entry with a different verdict."""

    id: str
    before: str
    after: str


@dataclass(frozen=True)
class Changes:
    """All changes between two versions."""

    verdicts: Sequence[VerdictChange]
    claims: Sequence[ClaimChange]

    def told(self) -> str:
        """Return the counts as text; empty if nothing has changed."""
        return ", ".join(f"{word} ({count})" for word, count in self.counts())

    def counts(self) -> Iterator[tuple[str, int]]:
        """Yield the number of changed verdicts, and of claims by kind of change."""
        kinds = Counter(kind for change in self.claims for kind in change.kinds)
        if self.verdicts:
            yield "changed verdict", len(self.verdicts)
        yield from ((str(kind), kinds[kind]) for kind in Kind if kinds[kind])


def changes(older: Contents, newer: Contents) -> Changes:
    """Return the changes: verdicts in the order of entries, claims by page and id."""
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
    """The versions in which a claim was added and last changed; None for not yet published."""

    since: str | None
    changed: str | None


def ages(versions: Sequence[Version], now: Contents) -> dict[str, Age]:
    """Return claim id → age."""
    found: dict[str, Age] = {}
    steps = [(version.name, version) for version in versions]
    for (_, older), (version, newer) in pairwise([("", Contents({}, {})), *steps, (None, now)]):
        for change in changes(older, newer).claims:
            since = version if Kind.NEW in change.kinds else found[change.id].since
            found[change.id] = Age(since, version)
    return found
