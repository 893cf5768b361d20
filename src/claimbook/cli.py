"""The command `claimbook`: what authors and operators type."""

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import wraps
from itertools import islice
from pathlib import Path
from typing import Any, ParamSpec

import click
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from claimbook import __version__, environment
from claimbook.accept import AcceptError, Change, Draft, Gravity, changes
from claimbook.book import Book, BookError
from claimbook.export import answer_data, claim_data
from claimbook.falsify import Falsified, Results, falsified_data, falsify, load_all
from claimbook.model import Claim, Lane, Outcome, Record, RelationKind, Run
from claimbook.register import Answer, RegisterError
from claimbook.report import differing, explain
from claimbook.runner import Runner, RunnerError

P = ParamSpec("P")
WORDS = [*map(str, RelationKind), "remark"]

# A file or a pipe has no width of its own, and a table should not be cut there.
out = Console(
    soft_wrap=True, highlight=False, emoji=False, width=None if sys.stdout.isatty() else 120
)
err = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False)

names = click.argument("names", nargs=-1, metavar="[CLAIM|PAGE]...")
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for a machine.")
lane_option = click.option(
    "--lane",
    type=click.Choice([str(lane) for lane in Lane]),  # of an Enum, click takes the names
    default=str(Lane.CPU),
    callback=lambda context, parameter, value: Lane(value),
    show_default=True,
    help="Where to run.",
)
jobs_option = click.option(
    "--jobs",
    "-j",
    type=click.IntRange(min=1),
    help="Worker processes; as many as cores if not given.",
)
timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds for a claim that names none.",
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="claimbook")
def main() -> None:
    """Runs, lists and records the claims of the book around the current folder."""


def _told_plainly(command: Callable[P, None]) -> Callable[P, None]:
    """Turns the errors of a user into one line and exit status 2."""

    @wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except (BookError, RegisterError, RunnerError) as error:
            err.print(f"claimbook: {error}", markup=False)
            sys.exit(2)
        except KeyboardInterrupt:
            err.print("\nclaimbook: stopped")
            sys.exit(130)

    return wrapped


@main.command("list")
@names
@as_json
@_told_plainly
def list_claims(names: tuple[str, ...], as_json: bool) -> None:
    """Lists claims with the place where they stand."""
    book = _load()
    claims = book.select(names)
    if as_json:
        _print_json([claim_data(claim) for claim in claims])
        return
    for claim in claims:
        out.print(f"{claim.location}  [bold]{claim.id}[/]  [dim]{' '.join(claim.lanes)}[/]")
    out.print(f"{len(claims)} claims")


@main.command()
@names
@lane_option
@jobs_option
@timeout_option
@click.option("--require-lane", is_flag=True, help="A lane that cannot run here is an error.")
@click.option("--shuffle", type=int, metavar="SEED", help="Run in an order drawn from this seed.")
@as_json
@_told_plainly
def run(
    names: tuple[str, ...],
    lane: Lane,
    jobs: int | None,
    timeout: float | None,
    require_lane: bool,
    shuffle: int | None,
    as_json: bool,
) -> None:
    """Runs claims and compares what they print; exit status 1 if any differs."""
    with _runner(jobs, timeout) as runner:
        book = _load()
        failed = _report_problems(book)
        claims = book.select(names)
        if shuffle is not None:
            random.Random(shuffle).shuffle(claims)
        runs = {run.claim: run for run in _progress(runner, claims, lane)}
    if as_json:
        _print_json([_run_data(run) for run in runs.values()])
    failed |= any(run.outcome not in (Outcome.PASSED, Outcome.SKIPPED) for run in runs.values())
    if require_lane and any(run.outcome is Outcome.SKIPPED for run in runs.values()):
        err.print(f"claimbook: the {lane} lane cannot run here, and --require-lane asks for it")
        failed = True
    sys.exit(1 if failed else 0)


@main.command()
@names
@lane_option
@jobs_option
@timeout_option
@_told_plainly
def record(names: tuple[str, ...], lane: Lane, jobs: int | None, timeout: float | None) -> None:
    """Runs claims on a lane and writes their records; needs the lane's device."""
    written = 0
    with _runner(jobs, timeout) as runner:
        book = _load()
        claims = {claim.id: claim for claim in book.select(names)}
        records, provenance = book.project.records(lane), environment.provenance(book.project.root)
        outcomes: Counter[Outcome] = Counter()
        for run in _progress(runner, list(claims.values()), lane):
            outcomes[run.outcome] += 1
            if run.outcome is not Outcome.SKIPPED:
                digest = claims[run.claim].digest(lane)
                kept = Record(run, digest, runner.environments[lane], provenance)
                written += records.save(claims[run.claim], kept)
    out.print(f"{written} records written under {book.project.name(records.folder / lane)}")
    sys.exit(0 if outcomes.keys() <= {Outcome.PASSED} else 1)


