"""Runs claims on a lane in worker processes, and streams what came of each.

A worker that dies is replaced in milliseconds, and costs nobody but its own claim an outcome.
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
"""Seconds that a claim may take if neither it nor who runs it says otherwise."""

TRIES = 5
"""How often a claim that depends on the clock is run before it has failed, the later times alone:
what else the machine does disturbs it. One that ran out of time is tried once more: the machine
itself may have halted. A claim that holds at a later try says so."""

AHEAD = 4
"""Claims that a worker is handed before it has finished the first of them."""

LONG = 2000
"""Characters of code with which a claim waits for a worker that is idle. A busy one would not read
it, and could not go on for what it prints itself, which nobody would read either."""


class Runner:
    """A pool of workers. Use it as a context manager: leaving it ends every process.

    Entering returns at once; torch is imported meanwhile.

    Args:
        jobs: how many workers; if it is not said one more than cores, since many claims wait for
            a process of theirs, and one on a GPU, where they would wait for each other.
        timeout: seconds for a claim that names none; more on a GPU if it is not said, where small
            operations take longer and a first call loads libraries.
        tries: how often a claim that depends on the clock is run before it has failed; with one,
            a claim that ran out of time is not tried again either.

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
        """Where claims of each lane have run."""
        return self._processes.environments

    def run(self, claims: Iterable[Claim], lane: Lane) -> Iterator[Run]:
        """Run each claim; yield the runs in the order in which they finish."""
        self._lane, self._queue = lane, deque(claims)
        self._again: list[Claim] = []
        self._number = 1  # of the try
        try:
            yield from self._run_and_try_again()
        except KeyboardInterrupt:
            # It may have come within an answer, whose rest would be taken for the next one.
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
                    self._stop_all()  # cuDNN, for one, remembers what it measured
                    self._queue.append(claim)
                    yield from self._run()
        finally:  # also when the caller wants no more
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
            # Told now: a caller may take its time over a run, and workers go on meanwhile.
            late = [w for w in self._workers if w.deadline < time.monotonic() and w not in ready]
            for worker in ready:
                yield from self._listen(worker)
            for worker in late:
                limit = f"it was ended after {self.limit(worker.claims[0], self._lane):g} seconds"
                yield from self._lose(worker, late=limit)

    def _refused(self, claim: Claim) -> Run:
        """Return what becomes of a claim for which no worker comes up, or none any more."""
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
        """Return the seconds that a claim may take: a day at most, as no clock counts for ever."""
        return min(86_400.0, claim.timeout or self.timeout or TIMEOUTS[lane])

    def _hand_over(self, worker: Worker) -> None:
        # The last few are dealt out one by one, so that no worker idles beside a full one.
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
        """Start the clock of the claim that a worker runs now, if it has one."""
        worker.outputs = []
        limit = self.limit(worker.claims[0], self._lane) if worker.claims else float("inf")
        worker.deadline = time.monotonic() + limit

    def _ready(self) -> list[Worker]:
        """Wait until a worker has something to say or is late; return those that have."""
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
            reason = f"{len(outputs)} outputs came of {count} examples"
            return replace(run, outcome=Outcome.CRASHED, message=reason)
        return run

    def _settled(self, claim: Claim, run: Run) -> Iterator[Run]:
        """Yield the run, with the try at which it held if that is not the first; or none yet."""
        if run.outcome is Outcome.PASSED and self._number > 1:
            run = replace(run, message=f"held at try {self._number} of {self.tries}")
        if claim.cpu_build and not self.environments[run.lane].torch.endswith("+cpu"):
            run = _skipped(claim, run.lane, f"{claim.id} is of a build of torch without CUDA")
        disturbed = run.outcome is Outcome.FAILED and Factor.CLOCK in claim.machine
        halted = run.outcome is Outcome.TIMED_OUT and self._number == 1
        if (disturbed or halted) and self._number < self.tries:
            self._again.append(claim)
            return
        differs = run.outcome in (Outcome.FAILED, Outcome.TIMED_OUT)
        yield replace(run, outcome=Outcome.VARIED) if differs and claim.machine else run

    def _lose(self, worker: Worker, late: str = "") -> Iterator[Run]:
        """Take away a worker that died or is late, and with it the claim that it was running."""
        # Without one it died idle, of what an earlier claim had left to happen.
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
        """End a worker, whose other claims wait again; return its status as `os.waitpid` does."""
        self._workers.remove(worker)
        self._queue.extendleft(reversed(worker.claims))
        return self._processes.end(worker)


def _skipped(claim: Claim, lane: Lane, reason: str) -> Run:
    return Run(claim.id, lane, Outcome.SKIPPED, message=reason)
