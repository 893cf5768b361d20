"""Runs claims on a lane in worker processes, and streams what came of each.

One process imports torch and forks the workers (`worker`), so that a worker that dies is
replaced in milliseconds and costs nobody but its own claim an outcome.
"""

import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

from claimbook import checker
from claimbook.line import Line
from claimbook.model import Claim, Environment, Lane, Measurement, Outcome, Run

TIMEOUTS = {Lane.CPU: 30.0, Lane.CUDA: 60.0}
"""Seconds that a claim may take if neither it nor who runs it says otherwise."""

SLOW_IMPORTS = {
    "torch._dynamo": r"\b(optim|compile|checkpoint|func|vmap|FlopCounterMode|perturb)\b",
    "numpy": r"\bnumpy\b",
}
"""Modules that take long to import, as one that torch imports at the first use of something → code
that is likely to need them. They are imported once for all workers, and on no claim's time."""

TRIES = 5
"""How often code that reads a clock is run before it has failed, the later times alone: what else
the machine does disturbs it. One that ran out of time is tried once more: the machine itself may
have halted. A claim that holds at a later try says so."""

CLOCK = re.compile(r"\bcompare\(|\btime\.\w|\bperf_counter\b")
"""What code calls that reads a clock, or waits by one."""

SETTINGS = re.compile(
    r"PYTHON(WARN|OPTIMIZE|DEVMODE|MALLOC)|_?(PY)?TORCH|CU(BLAS|DNN)|CUDA_LAUNCH|NVIDIA_TF|\w+VERBOSE"
)
"""Variables with which Python, torch or what it calls prints otherwise; examples have none."""

AHEAD = 4
"""Claims that a worker is handed before it has finished the first of them."""


class RunnerError(RuntimeError):
    """Claims cannot be run: torch was not imported, no worker came up, or the lane is not here."""


@dataclass
class _Worker:
    pid: int
    line: Line
    lane: Lane
    claims: deque[Claim] = field(default_factory=deque)
    """Handed over, in order; the first one is running."""
    outputs: list[str] = field(default_factory=list)
    """What the running claim printed so far, example by example."""
    deadline: float = float("inf")


