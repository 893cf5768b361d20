"""A program: makes the imports of a build and waits to be asked for one, then starts over.

Started as `python -m claimbook.serve.spare DOOR SERVER MODULES ARGUMENT…`: the descriptor of the
socket at which it is asked; the process id of the server, with which it ends; a file with the
modules that the last build had imported; and the arguments for Sphinx. It answers with the exit
status of the build, or with nothing if its imports are out of date: then Sphinx has to be started
afresh.
"""

import ctypes
import os
import select
import signal
import socket
import sys
import time
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
SECONDS_BETWEEN_LOOKS = 1.0
"""At whether the server is still there."""


def main(door: int, server: int, modules: Path, arguments: list[str]) -> None:
    """Serves one build, then becomes the next spare; returns when the server is gone."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if sys.platform == "linux":  # elsewhere the build that it is making comes to its end first
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
    asked, started = socket.socket(fileno=door), time.time()
    with ExitStack() as ahead:
        with suppress(Exception):  # the build will meet it too, and says where it comes from
            _import_ahead(ahead, modules)
        while not select.select([door], [], [], SECONDS_BETWEEN_LOOKS)[0]:
            if os.getppid() != server:
                return
        line, _ = asked.accept()
        with line:
            if not _code_changed_since(started):
                line.sendall(f"{_build(arguments)}\n".encode())
    known = (name for name, module in sys.modules.items() if getattr(module, "__spec__", None))
    modules.write_text("\n".join(known), "utf-8")
    os.set_inheritable(door, True)
    os.execv(sys.executable, [sys.executable, "-m", "claimbook.serve.spare", *sys.argv[1:]])


def _import_ahead(ahead: ExitStack, modules: Path) -> None:
    """Starts the import of torch for the claims, and meanwhile imports what Sphinx will."""
    from claimbook.runner import EARLY, Runner

    EARLY.append(ahead.enter_context(Runner()))
    for name in modules.read_text("utf-8").splitlines():
        import_module(name)


def _build(arguments: list[str]) -> int:
    from sphinx.cmd.build import build_main

    try:
        return build_main(arguments)
    except SystemExit as wrong:  # arguments that it does not know
        return int(wrong.code or 0)


def _code_changed_since(started: float) -> bool:
    return any(path.stat().st_mtime > started for path in PACKAGE.rglob("[!.]*.py"))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt, BrokenPipeError):  # the server ends too, or has ended
        main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
