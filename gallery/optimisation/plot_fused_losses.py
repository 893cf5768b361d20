"""
Losses over logits, by hand and in one call
===========================================

A loss that first turns logits into probabilities has a range in which it works. Outside it the
gradient is 0, infinite or NaN, and a confident mistake is never unlearnt. The losses of PyTorch
that take logits, ``binary_cross_entropy_with_logits`` and ``cross_entropy``, give the right
gradient at every logit shown here.
"""

# %%
# Where each one works
# --------------------
# The target is no. The logit runs from a confident right answer, -120, to a confident mistake, 120.
# Three ways to write the loss are differentiated at each logit, in ``float32``. The right gradient
# is ``sigmoid(x)``, here computed in ``float64``.

import matplotlib.pyplot as plt
import torch
from torch import nn

CARD = {"layout": "constrained"}
BELOW = {"loc": "outside lower center", "ncols": 3, "frameon": False}
logits = torch.linspace(-120, 120, 481)


def binary_by_hand(x, y):
    p = x.sigmoid()
    return -(y * p.log() + (1 - y) * (1 - p).log())


def binary_in_two(x, y):
    return nn.functional.binary_cross_entropy(x.sigmoid(), y, reduction="none")


def binary_fused(x, y):
    return nn.functional.binary_cross_entropy_with_logits(x, y, reduction="none")


def several_by_hand(x):
    return -(x.exp() / x.exp().sum(1, keepdim=True)).log()[:, 1]


def several_in_two(x):
    return -x.softmax(1).log()[:, 1]


def several_fused(x):
    return nn.functional.cross_entropy(x, torch.ones(len(x), dtype=torch.int64), reduction="none")


def slopes(loss, x):
    """Return the gradient of each row's loss by its own logits."""
    x = x.clone().requires_grad_()
    return torch.autograd.grad(loss(x).sum(), x)[0]


def works(got, right):
    """Say where a gradient is right, to within a hundredth of the largest that there can be."""
    return (got - right).abs() < 0.01  # NaN is not


right = logits.double().sigmoid()
no = torch.zeros_like(logits)
binary = {
    "by hand": slopes(lambda x: binary_by_hand(x, no), logits),
    "sigmoid, BCELoss": slopes(lambda x: binary_in_two(x, no), logits),
    "on logits": slopes(lambda x: binary_fused(x, no), logits),
}

# %%
# The same for two classes of which the second is right, while the first leads by as much as the
# logit. Here the gradient by the first logit is looked at.

pairs = torch.stack([logits, torch.zeros_like(logits)], dim=1)
several = {
    "by hand": slopes(several_by_hand, pairs)[:, 0],
    "softmax, log": slopes(several_in_two, pairs)[:, 0],
    "cross_entropy": slopes(several_fused, pairs)[:, 0],
}

# %%
# Only the losses over logits are right throughout. ``BCELoss`` is wrong where it matters, at a
# mistake: from a logit of 17 on its gradient is 0. By hand there is NaN, even for a right answer,
# where 0 is multiplied by an infinite logarithm.

results = {f"binary, {name}": got for name, got in binary.items()}
results |= {f"classes, {name}": got for name, got in several.items()}
for name in "binary, on logits", "classes, cross_entropy":
    assert works(results[name], right).all(), "over logits: right everywhere"
two = results["binary, sigmoid, BCELoss"]
assert works(two, right)[logits < 16].all(), "in two steps: right up to 16"
assert (two[logits > 17] == 0).all(), "and 0 from 17 on, where it should be 1"
for name in "binary, by hand", "classes, by hand", "classes, softmax, log":
    assert works(results[name], right)[logits.abs() < 16].all(), "by hand: right in the middle"
    assert results[name][[0, -1]].isnan().all(), "and NaN at both ends"

fig, axes = plt.subplots(figsize=(8, 4.2), **CARD)
fig.suptitle("Only the losses over logits have the right gradient everywhere")
fig.set_label(
    "Each loss is a bar over the logits. Two are right all along, the others only in part."
)
for row, got in enumerate(results.values()):
    right_here, finite = works(got, right), got.isfinite()
    for label, where, colour, hatch in (
        ("right", right_here, "C0", ""),
        ("finite and wrong", finite & ~right_here, "C1", "//"),
        ("infinite or NaN", ~finite, "C3", "xx"),
    ):
        name = label if row == 0 else None
        band = {"where": where, "step": "mid", "facecolor": colour, "hatch": hatch}
        band |= {"edgecolor": plt.rcParams["text.color"], "linewidth": 0}
        axes.fill_between(logits, row - 0.35, row + 0.35, label=name, **band)
axes.set(xlabel="logit, or lead of the wrong class", ylim=(5.6, -0.6))
axes.set_yticks(range(6), [*results])
fig.legend(**BELOW)
plt.show()

# %%
# What it does to training
# ------------------------
# Two thousand logits start anywhere, with a spread of 20, and are trained towards targets of 0 and
# 1 by 100 steps of learning rate 1. A step moves a confident mistake by 1. The margin is the logit
# with the sign of its target, so mistakes lie to the left of 0. Each logit is a weight of its own
# here. In a network that shares its weights one NaN spoils all of them.

torch.manual_seed(0)
start = 20 * torch.randn(2000)
y = torch.randint(2, (2000,)).float()
margins = {"at the start": (2 * y - 1) * start}
for name, loss in (
    ("by hand", binary_by_hand),
    ("sigmoid, BCELoss", binary_in_two),
    ("on logits", binary_fused),
):
    x = start.clone()
    for _ in range(100):
        x -= slopes(lambda x, loss=loss: loss(x, y), x)
    margins[name] = (2 * y - 1) * x

wrong = {name: (margin < 0).float().mean() for name, margin in margins.items()}
assert wrong["at the start"] > 0.4, "half the answers are wrong"
assert wrong["on logits"] == 0, "over logits none is in the end"
assert wrong["sigmoid, BCELoss"] > 0.08, "in two steps a good part still is"
assert margins["by hand"].isnan().float().mean() > 0.1, "by hand many logits are NaN"

fig, panels = plt.subplots(1, 4, figsize=(8, 3.2), sharex=True, sharey=True, **CARD)
fig.suptitle("Over logits every mistake is unlearnt, through a sigmoid the worst remain")
fig.set_label("On logits no margin stays below 0; with BCELoss the lowest are where they were.")
for axes, (name, margin), colour in zip(
    panels, margins.items(), ("C2", "C3", "C1", "C0"), strict=True
):
    lost = margin.isnan().float().mean()
    axes.hist(margin[~margin.isnan()], torch.arange(-80, 81, 5), color=colour)
    axes.set(title=f"{name}\nwrong: {wrong[name]:.0%}\nNaN: {lost:.0%}", xlabel="margin")
panels[0].set(ylabel="number of logits")
plt.show()

# %%
# To take away
# ------------
# * Hand the loss logits, and the gradient is right for every one of them.
# * A sigmoid before ``BCELoss`` hides the worst mistakes: their gradient is 0, with no error.
# * Logarithms of probabilities written by hand end in NaN.
#
# The chapters :doc:`/optimisation/logits` and :doc:`/optimisation/cross-entropy` answer the
# questions around this one; see the claims :claim:`logits-loss-keeps-value-and-gradient`,
# :claim:`confident-mistake-is-never-unlearnt` and :claim:`log-softmax-stays-in-log-space`.
