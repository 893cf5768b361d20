"""What pages draw and measure with: autograd graphs, line charts, speed ratios, peak memory."""

from claimbook.teach.bars import bars
from claimbook.teach.graph import graph
from claimbook.teach.lines import lines
from claimbook.teach.memory import peak_memory
from claimbook.teach.speed import compare

__all__ = ["bars", "compare", "graph", "lines", "peak_memory"]
