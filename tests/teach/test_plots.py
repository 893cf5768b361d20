"""What labs draw with, read back from Matplotlib's own objects."""

import pytest
from matplotlib.figure import Figure

from claimbook.teach.plots import curves, grouped_bars, legend, log_ticks


@pytest.fixture
def figure():
    """An empty figure that knows no screen."""
    return Figure(layout="constrained")


def looks(line):
    return line.get_color(), line.get_linestyle(), line.get_marker()


def texts(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_curves_differ_in_colour_dash_and_marker(figure):
    """No two of four series share any of the three, and each has its data and its name."""
    axes = figure.add_subplot()
    curves(axes, [1, 2], {name: [0, number] for number, name in enumerate("abcd")})
    assert [line.get_label() for line in axes.lines] == list("abcd")
    assert [list(line.get_ydata()) for line in axes.lines] == [[0, n] for n in range(4)]
    for kind in zip(*map(looks, axes.lines), strict=True):
        assert len(set(kind)) == 4


def test_options_win_over_the_style(figure):
    """A series of hundreds of points takes no marker; the rest of its look stays."""
    axes = figure.add_subplot()
    curves(axes, [1, 2], {"a": [1, 2], "b": [2, 1]}, marker="")
    assert [looks(line) for line in axes.lines] == [("C0", "-", ""), ("C1", "--", "")]


@pytest.mark.parametrize("draw", [curves, grouped_bars])
def test_series_that_could_not_be_told_apart_are_refused(figure, draw):
    """A fifth series would look like the first."""
    with pytest.raises(ValueError, match="5 series, but only 4 styles"):
        draw(figure.add_subplot(), ["x"], {str(number): [1] for number in range(5)})


def test_bars_of_a_group_stand_side_by_side(figure):
    """Around each name's tick the bars lie apart, in order, hatched differently, with values."""
    axes = figure.add_subplot()
    grouped_bars(axes, ["x", "y"], {"one": [1, 2], "two": [0.5]}, form="{:.1f}")
    first, second = (list(bars) for bars in axes.containers)
    assert first[0].get_x() + first[0].get_width() <= second[0].get_x()
    middle = (first[0].get_x() + second[0].get_x() + second[0].get_width()) / 2
    assert middle == pytest.approx(0)
    assert first[0].get_hatch() != second[0].get_hatch()
    assert [bar.get_height() for bar in first + second] == [1, 2, 0.5]
    assert [text.get_text() for text in axes.texts] == ["1.0", "2.0", "0.5"]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["x", "y"]


def test_log_ticks_are_the_numbers_and_no_others(figure):
    """The axis is logarithmic, its ticks are as given, and the other axis is left alone."""
    axes = figure.add_subplot()
    axes.plot([1, 1000], [1, 2])
    log_ticks(axes, x=[2, 40, 600])
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    assert [text.get_text() for text in axes.get_xticklabels()] == ["2", "40", "600"]
    assert list(axes.get_xticks(minor=True)) == []
    log_ticks(axes, y=[1, 2])
    assert axes.get_yscale() == "log"


def test_legend_names_each_label_once(figure):
    """Two panels with the same series share the entry, in the order of their first panel."""
    left, right = figure.subplots(1, 2)
    left.plot([1], label="a")
    for axes in left, right:
        axes.plot([1], label="b")
    right.plot([1], label="c")
    legend(figure)
    assert texts(figure) == ["a", "b", "c"]


def test_legend_stands_outside_the_panels(figure):
    """Once laid out, the panels end above the legend."""
    figure.add_subplot().plot([1, 2], label="a")
    legend(figure)
    figure.draw_without_rendering()
    box = figure.legends[0].get_window_extent()
    assert box.y1 <= figure.axes[0].get_window_extent().y0
