"""The processes of a runner: a fork server, and the workers that it forks."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from typing import Any

from claimbook.engine.fork_server import connect
from claimbook.engine.worker import receive, send
from claimbook.model import Claim, Environment, Lane

SLOW_IMPORTS = {
    "torch._dynamo": r"\b(optim|compile|export|jit|checkpoint|func|vmap|Flop\w+|parallel)\b",
    "torch._dynamo.testing": r"\bCompileCounter\b",
    "torch.utils.benchmark": r"\butils\.benchmark\b",
    "numpy": r"\bnumpy\b",
    "matplotlib.backends.backend_svg": r"\bteach import [^\n]*\blines\b",
    "claimbook.sweeps.strategies": r"\bclaimbook\.sweeps\b",
}
"""Module that is slow to import → pattern of code that is likely to need it. The fork server
imports it once for all workers, so that no claim pays for it."""

HELLO = 120.0
"""Seconds within which a worker must report its environment; a hung GPU may block it for ever."""


class RunnerError(RuntimeError):
    """Claims cannot run: torch does not import, no worker starts, or the lane is unavailable."""


@dataclass
class Worker:
    """A process that runs one claim after another."""

    pid: int
    channel: Connection
    claim: Claim | None = None
    """The claim that it runs."""
    outputs: list[str] = field(default_factory=list)
    """The outputs of this claim so far, one per example."""
    deadline: float = inf
    """When the claim's time is up, by `time.monotonic`."""


class Workers:
    """A fork server and its workers; creating it does not wait for torch."""

    def __init__(self) -> None:
        self.environments: dict[Lane, Environment] = {}
        """The environment of each lane, once a worker has reported it."""
        self.refusal = ""
        """Why the last worker could not run its lane."""
        self.alive: list[Worker] = []
        self._scratch = tempfile.TemporaryDirectory(prefix="claims-", ignore_cleanup_errors=True)
        self._channel, self._server = connect(self._scratch.name)

    def close(self) -> None:
        """Kill all workers, then end the fork server and all its children."""
        for worker in self.alive:
            self._kill(worker)
        self.alive.clear()
        patience = 5 if self.environments else 0  # 0: no worker has started
        with suppress(OSError):
            send(self._channel, ["end"])
        if self._server is None:
            self._channel.poll(patience)  # its end closes when it is done
        self._channel.close()
        if self._server:
            try:
                self._server.wait(patience)
            except subprocess.TimeoutExpired:
                os.killpg(self._server.pid, signal.SIGKILL)
                self._server.wait()
        self._scratch.cleanup()

    def prepare(self, code: str) -> None:
        """Import the slow modules that code is likely to need, for all later workers."""
        for module, pattern in SLOW_IMPORTS.items():
            if re.search(pattern, code):
                self._ask("import", module)

    def fork(self, lane: Lane) -> None:
        """Start a worker, unless the lane cannot run here (see `refusal`).

        Raises:
            RunnerError: it did not start, or the fork server is gone.
        """
        ours, theirs = Pipe()
        with theirs:
            worker = Worker(self._ask("fork", lane, theirs.fileno())["pid"], ours)
        self.alive.append(worker)
        late = not ours.poll(HELLO)
        hello = None if late else receive(ours)
        if hello and "environment" in hello:
            self.environments[lane] = Environment(**hello["environment"])
            return
        status = self.end(worker)
        if hello is None:
            died = f"{cause(status)}; see its output above"
            said = f"no answer for {HELLO:g} seconds" if late else died
            raise RunnerError(f"no worker started on {lane}: {said}")
        self.refusal = hello["unavailable"]

    def end(self, worker: Worker) -> int:
        """End a worker; return its status as `os.waitpid` does."""
        self.alive.remove(worker)
        self._kill(worker)
        return int(self._ask("wait", worker.pid)["status"])

    def _kill(self, worker: Worker) -> None:
        """Kill a worker and its process group; do not wait for it."""
        for kill in (os.killpg, os.kill):  # it may have left its group
            with suppress(ProcessLookupError, PermissionError):
                kill(worker.pid, signal.SIGKILL)
        worker.channel.close()  # last: a worker exits by itself when it is closed

    def _ask(self, command: str, about: str | int, *descriptors: int) -> Any:
        """Return the answer to `fork` of a lane, `import` of a module or `wait` for a pid."""
        with suppress(OSError):
            send(self._channel, [command, about])
            for descriptor in descriptors:
                send_handle(self._channel, descriptor, None)
        answer = receive(self._channel)
        if answer is not None:
            return answer
        if self.environments:
            advice = "did an example kill its parent? Run the rest again, with -j 1 to see which"
            raise RunnerError(f"the fork server was killed; {advice}")
        raise RunnerError(
            f"{sys.executable} could not import torch; see its output above. "
            "Install the project with its dependencies, or run this through nox."
        )


def cause(status: int) -> str:
    """Describe how a process ended, from its wait status."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)  # most real-time signals have no name
        names = {int(sign): sign.name for sign in signal.Signals}
        return f"the process died of {names.get(number, f'signal {number}')}"
    return f"the process exited with status {os.WEXITSTATUS(status)}"
