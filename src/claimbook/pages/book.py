"""The whole book: every page scanned, the register, and what is wrong with them."""

import tomllib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from claimbook.model import Claim, Location, Page, Problem, ProblemKind, Remark
from claimbook.pages.parser import scan_page, scan_script
from claimbook.pages.register import Answer, Register, answers, check_relations, load_register
from claimbook.pages.text import near


class BookError(ValueError):
    """What was asked for is not there; says what is."""


class NoBookError(BookError):
    """There is no book around a path."""


HEADER = "GALLERY_HEADER.rst"
"""The file without which sphinx-gallery passes over a folder of labs."""

SETTINGS = {"docs": str, "scripts": str, "texts": list, "ignored": list, "in_progress": list}
"""The settings of a book, each with its type."""


@dataclass(frozen=True)
class Project:
    """Where the parts of the book stand, as `[tool.claimbook]` of pyproject.toml says."""

    root: Path
    docs: Path
    texts: tuple[str, ...] = ()
    """Pages outside docs whose fences are looked at too."""
    scripts: str = "gallery"
    ignored: tuple[str, ...] = ()
    """Folders of docs that hold no pages."""
    in_progress: tuple[str, ...] = ()
    """Sources of the register that may have open entries."""

    @classmethod
    def find(cls, start: Path) -> "Project":
        """The project around a path.

        Raises:
            NoBookError: no pyproject.toml above it has a `[tool.claimbook]`.
            BookError: the one that has is no TOML, or sets what is no setting.
        """
        start = start.resolve()
        for folder in (start, *start.parents):
            path = folder / "pyproject.toml"
            if path.is_file() and "[tool.claimbook]" in path.read_text("utf-8"):
                found = _settings(path)
                return cls(folder, folder / found.pop("docs", "docs"), **found)
        wanted = "pyproject.toml with [tool.claimbook] here or above"
        raise NoBookError(f"{start}: no {wanted}; go to the book's folder first")

    def name(self, path: Path) -> str:
        """A path as locations name it."""
        return path.resolve().relative_to(self.root).as_posix()

    def register(self) -> Register:
        """Read the register."""
        return load_register(self.docs / "register", self.in_progress)

    def pages(self) -> Iterator[Path]:
        """Every page, in order of path; what is hidden is an editor's."""
        texts = [self.root / text for text in self.texts]
        for path in (self.docs, *texts):
            if not path.exists():
                name = path.relative_to(self.root)
                raise BookError(f"pyproject.toml: [tool.claimbook] names {name}, which is missing")
        for path in sorted(self.docs.rglob("[!.]*.md")):
            inside = path.relative_to(self.docs).as_posix()
            if not any(inside.startswith(f"{folder}/") for folder in self.ignored):
                yield path
        yield from texts


def _settings(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))["tool"]["claimbook"]
    except tomllib.TOMLDecodeError as error:
        raise BookError(f"{path}: {error}") from error
    for name, value in found.items():
        if not isinstance(value, SETTINGS.get(name, ())):
            known = ", ".join(f"{key} ({kind.__name__})" for key, kind in SETTINGS.items())
            raise BookError(f"{path}: [tool.claimbook] {name} = {value!r}; there are {known}")
    if "/" in found.get("docs", ""):  # records and the site name a page by its path in there
        raise BookError(f"{path}: [tool.claimbook] docs is a folder beside this file")
    return {key: tuple(item) if isinstance(item, list) else item for key, item in found.items()}


