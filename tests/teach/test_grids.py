"""What `grids` draws, read back from its SVG, against the tensors themselves."""

import xml.etree.ElementTree as ET
from itertools import groupby

import pytest
import torch

from claimbook.teach import grids


def cells(figure):
    """Each drawn value as (text, x, y, shade), in reading order of the drawing."""
    svg = ET.fromstring(figure.svg)
    texts = [t.text for t in svg.iter("text") if t.get("class") == "value"]
    for text, rect in zip(texts, svg.iter("rect"), strict=True):
        yield text, float(rect.get("x")), float(rect.get("y")), rect.get("style").split(":")[-1]


def rows(figure):
    """The drawn values line by line, as far as they stand at one height."""
    ordered = sorted(cells(figure), key=lambda cell: (cell[2], cell[1]))
    return [[int(cell[0]) for cell in line] for _, line in groupby(ordered, key=lambda c: c[2])]


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (2, 2, 3), (0,), (2, 0)])
def test_rows_and_planes_are_those_of_the_tensor(shape):
    """Every row of the last dimension is a line, top to bottom; torch says what it holds."""
    tensor = torch.arange(torch.Size(shape).numel()).reshape(shape)
    flat = tensor.reshape(-1, shape[-1] if shape else 1).tolist() if tensor.numel() else []
    assert rows(grids({"t": tensor}, alt="One.")) == flat


def test_strides_do_not_matter():
    """A transposed tensor is drawn as it is indexed, not as it is stored."""
    tensor = torch.arange(6).view(2, 3).t()
    assert rows(grids({"t": tensor}, alt="One.")) == tensor.tolist()


def test_a_value_has_the_shade_of_its_source():
    """In a cat, each part looks like the tensor it came from, and the two differ."""
    a, b = torch.tensor([1, 2]), torch.tensor([3, 4])
    drawn = list(cells(grids({"a": a, "b": b, "cat": torch.cat([b, a])}, alt="Three.")))
    shade = {text: shade for text, _, _, shade in drawn[:4]}
    assert [shade for _, _, _, shade in drawn[4:]] == [shade[text] for text in "3412"]
    assert shade["1"] == shade["2"] != shade["3"] == shade["4"]


def test_shades_by_group():
    """With a function, values of equal result share a shade, and others do not."""
    shades = [c[3] for c in cells(grids({"t": torch.arange(4)}, alt="x", group=lambda v: v % 2))]
    assert shades[0] == shades[2] != shades[1] == shades[3]


def test_what_is_picked_out_is_darker():
    """Also where the picture begins with it."""
    for values in ([5, 0, 5], [0, 5, 0]):
        drawn = cells(grids({"t": torch.tensor(values)}, alt="x", group=bool))
        shades = {text: float(shade) for text, _, _, shade in drawn}
        assert shades["5"] > shades["0"]


def test_colours_by_group():
    """Each group has its colour, in the order in which the groups are first seen."""
    figure = grids({"t": torch.tensor([3, 1, 2, 3])}, alt="x", group=int, colours="red green blue")
    styles = [rect.get("style") for rect in ET.fromstring(figure.svg).iter("rect")]
    found = [style.split("fill:")[1].split(";")[0] for style in styles]
    assert found == ["red", "green", "blue", "red"]


def test_grids_go_on_below():
    """Those for which a line has no room; each value is drawn once."""
    tensors = {str(n): torch.arange(24).view(2, 3, 4) + 1000 * n for n in range(6)}
    figure = grids(tensors, alt="Six.")
    assert len({(x, y) for _, x, y, _ in cells(figure)}) == 6 * 24
    assert float(ET.fromstring(figure.svg).get("width")) <= 405


def test_titles_and_words():
    """Title, shape and values stand in the text alternative; titles are escaped in the picture."""
    figure = grids({"<b>": torch.tensor([[[True]], [[False]]]), "n": torch.tensor(0.5)}, alt="Two.")
    assert figure.alt == "Two.\n<b>, shape (2, 1, 1): True // False\nn, shape (): 0.5"
    texts = [t.text for t in ET.fromstring(figure.svg).iter("text")]
    assert texts == ["<b>", "True", "False", "n", "0.5"]


@pytest.mark.parametrize("tensors", [{}, {"t": torch.zeros(1, 1, 1, 1)}])
def test_what_cannot_be_drawn_is_refused(tensors):
    """No tensor, or too many dimensions."""
    with pytest.raises(ValueError, match="grids"):
        grids(tensors, alt="Nothing.")
