"""Draw how two tensors broadcast: shapes aligned from the right, then both tensors expanded."""

from collections.abc import Iterator

import torch
from torch import Tensor

from claimbook.teach.figure import BRAND, CELL, CHAR, Figure, cell, drawing, number, text

COLUMN, LINE, PAD = 44, 18, 10
OWN = f"stroke:{BRAND};fill:{BRAND};fill-opacity:.15"
COPY = "stroke:currentColor;fill:none;stroke-dasharray:3 3"
FAINT = ' opacity=".6"'


def broadcast(a: Tensor, b: Tensor) -> Figure:
    """Draw both shapes aligned from the right, then both tensors expanded to the result's shape.

    Cells that the tensor holds are filled; repeated ones are dashed. A size in brackets is added
    by broadcasting.

    Raises ValueError if the result has more than two dimensions or no element, and torch's own
    RuntimeError if the shapes do not broadcast.

    >>> print(broadcast(torch.tensor([[0], [10]]), torch.tensor([1, 2, 3])).alt)
    Shapes (2, 1) and (3,) broadcast to (2, 3).
    Aligned from the right: dim -2: 2 and (1) give 2; dim -1: 1 and 3 give 3.
    a, stretched: 0 0 0 / 10 10 10, of which it holds 2 of 6.
    b, stretched: 1 2 3 / 1 2 3, of which it holds 3 of 6.
    """
    shape: torch.Size = torch.broadcast_shapes(a.shape, b.shape)
    if len(shape) > 2 or not shape.numel():
        raise ValueError(f"broadcast() draws results of up to two dimensions, not {tuple(shape)}")
    operands = [_Operand("a", a, shape), _Operand("b", b, shape)]
    sizes = [*(each.aligned() for each in operands), [str(size) for size in shape]]
    head = f"Shapes {tuple(a.shape)} and {tuple(b.shape)} broadcast to {tuple(shape)}."
    words = [head, _rule(sizes), *(each.words() for each in operands)]
    return Figure(_draw(operands, sizes), "\n".join(words))


class _Operand:
    """One of the two tensors, expanded to the result's shape."""

    def __init__(self, name: str, tensor: Tensor, shape: torch.Size) -> None:
        self.tensor, self.ndim, self.whole = tensor, len(shape), tensor.shape == shape
        self.title = name if self.whole else f"{name}, stretched"
        own = torch.zeros(shape, dtype=torch.bool, device="cpu")
        own[tuple(slice(size) for size in (1,) * (self.ndim - tensor.ndim) + tensor.shape)] = True
        planes = [t[(None,) * (2 - self.ndim)].tolist() for t in (tensor.expand(shape), own)]
        self.rows = [
            [(number(value), held) for value, held in zip(*row, strict=True)]
            for row in zip(*planes, strict=True)
        ]
        """Rows of cells: the value as text, and whether the tensor holds it (or repeats it)."""

    def aligned(self) -> list[str]:
        """Return its sizes, with those that broadcasting adds in brackets."""
        return ["(1)"] * (self.ndim - self.tensor.ndim) + [str(size) for size in self.tensor.shape]

    def words(self) -> str:
        """Describe it."""
        rows = " / ".join(" ".join(value for value, _ in row) for row in self.rows)
        count = len(self.rows) * len(self.rows[0])
        held = "" if self.whole else f", of which it holds {self.tensor.numel()} of {count}"
        return f"{self.title}: {rows}{held}."

    def cells(self, left: float, top: float, each: float) -> Iterator[str]:
        """Draw its cells; those that it repeats are dashed and pale."""
        for i, row in enumerate(self.rows):
            for j, (value, held) in enumerate(row):
                drawn = cell(left + each * j, top + CELL * i, each, value, OWN if held else COPY)
                yield f"<g{'' if held else FAINT}>{drawn}</g>"


def _rule(sizes: list[list[str]]) -> str:
    dims = zip(range(-len(sizes[2]), 0), *sizes, strict=True)
    steps = "; ".join(f"dim {dim}: {x} and {y} give {z}" for dim, x, y, z in dims)
    return f"Aligned from the right: {steps}." if steps else "There is no dimension to align."


def _draw(operands: list[_Operand], sizes: list[list[str]]) -> str:
    parts, left, top = [], float(PAD), PAD + 4 * LINE
    for row, (name, line) in enumerate(zip(("a", "b", "result"), sizes, strict=True)):
        y = PAD + LINE * row + 12
        parts.append(text(PAD, y, name, "name"))
        columns = enumerate(line, start=2)
        parts += [text(PAD + COLUMN * i, y, size, "size", "end") for i, size in columns]
    for operand in operands:
        rows = operand.rows
        each = max(CELL, PAD + CHAR * max(len(value) for row in rows for value, _ in row))
        parts.append(text(left, top + 12, operand.title, "title"))
        parts += operand.cells(left, top + LINE, each)
        left += max(each * len(rows[0]), CHAR * 12) + 3 * PAD
    width = max(PAD + COLUMN * (len(sizes[2]) + 1), left - 3 * PAD)
    return drawing(width + PAD, top + LINE + CELL * len(rows) + PAD, "".join(parts))
