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


def test_neighbours_can_be_told_apart():
    """Blocks that follow without a gap differ in their fill."""
    rects = ET.fromstring(timeline({"a": [(0, 1), (1, 2)]}, alt="Two.").svg).iter("rect")
    first, second = (rect.get("style") for rect in rects)
    assert first != second


def test_words_say_what_the_rows_hold():
    """Names are escaped in the picture, and the text counts the blocks."""
    figure = timeline({"<load>": [(0, 0.5), (1, 1.5)], "none": []}, alt="Two\n blocks.")
    texts = [t.text for t in ET.fromstring(figure.svg).iter("text")]
    assert texts == ["<load>", "none", "0 to 1.50 s"]
    assert figure.alt == (
        "Two blocks.\n<load>: 2 blocks, the first from 0 to 0.5 s, the last to 1.5 s"
    )


@pytest.mark.parametrize("rows", [{}, {"a": []}, {"a": [(2, 1)]}, {"a": [(-1, 1)]}])
def test_what_has_no_place_is_refused(rows):
    """No block, one that ends before it starts, or one before the clock."""
    with pytest.raises(ValueError, match="timeline"):
        timeline(rows, alt="Nothing.")
