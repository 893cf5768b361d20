"""The fork server: a process that imports torch once and forks workers on request.

A runner starts its own. `python -m claimbook.engine.fork_server COMMAND ...` shares one between
all runners that the command starts, so that none waits for the import.
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
from multiprocessing.connection import Client, Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path

from claimbook.engine.worker import LIBC, VISIBLE, receive, send, serve
from claimbook.model import Lane, digest

KEPT = "CLAIMBOOK_FORK_SERVER"
"""Environment variable with the socket address of a shared fork server."""

SETTINGS = re.compile(
    r"PYTHON(WARN|OPTIMIZE|DEVMODE|MALLOC|TRACEMALLOC|INTMAX|ASYNCIO|_COLORS|_CPU)|FORCE_COLOR|COLUMNS"
    r"|_?(PY)?TORCH|CU(BLAS|DNN)|CUDA_LAUNCH|NVIDIA_TF|\w+VERBOSE"
    r"|(LOCAL_)?RANK|WORLD_SIZE|MASTER_|GLOO_|NCCL_"
)
"""Environment variables that change what Python or torch prints; removed for examples."""

OURS_TO_SAY = {
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "PYTHONUTF8"), "1"),
    "PYTHONHASHSEED": "0",
    "TORCH_CPP_LOG_LEVEL": "ERROR",  # torch's own log, not its warnings
    "KINETO_LOG_LEVEL": "99",  # messages of the profiler on its start and stop
    "PYTORCH_NVML_BASED_CUDA_CHECK": "1",  # CUDA initialised by an import is unusable after a fork
}
"""Environment variables set to fixed values for all examples."""


def connect(scratch: str) -> tuple[Connection, subprocess.Popen[bytes] | None]:
    """Return the channel to a fork server, and its process (None for a shared one).

    Return at once, while the server still imports torch.

    Args:
        scratch: a folder for the workers' temporary files, which the runner removes.
    """
    channel: Connection | None = None
    process = None
    if (address := os.environ.get(KEPT, "")).endswith(_of_start()):
        with contextlib.suppress(OSError):  # it has ended
            channel = Client(address)
    if channel is None:
        channel, theirs = Pipe()
        with theirs:
            process = _start(theirs.fileno(), subprocess.DEVNULL)
    send(channel, {"scratch": scratch, "folder": str(Path.cwd()), "environ": _environ()})
    return channel, process


def _of_start() -> str:
    """Return a name made of Python's start-up settings: different ones need another server."""
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
    """Share a fork server, within the context, with this process and its children.

    Share none if the folder of temporary files has too long a name for a socket.
    """
    folder = tempfile.TemporaryDirectory(prefix="claims-")
    with folder, socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(address := folder.name + _of_start())
        except OSError:
            yield
            return
        listener.listen()
        # The server exits when its stdin closes.
        with _start(listener.fileno(), subprocess.PIPE, "kept"), _variable(KEPT, address):
            yield


def main(descriptor: int, *, listens: bool) -> None:
    """Import torch, then fork workers until the runner is gone.

    Args:
        descriptor: the pipe to the runner, or the socket to which runners connect.
        listens: whether it is a socket.
    """
    gc.disable()  # saves a tenth of the import time
    importlib.import_module("torch")  # by name, or linters call it unused
    gc.enable()
    gc.freeze()
    channel = Connection(_accept(descriptor) if listens else descriptor)
    if sys.platform == "linux":  # adopt orphans of examples, daemons included
        LIBC.prctl(36, 1)  # PR_SET_CHILD_SUBREAPER
    hello = receive(channel)
    os.environ.clear()
    os.environ.update(hello["environ"])
    os.chdir(hello["folder"])
    sys.path[0] = hello["folder"]
    workers: set[int] = set()
    # The runner died in the middle of a request, or of its answer.
    with contextlib.suppress(EOFError, ConnectionError):
        _answer(channel, Path(hello["scratch"]), workers)
    for pid in workers:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    _end_orphans(set())
    shutil.rmtree(hello["scratch"], ignore_errors=True)  # the runner may have been killed
    os._exit(0)  # skips torch's teardown, 0.2 s that the runner would wait


def _accept(descriptor: int) -> int:
    """Fork for each runner that connects; return the connection's descriptor in the child."""
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
    """Serve the runner's requests until it is gone; keep `workers` up to date."""
    while request := receive(channel):
        match request:
            case ["fork", lane]:
                pid = _fork(channel, recv_handle(channel), Lane(lane), scratch)
                workers.add(pid)
                send(channel, {"pid": pid})
            case ["import", module]:
                # An import that looks for a GPU would make CUDA unusable after a fork. ImportError:
                # not every release has the module.
                with contextlib.suppress(ImportError), _variable(VISIBLE, ""):
                    importlib.import_module(module)
                gc.freeze()
                send(channel, {})
            case ["wait", pid]:
                workers.discard(pid)
                send(channel, {"status": os.waitpid(pid, 0)[1]})
                _end_orphans(workers)
            case ["end"]:
                return


@contextlib.contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    """Set an environment variable within the context."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def _end_orphans(workers: set[int]) -> None:
    """Kill every child that is not a worker."""
    listing = Path(f"/proc/self/task/{os.getpid()}/children")
    while listing.exists():
        orphans = {int(pid) for pid in listing.read_text().split()} - workers
        if not orphans:
            return
        for pid in orphans:  # their own children become orphans in turn
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _fork(channel: Connection, descriptor: int, lane: Lane, scratch: Path) -> int:
    with warnings.catch_warnings(action="ignore"):  # CUDA may run a thread here
        pid = os.fork()
    with contextlib.suppress(OSError):
        os.setpgid(pid, pid)  # in parent and child, so that the group exists before anyone kills it
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
        os.write(terminal, traceback.format_exc().encode())  # stdout and stderr are the example's
    finally:
        os._exit(status)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [descriptor, *words] if descriptor.isdecimal():
            main(int(descriptor), listens=bool(words))
        case command:
            with kept(), subprocess.Popen(command) as process:
                signal.signal(signal.SIGTERM, lambda *_: process.terminate())
                with contextlib.suppress(KeyboardInterrupt):  # the command got it too
                    process.wait()
            sys.exit(process.returncode)
