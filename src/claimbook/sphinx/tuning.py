"""What keeps small builds quick."""

import gc
import os
from collections.abc import Callable
from typing import Any, cast

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.highlighting import PygmentsBridge
from sphinx.util.parallel import ParallelTasks, SerialTasks, parallel_available

OBJECTS_BETWEEN_COLLECTIONS = 100_000
"""A build drops few objects in cycles. Python looks for them each 700 objects, which is a fifth of
the time of a build in which nothing changed."""

NICE = 10
"""How far a process beside the build gives way to it."""

FEW = 4
"""So many pages are read sooner by this process than others are started and merged into it."""


def connect(app: Sphinx) -> None:
    """Collect garbage seldom, and read pages in several processes only where they are many."""
    gc.enable()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 100, 100)
    app.connect("build-finished", lambda *_: gc.freeze(), priority=1000)  # Python ends at once
    jobs = max(1, app.parallel)  # 0 where an application is made by hand

    def share(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
        app.parallel = jobs if len(docnames) > FEW else 1
        # Dealt like cards, as neighbours are of one part and take long together.
        docnames[:] = [n for hand in range(app.parallel) for n in docnames[hand :: app.parallel]]

    app.connect("builder-inited", _keep_formatters)
    app.connect("env-before-read-docs", share)
    app.connect("env-updated", lambda *_: setattr(app, "parallel", max(jobs, app.parallel)))


def _keep_formatters(app: Sphinx) -> None:
    """Use one formatter for all code that is shown alike: making one takes as long as using it."""
    highlighter = getattr(app.builder, "highlighter", None)
    if isinstance(highlighter, PygmentsBridge):
        made: dict[str, Any] = {}

        def kept(**options: Any) -> Any:
            key = repr(sorted(options.items()))
            return made.get(key) or made.setdefault(key, highlighter.html_formatter(**options))

        highlighter.formatter = cast("Any", kept)  # it is called only


def beside(app: Sphinx, task: Callable[[], object]) -> None:
    """Do something in a process of its own while pages are written; the build ends after it.

    Pages go first: they take longer.
    """
    apart = parallel_available and app.parallel > 1
    tasks = ParallelTasks(1) if apart else SerialTasks()
    tasks.add_task(lambda: (os.nice(NICE * apart), task()))
    app.connect("build-finished", lambda *_: tasks.join())