@dataclass(frozen=True)
class Book:
    """What all pages and the register say."""

    project: Project
    pages: tuple[Page, ...]
    register: Register
    script_problems: tuple[Problem, ...] = ()

    @classmethod
    def load(cls, start: Path) -> "Book":
        """Reads the book around a path.

        Raises:
            BookError: there is none, or pyproject.toml says of it what is not so.
        """
        project = Project.find(start)
        pages = tuple(read_page(project, path) for path in project.pages())
        return cls(project, pages, project.register(), tuple(script_problems(project)))

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """All claims, in the order of pages."""
        return tuple(claim for page in self.pages for claim in page.claims)

    @cached_property
    def remarks(self) -> tuple[Remark, ...]:
        """All remarks, in the order of pages."""
        return tuple(remark for page in self.pages for remark in page.remarks)

    @cached_property
    def answers(self) -> dict[str, Answer]:
        """Entry id → what the book says of it."""
        return answers(self.register, self.claims, self.remarks)

    @cached_property
    def problems(self) -> tuple[Problem, ...]:
        """Everything that is wrong with the pages, alone and together."""
        own = [problem for page in self.pages for problem in page.problems]
        between = check_relations(self.register, self.claims, self.remarks)
        return tuple(sorted([*own, *between, *self.script_problems]))

    def select(self, names: Iterable[str], also: Iterable[str] = ()) -> list[Claim]:
        """The claims that names ask for; all of them without a name.

        Args:
            names: ids of claims, paths of pages or of folders, or `page.md::id`; a path begins
                at the current folder, or at the root of the project as messages have it.
            also: what else might have been meant, to be named where a name asks for nothing.

        Raises:
            BookError: a name asks for nothing; says what is near to it.
        """
        wanted: dict[str, Claim] = {}
        for name in names:
            one = self._by_id.get(name)
            found = [one] if one else [c for c in self.claims if self._asks_for(name, c)]
            if not found:
                known = {*self._by_id, *also, *(c.location.path for c in self.claims)}
                what = "claim and no page with claims"
                raise BookError(unknown(name, what, known, "see claimbook list"))
            wanted.update((claim.id, claim) for claim in found)
        return list(wanted.values()) if wanted else list(self.claims)

    @cached_property
    def _by_id(self) -> dict[str, Claim]:
        return {claim.id: claim for claim in self.claims}

    def problems_of(self, names: Collection[str]) -> list[Problem]:
        """What is wrong on the pages that names ask for; on all of them without a name."""
        of_claims = {self._by_id[name].location.path for name in names if name in self._by_id}

        def meant(path: str) -> bool:
            return not names or path in of_claims or any(self._holds(name, path) for name in names)

        return [problem for problem in self.problems if meant(problem.location.path)]

    def _asks_for(self, name: str, claim: Claim) -> bool:
        id_ = name.partition("::")[2]
        here = self._holds(name, claim.location.path)
        return here and (not id_ or id_.partition("[")[0] == claim.id)

    def _holds(self, name: str, path: str) -> bool:
        """Whether a name is that of a page or of a folder around it."""
        place, page = name.partition("::")[0], self.project.root / path
        near_here, root = Path(place).resolve(), self.project.root
        return page.is_relative_to(near_here) or page.is_relative_to(root / place)


def unknown(name: str, what: str, known: Iterable[str], hint: str) -> str:
    """Says that nothing is called so, with what is near to it or holds it, else with a hint."""
    return f"{name}: no {what} is called so{near(name, known) or f'; {hint}'}"


def script_problems(project: Project) -> Iterator[Problem]:
    """What is wrong with labs: of each, and of a folder that sphinx-gallery would pass over."""
    labs = sorted((project.root / project.scripts).rglob("[!.]*.py"))
    for path in labs:
        yield from scan_script(path.read_text("utf-8"), project.name(path))
    for folder in sorted({path.parent for path in labs}):
        if not (folder / HEADER).exists():
            message = (
                f"its labs are not shown: {project.name(folder)} needs a {HEADER} with a title"
            )
            place = Location(project.name(min(folder.glob("*.py"))), 1)
            yield Problem(place, ProblemKind.BAD_FORM, message)


def read_page(project: Project, path: Path) -> Page:
    """Scans the page of a path; a page that is no UTF-8 text is a problem of that page."""
    name = project.name(path)
    try:
        return scan_page(path.read_bytes().decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        problem = Problem(Location(name, line), ProblemKind.BAD_FENCE, "the page is not UTF-8")
        return Page(name, problems=(problem,))
