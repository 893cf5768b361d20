"""
What the bits of a dtype buy
============================

The bits of a float buy reach, the range of sizes that it can hold, and digits. Within its reach, a
dtype rounds large and small numbers equally well, relative to their size. Far outside, a number
becomes infinite or 0 in the dtypes shown here. Fewer bytes speed up everything that only moves
numbers. They say little about arithmetic: in a matrix product, integers of fewer bytes may well
take longer than floats.
"""

# %%
# Reach and digits
# ----------------
# Numbers from ``2**-160`` to ``2**160`` are rounded to four dtypes. For each power of two, the
# picture shows the largest relative error of a thousand numbers between this power and the next.
#
# Every curve has a floor, a level part. There the steps between the numbers of a dtype grow as fast
# as the numbers themselves, and no error exceeds half of ``eps``. More digits make the floor lower.
# To the right of the floor, numbers become infinite. To the left of it, the steps stop shrinking:
# digits are lost one by one, and in the end the number becomes 0.
#
# The floor of ``bfloat16`` is as wide as that of ``float32``, but much higher. ``float16`` has 16
# bits too; its floor is lower than that of ``bfloat16``, but much narrower. ``float8_e5m2`` has
# nearly the reach of ``float16``, with fewer digits.

import matplotlib.pyplot as plt
import torch

from claimbook.teach import compare, observe
from claimbook.teach.plots import legend, log_ticks

torch.manual_seed(0)
powers = torch.arange(-160, 161, dtype=torch.float64)
numbers = (1 + torch.rand(1000, 1, dtype=torch.float64)) * 2.0**powers


def largest_errors(dtype):
    """Return the largest relative error for each power of two, 1 where nothing is left."""
    return (numbers.to(dtype).double() / numbers - 1).abs().clamp(max=1).amax(0)


lines = {
    torch.float8_e5m2: "C3:",
    torch.bfloat16: "C1--",
    torch.float16: "C2-.",
    torch.float32: "C0-",
}
fig, axes = plt.subplots(figsize=(8, 4), layout="constrained")
fig.suptitle("Reach is the width of the floor, digits are its depth")
fig.set_label("Four floors: float32's lies deepest, and the two of 5 exponent bits end early.")
axes.set(xlabel="power of two", ylabel="largest relative error", yscale="log")
for dtype, line in lines.items():
    info, found = torch.finfo(dtype), largest_errors(dtype)
    floor = (2.0**powers >= info.smallest_normal) & (2.0 ** (powers + 1) < info.max)
    gone = (2.0**powers > info.max) | (2.0 ** (powers + 1) < info.tiny * info.eps / 2)
    assert (found[floor] <= info.eps / 2).all(), "no error exceeds half of eps"
    assert (found[floor] > info.eps / 3).all(), "the floor is level"
    assert (found[gone] == 1).all(), "outside nothing is left"
    axes.plot(powers, found, line[2:], color=line[:2], label=str(dtype).removeprefix("torch."))
legend(fig, columns=4)
plt.show()

# %%
# When bytes decide the time
# --------------------------
# The first panel compares the time to copy four million numbers in each dtype with the time in
# ``float32``. The time follows the bytes: with 8 bytes for each number a copy takes more than 1.3
# times as long, with 1 byte less than 0.6 times as long. What kind of number the bytes stand for
# makes no difference.
#
# The second panel does the same for the product of two 256 by 256 matrices. ``int32`` takes more
# than one and a half times as long as ``float32``, which has the same 4 bytes. ``int8`` has a
# quarter of the bytes, but takes more than half as long as ``float32``. For floats there are
# libraries that have been tuned for decades and use every unit of the processor. For ``int32`` and
# ``int8`` there is a plain loop. For ``int64`` torch calls FBGEMM, which has a kernel for
# processors with AVX-512 and a plain loop for all others. So how far ``int64`` is behind
# ``float64`` depends on the processor.
#
# Look at the two dtypes of 16 bits in the picture. A processor that has instructions for their
# products may be faster with them than with ``float32``. A processor that has none must convert
# each number, and may take tens of times as long, although there are half as many bytes. So the lab
# draws these times and asserts nothing about them. On a GPU these dtypes have units of their own,
# Tensor Cores; no CUDA measurement has been recorded yet.

kinds = ("int8", "float16", "bfloat16", "float32", "int32", "float64", "int64")
long, square = torch.ones(2**22), torch.ones(256, 256)
target = torch.empty_like(long)
copying, product = {}, {}
for kind in kinds:
    a, m = (x.to(getattr(torch, kind)) for x in (long, square))
    to = torch.empty_like(a)
    times = compare(lambda to=to, a=a: to.copy_(a), lambda: target.copy_(long))
    copying[kind] = times.best
    product[kind] = compare(lambda m=m: m @ m, lambda: square @ square, rounds=5).best
observe(min(copying["float64"], copying["int64"]) > 1.3, "twice the bytes take longer")
observe(copying["int8"] < 0.6, "a quarter of the bytes takes less time")
observe(product["int32"] > 1.5, "the same bytes, other arithmetic")
observe(product["int8"] > 0.5, "a quarter of the bytes, more than a quarter of the time")

labels = [f"{kind}: {getattr(torch, kind).itemsize}" for kind in kinds]
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True, layout="constrained")
fig.suptitle("The time of a copy follows the bytes, that of a matrix product does not")
fig.set_label("Copying times rise with the bytes; times of products differ for the same bytes.")
for axes, title, times, style in (
    (left, "copying", copying, "C0o"),
    (right, "product", product, "C1s"),
):
    axes.set(title=title, xlabel="time / time in float32")
    axes.grid(axis="y", alpha=0.3)
    axes.axvline(1, color=plt.rcParams["text.color"], linewidth=1)
    axes.plot(list(times.values()), labels, style[2:], color=style[:2], markersize=8)
log_ticks(left, x=[0.125, 0.25, 0.5, 1, 2])
log_ticks(right, x=[0.1, 1, 10])
left.set(ylabel="dtype: bytes")
plt.show()

# %%
# To take away
# ------------
# * Exponent bits buy reach, fraction bits buy digits.
# * Half the bytes take half the memory, and less time where numbers are only moved.
# * Whether arithmetic is faster depends on the units of the processor: measure it on the machine
#   where it is to run.
#
# The chapter :doc:`/tensors/dtypes` compares the dtypes, and :doc:`/tensors/low-precision` trains
# in 16 bits. Related statements:
#
# * :claim:`finfo-and-iinfo-tell-the-limits`
# * :claim:`halves-differ-in-range`
# * :claim:`float64-buys-accuracy-with-bytes-and-time`
# * :claim:`half-the-bytes-are-faster-without-tensor-cores`
