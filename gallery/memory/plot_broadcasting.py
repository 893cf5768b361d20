"""
Broadcasting takes no copies
============================

When a row is added to a matrix, the row is not repeated in memory. It is read again for each row of
the matrix, with a stride of 0. So ``x + row`` takes memory for its result and for nothing else. The
copies that ``repeat`` makes have no benefit: they double the memory and cost time. What
broadcasting does not save is the memory for the result.
"""

# %%
# What is read
# ------------
# A row of eight numbers is used for the six rows of a matrix. ``expand`` shows what broadcasting
# does with the row, ``repeat`` makes copies of it. The colour of each place in the picture is the
# position in memory that is read there.

import matplotlib.pyplot as plt
import torch
from matplotlib.colors import PowerNorm

from claimbook.teach import compare, observe, peak_memory
from claimbook.teach.plots import curves, legend, log_ticks


def positions(t):
    """Return the position in its storage of each element of a matrix."""
    return torch.tensor([[number.storage_offset() for number in row] for row in t])


row = torch.ones(8)
read = {"row.expand(6, 8)": row.expand(6, 8), "row.repeat(6, 1)": row.repeat(6, 1)}
counts = [len(positions(t).unique()) for t in read.values()]
assert counts == [8, 48], "expand reads eight numbers, repeat makes them anew"
assert read["row.expand(6, 8)"].stride() == (0, 1), "the stride is 0"

fig, panels = plt.subplots(1, 2, figsize=(8, 3.4), sharey=True, layout="constrained")
fig.suptitle("expand reads one row again and again, repeat makes a row for each")
fig.set_label("First, all rows have the same colours; then the colours go on from row to row.")
for axes, (name, t) in zip(panels, read.items(), strict=True):
    axes.set(title=name, xlabel="column")
    image = axes.imshow(positions(t), norm=PowerNorm(0.5, vmin=0, vmax=47), aspect="auto")
panels[0].set(ylabel="row")
fig.colorbar(image, ax=panels, label="position in memory", shrink=0.8)
plt.show()

# %%
# What it takes
# -------------
# Now a row of 256 numbers is added to matrices of more and more rows. ``peak_memory`` counts the
# most bytes that an operation holds at once. Broadcasting takes the bytes of the result; ``repeat``
# takes as many again for the copies. The copies cost time too, because they are written and then
# read. Where both ways write into the same tensor, the one with ``repeat`` takes more than 1.3
# times as long at every size.

row = torch.ones(256)
heights = [4**power for power in range(2, 7)]
broadcast, repeated, slower = [], [], []
for n in heights:
    x, out = torch.ones(n, 256), torch.empty(n, 256)
    broadcast.append(peak_memory(lambda x=x: x + row))
    repeated.append(peak_memory(lambda x=x, n=n: x + row.repeat(n, 1)))
    assert (broadcast[-1], repeated[-1]) == (x.nbytes, 2 * x.nbytes), "copies double the memory"
    times = compare(
        lambda x=x, n=n, out=out: torch.add(x, row.repeat(n, 1), out=out),
        lambda x=x, out=out: torch.add(x, row, out=out),
        rounds=15,
    )
    slower.append(times.best)
observe(min(slower) > 1.3, "copies cost time")

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
fig.suptitle("Copies double the memory, and take time")
fig.set_label("repeat takes twice the bytes at every size, and more time at every size.")
left.set(xlabel="rows", ylabel="bytes allocated")
left.set(xscale="log", yscale="log")
curves(left, heights, {"x + row": broadcast, "x + row.repeat(n, 1)": repeated})
left.axhline(row.nbytes, color="C2", linestyle=":", label="the row itself")
right.set(xlabel="rows", ylabel="time, repeat / broadcast", xscale="log", ylim=(0, max(slower) + 1))
right.plot(heights, slower, "s--", color="C1")
right.axhline(1, color="C0")
legend(fig)
plt.show()

# %%
# What it does not save
# ---------------------
# Both sides of an operation may be stretched. Between ``n`` points and ``n`` others, each of 32
# coordinates, there are ``n * n`` differences. Neither input is copied. Yet all the differences are
# in memory, and they take 32 times as many bytes as the distances that are computed from them.
# ``torch.cdist`` computes the distances without them.

numbers = [2**power for power in range(4, 10)]
inputs, differences, direct = [], [], []
for n in numbers:
    a, b = torch.ones(n, 32), torch.zeros(n, 32)
    result = torch.cdist(a, b).nbytes
    inputs.append(a.nbytes + b.nbytes)
    differences.append(peak_memory(lambda a=a, b=b: (a[:, None] - b).norm(dim=-1)))
    direct.append(peak_memory(lambda a=a, b=b: torch.cdist(a, b)))
    assert differences[-1] > 30 * result, "the differences are in memory, all of them"
assert direct[-1] < differences[-1] / 10, "cdist takes less than a tenth"

fig, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
fig.suptitle("Nothing is copied, but the result is still large")
fig.set_label("Bytes of all differences lie far above those of cdist and of the inputs.")
axes.set(xlabel="points on each side", ylabel="bytes", yscale="log")
log_ticks(axes, x=numbers)
curves(axes, numbers, {"inputs": inputs, "(a[:, None] - b).norm()": differences, "cdist": direct})
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * A stretched dimension has stride 0: its numbers are read again and take no further memory.
# * ``repeat`` before an elementwise operation costs bytes and time, and gives the same result.
# * The result has its full size. Watch this size when both sides are stretched.
#
# The chapter :doc:`/memory/broadcasting` has the rules. Related statements:
#
# * :claim:`stretched-rows-have-stride-zero`
# * :claim:`bias-is-not-copied`
# * :claim:`a-large-result-is-still-large`
# * :claim:`matmul-copies-what-it-broadcasts`
