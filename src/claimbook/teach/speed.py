"""Compare how long two callables take, as a ratio and never as a time."""

from dataclasses import dataclass
from inspect import currentframe
from itertools import repeat
from statistics import median
from time import perf_counter

import torch

from claimbook.teach.measure import Work, record
from claimbook.teach.names import said

BATCH = 1e-3
"""Seconds that one timing lasts at least, so that the clock's own error is small beside it."""
LIMIT = 10.0
"""Seconds after which no further round starts."""


@dataclass(frozen=True)
class Comparison:
    """The times of two callables, measured in turns."""

    name: str
    """Under which a ratio is recorded as it is read, with … for the number."""
    a: tuple[float, ...]
    """Seconds that one call of the first callable took, one value per round."""
    b: tuple[float, ...]
    """The same of the second callable."""

    @property
    def ratio(self) -> float:
        """Median time of the first callable / median time of the second: above 1, it is slower.

        >>> Comparison("", a=(4.0, 6.0, 4.0), b=(2.0, 2.0, 3.0)).ratio
        2.0
        """
        return record(self.name, median(self.a) / median(self.b), "ratio")

    @property
    def best(self) -> float:
        """The same for the fastest round of each, which a busy machine disturbs least."""
        return record(self.name, min(self.a) / min(self.b), "ratio")


def compare(a: Work, b: Work, *, rounds: int = 7) -> Comparison:
    """Time ``a()`` against ``b()`` in turns, so that a machine that slows down slows both.

    Each is first called until one timing of it lasts a millisecond (which also warms it up), then
    each round times both, in an order that alternates. CUDA work is waited for. Stops after
    ``rounds`` rounds, at least one, or after the round in which ten seconds have passed. The ratio
    that the caller reads, ``best`` or ``ratio``, is recorded under what the call says of both.

    Raises ValueError for fewer than one round.
    """
    if rounds < 1:
        raise ValueError(f"compare() needs at least one round, not {rounds}")
    name = "{} took … times as long as {}".format(*said(currentframe(), a, b))
    deadline = perf_counter() + LIMIT
    calls_a, calls_b = _calls(a), _calls(b)
    times: list[tuple[float, float]] = []
    while len(times) < rounds and (not times or perf_counter() < deadline):
        if len(times) % 2 == 0:
            seconds_a, seconds_b = _seconds(a, calls_a), _seconds(b, calls_b)
        else:
            seconds_b, seconds_a = _seconds(b, calls_b), _seconds(a, calls_a)
        times.append((seconds_a, seconds_b))
    return Comparison(name, *zip(*times, strict=True))


def _calls(work: Work) -> int:
    """Double the calls until they fill one timing, as ``timeit.Timer.autorange`` does."""
    calls = 1
    while _seconds(work, calls) * calls < BATCH:
        calls *= 2
    return calls


def _seconds(work: Work, calls: int) -> float:
    """Return the seconds that one call takes, the mean of ``calls`` calls."""
    _synchronize()
    start = perf_counter()
    for _ in repeat(None, calls):
        work()
    _synchronize()
    return (perf_counter() - start) / calls


def _synchronize() -> None:
    # Asking a device that is not in use yet to synchronise would start it up.
    if torch.cuda.is_initialized():
        torch.accelerator.synchronize()
