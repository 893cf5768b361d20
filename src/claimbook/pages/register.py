"""The register: every statement that the sources make, and what became of it."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from claimbook.model import (
    Claim,
    Entry,
    Location,
    Problem,
    ProblemKind,
    Question,
    RelationKind,
    Remark,
)

KINDS = {
    *("gradient", "graph", "stride", "memory", "error", "timing", "numeric", "dtype", "device"),
    *("random", "api", "optimizer", "module", "data-loading", "serialization", "concept"),
}
NEEDS = {"cpu", "cuda", "both", "world"}
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's is ten times faster; it is missing from some builds of PyYAML."""


class RegisterError(ValueError):
    """A file of the register does not say what a register says; names file and line."""


@dataclass(frozen=True)
class Register:
    """All questions of all sources, in the order of their files."""

    questions: tuple[Question, ...]

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """Entry id → entry."""
        return {entry.id: entry for question in self.questions for entry in question.entries}


@dataclass(frozen=True)
class Answer:
    """What the book says of one entry: how claims relate to it, or a remark, or nothing yet."""

    entry: Entry
    kind: RelationKind | None = None
    claims: tuple[Claim, ...] = ()
    remark: Remark | None = None

    @property
    def word(self) -> str | None:
        """The relation as the ledger and `claims.json` name it; None while it is open."""
        return str(self.kind) if self.kind else ("remark" if self.remark else None)


@dataclass
class _Reader:
    """Builds questions from YAML nodes, which know their lines, unlike plain data."""

    path: Path
    seen: set[str] = field(default_factory=set)

    def fail(self, node: yaml.Node, message: str) -> RegisterError:
        return RegisterError(f"{self.path}:{node.start_mark.line + 1}: {message}")

    def mapping(self, node: yaml.Node, wanted: frozenset[str]) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise self.fail(node, f"expected a mapping with {', '.join(sorted(wanted))}")
        expected, found = sorted(wanted), sorted(str(key.value) for key, _ in node.value)
        if found != expected:  # YAML lets a field stand twice
            raise self.fail(node, f"expected {', '.join(expected)}, found {', '.join(found)}")
        return {key.value: value for key, value in node.value}

    def items(self, node: yaml.Node) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise self.fail(node, "expected a list")
        return list(node.value)

    def text(self, node: yaml.Node, allowed: Collection[str] | None = None) -> str:
        value = node.value
        if not isinstance(node, yaml.ScalarNode) or not value.strip():
            raise self.fail(node, "expected a text")
        if allowed and value not in allowed:
            raise self.fail(node, f"{value!r} is none of {', '.join(sorted(allowed))}")
        return str(value)

    def identity(self, node: yaml.Node, prefix: str) -> str:
        value = self.text(node)
        if not value.startswith(prefix):
            raise self.fail(node, f"{value!r} does not begin with {prefix!r}")
        if value in self.seen:
            raise self.fail(node, f"{value!r} stands here twice")
        self.seen.add(value)
        return value

    def question(self, node: yaml.Node) -> Question:
        fields = self.mapping(node, frozenset({"id", "question", "entries"}))
        name = self.identity(fields["id"], f"{self.path.stem}-")
        text = self.text(fields["question"])
        entries = tuple(self.entry(item, name, text) for item in self.items(fields["entries"]))
        return Question(name, text, entries)

    def entry(self, node: yaml.Node, name: str, question: str) -> Entry:
        fields = self.mapping(node, frozenset({"id", "statement", "kind", "needs"}))
        return Entry(
            id=self.identity(fields["id"], f"{name}."),
            statement=self.text(fields["statement"]),
            kind=self.text(fields["kind"], KINDS),
            needs=self.text(fields["needs"], NEEDS),
            question=question,
        )


def load_register(folder: Path) -> Register:
    """Reads `*.yaml` of a folder, one source a file; what is hidden is an editor's.

    Raises:
        RegisterError: a file is not of the form that docs/register/README.md gives.
    """
    questions: list[Question] = []
    for path in sorted(folder.glob("[!.]*.yaml")):
        reader, data = _Reader(path), path.read_bytes()
        try:
            root = yaml.compose(data, LOADER)
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise RegisterError(f"{path}:{line}: {error.problem}") from error
        except yaml.reader.ReaderError as error:
            line = data.count(b"\n", 0, error.position) + 1
            raise RegisterError(f"{path}:{line}: {error.reason}") from error
        if root is not None:
            questions += [reader.question(node) for node in reader.items(root)]
    return Register(tuple(questions))


def answers(
    register: Register, claims: Iterable[Claim], remarks: Iterable[Remark]
) -> dict[str, Answer]:
    """Entry id → what the book says of it, for every entry of the register."""
    related = _related(claims)
    remarked = {entry: remark for remark in remarks for entry in remark.entries}
    found = {}
    for name, entry in register.entries.items():
        pairs = related.get(name, [])
        kind = pairs[0][0] if pairs else None
        found[name] = Answer(entry, kind, tuple(c for _, c in pairs), remarked.get(name))
    return found


def check_relations(
    register: Register, claims: Collection[Claim], remarks: Iterable[Remark]
) -> Iterator[Problem]:
    """What is wrong between pages: double ids, unknown entries, two answers to one."""
    related = _related(claims)
    yield from _double_ids(claims)
    for entry, pairs in related.items():
        first_kind, first = pairs[0]
        for kind, claim in pairs:
            if entry not in register.entries:
                yield _unknown(entry, claim.id, claim.location)
            elif kind != first_kind:
                message = (
                    f"{claim.id}: {kind} {entry}, which {first.id} ({first.location}) "
                    f"{first_kind}; one entry has one relation"
                )
                yield Problem(claim.location, ProblemKind.CONFLICTING_RELATIONS, message)
    yield from _check_remarks(register, related, remarks)


Related = dict[str, list[tuple[RelationKind, Claim]]]
"""Entry id → the claims that relate to it, with how, in the order given."""


def _related(claims: Iterable[Claim]) -> Related:
    found: Related = {}
    for claim in claims:
        for relation in claim.relations:
            found.setdefault(relation.entry, []).append((relation.kind, claim))
    return found


def _double_ids(claims: Iterable[Claim]) -> Iterator[Problem]:
    first: dict[str, Claim] = {}
    for claim in claims:
        other = first.setdefault(claim.id, claim)
        if other is not claim:
            message = f"{claim.id}: this id is taken by the claim at {other.location}"
            yield Problem(claim.location, ProblemKind.DOUBLE_ID, message)


def _check_remarks(
    register: Register, related: Related, remarks: Iterable[Remark]
) -> Iterator[Problem]:
    said = {e: f"is decided by {c.id} ({c.location}), {k}" for e, [(k, c), *_] in related.items()}
    for remark in remarks:
        for entry in remark.entries:
            if entry not in register.entries:
                yield _unknown(entry, "remark", remark.location)
            elif entry in said:
                message = f"remark: {entry} {said[entry]}"
                yield Problem(remark.location, ProblemKind.CONFLICTING_RELATIONS, message)
            said.setdefault(entry, f"has a remark already, at {remark.location}")


def _unknown(entry: str, who: str, location: Location) -> Problem:
    message = f"{who}: the register has no entry {entry!r}; see docs/register/"
    return Problem(location, ProblemKind.UNKNOWN_ENTRY, message)
