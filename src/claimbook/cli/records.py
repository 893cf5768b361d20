"""The commands that record what claims print: `record` on a machine, `release` of a torch."""

import sys
from collections import Counter
from dataclasses import replace
from typing import TextIO

import click

from claimbook.checking.compare import diff
from claimbook.checking.report import prompted
from claimbook.cli import common
from claimbook.engine import environment
from claimbook.engine.pool import Runner
from claimbook.model import Claim, Environment, Lane, Outcome, Provenance, Run
from claimbook.pages.book import Book, BookError
from claimbook.records import book_runs
from claimbook.records.book_runs import BookRun, BookRuns, Result
from claimbook.records.runs import Records, record_of

SAVED = 50
"""Number of claims after which the results of a release are saved, in case it is interrupted."""

OF_MACHINE = {Outcome.SKIPPED, Outcome.VARIED}
"""Outcomes that depend on the machine or the build of torch, not on the release."""


@click.command()
@common.to_run
def record(names: tuple[str, ...], lane: Lane, jobs: int | None) -> None:
    """Run claims on a lane and write their records.

    On the CPU, results are also saved under docs/records/machines/, which makes this machine one
    of the reference machines that cards show.

    Exit status 3 if an output differs from its page. Without the lane's device nothing is
    written, and the exit status is 2.
    """
    written, runs = list[bool](), dict[Claim, Run]()
    with Runner(jobs) as runner:
        book = common.load()
        claims = common.chosen(book, names, lane, needed=True)
        records = Records.of(book.project.docs, lane, common.tell_broken)
        claims.sort(key=records.last_run)  # a run that is cut off has then done what was due
        provenance = environment.provenance(book.project.root)
        for claim, run in common.progress(runner, claims, lane):
            runs[claim] = run
            if run.outcome is not Outcome.SKIPPED:
                where = runner.environments[lane]
                written += [records.save(claim, record_of(claim, run, where, provenance))]
    common.check_lane(runner, claims, lane, "; nothing was recorded")
    folder = book.project.name(records.folder)
    count, as_before = sum(written), written.count(False)
    rest = f", {as_before} as before" * bool(as_before)
    common.say(f"{common.counted(count, 'record')} written under {folder}{rest}")
    if lane is Lane.CPU:
        where, hardware = runner.environments[lane], environment.hardware()
        results = book_runs.results_of(runs)
        name = book_runs.machine_name(where, hardware)
        here = BookRun(name, where, results, hardware, recorded=provenance)
        common.say(_keep(book, here, whole=not names))
    # Not 1, the status of an uncaught exception.
    sys.exit(3 if any(run.outcome.is_fault for run in runs.values()) else 0)


def _keep(book: Book, machine: BookRun, *, whole: bool) -> str:
    """Save this machine's results, merged with earlier ones of its environment; say where.

    Results of another environment are replaced only by those of the whole book.
    """
    machines = book_runs.Machines.of(book.project.docs)
    file = book.project.name(machines.path(machine.name))
    known = machines.load(machine.name, common.tell_broken)  # a broken record is replaced
    if known and known.environment != machine.environment and not whole:
        made_with = f"torch {known.environment.torch} on Python {known.environment.python}"
        advice = "to replace them, run claimbook record without names"
        return f"{file} is as before: its results are of {made_with}; {advice}"
    kept = book_runs.earlier_results([known] if known else [], book.claims, machine.environment)
    machines.save(replace(machine, claims={**kept, **machine.claims}))
    return f"this machine's results are in {file}"


@click.command("release")
@click.option(
    "--report",
    type=click.File("a", encoding="utf-8", lazy=False),
    help="Write no record; append what differs from the newest one to this file.",
)
@click.option("--changed", is_flag=True, help="Run only what is new or edited; keep the rest.")
@common.lane_option
def record_release(report: TextIO | None, changed: bool, lane: Lane) -> None:
    """Record what all claims print with the installed torch.

    `nox -s matrix` runs this in one environment per release.
    """
    if changed and lane is not Lane.CPU:
        raise click.UsageError("--changed needs --lane cpu: another GPU prints other figures")
    book = common.load()
    store = book_runs.Releases if lane is Lane.CPU else book_runs.CudaReleases
    releases = store.of(book.project.docs)
    recorded = releases.load_all(common.tell_broken)
    if report and not recorded:
        raise BookError("no release is on record to compare with; run this without --report first")
    release = _run(book, lane, recorded, None if report else releases, changed)
    if report:
        report.writelines(f"{line}\n" for line in _flips(book, recorded[-1], release))
    else:
        releases.save(release)
    counts = Counter(result.word for result in release.claims.values())
    words = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    common.say(f"torch {release.name}: {words}")


def _run(
    book: Book, lane: Lane, recorded: list[BookRun], saved: BookRuns | None, changed: bool
) -> BookRun:
    """Run all claims on the installed torch, first those without a result.

    Args:
        saved: where results are saved from time to time, with earlier ones of this environment.
        changed: leave out claims with such an earlier result.
    """
    claims = common.chosen(book, (), lane, needed=True)
    installed = environment.release(environment.torch_version())
    claims.sort(key=lambda claim: any(run.of(claim) for run in recorded if run.name == installed))
    results, made = dict[str, Result](), environment.provenance(book.project.root)
    if changed:
        results = book_runs.earlier_results(recorded, claims, environment.describe(lane))
    due = [claim for claim in claims if claim.id not in results]
    with Runner() as runner:
        ran = common.progress(runner, due, lane, explained=False) if due else ()
        for number, (claim, run) in enumerate(ran, 1):
            if run.outcome not in OF_MACHINE:
                results[claim.id] = book_runs.result_of(claim, run)
            if saved and number % SAVED == 0 and (here := runner.environments.get(lane)):
                kept = book_runs.earlier_results(recorded, claims, here)
                _save_part(saved, _release(here, kept | results, made), recorded)
        if lane is not Lane.CPU:
            common.check_lane(runner, claims, lane, "; nothing was recorded")
        here = runner.environments.get(lane) or environment.describe(lane)
    return _release(here, results, made)


def _release(here: Environment, results: dict[str, Result], made: Provenance) -> BookRun:
    return BookRun(environment.release(here.torch), here, results, recorded=made)


def _save_part(saved: BookRuns, part: BookRun, recorded: list[BookRun]) -> None:
    """Save a part of a release, unless the whole of another device or build is on record."""
    known = [run.environment for run in recorded if run.name == part.name]
    if all(environment == part.environment for environment in known):
        saved.save(part)


def _flips(book: Book, old: BookRun, new: BookRun) -> list[str]:
    """Return Markdown that lists the claims that print something else on one of two releases."""
    lines: list[str] = []
    for change in book_runs.changed(book.claims, old, new):
        claim = change.claim
        was, now = (each.claims[claim.id].word for each in (old, new))
        told = [*prompted(change.source), *diff(change.before, change.after).split("\n")]
        lines += [f"- `{claim.id}` ({claim.location}): {was} → {now}"]
        lines += ["", "  ```text", *(f"  {line}" for line in told), "  ```", ""]
    return [f"## torch {new.name}, compared with {old.name}", "", *lines] if lines else []
