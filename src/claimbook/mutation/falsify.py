"""Shows that examples can fail: runs the mutants of claims, and keeps what came of them.

A mutant that still prints what the page says is a survivor: the example does not show what the
claim says, or the change is none. What came of them is kept in one file a part, a line a claim.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from claimbook.engine.pool import Runner
from claimbook.model import Claim, Lane, Outcome, Run, Status
from claimbook.mutation.mutants import Edit, mutants
from claimbook.mutation.operators import OPERATORS_DIGEST
from claimbook.records.by_page import ByPart

SLOWER = 5
"""A mutant may take so many times as long as its claim, and never less than the runner allows:
what a new worker's first optimiser imports must not count as caught."""

Track = Callable[[Iterable[Run], int], Iterable[Run]]


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
    survivors: tuple[Edit, ...]
    """The mutants that print what the page says."""
    torch: str
    date: str = field(compare=False)

    def __post_init__(self) -> None:
        if self.killed + len(self.survivors) != self.mutants:
            raise ValueError("each mutant is killed or survives")

    def is_of(self, claim: Claim) -> bool:
        """Return whether it holds for the claim as it stands and for today's operators."""
        return (self.operators, self.digest) == (OPERATORS_DIGEST, claim.digest(self.lane))


class Results(ByPart[Falsified]):
    """What is kept of a book's mutants."""

    kind = "falsified"
    holds = Falsified
    wrong = "no result of falsify"


def run_mutants(
    runner: Runner,
    claims: Iterable[Claim],
    lane: Lane,
    mutants_of: Callable[[Claim, Run], Iterable[Claim]],
    track: Track,
) -> Iterator[tuple[Claim, Run, list[Run] | None]]:
    """Run claims, then all mutants of those that pass.

    Args:
        mutants_of: returns the mutants of a claim, each with the claim's id, `~` and a number.
        track: is given runs and their number, and passes them on: a progress bar.

    Yields:
        Each claim with its run and those of its mutants, once they are done; with None for these
        if the claim did not pass.
    """
    by_id = {claim.id: claim for claim in claims}
    passed: dict[str, Run] = {}
    for run in track(runner.run(by_id.values(), lane), len(by_id)):
        if run.outcome is Outcome.PASSED:
            passed[run.claim] = run
        else:
            yield by_id[run.claim], run, None
    due = {name: [*mutants_of(by_id[name], run)] for name, run in passed.items()}
    yield from ((by_id[name], passed[name], []) for name in due if not due[name])
    mutated = [mutant for of_claim in due.values() for mutant in of_claim]
    tried: dict[str, list[Run]] = {name: [] for name in due}
    for run in track(runner.run(mutated, lane), len(mutated)):
        name = run.claim.partition("~")[0]
        tried[name].append(run)
        if len(tried[name]) == len(due[name]):
            yield by_id[name], passed[name], tried[name]


def falsify(
    runner: Runner, claims: Iterable[Claim], lane: Lane, track: Track = lambda runs, count: runs
) -> Iterator[tuple[Claim, Falsified | Run]]:
    """Run claims, then all mutants of those that pass.

    Yields:
        Each claim with what became of its mutants; with its own run, if that did not pass.
    """
    edits: dict[str, Edit] = {}

    def mutants_of(claim: Claim, run: Run) -> Iterator[Claim]:
        limit = max(runner.limit(claim, lane), SLOWER * run.seconds)
        for mutant, edit in mutants(claim, lane):
            edits[mutant.id] = edit
            yield replace(mutant, timeout=limit)

    for claim, run, tried in run_mutants(runner, claims, lane, mutants_of, track):
        if tried is None:
            yield claim, run
        else:
            survivors = [edits[each.claim] for each in tried if each.outcome is Outcome.PASSED]
            torch = runner.environments[lane].torch
            yield claim, _falsified(claim, lane, len(tried), survivors, torch)


def _falsified(
    claim: Claim, lane: Lane, tried: int, survivors: list[Edit], torch: str
) -> Falsified:
    return Falsified(
        claim.id,
        lane,
        claim.digest(lane),
        OPERATORS_DIGEST,
        tried,
        tried - len(survivors),
        tuple(sorted(survivors, key=lambda s: (s.line, s.operator, s.after))),
        torch,
        datetime.now(UTC).date().isoformat(),
    )


def falsified_data(claim: Claim, result: Falsified) -> dict[str, Any]:
    """Return what became of a claim's mutants for `claims.json`, with lines of the page."""
    return {
        "mutants": result.mutants,
        "killed": result.killed,
        "survivors": [
            {**vars(s), "line": claim.place(s.line, result.lane).line} for s in result.survivors
        ],
        "status": Status.CURRENT if result.is_of(claim) else Status.STALE,
    }
