"""Run sweeps and their mutants, and keep what came of them: one file a part, a line a claim."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from claimbook.engine.pool import Runner
from claimbook.model import Lane, Outcome, Run, Status
from claimbook.mutation.falsify import Track
from claimbook.mutation.mutants import OPERATORS_DIGEST
from claimbook.records.store import ByPart, structure
from claimbook.sweeps.written import Written


@dataclass(frozen=True)
class Swept:
    """What a search for a counterexample came to that found none."""

    claim: str
    digest: str
    """Of the sweep and of the claim's statement."""
    operators: str
    drawn: dict[str, int]
    """How many cases, and what was among them, as `search` names it."""
    mutants: int
    killed: int
    """Of the mutants of its rule: how many make what it asserts fail."""
    torch: str
    date: str = field(compare=False)

    def is_of(self, written: Written) -> bool:
        """Whether it holds for the sweep as it stands and for today's operators."""
        return (self.operators, self.digest) == (OPERATORS_DIGEST, written.digest())

    @property
    def cases(self) -> int:
        """How many cases agreed."""
        return self.drawn["cases"]

    def domain(self) -> str:
        """Say what was among the cases: `ranks 0 to 4, 12 dtypes, empty tensors`."""
        left = {name: n for name, n in self.drawn.items() if name != "cases"}
        parts = []
        if "lowest rank" in left:
            low, high = left.pop("lowest rank"), left.pop("highest rank")
            parts.append(f"ranks {low} to {high}" if low < high else f"rank {low}")
        if count := left.pop("dtypes", 0):
            parts.append(f"{count} dtype{'s' * (count > 1)}")
        parts += [n if n.endswith("tensors") else f"{count} {n}" for n, count in left.items()]
        return ", ".join(parts)


class Results(ByPart[Swept]):
    """What is kept of a book's sweeps."""

    shared: ClassVar = ("operators", "torch", "date")
    wrong = "no result of a sweep"

    @classmethod
    def of(cls, docs: Path) -> "Results":
        """Return those of a book."""
        return cls(docs / "records" / "sweeps")

    def data(self, value: Swept) -> dict[str, Any]:
        """Return the fields of a result."""
        return asdict(value)

    def parse(self, data: dict[str, Any]) -> Swept:
        """Return the result of a line."""
        return structure(data, Swept)


def swept_data(written: Written, result: Swept) -> dict[str, Any]:
    """Return what a sweep came to, as `claims.json` gives it."""
    return {
        "cases": result.cases,
        "drawn": result.domain(),
        "source": written.source,
        "status": Status.CURRENT if result.is_of(written) else Status.STALE,
    }


def run_sweeps(
    runner: Runner, sweeps: Iterable[Written], track: Track
) -> Iterator[tuple[Written, Swept | Run]]:
    """Run sweeps, then the mutants of those that find nothing.

    Args:
        track: is given the runs and their number, and passes them on: a progress bar.

    Yields:
        Each sweep with what it came to; with its run, if that found a counterexample or broke off.
    """
    by_id = {each.claim.id: each for each in sweeps}
    quiet: dict[str, Run] = {}
    searches = [each.runnable() for each in by_id.values()]
    for run in track(runner.run(searches, Lane.CPU), len(searches)):
        if run.outcome is Outcome.PASSED and run.measurements:
            quiet[run.claim] = run
        else:
            yield by_id[run.claim], run
    trials = [mutant for name in quiet for mutant in by_id[name].mutants()]
    count, killed = Counter(_of(trial.id) for trial in trials), Counter[str]()
    torch = runner.environments[Lane.CPU].torch if quiet else ""
    left = count.copy()
    yield from (
        (by_id[name], _swept(by_id[name], run, 0, 0, torch))
        for name, run in quiet.items()
        if not count[name]
    )
    for trial in track(runner.run(trials, Lane.CPU), len(trials)):
        name = _of(trial.claim)
        left[name] -= 1
        killed[name] += "\n# AssertionError" in "".join(trial.outputs)
        if not left[name]:
            yield by_id[name], _swept(by_id[name], quiet[name], count[name], killed[name], torch)


def _of(mutant: str) -> str:
    """The claim of a mutant's id."""
    return mutant.partition("~")[0]


def _swept(written: Written, run: Run, ran: int, killed: int, torch: str) -> Swept:
    drawn = {measured.name: int(measured.value) for measured in run.measurements}
    today = datetime.now(UTC).date().isoformat()
    ids = written.claim.id, written.digest(), OPERATORS_DIGEST
    return Swept(*ids, drawn, ran, killed, torch, today)
