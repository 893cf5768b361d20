"""A worker: it takes claims over its channel, a message each, and answers with one per example.

It runs no claim before its global state is as at the start.
"""

import __future__

import contextlib
import ctypes
import gc
import io
import linecache
import os
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
from claimbook.engine.channel import receive, send
from claimbook.engine.isolation import Snapshot
from claimbook.model import Lane

MEMORY_LIMIT = 8 << 30
"""Bytes of its own that a worker may hold; beyond that its allocations fail."""

FILE_LIMIT = 1 << 30
"""Bytes of a file that an example may write, what it prints included."""

LIBC = ctypes.CDLL(None)

VISIBLE = "CUDA_VISIBLE_DEVICES"

OUTPUT_LIMIT = 100_000
"""Characters of one example's output that are kept."""

OF_HERE = [
    r"This DataLoader will create \d+ worker processes .* current system is 1,",
    r"Guards may run slower on Python 3\.13\.0",
]
"""Beginnings of what torch warns of on a machine with one core, and on one release of Python; pages
show what it does everywhere else."""

FIRST_ON_CUDA = [
    "x = torch.ones(2, 2, requires_grad=True)",
    "torch.addmm(x[0], x, x).mm(x).sum().backward()",
]
"""Makes cuBLAS start, in both threads that call it: it warns then, and keeps memory of its own."""


def serve(channel: Connection, lane: Lane, scratch: Path) -> None:
    """Run the claims that come over the channel, until it is closed or the process is spent.

    Args:
        scratch: a folder for what claims write.
    """
    if reason := environment.unavailable(lane):
        send(channel, {"unavailable": reason})
        return
    if lane is Lane.CPU:  # CUDA maps far more than it uses
        _limit(resource.RLIMIT_DATA, MEMORY_LIMIT)
        # So that a machine with a GPU says what one without does.
        os.environ[VISIBLE] = ""
    _limit(resource.RLIMIT_FSIZE, FILE_LIMIT)
    # What is left there, as multiprocessing does in a process that is killed, goes with the runner.
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
    """Lower a limit of the system; one that is lower already stays."""
    _, highest = resource.getrlimit(kind)
    limit = wanted if highest == resource.RLIM_INFINITY else min(wanted, highest)
    resource.setrlimit(kind, (limit, limit))


class _Sandbox:
    """Where claims run one after another, each finding it as the first one did."""

    def __init__(self, lane: Lane, scratch: Path) -> None:
        import torch

        self.lane = lane
        self.folder = Path(tempfile.mkdtemp(dir=scratch))
        self.printed = tempfile.TemporaryFile(buffering=0, dir=scratch)  # noqa: SIM115
        sys.displayhook = _display
        torch.set_num_threads(1)
        # torch makes its thread pool anew in a process that an example forks, at the first call;
        # two threads that call at once, as autograd's and gloo's, may end that process.
        os.register_at_fork(after_in_child=lambda: torch.set_num_threads(torch.get_num_threads()))
        torch.multiprocessing.set_start_method("fork", force=True)  # no worker can import examples
        # Otherwise a warning that torch gives once would show in one claim of a process only.
        torch.set_warn_always(True)
        self._prepare()
        if lane is Lane.CUDA:
            [*self.perform(FIRST_ON_CUDA)]
            self._prepare()
        self.state = Snapshot()

    def reset(self) -> bool:
        """Prepare for another claim; return False if this one left something: then it is spent."""
        if _has_company():  # a loader that raised would wait for its workers, and they for it
            return False
        gc.collect()  # now, so that nothing is deleted, and prints, while a later claim runs
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
        # torch.manual_seed would also note a stack trace for each kind of device it has not got.
        torch.default_generator.manual_seed(0)
        random.seed(0)
        if numpy := sys.modules.get("numpy"):
            numpy.random.seed(0)
        torch.set_default_device(None if self.lane is Lane.CPU else "cuda")
        if self.lane is Lane.CUDA:
            torch.cuda.manual_seed_all(0)
            torch.cuda.reset_peak_memory_stats()

    def _redirect(self) -> None:
        # What an earlier claim left running goes on to write into the file of that claim.
        with tempfile.TemporaryFile(dir=self.folder.parent) as fresh:
            os.dup2(fresh.fileno(), self.printed.fileno(), inheritable=False)
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(self.printed.fileno(), number)
            raw = io.FileIO(number, "w", closefd=False)
            stream = io.TextIOWrapper(
                raw, encoding="utf-8", errors="backslashreplace", write_through=True
            )
            setattr(sys, name, stream)

    def perform(self, sources: list[str]) -> Iterator[str]:
        """Run the examples of one claim in a fresh `__main__`; yield what each printed."""
        module, worker = self._module(), os.getpid()
        # Leaving it also makes Python forget which warnings it has shown already.
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            for message in OF_HERE:
                warnings.filterwarnings("ignore", message)
            for number, source in enumerate(sources):
                self._run(source, f"<example {number + 1}>", module)
                if os.getpid() != worker:  # a child that an example made comes to its end here
                    os._exit(0)
                yield self._take_printed()
        module.__dict__.clear()

    def _module(self) -> types.ModuleType:
        import torch

        module = types.ModuleType("__main__")
        names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional}
        module.__dict__.update(names, device=torch.device(str(self.lane)))
        sys.modules["__main__"] = module  # so that what an example defines can be pickled
        return module

    def _run(self, source: str, filename: str, module: types.ModuleType) -> None:
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        flags = _future_flags(module.__dict__)
        try:
            exec(compile(source, filename, "single", flags, dont_inherit=True), module.__dict__)
        except BaseException as error:
            lines = traceback.format_exception_only(error)
            text = "Traceback (most recent call last):\n" + "".join(lines)
            # Not through sys.stdout, which may be closed, or be the example's own.
            self.printed.write(text.encode("utf-8", "backslashreplace"))

    def _take_printed(self) -> str:
        LIBC.fflush(None)  # what C code printed is of this example, not of a later one
        length = os.fstat(self.printed.fileno()).st_size
        # A character has four bytes at most, so that this is over the limit if there is more.
        text = os.pread(self.printed.fileno(), 4 * OUTPUT_LIMIT + 1, 0).decode("utf-8", "replace")
        self.printed.seek(0)
        self.printed.truncate()
        if len(text) > OUTPUT_LIMIT:
            text = f"{text[:OUTPUT_LIMIT]}\n[cut here: {length:,} bytes were printed]"
        return text.rstrip("\n")


def _measured() -> list[Any]:
    """Return what the claim measured; what the next one measures is its own."""
    if not (measure := sys.modules.get("claimbook.teach.measure")):
        return []
    found = [[m.name, m.value, m.unit] for m in measure.measurements]
    measure.measurements.clear()
    return found


def _future_flags(names: dict[str, Any]) -> int:
    """Return the compiler's flags for what earlier examples imported from `__future__`."""
    known = {name: getattr(__future__, name) for name in __future__.all_feature_names}
    return sum(known[name].compiler_flag for name in known if names.get(name) is known[name])


def _has_company() -> bool:
    """Return whether a thread or a process is left that an example started."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
        return True
    return threading.active_count() > 1


def _display(value: object) -> None:
    # Unlike Python's own, it does not keep the value alive in `_`.
    if value is not None:
        print(repr(value))


def _show_warning(message: Warning | str, category: type, *_: object, **__: object) -> None:
    sys.stderr.write(f"{category.__name__}: {message}\n")