class Runner:
    """A pool of workers. Use it as a context manager: leaving it ends every process.

    Entering returns at once; torch is imported meanwhile.

    Args:
        jobs: how many workers; if it is not said as many as cores, and one on a GPU, where they
            would wait for each other.
        timeout: seconds for a claim that names none; more on a GPU if it is not said, where small
            operations take longer and a first call loads libraries.
        tries: how often a claim that reads a clock is run before it has failed; with one, a claim
            that ran out of time is not tried again either.

    Raises:
        RunnerError: torch cannot be imported.
    """

    def __init__(
        self, jobs: int | None = None, timeout: float | None = None, tries: int = TRIES
    ) -> None:
        self.jobs = jobs
        self.tries = tries
        self.timeout = timeout
        self.environments: dict[Lane, Environment] = {}
        self._workers: list[_Worker] = []
        self._refusal = ""

    def __enter__(self) -> Self:
        self._scratch = tempfile.TemporaryDirectory(prefix="claims-", ignore_cleanup_errors=True)
        ours, theirs = socket.socketpair()
        with theirs:
            kept = {k: v for k, v in os.environ.items() if not SETTINGS.match(k)}
            ours_to_say = {
                "OMP_NUM_THREADS": "1",
                "MKL_NUM_THREADS": "1",
                "PYTHONHASHSEED": "0",
                "PYTHONUTF8": "1",
                "TORCH_CPP_LOG_LEVEL": "ERROR",  # torch's own log, not its warnings
            }
            nursery = [sys.executable, "-m", "claimbook.worker"]
            self._nursery = subprocess.Popen(
                [*nursery, str(theirs.fileno()), self._scratch.name],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**kept, **ours_to_say},
                start_new_session=True,
            )
        self._control = Line(ours)
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            self._kill(worker)
        self._workers.clear()
        self._control.socket.close()
        try:
            # It ends whatever examples left behind; while it imports torch there is nothing yet.
            self._nursery.wait(timeout=5 if self.environments else 0)
        except subprocess.TimeoutExpired:
            os.killpg(self._nursery.pid, signal.SIGKILL)
            self._nursery.wait()
        self._scratch.cleanup()

    def run(self, claims: Iterable[Claim], lane: Lane) -> Iterator[Run]:
        """Runs each claim; yields in the order in which they finish."""
        queue = deque(claims)
        self._again: list[Claim] = []
        self._number = 1  # of the try
        self._preload(queue)
        with selectors.DefaultSelector() as selector:
            try:
                yield from self._run(queue, lane, selector)
                while self._again:
                    claims, self._again, self._number = self._again, [], self._number + 1
                    for claim in claims:
                        self._dismiss_all(selector)  # cuDNN, for one, remembers what it measured
                        yield from self._run(deque([claim]), lane, selector)
            finally:  # also when the caller wants no more
                self._dismiss_all(selector)

    def _preload(self, claims: Iterable[Claim]) -> None:
        code = "\n".join(claim.code for claim in claims)
        for module, sign in SLOW_IMPORTS.items():
            if re.search(sign, code):
                self._ask(f"import {module}")

    def _run(self, queue: deque[Claim], lane: Lane, selector: Any) -> Iterator[Run]:
        while queue or any(worker.claims for worker in self._workers):
            self._hire(queue, lane, selector)
            if lane not in self.environments:
                yield from (_skipped(claim, lane, self._refusal) for claim in queue)
                return
            for worker in [*self._workers]:
                self._hand_over(worker, queue)
            ready = [key.data for key, _ in selector.select(self._patience())]
            # Told now: a caller may take its time over a run, and workers go on meanwhile.
            late = [w for w in self._workers if w.deadline < time.monotonic() and w not in ready]
            for worker in ready:
                yield from self._listen(worker, queue, selector)
            for worker in late:
                limit = f"it was ended after {self.limit(worker.claims[0], lane):g} seconds"
                yield from self._lose(worker, queue, selector, late=limit)

    def _hire(self, queue: deque[Claim], lane: Lane, selector: Any) -> None:
        missing = min(self._jobs(lane), len(queue)) - len(self._workers)
        for _ in range(missing):
            if worker := self._fork(lane):
                self._workers.append(worker)
                selector.register(worker.line, selectors.EVENT_READ, worker)

    def _jobs(self, lane: Lane) -> int:
        return self.jobs or (_cores() if lane is Lane.CPU else 1)

    def limit(self, claim: Claim, lane: Lane) -> float:
        """Seconds after which a claim is ended."""
        return claim.timeout or self.timeout or TIMEOUTS[lane]

    def _fork(self, lane: Lane) -> _Worker | None:
        ours, theirs = socket.socketpair()
        with theirs, ExitStack() as unless_it_came_up:
            unless_it_came_up.callback(ours.close)
            answer = self._ask(f"fork {lane}", [theirs.fileno()])
            unless_it_came_up.pop_all()
        line = Line(ours)
        hello = line.receive()
        if hello is None or "unavailable" in hello:
            ours.close()
            status = self._ask(f"wait {answer['pid']}")["status"]
            if hello is None:
                raise RunnerError(f"no worker came up on {lane}: {_cause(status)}")
            self._refusal = hello["unavailable"]
            return None
        self.environments[lane] = Environment(**hello["environment"])
        return _Worker(answer["pid"], line, lane)

    def _ask(self, request: str, descriptors: Sequence[int] = ()) -> Any:
        try:
            socket.send_fds(self._control.socket, [request.encode()], descriptors)
            answer = self._control.receive()
        except OSError:
            answer = None
        if answer is None and self.environments:
            raise RunnerError("the process that starts workers was ended: run the rest again")
        if answer is None:
            raise RunnerError(
                f"{sys.executable} could not import torch; what it said stands above. "
                "Install the project with its dependencies, or run this through nox."
            )
        return answer

    def _hand_over(self, worker: _Worker, queue: deque[Claim]) -> None:
        # The last few are dealt out one by one, so that no worker idles beside a full one.
        ahead = AHEAD if len(queue) > AHEAD * self._jobs(worker.lane) else 1
        while queue and len(worker.claims) < ahead:
            claim = queue.popleft()
            if not worker.claims:
                self._begin(worker, claim)
            worker.claims.append(claim)
            sources = [example.source for example in claim.examples(worker.lane)]
            with suppress(OSError):  # it died; _listen will see that
                worker.line.send({"sources": sources})

    def _begin(self, worker: _Worker, claim: Claim | None) -> None:
        worker.outputs = []
        limit = self.limit(claim, worker.lane) if claim else float("inf")
        worker.deadline = time.monotonic() + limit

    def _patience(self) -> float | None:
        deadline = min((w.deadline for w in self._workers), default=float("inf"))
        return None if deadline == float("inf") else max(0.0, deadline - time.monotonic())

    def _listen(self, worker: _Worker, queue: deque[Claim], selector: Any) -> Iterator[Run]:
        for message in worker.line.receive_ready():
            if message is None:
                yield from self._lose(worker, queue, selector)
            elif "output" in message:
                worker.outputs.append(message["output"])
            else:
                claim = worker.claims.popleft()
                yield from self._settled(claim, _finished(claim, worker, message))
                self._begin(worker, worker.claims[0] if worker.claims else None)
                if message["spent"]:
                    self._dismiss(worker, selector)
                    queue.extendleft(reversed(worker.claims))
                    return

    def _settled(self, claim: Claim, run: Run) -> Iterator[Run]:
        """The run, with the try at which it held if that is not the first; or none yet."""
        if run.outcome is Outcome.PASSED and self._number > 1:
            run = replace(run, message=f"held at try {self._number} of {self.tries}")
        if claim.cpu_build and not self.environments[run.lane].torch.endswith("+cpu"):
            run = _skipped(claim, run.lane, f"{claim.id} is of a build of torch without CUDA")
        disturbed = run.outcome is Outcome.FAILED and CLOCK.search(claim.code)
        halted = run.outcome is Outcome.TIMED_OUT and self._number == 1
        if (disturbed or halted) and self._number < self.tries:
            self._again.append(claim)
        else:
            yield run

    def _lose(
        self, worker: _Worker, queue: deque[Claim], selector: Any, late: str = ""
    ) -> Iterator[Run]:
        """Takes a worker away that died or is late, and the claim that it was running with it."""
        status = self._dismiss(worker, selector)
        if worker.claims:  # else it died idle, of what an earlier claim had left to happen
            claim = worker.claims.popleft()
            queue.extendleft(reversed(worker.claims))
            outcome = Outcome.TIMED_OUT if late else Outcome.CRASHED
            run = _cut_short(claim, worker, outcome, late or _cause(status))
            yield from self._settled(claim, run)

    def _dismiss_all(self, selector: Any) -> None:
        for worker in [*self._workers]:
            self._dismiss(worker, selector)

    def _dismiss(self, worker: _Worker, selector: Any) -> int:
        selector.unregister(worker.line)
        self._workers.remove(worker)
        self._kill(worker)
        return int(self._ask(f"wait {worker.pid}")["status"])

    def _kill(self, worker: _Worker) -> None:
        worker.line.socket.close()
        for end in (os.killpg, os.kill):  # it may have left its group
            with suppress(ProcessLookupError, PermissionError):
                end(worker.pid, signal.SIGKILL)


