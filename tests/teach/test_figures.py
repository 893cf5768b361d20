"""What holds of every picture that is written as SVG: its edges, its boxes, its colours."""

import re
import xml.etree.ElementTree as ET
from itertools import combinations

import pytest
import torch

from claimbook.teach import bars, bits, broadcast, graph, grids, saved, strides
from claimbook.teach.timeline import timeline

LETTER = 7 / 12
"""How wide a letter is at least, by the size of its font."""
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
BASE = torch.arange(100, 112).view(3, 4)


def residual(blocks):
    """Layers, each with a way around it, and a leaf with a name."""
    x = leaf = torch.ones(2, 4, requires_grad=True)
    for _ in range(blocks):
        x = x + torch.nn.Linear(4, 4)(x).relu()
    return x.sum(), {"<b>": leaf}


FIGURES = {
    "bars": bars({"a long name <b>": 3, "b": 123456}, unit="bytes", alt="Two."),
    "bits": bits(0.1, *FLOATS),
    "bits of one dtype": bits(0.1, torch.float16),
    "broadcast": broadcast(torch.arange(40)[:, None], torch.arange(3)),
    "broadcast scalars": broadcast(torch.tensor(1), torch.tensor(2)),
    "broadcast a row": broadcast(torch.arange(1), torch.arange(8)),
    "graph": graph(*residual(10)),
    "saved": saved(*residual(2)),
    "grids": grids({f"<b>{n}": torch.arange(24).view(2, 3, 4) * 10**n for n in range(6)}, alt="x"),
    "strides": strides(BASE, "A title <b>"),
    "strides, expanded": strides(BASE[:, :1].expand(3, 2)),
    "strides, three dimensions": strides(BASE.view(3, 2, 2).permute(2, 0, 1)),
    "strides of a scalar": strides(BASE[1, 2]),
    "timeline": timeline({"a long name <b>": [(0, 3)], "b": [(1, 2.9), (2.9, 3)]}, alt="Two."),
}
each = pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)


def boxes(figure):
    """Left, top, width and height of each box."""
    for rect in ET.fromstring(figure.svg).iter("rect"):
        yield tuple(float(rect.get(name)) for name in ("x", "y", "width", "height"))


@each
def test_everything_lies_inside(figure):
    """No box and no text reaches beyond the picture."""
    svg = ET.fromstring(figure.svg)
    whole = float(svg.get("width")), float(svg.get("height"))
    for x, y, width, height in boxes(figure):
        assert x >= 0
        assert y >= 0
        assert x + width <= whole[0]
        assert y + height <= whole[1]
    for parent in svg.iter():
        for text in parent.findall("text"):
            length = LETTER * float(text.get("font-size", 12)) * len(text.text)
            anchor = text.get("text-anchor") or parent.get("text-anchor", "start")
            left = float(text.get("x")) - {"start": 0, "middle": 0.5, "end": 1}[anchor] * length
            assert 0 <= left <= whole[0] - length
            assert 0 < float(text.get("y")) <= whole[1]


@each
def test_no_two_boxes_overlap(figure):
    """They stand beside each other, but for what is rounded."""
    assert [
        (a, b)
        for a, b in combinations(boxes(figure), 2)
        if all(
            abs(2 * a[i] + a[j] - 2 * b[i] - b[j]) < a[j] + b[j] - 0.4 for i, j in ((0, 2), (1, 3))
        )
    ] == []


@each
def test_it_takes_the_pages_own_look(figure):
    """No colour of its own; and the page sets a style on the picture, where one would be lost."""
    assert 'style="' not in figure.svg.partition(">")[0]
    assert set(re.findall(r"(?:fill|stroke)[:=]\"?([^;\"]+)", figure.svg)) <= {
        *("currentColor", "none", "var(--color-brand-primary, currentColor)")
    }


@each
def test_names_are_text(figure):
    """Whatever they hold."""
    assert "<b>" not in figure.svg
    assert "<b>" not in figure._repr_html_()
