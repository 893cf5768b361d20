"""Draw number series as a line chart that is readable on a light and on a dark page."""

from collections.abc import Mapping, Sequence
from math import isfinite

from claimbook.teach.chart import STYLES, chart
from claimbook.teach.figure import Figure


def lines(
    series: Mapping[str, Sequence[float]],
    *,
    x: str,
    y: str,
    alt: str,
    log: bool = False,
) -> Figure:
    """Draw each of one to four series against its index, from 0 on.

    ``x`` and ``y`` label the axes; ``log`` makes the y axis logarithmic. ``alt`` says what is to be
    seen; first, last, least and greatest value of each series are added to it from the data.

    Raises ValueError for no series, more than four, or a series without a finite number.

    >>> print(lines({"loss": [4.0, 1.0, 2.0]}, x="step", y="loss", alt="It falls, then rises.").alt)
    It falls, then rises.
    loss: 3 values, first 4, last 2, least 1, greatest 4.
    """
    if not 1 <= len(series) <= len(STYLES):
        raise ValueError(f"lines() draws 1 to {len(STYLES)} series, not {len(series)}")
    numbers = {name: [float(value) for value in values] for name, values in series.items()}
    words = [_words(name, values) for name, values in numbers.items()]
    svg = chart(numbers, x, y, "log" if log else "linear")
    return Figure(svg, "\n".join([" ".join(alt.split()), *words]))


def _words(name: str, values: Sequence[float]) -> str:
    finite = [value for value in values if isfinite(value)]
    if not finite:
        raise ValueError(f"series {name!r} holds no finite number")
    return (
        f"{name}: {len(values)} values, first {values[0]:.4g}, last {values[-1]:.4g}, "
        f"least {min(finite):.4g}, greatest {max(finite):.4g}."
    )
