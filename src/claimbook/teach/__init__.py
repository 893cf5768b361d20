"""Helpers for pages: draw autograd graphs and charts; measure speed ratios and peak memory."""

from claimbook.teach.bars import bars as bars
from claimbook.teach.bits import bits as bits
from claimbook.teach.broadcast import broadcast as broadcast
from claimbook.teach.graph import graph as graph
from claimbook.teach.grids import grids as grids
from claimbook.teach.lines import lines as lines
from claimbook.teach.memory import peak_memory as peak_memory
from claimbook.teach.observation import observe as observe
from claimbook.teach.saved import saved as saved
from claimbook.teach.speed import compare as compare
from claimbook.teach.strides import strides as strides
