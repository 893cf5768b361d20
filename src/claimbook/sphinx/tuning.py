"""Make small builds fast."""

import gc
import os
from collections.abc import Callable
from typing import Any, cast

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.highlighting import PygmentsBridge
from sphinx.util.parallel import ParallelTasks, SerialTasks, parallel_available

OBJECTS_BETWEEN_COLLECTIONS = 100_000
"""A build makes few reference cycles. Python's default, a collection every 700 objects, takes a
fifth of the time of a build without changes."""

NICE = 10
"""Niceness of a process that runs beside the build."""

FEW = 4
"""Number of pages up to which reading them in this process is faster than in parallel."""


def connect(app: Sphinx) -> None:
    """Collect garbage rarely, and read pages in parallel only if there are many."""
    gc.enable()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 100, 100)
    app.connect("build-finished", lambda *_: gc.freeze(), priority=1000)  # speeds up Python's exit
    jobs = max(1, app.parallel)  # 0 if the application is created by hand

    def share(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
        app.parallel = jobs if len(docnames) > FEW else 1
        # Dealt out like cards: slow pages are often neighbours.
        docnames[:] = [n for hand in range(app.parallel) for n in docnames[hand :: app.parallel]]

    app.connect("builder-inited", _keep_formatters)
    app.connect("env-before-read-docs", share)
    app.connect("env-updated", lambda *_: setattr(app, "parallel", max(jobs, app.parallel)))


def _keep_formatters(app: Sphinx) -> None:
    """Cache Pygments' formatters: creating one takes as long as using it."""
    highlighter = getattr(app.builder, "highlighter", None)
    if isinstance(highlighter, PygmentsBridge):
        made: dict[str, Any] = {}

        def kept(**options: Any) -> Any:
            key = repr(sorted(options.items()))
            return made.get(key) or made.setdefault(key, highlighter.html_formatter(**options))

        highlighter.formatter = cast("Any", kept)  # it is only called


def beside(app: Sphinx, task: Callable[[], object]) -> None:
    """Run a task in its own process while pages are written; wait for it at the end of the build.

    It has a lower priority than the pages, which take longer.
    """
    apart = parallel_available and app.parallel > 1
    tasks = ParallelTasks(1) if apart else SerialTasks()
    tasks.add_task(lambda: (os.nice(NICE * apart), task()))
    app.connect("build-finished", lambda *_: tasks.join())
