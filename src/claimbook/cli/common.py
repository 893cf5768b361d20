"""Shared by the commands: consoles, options, progress and error output."""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from errno import EPIPE
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from claimbook.checking.report import explain
from claimbook.engine.pool import Runner
from claimbook.engine.workers import RunnerError
from claimbook.model import Claim, Lane, Outcome, Problem, Run
from claimbook.pages.book import Book, BookError

err = Console(stderr=True, soft_wrap=True, highlight=False, emoji=False, markup=False)
"""Where a progress bar may be: what else is printed there goes above it."""

names = click.argument("names", nargs=-1, metavar="[CLAIM|PAGE]...")
lane_option = click.option(
    "--lane",
    type=click.Choice([str(lane) for lane in Lane]),  # given an Enum, click would use the names
    default=str(Lane.CPU),
    callback=lambda context, parameter, value: Lane(value),
    show_default=True,
    help="Where to run.",
)
jobs_option = click.option(
    "--jobs",
    "-j",
    type=click.IntRange(min=1),
    help="Worker processes. Default: one more than cores, or one on a GPU.",
)


def to_run(command: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments of a command that runs claims: names, lane and jobs."""
    return names(lane_option(jobs_option(command)))


class Commands(click.Group):
    """Print user errors in one line and exit with status 2."""

    def invoke(self, context: click.Context) -> object:
        """Run the command that was asked for."""
        try:
            return super().invoke(context)
        except (BookError, RunnerError, OSError) as error:
            if getattr(error, "errno", None) == EPIPE:  # click handles a closed pipe
                raise
            warn(str(error))
            _print_or_drop()
            sys.exit(2)
        except KeyboardInterrupt:
            err.print("\nclaimbook: stopped")
            sys.exit(130)


def _print_or_drop() -> None:
    """Flush stdout; if that fails, drop its buffer, or Python would fail again on exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def load() -> Book:
    """Return the book around the current folder."""
    return Book.load(Path.cwd())


def tell_problems(book: Book, names: Collection[str]) -> list[Problem]:
    """Print and return the problems on the selected pages; count those on other pages."""
    problems = book.problems_of(names)
    for problem in problems:
        err.print(str(problem))
    if left := len(book.problems) - len(problems):
        warn(f"{counted(left, 'problem')} on other pages; claimbook run lists all")
    return problems


def progress_bar() -> Progress:
    """Return a bar with counts and elapsed time, hidden unless stderr is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    hidden = not err.is_terminal
    return Progress(*columns, TimeElapsedColumn(), console=err, transient=True, disable=hidden)


def chosen(book: Book, names: Iterable[str], lane: Lane, *, needed: bool = False) -> list[Claim]:
    """Return the claims of a lane that the names select; without names, all of them.

    Raises:
        BookError: there is none, although there are names or claims are needed.
    """
    claims = [claim for claim in book.select(names) if lane in claim.lanes]
    if not claims and (names or needed):
        which = "that was named" if names else "of the book"
        raise BookError(f"nothing to run: no claim {which} runs on {lane}")
    return claims


def check_lane(runner: Runner, claims: Collection[Claim], lane: Lane, otherwise: str) -> None:
    """End a command whose lane cannot run on this machine.

    Raises:
        RunnerError: it cannot, and there are claims to run.
    """
    if claims and lane not in runner.environments:
        raise RunnerError(f"the {lane} lane cannot run here{otherwise}")


def progress(
    runner: Runner, claims: list[Claim], lane: Lane, explained: bool = True
) -> Iterator[tuple[Claim, Run]]:
    """Run claims under a progress bar; print failures as they come, and counts at the end."""
    left = dict.fromkeys(claims)
    started, outcomes = time.perf_counter(), Counter[Outcome]()
    with progress_bar() as bar:
        runs = runner.run(claims, lane)
        try:
            for claim, run in bar.track(runs, len(claims), description=f"running on {lane}"):
                outcomes[run.outcome] += 1
                left.pop(claim)
                if explained and (run.outcome.is_fault or run.outcome is Outcome.VARIED):
                    err.print(explain(claim, run) + "\n")
                elif run.outcome is Outcome.SKIPPED and outcomes[run.outcome] == 1:
                    err.print(f"{lane}: {run.message}")
                yield claim, run
        except (KeyboardInterrupt, RunnerError):
            if left:
                err.print(f"not run: {len(left)} of {len(claims)} claims: {some(left)}")
            raise
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(outcomes.items()))
    err.print(f"{counts or 'nothing to run'} on {lane} in {time.perf_counter() - started:.1f} s")


def say(text: str) -> None:
    """Print a text, which may be styled, to stdout; what its encoding lacks is escaped."""
    click.echo(text, file=sys.stdout)  # without a file, click would change the encoding


def counted(count: int, what: str) -> str:
    """Return a number of things: `1 page`, `2 pages`."""
    return f"{count} {what}{'s' * (count != 1)}"


def some(claims: Collection[Claim]) -> str:
    """Return the ids of the first claims, and `…` if there are more."""
    ids = [claim.id for claim in claims]
    return ", ".join(ids[:5]) + ", …" * (len(ids) > 5)


def warn(message: str) -> None:
    """Print one line to stderr."""
    err.print(f"claimbook: {message}")


def tell_broken(place: str, why: str) -> None:
    """Print one line about a record that cannot be used."""
    warn(f"{place}: {why}; it counts as missing")
