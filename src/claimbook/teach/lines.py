"""Draw number series as a line chart that is readable on a light and on a dark page."""

from collections.abc import Mapping, Sequence
from math import inf, isfinite

from claimbook.teach.chart import KINDS, STYLES, Look, chart
from claimbook.teach.figure import Figure


def lines(
    series: Mapping[str, Sequence[float]],
    *,
    x: str,
    y: str,
    alt: str,
    at: Sequence[float] | None = None,
    kind: str = "line",
    log: bool = False,
    logx: int = 0,
    rules: Mapping[str, float] | None = None,
) -> Figure:
    """Draw each of one to four series over the places ``at``, or over its index from 0 on.

    ``x`` and ``y`` label the axes; ``log`` makes the y axis logarithmic, and ``logx``, a base, the
    x axis. ``kind="dots"`` is for what has no order, ``"steps"`` for values that stay until the
    next one. ``rules`` are vertical lines, by name. Where a series becomes infinite, an arrow says
    so. ``alt`` says what is to be seen; first, last, least and greatest value of each series are
    added to it from the data.

    Raises ValueError for no series, more than four, a series without a finite number, one of
    another length than ``at``, or another kind.

    >>> print(lines({"loss": [4.0, 1.0, 2.0]}, x="step", y="loss", alt="It falls, then rises.").alt)
    It falls, then rises.
    loss: 3 values, first 4, last 2, least 1, greatest 4.
    """
    if not 1 <= len(series) <= len(STYLES):
        raise ValueError(f"lines() draws 1 to {len(STYLES)} series, not {len(series)}")
    if kind not in KINDS:
        raise ValueError(f"lines() has the kinds {', '.join(KINDS)}, not {kind!r}")
    numbers = {name: [float(value) for value in values] for name, values in series.items()}
    longest = max(map(len, numbers.values()))
    places = range(longest) if at is None else [float(place) + 0.0 for place in at]
    if at is not None and any(len(values) != len(places) for values in numbers.values()):
        raise ValueError(f"each series needs as many values as `at`, {len(places)}")
    words = [_words(name, values, places, at is not None) for name, values in numbers.items()]
    words += [f"A line at {place:.4g}: {name}." for name, place in (rules or {}).items()]
    svg = chart(numbers, places, Look(x, y, kind, log, logx, rules or {}))
    return Figure(svg, "\n".join([" ".join(alt.split()), *words]))


def _words(name: str, values: Sequence[float], places: Sequence[float], named: bool) -> str:
    finite = [value for value in values if isfinite(value)]
    if not finite:
        raise ValueError(f"series {name!r} holds no finite number")
    where = f" for x from {places[0]:.4g} to {places[-1]:.4g}" if named else ""
    ends = f", infinite from {places[values.index(inf)]:.4g} on" if values[-1] == inf else ""
    return (
        f"{name}: {len(values)} values{where}, first {values[0]:.4g}, last {values[-1]:.4g}, "
        f"least {min(finite):.4g}, greatest {max(finite):.4g}{ends}."
    )
