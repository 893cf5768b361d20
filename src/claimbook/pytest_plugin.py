"""Collect claims as pytest items, one per lane: `docs/autograd/sums.md::backward-adds[cpu]`."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from claimbook.checking.report import VARIED, explain
from claimbook.engine.pool import Runner
from claimbook.engine.workers import RunnerError
from claimbook.model import Claim, Lane, Outcome, Page, Problem, Run
from claimbook.pages.book import Book, BookError, NoBookError, Project

PROJECT = pytest.StashKey["Project | None"]()
BOOK = pytest.StashKey[Book]()
RUNS = pytest.StashKey["dict[Lane, _Runs]"]()
OTHERWISE = "came out otherwise on this machine: "


class ClaimFailed(Exception):
    """A claim does not pass; the message is the whole report, shown without a traceback."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line options."""
    group = parser.getgroup("claimbook", "claims of a book")
    group.addoption(
        "--lane",
        action="append",
        choices=list(Lane),
        help="run claims on this lane; may be given twice (default: cpu)",
    )
    group.addoption(
        "--require-lane",
        action="store_true",
        help="a lane that cannot run here is an error, not a skip",
    )
    group.addoption(
        "--strict-machine",
        action="store_true",
        help="a claim about a machine that differs on this one is an error, not just reported",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "PageFile | None":
    """Collect the pages of the book in pytest's root folder, and files with problems."""
    kinds = {".md", ".py", ".yaml", ".yml"}
    if file_path.suffix not in kinds or (project := _project(parent.config)) is None:
        return None
    return PageFile.from_parent(parent, path=file_path) if project.reads(file_path) else None


def _project(config: pytest.Config) -> Project | None:
    if PROJECT not in config.stash:
        try:
            config.stash[PROJECT] = Project.find(config.rootpath)
        except NoBookError:
            config.stash[PROJECT] = None
        except (BookError, OSError) as error:
            raise pytest.Collector.CollectError(str(error)) from error
    return config.stash[PROJECT]


class PageFile(pytest.File):
    """A page of the book, or another file that may have problems."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each claim and lane, and one for the page's problems, if any."""
        book = self._book()
        name = book.project.name(self.path)
        if problems := [each for each in book.problems if each.location.path == name]:
            yield ProblemsItem.from_parent(self, name="problems", problems=problems)
        page = next((page for page in book.pages if page.path == name), Page(name))
        lanes = self.config.getoption("lane") or [Lane.CPU]
        for claim in (*page.claims, *page.samples):
            for lane in map(Lane, lanes):
                if lane in claim.lanes:
                    name = f"{claim.id}[{lane}]"
                    # In full: pytest would strip the brackets, which --lf needs.
                    node = f"{self.nodeid}::{name}"
                    yield ClaimItem.from_parent(
                        self, name=name, nodeid=node, claim=claim, lane=lane
                    )

    def _book(self) -> Book:
        """Return the book, read once a session: tests of other files need not wait for it."""
        if BOOK not in self.config.stash:
            self.config.stash[BOOK] = Book.load(self.config.rootpath)
        return self.config.stash[BOOK]


class _PageItem(pytest.Item):
    """An item that reports its failure in its own words."""

    line = 1

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """Return the report alone: a traceback would show this package, not the page."""
        if isinstance(excinfo.value, (ClaimFailed, RunnerError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return path, line (counted from 0, as pytest does) and name."""
        return self.path, self.line - 1, self.name


class ProblemsItem(_PageItem):
    """The author's errors on a page; always fails."""

    def __init__(self, *, problems: list[Problem], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.problems = problems
        self.line = problems[0].location.line

    def runtest(self) -> None:
        """Fail with all problems, one per line."""
        raise ClaimFailed("\n".join(map(str, self.problems)))


class ClaimItem(_PageItem):
    """A claim on a lane."""

    def __init__(self, *, claim: Claim, lane: Lane, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.claim = claim
        self.lane = lane
        self.line = claim.location.line

    def runtest(self) -> None:
        """Pass if the claim passes; skip, with the reason, if its lane cannot run here."""
        runs = self.config.stash[RUNS][self.lane]
        run = runs.of(self)
        if run.outcome is Outcome.SKIPPED:
            if self.config.getoption("require_lane") and self.lane not in runs.runner.environments:
                self.session.shouldfail = f"the {self.lane} lane cannot run here: {run.message}"
                raise ClaimFailed(str(self.session.shouldfail))
            pytest.skip(f"{self.lane}: {run.message}")
        if run.outcome is Outcome.VARIED and not self.config.getoption("strict_machine"):
            pytest.xfail(f"{OTHERWISE}{run.message}")
        if run.outcome is not Outcome.PASSED:
            raise ClaimFailed(explain(self.claim, run))


class _Runs:
    """Runs of a session's claims on one lane, fetched as items ask."""

    def __init__(self, items: Iterable[ClaimItem], runner: Runner, *, together: bool) -> None:
        self.claims = [item.claim for item in items]
        self.runner, self.together = runner, together
        self.stream: Iterator[tuple[Claim, Run]] | None = None
        self.done: dict[Claim, Run] = {}
        self.ended = ""
        """Why nothing can run any more."""

    def of(self, item: ClaimItem) -> Run:
        """Return the run of an item."""
        if self.stream is None or not self.together:
            due = self.claims if self.together else [item.claim]
            self.stream = self.runner.run(due, item.lane)
        while item.claim not in self.done:
            if self.ended:
                raise RunnerError(self.ended)
            try:
                claim, run = next(self.stream)
            except RunnerError as error:
                self.ended = str(error)
                raise
            self.done[claim] = run
        return self.done[item.claim]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the workers; torch is imported while other tests run."""
    if session.config.option.collectonly:
        return
    items = [item for item in session.items if isinstance(item, ClaimItem)]
    # Under pytest-xdist each process gets a part of the items, unknown in advance.
    together = not hasattr(session.config, "workerinput")
    runs = session.config.stash[RUNS] = {}
    closing = ExitStack()
    session.config.add_cleanup(closing.close)
    # A runner serves one lane at a time, and items of several lanes come mixed.
    for lane in {item.lane for item in items}:
        runner = closing.enter_context(Runner())
        runs[lane] = _Runs((i for i in items if i.lane is lane), runner, together=together)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report why claims were skipped, and which ones differ on this machine."""
    tell = terminalreporter.write_line
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(r.longrepr[2] for r in skipped if r.nodeid.partition("::")[0].endswith(".md"))
    for reason, count in reasons.items():
        tell(f"{count} claim{'s' * (count != 1)} skipped on {reason.removeprefix('Skipped: ')}")
    expected = terminalreporter.stats.get("xfailed", [])
    if varied := [report for report in expected if OTHERWISE in report.wasxfail]:
        terminalreporter.section(f"{VARIED}: told, and no failure")
        for report in varied:
            tell(f"{report.nodeid}: {report.wasxfail.partition(OTHERWISE)[2]}")
