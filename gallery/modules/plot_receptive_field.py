"""
Receptive fields by gradients
=============================

Three layers with 3x3 kernels see 7x7 pixels if they are plain. With dilations of 1, 2 and 4, or
with strides of 2 in all three, they see 15x15. But a wide receptive field is not used evenly: the
deeper a plain stack, the smaller the part of its field that holds most of the gradient.
"""

# %%
# Four stacks, one gradient each
# ------------------------------
# All weights are 1, and there are no activations. The gradient of one output unit then counts, for
# each pixel, in how many ways the pixel gets into the output. The stronger the colour, the more
# ways.

import matplotlib.pyplot as plt
import torch
from torch.nn.functional import conv1d, conv2d

from claimbook.teach.plots import legend

torch.manual_seed(0)
STACKS = {  # (stride, dilation) of each layer
    "plain": [(1, 1)] * 3,
    "dilations 2, 2, 2": [(1, 2)] * 3,
    "dilations 1, 2, 4": [(1, 1), (1, 2), (1, 4)],
    "strides 2, 2, 2": [(2, 1)] * 3,
}
ones = torch.ones(1, 1, 3, 3, dtype=torch.float64)


def ways(layers):
    """Return the gradient of the first output unit on 15x15 pixels."""
    image = y = torch.zeros(1, 15, 15, dtype=torch.float64, requires_grad=True)
    for stride, dilation in layers:
        y = conv2d(y, ones, stride=stride, dilation=dilation)
    (gradient,) = torch.autograd.grad(y[0, 0, 0], image)
    return gradient[0]


def sides(gradient):
    """Return how many rows the gradient spans, and how many of them it uses."""
    rows = gradient.any(1).nonzero()[:, 0]
    return (rows[-1] - rows[0] + 1).item(), len(rows)


gradients = {name: ways(layers) for name, layers in STACKS.items()}
assert sides(gradients["plain"]) == (7, 7)
assert sides(gradients["dilations 2, 2, 2"]) == (13, 7), "with holes"
assert sides(gradients["dilations 1, 2, 4"]) == (15, 15), "wide and without holes"
assert torch.equal(gradients["strides 2, 2, 2"], gradients["dilations 1, 2, 4"])

fig, panels = plt.subplots(1, 4, figsize=(8, 2.8), sharex=True, sharey=True, layout="compressed")
fig.suptitle("Three layers of 3x3 see 7x7 pixels, or up to 15x15")
fig.set_label("A bell of 7x7, a grid with holes of 13x13, and twice the same pattern of 15x15.")
for axes, (name, gradient) in zip(panels, gradients.items(), strict=True):
    row, column = gradient.nonzero().T
    share = gradient[row, column] / gradient.max()
    axes.scatter(column, row, s=18, marker="s", color="C0", alpha=(0.15 + 0.85 * share).tolist())
    axes.set(title=name, xlabel="column", aspect="equal", xticks=[0, 7, 14], yticks=[0, 7, 14])
panels[0].set(ylabel="row", xlim=(-0.9, 14.9), ylim=(14.9, -0.9))
plt.show()

# %%
# The last two panels are the same: after a stride of 2, neighbours lie two pixels apart, as if the
# next layer had a dilation of 2. Strides of 2 give every eighth output of dilations 1, 2 and 4, for
# any weights, and with activations too.

kernels = torch.randn(3, 1, 1, 3, dtype=torch.float64)
dilated = strided = torch.randn(1, 111, dtype=torch.float64)
for kernel, dilation in zip(kernels, (1, 2, 4), strict=True):
    dilated = conv1d(dilated, kernel, dilation=dilation).tanh()
    strided = conv1d(strided, kernel, stride=2).tanh()
assert torch.allclose(strided, dilated[:, ::8]), "every eighth output, to rounding"

# %%
# How much of the field is used
# -----------------------------
# Most ways start in the middle of the field. The next picture shows the shortest stretch in the
# middle that holds nine tenths of the gradient, as a share of the whole field. In a plain stack,
# each layer adds a random step of -1, 0 or 1. So the stretch grows with the root of the depth, and
# the field with the depth itself: the share shrinks, in a zigzag, as a stretch is a whole number of
# pixels. With doubling dilations the share stays more than half.


def share_used(dilations):
    """Return the stretch with nine tenths of the gradient, as a share of the field."""
    size = 1 + 2 * sum(dilations)
    image = y = torch.zeros(1, size, dtype=torch.float64, requires_grad=True)
    for dilation in dilations:
        y = conv1d(y, torch.full((1, 1, 3), 1 / 3, dtype=torch.float64), dilation=dilation)
    (gradient,) = torch.autograd.grad(y[0, 0], image)
    right = gradient[0, size // 2 :]
    inside = 2 * right.cumsum(0) - right[0]  # both sides, the middle once
    return (1 + 2 * (inside < 0.9).sum().item()) / size


plain = {depth: share_used([1] * depth) for depth in range(1, 31)}
doubling = {depth: share_used([2**layer for layer in range(depth)]) for depth in range(1, 11)}
assert plain[30] < 0.3 < plain[10] < 0.5, "the deeper, the less of the field"
assert min(doubling.values()) > 0.6, "with doubling dilations more than half"

fig, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
fig.suptitle("The deeper a plain stack, the smaller the part of its field that it uses")
fig.set_label("The plain stack's share falls below 0.3; with doubling dilations it stays.")
axes.plot(plain.keys(), plain.values(), "o-", color="C0", label="plain")
axes.plot(doubling.keys(), doubling.values(), "s--", color="C1", label="dilations 1, 2, 4, …")
axes.set(xlabel="layers", ylabel="share with 90 % of the gradient", ylim=(0, 1.05))
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * With positive weights and no activations, one backward pass from one output unit shows its
#   receptive field.
# * Strides and dilations can widen the field equally; dilations keep all outputs.
# * Equal dilations above 1 leave holes, and deep plain stacks use only a small part of what they
#   see.
#
# The chapter :doc:`/modules/receptive-field` has the formula. Related statements:
#
# * :claim:`gradient-stays-inside-and-may-miss-some`
# * :claim:`equal-dilations-leave-holes`
# * :claim:`doubling-dilation-grows-exponentially`
# * :claim:`receptive-field-is-an-upper-bound`
#
# That the used part grows with the root of the depth is due to `Luo et al. (2016)
# <https://arxiv.org/abs/1701.04128>`_.
