"""
How exact a sum is
==================

The same numbers in another order can have a different sum, because each addition rounds. How far
the sum is off depends on how the numbers are added up, and on how many there are. The error of a
running total grows with the number of additions, while that of ``torch.sum`` hardly grows at all.
In 16 bits a running total does worse than drift: from some point on it stands still.
"""

# %%
# A thousand orders
# -----------------
# Three thousand random numbers are shuffled a thousand times, and added up in two ways: one after
# the other into a running total, which is what NumPy's ``cumsum`` does, and by ``torch.sum``. The
# exact sum is taken from ``float64``, which has room enough for every digit of such numbers. The
# histograms count the errors, in steps from one ``float32`` number to the next.
#
# The running totals have more than twenty different values. Their errors are spread more than five
# times as widely as those of ``torch.sum``, which adds in small groups first. The errors of the
# running totals need not lie around 0; where their middle lies depends on the numbers.

import matplotlib.pyplot as plt
import numpy as np
import torch

from claimbook.teach.plots import legend


def running(numbers):
    """Return the running totals of a tensor's rows, in the tensor's own dtype."""
    return torch.from_numpy(np.cumsum(numbers.numpy(), axis=-1))


torch.manual_seed(0)
x = torch.rand(3000)
shuffled = x[torch.rand(1000, len(x)).argsort()]
exact = x.double().sum()
step = torch.nextafter(exact.float(), torch.tensor(torch.inf)) - exact.float()
one_by_one = (running(shuffled)[:, -1] - exact) / step
by_sum = (shuffled.sum(1) - exact) / step
assert len(one_by_one.unique()) > 20, "the order decides the sum"
assert one_by_one.std() > 5 * by_sum.std(), "torch.sum is less spread"

fig, (top, bottom) = plt.subplots(2, 1, figsize=(8, 4.2), sharex=True, layout="constrained")
fig.suptitle("One sum, a thousand orders, many results")
fig.set_label("The errors of running totals are spread widely; those of torch.sum are near 0.")
bins = torch.arange(one_by_one.min().floor(), one_by_one.max() + 1)
top.hist(one_by_one, bins, color="C1", label="running total")
bottom.hist(by_sum, bins, color="C0", label="torch.sum")
bottom.set(xlabel="error, in steps of float32")
for axes in (top, bottom):
    axes.set(ylabel="orders")
    axes.axvline(0, color=plt.rcParams["text.color"], linestyle=":", linewidth=1)
legend(fig)
plt.show()

# %%
# Longer, and in fewer bits
# -------------------------
# Sixty-four columns of random numbers are added up in three dtypes. A running total adds one row
# after the other. The picture shows the relative error, as a root mean square over the columns. The
# dashed lines are the running totals, the solid ones ``torch.sum`` of the same numbers. The dtypes
# lie apart vertically because they differ in their number of digits.
#
# After 16384 numbers, the running total in ``float32`` is off by more than ten times as much as
# ``torch.sum``. The running total in ``bfloat16`` has lost more than nine tenths of the sum. It
# stands still at 256: from there on this dtype goes in steps of 2, and adding at most 1, half a
# step, is rounded away. ``float16`` stands still later, and has lost more than half. ``torch.sum``
# adds both dtypes in ``float32``, and is off by little more than the one rounding at the end.


def errors(dtype, length):
    """Return the errors of running totals and of sums, at each power of two from 16 on."""
    numbers = torch.rand(length, 64).to(dtype)
    exact = numbers.double().cumsum(0)
    total, drift, rounded = torch.zeros(64, dtype=dtype), [], []
    for count, row in enumerate(numbers, 1):
        total += row
        if count >= 16 and count.bit_count() == 1:
            sums = numbers[:count].T.contiguous().sum(1)
            for result, kept in ((total, drift), (sums, rounded)):
                kept.append((result / exact[count - 1] - 1).square().mean().sqrt())
    return torch.stack(drift), torch.stack(rounded)


lengths = [2**power for power in range(4, 15)]
halves = {torch.bfloat16: (0.9, "D", "C3"), torch.float16: (0.5, "s", "C1")}
styles = halves | {torch.float32: (0, "o", "C0")}

fig, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
fig.suptitle("A running total gets worse with length, torch.sum does not")
fig.set_label(
    "Dashed lines of running totals rise in each dtype; solid ones of torch.sum are level."
)
axes.set(xlabel="numbers added", ylabel="relative error", xscale="log", yscale="log")
for dtype, (lost, marker, colour) in styles.items():
    drift, rounded = errors(dtype, lengths[-1])
    assert drift[-1] > lost, "what has fewer bits stands still sooner"
    assert drift[-1] > 10 * rounded[-1], "running totals drift"
    assert rounded.max() < torch.finfo(dtype).eps, "sums stay within a step"
    name = str(dtype).removeprefix("torch.")
    axes.plot(lengths, drift, "--", marker=marker, color=colour, label=f"{name}, running")
    axes.plot(lengths, rounded, "-", marker=marker, color=colour, label=f"{name}, torch.sum")
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * A sum of floats depends on the order, so compare two sums with a tolerance.
# * A running total loses most. ``torch.sum`` over the whole tensor is usually more exact.
# * Never keep a running total in 16 bits.
#
# The chapter :doc:`/memory/summation` shows what helps where the last digits count. Related
# statements:
#
# * :claim:`running-totals-drift`
# * :claim:`a-running-total-gets-stuck`
# * :claim:`sum-adds-in-groups-without-compensation`
# * :claim:`half-precision-is-added-in-float32`
