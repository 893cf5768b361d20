"""Draw number series as a line chart, readable in light and dark mode."""

from math import inf, isfinite

from claimbook.teach.chart import STYLES, Numbers, Rules, Series, chart
from claimbook.teach.figure import Figure


def lines(
    series: Series,
    *,
    x: str,
    y: str,
    alt: str,
    at: Numbers | None = None,
    log: bool = False,
    logx: int = 0,
    rules: Rules | None = None,
    **options: object,
) -> Figure:
    """Draw one to four series over the places ``at``, by default over their indices.

    ``x`` and ``y`` label the axes; ``log`` makes the y axis logarithmic, and ``logx``, a base, the
    x axis. ``rules`` are named vertical lines. ``options`` override those for ``axes.plot``:
    ``linestyle=""`` for dots, ``drawstyle="steps-post"`` for values that hold until the next one.
    An arrow marks a series that ends with infinity.

    ``alt`` says what the picture shows; the first, last, least and greatest value of each series
    are appended.

    Raises ValueError without series, or for more than four, a series without a finite number, or
    one with more values than places.

    >>> print(lines({"loss": [4.0, 1.0, 2.0]}, x="step", y="loss", alt="It falls, then rises.").alt)
    It falls, then rises.
    loss: 3 values for x from 0 to 2, first 4, last 2, least 1, greatest 4.
    """
    if not 1 <= len(series) <= len(STYLES):
        raise ValueError(f"lines() draws 1 to {len(STYLES)} series, not {len(series)}")
    numbers = {name: [float(value) for value in values] for name, values in series.items()}
    index = range(max(map(len, numbers.values())))
    places = [float(place) + 0.0 for place in (index if at is None else at)]  # -0.0 becomes 0.0
    words = [_words(name, values, places) for name, values in numbers.items()]
    words += [f"{name}: a line at {place:.4g}." for name, place in (rules or {}).items()]
    svg = chart(numbers, places, x, y, log, logx, rules or {}, **options)
    return Figure(svg, "\n".join([" ".join(alt.split()), *words]))


def _words(name: str, values: Numbers, at: Numbers) -> str:
    finite = [(value, place) for value, place in zip(values, at, strict=False) if isfinite(value)]
    if not finite:
        raise ValueError(f"series {name!r} holds no finite number")
    ends = f", infinite beyond {finite[-1][1]:.4g}" if values[-1] == inf else ""
    return (
        f"{name}: {len(values)} values for x from {at[0]:.4g} to {at[: len(values)][-1]:.4g}, "
        f"first {values[0]:.4g}, last {values[-1]:.4g}, "
        f"least {min(finite)[0]:.4g}, greatest {max(finite)[0]:.4g}{ends}."
    )
