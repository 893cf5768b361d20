"""The register: every statement of the sources, and the book's answers."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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


def compose(path: Path) -> yaml.Node | None:
    """Return the YAML of a file as nodes, which have line numbers, unlike plain data.

    None if the file is empty.

    Raises:
        ReadError: it cannot be read, or is no YAML.
    """
    if path.suffix != ".yaml":
        raise ReadError(path, 1, f"source files end in .yaml: rename it to {path.stem}.yaml")
    text = read_text(path)
    try:
        return yaml.compose(text, LOADER)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        colon = str(error.problem).startswith("mapping values")
        hint = "; put a text with `: ` in it in quotes" * colon
        raise ReadError(path, line, f"{error.problem}{hint}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ReadError(path, line, str(error.reason)) from error


@dataclass
class _Reader:
    """Builds questions from YAML nodes."""

    path: Path
    seen: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def wrong(self, node: yaml.Node, message: str) -> ReadError:
        return ReadError(self.path, node.start_mark.line + 1, message)

    def location(self, line: int) -> Location:
        return Location("/".join(self.path.parts[-3:]), line)  # docs/register/basics.yaml

    def report(self, error: ReadError) -> None:
        place = self.location(error.line)
        self.problems.append(Problem(place, ProblemKind.BAD_REGISTER, error.message))

    def read(self) -> list[Question]:
        try:
            root = compose(self.path)
            return [] if root is None else [*self.each(root, self.question)]
        except ReadError as error:
            self.report(error)
        return []

    def each(self, node: yaml.Node, read: Callable[[yaml.Node], T]) -> Iterator[T]:
        """Yield the items of a list that can be read; report the others as problems."""
        if not isinstance(node, yaml.SequenceNode):
            raise self.wrong(node, "expected a list")
        for item in node.value:
            try:
                yield read(item)
            except ReadError as error:
                self.report(error)

    def mapping(self, node: yaml.Node, *wanted: str) -> dict[str, yaml.Node]:
        expected = ", ".join(sorted(wanted))
        if not isinstance(node, yaml.MappingNode):
            raise self.wrong(node, f"expected a mapping with {expected}")
        found = ", ".join(sorted(str(key.value) for key, _ in node.value))
        if found != expected:  # compared as lists, as YAML allows duplicate fields
            raise self.wrong(node, f"expected {expected}, found {found}")
        return {key.value: value for key, value in node.value}

    def text(self, node: yaml.Node, allowed: Collection[str] | None = None) -> str:
        value = node.value
        if not isinstance(node, yaml.ScalarNode) or not value.strip():
            raise self.wrong(node, "expected a text")
        if allowed and value not in allowed:
            raise self.wrong(node, f"{value!r} is none of {', '.join(sorted(allowed))}")
        return str(value)

    def identity(self, node: yaml.Node, prefix: str) -> str:
        value = self.text(node)
        if not value.startswith(prefix):
            raise self.wrong(node, f"{value!r} does not begin with {prefix!r}")
        if value in self.seen:
            raise self.wrong(node, f"{value!r} is used twice in this file")
        self.seen.add(value)
        return value

    def question(self, node: yaml.Node) -> Question:
        fields = self.mapping(node, "id", "question", "entries")
        name = self.identity(fields["id"], f"{self.path.stem}-")
        text = self.text(fields["question"])
        entries = self.each(fields["entries"], lambda item: self.entry(item, name, text))
        return Question(name, text, tuple(entries))

    def entry(self, node: yaml.Node, name: str, question: str) -> Entry:
        fields = self.mapping(node, "id", "statement", "needs")
        return Entry(
            id=self.identity(fields["id"], f"{name}."),
            statement=self.text(fields["statement"]),
            needs=self.text(fields["needs"], NEEDS),
            question=question,
            location=self.location(node.start_mark.line + 1),
        )


def load_register(folder: Path) -> Register:
    """Read the `*.yaml` files of a folder, one per source; hidden files are skipped."""
    files = (*sorted(folder.glob("[!.]*.yaml")), *sorted(folder.glob("[!.]*.yml")))
    readers = [_Reader(path) for path in files]
    questions = [question for reader in readers for question in reader.read()]
    problems = [problem for reader in readers for problem in reader.problems]
    return Register(tuple(questions), tuple(problems))


def answers(
    register: Register, claims: Iterable[Claim], remarks: Iterable[Remark]
) -> dict[str, Answer]:
    """Return entry id → answer, for every entry of the register."""
    related = defaultdict[str, list[tuple[RelationKind, Claim]]](list)
    for claim in claims:
        for relation in claim.relations:
            related[relation.entry].append((relation.kind, claim))
    remarked = {entry: remark for remark in remarks for entry in remark.entries}
    return {
        name: Answer(
            entry,
            kind=related[name][0][0] if name in related else None,
            claims=tuple(claim for _, claim in related[name]),
            remark=remarked.get(name),
        )
        for name, entry in register.entries.items()
    }


def check_relations(
    register: Register, claims: Collection[Claim], remarks: Iterable[Remark]
) -> Iterator[Problem]:
    """Yield problems of the register and between pages.

    They are duplicate ids, unknown entries, and entries with more than one relation or answer.
    """
    yield from register.problems
    yield from _double_ids(claims)
    decided: dict[str, tuple[RelationKind, str]] = {}
    for claim in claims:
        for kind, entry in claim.relations:
            first, by = decided.setdefault(entry, (kind, f"{claim.id} ({claim.location})"))
            if register.lacks(entry):
                yield _unknown(register, entry, claim.id, claim.location)
            elif kind is not first:
                message = f"{kind} {entry}, which {by} {first}; one entry has one relation"
                yield _conflict(claim.id, claim.location, message)
    yield from _check_remarks(register, remarks, decided)


def _check_remarks(
    register: Register, remarks: Iterable[Remark], decided: Mapping[str, tuple[RelationKind, str]]
) -> Iterator[Problem]:
    remarked: dict[str, Location] = {}
    for remark in remarks:
        for entry in remark.entries:
            if register.lacks(entry):
                yield _unknown(register, entry, "remark", remark.location)
            elif entry in decided:
                kind, by = decided[entry]
                yield _conflict("remark", remark.location, f"{entry} is decided by {by}, {kind}")
            elif entry in remarked:
                message = f"{entry} has a remark already, at {remarked[entry]}"
                yield _conflict("remark", remark.location, message)
            remarked.setdefault(entry, remark.location)


def _double_ids(claims: Iterable[Claim]) -> Iterator[Problem]:
    by_id: dict[str, Claim] = {}
    for claim in claims:
        if (other := by_id.setdefault(claim.id, claim)) is not claim:
            message = f"{claim.id}: this id is taken by the claim at {other.location}"
            yield Problem(claim.location, ProblemKind.DOUBLE_ID, message)


def _unknown(register: Register, entry: str, who: str, place: Location) -> Problem:
    meant = near(entry, register.entries) or "; see docs/register/"
    message = f"{who}: the register has no entry {entry!r}{meant}"
    return Problem(place, ProblemKind.UNKNOWN_ENTRY, message)


def _conflict(who: str, place: Location, message: str) -> Problem:
    return Problem(place, ProblemKind.CONFLICTING_RELATIONS, f"{who}: {message}")
