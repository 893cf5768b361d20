"""
Where Python's overhead stops mattering
=======================================

A pass of a Python loop has a fixed price. It is paid for each number, if the loop goes over
numbers, and once for all of them, if one call takes the whole tensor. Between the two lie loops
over pieces: the larger the piece, the less the price shows. This lab measures that price once, and
predicts from it the time of every loop.
"""

# %%
# One by one, or all at once
# --------------------------
# The work is ``x + x``, on one number and on a million. A loop over a tensor makes a tensor of each
# number and calls PyTorch for it. A loop over a list stays in Python. One call goes over all
# the numbers in compiled code. Drawn is the time per number.
#
# For a loop it soon falls no further, however many there are. With one call it falls to less
# than a hundredth, since one price is shared by more and more numbers. On a single number a call is
# no better than the loops, and the list wins. On many, the loop over the tensor takes more than a
# hundred times as long for each number, and the list more than ten times as long.

import matplotlib.pyplot as plt
import torch

from claimbook.teach import compare

CARD = {"layout": "constrained"}
BELOW = {"loc": "outside lower center", "ncols": 3, "frameon": False}

x = torch.ones(2**20)


def seconds(work):
    """Return the seconds that one call of the work takes, in the best of five rounds."""
    return min(compare(work, lambda: None, rounds=5).a)


sizes = [4**power for power in range(11)]
looped = [size for size in sizes if size <= 2**12]
ones = x[: 2**16].tolist()
listed = [size for size in sizes if size <= 2**16]
tensors = [seconds(lambda t=x[:n]: [a + a for a in t]) / n for n in looped]
numbers = [seconds(lambda t=ones[:n]: [a + a for a in t]) / n for n in listed]
call = [seconds(lambda t=x[:n]: t + t) / n for n in sizes]
assert tensors[-1] > tensors[1] / 3, "a loop's price is not shared"
assert call[-1] < call[0] / 100, "the call's price is shared"
assert numbers[0] < call[0], "on one number the list is faster"
assert numbers[-1] > 10 * call[-1], "on many the call is faster"
assert tensors[-1] > 100 * call[-1], "and much faster than a loop over a tensor"

fig, axes = plt.subplots(figsize=(8, 4), **CARD)
fig.suptitle("A loop's price is per number, a call's is shared by all numbers")
fig.set_label("Time per number: level for both loops, falling from as high for the one call.")
axes.set(xlabel="numbers in the tensor", ylabel="seconds per number")
axes.loglog(looped, tensors, "s--", color="C1", label="loop over the tensor")
axes.loglog(listed, numbers, "^-.", color="C2", label="loop over a list")
axes.loglog(sizes, call, "o-", color="C0", label="x + x")
fig.legend(**BELOW)
plt.show()

# %%
# Cut into pieces
# ---------------
# Now a quarter of a million numbers, always, cut into pieces. The loop goes over the pieces. It
# makes as many calls as there are pieces, and the arithmetic stays the same. If the price of a pass
# is all there is to it, two measurements tell the time of every such loop:
#
# .. code-block:: text
#
#     time = passes * price of a pass + time of one call on everything
#
# The price is measured on pieces of a single number. For every piece the prediction is within a
# factor of four of what is measured, though the times lie more than thirty times apart.

NUMBERS = 2**18
out = torch.empty(NUMBERS)


def in_pieces(size, passes):
    """Return a loop that adds so many pieces of a size."""
    pairs = list(zip(*(t[: size * passes].split(size) for t in (x, out)), strict=True))

    def loop():
        for piece, result in pairs:
            torch.add(piece, piece, out=result)

    return loop


def in_calls(work):
    """Return the time of the work, in times of one call on everything."""
    return compare(work, in_pieces(NUMBERS, passes=1), rounds=15).best


price = in_calls(in_pieces(1, passes=2**10)) / 2**10
pieces = [4**power for power in range(4, 10)]
measured = [in_calls(in_pieces(size, passes=NUMBERS // size)) for size in pieces]
predicted = [NUMBERS / size * price + 1 for size in pieces]
for one, other in zip(measured, predicted, strict=True):
    assert 1 / 4 < one / other < 4, "passes times price, and the work"
assert measured[0] > 30 * measured[-1], "small pieces are slow"
assert measured[-2] < 2, "large ones are not"

half = price * NUMBERS

fig, axes = plt.subplots(figsize=(8, 4), **CARD)
fig.suptitle("A loop over large pieces is as fast as one call")
fig.set_label("The time falls with the size of the pieces, along the prediction, and levels off.")
axes.set(xlabel="numbers in each piece", ylabel="time / time of one call")
axes.loglog(pieces, predicted, "-", color="C2", label="predicted")
axes.loglog(pieces, measured, "o", color="C1", label="measured")
axes.axvline(half, color="C0", linestyle=":", label=f"half is overhead: {half:,.0f} numbers")
fig.legend(**BELOW)
plt.show()

# %%
# The dotted line is where the price of a pass equals the work in it: there half of the time is
# overhead. Ten times to the right of it, less than a tenth is. That place depends on the machine
# and on the operation, and not on the length of the loop.
#
# More work for each number moves it to the left
# ----------------------------------------------
# What counts is the work in a pass. The numbers of a matrix product are used many times each, so
# a pass needs fewer of them. A stack of small matrices is multiplied by one call and by a loop over
# the matrices. With 4 by 4 matrices the loop takes more than five times as long, with 256 by 256
# less than twice as long. A matrix of 64 by 64 holds as many numbers as a piece of 4096: the loop
# over such matrices loses less than the one over such pieces.

matrix_sides = [4, 16, 64, 256]
slower = []
for side in matrix_sides:
    batch = torch.ones(max(2, 2**17 // side**2), side, side)
    times = compare(lambda b=batch: [m @ m for m in b], lambda b=batch: b @ b, rounds=5)
    slower.append(times.best)
assert slower[0] > 5, "small products in a loop are slow"
assert slower[-1] < 2, "large ones are not"
assert slower[2] < measured[pieces.index(64 * 64)], "more work, less loss"

fig, axes = plt.subplots(figsize=(8, 3.4), **CARD)
fig.suptitle("With enough work in each pass the loop may stay")
fig.set_label("The loop's time against one call's: tall bars for small matrices, 1 for large.")
axes.set(xlabel="matrices multiplied in a pass", ylabel="time / time of one call", yscale="log")
bars = axes.bar([f"{side} by {side}" for side in matrix_sides], slower, color="C3", width=0.5)
axes.bar_label(bars, fmt="{:.1f}", padding=2)
axes.axhline(1, color=plt.rcParams["text.color"], linewidth=1)
plt.show()

# %%
# To take away
# ------------
# * The price of a loop is the number of its passes times the price of a pass.
# * Measure the price of a pass once, and the time of the work: then it is known whether a loop
#   hurts.
# * Loops over numbers always hurt. Loops over large pieces do not, and may stay.
#
# The chapter :doc:`/memory/vectorization` shows how loops are written away; see the claims
# :claim:`the-price-is-per-pass`, :claim:`a-hundred-cost-as-much-as-one` and
# :claim:`loops-over-numbers-do-not-scale`.
