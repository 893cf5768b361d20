"""The book's data model, as frozen dataclasses.

Everything else in the package is functions on these. Nothing here reads a file, imports
torch or knows about Sphinx.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple


class Lane(StrEnum):
    """Where claims run."""

    CPU = "cpu"
    CUDA = "cuda"


class RelationKind(StrEnum):
    """How a claim relates to an entry of the register."""

    CONFIRMS = "confirms"
    QUALIFIES = "qualifies"
    CORRECTS = "corrects"
    UPDATES = "updates"


class Factor(StrEnum):
    """A property of the machine on which a claim's output depends."""

    CLOCK = "clock"
    """It times something, or depends on time."""
    CACHE = "cache"
    CORES = "cores"
    INSTRUCTIONS = "instructions"
    """The processor's instruction set, and with it rounding."""
    MEMORY = "memory"
    SYSTEM = "system"
    """The operating system."""


class Outcome(StrEnum):
    """The outcome of running one claim."""

    PASSED = "passed"
    VARIED = "varied"
    """A claim about a machine, which differs on this one."""
    FAILED = "failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    SKIPPED = "skipped"

    @property
    def is_fault(self) -> bool:
        """Whether the page, or torch, has to be fixed."""
        return self in (Outcome.FAILED, Outcome.CRASHED, Outcome.TIMED_OUT)


class Status(StrEnum):
    """What a reader sees about a claim on a lane."""

    CURRENT = "current"
    VARIED = "varied"
    STALE = "stale"
    MISSING = "missing"
    FAILING = "failing"


class ProblemKind(StrEnum):
    """A kind of author's error; also the subtype of its Sphinx warning."""

    BAD_FENCE = "bad-fence"
    BAD_FORM = "bad-form"
    BAD_OPTION = "bad-option"
    BAD_REGISTER = "bad-register"
    CONFLICTING_RELATIONS = "conflicting-relations"
    DOUBLE_ID = "double-id"
    MALFORMED_CLAIM = "malformed-claim"
    UNKNOWN_ENTRY = "unknown-entry"
    UNOWNED_CODE = "unowned-code"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, order=True)
class Location:
    """A line of a file, clickable in a terminal: `docs/views.md:26`."""

    path: str
    """Relative to the root of the project, with forward slashes."""
    line: int
    """Counted from 1."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, order=True)
class Problem:
    """An author's error on a page, as Sphinx, pytest and the CLI report it."""

    location: Location
    kind: ProblemKind
    message: str

    def __str__(self) -> str:
        return f"{self.location}: {self.message} [claim.{self.kind}]"


@dataclass(frozen=True)
class Example:
    """One `>>>` statement with its expected output."""

    source: str
    """The statement without prompts, ending in a newline."""
    want: str
    """The expected output, without a trailing newline; empty for none."""
    line: int
    """The page line of its `>>>`, counted from 1."""

    @property
    def want_line(self) -> int:
        """The page line of its output, or where the output would be."""
        return self.line + self.source.count("\n")


@dataclass(frozen=True)
class Fence:
    """One `pycon` fence of a claim, with its CUDA version if that differs."""

    examples: tuple[Example, ...]
    cuda_examples: tuple[Example, ...] | None = None
    """The `pycon cuda` fence after it, if any: same sources, different wants."""

    def on(self, lane: Lane) -> tuple[Example, ...]:
        """Return the examples with the wants of a lane."""
        if lane is Lane.CUDA and self.cuda_examples is not None:
            return self.cuda_examples
        return self.examples


class Relation(NamedTuple):
    """How a claim relates to one entry."""

    kind: RelationKind
    entry: str


@dataclass(frozen=True)
class Claim:
    """One true statement of the book, with its examples and its relations to entries."""

    id: str
    statement: str
    """The first paragraph of its prose, as Markdown on one line."""
    location: Location
    fences: tuple[Fence, ...] = ()
    relations: tuple[Relation, ...] = ()
    lanes: tuple[Lane, ...] = (Lane.CPU, Lane.CUDA)
    timeout: float | None = None
    """Time limit in seconds, if the runner's default is too short."""
    cpu_build: bool = False
    """Whether it is about a torch built without CUDA, and skipped with any other."""
    machine: tuple[Factor, ...] = ()
    """The properties of a machine on which it depends; empty if it holds on all machines."""
    detail: bool = False
    """Whether its card is folded to the first sentence."""
    explains: bool = False
    """Whether it is the first claim to read about the errors that it prints."""
    markdown: str = field(default="", compare=False, repr=False)
    """The content of its directive, as it stands on the page."""

    def examples(self, lane: Lane) -> tuple[Example, ...]:
        """Return all its examples, in order, with the wants of a lane."""
        return tuple(example for fence in self.fences for example in fence.on(lane))

    def place(self, line: int, lane: Lane) -> Location:
        """Return the place of a line of its code, counted from 1; beyond its end, the claim's."""
        lines = [e.line + n for e in self.examples(lane) for n in range(e.source.count("\n"))]
        return replace(self.location, line=lines[line - 1]) if line <= len(lines) else self.location

    def digest(self, lane: Lane) -> str:
        """Return a hash of its sources and wants; prose does not count."""
        return self._digests[lane]

    @cached_property
    def _digests(self) -> Mapping[Lane, str]:
        return {lane: digest([[e.source, e.want] for e in self.examples(lane)]) for lane in Lane}

    @property
    def docname(self) -> str:
        """Its page as Sphinx names it."""
        return _docname(self.location.path)

    @property
    def title(self) -> str:
        """Its first sentence, the title of its card."""
        return first_sentence(self.statement)

    @property
    def code(self) -> str:
        """Its code without prompts and outputs."""
        return "".join(example.source for example in self.examples(self.lanes[0]))


