"""Figures of labs as a phone shows them."""

import pytest
from matplotlib.figure import Figure

from claimbook.teach import phone, plots
from claimbook.teach.chart import SIZE


def narrowed(rows, columns, **options):
    """Return the panels of a figure that was laid out for a phone, and their rows and columns."""
    figure = Figure(figsize=(8, 3), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, **options)
    panels[-1][0].set(xlabel="step", ylabel="loss")
    phone.lay_out(figure)
    assert figure.get_size_inches()[0] == SIZE[0]
    specs = [axes.get_subplotspec() for axes in panels.flat]
    return panels, [(spec.rowspan.start, spec.colspan.start) for spec in specs]


@pytest.mark.parametrize(
    ("rows", "columns", "places"),
    [
        (1, 1, [(0, 0)]),
        (1, 2, [(0, 0), (1, 0)]),
        (1, 3, [(0, 0), (1, 0), (2, 0)]),
        (1, 4, [(0, 0), (0, 1), (1, 0), (1, 1)]),
        (2, 1, [(0, 0), (1, 0)]),
        (2, 3, [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]),
    ],
)
def test_panels_stand_one_below_the_other(rows, columns, places):
    """Those of one row below each other, or two and two; of several rows, each is a column."""
    assert narrowed(rows, columns)[1] == places


def test_each_panel_has_the_words_of_its_axes():
    """They stood once beside a row of panels."""
    ((left, right),), _ = narrowed(1, 2, sharey=True)
    assert (right.get_ylabel(), right.get_xlabel()) == ("loss", "step")
    assert [axes.yaxis.get_tick_params()["labelleft"] for axes in (left, right)] == [True, True]


def test_words_in_the_middle_are_not_repeated():
    """Of panels in rows and columns, the lowest have the words of both."""
    panels, _ = narrowed(2, 3, sharex=True, sharey=True)
    assert [axes.get_xlabel() for axes in panels[:, 0]] == ["", ""]
    assert [axes.get_xlabel() for axes in panels[:, 2]] == ["step", "step"]
    assert [axes.get_ylabel() for axes in panels[0]] == ["loss"] * 3
    assert [axes.get_ylabel() for axes in panels[1]] == [""] * 3


@pytest.mark.parametrize(("name", "columns"), [("short", 2), ("a name of more than 24 letters", 1)])
def test_a_legend_fits(name, columns):
    """It has two columns, or one if its names are long."""
    figure = Figure(figsize=(8, 3), layout="constrained")
    plots.curves(figure.subplots(), [0, 1], {"one": [0, 1], "two": [0, 2], name: [0, 3]})
    plots.legend(figure)
    phone.lay_out(figure)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["one", "two", name]
    assert legend._ncols == columns
