"""A worker: receive claims over a channel, a message each; answer with one per example.

It accepts another claim only if its global state is unchanged. A channel is a pipe on which each
message is a JSON value: nothing that an example writes there is executed.
"""

import __future__

import _thread
import contextlib
import ctypes
import fcntl
import gc
import io
import json
import linecache
import os
import platform
import random
import resource
import shutil
import sys
import tempfile
import threading
import time
import traceback
import types
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from claimbook.engine import environment
from claimbook.engine.isolation import Snapshot, note_what_lasts
from claimbook.model import Lane

MEMORY_LIMIT = 8 << 30
"""Bytes that a worker may allocate; beyond that, allocations fail."""

FILE_LIMIT = 1 << 30
"""Bytes of the largest file that an example may write, its output included."""

LIBC = ctypes.CDLL(None)

VISIBLE = "CUDA_VISIBLE_DEVICES"

LONGEST = 1 << 24
"""Most bytes of a message; a longer one is junk that an example wrote to the pipe."""

OUTPUT_LIMIT = 100_000
"""Characters of an example's output that are kept."""

INTACT = b"\x1e"
"""The first byte of the file that holds what an example prints; gone if the example emptied it."""

EMPTIED = "[cut here: an example emptied its output, as `> /dev/stdout` does; append, as by `>>`]"

OF_HERE = [
    r"This DataLoader will create \d+ worker processes .* current system is 1,",
    r"Guards may run slower on Python 3\.13\.0",
    r"mkldnn_matmul failed, switching to BLAS gemm:mkldnn_matmul: mkldnn_matmul bf16 path needs",
]
"""Warnings of torch that only some machines cause, with one core, one release of Python, or an ARM
processor without bfloat16; they are ignored."""

OF_PICKLE = "when serializing "
"""How the notes begin that pickle adds to an error from Python 3.14 on; they are left out."""

FIRST_ON_CUDA = [
    "x = torch.ones(2, 2, requires_grad=True)",
    "torch.addmm(x[0], x, x).mm(x).sum().backward()",
]
"""Initialises cuBLAS in both threads that call it: that warns, and allocates memory."""


def send(channel: Connection, message: object) -> None:
    """Write one message.

    Raises:
        OSError: the other side is gone.
    """
    channel.send_bytes(json.dumps(message).encode())


def receive(channel: Connection) -> Any:
    """Wait for one message and return it; None if the other side is gone or sends no JSON."""
    try:
        return json.loads(channel.recv_bytes(LONGEST))
    except (EOFError, OSError, ValueError):
        return None


def serve(channel: Connection, lane: Lane, scratch: Path) -> None:
    """Run the claims that come over the channel, until it is closed or the state is dirty.

    Args:
        scratch: the parent of the folders in which claims run.
    """
    if reason := environment.unavailable(lane):
        send(channel, {"unavailable": reason})
        return
    if lane is Lane.CPU:  # CUDA maps far more than it uses
        _limit(resource.RLIMIT_DATA, MEMORY_LIMIT)
        # A machine with a GPU must print what one without does.
        os.environ[VISIBLE] = ""
    _limit(resource.RLIMIT_FSIZE, FILE_LIMIT)
    # The runner removes what is left there, as by multiprocessing in a killed process.
    os.environ["TMPDIR"] = tempfile.tempdir = str(scratch)
    sandbox = _Sandbox(lane, scratch)
    send(channel, {"environment": asdict(environment.describe(lane))})
    clean = True
    while clean and (job := receive(channel)) is not None:
        started = time.perf_counter()
        for output in sandbox.perform(job["sources"]):
            send(channel, {"output": output})
        seconds = time.perf_counter() - started
        measured = _measured()
        clean = sandbox.reset()
        send(channel, {"seconds": seconds, "measurements": measured, "dirty": not clean})


def _limit(kind: int, wanted: int) -> None:
    """Lower a resource limit; keep it if it is lower already."""
    _, highest = resource.getrlimit(kind)
    limit = wanted if highest == resource.RLIM_INFINITY else min(wanted, highest)
    resource.setrlimit(kind, (limit, limit))


