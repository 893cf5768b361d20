"""The numbers that a run measured, for the runner to collect."""

from collections.abc import Callable
from dataclasses import dataclass

Work = Callable[[], object]


@dataclass(frozen=True)
class Measurement:
    """One number that a run measured."""

    name: str
    value: float
    unit: str
    """``"ratio"`` or ``"bytes"``."""


measurements: list[Measurement] = []
"""All measurements since the runner last emptied this list."""


def record(name: str, value: float, unit: str) -> None:
    """Add one measurement for the runner to collect."""
    measurements.append(Measurement(name, value, unit))


def label(work: Work, otherwise: str) -> str:
    """Name a function; ``otherwise`` for what has no name, a lambda for instance.

    >>> label(sum, "work"), label(lambda: None, "work")
    ('sum', 'work')
    """
    name = getattr(work, "__name__", "<lambda>")
    return otherwise if name == "<lambda>" else name
