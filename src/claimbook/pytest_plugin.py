"""One pytest item for each claim and lane: `docs/autograd/sums.md::backward-adds[cpu]`."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from claimbook.checking.report import VARIED, explain
from claimbook.engine.pool import Runner, RunnerError
from claimbook.model import Claim, Lane, Outcome, Page, Problem, Run
from claimbook.pages.book import Book, BookError, NoBookError
from claimbook.pages.register import RegisterError

BOOK = pytest.StashKey["Book | None"]()
RUNS = pytest.StashKey["_Runs"]()
OTHERWISE = "came out otherwise on this machine: "


class ClaimFailed(Exception):
    """Its text is the whole report; pytest shows no traceback for it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options that say where claims run."""
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
        help="a claim about a machine that comes out otherwise on this one is an error, not told",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "PageFile | None":
    """Takes the pages of the book around pytest's root folder."""
    if file_path.suffix != ".md" or (book := _book(parent.config)) is None:
        return None
    for page in book.pages:
        if book.project.root / page.path == file_path:
            return PageFile.from_parent(parent, path=file_path, page=page)
    return None


def _book(config: pytest.Config) -> Book | None:
    if BOOK not in config.stash:
        try:
            config.stash[BOOK] = Book.load(config.rootpath)
        except NoBookError:
            config.stash[BOOK] = None
        except (BookError, RegisterError) as error:
            raise pytest.Collector.CollectError(str(error)) from error
    return config.stash[BOOK]


class PageFile(pytest.File):
    """A page of the book."""

    def __init__(self, *, page: Page, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.page = page

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each claim and lane, and one for what is wrong with the page."""
        if problems := self._problems():
            yield ProblemsItem.from_parent(self, name="problems", problems=problems)
        lanes = self.config.getoption("lane") or [Lane.CPU]
        for claim in (*self.page.claims, *self.page.samples):
            for lane in map(Lane, lanes):
                if lane in claim.lanes:
                    yield ClaimItem.from_parent(
                        self, name=f"{claim.id}[{lane}]", claim=claim, lane=lane
                    )

    def _problems(self) -> list[Problem]:
        book = self.config.stash[BOOK]
        assert book
        return [p for p in book.problems if p.location.path == self.page.path]


class _PageItem(pytest.Item):
    """An item whose failure is told in its own words."""

    line = 1

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """The report alone; a traceback would show this package, not the page."""
        if isinstance(excinfo.value, (ClaimFailed, RunnerError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it stands; pytest counts lines from 0."""
        return self.path, self.line - 1, self.name


class ProblemsItem(_PageItem):
    """What an author did wrong on a page; always fails."""

    def __init__(self, *, problems: list[Problem], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.problems = problems
        self.line = problems[0].location.line

    def runtest(self) -> None:
        """Fails with all problems, a line each."""
        raise ClaimFailed("\n".join(map(str, self.problems)))


class ClaimItem(_PageItem):
    """A claim on a lane."""

    def __init__(self, *, claim: Claim, lane: Lane, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.claim = claim
        self.lane = lane
        self.line = claim.location.line

    def runtest(self) -> None:
        """Passes if the claim did; a lane that cannot run here is a skip with its reason."""
        run = self.config.stash[RUNS].of(self)
        if run.outcome is Outcome.SKIPPED and not self.config.getoption("require_lane"):
            pytest.skip(run.message)
        if run.outcome is Outcome.VARIED and not self.config.getoption("strict_machine"):
            pytest.xfail(f"{OTHERWISE}{run.message}")
        if run.outcome is not Outcome.PASSED:
            raise ClaimFailed(explain(self.claim, run))


class _Runs:
    """The runs of a session's claims, made in one pool of workers and fetched as items ask."""

    def __init__(self, items: Iterable[ClaimItem], *, together: bool) -> None:
        self.items = list(items)
        self.together = together
        self.done: dict[str, Run] = {}
        self.streams: dict[Lane, Iterator[Run]] = {}
        self.ended: dict[Lane, str] = {}
        """Lanes on which nothing can be run any more, and why."""
        self.closing = ExitStack()
        # A runner serves one lane at a time; the items of lanes come mixed.
        lanes = {item.lane for item in self.items}
        self.runners = {lane: self.closing.enter_context(Runner()) for lane in lanes}

    def of(self, item: ClaimItem) -> Run:
        if item.nodeid not in self.done and not self.together:
            self._take(self._start([item], item.lane), item.lane)
        while item.nodeid not in self.done:
            self._take(self._stream(item.lane), item.lane)
        return replace(self.done[item.nodeid], claim=item.claim.id)

    def _take(self, stream: Iterator[Run], lane: Lane) -> None:
        if lane in self.ended:
            raise RunnerError(self.ended[lane])
        try:
            run = next(stream)
        except RunnerError as error:
            self.ended[lane] = str(error)
            raise
        self.done[run.claim] = run

    def _stream(self, lane: Lane) -> Iterator[Run]:
        if lane not in self.streams:
            self.streams[lane] = self._start([i for i in self.items if i.lane is lane], lane)
        return self.streams[lane]

    def _start(self, items: list[ClaimItem], lane: Lane) -> Iterator[Run]:
        # A sample may have the id of a claim; what pytest calls an item is its own.
        return self.runners[lane].run((replace(i.claim, id=i.nodeid) for i in items), lane)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Starts the workers; torch is imported while other tests run."""
    if session.config.option.collectonly:
        return
    items = (item for item in session.items if isinstance(item, ClaimItem))
    # Under pytest-xdist each process is handed a part of the items, nobody knows which.
    together = not hasattr(session.config, "workerinput")
    session.config.stash[RUNS] = _Runs(items, together=together)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Names the claims about a machine that came out otherwise on this one."""
    expected = terminalreporter.stats.get("xfailed", [])
    varied = [report for report in expected if OTHERWISE in report.wasxfail]
    if varied:
        terminalreporter.section(f"{VARIED}: told, and no failure")
        for report in varied:
            message = report.wasxfail.partition(OTHERWISE)[2]
            terminalreporter.write_line(f"{report.nodeid}: {message}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Ends the workers."""
    if RUNS in session.config.stash:
        session.config.stash[RUNS].closing.close()
