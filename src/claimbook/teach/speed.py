"""Compare how long two callables take, as a ratio, never as a time."""

from dataclasses import dataclass
from inspect import currentframe
from itertools import repeat
from statistics import median
from time import perf_counter

import torch

from claimbook.teach.measure import Work, record
from claimbook.teach.names import said

BATCH = 1e-3
"""Shortest timing in seconds, long compared with the clock's resolution."""
LIMIT = 10.0
"""Seconds after which no further round starts."""


@dataclass(frozen=True)
class Comparison:
    """The times of two callables, measured in turn."""

    name: str
    """The name for the record of a ratio, with … for the number."""
    a: tuple[float, ...]
    """Seconds per call of the first callable, one value per round."""
    b: tuple[float, ...]
    """Seconds per call of the second callable."""

    @property
    def ratio(self) -> float:
        """Median time of the first / median of the second: above 1, the first is slower.

        >>> Comparison("", a=(4.0, 6.0, 4.0), b=(2.0, 2.0, 3.0)).ratio
        2.0
        """
        return record(self.name, median(self.a) / median(self.b), "ratio")

    @property
    def best(self) -> float:
        """The ratio of the fastest rounds, which other load disturbs least."""
        return record(self.name, min(self.a) / min(self.b), "ratio")


def compare(a: Work, b: Work, *, rounds: int = 7) -> Comparison:
    """Time ``a()`` against ``b()`` in turn, so that a machine that slows down slows both.

    First, the number of calls per timing is doubled until a timing lasts a millisecond, which is
    also the warm-up. Then each round times both, in alternating order, and waits for CUDA. Stops
    after ``rounds`` rounds, or after the round in which ten seconds have passed. Reading ``best``
    or ``ratio`` records it, under a name made from the source code of the call.

    Raises ValueError for fewer than one round.
    """
    if rounds < 1:
        raise ValueError(f"compare() needs at least one round, not {rounds}")
    name = "{} took … times as long as {}".format(*said(currentframe(), a, b))
    deadline = perf_counter() + LIMIT
    works, calls = (a, b), (_calls(a), _calls(b))
    times: tuple[list[float], list[float]] = [], []
    for number in range(rounds):
        for which in (0, 1) if number % 2 == 0 else (1, 0):
            times[which].append(_seconds(works[which], calls[which]))
        if perf_counter() >= deadline:
            break
    return Comparison(name, *map(tuple, times))


def _calls(work: Work) -> int:
    """Return the calls per timing, found by doubling, as in ``timeit.Timer.autorange``."""
    calls = 1
    while _seconds(work, calls) * calls < BATCH:
        calls *= 2
    return calls


def _seconds(work: Work, calls: int) -> float:
    """Return the mean seconds of ``calls`` calls."""
    _synchronize()
    start = perf_counter()
    for _ in repeat(None, calls):
        work()
    _synchronize()
    return (perf_counter() - start) / calls


def _synchronize() -> None:
    # Synchronising an unused device would initialise it.
    if torch.cuda.is_initialized():
        torch.accelerator.synchronize()
