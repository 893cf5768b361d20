"""Helpers for pages: draw autograd graphs and charts; measure speed ratios and peak memory."""

from claimbook.teach.bars import bars
from claimbook.teach.bits import bits
from claimbook.teach.broadcast import broadcast
from claimbook.teach.graph import graph
from claimbook.teach.grids import grids
from claimbook.teach.lines import lines
from claimbook.teach.memory import peak_memory
from claimbook.teach.observation import observe
from claimbook.teach.saved import saved
from claimbook.teach.speed import compare
from claimbook.teach.strides import strides

__all__ = [
    "bars",
    "bits",
    "broadcast",
    "compare",
    "graph",
    "grids",
    "lines",
    "observe",
    "peak_memory",
    "saved",
    "strides",
]
