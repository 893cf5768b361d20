"""The command `falsify`."""

import sys

import click

from claimbook.checking.report import explain
from claimbook.cli import common
from claimbook.engine.pool import Runner
from claimbook.model import Claim, Lane, Outcome, Run
from claimbook.mutation.falsify import Falsified, Results, falsify


@click.command("falsify")
@common.to_run
@click.option("--require", type=click.FloatRange(0, 100), help="Fail below this percentage.")
@click.option("--fresh", is_flag=True, help="Also run what already has a current result.")
def falsify_claims(
    names: tuple[str, ...], lane: Lane, jobs: int | None, require: float | None, fresh: bool
) -> None:
    """Run claims with changed code; print what no output reveals.

    Without names, run the claims whose first lane is the given one: on cuda, those that need a
    GPU. Exit status 1 if a claim fails unchanged: it cannot be falsified.
    """
    book = common.load()
    claims = [c for c in common.chosen(book, names, lane) if names or c.lanes[0] is lane]
    store = Results.of(book.project.docs, common.tell_broken)
    kept = [] if fresh else [(claim, store.load(claim)) for claim in claims]
    found = {c.id: r for c, r in kept if r and r.lane == lane and r.is_of(c)}
    failed = []
    if due := [claim for claim in claims if claim.id not in found]:
        with common.mutating(jobs, "claims") as (runner, track):
            for claim, result in falsify(runner, due, lane, track):
                if isinstance(result, Falsified):
                    store.save(claim, result)
                    found[claim.id] = result
                elif _fails(runner, claim, result):
                    failed.append(claim.id)
    results = {claim: found[claim.id] for claim in claims if claim.id in found}
    common.print_caught({claim: (r.mutants, r.killed) for claim, r in results.items()})
    for claim, result in results.items():
        for survivor in result.survivors:
            where = claim.place(survivor.line, result.lane)
            common.say(f"{where}: {claim.id}: {survivor}")
    if failed:
        common.warn(f"{', '.join(failed)}: a claim that fails unchanged cannot be falsified")
    mutants = sum(result.mutants for result in results.values())
    caught = sum(result.killed for result in results.values())
    share = 100 * caught / mutants if mutants else 100
    if low := require is not None and share < require:
        common.warn(f"{share:.1f} % of the mutants are caught, {require:g} % are required")
    sys.exit(1 if failed or low else 0)


def _fails(runner: Runner, claim: Claim, run: Run) -> bool:
    """Print why a claim could not be falsified; return whether it fails unchanged."""
    common.check_lane(runner, [claim], run.lane, f": {run.message}")
    common.note(explain(claim, run) + "\n")
    return run.outcome is not Outcome.SKIPPED
