"""Draw tensors side by side as grids of values, coloured by where each value came from."""

from collections.abc import Callable, Iterator, Mapping

from torch import Tensor

from claimbook.teach.figure import BRAND, CELL, CHAR, NARROW, Figure, cell, drawing, number, text

LEAST, GAP, BESIDE, HEAD, PAD = 20, 8, 14, 22, 10
EDGE = "stroke:currentColor"
Group = Callable[[float], object]
Plane = list[list[float]]


def grids(
    tensors: Mapping[str, Tensor], *, alt: str, group: Group | None = None, colours: str = ""
) -> Figure:
    """Draw each tensor under its title; planes of a 3-D tensor are drawn below each other.

    A value has the shade of the first tensor that holds it, so draw the sources first and give
    them different values. With ``group``, values with equal ``group(value)`` share a shade instead,
    or one of ``colours``, such as ``"red green"``, in order of first appearance; of two groups
    ``False`` and ``True``, the values of ``True`` are the darker ones.

    ``alt`` says what the picture shows; title, shape and values of each tensor are appended.

    Raises ValueError without tensors, or for one of more than three dimensions.

    >>> import torch
    >>> a, b = torch.tensor([1, 2]), torch.tensor([3, 4])
    >>> print(grids({"a": a, "b": b, "stack": torch.stack([a, b])}, alt="a over b.").alt)
    a over b.
    a, shape (2,): 1 2
    b, shape (2,): 3 4
    stack, shape (2, 2): 1 2 / 3 4
    """
    if not tensors or any(tensor.ndim > 3 for tensor in tensors.values()):
        raise ValueError("grids() draws at least one tensor, each of at most three dimensions")
    planes = {title: _planes(tensor) for title, tensor in tensors.items()}
    fills = _fills(planes, group, colours)
    texts = [number(v) for drawn in planes.values() for p in drawn for row in p for v in row]
    each = max(LEAST, PAD + CHAR * max(map(len, texts), default=0))
    parts, x, y, line, width = [], PAD, PAD, 0, 0
    for title, drawn in planes.items():
        wide = max(CHAR * len(title), each * max((len(p[0]) for p in drawn if p), default=0))
        if x > PAD and x + wide + PAD > NARROW:
            x, y, line = PAD, y + line + HEAD, 0
        parts += [text(x, y + 12, title, "title"), *_cells(drawn, x, y + HEAD, each, fills)]
        line = max(line, HEAD + sum(len(p) * CELL + GAP for p in drawn))
        width, x = max(width, int(x + wide)), int(x + wide) + BESIDE
    words = [f"{title}, {_words(tensors[title], drawn)}" for title, drawn in planes.items()]
    svg = drawing(width + PAD, y + line, "".join(parts))
    return Figure(svg, "\n".join([" ".join(alt.split()), *words]))


def _planes(tensor: Tensor) -> list[Plane]:
    planes: list[Plane] = tensor[(None,) * (3 - tensor.ndim)].tolist()
    return planes


def _words(tensor: Tensor, drawn: list[Plane]) -> str:
    planes = (" / ".join(" ".join(map(number, row)) for row in plane) for plane in drawn)
    return f"shape {tuple(tensor.shape)}: {' // '.join(planes)}"


def _fills(planes: Mapping[str, list[Plane]], group: Group | None, colours: str) -> dict[str, str]:
    """Return value as text → style of its box."""
    groups: dict[str, object] = {}
    for place, drawn in enumerate(planes.values()):
        for value in (value for plane in drawn for row in plane for value in row):
            groups.setdefault(number(value), group(value) if group else place)
    order = list(dict.fromkeys(groups.values()))
    if {*order} == {False, True}:  # what the question picks out is darker
        order = [False, True]
    shades = [0.06 + 0.5 * place / max(len(order) - 1, 1) for place in range(len(order))]
    fills = [f"{EDGE};fill:{colour};fill-opacity:.4" for colour in colours.split()] or [
        f"{EDGE};fill:{BRAND};fill-opacity:{shade:.2f}" for shade in shades
    ]
    return {text: fills[order.index(group)] for text, group in groups.items()}


def _cells(
    drawn: list[Plane], left: float, top: float, width: float, fills: Mapping[str, str]
) -> Iterator[str]:
    for plane in drawn:
        for row in plane:
            for j, value in enumerate(map(number, row)):
                yield cell(left + width * j, top, width, value, fills[value])
            top += CELL
        top += GAP
