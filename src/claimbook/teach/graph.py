"""Draw the graph that autograd recorded, from the actual ``grad_fn`` objects."""

from collections.abc import Callable, Mapping

from torch import Tensor
from torch.autograd.graph import Node

from claimbook.teach.boxes import Box, draw
from claimbook.teach.figure import Figure

Names = Mapping[str, Tensor]
Edges = list[tuple[int, int]]
Note = Callable[[Node, str], str]
"""Returns what stands below an operation, given its node and the name of its results."""


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
    return draw_graph(tensor, names or {}, _inputs)


def _inputs(node: Node, name: str) -> str:
    """Return the name of a node's results, and the number of inputs without gradient."""
    count = sum(child is None for child, _ in node.next_functions)
    inputs = f"{_count(count, 'input')} without gradient" if count else ""
    return "\n".join(filter(None, [name, inputs]))


def draw_graph(tensor: Tensor, names: Names, note: Note) -> Figure:
    """Draw the nodes and edges behind ``tensor``; ``note`` says what stands below an operation."""
    if tensor.grad_fn is None:
        raise ValueError(
            "this tensor has no grad_fn, so there is no graph to draw: it is a leaf, "
            "or it was computed without gradients (no_grad, detach, inputs that need none)"
        )
    nodes, edges = walk(tensor.grad_fn)
    boxes = [_box(node, names, note) for node in nodes]
    return Figure(draw(boxes, edges), _describe(boxes, edges))


def walk(root: Node) -> tuple[list[Node], Edges]:
    """Return the nodes reachable from ``root``, nearest first, and the edges as pairs of indices.

    An operation that uses the same tensor twice has two edges to the same node.
    """
    nodes, edges, position = [root], [], {root: 0}
    for node in nodes:  # grows while we walk it
        for child in (child for child, _ in node.next_functions if child is not None):
            if child not in position:
                position[child] = len(nodes)
                nodes.append(child)
            edges.append((position[node], position[child]))
    return nodes, edges


def _box(node: Node, names: Names, note: Note) -> Box:
    title = node.name().rpartition("::")[2]
    variable = getattr(node, "variable", None)  # only AccumulateGrad holds one: the leaf
    if variable is None:
        results = ", ".join(name for name, tensor in names.items() if tensor.grad_fn is node)
        return Box(title, note(node, results))
    name = next((name for name, tensor in names.items() if tensor is variable), "leaf")
    return Box(title, f"{name}\nshape {tuple(variable.shape)}", leaf=True)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _describe(boxes: list[Box], edges: Edges) -> str:
    """Describe a graph in words."""
    lines = [f"Autograd graph: {_count(len(boxes), 'node')}, {_count(len(edges), 'edge')}."]
    for i, box in enumerate(boxes):
        targets = ", ".join(str(end + 1) for start, end in edges if start == i)
        note = f" ({box.beside})" if box.note else ""
        goal = f"passes gradients to {targets}" if targets else "ends here"
        lines.append(f"{i + 1}. {box.title}{note} {goal}.")
    return "\n".join(lines)
