"""
Where Python's overhead stops mattering
=======================================

Each pass of a Python loop has a fixed price. A loop over the numbers of a tensor pays it once for
each number; one call on the whole tensor pays it once for all of them. Between the two lie loops
over pieces of the tensor. The price, measured once, predicts the time of each of these loops, to
within a factor of four.
"""

# %%
# One by one, or all at once
# --------------------------
# The work is ``x + x``, done in three ways. A loop over a tensor makes a tensor of each number and
# calls PyTorch for it. A loop over a list of numbers stays in Python. One call of PyTorch goes over
# all numbers in compiled code.
#
# The picture shows the time for each number, in tensors of more and more numbers. For a loop this
# time soon stops falling. With one call it falls to less than a hundredth, because all numbers
# share the price of the call. For a single number the list is faster than the call. For many
# numbers, the loop over the tensor takes more than a hundred times as long as the call, and the
# loop over the list more than ten times as long.

import matplotlib.pyplot as plt
import torch

from claimbook.teach import compare, observe
from claimbook.teach.plots import legend

x = torch.ones(2**20)


def seconds(work):
    """Return the seconds that one call of the work takes, in the best of five rounds."""
    return min(compare(work, lambda: None, rounds=5).a)


sizes = [4**power for power in range(11)]
looped = sizes[:7]
ones = x[: 2**16].tolist()
listed = sizes[:9]
tensors = [seconds(lambda t=x[:n]: [a + a for a in t]) / n for n in looped]
numbers = [seconds(lambda t=ones[:n]: [a + a for a in t]) / n for n in listed]
call = [seconds(lambda t=x[:n]: t + t) / n for n in sizes]
observe(tensors[-1] > tensors[1] / 3, "a loop's price is not shared")
observe(call[-1] < call[0] / 100, "the call's price is shared")
observe(numbers[0] < call[0], "on one number the list is faster")
observe(numbers[-1] > 10 * call[-1], "on many the call is faster")
observe(tensors[-1] > 100 * call[-1], "and much faster than a loop over a tensor")

fig, axes = plt.subplots(figsize=(8, 4), layout="constrained")
fig.suptitle("A loop's price is per number, a call's is shared by all numbers")
fig.set_label("Time per number: level for both loops, falling from as high for the one call.")
axes.set(xlabel="numbers in the tensor", ylabel="seconds per number")
axes.loglog(looped, tensors, "s--", color="C1", label="loop over the tensor")
axes.loglog(listed, numbers, "^-.", color="C2", label="loop over a list")
axes.loglog(sizes, call, "o-", color="C0", label="x + x")
legend(fig)
plt.show()

# %%
# Cut into pieces
# ---------------
# Now a quarter of a million numbers are cut into pieces, and a loop goes over the pieces. The
# arithmetic stays the same. If the price of a pass is all that the loop adds to it, two
# measurements are enough to predict the time:
#
# .. code-block:: text
#
#     time = passes * price of a pass + time of one call on everything
#
# The price is measured on pieces of a single number. For every size of the pieces, the prediction
# is within a factor of four of the measured time. The loop over the smallest pieces takes more than
# thirty times as long as the one over the largest.

NUMBERS = 2**18
out = torch.empty(NUMBERS)


def in_pieces(size, passes):
    """Return a function that adds a number of pieces of a given size in a loop."""
    pairs = list(zip(*(t[: size * passes].split(size) for t in (x, out)), strict=True))
    return lambda: [torch.add(piece, piece, out=result) for piece, result in pairs]


def in_calls(work):
    """Return the time of the work, in multiples of one call on everything."""
    return compare(work, in_pieces(NUMBERS, passes=1), rounds=15).best


price = in_calls(in_pieces(1, passes=2**10)) / 2**10
pieces = [4**power for power in range(3, 10)]
measured = [in_calls(in_pieces(size, passes=NUMBERS // size)) for size in pieces]
predicted = [NUMBERS / size * price + 1 for size in pieces]
for one, other in zip(measured, predicted, strict=True):
    observe(1 / 4 < one / other < 4, "passes times price, and the work")
observe(measured[0] > 30 * measured[-1], "small pieces are slow")
observe(measured[-2] < 2, "large ones are not")

fig, axes = plt.subplots(figsize=(8, 4), layout="constrained")
fig.suptitle("A loop over large pieces is as fast as one call")
fig.set_label("The time falls with the size of the pieces, along the prediction, and levels off.")
axes.set(xlabel="numbers in each piece", ylabel="time / time of one call")
axes.loglog(pieces, predicted, "-", color="C2", label="predicted")
axes.loglog(pieces, measured, "o", color="C1", label="measured")
half = price * NUMBERS
axes.axvline(half, color="C0", linestyle=":", label=f"half is overhead: {half:,.0f}")
legend(fig)
plt.show()

# %%
# The dotted line marks the size of a piece at which the price of a pass equals the work in it. This
# size depends on the machine and on the operation, not on the length of the loop.
#
# To take away
# ------------
# * What a loop adds is the number of its passes times the price of a pass.
# * A loop over the numbers of a tensor is slow. A loop over large pieces is not, and may stay.
#
# The chapter :doc:`/memory/vectorization` shows how to do without loops. Related statements:
#
# * :claim:`the-price-is-per-pass`
# * :claim:`a-hundred-cost-as-much-as-one`
