"""Draw the graph that autograd recorded, from the actual ``grad_fn`` objects."""

from collections.abc import Mapping

from torch import Tensor
from torch.autograd.graph import Node

from claimbook.teach.boxes import Box, draw
from claimbook.teach.figure import Figure

Names = Mapping[str, Tensor]
Edges = list[tuple[int, int]]


def graph(tensor: Tensor, names: Names | None = None) -> Figure:
    """Draw the graph that ``tensor.backward()`` walks: a box per node, arrows along the gradients.

    ``names`` maps names to tensors of the graph, leaves or results; an unnamed leaf is shown as
    "leaf". Leaves are shown with their shapes. Inputs that need no gradient have no node, as in
    torch; they are counted in the box of the operation that uses them.

    Raises ValueError for a tensor without ``grad_fn``.

    >>> import torch
    >>> w = torch.ones(3, requires_grad=True)
    >>> print(graph((w * 2).sum(), {"w": w}).alt)
    Autograd graph: 3 nodes, 2 edges.
    1. SumBackward0 passes gradients to 2.
    2. MulBackward0 (1 input without gradient) passes gradients to 3.
    3. AccumulateGrad (w, shape (3,)) ends here.
    """
    nodes, edges = nodes_of(tensor)
    boxes = [_box(node, names or {}) for node in nodes]
    return Figure(draw(boxes, edges), describe(boxes, edges))


def nodes_of(tensor: Tensor) -> tuple[list[Node], Edges]:
    """Return the nodes and edges behind ``tensor``; ValueError if it has none."""
    if tensor.grad_fn is None:
        raise ValueError(
            "this tensor has no grad_fn, so there is no graph to draw: it is a leaf, "
            "or it was computed without gradients (no_grad, detach, inputs that need none)"
        )
    return walk(tensor.grad_fn)


def walk(root: Node) -> tuple[list[Node], Edges]:
    """Return the nodes reachable from ``root``, nearest first, and the edges as pairs of indices.

    An operation that uses the same tensor twice has two edges to the same node.
    """
    nodes, edges = [root], []
    position = {root: 0}
    for node in nodes:  # grows while we walk it
        for child, _ in node.next_functions:
            if child is None:
                continue
            if child not in position:
                position[child] = len(nodes)
                nodes.append(child)
            edges.append((position[node], position[child]))
    return nodes, edges


def label(node: Node, names: Names) -> tuple[str, str]:
    """Return the name of a node's operation, and its leaf or its named results."""
    title = node.name().rpartition("::")[2]
    variable = getattr(node, "variable", None)  # only AccumulateGrad holds one: the leaf
    if variable is not None:
        name = next((name for name, tensor in names.items() if tensor is variable), "leaf")
        return title, f"{name}, shape {tuple(variable.shape)}"
    return title, ", ".join(name for name, tensor in names.items() if tensor.grad_fn is node)


def _box(node: Node, names: Names) -> Box:
    title, name = label(node, names)
    if hasattr(node, "variable"):
        return Box(title, name.replace(", shape (", "\nshape ("), leaf=True)
    return Box(title, "\n".join([name] * bool(name) + _without_gradient(node)))


def _without_gradient(node: Node) -> list[str]:
    count = sum(child is None for child, _ in node.next_functions)
    return [f"{_count(count, 'input')} without gradient"] if count else []


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def describe(boxes: list[Box], edges: Edges) -> str:
    """Describe a graph in words."""
    lines = [f"Autograd graph: {_count(len(boxes), 'node')}, {_count(len(edges), 'edge')}."]
    for i, box in enumerate(boxes):
        targets = ", ".join(str(end + 1) for start, end in edges if start == i)
        note = f" ({box.beside})" if box.note else ""
        goal = f"passes gradients to {targets}" if targets else "ends here"
        lines.append(f"{i + 1}. {box.title}{note} {goal}.")
    return "\n".join(lines)
