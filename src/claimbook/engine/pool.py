"""Run claims on a lane in worker processes, and stream the results.

A worker that dies is replaced within milliseconds; only the claim that it ran is lost.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import wait
from typing import Any, Self

from claimbook.checking.compare import mismatches
from claimbook.engine.channel import receive, send
from claimbook.engine.environment import cores
from claimbook.engine.workers import Worker, Workers, cause
from claimbook.model import Claim, Environment, Factor, Lane, Measurement, Outcome, Run

TIMEOUTS = {Lane.CPU: 30.0, Lane.CUDA: 60.0}
"""Default time limit of a claim, in seconds."""

TRIES = 5
"""Most attempts for a claim that depends on the clock, since other load disturbs it; retries run
alone. Any claim that timed out is retried once: the machine may have been suspended. A claim that
passes on a retry says so."""

AHEAD = 4
"""Most claims that a worker holds at a time, the running one included."""

LONG = 2000
"""Characters of code above which a claim is sent only to an idle worker. Writing it to a busy one
could deadlock: both sides would wait for the other to read."""


class Runner:
    """A pool of workers, used as a context manager: leaving it ends every process.

    Entering returns at once, while torch is still being imported.

    Args:
        jobs: the number of workers; by default one more than cores, since many claims wait for
            a child process, and one on a GPU, where they would wait for each other.
        timeout: seconds for a claim that sets no limit; the default is longer on a GPU, where
            small operations are slower and the first call loads libraries.
        tries: most attempts for a claim that depends on the clock; with 1, a claim that timed
            out is not retried either.

    Raises:
        RunnerError: torch cannot be imported.
    """

    def __init__(
        self,
        jobs: int | None = None,
        timeout: float | None = None,
        tries: int = TRIES,
    ) -> None:
        self.jobs = jobs
        self.tries = tries
        self.timeout = timeout
        self._workers: list[Worker] = []

    def __enter__(self) -> Self:
        self._processes = Workers()
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            self._processes.kill(worker)
        self._workers.clear()
        self._processes.close()

    @property
    def environments(self) -> dict[Lane, Environment]:
        """The environment of each lane on which claims have run."""
        return self._processes.environments

    def run(self, claims: Iterable[Claim], lane: Lane) -> Iterator[Run]:
        """Run each claim; yield the runs as they finish."""
        self._lane, self._queue = lane, deque(claims)
        self._again: list[Claim] = []
        self._number = 1  # of the try
        try:
            yield from self._run_and_try_again()
        except KeyboardInterrupt:
            # The interrupt may have cut an answer in two; its rest would be read as the next one.
            self.__exit__()
            self.__enter__()
            raise

    def _run_and_try_again(self) -> Iterator[Run]:
        try:
            self._processes.prepare("\n".join(claim.code for claim in self._queue))
            yield from self._run()
            while self._again:
                claims, self._again, self._number = self._again, [], self._number + 1
                for claim in claims:
                    self._stop_all()  # fresh workers: cuDNN, for one, caches its measurements
                    self._queue.append(claim)
                    yield from self._run()
        finally:  # also if the caller stops iterating
            self._stop_all()

    def _run(self) -> Iterator[Run]:
        while self._queue or any(worker.claims for worker in self._workers):
            self._spawn()
            if not self._workers:
                yield from map(self._refused, self._queue)
                return
            for worker in self._workers:
                self._hand_over(worker)
            ready = self._ready()
            # Before yielding: the caller may be slow, and workers keep running.
            late = [w for w in self._workers if w.deadline < time.monotonic() and w not in ready]
            for worker in ready:
                yield from self._listen(worker)
            for worker in late:
                limit = f"stopped after {self.limit(worker.claims[0], self._lane):g} seconds"
                yield from self._lose(worker, late=limit)

    def _refused(self, claim: Claim) -> Run:
        """Return the run of a claim for which no worker starts, or starts any more."""
        if self._lane not in self.environments:
            return _skipped(claim, self._lane, self._processes.refusal)
        reason = f"the {self._lane} lane is gone: {self._processes.refusal}"
        return Run(claim.id, self._lane, Outcome.CRASHED, message=reason)

    def _spawn(self) -> None:
        for _ in range(min(self._jobs(), len(self._queue)) - len(self._workers)):
            if worker := self._processes.fork(self._lane):
                self._workers.append(worker)

    def _jobs(self) -> int:
        return self.jobs or (cores() + 1 if self._lane is Lane.CPU else 1)

    def limit(self, claim: Claim, lane: Lane) -> float:
        """Return the time limit of a claim in seconds, a day at most."""
        return min(86_400.0, claim.timeout or self.timeout or TIMEOUTS[lane])

    def _hand_over(self, worker: Worker) -> None:
        # Hand out the last few one by one, so that no worker idles beside a full one.
        many = len(self._queue) > AHEAD * self._jobs()
        ahead = AHEAD if many else 1
        while self._queue and len(worker.claims) < ahead:
            if worker.claims and len(self._queue[0].code) > LONG:
                return
            claim = self._queue.popleft()
            worker.claims.append(claim)
            if len(worker.claims) == 1:
                self._begin(worker)
            sources = [example.source for example in claim.examples(self._lane)]
            with suppress(OSError):  # it died; _listen will see that
                send(worker.channel, {"sources": sources})

    def _begin(self, worker: Worker) -> None:
        """Start the clock of the claim that the worker now runs, if any."""
        worker.outputs = []
        limit = self.limit(worker.claims[0], self._lane) if worker.claims else float("inf")
        worker.deadline = time.monotonic() + limit

    def _ready(self) -> list[Worker]:
        """Wait until a worker has sent something or is late; return those that have sent."""
        deadline = min(worker.deadline for worker in self._workers)
        patience = None if deadline == float("inf") else max(0.0, deadline - time.monotonic())
        ready = wait([worker.channel for worker in self._workers], patience)
        return [worker for worker in self._workers if worker.channel in ready]

    def _listen(self, worker: Worker) -> Iterator[Run]:
        while worker.channel.poll():
            message = receive(worker.channel)
            if message is None:
                yield from self._lose(worker)
                return
            if "output" in message:
                worker.outputs.append(message["output"])
            else:
                claim = worker.claims.popleft()
                yield from self._settled(claim, self._finished(claim, worker, message))
                self._begin(worker)
                if message["dirty"]:
                    self._stop(worker)
                    return

    def _finished(self, claim: Claim, worker: Worker, message: dict[str, Any]) -> Run:
        outputs = tuple(worker.outputs)
        run = Run(
            claim.id,
            self._lane,
            Outcome.PASSED,
            outputs,
            message["seconds"],
            measurements=tuple(Measurement(*fields) for fields in message["measurements"]),
        )
        for mismatch in mismatches(claim, self._lane, outputs):
            return replace(run, outcome=Outcome.FAILED, message=str(mismatch.difference))
        if len(outputs) != (count := len(claim.examples(self._lane))):
            reason = f"{count} examples gave {len(outputs)} outputs"
            return replace(run, outcome=Outcome.CRASHED, message=reason)
        return run

    def _settled(self, claim: Claim, run: Run) -> Iterator[Run]:
        """Yield the final run of a claim, or queue it for a retry and yield nothing."""
        if run.outcome is Outcome.PASSED and self._number > 1:
            run = replace(run, message=f"passed on try {self._number} of {self.tries}")
        if claim.cpu_build and not self.environments[run.lane].torch.endswith("+cpu"):
            run = _skipped(claim, run.lane, f"{claim.id} is about a build of torch without CUDA")
        disturbed = run.outcome is Outcome.FAILED and Factor.CLOCK in claim.machine
        halted = run.outcome is Outcome.TIMED_OUT and self._number == 1
        if (disturbed or halted) and self._number < self.tries:
            self._again.append(claim)
            return
        differs = run.outcome in (Outcome.FAILED, Outcome.TIMED_OUT)
        yield replace(run, outcome=Outcome.VARIED) if differs and claim.machine else run

    def _lose(self, worker: Worker, late: str = "") -> Iterator[Run]:
        """Remove a worker that died or is late; yield the run of its current claim."""
        # None: it died idle, of something an earlier claim left behind.
        claim = worker.claims.popleft() if worker.claims else None
        status = self._stop(worker)
        if claim:
            count = len(claim.examples(self._lane))
            where = f"in example {min(len(worker.outputs) + 1, count)} of {count}"
            outcome = Outcome.TIMED_OUT if late else Outcome.CRASHED
            message = f"{late or cause(status)} {where}"
            run = Run(claim.id, self._lane, outcome, tuple(worker.outputs), message=message)
            yield from self._settled(claim, run)

    def _stop_all(self) -> None:
        for worker in [*self._workers]:
            self._stop(worker)

    def _stop(self, worker: Worker) -> int:
        """End a worker and requeue its claims; return its status as `os.waitpid` does."""
        self._workers.remove(worker)
        self._queue.extendleft(reversed(worker.claims))
        return self._processes.end(worker)


def _skipped(claim: Claim, lane: Lane, reason: str) -> Run:
    return Run(claim.id, lane, Outcome.SKIPPED, message=reason)
