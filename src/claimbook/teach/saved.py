"""Draw an autograd graph with the tensors that each node keeps for the backward pass."""

from collections.abc import Iterator

from torch import Tensor
from torch.autograd.graph import Node

from claimbook.teach.figure import Figure
from claimbook.teach.graph import Names, draw_graph

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
    return draw_graph(tensor, names or {}, _saved)


def _saved(node: Node, name: str) -> str:
    kept = [f"{name} {what}" for name, what in _kept(node)]
    freed = kept and all(item.endswith(" freed") for item in kept)
    note = "freed" if freed else ", ".join(kept) or "saves no tensor"
    return f"{name}: {note}" if name else note


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
