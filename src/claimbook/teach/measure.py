"""The numbers that a run measured, for the runner to collect."""

from collections.abc import Callable

from claimbook.model import Measurement

Work = Callable[[], object]

measurements: list[Measurement] = []
"""All measurements since the runner last emptied this list."""


def record(name: str, value: float, unit: str) -> float:
    """Add one measurement for the runner to collect; return its value."""
    measurements.append(Measurement(name, value, unit))
    return value


def label(work: Work, otherwise: str) -> str:
    """Name a function; ``otherwise`` for what has no name, a lambda for instance.

    >>> label(sum, "work"), label(lambda: None, "work")
    ('sum', 'work')
    """
    name = getattr(work, "__name__", "<lambda>")
    return otherwise if name == "<lambda>" else name
