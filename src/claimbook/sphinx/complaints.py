"""Log warnings, collect all those of a build, and repeat them at its end."""

import ast
import logging
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import NoReturn

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.util import logging as sphinx_logging

from claimbook.engine.workers import RunnerError
from claimbook.files import read_text
from claimbook.model import Location
from claimbook.pages.book import BookError, Project
from claimbook.pages.text import near

logger = sphinx_logging.getLogger(__name__)

TOLD = 2
"""Lines of each warning that are repeated: the first says where, the second what."""


def warn(
    place: nodes.Node | Location | str, message: str, subtype: str, kind: str = "claim"
) -> None:
    """Log a warning at a place: a node, a line of a file, or a page."""
    location = str(place) if isinstance(place, Location) else place
    logger.warning(message, location=location, type=kind, subtype=subtype)


class Complaints(sphinx_logging.WarningStreamHandler):
    """Records each warning and error of a build with its place.

    It gets them as Sphinx's own handler does, and after it, which gives each its path and line.
    """

    def __init__(self, app: Sphinx) -> None:
        super().__init__(sphinx_logging.SafeEncodingWriter(sys.stderr))  # it writes nothing there
        self.setLevel(logging.WARNING)
        self.app = app
        self.found: list[tuple[str, str]] = []
        logging.getLogger(sphinx_logging.NAMESPACE).addHandler(self)
        app.connect("build-finished", self.tell, priority=900)

    def emit(self, record: logging.LogRecord) -> None:
        """Record a warning, unless it is suppressed."""
        kind = str(getattr(record, "type", "")), str(getattr(record, "subtype", ""))
        if sphinx_logging.is_suppressed_warning(*kind, self.app.config.suppress_warnings):
            return
        place = (getattr(record, "location", None) or "").removesuffix(":")  # of no line
        message = logging.LogRecord.getMessage(record)  # Sphinx's own method adds the place
        lines = [line for line in message.splitlines() if line.strip()]
        if (told := (place, "\n".join(lines[:TOLD]))) not in self.found:
            self.found.append(told)

    def tell(self, app: Sphinx, exception: Exception | None) -> None:
        """Repeat the warnings at the end of the log."""
        logging.getLogger(sphinx_logging.NAMESPACE).removeHandler(self)
        if self.found:
            # Places as the commands print them: `docs/page.md:3`.
            root = f"{self.app.srcdir.parent}/"
            lines = (
                f"{place.removeprefix(root)}: " * bool(place) + text for place, text in self.found
            )
            logger.info("\nTo be fixed:\n%s", "\n".join(lines))
        if isinstance(cause := getattr(exception, "orig_exc", exception), OF_USERS):
            _end(cause)


OURS = "claimbook_"
"""How the names of the book's settings begin."""

OF_USERS = (BookError, RunnerError, OSError)
"""Errors of users, whose message says what to do; Sphinx would report them as crashes."""


def ends_on_error(step: Callable[..., None]) -> Callable[..., None]:
    """Return a step before the build, which an error of a user ends in one line.

    `tell` comes after those of the build alone.
    """

    @wraps(step)
    def ending(*arguments: object) -> None:
        try:
            step(*arguments)
        except OF_USERS as error:
            _end(error)

    return ending


def _end(error: Exception) -> NoReturn:
    """End the build with the error in one line."""
    logger.error("%s", error)
    raise SystemExit(2)


@ends_on_error
def _check_files(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """End the build on an error of a user, before anything of the last build is lost."""
    Project.find(Path(app.srcdir))
    for docname in docnames:
        read_text(Path(env.doc2path(docname)))


@ends_on_error
def _check_settings(app: Sphinx, config: Config) -> None:
    """End the build on a setting that does not exist: it would be ignored."""
    path = Path(app.confdir, "conf.py")
    known = {each.name.removeprefix(OURS) for each in config if each.name.startswith(OURS)}
    for node in ast.walk(ast.parse(read_text(path))):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if name.startswith(OURS) and name not in config:
                meant = near(name := name.removeprefix(OURS), known)
                what = f"claimbook has no setting {name}{meant or f'; there are {sorted(known)}'}"
                raise BookError(f"{path}:{node.lineno}: {what}")


def connect(app: Sphinx) -> None:
    """Look for errors of users before pages are read."""
    app.connect("config-inited", _check_settings, priority=900)  # after extensions add theirs
    app.connect("env-before-read-docs", _check_files, priority=100)
