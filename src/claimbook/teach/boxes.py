"""Draw boxes with two lines of text, and arrows between them, as SVG in the page's colours."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

from claimbook.teach.figure import BRAND, CHAR, FONT, drawing
from claimbook.teach.layers import Edge, rows_and_routes

LINE, PAD, GAP, ROW, PORT = 16, 10, 24, 84, 14
BOX_HEIGHT = 2 * LINE + PAD


@dataclass(frozen=True)
class Box:
    """A node of a drawing."""

    title: str
    note: str = ""  # the second line
    leaf: bool = False  # drawn round and in the brand colour


def draw(boxes: Sequence[Box], edges: Sequence[Edge]) -> str:
    """Return an ``<svg>`` with a box per item of ``boxes`` and an arrow per item of ``edges``.

    The edges are pairs of indices of ``boxes``, without cycles. Arrows point down.
    """
    rows, routes = rows_and_routes(len(boxes), edges)
    widths = [2 * PAD + CHAR * max(len(box.title), len(box.note)) for box in boxes]
    widths += [0.0] * (sum(map(len, rows)) - len(boxes))  # waypoints
    width = 2 * PAD + max(_row_width(row, widths) for row in rows)
    height = 2 * PAD + ROW * (len(rows) - 1) + BOX_HEIGHT
    xs = _xs(rows, widths, width / 2)
    tops = {item: PAD + ROW * i for i, row in enumerate(rows) for item in row}
    starts, ends = _ports(routes, 0, 1, xs, widths), _ports(routes, -1, -2, xs, widths)
    shapes = [_box(box, widths[i], xs[i], tops[i]) for i, box in enumerate(boxes)]
    shapes += [
        _arrow([start, *(xs[waypoint] for waypoint in route[1:-1]), end], tops[route[0]])
        for route, start, end in zip(routes, starts, ends, strict=True)
    ]
    return drawing(width, height, "".join(shapes))


def _row_width(row: Sequence[int], widths: Sequence[float]) -> float:
    return sum(widths[item] for item in row) + GAP * (len(row) - 1)


def _xs(rows: Sequence[Sequence[int]], widths: Sequence[float], middle: float) -> dict[int, float]:
    """Return the centre of each box and waypoint, with each row centred."""
    xs = {}
    for row in rows:
        left = middle - _row_width(row, widths) / 2
        for item in row:
            xs[item] = left + widths[item] / 2
            left += widths[item] + GAP
    return xs


def _box(box: Box, width: float, x: float, top: float) -> str:
    colour, radius = (BRAND, BOX_HEIGHT / 2) if box.leaf else ("currentColor", 3)
    lines = [line for line in (box.title, box.note) if line]
    first = top + BOX_HEIGHT / 2 + LINE * (0.25 - 0.5 * (len(lines) - 1))
    texts = "".join(
        f'<text x="{x:.1f}" y="{first + LINE * i:.1f}">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f'<g class="node" text-anchor="middle" style="{FONT}">'
        f'<rect x="{x - width / 2:.1f}" y="{top}" width="{width:.1f}" height="{BOX_HEIGHT}" '
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


def _arrow(xs: Sequence[float], top: float) -> str:
    """Draw an arrow from the box at ``top``, one row down per x: curved between rows."""
    path = f"M{xs[0]:.1f},{top + BOX_HEIGHT}"
    for i, (x, next_x) in enumerate(pairwise(xs), 1):
        upper, lower = top + ROW * (i - 1) + BOX_HEIGHT, top + ROW * i
        middle = (upper + lower) / 2
        path += f"V{upper}C{x:.1f},{middle} {next_x:.1f},{middle} {next_x:.1f},{lower}"
    head = f"M{xs[-1] - 4:.1f},{lower - 7}l4,7l4,-7"
    return f'<path class="edge" d="{path}{head}" fill="none" stroke="currentColor"/>'
