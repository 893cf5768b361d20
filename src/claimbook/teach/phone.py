"""Lay out a lab's figure anew, as wide as a chart: panels stand one below the other."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.legend import Legend

from claimbook.teach.chart import BESIDE, SIZE

HIGH = 3
"""Most panels below each other; of a row with more, each row has two."""


def lay_out(figure: Figure) -> None:
    """Make a figure so narrow that on a phone its letters are 10 pixels high.

    The panels of a row come one below the other, those of several rows too: each row becomes a
    column.
    """
    rows: dict[int, list[Any]] = {}
    for axes in figure.axes:
        if spec := axes.get_subplotspec():  # the bar of colours has none
            rows.setdefault(spec.rowspan.start, []).append(axes)
    height = figure.get_size_inches()[1] / len(rows)
    first, *others = rows.values()
    if others and len(first) > len(rows):
        _place(figure, [*zip(*rows.values(), strict=True)], height)
        for axes in figure.axes:
            axes.label_outer()
    elif others or len(first) == 1:
        figure.set_size_inches(SIZE[0], height * len(rows))
    else:
        columns = 1 if len(first) <= HIGH else 2
        places = range(0, len(first), columns)
        _place(figure, [first[place : place + columns] for place in places], 0.85 * height)
    for legend in [*figure.legends]:
        _narrow(figure, legend)


def _place(figure: Figure, rows: list[Any], height: float) -> None:
    """Put panels into rows of this height, each with the words that stood at the edges."""
    figure.set_size_inches(SIZE[0], height * len(rows))
    grid = GridSpec(len(rows), len(rows[0]), figure=figure)
    words = {name: _word(figure, name) for name in ("xlabel", "ylabel")}
    for number, row in enumerate(rows):
        for place, axes in enumerate(row):
            axes.set_subplotspec(grid[number, place])
            axes.tick_params(labelleft=place == 0 or None, labelbottom=True)
            axes.set_xlabel(axes.get_xlabel() or words["xlabel"])
            if place == 0:
                axes.set_ylabel(axes.get_ylabel() or words["ylabel"])


def _word(figure: Figure, name: str) -> str:
    return next(filter(None, (getattr(axes, f"get_{name}")() for axes in figure.axes)), "")


def _narrow(figure: Figure, legend: Legend) -> None:
    """Give a legend two columns, or one if its names are long."""
    names = [text.get_text() for text in legend.get_texts()]
    columns = 2 if max(map(len, names)) <= BESIDE else 1
    handles = legend.legend_handles
    legend.remove()
    place: dict[str, Any] = {"loc": "outside lower center", "ncols": columns, "frameon": False}
    figure.legend([*filter(None, handles)], names, **place)
