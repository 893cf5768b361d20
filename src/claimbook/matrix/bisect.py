"""Finds the release at which a claim began, or ceased, to hold."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def flip(versions: Sequence[str], ask: Callable[[str], T | None]) -> tuple[str, str]:
    """Two neighbours of which the answers differ, the older first, by asking few.

    Args:
        versions: from the oldest on; the answers to the first and to the last must differ.
        ask: None for one that cannot be had, which is then left out.

    Raises:
        ValueError: the first and the last give the same answer, or none.

    >>> flip("abcdef", lambda version: version < "d")
    ('c', 'd')
    """
    left = list(versions)
    first, last = ask(left[0]), ask(left[-1])
    if first is None or last is None or first == last:
        raise ValueError(
            f"{left[0]} gives {first}, {left[-1]} gives {last}: nothing to find between"
        )
    while len(left) > 2:
        middle = len(left) // 2
        if (answer := ask(left[middle])) is None:
            del left[middle]
        elif answer == first:
            left = left[middle:]
        else:
            left = left[: middle + 1]
    return left[0], left[1]