@main.command("accept")
@names
@lane_option
@jobs_option
@timeout_option
@click.option("--yes", is_flag=True, help="Take over all but changed values, unasked.")
@click.option("--values", is_flag=True, help="With --yes: changed values too.")
@_told_plainly
def accept_outputs(
    names: tuple[str, ...],
    lane: Lane,
    jobs: int | None,
    timeout: float | None,
    yes: bool,
    values: bool,
) -> None:
    """Takes over into the pages what claims print; asks for each output that differs."""
    if values and not yes:
        raise click.UsageError("--values goes with --yes; without it each output is asked for.")
    with _runner(jobs, timeout) as runner:
        book = _load()
        drafts = {p.path: Draft.read(book.project.root, p) for p in book.pages if p.claims}
        offered, refused = _offered(book, runner, book.select(names), lane)
    taken: dict[str, list[Change]] = {}
    for change in _agreed(drafts, offered, yes, values):
        taken.setdefault(change.location.path, []).append(change)
    written = [page for page, agreed in taken.items() if _written(drafts[page], agreed)]
    count = sum(len(taken[page]) for page in written)
    left = len(offered) - count + refused
    out.print(f"{count} accepted on {len(written)} page{'s' * (len(written) != 1)}, {left} left")
    if left and not yes and not _can_ask():
        err.print("claimbook: nobody is here to be asked; --yes takes over what may be taken over")
    sys.exit(1 if left else 0)


def _offered(
    book: Book, runner: Runner, claims: list[Claim], lane: Lane
) -> tuple[list[Change], int]:
    """The outputs that differ, in the order of pages, and how many claims were refused."""
    by_id = {claim.id: claim for claim in claims}
    offered, refused = [], 0
    for run in [*_progress(runner, claims, lane, explained=False)]:
        claim = by_id[run.claim]
        try:
            found = changes(claim, run, book.problems)
            if any(change.adds_fence for change in found):
                _check_on_cpu(runner, claim)
            offered += found
        except AcceptError as error:
            refused += 1
            if run.outcome is not Outcome.SKIPPED:  # of which _progress told once
                err.print(f"{claim.location}: {claim.id}: {error}", markup=False)
    return sorted(offered, key=lambda change: change.location), refused


def _check_on_cpu(runner: Runner, claim: Claim) -> None:
    # A fence for CUDA says how it differs from the CPU; so the CPU's must be right by then.
    if [run for run in runner.run([claim], Lane.CPU) if run.outcome is not Outcome.PASSED]:
        raise AcceptError(f"what the CPU prints comes first: claimbook accept {claim.id}")


def _agreed(
    drafts: dict[str, Draft], offered: list[Change], yes: bool, values: bool
) -> Iterable[Change]:
    """Shows each change; gives those that may be made and that the author wants."""
    for change in offered:
        where = f"{change.location}: {change.claim.id} [{change.run.lane}] {change.gravity}"
        click.echo("\n".join([where, *differing(change.mismatch)]))
        try:
            drafts[change.location.path].revise([change])
        except AcceptError as error:
            click.echo(f"  Not to be taken over: {error}.\n")
            continue
        answer = _answer(change, yes, values)
        if answer == "q":
            return
        if answer == "y":
            yield change


def _answer(change: Change, yes: bool, values: bool) -> str:
    if yes and change.gravity is Gravity.VALUE and not values:
        click.echo("  Left as it is: a value changed, and only --values takes that over unasked.\n")
        return "n"
    if yes or not _can_ask():
        click.echo()
        return "y" if yes else "n"
    return str(click.prompt("  Take it over?", type=click.Choice(["y", "n", "q"])))


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _written(draft: Draft, agreed: list[Change]) -> bool:
    try:
        draft.write(agreed)
    except AcceptError as error:
        err.print(f"{draft.page.path}: nothing is taken over on this page: {error}", markup=False)
        return False
    return True


