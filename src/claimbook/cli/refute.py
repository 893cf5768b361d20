"""The commands that try to refute the book: `falsify` and `sweep`."""

import sys
from collections.abc import Collection, Mapping

import click

from claimbook.cli import common
from claimbook.engine.pool import Runner
from claimbook.model import Claim, Lane, Outcome, Run
from claimbook.mutation import falsify
from claimbook.mutation.falsify import Falsified
from claimbook.pages.book import Book, BookError
from claimbook.sweeps.results import Results, Swept, result_of
from claimbook.sweeps.written import GENERAL, Written, left_out, read_sweeps

OF_SWEEPS = (
    "Correct the sweep, or what its file imports and defines: `sweep` is imported from\n"
    "claimbook.sweeps.search, what it may draw from claimbook.sweeps.strategies."
)


@click.command("falsify")
@common.to_run
@click.option("--fresh", is_flag=True, help="Also run what already has a current result.")
def falsify_claims(names: tuple[str, ...], lane: Lane, jobs: int | None, fresh: bool) -> None:
    """Run claims with changed code; print what no output reveals.

    Without names, run the claims whose first lane is the given one: on cuda, those that need a
    GPU. Exit status 1 if a claim fails unchanged: it cannot be falsified.
    """
    book = common.load()
    claims = [c for c in common.chosen(book, names, lane) if names or c.lanes[0] is lane]
    store = falsify.Results.of(book.project.docs, common.tell_broken)
    kept = [] if fresh else [(claim, store.load(claim)) for claim in claims]
    found = {c: result for c, result in kept if result and result.lane == lane and result.is_of(c)}
    due, failed = [claim for claim in claims if claim not in found], list[str]()
    if due:
        falsified, failed = _falsified(due, lane, jobs, store)
        found |= falsified
    results = {claim: found[claim] for claim in claims if claim in found}
    for claim, result in results.items():
        for survivor in result.survivors:
            where = claim.place(survivor.line, result.lane)
            common.say(f"{where}: {claim.id}: {survivor}")
    _say_caught(results.values(), one_by_one=bool(names))
    if failed:
        common.warn(f"{', '.join(failed)}: a claim that fails unchanged cannot be falsified")
    sys.exit(1 if failed else 0)


def _falsified(
    due: list[Claim], lane: Lane, jobs: int | None, store: falsify.Results
) -> tuple[dict[Claim, Falsified], list[str]]:
    """Return the results of claims, which are saved too, and the ids of those that fail."""
    found: dict[Claim, Falsified] = {}
    with Runner(jobs, tries=1) as runner:
        runs = dict(common.progress(runner, due, lane))
        common.check_lane(runner, due, lane, "; nothing was falsified")
        passed = [(claim, run) for claim, run in runs.items() if run.outcome is Outcome.PASSED]
        falsified = falsify.falsify(runner, passed, lane)
        with common.progress_bar() as bar:
            for claim, result in bar.track(falsified, len(passed), description="altered copies"):
                store.save(claim, result)
                found[claim] = result
    whole = (Outcome.PASSED, Outcome.SKIPPED)
    return found, [claim.id for claim, run in runs.items() if run.outcome not in whole]


def _say_caught(results: Collection[Falsified], *, one_by_one: bool) -> None:
    """Print how many mutants of each claim were caught, or how many of all."""
    if one_by_one:
        for result in results:
            common.say(f"{result.claim}: {result.killed} of {result.mutants} mutants caught")
        return
    mutants, caught = sum(r.mutants for r in results), sum(r.killed for r in results)
    common.say(f"mutants caught: {caught:,} of {mutants:,}")


@click.command("sweep")
@common.to_run
@click.option("--fresh", is_flag=True, help="Also run what already has a current result.")
@click.option(
    "--missing",
    is_flag=True,
    help="List general titles without a sweep, and sweeps without a current result; run nothing.",
)
def sweep_claims(
    names: tuple[str, ...], lane: Lane, jobs: int | None, fresh: bool, missing: bool
) -> None:
    """Search for counterexamples to general claims.

    Results are saved only on the CPU. Exit status 1 if a counterexample is found, or if no case
    reaches an assertion, 2 if a file has a fault that may hide a sweep.
    """
    if missing and (fresh or jobs or lane is not Lane.CPU):
        raise click.UsageError("--missing runs nothing: leave out --fresh, --jobs and --lane.")
    book = common.load()
    claims, faults = book.select(names), list[str]()
    written = read_sweeps(book.project, book.claims, lambda *fault: faults.append(": ".join(fault)))
    for fault in faults:
        common.warn(fault)
    status = 2 if faults and not (names and written.keys() >= {*names}) else 0
    if missing:
        sys.exit(status or _tell_missing(book, claims, written))
    of_claims = [written[claim.id] for claim in claims if claim.id in written]
    if names and not of_claims:
        name = claims[0].id.replace("-", "_")
        advice = f"write one in docs/sweeps/, as `def {name}(…)`"
        raise BookError(f"nothing to run: no named claim has a sweep; {advice}")
    sweeps = [each for each in of_claims if lane in each.claim.lanes]
    if of_claims and not sweeps:
        raise BookError(f"nothing to run: no claim with one of these sweeps runs on {lane}")
    store = Results.of(book.project.docs, common.tell_broken) if lane is Lane.CPU else None
    found, broken = _searched(sweeps, lane, jobs, store, fresh=fresh)
    _say([found[each] for each in sweeps if each in found], one_by_one=bool(names))
    sys.exit(1 if broken else status)


