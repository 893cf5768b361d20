"""The command `accept`."""

import sys

import click

from claimbook.checking.report import differing
from claimbook.cli import common
from claimbook.engine.pool import Runner
from claimbook.model import Claim, Lane, Outcome, Run
from claimbook.pages.accept import AcceptError, Change, Draft, changes
from claimbook.pages.book import Book


@click.command("accept")
@common.to_run
@click.option("--values", is_flag=True, help="Accept other results too, not only other words.")
def accept_outputs(names: tuple[str, ...], lane: Lane, jobs: int | None, values: bool) -> None:
    """Copy what claims print into their pages, and show what changes.

    An output that says something else, such as another value, is left without --values.
    """
    with Runner(jobs) as runner:
        book = common.load()
        drafts = {p.path: Draft.read(book.project.root, p) for p in book.pages if p.claims}
        claims = common.chosen(book, names, lane)
        offered, refused = _offered(book, runner, claims, lane)
    common.check_lane(runner, claims, lane, "; nothing was accepted")
    taken: dict[str, list[Change]] = {}
    for change in offered:
        path = change.location.path
        if _is_accepted(drafts[path], change, values):
            taken.setdefault(path, []).append(change)
    written = [page for page, accepted in taken.items() if _written(drafts[page], accepted)]
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
            common.err.print(f"{claim.location}: {claim.id}: {error}")
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


def _is_accepted(draft: Draft, change: Change, values: bool) -> bool:
    """Show a change; return whether it is possible, and allowed if it is another result."""
    where = f"{change.location}: {change.claim.id} [{change.run.lane}]"
    told = differing(change.mismatch)
    common.say("\n".join([f"{where} {change.mismatch.severity}", *told]))
    try:
        draft.revise([change])
    except AcceptError as error:
        common.say(f"  Cannot be accepted: {error}.\n")
        return False
    left = change.overturns and not values
    common.say("  Left as it is: only --values accepts another result.\n" if left else "")
    return not left


def _written(draft: Draft, accepted: list[Change]) -> bool:
    try:
        draft.write(accepted)
    except AcceptError as error:
        common.warn(f"{draft.page.path}: nothing is accepted on this page: {error}")
        return False
    return True
