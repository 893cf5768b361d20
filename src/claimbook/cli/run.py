"""The commands that run claims: `run`, `record`."""

import random
import sys
from collections import Counter

import click

from claimbook import environment
from claimbook.cli import common
from claimbook.model import Claim, Lane, Outcome, Record, Run
from claimbook.perturb import perturbed, watched
from claimbook.report import first_place
from claimbook.runner import Runner

FIELDS = ("claim", "lane", "outcome", "message", "seconds", "outputs")
"""What `--json` tells of a run, beside its place."""


@click.command()
@common.to_run
@click.option("--require-lane", is_flag=True, help="Fail if the lane cannot run on this machine.")
@click.option("--shuffle", type=int, metavar="SEED", help="Run in an order drawn from this seed.")
@click.option("--perturb", type=click.IntRange(1), metavar="SEED", help="Round as another machine.")
@common.as_json
def run(
    names: tuple[str, ...],
    lane: Lane,
    jobs: int | None,
    timeout: float | None,
    require_lane: bool,
    shuffle: int | None,
    perturb: int | None,
    as_json: bool,
) -> None:
    """Runs claims and compares what they print with their pages.

    Exit status 1 if any differs, 2 if none of those that are named runs on the lane.
    """
    with Runner(jobs, timeout) as runner:
        book = common.load()
        for problem in book.problems:
            common.err.print(str(problem), markup=False)
        claims = common.chosen(book, names, lane)
        if shuffle is not None:
            random.Random(shuffle).shuffle(claims)
        if perturb is not None:
            claims = [perturbed(claim, perturb) for claim in _steady(runner, claims, lane)]
        runs = {r.claim: r for r in common.progress(runner, claims, lane, explained=not perturb)}
    ran = [(claim, runs[claim.id]) for claim in claims]
    differing = [(claim, run) for claim, run in ran if _differs(run)]
    if as_json:
        common.print_json([_data(claim, run) for claim, run in ran])
    elif differing:
        where = runner.environments[lane]
        lines = [f"What does not hold on {where.device} with torch {where.torch}:"]
        lines += [f"{first_place(c, r)}: {c.id} {r.outcome}: {r.message}" for c, r in differing]
        common.out.print("\n".join(lines), markup=False)
    if require_lane:
        common.check_lane(runner, claims, lane, ", and --require-lane asks for it")
    sys.exit(1 if book.problems or differing else 0)


def _steady(runner: Runner, claims: list[Claim], lane: Lane) -> list[Claim]:
    """The claims that read no clock, and hold while they are watched."""
    here = watched(claims, lane)
    with common.progress_bar() as bar:
        runs = bar.track(runner.run(here, lane), len(here))
        held = {run.claim for run in runs if not _differs(run)}
    common.err.print(f"{len(held)} of {len(claims)} claims read no clock, and hold watched")
    return [claim for claim in claims if claim.id in held]


@click.command()
@common.to_run
def record(names: tuple[str, ...], lane: Lane, jobs: int | None, timeout: float | None) -> None:
    """Runs claims on a lane and writes their records.

    Exit status 3 if any differs from its page. Needs the lane's device: without it nothing is
    written, and the exit status is 2.
    """
    written, outcomes = 0, Counter[Outcome]()
    with Runner(jobs, timeout) as runner:
        book = common.load()
        claims = {claim.id: claim for claim in common.chosen(book, names, lane)}
        records, provenance = book.project.records(lane), environment.provenance(book.project.root)
        for run in common.progress(runner, list(claims.values()), lane):
            outcomes[run.outcome] += 1
            if run.outcome is not Outcome.SKIPPED:
                digest = claims[run.claim].digest(lane)
                kept = Record(run, digest, runner.environments[lane], provenance)
                written += records.save(claims[run.claim], kept)
    common.check_lane(runner, claims.values(), lane, "; nothing was recorded")
    folder, plural = book.project.name(records.folder / lane), "s" * (written != 1)
    common.out.print(f"{written} record{plural} written under {folder}")
    # Python's own errors end with 1.
    sys.exit(3 if outcomes.keys() - {Outcome.PASSED, Outcome.SKIPPED} else 0)


def _data(claim: Claim, run: Run) -> dict[str, object]:
    return {**{field: getattr(run, field) for field in FIELDS}, "place": first_place(claim, run)}


def _differs(run: Run) -> bool:
    return run.outcome not in (Outcome.PASSED, Outcome.SKIPPED)
