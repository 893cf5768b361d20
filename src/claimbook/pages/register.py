"""The register: every statement of the sources, and the book's answers."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import yaml

from claimbook.files import ReadError, read_text
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
from claimbook.pages.text import near

KINDS = {
    *("gradient", "graph", "stride", "memory", "error", "timing", "numeric", "dtype", "device"),
    *("random", "api", "optimizer", "module", "data-loading", "serialization", "concept"),
}
NEEDS = {"cpu", "cuda", "both", "world"}
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's loader is ten times faster, but some builds of PyYAML lack it."""


T = TypeVar("T")


@dataclass(frozen=True)
class Register:
    """All questions of all sources, in file order."""

    questions: tuple[Question, ...]
    problems: tuple[Problem, ...] = ()
    """The parts that could not be read; all others are included."""

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The labels of the sources."""
        return tuple(dict.fromkeys(question.source for question in self.questions))

    def lacks(self, entry: str) -> bool:
        """Return whether an entry is missing, and its source's file is not broken."""
        broken = {Path(problem.location.path).stem for problem in self.problems}
        return entry not in self.entries and entry.rpartition("-")[0] not in broken

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """Entry id → entry."""
        return {entry.id: entry for question in self.questions for entry in question.entries}


@dataclass(frozen=True)
class Answer:
    """The book's answer to one entry: claims with their relation, a remark, or nothing yet."""

    entry: Entry
    kind: RelationKind | None = None
    claims: tuple[Claim, ...] = ()
    remark: Remark | None = None

    @property
    def word(self) -> str | None:
        """The relation, as in the ledger and `claims.json`; None while it is open."""
        return str(self.kind) if self.kind else ("remark" if self.remark else None)

    @property
    def wanted(self) -> str:
        """Advice on how to answer an open entry."""
        lanes = " and `:lanes: cuda`" * (self.entry.needs == "cuda")
        options = f"`:confirms: {self.entry.id}` (or qualifies, corrects, updates){lanes}"
        remark = f", or `{{remark}} {self.entry.id}`" * (self.entry.needs == "world")
        return f"nothing answers {self.entry.statement!r}: write a claim with {options}{remark}"


class WrongNodeError(ValueError):
    """A node is not what the register expects."""

    def __init__(self, node: yaml.Node, message: str) -> None:
        super().__init__(message)
        self.line = node.start_mark.line + 1


