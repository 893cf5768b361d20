"""Show that examples can fail: run the mutants of claims and save the results.

A mutant that still prints what the page says is a survivor: either the example does not show what
the claim says, or the change makes no difference. Results are saved in one file per part of the
book, a line per claim.
"""

from collections.abc import Callable, Iterable, Iterator
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

Track = Callable[[Iterable[tuple[Claim, Run]], int, str], Iterable[tuple[Claim, Run]]]
"""Wraps an iterable of runs, given their number and a title, in a progress bar."""


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
    value_type = Falsified
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
        mutants_of: returns the mutants of a claim.

    Yields:
        Each claim with its run and the runs of its mutants, or None if the claim did not pass.
    """
    claims, passed = [*claims], dict[Claim, Run]()
    for claim, run in track(runner.run(claims, lane), len(claims), "running the originals"):
        if run.outcome is Outcome.PASSED:
            passed[claim] = run
        else:
            yield claim, run, None
    due = {claim: [*mutants_of(claim, run)] for claim, run in passed.items()}
    yield from ((claim, passed[claim], []) for claim in due if not due[claim])
    origins = {mutant: claim for claim in due for mutant in due[claim]}
    tried: dict[Claim, list[Run]] = {claim: [] for claim in due}
    for mutant, run in track(runner.run(origins, lane), len(origins), "running their mutants"):
        claim = origins[mutant]
        tried[claim].append(run)
        if len(tried[claim]) == len(due[claim]):
            yield claim, passed[claim], tried[claim]


def falsify(
    runner: Runner, claims: Iterable[Claim], lane: Lane, track: Track = lambda runs, *_: runs
) -> Iterator[tuple[Claim, Falsified | Run]]:
    """Run claims, then all mutants of those that pass.

    Yields:
        Each claim with the results for its mutants, or with its own run if that did not pass.
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
            continue
        survivors = [edits[each.claim] for each in tried if each.outcome is Outcome.PASSED]
        survivors.sort(key=attrgetter("line", "operator", "after"))
        of = claim.id, lane, claim.digest(lane), OPERATORS_DIGEST
        found = len(tried), len(tried) - len(survivors), tuple(survivors)
        yield claim, Falsified(*of, *found, runner.environments[lane].torch, today())


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
