"""Has each build made by a process that has made its imports (`spare`)."""

import atexit
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sphinx_autobuild.build import Builder
from sphinx_autobuild.utils import show_message

from claimbook.complaints import complaints


class SpareBuilder(Builder):  # type: ignore[misc]
    """Has the spare build; where there is none, or it declines, builds as sphinx-autobuild does."""

    def __init__(self, sphinx_args: list[str], **options: Any) -> None:
        super().__init__(sphinx_args, **options)
        self._site = Path(sphinx_args[-1])
        folder = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, folder)
        self._address = f"{folder}/spare"
        with socket.socket(socket.AF_UNIX) as door:
            door.bind(self._address)
            door.listen()
            command = [sys.executable, "-m", "claimbook.serve.spare"]
            command += [str(door.fileno()), str(os.getpid()), f"{folder}/modules"]
            subprocess.Popen([*command, *sphinx_args], pass_fds=[door.fileno()])

    def __call__(self, *, changed_paths: Sequence[Path]) -> None:
        """Builds, and says how that went."""
        started = time.monotonic()
        complaints(self._site)
        simple = not (self.pre_build_commands or self.post_build_commands)
        if simple and changed_paths:
            show_message(f"Building {', '.join(path.name for path in changed_paths[:5])}")
        status = self._ask() if simple else None
        if status is None:
            super().__call__(changed_paths=changed_paths)
        else:
            took = f"{time.monotonic() - started:.1f} s"
            failed = f"Failed with status {status} after {took}; pages may be older"
            show_message(f"{failed if status else f'Built in {took}'}. Serving on {self.uri}")

    def _ask(self) -> int | None:
        with socket.socket(socket.AF_UNIX) as line, suppress(OSError):
            line.connect(self._address)
            answer = line.makefile().readline()
            return int(answer) if answer else None
        return None
