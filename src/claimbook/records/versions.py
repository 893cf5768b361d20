"""Versions of the book, one file each, as digests; the texts are on each version's site."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from claimbook.model import Claim, Lane, Provenance, digest
from claimbook.pages.register import Answer
from claimbook.records.by_name import ByName

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


def contents_of(claims: Iterable[Claim], answers: Mapping[str, Answer]) -> Contents:
    """Return the current contents of the book."""
    return Contents(
        {claim.id: _card(claim) for claim in sorted(claims, key=lambda claim: claim.id)},
        {name: answer.word or "open" for name, answer in answers.items()},
    )


def _card(claim: Claim) -> Card:
    examples = claim.examples(Lane.CPU)
    code = "".join(example.source for example in examples)
    texts = claim.statement, code, [example.want for example in examples]
    return Card(claim.docname, *(digest(text)[:LETTERS] for text in texts))


class Versions(ByName[Version]):
    """The versions of a book, one file each."""

    kind = "version"
    value_type = Version

    def parse(self, data: dict[str, Any]) -> Version:
        """Return one version."""
        if not re.fullmatch(r"\d+(\.\d+)+", data["version"]):
            raise ValueError(f"{data['version']} is not a version such as 1.2.3")
        return super().parse(data)
