"""What keeps small builds quick."""

import gc
import os
import pickle
from collections.abc import Callable
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.parallel import ParallelTasks, SerialTasks, parallel_available

from claimbook import falsify, model, records, store
from claimbook.environment import digest_of_code
from claimbook.releases import record as releases
from claimbook.versions import record as versions

OBJECTS_BETWEEN_COLLECTIONS = 100_000
"""A build drops few objects in cycles. Python looks for them each 700 objects, which is a fifth of
the time of a build in which nothing changed."""

NICE = 10
"""How far a process beside the build gives way to it."""

PARSERS = [Path(str(m.__file__)) for m in (model, store, records, falsify, releases, versions)]
"""The code that reads and checks records; when it changes, all are read and checked anew."""

FEW = 4
"""So many pages are read sooner by this process than others are started and merged into it."""

MANY = 20
"""From so many pages on two processes share a core: one of them may be waiting for a kernel."""


def connect(app: Sphinx) -> None:
    """Collects garbage seldom, and reads pages in several processes only where they are many.

    What files of records hold is handed on to the next build.
    """
    gc.enable()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 100, 100)
    app.connect("build-finished", lambda *_: gc.freeze(), priority=1000)  # Python ends at once
    jobs = max(1, app.parallel)  # 0 where an application is made by hand

    def share(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
        many = jobs > 1 and len(docnames) >= MANY
        app.parallel = jobs * (1 + many) if len(docnames) > FEW else 1
        # Dealt like cards, as neighbours are of one part and take long together.
        docnames[:] = [n for hand in range(app.parallel) for n in docnames[hand :: app.parallel]]

    app.connect("env-before-read-docs", share)
    app.connect("env-updated", lambda *_: setattr(app, "parallel", max(jobs, app.parallel)))
    app.connect("builder-inited", _recall)


def beside(app: Sphinx, task: Callable[[], object]) -> None:
    """Does something in a process of its own while pages are written; the build ends after it.

    Pages go first: they take longer.
    """
    apart = parallel_available and app.parallel > 1
    tasks = ParallelTasks(1) if apart else SerialTasks()
    tasks.add_task(lambda: (os.nice(NICE * apart), task()))
    app.connect("build-finished", lambda *_: tasks.join())


def _recall(app: Sphinx) -> None:
    file = Path(app.doctreedir, "records.pickle")
    parsed_by = digest_of_code(PARSERS).encode()
    head, _, body = file.read_bytes().partition(b"\n") if file.exists() else (b"", b"", b"")
    if head == parsed_by:
        store.KNOWN.update(pickle.loads(body))  # noqa: S301 (as Sphinx keeps its pages beside it)
    recalled = store.KNOWN.copy()

    def remember(app: Sphinx, env: BuildEnvironment) -> None:
        if recalled != store.KNOWN:
            beside(app, lambda: _write(file, parsed_by))

    app.connect("env-updated", remember, priority=900)


def _write(file: Path, parsed_by: bytes) -> None:
    there = {path: known for path, known in store.KNOWN.items() if Path(path).exists()}
    store.write_atomically(file, parsed_by + b"\n" + pickle.dumps(there))