@main.command("falsify")
@names
@lane_option
@jobs_option
@click.option("--require", type=click.FloatRange(0, 100), help="Fail below this percentage.")
@click.option("--fresh", is_flag=True, help="Run also what has a current result.")
@as_json
@_told_plainly
def falsify_claims(
    names: tuple[str, ...],
    lane: Lane,
    jobs: int | None,
    require: float | None,
    fresh: bool,
    as_json: bool,
) -> None:
    """Runs claims with their code changed, and prints which changes no output shows."""
    book = _load()
    claims = [claim for claim in book.select(names) if lane in claim.lanes]
    store = Results(book.project.docs)
    kept = {} if fresh else load_all(store, claims, lambda _, error: _warn(error))
    found = {c.id: r for c in claims if (r := kept.get(c.id)) and r.lane == lane and r.is_of(c)}
    if due := [claim for claim in claims if claim.id not in found]:
        with _runner(jobs, None) as runner:
            for result in _falsify(runner, due, lane):
                claim = next(claim for claim in due if claim.id == result.claim)
                store.save(claim, result)
                found[claim.id] = result
    results = {claim: found[claim.id] for claim in claims if claim.id in found}
    if as_json:
        pairs = results.items()
        _print_json(
            [{"claim": c.id, "page": c.location.path, **falsified_data(c, r)} for c, r in pairs]
        )
    else:
        _print_falsified(results)
    share = _caught(results.values())
    if require is not None and share < require:
        _warn(f"{share:.1f} % of the mutants are caught, {require:g} % are required")
        sys.exit(1)


@main.command()
@click.argument("names", nargs=-1, metavar="[SOURCE|QUESTION]...")
@click.option("--require", type=click.FloatRange(0, 100), help="Fail below this percentage.")
@as_json
@_told_plainly
def coverage(names: tuple[str, ...], require: float | None, as_json: bool) -> None:
    """Prints which entries of the register the book has answered, by source and question."""
    book = _load()
    groups = _by_question(book, names)
    answers = [answer for group in groups.values() for answer in group]
    if as_json:
        _print_json([answer_data(answer) for answer in answers])
    else:
        out.print(_coverage_table(groups))
    share = 100 * sum(answer.word is not None for answer in answers) / max(1, len(answers))
    if require is not None and share < require:
        err.print(
            f"claimbook: {share:.1f} % of the entries are answered, {require:g} % are required"
        )
        sys.exit(1)


@main.command()
@click.argument("name", metavar="CLAIM|ENTRY")
@as_json
@_told_plainly
def show(name: str, as_json: bool) -> None:
    """Shows a claim, or what the book says of an entry."""
    book = _load()
    found = book.answers.get(name) or book.select([name])[0]
    if isinstance(found, Answer):
        _print_json(answer_data(found)) if as_json else _show_answer(found)
    else:
        _print_json(claim_data(found)) if as_json else _show_claim(found)


def _load() -> Book:
    return Book.load(Path.cwd())


def _runner(jobs: int | None, timeout: float | None) -> Runner:
    return Runner(jobs, **({"timeout": timeout} if timeout else {}))


def _report_problems(book: Book) -> bool:
    for problem in book.problems:
        err.print(str(problem), markup=False)
    return bool(book.problems)


def _progress(
    runner: Runner, claims: list[Claim], lane: Lane, explained: bool = True
) -> Iterable[Run]:
    """Runs claims under a progress bar; tells what failed as it comes, and counts at the end."""
    by_id = {claim.id: claim for claim in claims if lane in claim.lanes}
    left = dict.fromkeys(by_id)
    started, outcomes = time.perf_counter(), Counter[Outcome]()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=err, transient=True, disable=not err.is_terminal
    ) as bar:
        task = bar.add_task(f"running on {lane}", total=len(by_id))
        try:
            for run in runner.run(by_id.values(), lane):
                outcomes[run.outcome] += 1
                left.pop(run.claim)
                bar.advance(task)
                if explained and run.outcome not in (Outcome.PASSED, Outcome.SKIPPED):
                    bar.console.print(explain(by_id[run.claim], run) + "\n", markup=False)
                elif run.outcome is Outcome.SKIPPED and outcomes[run.outcome] == 1:
                    bar.console.print(f"{lane}: {run.message}", markup=False)
                yield run
        except KeyboardInterrupt:
            some = ", ".join(islice(left, 5))
            err.print(f"not run: {len(left)} of {len(by_id)} claims, {some} …", markup=False)
            raise
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    err.print(f"{counts or 'nothing to run'} on {lane} in {time.perf_counter() - started:.1f} s")


