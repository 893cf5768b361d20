"""The processes of a runner: a fork server that imports torch, and the workers that it forks."""

import os
import re
import signal
import socket
import sys
import tempfile
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from claimbook.engine.channel import Channel
from claimbook.engine.fork_server import ForkServer
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
    channel: Channel
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
        self._server = ForkServer(self._scratch.name)

    def close(self) -> None:
        """End the fork server, and with it whatever is left."""
        # While it imports torch there is nothing yet to be ended.
        self._server.end(patience=5 if self.environments else 0)
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
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                pid = self._ask(f"fork {lane}", [theirs.fileno()])["pid"]
        except RunnerError:
            ours.close()
            raise
        ours.settimeout(HELLO)
        channel = Channel(ours)
        hello = channel.receive()
        ours.settimeout(None)
        if hello and "environment" in hello:
            self.environments[lane] = Environment(**hello["environment"])
            return Worker(pid, channel)
        ours.close()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)  # it may hang before it has said anything
        status = self._ask(f"wait {pid}")["status"]
        if hello is None:
            said = f"{cause(status)}; what it said stands above"
            raise RunnerError(f"no worker came up on {lane}: {said}")
        self.refusal = hello["unavailable"]
        return None

    def end(self, worker: Worker) -> int:
        """End a worker; return its status as `os.waitpid` does."""
        self.kill(worker)
        return int(self._ask(f"wait {worker.pid}")["status"])

    def kill(self, worker: Worker) -> None:
        """End a worker and its group, without a word of how it ended."""
        worker.channel.socket.close()
        for end in (os.killpg, os.kill):  # it may have left its group
            with suppress(ProcessLookupError, PermissionError):
                end(worker.pid, signal.SIGKILL)

    def _ask(self, request: str, descriptors: Sequence[int] = ()) -> Any:
        answer = self._server.ask(request, descriptors)
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
