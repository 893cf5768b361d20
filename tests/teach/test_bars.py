"""What `bars` draws, read back from its SVG."""

import math
import xml.etree.ElementTree as ET

import pytest

from claimbook.teach import bars


def rects(figure):
    return [float(r.get("width")) for r in ET.fromstring(figure.svg).iter("rect")]


def test_lengths_are_in_proportion():
    """Twice the value is twice the bar."""
    one, two, four = rects(bars({"a": 1, "b": 2, "c": 4}, alt="Doubling."))
    assert (two, four) == pytest.approx((2 * one, 4 * one), abs=0.3)


def test_every_bar_has_name_and_value():
    """Names and values stand in the picture and in the text, and are escaped."""
    figure = bars({"<a>": 1.5, "b": 0}, unit="s", alt="Two.")
    texts = [t.text for t in ET.fromstring(figure.svg).iter("text")]
    assert texts == ["<a>", "1.5 s", "b", "0 s"]
    assert figure.alt == "Two.\n<a>: 1.5 s\nb: 0 s"


@pytest.mark.parametrize("name", ["b", "a name of some length", "a name that is so long " * 3])
def test_long_names_stand_above_their_bars(name):
    """The longest bar keeps a length that can be compared, and its number is in the picture."""
    figure = bars({name: 3, "b": 1234}, unit="bytes", alt="Two.")
    svg = ET.fromstring(figure.svg)
    value = [t for t in svg.iter("text") if t.get("class") == "value"][-1]
    assert max(rects(figure)) >= 120
    assert float(value.get("x")) + 7.3 * len(value.text) <= float(svg.get("width"))
    label, bar = next(svg.iter("text")), next(svg.iter("rect"))
    assert (float(label.get("y")) < float(bar.get("y"))) is (len(name) > 30)


@pytest.mark.parametrize(
    "values", [{}, {"a": -1}, {"a": 0}, {"a": 1, "b": math.nan}, {"a": math.inf}]
)
def test_what_has_no_length_is_refused(values):
    """No value, a negative one, only zeros, no number at all, or one without end."""
    with pytest.raises(ValueError, match="bars"):
        bars(values, alt="Nothing.")