@dataclass(frozen=True)
class Remark:
    """What the book says about entries that no program can decide."""

    entries: tuple[str, ...]
    text: str
    location: Location


@dataclass(frozen=True)
class Entry:
    """One statement that a source makes."""

    id: str
    statement: str
    needs: str
    """Where it can be decided: `cpu`, `cuda` or `both`, or by no program, `world`."""
    question: str
    """The question that it answers, in our own words."""
    location: Location
    """Its place in the register."""


@dataclass(frozen=True)
class Question:
    """One question of a source, with the entries of its answer."""

    id: str
    text: str
    entries: tuple[Entry, ...]

    @property
    def source(self) -> str:
        """The label of the source document, `basics`."""
        return self.id.rsplit("-", 1)[0]


@dataclass(frozen=True)
class Section:
    """A second-level section of a page."""

    path: str
    """The path of its page."""
    title: str
    """Markdown on one line; on most pages a question."""
    short: str
    """The *In short* paragraph, as Markdown on one line; empty without one."""
    anchor: str
    """Its HTML id on the page."""
    lines: range
    """Its lines on the page, counted from 1."""
    asked: tuple[str, ...]
    """Questions in people's own words, used only by the search."""
    claims: tuple[Claim, ...]

    @property
    def place(self) -> str:
        """Its name, `page#section`."""
        return f"{_docname(self.path)}#{self.anchor}"

    @property
    def address(self) -> str:
        """Its address in the site, `page.html#section`."""
        return f"{_docname(self.path)}.html#{self.anchor}"


@dataclass(frozen=True)
class Page:
    """The contents of one page, as found by the page scan."""

    path: str
    claims: tuple[Claim, ...] = ()
    remarks: tuple[Remark, ...] = ()
    problems: tuple[Problem, ...] = ()
    sections: tuple[Section, ...] = ()

    @property
    def docname(self) -> str:
        """Its name in Sphinx: the path under docs, without `.md`."""
        return _docname(self.path)


@dataclass(frozen=True)
class Measurement:
    """A number that a run measured."""

    name: str
    value: int | float  # with float alone, 16 would become 16.0 when read from a record
    unit: str
    """`ratio`, `bytes` or, in sweeps, `count`."""


@dataclass(frozen=True)
class Environment:
    """What a run depended on besides the claim itself."""

    torch: str
    python: str
    os: str
    device: str
    """The name of the processor or GPU that ran the claim."""
    cuda: str | None = None
    driver: str | None = None
    capability: str | None = None


@dataclass(frozen=True)
class Hardware:
    """The hardware that decides speed and rounding, besides the processor's name."""

    model: str
    """Vendor, family and model number of the processor: its name alone may be ambiguous."""
    cores: int
    """Cores available to a run."""
    cache: Mapping[str, int]
    """Cache level, such as `L2` → bytes of one such cache."""
    memory: int
    """Bytes."""
    instructions: str
    """The widest instruction set that torch uses, by torch's name: `AVX512`."""


@dataclass(frozen=True)
class Provenance:
    """When and from which state of the project a record was made."""

    date: str
    """In UTC, `2026-01-31`."""
    commit: str | None
    clean: bool | None
    """Whether the working tree had no uncommitted changes; None without git."""

    def __post_init__(self) -> None:
        date.fromisoformat(self.date)  # raises ValueError if it is no date


@dataclass(frozen=True)
class Run:
    """The result of running one claim on one lane."""

    claim: str
    lane: Lane
    outcome: Outcome
    outputs: tuple[str, ...] = ()
    """The output of each example that ran."""
    seconds: float = 0.0
    """How long its examples ran, by the clock."""
    message: str = ""
    """The reason, unless it passed at once."""
    measurements: tuple[Measurement, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Record(Run):
    """A saved run, with the claim's digest and the environment."""

    digest: str
    environment: Environment
    recorded: Provenance


def _docname(path: str) -> str:
    return path.partition("/")[2].removesuffix(".md") or path  # README.md is no page of Sphinx


def digest(data: object) -> str:
    """Return the SHA-256 of data as JSON, in hexadecimal."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def anchor(claim_id: str) -> str:
    """Return the HTML id of a claim on its page."""
    return f"claim-{claim_id}"


OUTSIDE_CODE = r"(?=[^`]*(?:`[^`]*`[^`]*)*\Z)"
"""Pattern of a place in a line of Markdown that is not within code."""


def first_sentence(statement: str) -> str:
    """Return the first sentence of a statement, the title of its card.

    >>> first_sentence("Views share memory. Here, so do `x` and `y`.")
    'Views share memory.'
    >>> first_sentence("The error is `No. Never!`, as before. It is raised.")
    'The error is `No. Never!`, as before.'
    """
    return re.split(r"(?<=[.?!]) (?=[A-Z`*(\d])" + OUTSIDE_CODE, statement, maxsplit=1)[0]