@dataclass
class _Reader:
    """Builds questions from YAML nodes, which have line numbers, unlike plain data."""

    path: Path
    seen: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def location(self, line: int) -> Location:
        return Location("/".join(self.path.parts[-3:]), line)

    def problem(self, line: int, message: str) -> None:
        self.problems.append(Problem(self.location(line), ProblemKind.BAD_REGISTER, message))

    def read(self) -> list[Question]:
        data = ""
        try:
            data = read_text(self.path)
            root = yaml.compose(data, LOADER)
            return [] if root is None else [*self.each(root, self.question)]
        except yaml.MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            self.problem(line, str(error.problem))
        except yaml.reader.ReaderError as error:
            self.problem(data.count("\n", 0, error.position) + 1, str(error.reason))
        except WrongNodeError as error:
            self.problem(error.line, str(error))
        except ReadError as error:
            self.problem(error.line, error.message)
        return []

    def each(self, node: yaml.Node, read: Callable[[yaml.Node], T]) -> Iterator[T]:
        """Yield the items of a list that can be read; report the others as problems."""
        for item in self.items(node):
            try:
                yield read(item)
            except WrongNodeError as error:
                self.problem(error.line, str(error))

    def mapping(self, node: yaml.Node, wanted: frozenset[str]) -> dict[str, yaml.Node]:
        if not isinstance(node, yaml.MappingNode):
            raise WrongNodeError(node, f"expected a mapping with {', '.join(sorted(wanted))}")
        expected, found = sorted(wanted), sorted(str(key.value) for key, _ in node.value)
        if found != expected:  # a list, as YAML allows duplicate fields
            raise WrongNodeError(node, f"expected {', '.join(expected)}, found {', '.join(found)}")
        return {key.value: value for key, value in node.value}

    def items(self, node: yaml.Node) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise WrongNodeError(node, "expected a list")
        return list(node.value)

    def text(self, node: yaml.Node, allowed: Collection[str] | None = None) -> str:
        value = node.value
        if not isinstance(node, yaml.ScalarNode) or not value.strip():
            raise WrongNodeError(node, "expected a text")
        if allowed and value not in allowed:
            raise WrongNodeError(node, f"{value!r} is none of {', '.join(sorted(allowed))}")
        return str(value)

    def identity(self, node: yaml.Node, prefix: str) -> str:
        value = self.text(node)
        if not value.startswith(prefix):
            raise WrongNodeError(node, f"{value!r} does not begin with {prefix!r}")
        if value in self.seen:
            raise WrongNodeError(node, f"{value!r} is used twice in this file")
        self.seen.add(value)
        return value

    def question(self, node: yaml.Node) -> Question:
        fields = self.mapping(node, frozenset({"id", "question", "entries"}))
        name = self.identity(fields["id"], f"{self.path.stem}-")
        text = self.text(fields["question"])
        entries = self.each(fields["entries"], lambda item: self.entry(item, name, text))
        return Question(name, text, tuple(entries))

    def entry(self, node: yaml.Node, name: str, question: str) -> Entry:
        fields = self.mapping(node, frozenset({"id", "statement", "kind", "needs"}))
        return Entry(
            id=self.identity(fields["id"], f"{name}."),
            statement=self.text(fields["statement"]),
            kind=self.text(fields["kind"], KINDS),
            needs=self.text(fields["needs"], NEEDS),
            question=question,
            location=self.location(node.start_mark.line + 1),
        )


def load_register(folder: Path) -> Register:
    """Read the `*.yaml` files of a folder, one per source; hidden files are skipped."""
    readers = [_Reader(path) for path in sorted(folder.glob("[!.]*.yaml"))]
    questions = [question for reader in readers for question in reader.read()]
    problems = [problem for reader in readers for problem in reader.problems]
    for path in sorted(folder.glob("[!.]*.yml")):
        message = f"source files end in .yaml: rename it to {path.stem}.yaml"
        problems.append(Problem(_Reader(path).location(1), ProblemKind.BAD_REGISTER, message))
    return Register(tuple(questions), tuple(problems))


def answers(
    register: Register, claims: Iterable[Claim], remarks: Iterable[Remark]
) -> dict[str, Answer]:
    """Return entry id → answer, for every entry of the register."""
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
    """Yield problems of the register and between pages.

    They are duplicate ids, unknown entries, and entries with more than one relation or answer.
    """
    yield from register.problems
    related = _related(claims)
    yield from _double_ids(claims)
    for entry, pairs in related.items():
        first_kind, first = pairs[0]
        for kind, claim in pairs:
            if register.lacks(entry):
                yield _unknown(register, entry, claim.id, claim.location)
            elif kind != first_kind:
                message = (
                    f"{claim.id}: {kind} {entry}, which {first.id} ({first.location}) "
                    f"{first_kind}; one entry has one relation"
                )
                yield Problem(claim.location, ProblemKind.CONFLICTING_RELATIONS, message)
    yield from _check_remarks(register, related, remarks)


Related = dict[str, list[tuple[RelationKind, Claim]]]
"""Entry id → relations and their claims, in the given order."""


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
            if register.lacks(entry):
                yield _unknown(register, entry, "remark", remark.location)
            elif entry in said:
                message = f"remark: {entry} {said[entry]}"
                yield Problem(remark.location, ProblemKind.CONFLICTING_RELATIONS, message)
            said.setdefault(entry, f"has a remark already, at {remark.location}")


def _unknown(register: Register, entry: str, who: str, location: Location) -> Problem:
    meant = near(entry, register.entries) or "; see docs/register/"
    message = f"{who}: the register has no entry {entry!r}{meant}"
    return Problem(location, ProblemKind.UNKNOWN_ENTRY, message)
