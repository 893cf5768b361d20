"""Draw how two tensors broadcast: shapes aligned from the right, then both tensors expanded."""

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
    sizes = [_aligned(a, len(shape)), _aligned(b, len(shape)), [str(size) for size in shape]]
    head = f"Shapes {tuple(a.shape)} and {tuple(b.shape)} broadcast to {tuple(shape)}."
    words = [head, _rule(sizes), *(_words(n, t, shape) for n, t in zip("ab", (a, b), strict=True))]
    return Figure(_draw((a, b), shape, sizes), "\n".join(words))


def _aligned(tensor: Tensor, ndim: int) -> list[str]:
    return ["(1)"] * (ndim - tensor.ndim) + [str(size) for size in tensor.shape]


def _rule(sizes: list[list[str]]) -> str:
    dims = zip(range(-len(sizes[2]), 0), *sizes, strict=True)
    steps = "; ".join(f"dim {dim}: {x} and {y} give {z}" for dim, x, y, z in dims)
    return f"Aligned from the right: {steps}." if steps else "There is no dimension to align."


def _stretched(tensor: Tensor, shape: torch.Size) -> list[list[tuple[str, bool]]]:
    """Return rows of cells: the value as text, and whether the tensor holds it (or repeats it)."""
    own = torch.zeros(shape, dtype=torch.bool, device="cpu")
    own[tuple(slice(size) for size in (1,) * (len(shape) - tensor.ndim) + tensor.shape)] = True
    planes = [t[(None,) * (2 - len(shape))].tolist() for t in (tensor.expand(shape), own)]
    return [
        [(number(value), held) for value, held in zip(*row, strict=True)]
        for row in zip(*planes, strict=True)
    ]


def _title(name: str, tensor: Tensor, shape: torch.Size) -> str:
    return name if tensor.shape == shape else f"{name}, stretched"


def _words(name: str, tensor: Tensor, shape: torch.Size) -> str:
    rows = " / ".join(" ".join(value for value, _ in row) for row in _stretched(tensor, shape))
    held = f", of which it holds {tensor.numel()} of {shape.numel()}"
    return f"{_title(name, tensor, shape)}: {rows}{'' if tensor.shape == shape else held}."


def _draw(tensors: tuple[Tensor, Tensor], shape: torch.Size, sizes: list[list[str]]) -> str:
    parts, left, top = [], float(PAD), PAD + 4 * LINE
    for row, (name, line) in enumerate(zip(("a", "b", "result"), sizes, strict=True)):
        y = PAD + LINE * row + 12
        parts.append(text(PAD, y, name, "name"))
        columns = enumerate(line, start=2)
        parts += [text(PAD + COLUMN * i, y, size, "size", "end") for i, size in columns]
    width = PAD + COLUMN * (len(shape) + 1.0)
    for name, tensor in zip("ab", tensors, strict=True):
        rows = _stretched(tensor, shape)
        each = max(CELL, PAD + CHAR * max(len(value) for row in rows for value, _ in row))
        parts.append(text(left, top + 12, _title(name, tensor, shape), "title"))
        parts += _cells(rows, left, top + LINE, each)
        left += max(each * len(rows[0]), CHAR * 12) + 3 * PAD
        width = max(width, left - 3 * PAD)
    height = top + LINE + CELL * (shape[-2] if len(shape) > 1 else 1) + PAD
    return drawing(width + PAD, height, "".join(parts))


def _cells(rows: list[list[tuple[str, bool]]], left: float, top: float, each: float) -> list[str]:
    return [
        f"<g{'' if held else FAINT}>"
        f"{cell(left + each * j, top + CELL * i, each, value, OWN if held else COPY)}</g>"
        for i, row in enumerate(rows)
        for j, (value, held) in enumerate(row)
    ]
