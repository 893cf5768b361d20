"""Draw named numbers as horizontal bars, so that they can be compared at a glance."""

from collections.abc import Mapping
from math import inf

from claimbook.teach.figure import BRAND, CHAR, Figure, drawing, text

ROW, BAR, PAD, LENGTH = 26, 16, 8, 320


def bars(values: Mapping[str, float], *, unit: str = "", alt: str) -> Figure:
    """Draw one bar a value, in the order given, the longest over the whole length.

    ``alt`` says what is to be seen; name and value of each bar are added to it from the data.

    Raises ValueError for no value, one that is negative or not finite, or none above zero.

    >>> print(bars({"float32": 4, "float64": 8}, unit="bytes", alt="Twice the digits.").alt)
    Twice the digits.
    float32: 4 bytes
    float64: 8 bytes
    """
    if not any(values.values()) or not all(0 <= value < inf for value in values.values()):
        raise ValueError("bars() draws finite values of 0 and more, at least one of them above 0")
    words = {name: f"{value:.4g} {unit}".rstrip() for name, value in values.items()}
    left = PAD + CHAR * max(map(len, values))
    width = left + LENGTH + 3 * PAD + CHAR * max(map(len, words.values()))
    height = ROW * len(values) + PAD
    scale = LENGTH / max(values.values())
    rows = "".join(
        _row(name, words[name], left, PAD + ROW * place, value * scale)
        for place, (name, value) in enumerate(values.items())
    )
    lines = [" ".join(alt.split()), *(f"{name}: {word}" for name, word in words.items())]
    return Figure(drawing(width, height, rows), "\n".join(lines))


def _row(name: str, word: str, left: float, top: float, length: float) -> str:
    baseline = top + BAR - 4
    bar = (
        f'<rect x="{left + PAD:.0f}" y="{top:.0f}" width="{max(length, 1):.1f}" height="{BAR}" '
        f'rx="2" style="fill:{BRAND}"/>'
    )
    value = text(left + 2 * PAD + length, baseline, word, "value")
    return text(left, baseline, name, "name", "end") + bar + value
