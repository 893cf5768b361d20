"""Write the data files of the site, while its pages are written."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.parallel import ParallelTasks, SerialTasks, parallel_available

from claimbook.files import write_atomically
from claimbook.model import digest

NICE = 10
"""Niceness of the processes, as pages take longer."""


def beside(app: Sphinx, task: Callable[[], object]) -> None:
    """Run a task in its own process while pages are written, and wait for it at the end."""
    apart = parallel_available and app.parallel > 1
    tasks = ParallelTasks(1) if apart else SerialTasks()
    tasks.add_task(lambda: (os.nice(NICE * apart), task()))
    app.connect("build-finished", lambda *_: tasks.join())


def made_of(app: Sphinx, *parts: object) -> str:
    """Return a comment with a digest of the code and of what a script is made of."""
    code = app.extensions["claimbook.sphinx"].metadata["env_version"]
    return f"// of {digest([code, *parts])}\n"


def is_made_of(path: Path, comment: str) -> bool:
    """Return whether a script exists and ends with a comment of `made_of`."""
    return path.exists() and path.read_bytes().endswith(comment.encode())


def write_script(path: Path, call: str, *data: object, comment: str = "") -> None:
    """Write data as a script that calls a function: a page opened from a file cannot load JSON."""
    arguments = (json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in data)
    write_atomically(path, f"{call}({','.join(arguments)});\n{comment}")


def read_script(path: Path) -> list[Any]:
    """Return the data of a script that `write_script` wrote."""
    arguments = path.read_text("utf-8").partition("(")[2].rpartition(");")[0]
    return [*json.loads(f"[{arguments}]")]
