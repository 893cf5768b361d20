"""Shows that examples can fail: runs the mutants of claims, and keeps what came of them.

A mutant that still prints what the page says is a survivor: the example does not show what the
claim says, or the change is none. What came of them is kept in one file a part, a line a claim.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from claimbook.engine.pool import Runner
from claimbook.model import Claim, Lane, Outcome, Run, Status
from claimbook.mutation.mutants import OPERATORS_DIGEST, mutants
from claimbook.records.store import ByPart, structure

SLOWER = 5
"""A mutant may take so many times as long as its claim, and never less than the runner allows:
what a new worker's first optimiser imports must not count as caught."""

Track = Callable[[Iterable[Run], int], Iterable[Run]]


@dataclass(frozen=True)
class Survivor:
    """A mutant that prints what the page says."""

    line: int
    """Of the claim's code, counted from 1."""
    operator: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.operator}: {self.before} -> {self.after or '(nothing)'}"


@dataclass(frozen=True)
class Falsified:
    """What became of the mutants of one claim."""

    claim: str
    lane: Lane
    """Where the mutants ran."""
    digest: str
    """Of the claim, on that lane."""
    operators: str
    mutants: int
    """How many ran."""
    killed: int
    survivors: tuple[Survivor, ...]
    torch: str
    date: str = field(compare=False)

    def is_of(self, claim: Claim) -> bool:
        """Whether it holds for the claim as it stands and for today's operators."""
        return (self.operators, self.digest) == (OPERATORS_DIGEST, claim.digest(self.lane))


class Results(ByPart[Falsified]):
    """What is kept of a book's mutants."""

    shared: ClassVar = ("operators", "torch", "date")
    wrong = "no result of falsify"

    @classmethod
    def of(cls, docs: Path) -> "Results":
        """Return those of a book."""
        return cls(docs / "records" / "falsified")

    def save(self, claim: Claim, result: Falsified) -> bool:
        """Write the result unless the one that stands there says the same."""
        if self.load(claim) == result:
            return False
        self.put(claim, result)
        return True

    def data(self, value: Falsified) -> dict[str, Any]:
        """Return the fields of a result."""
        return asdict(value)

    def parse(self, data: dict[str, Any]) -> Falsified:
        """Return the result of a line."""
        found = structure(data, Falsified)
        if found.killed + len(found.survivors) != found.mutants:
            raise ValueError("each mutant is killed or survives")
        return found


def falsify(
    runner: Runner, claims: Iterable[Claim], lane: Lane, track: Track = lambda runs, count: runs
) -> Iterator[tuple[Claim, Falsified | Run]]:
    """Runs claims, then all mutants of those that pass; yields each claim once its are done.

    Args:
        track: is given the runs and their number, and passes them on: a progress bar.

    Yields:
        The claim with what became of its mutants; with its own run, if that did not pass.
    """
    by_id = {claim.id: claim for claim in claims if lane in claim.lanes}
    passed: dict[str, Run] = {}
    for run in track(runner.run(by_id.values(), lane), len(by_id)):
        if run.outcome is Outcome.PASSED:
            passed[run.claim] = run
        else:
            yield by_id[run.claim], run
    trials = [_Trial(by_id[name], lane, runner, run.seconds) for name, run in passed.items()]
    yield from ((trial.claim, trial.result()) for trial in trials if not trial.open)
    due = {name: trial for trial in trials for name in trial.open}
    mutated = [mutant.claim for trial in trials for mutant in trial.open.values()]
    for run in track(runner.run(mutated, lane), len(mutated)):
        trial = due[run.claim]
        trial.note(run)
        if not trial.open:
            yield trial.claim, trial.result()


class _Trial:
    """One claim, and those of its mutants that still have to run."""

    def __init__(self, claim: Claim, lane: Lane, runner: Runner, seconds: float) -> None:
        self.claim, self.lane, self.runner = claim, lane, runner
        limit = max(runner.limit(claim, lane), SLOWER * seconds)
        self.open = {
            mutant.claim.id: replace(mutant, claim=replace(mutant.claim, timeout=limit))
            for mutant in mutants(claim, lane)
        }
        self.killed = 0
        self.survivors: list[Survivor] = []

    def note(self, run: Run) -> None:
        mutant = self.open.pop(run.claim)
        if run.outcome is not Outcome.PASSED:
            self.killed += 1
        else:
            change = mutant.operator, mutant.before, mutant.after
            self.survivors.append(Survivor(mutant.line, *change))

    def result(self) -> Falsified:
        return Falsified(
            self.claim.id,
            self.lane,
            self.claim.digest(self.lane),
            OPERATORS_DIGEST,
            self.killed + len(self.survivors),
            self.killed,
            tuple(sorted(self.survivors, key=lambda s: (s.line, s.operator, s.after))),
            self.runner.environments[self.lane].torch,
            datetime.now(UTC).date().isoformat(),
        )


def falsified_data(claim: Claim, result: Falsified) -> dict[str, Any]:
    """What became of a claim's mutants, as `claims.json` gives it, with lines of the page."""
    return {
        "mutants": result.mutants,
        "killed": result.killed,
        "survivors": [
            {**vars(s), "line": claim.place(s.line, result.lane).line} for s in result.survivors
        ],
        "status": Status.CURRENT if result.is_of(claim) else Status.STALE,
    }
