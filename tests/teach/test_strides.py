"""What `strides` draws, read back from its SVG and held against torch."""

import re
import xml.etree.ElementTree as ET

import pytest
import torch

from claimbook.teach import strides
from claimbook.teach.figure import NARROW

BASE = torch.arange(100, 112).view(3, 4)
VIEWS = {
    "whole": BASE,
    "transpose": BASE.t(),
    "columns": BASE[:, 1::2],
    "rows": BASE[1:],
    "expanded": BASE[:, :1].expand(3, 2),
    "diagonal": BASE.diagonal(1),
    "windows": BASE[2].unfold(0, 2, 1),
    "cube": BASE.view(3, 2, 2).permute(2, 0, 1),
    "scalar": BASE[1, 2],
}


def cells(figure):
    """Position, value and the indices below, of each box."""
    for group in ET.fromstring(figure.svg).iter("g"):
        texts = [(t.get("class"), t.text) for t in group.iter("text")]
        (position, value), indices = (text for _, text in texts[:2]), texts[2:]
        yield int(position), int(value), [text for _, text in indices]


def byte_address(tensor):
    return tensor.data_ptr() - tensor.untyped_storage().data_ptr()


@pytest.mark.parametrize("tensor", VIEWS.values(), ids=VIEWS)
def test_every_index_stands_under_what_it_reads(tensor):
    """Indexing gives the value of the box, at the address that the position says."""
    seen = []
    for position, value, indices in cells(strides(tensor)):
        assert value == 100 + position
        for text in indices:
            element = tensor[tuple(map(int, re.findall(r"\d+", text)))]
            assert element.item() == value
            assert byte_address(element) == position * tensor.element_size()
            seen.append(text)
    assert len(seen) == len(set(seen)) == tensor.numel()


@pytest.mark.parametrize("tensor", VIEWS.values(), ids=VIEWS)
def test_words_say_the_same(tensor):
    """The text alternative names each index with its position, and the metadata of torch."""
    figure = strides(tensor, "View")
    drawn = {(index, position) for position, _, below in cells(figure) for index in below}
    said = re.findall(r"(\[[\d,]*\]) (?:reads )?position (\d+)", figure.alt)
    assert {(index, int(position)) for index, position in said} == drawn
    start = f"View: shape {tuple(tensor.shape)}, strides {tensor.stride()}, offset "
    assert figure.alt.startswith(f"{start}{tensor.storage_offset()}.\n")


def test_arrows_are_as_long_as_the_strides():
    """One arrow a dimension, in proportion to its stride."""
    svg = strides(BASE.view(3, 2, 2)).svg
    ends = re.findall(r'class="step" d="M([\d.]+),[\d.]+H([\d.]+)', svg)
    long, middle, short = (float(end) - float(start) for start, end in ends)
    assert (long, middle) == pytest.approx((4 * short, 2 * short), abs=0.5)


def test_a_step_that_no_element_takes_is_a_dot():
    """Along a dimension of size 1 torch's stride may reach beyond the storage."""
    x, end = re.search(r'd="M([\d.]+),[\d.]+H([\d.]+)', strides(BASE[None]).svg).groups()
    assert BASE[None].stride() == (12, 4, 1)
    assert x == end


def test_what_is_not_read_is_pale():
    """Only boxes without a reader are drawn pale."""
    groups = ET.fromstring(strides(BASE[:, 1:3]).svg).iter("g")
    assert [g.get("opacity") is not None for g in groups] == [True, False, False, True] * 3


def test_an_empty_slice_reads_nothing():
    """A slice behind the end has an offset and no reader; its picture is drawn all the same."""
    figure = strides(torch.arange(4)[4:])
    assert figure.alt.endswith("No index reads.")
    assert not any(indices for _, _, indices in cells(figure))


@pytest.mark.parametrize("tensor", [torch.empty(0), torch.zeros(25)])
def test_what_fills_no_row_is_refused(tensor):
    """A storage that is empty, or longer than a row can show, is refused in words."""
    with pytest.raises(ValueError, match=f"not {tensor.numel()}$"):
        strides(tensor)


def test_a_long_title_takes_two_lines():
    """It is not what makes the picture of a few boxes too wide for a phone."""
    figure = strides(torch.arange(6).view(2, 3)[:, 1], "The second column of a 2 by 3 matrix")
    svg = ET.fromstring(figure.svg)
    assert float(svg.get("width")) <= NARROW
    heads = [text.text for text in svg.iter("text") if text.get("class") == "head"]
    assert heads == ["The second column of a 2 by 3 matrix", "shape (2,), strides (3,), offset 1"]
    assert figure.alt.startswith(": ".join(heads))
