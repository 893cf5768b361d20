"""The command `accept`."""

import sys
from collections.abc import Iterable

import click

from claimbook.checking.report import differing
from claimbook.cli import common
from claimbook.engine.pool import Runner
from claimbook.model import Claim, Lane, Outcome, Run
from claimbook.pages.accept import AcceptError, Change, Draft, changes
from claimbook.pages.book import Book


@click.command("accept")
@common.to_run
@click.option("--yes", is_flag=True, help="Accept mere rewording without asking.")
@click.option(
    "--values",
    is_flag=True,
    help="With --yes, accept changed results too.",
)
def accept_outputs(
    names: tuple[str, ...],
    lane: Lane,
    jobs: int | None,
    yes: bool,
    values: bool,
) -> None:
    """Copy what claims print into their pages, if you agree.

    Ask about each output that differs. Ctrl-C, Ctrl-D and q stop and keep the answers so far.
    """
    if values and not yes:
        raise click.UsageError("--values needs --yes; without it you are asked each time.")
    with Runner(jobs) as runner:
        book = common.load()
        drafts = {p.path: Draft.read(book.project.root, p) for p in book.pages if p.claims}
        claims = common.chosen(book, names, lane)
        offered, refused = _offered(book, runner, claims, lane)
    common.check_lane(runner, claims, lane, "; nothing was accepted")
    taken: dict[str, list[Change]] = {}
    for change in _agreed(drafts, offered, yes, values):
        taken.setdefault(change.location.path, []).append(change)
    written = [page for page, agreed in taken.items() if _written(drafts[page], agreed)]
    count = sum(len(taken[page]) for page in written)
    left = len(offered) - count + refused
    common.say(f"{count} accepted on {common.counted(len(written), 'page')}, {left} left")
    sys.exit(1 if left else 0)


def _offered(
    book: Book, runner: Runner, claims: list[Claim], lane: Lane
) -> tuple[list[Change], int]:
    """Return the outputs that differ, in page order, and how many claims were refused."""
    offered, refused = [], 0
    for claim, run in [*common.progress(runner, claims, lane, explained=False)]:
        if run.outcome in {Outcome.SKIPPED, Outcome.PASSED}:
            continue
        try:
            offered += _lasting(runner, claim, run, book)
        except AcceptError as error:
            refused += 1
            common.note(f"{claim.location}: {claim.id}: {error}")
    return sorted(offered, key=lambda change: change.location), refused


def _lasting(runner: Runner, claim: Claim, run: Run, book: Book) -> list[Change]:
    """Return the outputs that differ, if another run prints them too.

    Raises:
        AcceptError: it does not, or as in `changes`.
    """
    found = changes(claim, run, book.problems)
    if [other for _, other in runner.run([claim], run.lane) if other.outputs != run.outputs]:
        advice = "make the output repeatable, or write ... for what varies"
        raise AcceptError(f"each run prints something different: {advice}")
    return found


def _agreed(
    drafts: dict[str, Draft], offered: list[Change], yes: bool, values: bool
) -> Iterable[Change]:
    """Show each change; yield those that are possible and that the author accepts."""
    for change in offered:
        where = f"{change.location}: {change.claim.id} [{change.run.lane}]"
        told = differing(change.mismatch)
        click.echo("\n".join([f"{where} {change.mismatch.severity}", *told]))
        try:
            drafts[change.location.path].revise([change])
        except AcceptError as error:
            click.echo(f"  Cannot be accepted: {error}.\n")
            continue
        answer = _answer(change, yes, values)
        if answer == "q":
            return
        if answer == "y":
            yield change


def _answer(change: Change, yes: bool, values: bool) -> str:
    if yes and (values or not change.overturns):
        click.echo()
        return "y"
    if yes or not _can_ask():
        options = "--yes --values" if change.overturns else "--yes"
        click.echo(f"  Left as it is: only {options} accepts it without asking.\n")
        return "n"
    try:
        return str(click.prompt("  Accept it?", type=click.Choice(["y", "n", "q"])))
    except click.Abort:  # ^C or ^D: earlier answers are kept
        click.echo()
        return "q"


def _can_ask() -> bool:
    return sys.stdin.isatty()


def _written(draft: Draft, agreed: list[Change]) -> bool:
    try:
        draft.write(agreed)
    except AcceptError as error:
        common.warn(f"{draft.page.path}: nothing is accepted on this page: {error}")
        return False
    return True
