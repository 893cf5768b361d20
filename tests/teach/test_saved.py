"""What `saved` draws, against what torch's nodes hold."""

import pytest
import torch

from claimbook.teach import graph, saved


def notes(tensor, names=None):
    """The note of each node in the words of the picture, in their order, by the node's title."""
    lines = saved(tensor, names).alt.splitlines()[1:]
    return {line.split()[1]: line.partition("(")[2].rpartition(")")[0] for line in lines}


class Scale(torch.autograd.Function):
    """An operation written in Python, which saves two tensors and one None."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x, factor, None)
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        x, factor, _ = ctx.saved_tensors
        return grad * factor, (grad * x).sum()


def ones(*shape):
    return torch.ones(shape, requires_grad=True)


@pytest.mark.parametrize(
    ("operation", "note"),
    [
        (lambda x: x.exp(), "result (2, 3)"),
        (lambda x: x.log(), "self (2, 3)"),
        (lambda x: x + x, "saves no tensor"),
        (lambda x: x * torch.ones(3), "other (3,)"),
        (lambda x: x * ones(3), "other (3,), self (2, 3)"),
        (lambda x: x[:, torch.tensor([0, 0])], "indices (2,)"),
        (lambda x: Scale.apply(x, ones()), "tensors (2, 3), tensors ()"),
    ],
)
def test_note_holds_the_saved_tensors(operation, note):
    """Names are torch's, shapes those of the tensors; what is not saved is not listed."""
    assert next(iter(notes(operation(ones(2, 3))).values())) == note


def test_saved_tensors_are_freed_by_backward_and_nodes_stay():
    """Before and after differ in the notes alone; what never saved anything is not "freed"."""
    h = ones(3).exp()
    y = Scale.apply(h + 1, ones()).sum()
    before, drawn_before = notes(y, {"h": h}), graph(y).alt
    y.backward()
    after = notes(y, {"h": h})
    assert graph(y).alt == drawn_before
    assert before["ExpBackward0"] == "h: result (3,)"
    assert after["ExpBackward0"] == "h: freed"
    assert after["ScaleBackward"] == "freed"
    assert after["AddBackward0"] == before["AddBackward0"] == "saves no tensor"
    assert after["AccumulateGrad"] == before["AccumulateGrad"]


def test_retained_tensors_are_shown():
    """With retain_graph nothing is freed."""
    y = ones(3).exp().sum()
    before = saved(y).alt
    y.backward(retain_graph=True)
    assert saved(y).alt == before


def test_overwritten_tensor_is_told():
    """A saved result that was changed in place can no longer be read."""
    h = ones(3).exp()
    y = h.sum()
    h.detach().add_(1)
    assert notes(y)["ExpBackward0"] == "result overwritten"


def test_same_boxes_and_arrows_as_graph():
    """One box per node and one arrow per edge, leaves named, as `graph` draws them."""
    w = ones(3)
    y = (w * w).sum()
    ours, theirs = saved(y, {"w": w}), graph(y, {"w": w})
    for mark in ('class="node"', 'class="edge"'):
        assert ours.svg.count(mark) == theirs.svg.count(mark) > 0
    assert ours.alt.splitlines()[-1] == theirs.alt.splitlines()[-1]


def test_tensor_without_grad_fn_is_refused():
    """A leaf has no graph."""
    with pytest.raises(ValueError, match="no graph to draw"):
        saved(ones(2))