def _falsify(runner: Runner, claims: list[Claim], lane: Lane) -> Iterable[Falsified]:
    """Runs mutants under a progress bar; tells which claims do not pass to begin with."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, TimeElapsedColumn(), console=err, transient=True, disable=not err.is_terminal
    ) as bar:
        steps, seen = iter(("running the claims", "running their mutants")), set[str]()

        def track(runs: Iterable[Run], count: int) -> Iterable[Run]:
            return bar.track(runs, count, description=next(steps))

        for claim, result in falsify(runner, claims, lane, track):
            if isinstance(result, Falsified):
                yield result
                continue
            skipped = result.outcome is Outcome.SKIPPED
            told = f"{lane}: {result.message}" if skipped else explain(claim, result) + "\n"
            if told not in seen:
                seen.add(told)
                bar.console.print(told, markup=False)


def _print_falsified(results: dict[Claim, Falsified]) -> None:
    table = Table("claim", "mutants", "caught", "", "equivalent", box=SIMPLE, padding=(0, 1))
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    pages: dict[str, list[Falsified]] = {}
    for claim, result in results.items():
        pages.setdefault(claim.location.path, []).append(result)
    for page, of_page in pages.items():
        for result in of_page:
            table.add_row(result.claim, *_caught_row([result]))
        table.add_row(f"[bold]{page}[/]", *_caught_row(of_page), end_section=True)
    table.add_row("[bold]all[/]", *_caught_row(list(results.values())))
    out.print(table)
    for claim, result in results.items():
        for survivor in result.survivors:
            where = replace(claim.location, line=survivor.line)
            out.print(f"{where}: {claim.id}: {survivor}", markup=False)


def _caught_row(results: list[Falsified]) -> list[str]:
    mutants, killed, equivalent = (
        sum(getattr(result, name) for result in results)
        for name in ("mutants", "killed", "equivalent")
    )
    share = f"{_caught(results):.0f} %" if mutants else ""
    return [str(mutants), str(killed), share, str(equivalent or "")]


def _caught(results: Iterable[Falsified]) -> float:
    results = list(results)
    return 100 * sum(r.killed for r in results) / max(1, sum(r.mutants for r in results))


def _warn(message: str) -> None:
    err.print(f"claimbook: {message}", markup=False)


def _by_question(book: Book, names: tuple[str, ...]) -> dict[str, list[Answer]]:
    groups = {
        question.id: [book.answers[entry.id] for entry in question.entries]
        for question in book.register.questions
        if not names or {question.id, question.source} & set(names)
    }
    known = {q.id for q in book.register.questions} | {q.source for q in book.register.questions}
    if unknown := set(names) - known:
        raise BookError(f"{', '.join(sorted(unknown))}: no source and no question is called so")
    return groups


def _coverage_table(groups: dict[str, list[Answer]]) -> Table:
    table = Table("question", "answered", *WORDS, "open", box=SIMPLE, padding=(0, 1))
    table.columns[0].no_wrap = True
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    sources: dict[str, list[Answer]] = {}
    for name, answers in groups.items():
        sources.setdefault(name.rsplit("-", 1)[0], []).extend(answers)
        table.add_row(name, *_counts(answers))
    table.add_section()
    for source, answers in sources.items():
        table.add_row(f"[bold]{source}[/]", *_counts(answers))
    table.add_section()
    table.add_row("[bold]all[/]", *_counts([a for group in groups.values() for a in group]))
    return table


def _counts(answers: list[Answer]) -> list[str]:
    words = Counter(answer.word for answer in answers)
    answered = len(answers) - words[None]
    share = f"{answered}/{len(answers)} {100 * answered // max(1, len(answers)):3d} %"
    return [share, *(str(words[word] or "") for word in WORDS), str(words[None] or "")]


def _show_claim(claim: Claim) -> None:
    out.print(f"[bold]{claim.id}[/]  {claim.location}  [dim]{' '.join(claim.lanes)}[/]")
    out.print(claim.statement + "\n", markup=False)
    for example in claim.examples(claim.lanes[0]):
        lines = example.source.rstrip("\n").split("\n")
        out.print(
            "\n".join(["  >>> " + lines[0], *("  ... " + line for line in lines[1:])]), markup=False
        )
        if example.want:
            out.print("\n".join("  " + line for line in example.want.split("\n")), markup=False)
    for relation in claim.relations:
        out.print(f"\n{relation.kind} {relation.entry}", end="")
    out.print()


def _show_answer(answer: Answer) -> None:
    out.print(f"[bold]{answer.entry.id}[/]  {answer.entry.statement}")
    out.print(f"{answer.word or 'open: nothing in the book speaks of it yet'}")
    for claim in answer.claims:
        out.print(f"  {claim.id}  {claim.location}: {claim.statement}", markup=False)
    if answer.remark:
        out.print(f"  {answer.remark.location}: {answer.remark.text}", markup=False)


def _run_data(run: Run) -> dict[str, Any]:
    return {
        "claim": run.claim,
        "lane": run.lane,
        "outcome": run.outcome,
        "message": run.message,
        "seconds": run.seconds,
        "outputs": list(run.outputs),
    }


def _print_json(data: object) -> None:
    print(json.dumps(data, indent=1, ensure_ascii=False))
