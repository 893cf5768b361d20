"""What the whole book says, kept as one file a version: its site has the texts."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from claimbook.model import Claim, Lane, Provenance, digest
from claimbook.pages.register import Answer
from claimbook.records.by_name import ByName

LETTERS = 16
"""How much of a digest is kept."""


@dataclass(frozen=True)
class Card:
    """What a reader sees of a claim, as digests that tell whether it has changed."""

    page: str
    """Its docname, as it is."""
    statement: str
    code: str
    outputs: str
    """Of what its code prints on the CPU."""


@dataclass(frozen=True)
class Contents:
    """What the whole book says."""

    claims: Mapping[str, Card]
    entries: Mapping[str, str]
    """Entry id → what is said of it: `confirms` and so on, `remark`, or `open`."""


@dataclass(frozen=True)
class Version(Contents):
    """What the book said when it was published under that number."""

    name: str
    recorded: Provenance = field(compare=False)


def contents_of(claims: Iterable[Claim], answers: Mapping[str, Answer]) -> Contents:
    """Return what the book says as it stands."""
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
    """The files of a folder, one a version."""

    kind = "version"
    holds = Version

    def parse(self, data: dict[str, Any]) -> Version:
        """Return one version."""
        if not re.fullmatch(r"\d+(\.\d+)+", data["version"]):
            raise ValueError(f"{data['version']} is no version: numbers with points between")
        return super().parse(data)
