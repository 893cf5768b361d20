"""Helpers for labs on top of Matplotlib: series that differ without colour, one legend."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from claimbook.teach.chart import STYLES

Look = dict[str, Any]
HATCHES = ("", "//", "..", "xx")


def curves(axes: Axes, x: Any, series: Mapping[str, Any], **options: Any) -> None:
    """Draw one to four series over the same ``x``, each with its own colour, dash and marker.

    ``options`` override those for ``axes.plot``: ``marker=""`` for long series, ``linestyle=""``
    for dots.

    Raises ValueError for more series than there are styles.
    """
    _distinct(series, STYLES)
    for number, (name, values) in enumerate(series.items()):
        _, dash, marker = STYLES[number]
        style: Look = {"color": f"C{number}", "linestyle": dash, "marker": marker, "label": name}
        axes.plot(x, values, **style | options)


def grouped_bars(
    axes: Axes, names: Iterable[str], series: Mapping[str, Sequence[float]], form: str = "{:.2f}"
) -> None:
    """Draw a group of bars for each name, one bar per series, labelled with their values.

    A series shorter than ``names`` has no bar in the last groups; ``form=""`` shows no values.

    Raises ValueError for more series than there are hatches.
    """
    _distinct(series, HATCHES)
    names, width = list(names), 0.8 / len(series)
    for number, (name, values) in enumerate(series.items()):
        shift = (number - (len(series) - 1) / 2) * width
        places = [place + shift for place in range(len(values))]
        style: Look = {"color": f"C{number}", "hatch": HATCHES[number], "label": name}
        bars = axes.bar(places, values, 0.95 * width, edgecolor=rcParams["text.color"], **style)
        axes.bar_label(bars, fmt=form)
    axes.set_xticks(range(len(names)), names)


def log_ticks(axes: Axes, **at: Sequence[float]) -> None:
    """Make ``x`` or ``y`` logarithmic, with ticks only at the given numbers, written in full."""
    for name, numbers in at.items():
        axes.set(**{f"{name}scale": "log"})
        axis = axes.xaxis if name == "x" else axes.yaxis
        axis.set_ticks(numbers, [f"{number:g}" for number in numbers])
        axis.set_ticks([], minor=True)


def legend(figure: Figure, columns: int = 3) -> None:
    """Put one legend below all panels, with each label once."""
    entries: dict[str, Any] = {}
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        for label, handle in zip(labels, handles, strict=True):
            entries.setdefault(label, handle)
    place: Look = {"loc": "outside lower center", "ncols": columns, "frameon": False}
    figure.legend(list(entries.values()), list(entries), **place)


def _distinct(series: Mapping[str, Any], looks: Sequence[object]) -> None:
    if len(series) > len(looks):
        raise ValueError(f"{len(series)} series, but only {len(looks)} styles to tell them apart")
