"""The commands that run claims: `run`, `record`."""

import json
import random
import sys
from contextlib import suppress
from dataclasses import replace

import click

from claimbook.checking.report import first_place, summary
from claimbook.cli import common
from claimbook.engine import environment
from claimbook.engine.pool import Runner
from claimbook.model import Lane, Outcome, Run
from claimbook.pages.book import Book
from claimbook.records.book_runs import (
    BookRun,
    Machines,
    earlier_results,
    machine_name,
    results_of,
)
from claimbook.records.reading import RecordError
from claimbook.records.runs import Records, record_of

FIELDS = ("claim", "lane", "outcome", "message", "seconds", "outputs")
"""The fields of a run in the output of `--json`, beside its place."""


@click.command()
@common.to_run
@click.option("--require-lane", is_flag=True, help="Fail if the lane cannot run on this machine.")
@click.option("--strict", is_flag=True, help="Fail if a claim about a machine differs on this one.")
@click.option("--shuffle", type=int, metavar="SEED", help="Run in a random order with this seed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for other programs.")
def run(
    names: tuple[str, ...],
    lane: Lane,
    jobs: int | None,
    require_lane: bool,
    strict: bool,
    shuffle: int | None,
    as_json: bool,
) -> None:
    """Run claims and compare what they print with their pages.

    Exit status 1 if an output differs or a page has a problem, 2 if no named claim runs on the
    lane. A claim about a machine that differs on this one is reported; it fails only with
    --strict.
    """
    with Runner(jobs) as runner:
        book = common.load()
        claims = common.chosen(book, names, lane)
        problems = common.tell_problems(book, names)
        if shuffle is not None:
            random.Random(shuffle).shuffle(claims)
        runs = {run.claim: run for run in common.progress(runner, claims, lane)}
    ran = [(claim, runs[claim.id]) for claim in claims]
    differing = [(claim, run) for claim, run in ran if run.outcome.is_fault]
    varied = [(claim, run) for claim, run in ran if run.outcome is Outcome.VARIED]
    if as_json:
        data = [
            {**{field: getattr(run, field) for field in FIELDS}, "place": first_place(claim, run)}
            for claim, run in ran
        ]
        print(json.dumps(data, indent=1))  # ASCII, whatever the locale
    elif lane in runner.environments and len(ran) > 1:  # a single one was reported in full
        text = summary(differing, varied, runner.environments[lane])
        common.out.print(text, markup=False, end="")
    if require_lane:
        common.check_lane(runner, claims, lane, ", and --require-lane is given")
    sys.exit(1 if problems or differing or (strict and varied) else 0)


@click.command()
@common.to_run
def record(names: tuple[str, ...], lane: Lane, jobs: int | None) -> None:
    """Run claims on a lane and write their records.

    On the CPU, results are also saved under docs/records/machines/, which makes this machine one
    of the reference machines that cards show.

    Exit status 3 if an output differs from its page. Without the lane's device nothing is
    written, and the exit status is 2.
    """
    written, runs = 0, dict[str, Run]()
    with Runner(jobs) as runner:
        book = common.load()
        claims = {claim.id: claim for claim in common.chosen(book, names, lane)}
        records = Records.of(book.project.docs, lane, common.tell_broken)
        provenance = environment.provenance(book.project.root)
        for run in common.progress(runner, list(claims.values()), lane):
            runs[run.claim] = run
            if run.outcome is not Outcome.SKIPPED:
                claim, where = claims[run.claim], runner.environments[lane]
                written += records.save(claim, record_of(claim, run, where, provenance))
    common.check_lane(runner, claims.values(), lane, "; nothing was recorded")
    folder = book.project.name(records.folder)
    common.say(f"{common.counted(written, 'record')} written under {folder}")
    if lane is Lane.CPU:
        where, hardware = runner.environments[lane], environment.hardware()
        results = results_of(claims.values(), runs)
        name = machine_name(where, hardware)
        file = _keep(book, BookRun(name, where, results, hardware, recorded=provenance))
        common.say(f"this machine's results are in {file}")
    # Not 1, the status of an uncaught exception.
    sys.exit(3 if any(run.outcome.is_fault for run in runs.values()) else 0)


def _keep(book: Book, machine: BookRun) -> str:
    """Save this machine's results, merged with earlier ones from the same environment."""
    machines, known = Machines.of(book.project.docs), None
    with suppress(RecordError):  # a broken record is replaced
        known = machines.load(machine.name)
    kept = earlier_results([known] if known else [], book.claims, machine.environment)
    machines.save(replace(machine, claims={**kept, **machine.claims}))
    return book.project.name(machines.path(machine.name))
