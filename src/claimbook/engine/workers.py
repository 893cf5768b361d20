"""The processes of a runner: a fork server that imports torch, and the workers that it forks."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from typing import Any

from claimbook.engine.channel import receive, send
from claimbook.engine.fork_server import connect
from claimbook.model import Claim, Environment, Lane

SLOW_IMPORTS = {
    "torch._dynamo": r"\b(optim|compile|export|jit|checkpoint|func|vmap|Flop\w+|parallel)\b",
    "torch._dynamo.testing": r"\bCompileCounter\b",
    "torch.utils.benchmark": r"\butils\.benchmark\b",
    "numpy": r"\bnumpy\b",
    "matplotlib.backends.backend_svg": r"\bteach import [^\n]*\blines\b",
    "claimbook.sweeps.strategies": r"\bclaimbook\.sweeps\b",
}
"""Modules that take long to import, as one that torch imports at the first use of something → code
that is likely to need them. They are imported once for all workers, and on no claim's time."""

HELLO = 120.0
"""Seconds within which a worker says where it runs; a GPU that hangs may keep it for ever."""


class RunnerError(RuntimeError):
    """Claims cannot be run: torch was not imported, no worker came up, or the lane is not here."""


@dataclass
class Worker:
    """A process that runs claims one after another."""

    pid: int
    channel: Connection
    claims: deque[Claim] = field(default_factory=deque)
    """Handed over, in order; the first one is running."""
    outputs: list[str] = field(default_factory=list)
    """What the running claim printed so far, example by example."""
    deadline: float = float("inf")


class Workers:
    """A fork server and the workers that it forks; making it does not wait for torch."""

    def __init__(self) -> None:
        self.environments: dict[Lane, Environment] = {}
        """Where claims of each lane run, as far as a worker has said so."""
        self.refusal = ""
        """Why the last worker could not run claims of its lane."""
        self._scratch = tempfile.TemporaryDirectory(prefix="claims-", ignore_cleanup_errors=True)
        self._channel, self._server = connect(self._scratch.name)

    def close(self) -> None:
        """End the fork server, and with it whatever is left."""
        patience = 5 if self.environments else 0  # while it imports torch there is nothing to end
        with suppress(OSError):
            send(self._channel, "end")
        if self._server is None:
            self._channel.poll(patience)  # it closes its side when it is done
        self._channel.close()
        if self._server:
            try:
                self._server.wait(patience)
            except subprocess.TimeoutExpired:
                os.killpg(self._server.pid, signal.SIGKILL)
                self._server.wait()
        self._scratch.cleanup()

    def prepare(self, code: str) -> None:
        """Import what code is likely to need, for all workers that come."""
        for module in (name for name, sign in SLOW_IMPORTS.items() if re.search(sign, code)):
            self._ask(f"import {module}")

    def fork(self, lane: Lane) -> Worker | None:
        """Return a worker that is ready; None if the lane is not here, and `refusal` says why.

        Raises:
            RunnerError: it did not come up, or the fork server is gone.
        """
        ours, theirs = Pipe()
        with theirs:
            pid = self._ask(f"fork {lane}", theirs.fileno())["pid"]
        worker = Worker(pid, ours)
        late = not ours.poll(HELLO)
        hello = None if late else receive(ours)
        if hello and "environment" in hello:
            self.environments[lane] = Environment(**hello["environment"])
            return worker
        status = self.end(worker)
        if hello is None:
            died = f"{cause(status)}; what it said stands above"
            said = f"it said nothing for {HELLO:g} seconds" if late else died
            raise RunnerError(f"no worker came up on {lane}: {said}")
        self.refusal = hello["unavailable"]
        return None

    def end(self, worker: Worker) -> int:
        """End a worker; return its status as `os.waitpid` does."""
        self.kill(worker)
        return int(self._ask(f"wait {worker.pid}")["status"])

    def kill(self, worker: Worker) -> None:
        """End a worker and its group, without a word of how it ended."""
        for end in (os.killpg, os.kill):  # it may have left its group
            with suppress(ProcessLookupError, PermissionError):
                end(worker.pid, signal.SIGKILL)
        worker.channel.close()  # last: where it is closed, a worker ends by itself

    def _ask(self, request: str, *descriptors: int) -> Any:
        """Return the answer to `fork LANE`, `import MODULE` or `wait PID`."""
        with suppress(OSError):
            send(self._channel, request)
            for descriptor in descriptors:
                send_handle(self._channel, descriptor, None)
        answer = receive(self._channel)
        if answer is not None:
            return answer
        if self.environments:
            advice = "did an example end its parent? Run the rest again, with -j 1 to see which"
            raise RunnerError(f"the process that starts workers was ended; {advice}")
        raise RunnerError(
            f"{sys.executable} could not import torch; what it said stands above. "
            "Install the project with its dependencies, or run this through nox."
        )


def cause(status: int) -> str:
    """Return what ended a process, by its status."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)  # most of the real-time signals have no name
        names = {int(sign): sign.name for sign in signal.Signals}
        return f"the process died of {names.get(number, f'signal {number}')}"
    return f"the process exited with status {os.WEXITSTATUS(status)}"
