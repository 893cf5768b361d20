"""Run claims on a lane in worker processes, and stream the results.

A worker that dies is replaced within milliseconds; only the claim that it ran is lost.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from math import inf
from multiprocessing.connection import wait
from typing import Any, Self

from claimbook.checking.compare import mismatches
from claimbook.engine.environment import cores
from claimbook.engine.worker import receive, send
from claimbook.engine.workers import RunnerError, Worker, Workers, cause
from claimbook.model import Claim, Factor, Lane, Measurement, Outcome, Run

TIMEOUTS = {Lane.CPU: 30.0, Lane.CUDA: 60.0}
"""Default time limit of a claim, in seconds; longer on a GPU, where small operations are slower and
the first call loads libraries."""

TRIES = 5
"""Most attempts for a claim that depends on the clock, since other load disturbs it; retries run
alone. Any claim that timed out is retried once: the machine may have been suspended. A claim that
passes on a retry says so."""


class Runner:
    """A pool of workers, used as a context manager: leaving it ends every process.

    Entering returns at once, while torch is still being imported.

    Args:
        jobs: the number of workers; by default one more than cores, since many claims wait for
            a child process, and one on a GPU, where they would wait for each other.
        tries: most attempts for a claim that depends on the clock; with 1, a claim that timed
            out is not retried either.

    Raises:
        RunnerError: torch cannot be imported.
    """

    def __init__(self, jobs: int | None = None, tries: int = TRIES) -> None:
        self.jobs, self.tries = jobs, tries

    def __enter__(self) -> Self:
        self._workers = Workers()
        self.environments = self._workers.environments
        """The environment of each lane on which claims have run."""
        return self

    def __exit__(self, *_: object) -> None:
        self._workers.close()

    def limit(self, claim: Claim, lane: Lane) -> float:
        """Return the time limit of a claim in seconds, a day at most."""
        return min(86_400.0, claim.timeout or TIMEOUTS[lane])

    def run(self, claims: Iterable[Claim], lane: Lane) -> Iterator[tuple[Claim, Run]]:
        """Run each claim; yield it with its run as that finishes.

        After an interrupt, which may have cut an answer in two, nothing more can be run.
        """
        self._lane = lane
        batches, attempt = [[*claims]], 1
        self._workers.prepare("\n".join(claim.code for claim in batches[0]))
        try:
            while batches:
                again: list[list[Claim]] = []
                for batch in batches:
                    self._end_all()  # fresh workers for a retry: cuDNN caches its measurements
                    for claim, run in self._run(batch):
                        if self._may_yet_pass(claim, run, attempt):
                            again.append([claim])
                        else:
                            yield claim, self._final(claim, run, attempt)
                batches, attempt = again, attempt + 1
        finally:  # also if the caller stops iterating
            self._end_all()

    def _end_all(self) -> None:
        for worker in [*self._workers.alive]:
            self._workers.end(worker)

    def _may_yet_pass(self, claim: Claim, run: Run, attempt: int) -> bool:
        """Return whether this attempt was disturbed, so that the next one may pass."""
        disturbed = run.outcome is Outcome.FAILED and Factor.CLOCK in claim.machine
        halted = run.outcome is Outcome.TIMED_OUT and attempt == 1
        return (disturbed or halted) and attempt < self.tries

    def _final(self, claim: Claim, run: Run, attempt: int) -> Run:
        """Return the run to report for the last attempt at a claim."""
        if run.outcome is Outcome.PASSED and attempt > 1:
            return replace(run, message=f"passed on try {attempt} of {self.tries}")
        if run.outcome in (Outcome.FAILED, Outcome.TIMED_OUT) and claim.machine:
            return replace(run, outcome=Outcome.VARIED)
        return run

    def _run(self, claims: Iterable[Claim]) -> Iterator[tuple[Claim, Run]]:
        """Run each claim once; yield it with its run when it has finished."""
        self._queue = deque(claims)
        workers = self._workers.alive
        while self._queue or any(worker.claim for worker in workers):
            self._fork()
            if not workers:
                yield from ((claim, self._skipped(claim)) for claim in self._queue)
                return
            for worker in workers:
                if not worker.claim:
                    self._begin(worker)
            until = min(worker.deadline for worker in workers)
            ready = wait([worker.channel for worker in workers], until - time.monotonic())
            # Before yielding: the caller may be slow, and workers keep running.
            now = time.monotonic()
            late = [w for w in workers if w.deadline < now and w.channel not in ready]
            for worker in [w for w in workers if w.channel in ready]:
                yield from self._listen(worker)
            for worker in late:
                yield from self._lose(worker, late=True)

    def _fork(self) -> None:
        jobs = self.jobs or (cores() + 1 if self._lane is Lane.CPU else 1)
        for _ in range(min(jobs, len(self._queue)) - len(self._workers.alive)):
            self._workers.fork(self._lane)

    def _skipped(self, claim: Claim) -> Run:
        """Return the run of a claim for which no worker starts.

        Raises:
            RunnerError: workers did start before; what is left says nothing about its claims.
        """
        refusal = self._workers.refusal
        if self._lane in self.environments:
            raise RunnerError(f"the {self._lane} lane is gone: {refusal}")
        return Run(claim.id, self._lane, Outcome.SKIPPED, message=refusal)

    def _begin(self, worker: Worker) -> None:
        """Send the next claim, if there is one, to an idle worker, and start its clock."""
        worker.claim, worker.outputs, worker.deadline = None, [], inf
        if self._queue:
            worker.claim = claim = self._queue.popleft()
            worker.deadline = time.monotonic() + self.limit(claim, self._lane)
            sources = [example.source for example in claim.examples(self._lane)]
            with suppress(OSError):  # it died; _listen will see that
                send(worker.channel, {"sources": sources})

    def _listen(self, worker: Worker) -> Iterator[tuple[Claim, Run]]:
        """Take what a worker has sent; yield its claim with the run if that is finished."""
        while worker.channel.poll():
            message, claim = receive(worker.channel), worker.claim
            match message:
                case {"output": str(output)} if claim:
                    worker.outputs.append(output)
                case {"seconds": seconds, "measurements": [*measured], "dirty": dirty} if claim:
                    run = self._finished(claim, worker.outputs, seconds, measured)
                    # Before yielding: the caller may be slow, and the worker has something to do.
                    if dirty:
                        self._workers.end(worker)
                    else:
                        self._begin(worker)
                    yield claim, run
                    return
                case _:  # it died, or an example wrote this
                    yield from self._lose(worker)
                    return

    def _finished(
        self, claim: Claim, outputs: list[str], seconds: float, measured: list[list[Any]]
    ) -> Run:
        if claim.cpu_build and not self.environments[self._lane].torch.endswith("+cpu"):
            reason = f"{claim.id} is about a build of torch without CUDA"
            return Run(claim.id, self._lane, Outcome.SKIPPED, message=reason)
        outcome, reason, count = Outcome.PASSED, "", len(claim.examples(self._lane))
        if mismatch := next(mismatches(claim, self._lane, tuple(outputs)), None):
            outcome, reason = Outcome.FAILED, str(mismatch.difference)
        elif len(outputs) != count:
            outcome, reason = Outcome.CRASHED, f"{count} examples gave {len(outputs)} outputs"
        done = claim.id, self._lane, outcome, tuple(outputs), seconds, reason
        return Run(*done, tuple(Measurement(*fields) for fields in measured))

    def _lose(self, worker: Worker, *, late: bool = False) -> Iterator[tuple[Claim, Run]]:
        """End a worker that died or is late; yield its claim, if it has one, with the run."""
        status = self._workers.end(worker)
        if claim := worker.claim:  # else it died idle, of something an earlier claim left behind
            outcome, why = Outcome.CRASHED, cause(status)
            if late:
                limit = self.limit(claim, self._lane)
                outcome, why = Outcome.TIMED_OUT, f"stopped after {limit:g} seconds"
            count = len(claim.examples(self._lane))
            message = f"{why} in example {min(len(worker.outputs) + 1, count)} of {count}"
            yield claim, Run(claim.id, self._lane, outcome, tuple(worker.outputs), message=message)
