"""Draw boxes with a few lines of text, and arrows between them, as SVG in the page's colours."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from claimbook.teach.figure import BRAND, CHAR, FONT, NARROW, drawing
from claimbook.teach.layers import Edge, row_width, rows_and_routes, xs_of

LINE, PAD, BETWEEN, PORT = 16, 10, 42, 14


@dataclass(frozen=True)
class Box:
    """A node of a drawing."""

    title: str
    note: str = ""  # the second line; of two lines, drawn in one where there is room
    leaf: bool = False  # drawn round and in the brand colour

    @property
    def beside(self) -> str:
        """The note in one line."""
        return self.note.replace("\n", ", ")


def draw(boxes: Sequence[Box], edges: Sequence[Edge]) -> str:
    """Return an ``<svg>`` with a box per item of ``boxes`` and an arrow per item of ``edges``.

    The edges are pairs of indices of ``boxes``, without cycles. Arrows point down.
    """
    rows, routes = rows_and_routes(len(boxes), edges)
    texts = [[line for line in (box.title, box.beside) if line] for box in boxes]
    if 2 * PAD + max(row_width(row, _widths(texts, rows)) for row in rows) > NARROW:
        texts = [[line for line in (box.title, *box.note.split("\n")) if line] for box in boxes]
    widths, height = _widths(texts, rows), PAD + LINE * max(2, *map(len, texts))
    width = 2 * PAD + max(row_width(row, widths) for row in rows)
    xs = xs_of(rows, widths, width / 2)
    tops = {item: PAD + (height + BETWEEN) * i for i, row in enumerate(rows) for item in row}
    starts, ends = _ports(routes, 0, 1, xs, widths), _ports(routes, -1, -2, xs, widths)
    shapes = [
        _box(texts[i], widths[i], height, xs[i], tops[i], leaf=box.leaf)
        for i, box in enumerate(boxes)
    ]
    shapes += [
        _arrow([start, *(xs[waypoint] for waypoint in route[1:-1]), end], tops[route[0]], height)
        for route, start, end in zip(routes, starts, ends, strict=True)
    ]
    whole = 2 * PAD + (height + BETWEEN) * len(rows) - BETWEEN
    return drawing(width, whole, "".join(shapes))


def _widths(texts: Sequence[Sequence[str]], rows: Sequence[Sequence[int]]) -> list[float]:
    """Return the width of each box, then 0 for each waypoint."""
    widths = [2 * PAD + CHAR * max(map(len, lines)) for lines in texts]
    return widths + [0.0] * (sum(map(len, rows)) - len(texts))


def _box(
    lines: Sequence[str], width: float, height: int, x: float, top: float, *, leaf: bool
) -> str:
    colour, radius = (BRAND, LINE + PAD / 2) if leaf else ("currentColor", 3)
    first = top + height / 2 + LINE * (0.25 - 0.5 * (len(lines) - 1))
    texts = "".join(
        f'<text x="{x:.1f}" y="{first + LINE * i:.1f}">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f'<g class="node" text-anchor="middle" style="{FONT}">'
        f'<rect x="{x - width / 2:.1f}" y="{top}" width="{width:.1f}" height="{height}" '
        f'rx="{radius}" style="fill:none;stroke:{colour}"/>{texts}</g>'
    )


def _ports(
    routes: list[list[int]], end: int, beside: int, xs: dict[int, float], widths: Sequence[float]
) -> list[float]:
    """Return where each route meets the box at its ``end``; at the same box, side by side."""
    ports = []
    for route in routes:
        box = route[end]
        mates = sorted((r for r in routes if r[end] == box), key=lambda r: xs[r[beside]])
        place = next(i for i, mate in enumerate(mates) if mate is route) - (len(mates) - 1) / 2
        ports.append(xs[box] + place * min(PORT, widths[box] / (len(mates) + 1)))
    return ports


def _arrow(xs: Sequence[float], top: float, height: int) -> str:
    """Draw an arrow from the box at ``top``, one row down per x: curved between rows."""
    path = f"M{xs[0]:.1f},{top + height}"
    for i, (x, next_x) in enumerate(pairwise(xs), 1):
        upper, lower = top + (height + BETWEEN) * i - BETWEEN, top + (height + BETWEEN) * i
        middle = (upper + lower) / 2
        path += f"V{upper}C{x:.1f},{middle} {next_x:.1f},{middle} {next_x:.1f},{lower}"
    head = f"M{xs[-1] - 4:.1f},{lower - 7}l4,7l4,-7"
    return f'<path class="edge" d="{path}{head}" fill="none" stroke="currentColor"/>'