EARLY: list[Runner] = []
"""Whoever makes a build may put a runner here beforehand, and closes it; the build uses it."""


def _finished(claim: Claim, worker: _Worker, message: dict[str, Any]) -> Run:
    outputs = tuple(worker.outputs)
    run = Run(
        claim.id,
        worker.lane,
        Outcome.PASSED,
        outputs,
        message["seconds"],
        measurements=tuple(Measurement(*fields) for fields in message["measurements"]),
        device_bytes=message.get("device_bytes"),
    )
    for mismatch in checker.mismatches(claim, worker.lane, outputs):
        return replace(run, outcome=Outcome.FAILED, message=str(mismatch.difference))
    return run


def _cut_short(claim: Claim, worker: _Worker, outcome: Outcome, cause: str) -> Run:
    count = len(claim.examples(worker.lane))
    message = f"{cause} in example {min(len(worker.outputs) + 1, count)} of {count}"
    return Run(claim.id, worker.lane, outcome, tuple(worker.outputs), message=message)


def _skipped(claim: Claim, lane: Lane, reason: str) -> Run:
    return Run(claim.id, lane, Outcome.SKIPPED, message=reason)


def _cause(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)  # most of the real-time signals have no name
        names = {int(sign): sign.name for sign in signal.Signals}
        return f"the process died of {names.get(number, f'signal {number}')}"
    return f"the process exited with status {os.WEXITSTATUS(status)}"


def _cores() -> int:
    known = hasattr(os, "sched_getaffinity")  # not on macOS
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
