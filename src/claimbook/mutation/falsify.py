"""Show that examples can fail: run the mutants of claims and save the results.

A mutant that still prints what the page says is a survivor: either the example does not show what
the claim says, or the change makes no difference. Results are saved in one file per part of the
book, a line per claim.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from claimbook.engine.environment import today
from claimbook.engine.pool import Runner
from claimbook.model import Claim, Lane, Outcome, Run, Status
from claimbook.mutation.mutants import Edit, mutants
from claimbook.mutation.operators import OPERATORS_DIGEST
from claimbook.records.by_page import ByPart

SLOWER = 5
"""Time limit of a mutant, as a multiple of its claim's time, but at least the runner's limit: slow
imports in a new worker must not count as caught."""


@dataclass(frozen=True)
class Falsified:
    """The results for the mutants of one claim."""

    claim: str
    lane: Lane
    """The lane on which the mutants ran."""
    digest: str
    """The claim's digest on that lane."""
    operators: str
    mutants: int
    """The number of mutants that ran."""
    killed: int
    survivors: tuple[Edit, ...]
    """The changes of the mutants that still print what the page says."""
    torch: str
    date: str = field(compare=False)

    def __post_init__(self) -> None:
        if self.killed + len(self.survivors) != self.mutants:
            raise ValueError("each mutant is killed or survives")

    def is_of(self, claim: Claim) -> bool:
        """Return whether it is current for a claim and the operators."""
        return (self.operators, self.digest) == (OPERATORS_DIGEST, claim.digest(self.lane))


class Results(ByPart[Falsified]):
    """The saved results of a book's mutants."""

    kind = "falsified"
    shared = ("operators", "torch", "date")
    value_type = Falsified


def falsify(
    runner: Runner, passed: Iterable[tuple[Claim, Run]], lane: Lane
) -> Iterator[tuple[Claim, Falsified]]:
    """Run all mutants of claims, given with their own runs; yield each claim with the results."""
    due: dict[Claim, dict[Claim, Edit]] = {}
    for claim, run in passed:
        limit = max(runner.limit(claim, lane), SLOWER * run.seconds)
        due[claim] = {replace(each, timeout=limit): edit for each, edit in mutants(claim, lane)}
    origins = {mutant: claim for claim, edits in due.items() for mutant in edits}
    survivors: dict[Claim, list[Edit]] = {claim: [] for claim in due}
    left = {claim: len(edits) for claim, edits in due.items()}

    def result(claim: Claim) -> Falsified:
        found = sorted(survivors[claim], key=attrgetter("line", "operator", "after"))
        of, count = (claim.id, lane, claim.digest(lane), OPERATORS_DIGEST), len(due[claim])
        torch = runner.environments[lane].torch
        return Falsified(*of, count, count - len(found), tuple(found), torch, today())

    yield from ((claim, result(claim)) for claim in due if not due[claim])
    for mutant, run in runner.run(origins, lane):
        claim = origins[mutant]
        left[claim] -= 1
        if run.outcome is Outcome.PASSED:
            survivors[claim].append(due[claim][mutant])
        if not left[claim]:
            yield claim, result(claim)


def falsified_data(claim: Claim, result: Falsified) -> dict[str, Any]:
    """Return the results for a claim's mutants for `claims.json`, with page lines."""
    return {
        "mutants": result.mutants,
        "killed": result.killed,
        "survivors": [
            {**vars(s), "line": claim.place(s.line, result.lane).line} for s in result.survivors
        ],
        "status": Status.CURRENT if result.is_of(claim) else Status.STALE,
    }
