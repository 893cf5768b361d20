"""The fork server: a process that imports torch once, and forks a worker whenever a runner asks.

A runner starts one for itself. `python -m claimbook.engine.fork_server COMMAND ...` keeps one
while a command lasts, for whatever that runs: a claim then waits for no import.
"""

import contextlib
import gc
import importlib
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path

from claimbook.engine.channel import receive, send
from claimbook.engine.worker import LIBC, VISIBLE, serve
from claimbook.model import Lane, digest

KEPT = "CLAIMBOOK_FORK_SERVER"
"""The variable that says on which socket a fork server that is kept listens."""

SETTINGS = re.compile(
    r"PYTHON(WARN|OPTIMIZE|DEVMODE|MALLOC)|_?(PY)?TORCH|CU(BLAS|DNN)|CUDA_LAUNCH|NVIDIA_TF|\w+VERBOSE"
    r"|(LOCAL_)?RANK|WORLD_SIZE|MASTER_|GLOO_|NCCL_"
)
"""Variables with which Python, torch or what it calls prints otherwise; examples have none."""

OURS_TO_SAY = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONUTF8"), "1"),
    "PYTHONHASHSEED": "0",
    "TORCH_CPP_LOG_LEVEL": "ERROR",  # torch's own log, not its warnings
    "KINETO_LOG_LEVEL": "99",  # what the profiler says of its own starts and stops
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # CUDA that an import starts is lost to what is forked
}
"""Variables that are the same for all examples, wherever they run."""


def connect(scratch: str) -> tuple[Connection, subprocess.Popen[bytes] | None]:
    """Return the channel to a fork server, and its process unless it is the one that is kept.

    This does not wait for torch, which the server imports meanwhile.

    Args:
        scratch: a folder for the workers' own, which the runner removes.
    """
    channel, process = _connect_to_kept(), None
    if channel is None:
        channel, theirs = Pipe()
        with theirs:
            process = _start(theirs.fileno(), subprocess.DEVNULL)
    send(channel, {"scratch": scratch, "folder": str(Path.cwd()), "environ": _environ()})
    return channel, process


def _connect_to_kept() -> Connection | None:
    """Return the channel to the server that is kept; None if a run here could use none."""
    address = os.environ.get(KEPT, "")
    if not address.endswith(_of_start()):
        return None
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(address)
    except OSError:  # it was ended
        connection.close()
        return None
    return Connection(connection.detach())


def _of_start() -> str:
    """Return what Python reads when it starts, as a name: other settings need another server."""
    settings = {name: value for name, value in _environ().items() if name.startswith("PYTHON")}
    return f"/{digest([sys.executable, settings])[:16]}"


def _environ() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not SETTINGS.match(k)} | OURS_TO_SAY


def _start(descriptor: int, stdin: int, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "claimbook.engine.fork_server", str(descriptor), *words],
        pass_fds=[descriptor],
        stdin=stdin,
        env=_environ(),
        start_new_session=True,
    )


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Keep a fork server while it lasts, for all runs of this process and of what it starts."""
    folder = tempfile.TemporaryDirectory(prefix="claims-")
    with folder, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address := folder.name + _of_start())
        listener.listen()
        # It ends when its input does.
        with _start(listener.fileno(), subprocess.PIPE, "kept"), _variable(KEPT, address):
            yield


def main(descriptor: int, *, listens: bool) -> None:
    """Import torch, then fork workers until the runner goes away.

    Args:
        descriptor: the pipe over which the runner asks, or the socket on which runners call.
    """
    gc.disable()  # an import leaves no garbage, and looking for it takes a tenth of the time
    importlib.import_module("torch")  # by name: no linter may take it for unused
    gc.enable()
    gc.freeze()
    channel = Connection(_accept(descriptor) if listens else descriptor)
    _adopt_orphans()
    hello = receive(channel)
    os.environ.clear()
    os.environ.update(hello["environ"])
    os.chdir(hello["folder"])
    sys.path[0] = hello["folder"]
    workers: set[int] = set()
    with contextlib.suppress(EOFError):  # the runner was killed while it asked
        _answer(channel, Path(hello["scratch"]), workers)
    for pid in workers:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    _end_orphans(set())
    shutil.rmtree(hello["scratch"], ignore_errors=True)  # the runner may have been killed
    os._exit(0)  # torch takes a fifth of a second to be taken down, and the runner waits


def _accept(descriptor: int) -> int:
    """Fork for each runner that calls; return its descriptor in the process that is for it."""
    listener = socket.socket(fileno=descriptor)
    while listener in select.select([listener, sys.stdin], [], [])[0]:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            os.setsid()
            os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
            return connection.detach()
        connection.close()
    os._exit(0)


def _answer(channel: Connection, scratch: Path, workers: set[int]) -> None:
    """Do what the runner asks until it is gone; note which workers it has not ended."""
    while request := receive(channel):
        command, _, argument = request.partition(" ")
        match command:
            case "fork":
                pid = _fork(channel, recv_handle(channel), Lane(argument), scratch)
                workers.add(pid)
                send(channel, {"pid": pid})
            case "import":
                # An import that looks for a GPU would leave CUDA unusable in all that is forked;
                # not every torch has what is named.
                with contextlib.suppress(ImportError), _variable(VISIBLE, ""):
                    importlib.import_module(argument)
                gc.freeze()
                send(channel, {})
            case "wait":
                workers.discard(int(argument))
                send(channel, {"status": os.waitpid(int(argument), 0)[1]})
                _end_orphans(workers)
            case "end":
                return


@contextlib.contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    """Set a variable of the environment while it lasts."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def _adopt_orphans() -> None:
    """Become the parent of what examples leave behind, even of daemons; on Linux alone."""
    if sys.platform == "linux":
        LIBC.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER


def _end_orphans(workers: set[int]) -> None:
    """End every child that is not one of the workers."""
    listing = Path(f"/proc/self/task/{os.getpid()}/children")
    while listing.exists():
        orphans = {int(pid) for pid in listing.read_text().split()} - workers
        if not orphans:
            return
        for pid in orphans:  # their own children become orphans in turn
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _fork(channel: Connection, descriptor: int, lane: Lane, scratch: Path) -> int:
    with warnings.catch_warnings(action="ignore"):  # CUDA may have a thread of its own here
        pid = os.fork()
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)  # in both, so that it is done before anyone kills the group
    if pid:
        os.close(descriptor)
        return pid
    channel.close()
    status, terminal = 1, os.dup(2)
    try:
        serve(Connection(descriptor), lane, scratch)
        status = 0
    except ConnectionError:
        pass  # the runner is gone
    except BaseException:
        os.write(terminal, traceback.format_exc().encode())  # examples have the rest
    finally:
        os._exit(status)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [descriptor, *words] if descriptor.isdecimal():
            main(int(descriptor), listens=bool(words))
        case command:
            with kept(), subprocess.Popen(command) as process:
                signal.signal(signal.SIGTERM, lambda *_: process.terminate())
                with contextlib.suppress(KeyboardInterrupt):  # the command was told as well
                    process.wait()
            sys.exit(process.returncode)