def _searched(
    sweeps: list[Written], lane: Lane, jobs: int | None, store: Results | None, *, fresh: bool
) -> tuple[dict[Written, Swept], bool]:
    """Return the results of sweeps, stored ones unless `fresh`, and whether one is broken.

    Save the others, if there is a store, and tell what was found against a claim.
    """
    kept = [(each, store.load(each.claim)) for each in sweeps] if store and not fresh else []
    found = {each: result for each, result in kept if result and result.is_of(each)}
    broken = False
    if due := [each for each in sweeps if each not in found]:
        searches = {each.runnable(): each for each in due}
        with Runner(jobs, tries=1) as runner, common.progress_bar() as bar:
            runs = runner.run(searches, lane)
            for search, run in bar.track(runs, len(due), description="searching"):
                sweep = searches[search]
                common.check_lane(runner, [search], lane, f": {run.message}")
                if run.outcome is Outcome.PASSED:
                    found[sweep] = result_of(sweep, run, runner.environments[lane].torch)
                    if store:
                        store.save(sweep.claim, found[sweep])
                else:
                    broken = True
                    _tell(sweep, run)
    return found, broken


def _say(results: Collection[Swept], *, one_by_one: bool) -> None:
    """Print what each statement withstood, or how many did."""
    if one_by_one:
        for result in results:
            common.say(f"{result.claim}: {result.cases} cases: {result.domain()}")
        return
    cases = sum(result.cases for result in results)
    common.say(f"statements without a counterexample: {len(results)}, in {cases:,} cases")


def _tell_missing(book: Book, claims: list[Claim], written: Mapping[str, Written]) -> int:
    """List the claims with a general title but neither a sweep nor a reason for none.

    Then those whose sweep or title was edited since it was run.
    """
    left = left_out(book.project, [claim.id for claim in book.claims])
    general = [claim for claim in claims if GENERAL.search(claim.title)]
    bare = [claim for claim in general if claim.id not in written and claim.id not in left]
    for claim in bare:
        common.say(f"{claim.location}: {claim.id}: {claim.title}")
    swept = sum(claim.id in written for claim in general)
    count = f"{len(general)} general titles: {swept} swept, {len(bare)} missing"
    common.err.print(f"{count}, {len(general) - swept - len(bare)} left with a reason")
    if bare:
        advice = "Narrow the title, write a sweep, or give a reason in docs/sweeps/<part>.yaml."
        common.err.print(advice)
    kept = Results.of(book.project.docs, common.tell_broken)
    swept_now = (written[claim.id] for claim in claims if claim.id in written)
    due = [each.claim for each in swept_now if not ((r := kept.load(each.claim)) and r.is_of(each))]
    if due:
        common.err.print(f"without a current result: {common.some(due)}; run claimbook sweep")
    return 1 if bare or due else 0


def _tell(written: Written, run: Run) -> None:
    """Print the counterexample to a sweep as code, or why the search failed."""
    number, printed = next(((n, text) for n, text in enumerate(run.outputs) if text), (0, ""))
    where, searched = f"{written.location}: {written.claim.id}", len(written.setup) + 1
    if not printed:
        common.err.print(f"{where}: {run.message}\n")
        return
    if number < searched or printed.startswith("Traceback"):
        common.err.print(f"{where}: it does not run\n\n{printed}\n\n{OF_SWEEPS}\n")
        return
    if number > searched:
        common.err.print(f"{where}: {printed}\n")
        return
    place = written.claim.location
    advice = (
        f"If torch is right, narrow the statement ({place}) or what is drawn, and show this case\n"
        "in an example; if the sweep is wrong, correct it."
    )
    common.err.print(f"{where}: a counterexample\n\n{printed}\n\n{advice}\n")