class _Sandbox:
    """Runs claims one after another, each in the same initial state."""

    def __init__(self, lane: Lane, scratch: Path) -> None:
        import torch

        self.lane = lane
        self.folder = Path(tempfile.mkdtemp(dir=scratch))
        self.printed = tempfile.TemporaryFile(buffering=0, dir=scratch)  # noqa: SIM115
        sys.displayhook = _display
        torch.set_num_threads(1)
        if torch.backends.quantized.engine == "x86" and platform.machine() == "aarch64":
            torch.backends.quantized.engine = "qnnpack"  # torch's choice there does not run
        # In a forked process torch recreates its thread pool at the first call; two threads that
        # call at once, such as autograd's and gloo's, may crash it.
        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(torch.get_num_threads()))
        torch.multiprocessing.set_start_method("fork", force=True)  # spawn cannot import examples
        # Otherwise a warn-once warning of torch would show in one claim per process only.
        torch.set_warn_always(True)
        self._prepare()
        if lane is Lane.CUDA:
            for printed in self.perform(FIRST_ON_CUDA):
                if "Traceback (most recent call last):\n" in printed:
                    raise RuntimeError(printed)  # all claims would fail of it
            self._prepare()
        note_what_lasts()
        self.state = Snapshot()

    def reset(self) -> bool:
        """Prepare for another claim; return False if this one left anything behind."""
        if _has_company():  # first: gc could deadlock on a loader whose workers still run
            return False
        gc.collect()  # now, so that no finaliser prints during a later claim
        if clean := self.state.still_holds():
            self._prepare()
        return clean

    def _prepare(self) -> None:
        import torch

        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder = Path(tempfile.mkdtemp(dir=self.folder.parent))
        os.chdir(self.folder)
        self._redirect()
        linecache.clearcache()
        # Not torch.manual_seed, which also records a stack trace for each absent device.
        torch.default_generator.manual_seed(0)
        random.seed(0)
        if numpy := sys.modules.get("numpy"):
            numpy.random.seed(0)
        torch.set_default_device(None if self.lane is Lane.CPU else "cuda")
        if self.lane is Lane.CUDA:
            torch.cuda.manual_seed_all(0)
            torch.cuda.reset_peak_memory_stats()

    def _redirect(self) -> None:
        # A new file: whatever an earlier claim left running writes to the old one.
        with tempfile.TemporaryFile(dir=self.folder.parent) as fresh:
            # As on a terminal, nothing is written over what was printed before.
            fcntl.fcntl(fresh, fcntl.F_SETFL, os.O_APPEND)
            os.dup2(fresh.fileno(), self.printed.fileno(), inheritable=False)
        self.printed.write(INTACT)
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(self.printed.fileno(), number)
            raw = io.FileIO(number, "w", closefd=False)
            stream = io.TextIOWrapper(
                raw, encoding="utf-8", errors="backslashreplace", write_through=True
            )
            setattr(sys, name, stream)

    def perform(self, sources: list[str]) -> Iterator[str]:
        """Run the examples of a claim in a fresh `__main__`; yield the output of each."""
        import torch

        worker, module = os.getpid(), types.ModuleType("__main__")
        vars(module).update(torch=torch, nn=torch.nn, F=torch.nn.functional)
        vars(module)["device"] = torch.device(str(self.lane))
        sys.modules["__main__"] = module  # so that examples' classes can be pickled
        # Leaving it also resets which warnings have been shown.
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            for message in OF_HERE:
                warnings.filterwarnings("ignore", message)
            for number, source in enumerate(sources):
                self._run(source, f"<example {number + 1}>", module)
                if os.getpid() != worker:  # an example forked, and this is the child
                    os._exit(0)
                yield self._take_printed()
        module.__dict__.clear()

    def _run(self, source: str, filename: str, module: types.ModuleType) -> None:
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        flags = _future_flags(module.__dict__)
        try:
            exec(compile(source, filename, "single", flags, dont_inherit=True), module.__dict__)
        except BaseException as error:
            _drop_notes(error)
            lines = traceback.format_exception_only(error)
            text = "Traceback (most recent call last):\n" + "".join(lines)
            # Not through sys.stdout, which the example may have closed or replaced. After a flood
            # of output the file takes no more.
            with contextlib.suppress(OSError):
                self.printed.write(text.encode("utf-8", "backslashreplace"))

    def _take_printed(self) -> str:
        LIBC.fflush(None)  # output of C code belongs to this example
        length = os.fstat(self.printed.fileno()).st_size - len(INTACT)
        # A character has at most four bytes; one byte more shows that there is more.
        found = os.pread(self.printed.fileno(), 4 * OUTPUT_LIMIT + 2, 0)
        text, lost = found.removeprefix(INTACT).decode("utf-8", "replace"), ""
        try:  # where this has no room, what the example printed may have had none
            self.printed.write(b"\n")
        except OSError as error:
            lost = f"[cut here: {error.strerror}]"
        if found.startswith(INTACT):
            self.printed.truncate(len(INTACT))
        else:
            self.printed.truncate(0)
            self.printed.write(INTACT)
            text = f"{EMPTIED}\n{text}"
        if len(text) > OUTPUT_LIMIT:
            return f"{text[:OUTPUT_LIMIT]}\n[cut here: {length:,} bytes were printed]"
        return (text + lost).rstrip("\n")


def _drop_notes(error: BaseException) -> None:
    """Remove the notes that only some releases of Python add."""
    if isinstance(notes := getattr(error, "__notes__", None), list):
        notes[:] = [note for note in notes if not str(note).startswith(OF_PICKLE)]


def _measured() -> list[Any]:
    """Return what the claim measured, and clear it."""
    if not (measure := sys.modules.get("claimbook.teach.measure")):
        return []
    found = [[m.name, m.value, m.unit] for m in measure.measurements]
    measure.measurements.clear()
    return found


def _future_flags(names: dict[str, Any]) -> int:
    """Return the compiler flags of the `__future__` imports of earlier examples."""
    known = {name: getattr(__future__, name) for name in __future__.all_feature_names}
    return sum(known[name].compiler_flag for name in known if names.get(name) is known[name])


def _has_company() -> bool:
    """Return whether a thread or process started by an example is left."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
        return True
    bare = _thread._count() > 0  # noqa: SLF001  # threads without an object
    return threading.active_count() > 1 or bare


def _display(value: object) -> None:
    # Unlike sys.displayhook, does not keep the value alive in `_`. Like it, calls neither `print`
    # nor `repr`, which an example may have replaced.
    if value is not None:
        sys.stdout.write(f"{value!r}\n")


def _show_warning(message: Warning | str, category: type, *_: object, **__: object) -> None:
    sys.stderr.write(f"{category.__name__}: {message}\n")
