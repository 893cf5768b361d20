"""Collect claims as pytest items, one per lane: `docs/autograd/sums.md::backward-adds[cpu]`."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from claimbook.checking.report import explain
from claimbook.engine.pool import Runner
from claimbook.engine.workers import RunnerError
from claimbook.model import Claim, Lane, Outcome, Page, Problem, Run
from claimbook.pages.book import Book, BookError, NoBookError, Project

PROJECTS = pytest.StashKey["dict[Path, Project | None]"]()
BOOKS = pytest.StashKey["dict[Project, Book]"]()
RUNS = pytest.StashKey["dict[Lane, _Runs]"]()


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


def pytest_configure(config: pytest.Config) -> None:
    """Have pytest say at the end which claims were skipped or differ on this machine, and why."""
    config.option.reportchars = f"sx{config.option.reportchars}"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "PageFile | None":
    """Collect the pages of a book, and its files with problems."""
    kinds = {".md", ".py", ".yaml", ".yml"}
    if file_path.suffix in kinds and (project := _project(parent.config, file_path)):
        return PageFile.from_parent(parent, path=file_path, project=project)
    return None


def _project(config: pytest.Config, path: Path) -> Project | None:
    """Return the book that reads a file: that of pytest's root folder, or else another."""
    found = config.stash.setdefault(PROJECTS, {})
    for folder in (config.rootpath, path.parent):
        if folder not in found:
            try:
                found[folder] = Project.find(folder)
            except NoBookError:
                found[folder] = None
            except (BookError, OSError) as error:
                raise pytest.Collector.CollectError(str(error)) from error
        if (project := found[folder]) and project.reads(path):
            return project
    return None


class PageFile(pytest.File):
    """A page of the book, or another file that may have problems."""

    def __init__(self, *, project: Project, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.project = project

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each claim and lane, and one for the page's problems, if any."""
        book = self._book()
        name = book.project.name(self.path)
        if problems := [each for each in book.problems if each.location.path == name]:
            yield ProblemsItem.from_parent(self, name="problems", problems=problems)
        page = next((page for page in book.pages if page.path == name), Page(name))
        lanes = self.config.getoption("lane") or [Lane.CPU]
        for claim in page.claims:
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
        books = self.config.stash.setdefault(BOOKS, {})
        if self.project not in books:
            books[self.project] = Book.load(self.project.root)
        return books[self.project]


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
        run = runs.of(self.claim)
        if run.outcome is Outcome.SKIPPED:
            if self.config.getoption("require_lane") and self.lane not in runs.runner.environments:
                self.session.shouldfail = f"the {self.lane} lane cannot run here: {run.message}"
                raise ClaimFailed(str(self.session.shouldfail))
            pytest.skip(f"{self.lane}: {run.message}")
        if run.outcome is Outcome.VARIED and not self.config.getoption("strict_machine"):
            pytest.xfail(f"came out otherwise on this machine: {run.message}")
        if run.outcome is not Outcome.PASSED:
            raise ClaimFailed(explain(self.claim, run))


class _Runs:
    """Runs of a session's claims on one lane, fetched as items ask."""

    def __init__(self, runner: Runner, lane: Lane, due: Iterable[Claim]) -> None:
        self.runner, self.lane = runner, lane
        self.stream = runner.run(due, lane) if due else None
        """The runs of all claims; None if each is run when its item asks for it."""
        self.done: dict[Claim, Run] = {}
        self.ended = ""
        """Why nothing can run any more."""

    def of(self, claim: Claim) -> Run:
        """Return the run of a claim."""
        stream = self.stream or self.runner.run([claim], self.lane)
        try:
            while claim not in self.done and not self.ended:
                self.done.update([next(stream)])
        except RunnerError as error:
            self.ended = str(error)
        if claim not in self.done:
            raise RunnerError(self.ended)
        return self.done[claim]


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
        due = [item.claim for item in items if item.lane is lane and together]
        runs[lane] = _Runs(closing.enter_context(Runner()), lane, due)
