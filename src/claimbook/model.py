"""The nouns of the book, as frozen data.

Everything else in the package is functions around these. Nothing here reads a file,
imports torch or knows of Sphinx.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, replace
from enum import StrEnum
from functools import cached_property


class Lane(StrEnum):
    """Where claims run."""

    CPU = "cpu"
    CUDA = "cuda"


class RelationKind(StrEnum):
    """What a claim does to an entry of the register."""

    CONFIRMS = "confirms"
    QUALIFIES = "qualifies"
    CORRECTS = "corrects"
    UPDATES = "updates"


class Factor(StrEnum):
    """What of a machine may decide what a claim prints there."""

    CLOCK = "clock"
    """It times something, or acts by the clock."""
    CACHE = "cache"
    CORES = "cores"
    INSTRUCTIONS = "instructions"
    """Those of the processor, and how it rounds."""
    MEMORY = "memory"
    SYSTEM = "system"
    """The operating system."""


class Outcome(StrEnum):
    """What a run did to one claim."""

    PASSED = "passed"
    VARIED = "varied"
    """It is a claim about a machine, and came out otherwise on this one."""
    FAILED = "failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    SKIPPED = "skipped"

    @property
    def is_fault(self) -> bool:
        """Whether the page, or torch, has to be mended for it."""
        return self in (Outcome.FAILED, Outcome.CRASHED, Outcome.TIMED_OUT)


class Status(StrEnum):
    """What a reader is told of a claim on a lane."""

    CURRENT = "current"
    VARIED = "varied"
    STALE = "stale"
    MISSING = "missing"
    FAILING = "failing"


class ProblemKind(StrEnum):
    """What an author did wrong; also the subtype of the Sphinx warning that says so."""

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
    """A line of a file, as a person can click it: `docs/views.md:26`."""

    path: str
    """Relative to the root of the project, with forward slashes."""
    line: int
    """Counted from 1."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True, order=True)
class Problem:
    """An author's error on a page, in the words that Sphinx, pytest and the CLI all use."""

    location: Location
    kind: ProblemKind
    message: str

    def __str__(self) -> str:
        return f"{self.location}: {self.message} [claim.{self.kind}]"


@dataclass(frozen=True)
class Example:
    """One `>>>` statement with what it must print."""

    source: str
    """The statement without prompts, ending in a newline."""
    want: str
    """What it must print, without a newline at the end; empty for nothing."""
    line: int
    """The page line of its `>>>`, counted from 1."""
    want_line: int
    """The page line on which its output stands, or would stand."""


@dataclass(frozen=True)
class Fence:
    """One `pycon` fence of a claim: a session, and how CUDA prints it if that differs."""

    line: int
    examples: tuple[Example, ...]
    cuda_examples: tuple[Example, ...] | None = None
    """The `pycon cuda` fence that follows it, if any: same sources, other wants."""

    def on(self, lane: Lane) -> tuple[Example, ...]:
        """Return the examples as the given lane must print them."""
        if lane is Lane.CUDA and self.cuda_examples is not None:
            return self.cuda_examples
        return self.examples


@dataclass(frozen=True)
class Relation:
    """What a claim does to one entry."""

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
    """Seconds that it may take, where the runner's own limit is too short."""
    cpu_build: bool = False
    """Whether it speaks of a torch that was built without CUDA, and holds with no other."""
    machine: tuple[Factor, ...] = ()
    """What of a machine decides whether it holds there; empty for one that is about PyTorch."""
    detail: bool = False
    """Whether it is folded to its first sentence until a reader opens it."""
    explains: bool = False
    """Whether it is the first that somebody should read who met the errors it prints."""

    def examples(self, lane: Lane) -> tuple[Example, ...]:
        """Return all its examples, in order, as the given lane must print them."""
        return tuple(example for fence in self.fences for example in fence.on(lane))

    def place(self, line: int, lane: Lane) -> Location:
        """Return where a line of its code, counted from 1, stands; else where the claim does."""
        lines = [e.line + n for e in self.examples(lane) for n in range(e.source.count("\n"))]
        return replace(self.location, line=lines[line - 1]) if line <= len(lines) else self.location

    def digest(self, lane: Lane) -> str:
        """Return a hash of what a run depends on and of what it must print; prose is left out."""
        return self._digests[lane]

    @cached_property
    def _digests(self) -> Mapping[Lane, str]:
        return {lane: digest([[e.source, e.want] for e in self.examples(lane)]) for lane in Lane}

    @property
    def docname(self) -> str:
        """Its page as Sphinx names it: the path under docs, without `.md`."""
        page = self.location.path
        return page.partition("/")[2].removesuffix(".md") or page

    @property
    def code(self) -> str:
        """Its code without prompts and outputs."""
        return "".join(example.source for example in self.examples(self.lanes[0]))


@dataclass(frozen=True)
class Remark:
    """What the book says of entries that no program can decide."""

    entries: tuple[str, ...]
    text: str
    location: Location


@dataclass(frozen=True)
class Entry:
    """One statement that a source makes."""

    id: str
    statement: str
    kind: str
    needs: str
    question: str
    """What is asked, in our own words."""
    location: Location
    """Where it stands in the register."""

    @property
    def source(self) -> str:
        """The label of the source document, `basics`."""
        return self.id.rsplit("-", 1)[0]


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
class Page:
    """What one page says, as the page scan found it."""

    path: str
    claims: tuple[Claim, ...] = ()
    remarks: tuple[Remark, ...] = ()
    samples: tuple[Claim, ...] = ()
    """Claims inside `markdown` fences: shown as source, run all the same."""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Measurement:
    """A number that a run measured."""

    name: str
    value: int | float  # of float alone, a record that is read makes 16.0 of 16
    unit: str
    """`ratio` or `bytes`; of a sweep, `count`."""


@dataclass(frozen=True)
class Environment:
    """What a run depended on beside the claim itself."""

    torch: str
    python: str
    os: str
    device: str
    """The name of the processor or GPU that ran the claim."""
    cuda: str | None = None
    driver: str | None = None
    capability: str | None = None

    def digest(self) -> str:
        """Return a short name for this environment, for folders of things made under it."""
        return digest(astuple(self))[:12]


@dataclass(frozen=True)
class Hardware:
    """What of a machine decides how fast it is and how it rounds, beside its processor's name."""

    model: str
    """Maker, family and model of the processor, which one name may stand for several of."""
    cores: int
    """Cores that a run may use."""
    cache: Mapping[str, int]
    """Level of a cache, `L2`, → bytes of one."""
    memory: int
    """Bytes."""
    instructions: str
    """The widest that torch uses, as torch names them: `AVX512`."""


@dataclass(frozen=True)
class Provenance:
    """When a record was made, and from which state of the project."""

    date: str
    commit: str | None
    clean: bool | None
    """Whether the working tree had no change against the commit; None without git."""


@dataclass(frozen=True)
class Run:
    """What running one claim on one lane gave, before any of it is kept."""

    claim: str
    lane: Lane
    outcome: Outcome
    outputs: tuple[str, ...] = ()
    """What each example printed, as far as the run came."""
    seconds: float = 0.0
    message: str = ""
    """Why, for every outcome but passed."""
    measurements: tuple[Measurement, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Record(Run):
    """A run that is kept, with the claim's digest and its environment."""

    digest: str
    environment: Environment
    recorded: Provenance


def digest(data: object) -> str:
    """Return the SHA-256 of data as JSON, in hexadecimal."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
