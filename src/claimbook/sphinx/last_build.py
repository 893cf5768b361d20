"""Tell what of the last build has to be done again.

If nothing has changed since, nothing is. This compares the state of every file that a build reads,
not what is in it.

Pages that it warned of are read again: Sphinx alone would leave them, and a build that failed with
warnings would pass when repeated. Sphinx saves its environment before pages are written: after a
build that did not finish, all pages are read and written again.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, astuple, dataclass
from functools import partial
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from claimbook.engine import environment
from claimbook.files import walk, write_atomically
from claimbook.model import Lane, digest
from claimbook.pages.book import LABS
from claimbook.records.reading import load_file, structure
from claimbook.sphinx.complaints import Complaints
from claimbook.sphinx.domain import claim_domain
from claimbook.sphinx.outdated import assets

FILE = "last-build.json"
"""The file, in Sphinx's doctree folder, of the last build. It does not exist while pages are
written."""


@dataclass(frozen=True)
class Kept:
    """What is kept of a build."""

    warned: list[tuple[str, str]]
    """Place and text of each warning."""
    state: str
    """The digest of what it read and left."""
    said: str
    """What it said at its end."""


UNFINISHED = Kept([("", "")], "", "")
"""A build that did not finish, or whose file is broken: it warned of something without a place."""

LINE = re.compile(r":\d*\Z")
"""The line at the end of a warning's place, whose path may have colons too."""

SETTINGS = "strict", "strict_cuda", "whole_register", "max_age"
"""The settings that decide what a build warns of."""

BUILT = "_build"
"""The folder of docs for what builds make."""


class LastBuild:
    """What the last build read and left, what it warned of, and what it said at its end."""

    def __init__(self, app: Sphinx) -> None:
        self._app, self._read = app, ""
        self._file = Path(app.doctreedir, FILE)
        self._warned = Complaints(app).found
        self.said = ""
        """What it said at its end."""
        app.connect("env-get-outdated", self.pages_to_mend)
        app.connect("env-updated", self.forget, priority=1000)

    def _kept(self) -> Kept:
        found = load_file(self._file, partial(structure, type=Kept), "", lambda *_: None)
        return found or UNFINISHED

    def pages_to_mend(self, app: Sphinx, env: BuildEnvironment, *_: object) -> Iterable[str]:
        """Return the pages that it warned of.

        Return all if it did not finish, or warned without a place. Every build checks other files.
        """
        files = {LINE.sub("", place) for place, _ in self._kept().warned}
        pages = {env.path2doc(file) for file in files}
        return env.all_docs.keys() if "" in files else env.all_docs.keys() & pages

    def forget(self, *_: object) -> list[str]:
        """Delete its file before Sphinx saves its environment; return no page."""
        self._file.unlink(missing_ok=True)
        return []

    def is_same(self) -> bool:
        """Return whether nothing has changed since, and it warned of nothing; note what this reads.

        To be called before claims run: what changes from then on is left to the next build.
        """
        self._read = digest([*_settings(self._app), *_states(_inputs(self._app))])
        fresh = claim_domain(self._app.env).has_read or self._late()
        kept = self._kept()
        self.said = kept.said
        return not (kept.warned or fresh) and kept.state == self._now()

    def keep(self, said: str) -> None:
        """Save what this build read, left, warned of and said, if it wrote its doctrees."""
        if self._app.doctreedir.is_dir():
            kept = Kept(self._warned, self._now() if said else "", said)
            write_atomically(self._file, json.dumps(asdict(kept)))

    def _now(self) -> str:
        return digest([self._read, *_left(self._app)])

    def _late(self) -> bool:
        """Return whether a page of the site is missing or older than its source."""
        late = self._app.builder.get_outdated_docs()
        return isinstance(late, str) or any(True for _ in late)


def _settings(app: Sphinx) -> Iterator[object]:
    """Yield what changes a build without a change of a file; records age from day to day."""
    yield app.builder.name
    yield str(app.outdir)
    yield [app.config[f"claimbook_{name}"] for name in SETTINGS]
    if shown := getattr(app.builder, "build_info", None):  # digests of what pages show
        yield vars(shown)
    yield astuple(environment.describe(Lane.CPU))
    yield environment.today()
    inventory = getattr(app.env, "intersphinx_inventory", {})
    yield {role: sorted(names) for role, names in inventory.items()}


def _inputs(app: Sphinx) -> Iterator[Path]:
    project = claim_domain(app.env).project
    yield from (project.root / "pyproject.toml", *project.texts)
    yield from assets(app.env)
    yield from walk(project.root / LABS)
    yield from walk(project.docs, BUILT.__eq__)


def _left(app: Sphinx) -> Iterator[object]:
    """Yield the names in the site, and the states of the records and pictures of this machine."""
    yield sorted(map(str, walk(Path(app.outdir), Path(app.doctreedir).name.__eq__)))
    for folder in ("records", "cells"):
        yield from _states(walk(Path(app.srcdir, BUILT, folder)))


def _states(paths: Iterable[Path]) -> Iterator[tuple[str, int, int, int]]:
    """Yield name, inode, size and time of each file."""
    for path in sorted(paths):
        if path.exists():  # no broken link
            state = path.stat()
            yield str(path), state.st_ino, state.st_size, state.st_mtime_ns
