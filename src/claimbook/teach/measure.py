"""Record the numbers that a run measures, for the runner to collect."""

from collections.abc import Callable

from claimbook.model import Measurement

Work = Callable[[], object]

measurements: list[Measurement] = []
"""The measurements since the runner last cleared this list."""


def record(name: str, value: float, unit: str) -> float:
    """Record a measurement; return its value."""
    measurements.append(Measurement(name, value, unit))
    return value


def label(work: Work, otherwise: str) -> str:
    """Return the name of a function; ``otherwise`` for one without a name, such as a lambda.

    >>> label(sum, "work"), label(lambda: None, "work")
    ('sum', 'work')
    """
    name = getattr(work, "__name__", "<lambda>")
    return otherwise if name == "<lambda>" else name
