"""What `broadcast` draws, read back from its SVG and held against torch."""

import xml.etree.ElementTree as ET

import pytest
import torch

from claimbook.teach import broadcast

SHAPES = [
    ((4, 1), (3,)),
    ((2, 3), (3,)),
    ((3,), (2, 3)),
    ((2, 3), (2, 3)),
    ((2, 3), ()),
    ((), ()),
    ((3,), (1,)),
    ((1, 1), (4, 1)),
    ((1, 3), (1, 1)),
]


def pair(shapes):
    """Two tensors of these shapes whose values are all different."""
    a, b = (torch.arange(torch.Size(shape).numel()).reshape(shape) for shape in shapes)
    return a, b + 100


def cells(figure):
    """Value and whether it is drawn as the tensor's own, in reading order: all of a, all of b."""
    for group in ET.fromstring(figure.svg).iter("g"):
        yield int(group.find("text").text), "dasharray" not in group.find("rect").get("style")


@pytest.mark.parametrize("shapes", SHAPES)
def test_values_are_those_of_torch(shapes):
    """The cells are what torch.broadcast_tensors gives, and each element is solid just once."""
    tensors = pair(shapes)
    drawn = list(cells(broadcast(*tensors)))
    half = len(drawn) // 2
    stretched = torch.broadcast_tensors(*tensors)
    for part, tensor, whole in zip((drawn[:half], drawn[half:]), tensors, stretched, strict=True):
        assert [value for value, _ in part] == whole.flatten().tolist()
        assert sorted(value for value, own in part if own) == tensor.flatten().tolist()


@pytest.mark.parametrize("shapes", SHAPES)
def test_sizes_stand_below_each_other(shapes):
    """Sizes share a column with those they meet, counted from the right; what is added is (1)."""
    a, b = pair(shapes)
    columns = {}
    for text in ET.fromstring(broadcast(a, b).svg).iter("text"):
        if text.get("class") == "size":
            columns.setdefault(float(text.get("x")), []).append(text.text)
    result = (a + b).shape
    assert len(columns) == len(result)
    for dim, (_, column) in zip(range(-len(result), 0), sorted(columns.items()), strict=True):
        told = [str(t.size(dim)) if t.ndim >= -dim else "(1)" for t in (a, b)]
        assert column == [*told, str(result[dim])]


def test_the_same_in_words():
    """The text alternative names shapes, rule, values and how much is held."""
    words = broadcast(torch.tensor([[0.5], [1.0]]), torch.tensor([True, False])).alt
    assert words.splitlines() == [
        "Shapes (2, 1) and (2,) broadcast to (2, 2).",
        "Aligned from the right: dim -2: 2 and (1) give 2; dim -1: 1 and 2 give 2.",
        "a, stretched: 0.5 0.5 / 1 1, of which it holds 2 of 4.",
        "b, stretched: True False / True False, of which it holds 2 of 4.",
    ]
    assert "no dimension" in broadcast(torch.tensor(1), torch.tensor(2)).alt
    assert "\na: 3 5.\nb, stretched: 1 1," in broadcast(torch.tensor([3, 5]), torch.tensor(1)).alt


def test_what_cannot_be_drawn_is_refused():
    """Too many dimensions, no element, or shapes that torch refuses too."""
    for a, b in (((2, 1, 1), (3,)), ((0,), (1,))):
        with pytest.raises(ValueError, match="broadcast"):
            broadcast(torch.zeros(a), torch.zeros(b))
    with pytest.raises(RuntimeError, match="broadcast"):
        broadcast(torch.zeros(4, 3), torch.zeros(4))
