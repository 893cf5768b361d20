"""
Losses over logits, by hand and in one call
===========================================

A loss that first turns logits into probabilities works only for a range of logits. Outside that
range the gradient is 0, infinite or NaN, and a confident mistake is not unlearnt. The losses of
PyTorch that take logits, ``binary_cross_entropy_with_logits`` and ``cross_entropy``, give the right
gradient at every logit shown here.
"""

# %%
# Where each one works
# --------------------
# The target is 0, which means no. The logit runs from -120, a confident right answer, to 120, a
# confident mistake. Three ways to write the loss are differentiated at each logit, in ``float32``.
# The right gradient is ``sigmoid(x)``, here computed in ``float64``.

import matplotlib.pyplot as plt
import torch
from torch.nn import functional

from claimbook.teach.plots import legend

logits = torch.linspace(-120, 120, 481)


def slopes(loss, x, y):
    """Return the gradient of each row's loss by its own logits."""
    x = x.clone().requires_grad_()
    return torch.autograd.grad(loss(x, y).sum(), x)[0]


def works(got, right):
    """Return where a gradient is right, to within a hundredth of the largest possible one."""
    return (got - right).abs() < 0.01  # NaN is not


right = logits.double().sigmoid()
no = torch.zeros_like(logits)
LOSSES = {
    "by hand": lambda x, y: -(y * x.sigmoid().log() + (1 - y) * (1 - x.sigmoid()).log()),
    "BCELoss": lambda x, y: functional.binary_cross_entropy(x.sigmoid(), y, reduction="none"),
    "on logits": lambda x, y: functional.binary_cross_entropy_with_logits(x, y, reduction="none"),
}
results = {f"binary, {name}": slopes(loss, logits, no) for name, loss in LOSSES.items()}

# %%
# The same is done for two classes. The second one is right, and the first one leads by as much as
# the logit. The gradient is that with respect to the first class's logit, and again ``sigmoid(x)``
# is right.

second = torch.ones(len(logits), dtype=torch.int64)
pairs = torch.stack([logits, torch.zeros_like(logits)], dim=1)
losses = {
    "by hand": lambda x, y: -(x.exp() / x.exp().sum(1, keepdim=True)).log()[:, 1],
    "softmax, log": lambda x, y: -x.softmax(1).log()[:, 1],
    "cross_entropy": lambda x, y: functional.cross_entropy(x, y, reduction="none"),
}
results |= {f"classes, {n}": slopes(loss, pairs, second)[:, 0] for n, loss in losses.items()}

# %%
# Only the losses over logits are right throughout. ``BCELoss`` is wrong where it matters, at a
# confident mistake: from a logit of 17 on its gradient is 0, where it should be 1. The losses
# written by hand give NaN at both ends. This happens even to a right answer, because 0 is
# multiplied by something infinite. The quotient of exponentials has a gradient of 0 already from
# about 50 on, because its backward pass divides 1 by the sum twice, which underflows.

for name in "binary, on logits", "classes, cross_entropy":
    assert works(results[name], right).all(), "over logits: right everywhere"
two = results["binary, BCELoss"]
assert works(two, right)[logits < 16].all(), "in two steps: right up to 16"
assert (two[logits > 17] == 0).all(), "and 0 from 17 on, where it should be 1"
for name in "binary, by hand", "classes, by hand", "classes, softmax, log":
    assert works(results[name], right)[logits.abs() < 16].all(), "by hand: right in the middle"
    assert results[name][[0, -1]].isnan().all(), "and NaN at both ends"

fig, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
fig.suptitle("Only the losses over logits have the right gradient everywhere")
fig.set_label("Each loss is a bar over the logits. Two are right all along, four only in part.")
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
legend(fig)
plt.show()

# %%
# What it does to training
# ------------------------
# Two thousand logits start at random values and are trained by 100 steps of learning rate 1. With
# the right gradient, a step moves a confident mistake by about 1. With the loss over logits, no
# answer is wrong in the end. With a sigmoid and ``BCELoss``, more than 8 % still are: their
# gradient was 0 from the start, or next to it.

torch.manual_seed(0)
start, y = 20 * torch.randn(2000), torch.randint(2, (2000,)).float()
for name, least, most in ("on logits", 0, 0), ("BCELoss", 0.08, 0.5):
    x = start.clone()
    for _ in range(100):
        x -= slopes(LOSSES[name], x, y)
    wrong = ((2 * y - 1) * x < 0).float().mean()
    assert least <= wrong <= most, "only the loss over logits unlearns every mistake"

# %%
# To take away
# ------------
# * Pass logits to a loss that takes them, and the gradient is right for every one of them.
# * A sigmoid before ``BCELoss`` hides the worst mistakes: their gradient is 0, and no error says
#   so.
# * Logarithms of probabilities, written by hand, give NaN for logits far from 0.
#
# The chapters :doc:`/optimisation/logits` and :doc:`/optimisation/cross-entropy` answer the
# questions around this one. Related statements:
#
# * :claim:`logits-loss-keeps-value-and-gradient`
# * :claim:`log-softmax-stays-in-log-space`
