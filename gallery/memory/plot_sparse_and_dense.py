"""
When sparse pays, in bytes and in time
======================================

A sparse matrix pays for each number that it stores, a dense matrix for each place. So which of them
is smaller and which is faster depends on the density. The two answers differ. As the density rises,
sparse stops saving time before it stops saving memory; in between it is smaller and slower.
"""

# %%
# Three densities
# ---------------
# The density of a matrix is the share of its numbers that are not zero. At a density of a hundredth
# one sees single numbers, at a tenth a cloud, and at a half hardly anything else.

import warnings

import matplotlib.pyplot as plt
import torch

from claimbook.teach import compare, observe
from claimbook.teach.plots import curves, legend

torch.manual_seed(0)
warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")


def matrix(side, density):
    """Return a matrix in which a share of the numbers, at random places, is not zero."""
    chosen = torch.rand(side * side).argsort() < density * side * side
    return torch.rand(side, side).add(1).where(chosen.view(side, side), 0)


fig, panels = plt.subplots(1, 3, figsize=(8, 3.2), sharey=True, layout="constrained")
fig.suptitle("Sparse stores the dots, dense every place")
fig.set_label("Three squares of dots: a few, a thin cloud, and one that is half full.")
for axes, density in zip(panels, (0.01, 0.1, 0.5), strict=True):
    places = matrix(48, density).nonzero()
    assert abs(len(places) / 48**2 - density) < 1e-3, "the density is as wanted"
    axes.set(title=f"{density:.0%}", xlabel="column", aspect="equal")
    axes.plot(places[:, 1], places[:, 0], "s", color="C0", markersize=2)
panels[0].set(ylabel="row")
panels[0].invert_yaxis()
plt.show()

# %%
# Bytes and time
# --------------
# The bytes can be counted. COO stores 8 bytes for the row of each number, 8 for its column and 4
# for the ``float32`` itself. CSR stores no row for each number, but one count for each row of the
# matrix. A dense matrix takes 4 bytes for every place. So COO is smaller up to a density of a fifth
# (4 / 20), CSR up to nearly a third (4 / 12).
#
# The time must be measured. A matrix of 1024 by 1024 numbers is multiplied by a dense one of 1024
# by 256. A sparse product does work only for the numbers that are stored, so its time rises with
# the density, while the dense time stays. But the dense product gets far more done in the same
# time: it knows beforehand where each number lies. With one number in a thousand stored, sparse
# takes less than half of the dense time; with half of the numbers stored, more than 1.3 times.


def nbytes(sparse):
    """Return the number of bytes that a sparse matrix stores."""
    if sparse.layout == torch.sparse_coo:
        return sparse.indices().nbytes + sparse.values().nbytes
    parts = sparse.crow_indices(), sparse.col_indices(), sparse.values()
    return sum(part.nbytes for part in parts)


SIDE = 1024
other = torch.rand(SIDE, 256)
densities = [0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5]
formats = {"COO": torch.Tensor.to_sparse, "CSR": torch.Tensor.to_sparse_csr}
size, time = ({name: [] for name in formats} for _ in range(2))
for density in densities:
    m = matrix(SIDE, density)
    for name, convert in formats.items():
        s = convert(m)
        assert torch.allclose(s @ other, m @ other, rtol=1e-3), "both have the same product"
        size[name].append(nbytes(s) / m.nbytes)
        times = compare(lambda s=s: s @ other, lambda m=m: m @ other, rounds=3)
        time[name].append(times.best)

for name, per_number in {"COO": 20, "CSR": 12}.items():
    for density, ratio in zip(densities, size[name], strict=True):
        assert abs(ratio - density * per_number / 4) < 0.003, "bytes for each number stored"
    observe(time[name][0] < 0.5, "sparse is faster where nearly all is zero")

# %%
# At a density of a fifth, where COO stops being smaller, its product already takes longer than the
# dense one. At 0.3, CSR is still smaller, but its product takes longer. So somewhat below the
# limits of memory one has to choose between bytes and time.

if torch.backends.cpu.get_cpu_capability() != "DEFAULT":  # it has wide vector instructions
    observe(min(time["COO"][-1], time["CSR"][-1]) > 1.3, "slower at half density")
    observe(time["COO"][densities.index(0.2)] > 1, "slower before it is larger")
    at = densities.index(0.3)
    observe(size["CSR"][at] < 1 < time["CSR"][at], "smaller, and slower")

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 4), sharey=True, layout="constrained")
fig.suptitle("Sparse stops saving time before it stops saving memory")
fig.set_label("Bytes and times of COO and CSR rise with the density, and cross those of dense.")
left.set(title="bytes", ylabel="sparse / dense")
right.set(title="time of the product")
for axes, ratios in (left, size), (right, time):
    axes.set(xlabel="density", xscale="log", yscale="log")
    axes.axhline(1, color=plt.rcParams["text.color"], linewidth=1)
    curves(axes, densities, ratios)
    axes.axvspan(0.2, 1 / 3, color="C2", alpha=0.3, label="from COO's limit for bytes to CSR's")
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * Sparse costs bytes and time for each number stored, dense for each place.
# * The limit for bytes can be counted: a fifth in COO, nearly a third in CSR, for ``float32``.
# * The limit for time must be measured. It depends on the processor and on the shapes.
#
# The chapter :doc:`/tensors/sparse` covers formats, support and gradients. Related statements:
#
# * :claim:`more-than-a-fifth-costs-more`
# * :claim:`one-percent-takes-a-twentieth`
# * :claim:`density-decides-the-speed`
