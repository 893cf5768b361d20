"""What `timeline` draws, read back from its SVG."""

import xml.etree.ElementTree as ET

import pytest

from claimbook.teach.timeline import timeline


def blocks(figure):
    """Left edge, width and top of each block."""
    return [
        tuple(float(r.get(name)) for name in ("x", "width", "y"))
        for r in ET.fromstring(figure.svg).iter("rect")
    ]


def test_places_follow_the_clock():
    """A block starts where its time is, is as long as it took, and rows share one clock."""
    (x0, w0, y0), (x1, w1, y1), (x2, w2, y2) = blocks(
        timeline({"load": [(0, 1), (2, 4)], "train": [(1, 2)]}, alt="Two rows.")
    )
    assert (w1, w2) == pytest.approx((2 * w0, w0), abs=0.2)
    assert (x1 - x0, x2 - x0) == pytest.approx((2 * w0, w0), abs=0.2)
    assert y0 == y1 < y2


def labels(figure, kind):
    return [t.text for t in ET.fromstring(figure.svg).iter("text") if t.get("class") == kind]


def test_blocks_are_numbered():
    """Each row from 1 on, or as the author says; what has no room for its label has none."""
    figure = timeline({"a": [(0, 1), (1, 2), (2, 2.01)], "b": [(0, 1, "x")]}, alt="Four.")
    assert labels(figure, "label") == ["1", "2", "x"]


@pytest.mark.parametrize(
    ("longest", "ticks"),
    [
        (0.49, ["0 s", "0.1", "0.2", "0.3", "0.4"]),
        (3, ["0 s", "1", "2", "3"]),
        (10, ["0 s", "2", "4", "6", "8", "10"]),
        (0.0002, ["0 s", "5e-05", "0.0001", "0.00015", "0.0002"]),
        (0, ["0 s"]),
    ],
)
def test_ticks_are_round_and_lie_on_the_clock(longest, ticks):
    """The last tick of a round time is at the end of its block."""
    figure = timeline({"a": [(0, longest)]}, alt="One.")
    assert labels(figure, "tick") == ticks
    [(left, width, _)] = blocks(figure)
    places = [
        float(t.get("x"))
        for t in ET.fromstring(figure.svg).iter("text")
        if t.get("class") == "tick"
    ]
    assert places[0] == left
    if longest:
        assert places[-1] == pytest.approx(left + width * float(ticks[-1]) / longest, abs=0.2)


def test_words_say_what_the_rows_hold():
    """Names are escaped in the picture, and the text counts the blocks."""
    figure = timeline({"<load>": [(0, 0.5), (1, 1.5)], "none": []}, alt="Two\n blocks.")
    texts = [t.text for t in ET.fromstring(figure.svg).iter("text")]
    assert texts == ["0 s", "0.5", "1", "1.5", "<load>", "1", "2", "none"]
    assert figure.alt == (
        "Two blocks.\n<load>: 2 blocks, the first from 0 to 0.5 s, the last to 1.5 s"
    )


@pytest.mark.parametrize("rows", [{}, {"a": []}, {"a": [(2, 1)]}, {"a": [(-1, 1)]}])
def test_what_has_no_place_is_refused(rows):
    """No block, one that ends before it starts, or one before the clock."""
    with pytest.raises(ValueError, match="timeline"):
        timeline(rows, alt="Nothing.")
