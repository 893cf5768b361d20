"""
Accumulation: when pieces equal the batch
=========================================

Cut a batch into pieces, call ``backward()`` on the loss of each, and ``.grad`` ends up as the
gradient of the whole batch, but for rounding in the last digits. Two things, among others, break
this without any error. If a mean loss is not scaled, the gradient is too long, by a factor that is
the number of equal pieces. With BatchNorm the gradient is a different one altogether, because
each piece is normalised by itself; the smaller the pieces, the larger the error.
"""

# %%
# Whole, in pieces, and in pieces without a scale
# -----------------------------------------------
# The experiment uses a small network, 64 samples and a mean loss. The initial weights are the same
# each time, drawn from one seed. ``gradient`` returns what ``backward()`` leaves in ``.grad``, as
# one long vector.

import matplotlib.pyplot as plt
import torch
from torch import nn

from claimbook.teach.plots import legend

BATCH, WIDTH = 64, 32
torch.manual_seed(0)
x = torch.randn(BATCH, 8, dtype=torch.float64)
y = x.sum(dim=1, keepdim=True).sin()


def gradient(size, norm=None, scaled=True):
    """Return the gradient that pieces of the given size leave in .grad."""
    torch.manual_seed(1)
    between = [norm(WIDTH), nn.Tanh()] if norm else [nn.Tanh()]
    model = nn.Sequential(nn.Linear(8, WIDTH), *between, nn.Linear(WIDTH, 1)).to(x.dtype)
    for inputs, targets in zip(x.split(size), y.split(size), strict=True):
        loss = nn.functional.mse_loss(model(inputs), targets)
        share = len(inputs) / BATCH if scaled else 1
        (share * loss).backward()
    return torch.cat([weight.grad.flatten() for weight in model.parameters()])


def error(size, norm=None):
    """Return how far the pieces' gradient is from the batch's, relative to its length."""
    whole = gradient(BATCH, norm)
    return ((gradient(size, norm) - whole).norm() / whole.norm()).item()


# %%
# In the picture each point is one weight. Its horizontal position is the gradient from the whole
# batch, its vertical position the gradient from sixteen pieces of four samples. On the diagonal the
# two agree. If each loss is weighted by its piece's share of the batch, all points lie on the
# diagonal. If the losses are not scaled, the points lie on a line sixteen times as steep. With
# BatchNorm they lie on no line, although the losses are weighted: the gradient has a different
# direction.

SIZE = 4
PIECES = BATCH // SIZE
plain, norm = gradient(BATCH), gradient(BATCH, nn.BatchNorm1d)
clouds = {
    "weighted by its share": (plain, gradient(SIZE)),
    "not scaled": (plain, gradient(SIZE, scaled=False)),
    "with BatchNorm": (norm, gradient(SIZE, nn.BatchNorm1d)),
}
assert torch.allclose(gradient(SIZE), plain, rtol=1e-9), "pieces equal the batch"
assert torch.allclose(gradient(SIZE, scaled=False), PIECES * plain, rtol=1e-9), "k times too long"
assert error(SIZE, nn.BatchNorm1d) > 0.2, "BatchNorm makes a different gradient"

fig, panels = plt.subplots(1, 3, figsize=(8, 3.2), layout="constrained")
fig.suptitle("Weighted pieces give the batch's gradient; two things spoil it")
fig.set_label("Points on the diagonal; on a line sixteen times as steep; scattered round it.")
for number, (axes, (title, cloud)) in enumerate(zip(panels, clouds.items(), strict=True)):
    axes.set(title=title, xlabel="gradient, whole batch")
    axes.axline((0, 0), slope=1, linestyle=":", color=plt.rcParams["text.color"])
    axes.plot(*cloud, "os^"[number], markersize=4, alpha=0.6, color=f"C{number}")
panels[0].set(ylabel=f"gradient, {PIECES} pieces")
plt.show()

# %%
# With weighted losses, as in the first panel, the optimiser gets the same gradient as from one
# large batch, but for rounding. The other two cases raise no error. If the losses are not scaled,
# SGD works as if its learning rate were sixteen times as large. Adam divides such a factor out and
# hides it.
#
# What a piece cannot know
# ------------------------
# BatchNorm subtracts the mean of the samples that it sees and divides by their standard deviation.
# From a few samples both are poor estimates, and they differ from piece to piece. So the output and
# the gradient of a sample depend on the piece that it is in. No weighting of the losses repairs
# that. LayerNorm and GroupNorm use one sample at a time: for them a piece is as good as the batch.
# The picture shows the relative error for pieces of 2 to 32 samples. It is the distance between the
# gradient from the pieces and that from the whole batch, divided by the length of the latter.

sizes = [2, 4, 8, 16, 32]
norms = {"BatchNorm": nn.BatchNorm1d, "LayerNorm": nn.LayerNorm, "no normalisation": None}
errors = {name: [error(size, norm) for size in sizes] for name, norm in norms.items()}

assert errors["BatchNorm"][0] > 3 * errors["BatchNorm"][-1], "small pieces are worse"
assert errors["BatchNorm"][-1] > 1e-3, "half of the batch is not the batch"
assert max(errors["LayerNorm"] + errors["no normalisation"]) < 1e-12, "the others: rounding"

fig, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
fig.suptitle("With BatchNorm smaller pieces are worse; without it there is no error")
fig.set_label("BatchNorm's error falls with the piece's size; the other two stay at 0.")
axes.set_xscale("log", base=2)
axes.set_yscale("symlog", linthresh=0.1)
axes.set(xlabel="samples in a piece, of 64", ylabel="relative error")
axes.set_xticks(sizes, sizes)
for number, (name, values) in enumerate(errors.items()):
    size, style = (6, 10, 5)[number], "os^"[number] + ("-", "--", "-.")[number]
    axes.plot(sizes, values, style, markersize=size, label=name)
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * Weight the mean loss of each piece by the piece's share of the batch. Then the gradients of the
#   pieces add up to that of the batch, even if the pieces are unequal.
# * If the mean losses of equal pieces are not scaled, the gradient is too long by a factor that is
#   the number of pieces, and no error says so.
# * With BatchNorm, pieces and batch are normalised differently, so their gradients differ however
#   the losses are weighted. With LayerNorm they agree.
#
# The chapter :doc:`/autograd/gradients-add-up` explains how to accumulate, what it saves and what
# it costs. Related statements:
#
# * :claim:`divide-mean-losses-not-sums`
# * :claim:`unequal-pieces-need-their-own-weight`
# * :claim:`batchnorm-sees-only-the-piece`
# * :claim:`accumulated-update-is-not-a-large-one`
