"""Draw named numbers as horizontal bars."""

from collections.abc import Mapping
from math import inf

from claimbook.teach.figure import BRAND, CHAR, NARROW, Figure, box, drawing, text

ROW, BAR, PAD, LEAST = 26, 16, 8, 120
"""Bars with less than ``LEAST`` pixels of room go below their names, not beside them."""


def bars(values: Mapping[str, float], *, unit: str = "", alt: str) -> Figure:
    """Draw one bar per value, in the given order; the longest takes the full width.

    ``alt`` says what the picture shows; the name and value of each bar are appended.

    Raises ValueError for no value, one that is negative or not finite, or none above zero.

    >>> print(bars({"float32": 4, "float64": 8}, unit="bytes", alt="Twice the digits.").alt)
    Twice the digits.
    float32: 4 bytes
    float64: 8 bytes
    """
    if not any(values.values()) or not all(0 <= value < inf for value in values.values()):
        raise ValueError("bars() draws finite values of 0 and more, at least one of them above 0")
    words = {name: f"{value:.4g} {unit}".rstrip() for name, value in values.items()}
    names, right = (PAD + CHAR * max(map(len, texts)) for texts in (values, words.values()))
    under = NARROW - names - right - 2 * PAD < LEAST
    left, row = (0.0, ROW + BAR) if under else (names, ROW)
    length = NARROW - left - right - 2 * PAD
    parts, top = [], PAD
    for name, value in values.items():
        parts.append(_row(name, words[name], left, top, value / max(values.values()) * length))
        top += row
    width = max(NARROW, names + PAD) if under else NARROW
    lines = [" ".join(alt.split()), *(f"{name}: {word}" for name, word in words.items())]
    return Figure(drawing(width, top, "".join(parts)), "\n".join(lines))


def _row(name: str, word: str, left: float, top: float, length: float) -> str:
    label = text(left, top + BAR - 4, name, "name", "end")
    if not left:
        label = text(PAD, top + BAR - 4, name, "name")
        top += BAR
    bar = box(left + PAD, top, max(length, 1), BAR, f"rx:2px;fill:{BRAND}")
    return label + bar + text(left + 2 * PAD + length, top + BAR - 4, word, "value")
