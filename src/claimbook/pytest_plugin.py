"""Collect claims as pytest items, one per lane: `docs/autograd/sums.md::backward-adds[cpu]`."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from claimbook.checking.report import VARIED, explain
from claimbook.engine.pool import Runner
from claimbook.engine.workers import RunnerError
from claimbook.model import Claim, Lane, Outcome, Page, Problem, Run
from claimbook.pages.book import Book, BookError, NoBookError

BOOK = pytest.StashKey["Book | None"]()
RUNS = pytest.StashKey["_Runs"]()
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
    if file_path.suffix not in kinds or (book := _book(parent.config)) is None:
        return None
    pages = {problem.location.path: Page(problem.location.path) for problem in book.problems}
    pages |= {page.path: page for page in book.pages}
    if file_path.is_relative_to(book.project.root):
        if page := pages.get(book.project.name(file_path)):
            return PageFile.from_parent(parent, path=file_path, page=page)
    return None


def _book(config: pytest.Config) -> Book | None:
    if BOOK not in config.stash:
        try:
            config.stash[BOOK] = Book.load(config.rootpath)
        except NoBookError:
            config.stash[BOOK] = None
        except (BookError, OSError) as error:
            raise pytest.Collector.CollectError(str(error)) from error
    return config.stash[BOOK]


class PageFile(pytest.File):
    """A page of the book."""

    def __init__(self, *, page: Page, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.page = page

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each claim and lane, and one for the page's problems, if any."""
        if problems := self._problems():
            yield ProblemsItem.from_parent(self, name="problems", problems=problems)
        lanes = self.config.getoption("lane") or [Lane.CPU]
        for claim in (*self.page.claims, *self.page.samples):
            for lane in map(Lane, lanes):
                if lane in claim.lanes:
                    name = f"{claim.id}[{lane}]"
                    # In full: pytest would strip the brackets, which --lf needs.
                    node = f"{self.nodeid}::{name}"
                    yield ClaimItem.from_parent(
                        self, name=name, nodeid=node, claim=claim, lane=lane
                    )

    def _problems(self) -> list[Problem]:
        book = self.config.stash[BOOK]
        assert book
        return [p for p in book.problems if p.location.path == self.page.path]


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
        runs = self.config.stash[RUNS]
        run = runs.of(self)
        if run.outcome is Outcome.SKIPPED:
            if self.config.getoption("require_lane") and runs.lacks(self.lane):
                self.session.shouldfail = f"the {self.lane} lane cannot run here: {run.message}"
                raise ClaimFailed(str(self.session.shouldfail))
            pytest.skip(f"{self.lane}: {run.message}")
        if run.outcome is Outcome.VARIED and not self.config.getoption("strict_machine"):
            pytest.xfail(f"{OTHERWISE}{run.message}")
        if run.outcome is not Outcome.PASSED:
            raise ClaimFailed(explain(self.claim, run))


class _Runs:
    """Runs of a session's claims, in one pool of workers per lane, fetched as items ask."""

    def __init__(self, items: Iterable[ClaimItem], *, together: bool) -> None:
        self.items = list(items)
        # By number: samples on one page may share an id and so a pytest name.
        self.keys = {item: str(number) for number, item in enumerate(self.items)}
        self.together = together
        self.done: dict[str, Run] = {}
        self.streams: dict[Lane, Iterator[Run]] = {}
        self.ended: dict[Lane, str] = {}
        """Lanes on which nothing can run any more, with the reason."""
        self.closing = ExitStack()
        # A runner serves one lane at a time, and items of several lanes come mixed.
        lanes = {item.lane for item in self.items}
        self.runners = {lane: self.closing.enter_context(Runner()) for lane in lanes}

    def lacks(self, lane: Lane) -> bool:
        """Return whether the lane cannot run on this machine."""
        return lane not in self.runners[lane].environments

    def of(self, item: ClaimItem) -> Run:
        key = self.keys[item]
        if key not in self.done and not self.together:
            self._take(self._start([item], item.lane), item.lane)
        while key not in self.done:
            self._take(self._stream(item.lane), item.lane)
        return replace(self.done[key], claim=item.claim.id)

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
        claims = (replace(item.claim, id=self.keys[item]) for item in items)
        return self.runners[lane].run(claims, lane)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Start the workers; torch is imported while other tests run."""
    if session.config.option.collectonly:
        return
    items = (item for item in session.items if isinstance(item, ClaimItem))
    # Under pytest-xdist each process gets a part of the items, unknown in advance.
    together = not hasattr(session.config, "workerinput")
    session.config.stash[RUNS] = _Runs(items, together=together)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report why claims were skipped, and which ones differ on this machine."""
    _tell_skipped(terminalreporter)
    expected = terminalreporter.stats.get("xfailed", [])
    varied = [report for report in expected if OTHERWISE in report.wasxfail]
    if varied:
        terminalreporter.section(f"{VARIED}: told, and no failure")
        for report in varied:
            message = report.wasxfail.partition(OTHERWISE)[2]
            terminalreporter.write_line(f"{report.nodeid}: {message}")


def _tell_skipped(terminalreporter: pytest.TerminalReporter) -> None:
    """Write one line per reason, with the number of claims."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(r.longrepr[2] for r in reports if r.nodeid.partition("::")[0].endswith(".md"))
    for reason, count in reasons.items():
        why = reason.removeprefix("Skipped: ")
        terminalreporter.write_line(f"{count} claim{'s' * (count != 1)} skipped on {why}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the workers."""
    if RUNS in session.config.stash:
        session.config.stash[RUNS].closing.close()
