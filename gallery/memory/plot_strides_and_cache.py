"""
How memory order and time go together
=====================================

The same numbers, read in a different order, can take several times as long. Memory comes to the
processor in lines of many bytes. So reading neighbours is cheap and jumping is not, once the
numbers do not fit into the cache. Many operations of PyTorch choose the cheap order by themselves,
whatever the shape says. This lab also finds some that cannot; these are slower on small tensors
too.
"""

# %%
# What a jump costs
# -----------------
# A matrix lies row after row in memory, so a walk down a column jumps by a whole row with each
# step. ``take`` reads the numbers at a list of positions. It does the same work for every list, so
# only the order can make a difference. The first panel compares two orders, down the columns and at
# random, with the order of the rows, over larger and larger matrices. In a small matrix the order
# hardly matters: 60 by 60 numbers stay in the cache after the first time. In the largest, columns
# take more than 1.5 times as long as rows.
#
# In the second panel, a quarter of a million numbers are read, from places that lie farther and
# farther apart. On most processors a line has 64 bytes, which are 16 of these numbers. From a step
# of 16 on, each number needs a line of its own. At a step of 64 the numbers take more than twice as
# long to read as at a step of 1.

import matplotlib.pyplot as plt
import torch

from claimbook.teach import compare, observe
from claimbook.teach.plots import legend, log_ticks


def rows_and_columns(n):
    """Return the positions of an n by n matrix in the order of its rows, and of its columns."""
    positions = torch.arange(n * n).view(n, n)
    return positions.flatten(), positions.t().flatten()


def slowdown(values, order, reference):
    """Return the time to read the values in one order over the time in another."""
    return compare(lambda: values.take(order), lambda: values.take(reference), rounds=5).best


torch.manual_seed(0)
sides = [60 * 2**power for power in range(6)]
by_columns, at_random = [], []
for n in sides:
    values, (rows, columns) = torch.ones(n * n), rows_and_columns(n)
    by_columns.append(slowdown(values, columns, rows))
    at_random.append(slowdown(values, torch.randperm(n * n), rows))
observe(by_columns[0] < 1.5, "in the cache the order does not matter")
observe(by_columns[-1] > 1.5, "beyond it, it does")

steps = [2**power for power in range(7)]
reads, values = torch.arange(2**18), torch.ones(2**18 * steps[-1])
apart = [slowdown(values, reads * step, reads) for step in steps]
observe(apart[-1] > 2, "numbers far apart take longer")

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True, layout="constrained")
fig.suptitle("Jumps are free within the cache and costly beyond it")
fig.set_label("Time against reading in order rises with the size of the matrix and with the step.")
left.set(xlabel="side of the matrix", ylabel="time / time in order")
log_ticks(left, x=sides)
left.plot(sides, by_columns, "^--", color="C1", label="down the columns")
left.plot(sides, at_random, "D:", color="C3", label="in random order")
right.set(xlabel="step in numbers of 4 bytes")
log_ticks(right, x=steps, y=[1, 2, 3, 5, 10, 20])
right.plot(steps, apart, "o-", color="C0", label="with a fixed step")
legend(fig)
plt.show()

# %%
# Who pays
# --------
# Now operations on the transpose of a matrix are compared with the same operations on the matrix
# itself. The numbers of the transpose lie where they lay before; only the strides are swapped. Take
# the large matrix first, of 3000 by 3000. ``abs_`` and ``sum`` may go through the numbers in any
# order and choose that of memory, so they lose little or nothing. ``add_`` has two tensors that lie
# in different orders, and must go against one of them. It takes more than twice as long. Copying
# one order into the other takes longer too.
#
# A loop written in Python cannot choose its order. Over the rows of the transpose, which are the
# columns of the matrix, it takes more than 1.5 times as long.
#
# The small matrix, of 100 by 100, stays in the cache, and the loop loses next to nothing. ``add_``
# and ``copy_`` still take longer where torch uses wide vector instructions, because these load
# neighbours at once. ``abs_`` and ``sum`` lose a little, which is noticed only because the work is
# so short.


def on_the_transpose(side):
    """Return for each operation the time on the transpose over the time on the matrix."""
    m, other = torch.ones(side, side), torch.zeros(side, side)
    turned = m.t()
    works = {
        "abs_": lambda x: x.abs_(),
        "sum": lambda x: x.sum(),
        "other.copy_": other.copy_,
        "other.add_": other.add_,
        "sum of each row, in a loop": lambda x: [row.sum() for row in x.unbind()],
    }
    return {
        name: compare(lambda w=work: w(turned), lambda w=work: w(m), rounds=7).best
        for name, work in works.items()
    }


small, large = on_the_transpose(100), on_the_transpose(3000)
loop = "sum of each row, in a loop"
observe(max(large["abs_"], large["sum"]) < 1.5, "some operations lose nothing")
observe(large["other.add_"] > 2, "some lose a lot")
observe(large["other.copy_"] > 1.3, "copying costs time")
observe(large[loop] > 1.5 > small[loop], "a loop pays as well, beyond the cache")
if torch.backends.cpu.get_cpu_capability() != "DEFAULT":
    observe(min(small["other.add_"], small["other.copy_"]) > 1.5, "the others also within it")

fig, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
fig.suptitle("Transposing costs nothing until an operation must go against memory")
fig.set_label("abs_, sum: little lost. copy_, add_: slower. The loop: slower on the large matrix.")
axes.set(xlabel="time on m.t() / time on m")
log_ticks(axes, x=[1, 2, 3, 5, 10])
axes.axvline(1, color=plt.rcParams["text.color"], linewidth=1)
axes.plot(list(large.values()), list(large), "o", color="C2", label="3000 by 3000")
axes.plot(list(small.values()), list(small), "D", color="C1", fillstyle="none", label="100 by 100")
axes.margins(x=0.15, y=0.15)
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * In large tensors the time of a cheap operation depends on how much memory has to be fetched, not
#   on how many numbers are read.
# * Jumps cost time if the numbers do not fit into the cache.
# * An operation that goes against memory order can be slower within the cache too.
# * A transpose is free. The operation after it may not be, so measure that one.
#
# The chapter :doc:`/memory/strides` explains what strides are. Related statements:
#
# * :claim:`against-memory-order-misses-the-cache`
# * :claim:`cost-depends-on-the-operation`
# * :claim:`small-transposes-cost-time-too`
# * :claim:`a-contiguous-copy-must-be-earned`
