"""What keeps small builds quick."""

import gc

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

OBJECTS_BETWEEN_COLLECTIONS = 100_000
"""A build drops few objects in cycles. Python looks for them each 700 objects, which is a fifth of
the time of a build in which nothing changed."""

FEW = 4
"""So many pages are read sooner by this process than others are started and merged into it."""


def connect(app: Sphinx) -> None:
    """Collects garbage seldom, and reads pages in several processes only where they are many."""
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 100, 100)
    app.connect("build-finished", lambda *_: gc.freeze(), priority=1000)  # Python ends at once
    jobs = app.parallel

    def share(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
        app.parallel = jobs if len(docnames) > FEW else 1

    def share_again(app: Sphinx, env: BuildEnvironment) -> None:
        app.parallel = jobs

    app.connect("env-before-read-docs", share)
    app.connect("env-updated", share_again)
