"""The command `sweep`."""

import sys
from collections.abc import Iterable, Iterator

import click

from claimbook.cli import common
from claimbook.engine.pool import Runner
from claimbook.model import Lane, Run
from claimbook.sweeps.results import Results, Swept, run_sweeps
from claimbook.sweeps.written import Written, chosen, read_sweeps


@click.command("sweep")
@common.names
@common.jobs_option
@click.option("--fresh", is_flag=True, help="Also run what already has a current result.")
def sweep_claims(names: tuple[str, ...], jobs: int | None, fresh: bool) -> None:
    """Searches for counterexamples to what claims say of all, by the sweeps in docs/sweeps.

    Exit status 1 if one is found, or if a sweep holds however its rule is changed.
    """
    book = common.load()
    sweeps = chosen(read_sweeps(book.project, book.claims), common.chosen(book, names, Lane.CPU))
    store = Results.of(book.project.docs)
    found = {} if fresh else _current(store, sweeps)
    broken = []
    if due := [each for each in sweeps if each.claim.id not in found]:
        with Runner(jobs, tries=1) as runner:
            for written, came in _run(runner, due):
                if isinstance(came, Swept):
                    store.put(written.claim, came)
                    found[came.claim] = came
                else:
                    broken.append(came)
                    _tell(written, came)
    weak = _print_found([(each, found[each.claim.id]) for each in sweeps if each.claim.id in found])
    sys.exit(1 if broken or weak else 0)


def _current(store: Results, sweeps: list[Written]) -> dict[str, Swept]:
    """Return what is kept of sweeps and still holds, by claim."""
    kept = [(each, store.load(each.claim)) for each in sweeps]
    for problem in store.problems:
        common.tell_broken(*problem)
    return {each.claim.id: result for each, result in kept if result and result.is_of(each)}


def _run(runner: Runner, due: list[Written]) -> Iterator[tuple[Written, Swept | Run]]:
    """Runs sweeps under a progress bar."""
    with common.progress_bar() as bar:
        steps = iter(("running the sweeps", "running their mutants"))

        def track(runs: Iterable[Run], count: int) -> Iterable[Run]:
            return bar.track(runs, count, description=next(steps))

        yield from run_sweeps(runner, due, track)


def _tell(written: Written, run: Run) -> None:
    """Tells what refutes a sweep, as code, or why it broke off."""
    printed = next((text for text in run.outputs if text), "")
    where = f"{written.location}: {written.claim.id}"
    if not printed:
        common.err.print(f"{where}: {run.message}\n", markup=False)
        return
    place = written.claim.location
    advice = (
        f"If torch is right, narrow the statement ({place}) or what is drawn, and show this case\n"
        "in an example; if the sweep is wrong, correct it."
    )
    common.err.print(f"{where}: a counterexample\n\n{printed}\n\n{advice}\n", markup=False)


def _print_found(found: list[tuple[Written, Swept]]) -> list[str]:
    """Prints what agreed, and names the sweeps that no change of their rule refutes."""
    table = common.plain_table("sweep", "cases", "mutants", "caught")
    pages: dict[str, list[Swept]] = {}
    for written, result in found:
        pages.setdefault(written.claim.location.path, []).append(result)
    for page, results in pages.items():
        for result in results:
            row = (result.cases, result.mutants, result.killed)
            table.add_row(result.claim, *map(str, row))
        table.add_row(f"[bold]{page}[/]", *_sums(results), end_section=True)
    table.add_row("[bold]all[/]", *_sums([result for _, result in found]))
    common.out.print(table)
    weak = [f"{w.location}: {r.claim}" for w, r in found if not r.killed]
    for each in weak:
        common.warn(f"{each}: no change of its rule is noticed; what it asserts decides nothing")
    return weak


def _sums(results: list[Swept]) -> list[str]:
    rows = [(each.cases, each.mutants, each.killed) for each in results]
    return [f"{sum(column):,}" for column in zip(*rows, strict=True)] or ["0"] * 3
