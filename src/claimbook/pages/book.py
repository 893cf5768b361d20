"""The whole book: its scanned pages, its register, and their problems."""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from claimbook.files import ReadError, read_text, walk
from claimbook.model import Claim, Location, Page, Problem, ProblemKind, Remark, Section
from claimbook.pages.parser import scan_page, scan_script
from claimbook.pages.register import Answer, Register, answers, check_relations, load_register
from claimbook.pages.text import near


class BookError(ValueError):
    """A command cannot do what was asked; the message says why."""


class NoBookError(BookError):
    """A path is not inside a book."""


MARK = re.compile(r"^\[tool\.claimbook\]", re.MULTILINE)
"""The line of a pyproject.toml that marks the folder of a book."""

HEADER = "GALLERY_HEADER.rst"
"""The file without which sphinx-gallery skips a folder of labs."""

LABS = "gallery"
"""The folder of lab scripts."""

TEXTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
"""Pages outside docs that are scanned too."""


@dataclass(frozen=True)
class Project:
    """The folder of a pyproject.toml with `[tool.claimbook]`, which holds the book."""

    root: Path

    @classmethod
    def find(cls, start: Path) -> "Project":
        """Return the project that contains a path.

        Raises:
            NoBookError: no pyproject.toml at or above it has a `[tool.claimbook]`.
            BookError: there is no docs folder beside it.
        """
        start = start.resolve()
        for folder in (start, *start.parents):
            path = folder / "pyproject.toml"
            if path.is_file() and MARK.search(read_text(path)):
                project = cls(folder)
                if not project.docs.is_dir():
                    raise BookError(f"{project.docs}: the folder of the book's pages is missing")
                return project
        wanted = "pyproject.toml with [tool.claimbook] here or above"
        raise NoBookError(f"{start}: no {wanted}; go to the book's folder first")

    @property
    def docs(self) -> Path:
        """The folder of pages, register and records."""
        return self.root / "docs"

    @property
    def made(self) -> list[Path]:
        """The folders of docs that a build makes; without a gallery, `labs` is one of pages."""
        drawn = [self.docs / "labs"] if (self.root / LABS).is_dir() else []
        return [self.docs / "_build", *drawn]

    @property
    def texts(self) -> list[Path]:
        """The pages outside docs."""
        return [self.root / text for text in TEXTS if (self.root / text).is_file()]

    def name(self, path: Path) -> str:
        """Return a path relative to the root; links below the root are not followed."""
        path = path.absolute()
        if not path.is_relative_to(self.root):  # one may come to the root by a link
            path = path.parent.resolve() / path.name
        return Path(os.path.relpath(path, self.root)).as_posix()

    def reads(self, path: Path) -> bool:
        """Return whether a page, a lab or a part of the register may be at a path."""
        name = self.name(path)
        return name in TEXTS or name.startswith((f"{self.docs.name}/", f"{LABS}/"))

    def register(self) -> Register:
        """Read the register."""
        return load_register(self.docs / "register")

    def pages(self) -> Iterator[Path]:
        """Yield the paths of all pages, sorted; hidden files are skipped."""
        for path in _visible(self.docs, ".md"):
            made = any(path.is_relative_to(folder) for folder in self.made)
            if not made and (path.is_file() or path.is_symlink()):  # a broken link is reported
                yield path
        yield from self.texts


def _visible(folder: Path, suffix: str) -> list[Path]:
    """Return the files under a folder, sorted, without hidden ones."""
    found = walk(folder, _is_hidden)
    return sorted(path for path in found if path.suffix == suffix and not _is_hidden(path.name))


def _is_hidden(name: str) -> bool:
    return name.startswith(".")


