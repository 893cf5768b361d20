"""Draw an autograd graph with the tensors that each node keeps for the backward pass."""

from collections.abc import Iterator

from torch import Tensor
from torch.autograd.graph import Node

from claimbook.teach.boxes import Box, draw
from claimbook.teach.figure import Figure
from claimbook.teach.graph import Names, describe, label, nodes_of

RAW = "_raw_saved_"


def saved(tensor: Tensor, names: Names | None = None) -> Figure:
    """Draw the same as ``graph``, with the saved tensors in each operation's box, by torch's names.

    "freed" marks tensors that torch has released, "overwritten" one that was modified in place.
    ``names`` maps names to tensors of the graph, leaves or results.

    Raises ValueError for a tensor without ``grad_fn``.

    >>> import torch
    >>> w = torch.ones(3, requires_grad=True)
    >>> y = w.exp().sum()
    >>> print(saved(y, {"w": w}).alt)
    Autograd graph: 3 nodes, 2 edges.
    1. SumBackward0 (saves no tensor) passes gradients to 2.
    2. ExpBackward0 (result (3,)) passes gradients to 3.
    3. AccumulateGrad (w, shape (3,)) ends here.
    """
    nodes, edges = nodes_of(tensor)
    boxes = [_box(node, names or {}) for node in nodes]
    return Figure(draw(boxes, edges), describe(boxes, edges))


def _box(node: Node, names: Names) -> Box:
    title, name = label(node, names)
    if hasattr(node, "variable"):
        return Box(title, name, leaf=True)
    return Box(title, f"{name}: {_note(node)}" if name else _note(node))


def _note(node: Node) -> str:
    kept = [f"{name} {what}" for name, what in _kept(node)]
    if kept and all(item.endswith(" freed") for item in kept):
        return "freed"
    return ", ".join(kept) or "saves no tensor"


def _kept(node: Node) -> Iterator[tuple[str, str]]:
    """Yield each saved tensor: torch's name, and its shape, "freed" or "overwritten"."""
    for raw in (name for name in dir(node) if name.startswith(RAW)):
        name = raw.removeprefix(RAW)
        # A Function written in Python has one attribute for all its tensors.
        attribute = "saved_tensors" if name == "tensors" else f"_saved_{name}"
        try:
            value = getattr(node, attribute)
        except RuntimeError as error:
            yield name, "freed" if "freed" in str(error) else "overwritten"
            continue
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Tensor):
                yield name, str(tuple(item.shape))
