"""Lay out an acyclic graph: one row per depth, arrows pointing down."""

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from itertools import pairwise
from statistics import fmean

Edge = tuple[int, int]
GAP = 24


def rows_and_routes(count: int, edges: Sequence[Edge]) -> tuple[list[list[int]], list[list[int]]]:
    """Assign each of ``count`` nodes a row and each edge a route through the rows.

    A node is one row below the lowest node that points to it (longest path). An edge across several
    rows gets a waypoint in each row between, numbered from ``count`` up, so that it passes beside
    the boxes (K. Sugiyama et al., 1981, doi:10.1109/TSMC.1981.4308636).

    Returns the rows, top first, and one route per edge, from its start to its end.

    >>> rows_and_routes(3, [(0, 1), (1, 2), (0, 2)])
    ([[0], [1, 3], [2]], [[0, 1], [1, 2], [0, 3, 2]])
    """
    rows = _rows(count, edges)
    depth = {node: number for number, row in enumerate(rows) for node in row}
    routes = [_route(edge, depth, rows) for edge in edges]
    _untangle(rows, [pair for route in routes for pair in pairwise(route)])
    return rows, routes


def _rows(count: int, edges: Sequence[Edge]) -> list[list[int]]:
    """Return rows of nodes, by the length of the longest path that leads to each."""
    sorter = TopologicalSorter[int](dict.fromkeys(range(count), ()))
    for start, end in edges:
        sorter.add(end, start)
    sorter.prepare()
    rows = []
    while row := sorter.get_ready():  # all nodes that only the rows above point to
        rows.append(sorted(row))
        sorter.done(*row)
    return rows


def _route(edge: Edge, depth: Mapping[int, int], rows: list[list[int]]) -> list[int]:
    start, end = edge
    route = [start]
    for row in rows[depth[start] + 1 : depth[end]]:
        waypoint = sum(map(len, rows))
        row.append(waypoint)
        route.append(waypoint)
    return [*route, end]


def _untangle(rows: list[list[int]], steps: list[Edge]) -> None:
    """Sort each row by the mean position of what points to it in the row above."""
    for upper, row in pairwise(rows):
        place = {item: i - (len(upper) - 1) / 2 for i, item in enumerate(upper)}
        means = {item: fmean(place[a] for a, b in steps if b == item) for item in row}
        row.sort(key=means.__getitem__)


def row_width(row: Sequence[int], widths: Sequence[float]) -> float:
    """Return the width of a row of boxes, with the gaps between them."""
    return sum(widths[item] for item in row) + GAP * (len(row) - 1)


def xs_of(
    rows: Sequence[Sequence[int]], widths: Sequence[float], middle: float
) -> dict[int, float]:
    """Return the centre of each box and waypoint, with each row centred."""
    xs = {}
    for row in rows:
        left = middle - row_width(row, widths) / 2
        for item in row:
            xs[item] = left + widths[item] / 2
            left += widths[item] + GAP
    return xs
