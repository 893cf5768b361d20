"""
Training through rounding: the straight-through estimator
=========================================================

Weights that may only be multiples of one half cannot be trained through ``round``: its derivative
is 0, so nothing moves. Rounding a network after training makes its error here more than ten times
as large. The straight-through estimator rounds on the way forward and passes the gradient unchanged
on the way back. The rounded networks that it finds have less than a third of that error.
"""

# %%
# Three ways to rounded weights
# -----------------------------
# Each network has one input, 16 hidden units and one output, and learns a sine. Twenty-four of
# them, started at random, train side by side. Only ``quantise`` differs between the three ways: it
# rounds, it leaves the weight as it is, or it rounds and lets the gradient pass.

import matplotlib.pyplot as plt
import torch

from claimbook.teach.plots import legend

NETWORKS, HIDDEN, STEP, UPDATES = 24, 16, 0.5, 300
x = torch.linspace(-3, 3, 64).reshape(1, 64, 1)
y = x.sin()


def rounded(weight):
    return (weight / STEP).round() * STEP


def losses(weights, quantise):
    """Return each network's mean squared error."""
    inner, shift, outer, last = (quantise(weight) for weight in weights)
    hidden = torch.tanh(x * inner + shift)
    return (hidden @ outer + last - y).square().mean(dim=(1, 2))


def train(quantise):
    """Return the weights after training, all losses, and the outer weights before each update."""
    torch.manual_seed(0)
    shapes = (1, HIDDEN), (1, HIDDEN), (HIDDEN, 1), (1, 1)
    weights = [torch.randn(NETWORKS, *shape).requires_grad_() for shape in shapes]
    optimizer = torch.optim.Adam(weights, lr=0.01)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0.01, UPDATES)
    curve, path = [], []
    for _ in range(UPDATES):
        path.append(weights[2].detach().clone())
        loss = losses(weights, quantise)
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
        schedule.step()
        curve.append(loss.detach())
    return [weight.detach() for weight in weights], torch.stack(curve), torch.stack(path)


stuck, stuck_curve, _ = train(rounded)
free, free_curve, _ = train(lambda weight: weight)
_, curve, path = train(lambda weight: rounded(weight) + (weight - weight.detach()))

# %%
# What moves
# ----------
# With plain ``round`` every gradient is 0, so no loss changes in 300 updates. With the
# straight-through estimator, each rounded weight has a float weight behind it, which collects small
# updates. Whenever the float weight crosses the boundary between two rounded values, the rounded
# weight jumps. The picture shows three of the weights that lead to the output, those that moved
# most.

assert (stuck_curve == stuck_curve[0]).all(), "through round nothing moves"
assert (path[-1] - path[0]).abs().mean() > 0.1, "straight through weights move"
jumps = (rounded(path).diff(dim=0) != 0).sum(dim=(0, 2, 3))
assert jumps.min() > 0, "and in each network rounded values jump"

fig, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
fig.suptitle("Float weights drift, and the rounded ones jump when a boundary is crossed")
fig.set_label("Three smooth curves, and three staircases on multiples of one half beside them.")
axes.set(xlabel="update", ylabel="weight")
moved = (path[-1] - path[0]).abs().flatten()
for number, index in enumerate(moved.argsort()[-3:].tolist()):
    weight = path.flatten(1)[:, index]
    axes.plot(weight, ":", color=f"C{number}", label="float")
    axes.step(range(UPDATES), rounded(weight), color=f"C{number}", label="rounded")
legend(fig)
plt.show()

# %%
# What is gained
# --------------
# Each row of the next picture is one network. One mark is its error after it was trained without
# rounding and rounded at the end. The other is the lowest error that it reached in straight-through
# training. The lowest is taken and not the last, because rounded weights near a boundary may jump
# to and fro. The dotted line is the median error of the networks that are not rounded. It is less
# than half of the median of the best errors.

after, best = losses(free, rounded), curve.min(dim=0).values
assert after.median() > 10 * free_curve[-1].median(), "rounding afterwards costs ten times"
assert free_curve[-1].median() < best.median() / 2, "float weights are better still"
assert best.median() < after.median() / 3, "straight through: less than a third"
assert (best < after).float().mean() > 0.75, "in more than three networks of four"

fig, axes = plt.subplots(figsize=(8, 4.2), layout="constrained")
fig.suptitle("Trained straight through, rounded networks are better than rounded at the end")
fig.set_label("In nearly all of 24 rows the straight-through mark lies left of the other.")
axes.set(
    xlabel="mean squared error of the rounded network", xscale="log", ylabel="network", yticks=[]
)
order, rows = after.argsort(), range(NETWORKS)
axes.hlines(rows, best[order], after[order], color=plt.rcParams["text.color"], linewidth=0.8)
axes.plot(best[order], rows, "o", color="C0", label="trained straight through")
axes.plot(after[order], rows, "s", color="C1", label="rounded after training")
axes.axvline(free_curve[-1].median(), linestyle=":", color="C2", label="not rounded, median")
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * The gradient of ``round`` is 0, so nothing can be trained through it as it is.
# * ``x.round() + (x - x.detach())`` has the rounded value, and lets the gradient pass.
# * The gradient is not that of the rounded function, and it need not become 0 at a solution. So
#   keep the best weights, not the last.
#
# The chapter :doc:`/autograd/no-derivative` explains what else stops a gradient. Related
# statements:
#
# * :claim:`rounding-passes-zeros`
# * :claim:`straight-through-rounds-forward-passes-back`
# * :claim:`straight-through-may-circle`
# * :claim:`the-usual-trick-may-lose-the-value`
