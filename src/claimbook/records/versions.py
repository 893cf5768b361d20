"""What the whole book says, kept as one file a version."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from claimbook.model import Claim, Lane, Provenance
from claimbook.pages.register import Answer
from claimbook.records.store import TEXT, ByVersion, check_fields, provenance_of


@dataclass(frozen=True)
class Card:
    """What a reader sees of a claim."""

    statement: str
    page: str
    """Its docname."""
    examples: tuple[tuple[str, str], ...]
    """Each statement of its code, with what that prints on the CPU."""

    @property
    def code(self) -> str:
        """Its code without what it prints."""
        return "".join(source for source, _ in self.examples)


@dataclass(frozen=True)
class Verdict:
    """What the book says of an entry."""

    relation: str
    """`confirms` and so on, `remark`, or `open`."""
    claims: tuple[str, ...]
    remark: str


@dataclass(frozen=True)
class Contents:
    """What the whole book says."""

    claims: Mapping[str, Card]
    entries: Mapping[str, Verdict]


@dataclass(frozen=True)
class Version:
    """What the book said when it was published under that number."""

    version: str
    contents: Contents
    provenance: Provenance = field(compare=False)


def contents_of(claims: Iterable[Claim], answers: Mapping[str, Answer]) -> Contents:
    """What the book says as it stands."""
    return Contents(
        {claim.id: _card(claim) for claim in sorted(claims, key=lambda claim: claim.id)},
        {name: _verdict(answer) for name, answer in answers.items()},
    )


def _card(claim: Claim) -> Card:
    examples = tuple((example.source, example.want) for example in claim.examples(Lane.CPU))
    return Card(claim.statement, claim.docname, examples)


def _verdict(answer: Answer) -> Verdict:
    claims = tuple(claim.id for claim in answer.claims)
    return Verdict(answer.word or "open", claims, answer.remark.text if answer.remark else "")


class Versions(ByVersion[Version]):
    """The files of a folder, one a version."""

    kind = "version"
    fields: ClassVar = {"claims": (dict,), "entries": (dict,)}

    def save(self, version: Version) -> None:
        """Writes a version."""
        head = {"recorded": asdict(version.provenance)}
        self.write(version.version, head, asdict(version.contents))

    def parse(self, data: dict[str, Any]) -> Version:
        """One version."""
        if not re.fullmatch(r"\d+(\.\d+)+", data["version"]):
            raise ValueError(f"{data['version']} is no version: numbers with points between")
        claims = {id_: _kept_card(card) for id_, card in data["claims"].items()}
        entries = {id_: _kept_verdict(verdict) for id_, verdict in data["entries"].items()}
        return Version(data["version"], Contents(claims, entries), provenance_of(data))


def _kept_card(data: Any) -> Card:
    whole = check_fields(data, "claim", {"statement": TEXT, "page": TEXT, "examples": (list,)})
    examples = whole["examples"]
    if not all(isinstance(pair, list) and [*map(type, pair)] == [str, str] for pair in examples):
        raise ValueError("an example is a statement and what it prints")
    return Card(whole["statement"], whole["page"], tuple(map(tuple, examples)))


def _kept_verdict(data: Any) -> Verdict:
    fields = {"relation": TEXT, "claims": (list,), "remark": TEXT}
    whole = check_fields(data, "entry", fields)
    if not all(isinstance(name, str) for name in whole["claims"]):
        raise ValueError("claims are named by their ids")
    return Verdict(whole["relation"], tuple(whole["claims"]), whole["remark"])