@dataclass(frozen=True)
class Book:
    """All pages and the register."""

    project: Project
    pages: tuple[Page, ...]
    register: Register

    @classmethod
    def load(cls, start: Path) -> "Book":
        """Read the book that contains a path.

        Raises:
            BookError: as in `Project.find`.
        """
        project = Project.find(start)
        pages = tuple(read_page(project, path) for path in project.pages())
        return cls(project, pages, project.register())

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """All claims, in page order."""
        return tuple(claim for page in self.pages for claim in page.claims)

    @cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """All remarks, in page order."""
        return tuple(remark for page in self.pages for remark in page.remarks)

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """All sections, in page order."""
        return tuple(section for page in self.pages for section in page.sections)

    @cached_property
    def answers(self) -> dict[str, Answer]:
        """Entry id → the book's answer."""
        return answers(self.register, self.claims, self.remarks)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """All problems within pages, between pages, and of labs."""
        own = [problem for page in self.pages for problem in page.problems]
        between = check_relations(self.register, self.claims, self.remarks)
        return tuple(sorted([*own, *between, *script_problems(self.project)]))

    def select(self, names: Iterable[str], also: Iterable[str] = ()) -> list[Claim]:
        """Return the claims that names select; without names, all of them.

        Args:
            names: ids of claims, paths of pages or folders, or `page.md::id`; paths are relative
                to the current folder or to the root of the project.
            also: other names to suggest for one that selects nothing.

        Raises:
            BookError: a name selects nothing; the message has similar names, and problems of
                pages that may hide it.
        """
        wanted: dict[Claim, None] = {}
        for name in names:
            path, _, item = name.partition("::")
            id_ = item.partition("[")[0]  # pytest adds the lane: page.md::id[cpu]
            found = [self.by_id[name]] if name in self.by_id else self._on(path)
            found = [claim for claim in found if id_ in {"", claim.id}]
            if not found:
                raise BookError(self._nothing_named(name, also))
            wanted |= dict.fromkeys(found)
        return list(wanted or self.claims)

    def _nothing_named(self, name: str, also: Iterable[str]) -> str:
        known = {*self.by_id, *also, *(claim.location.path for claim in self.claims)}
        message = unknown(name, "claim or page with claims", known, "see claimbook list")
        wrong = [p for p in self.problems if p.kind is not ProblemKind.BAD_REGISTER]
        if wrong:
            message += "\nOne of these problems may hide it:\n" + "\n".join(map(str, wrong))
        return message

    def _on(self, path: str) -> list[Claim]:
        """Return the claims on a page or in a folder."""
        pages = {page.path for page in self.pages if self._holds(path, page.path)}
        return [claim for claim in self.claims if claim.location.path in pages]

    @cached_property
    def by_id(self) -> dict[str, Claim]:
        """Claim id → claim."""
        return {claim.id: claim for claim in self.claims}

    def problems_of(self, names: Collection[str]) -> list[Problem]:
        """Return the problems on the pages that names select; without names, all problems."""
        if not names:
            return list(self.problems)
        places = {self.by_id[name].location.path for name in names if name in self.by_id}
        places |= {name.partition("::")[0] for name in names}
        return [p for p in self.problems if any(self._holds(x, p.location.path) for x in places)]

    def _holds(self, place: str, path: str) -> bool:
        """Return whether a place is a page, given by its path, or a folder that contains it."""
        page = self.project.root / path
        chosen = (Path(place).resolve(), self.project.root / place)
        return bool(place) and any(
            each.is_relative_to(folder) for each in (page, page.resolve()) for folder in chosen
        )


def unknown(name: str, what: str, known: Iterable[str], hint: str) -> str:
    """Return the message for an unknown name, with similar names or, without any, a hint."""
    return f"{name or repr(name)}: no {what} has this name{near(name, known) or f'; {hint}'}"


def script_problems(project: Project) -> Iterator[Problem]:
    """Yield the problems of labs, and of folders that sphinx-gallery would skip."""
    labs = _visible(project.root / LABS, ".py")
    for path in labs:
        try:
            yield from scan_script(read_text(path), project.name(path))
        except ReadError as error:
            yield _unread(project.name(path), error)
    for folder in sorted({path.parent for path in labs}):
        if not (folder / HEADER).exists():
            message = (
                f"its labs are not shown: {project.name(folder)} needs a {HEADER} with a title"
            )
            place = Location(project.name(min(folder.glob("*.py"))), 1)
            yield Problem(place, ProblemKind.BAD_FORM, message)


def read_page(project: Project, path: Path) -> Page:
    """Scan a page; return one with a problem if it cannot be read."""
    name = project.name(path)
    try:
        return scan_page(read_text(path), name)
    except ReadError as error:
        wrong = error
    except RecursionError:
        wrong = ReadError(path, 1, "its directives are nested too deep")
    return Page(name, problems=(_unread(name, wrong),))


def _unread(name: str, error: ReadError) -> Problem:
    return Problem(Location(name, error.line), ProblemKind.UNREADABLE, error.message)
