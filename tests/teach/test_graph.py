"""What `graph` draws, against torch's own graph."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest
import torch
from torch import nn

from claimbook.teach import graph
from claimbook.teach.figure import NARROW, Figure
from claimbook.teach.layers import rows_and_routes


def shapes(figure: Figure) -> tuple[int, int]:
    """How many boxes and arrows stand in the SVG."""
    return figure.svg.count('class="node"'), figure.svg.count('class="edge"')


def count(tensor: torch.Tensor) -> tuple[int, int]:
    """How many nodes and edges torch has, by a walk of its own: depth first, keyed by node."""
    edges = {}

    def visit(node):
        if node not in edges:
            edges[node] = [child for child, _ in node.next_functions if child is not None]
            for child in edges[node]:
                visit(child)

    visit(tensor.grad_fn)
    return len(edges), sum(map(len, edges.values()))


def deep_residual() -> torch.Tensor:
    """Ten linear layers, each with a way around it: some 50 nodes."""
    x = torch.ones(2, 4)
    for _ in range(10):
        x = x + nn.Linear(4, 4)(x).relu()
    return x.sum()


def diamond() -> torch.Tensor:
    """One tensor used three times, twice by the same operation."""
    h = torch.ones(3, requires_grad=True).exp()
    return h * h + h.sin()


def many_results() -> torch.Tensor:
    """Two results of one operation, both used."""
    first, second = torch.ones(4, requires_grad=True).split(2)
    return first.sum() + second.prod()


class Twice(torch.autograd.Function):
    """An operation written in Python."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


@pytest.mark.parametrize("make", [deep_residual, diamond, many_results])
def test_every_node_and_edge_of_torchs_graph_is_drawn_once(make):
    """The picture has as many boxes and arrows as torch has nodes and edges, and says so."""
    tensor = make()
    nodes, edges = count(tensor)
    figure = graph(tensor)
    assert shapes(figure) == (nodes, edges)
    assert figure.alt.startswith(f"Autograd graph: {nodes} nodes, {edges} edges.\n")


def test_words_name_operations_results_leaves_and_missing_inputs():
    """The text alternative holds the whole graph: operations, names, shapes and targets."""
    w = torch.ones(3, 2, requires_grad=True)
    y = torch.ones(4, 3) @ w
    assert graph((y * y).mean(), {"w": w, "y": y}).alt.splitlines() == [
        "Autograd graph: 4 nodes, 4 edges.",
        "1. MeanBackward0 passes gradients to 2.",
        "2. MulBackward0 passes gradients to 3, 3.",
        "3. MmBackward0 (y, 1 input without gradient) passes gradients to 4.",
        "4. AccumulateGrad (w, shape (3, 2)) ends here.",
    ]


def test_leaf_is_named_by_identity_not_by_value():
    """Of two equal leaves only the one that was named gets the name."""
    a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    assert re.findall(r"\((.*), shape", graph(a + b, {"b": b}).alt) == ["leaf", "b"]


def test_operation_written_in_python_is_drawn_with_its_own_name():
    """A custom Function appears under the name that torch gives its backward."""
    out = Twice.apply(torch.ones(2, requires_grad=True))
    assert "1. TwiceBackward passes gradients to 2." in graph(out).alt


@pytest.mark.parametrize("requires_grad", [True, False])
def test_tensor_without_grad_fn_is_refused(requires_grad):
    """A leaf, and a tensor made without gradients, have no graph; the message says why."""
    with pytest.raises(ValueError, match="no grad_fn, so there is no graph to draw: it is a leaf"):
        graph(torch.ones(2, requires_grad=requires_grad))


def test_names_are_text_whatever_they_hold():
    """Markup in a name is shown, in the picture and in the words, and never becomes markup."""
    w = torch.ones(2, requires_grad=True)
    html = graph(w.sum(), {'<script>alert("1")</script>&': w})._repr_html_()
    assert "<script" not in html
    assert html.count("&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;") == 2


def test_page_gets_a_labelled_picture_and_its_words():
    """The HTML is one well-formed figure: a labelled image, then the same in words."""
    html = graph(diamond())._repr_html_()
    tags = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag, attrs):
            tags.append((tag, dict(attrs)))

    Tags().feed(html)
    assert [tag for tag, _ in tags[:2]] == ["figure", "svg"]
    assert tags[1][1]["role"] == "img"
    assert tags[1][1]["aria-label"] == "Autograd graph: 5 nodes, 6 edges."
    assert "<details><summary>The picture in words</summary>" in html


def test_arrows_point_down_and_pass_beside_boxes():
    """Each route goes one row down per step, and only its ends are nodes."""
    edges = [(0, 1), (1, 2), (2, 3), (0, 3), (1, 3), (0, 2)]
    rows, routes = rows_and_routes(4, edges)
    row_of = {item: i for i, row in enumerate(rows) for item in row}
    assert [(route[0], route[-1]) for route in routes] == edges
    assert all(row_of[b] == row_of[a] + 1 for route in routes for a, b in pairwise(route))
    assert all(item >= 4 for route in routes for item in route[1:-1])


def test_arrows_do_not_cross_where_they_need_not():
    """Two separate ways down stay beside each other, whichever was found first."""
    rows, _ = rows_and_routes(5, [(0, 1), (0, 2), (1, 4), (2, 3)])
    assert rows in ([[0], [1, 2], [4, 3]], [[0], [2, 1], [3, 4]])


def test_a_wide_graph_is_drawn_narrower():
    """Where a row would be too wide for a phone, a note of two parts takes two lines."""
    x = torch.ones(2, requires_grad=True)
    difference = x - x.detach()
    figure = graph(x.round() + difference, {"x": x, "x - x.detach()": difference})
    assert int(re.match(r'<svg width="(\d+)"', figure.svg)[1]) <= NARROW
    assert ">1 input without gradient<" in figure.svg
    assert "(x - x.detach(), 1 input without gradient)" in figure.alt
