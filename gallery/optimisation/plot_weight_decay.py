"""
L2 and decoupled decay under Adam
=================================

Under Adam, an L2 penalty hardly shrinks weights with large noisy gradients, and shrinks weights
with small gradients far too fast. Decoupled decay, as in AdamW, shrinks all weights by the same
factor. Without noise the result is different: Adam with an L2 penalty ends where the loss with
the penalty is least, and AdamW where the loss without any penalty is least.
"""

# %%
# Noise of many sizes
# -------------------
# Thirteen groups of 400 weights start at 1. Their gradients are noise of random sign, so that on
# average only the decay moves the weights. From group to group the noise grows, over six powers of
# ten in all. The picture shows the mean of each group after 1000 steps.

import matplotlib.pyplot as plt
import torch

from claimbook.teach.plots import legend

LR, DECAY, STEPS = 0.01, 0.1, 1000
OPTIMISERS = {"L2, Adam": torch.optim.Adam, "decoupled, AdamW": torch.optim.AdamW}
STYLES = dict(zip(OPTIMISERS, ("C0o-", "C1s--"), strict=True))
torch.manual_seed(0)

noise = torch.logspace(-3, 3, 13)
left = {}
for name, make in OPTIMISERS.items():
    w = torch.ones(len(noise), 400)
    optimizer = make([w], lr=LR, weight_decay=DECAY)
    for _ in range(STEPS):
        w.grad = noise[:, None] * (2.0 * torch.randint(2, w.shape) - 1)
        optimizer.step()
    left[name] = w.mean(1)

# %%
# Adam divides each step by the size of the gradients. The decay of AdamW is not divided: it leaves
# ``(1 - lr*decay)**steps`` of a weight. The L2 penalty is part of the gradient and is divided with
# it. Where the noise is much larger than the penalty, it is as though the decay were
# ``decay / noise``.

factor = (1 - LR * DECAY) ** STEPS
divided = (1 - LR * DECAY / noise) ** STEPS
large = noise > 0.9
assert (left["decoupled, AdamW"] - factor).abs().max() < 0.1, "AdamW: one factor for all"
assert left["L2, Adam"][noise < 0.02].max() < 0.1, "L2, small noise: almost nothing is left"
assert left["L2, Adam"][noise > 30].min() > 0.85, "L2, large noise: almost everything is left"
assert (left["L2, Adam"] - divided)[large].abs().max() < 0.15, "as though divided by the noise"

fig, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
fig.suptitle("Decoupled decay shrinks all alike, L2 under Adam by the size of the noise")
fig.set_label("AdamW's points lie level; Adam's climb from about 0 to about 1 as the noise grows.")
axes.set(xlabel="size of the gradients", ylabel="what is left of the weight", xscale="log")
for name, style in STYLES.items():
    axes.plot(noise, left[name], style, label=name)
axes.plot(noise[large], divided[large], "C2:", lw=3, label="formula: decay / noise")
legend(fig)
plt.show()

# %%
# And without noise
# -----------------
# Now both optimisers fit a linear model to 50 samples of five features, from full batches. The
# second beta is 0.95, so that large early gradients are soon forgotten. The learning rate fades, so
# that both come to rest. Where they end is compared with two solutions known in closed form: that
# of least squares, and that of ridge regression, which minimises the sum of loss and penalty.

torch.set_default_dtype(torch.float64)
x = torch.randn(50, 5)
y = x @ torch.linspace(-3, 3, 5) + 0.5 * torch.randn(50)
hessian, slope = x.mT @ x / 50, x.mT @ y / 50
solutions = {
    "least squares": torch.linalg.solve(hessian, slope),
    "ridge": torch.linalg.solve(hessian + DECAY * torch.eye(5), slope),
}
distance = {}
for name, make in OPTIMISERS.items():
    w = torch.zeros(5)
    optimizer = make([w], lr=0.1, betas=(0.9, 0.95), weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.99)
    course = []
    for _ in range(1000):
        w.grad = hessian @ w - slope
        optimizer.step()
        schedule.step()
        course.append(w.clone())
    for solution, place in solutions.items():
        distance[name, solution] = (torch.stack(course) - place).norm(dim=1)

apart = (solutions["ridge"] - solutions["least squares"]).norm()
for name, near, far in (
    ("L2, Adam", "ridge", "least squares"),
    ("decoupled, AdamW", "least squares", "ridge"),
):
    assert distance[name, near][-1] < 0.01 * apart, "at the one"
    assert distance[name, far][-1] > 0.9 * apart, "and not at the other"
late = distance["L2, Adam", "ridge"][300:400]
assert late.max() > 100 * late[0], "Adam is thrown out once"

fig, panels = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True, layout="constrained")
fig.suptitle("Without noise Adam with L2 ends at ridge, AdamW at least squares")
fig.set_label("Adam's distance falls only to the ridge solution, AdamW's only to least squares.")
for axes, solution in zip(panels, solutions, strict=True):
    axes.set(title=f"distance from {solution}", xlabel="step", yscale="log")
    for name, style in STYLES.items():
        axes.plot(distance[name, solution], style, markevery=100, label=name)
legend(fig)
plt.show()

# %%
# Between steps 300 and 400 Adam's distance from ridge jumps once. As the gradients fade, Adam
# divides by ever smaller averages, until its steps become too long for the valley. It is thrown out
# a little, and comes back.
#
# `Xie and Li (2024) <https://arxiv.org/abs/2404.04454>`__ prove more, for learning rates whose sum
# has no bound: if AdamW converges on full batches and the loss is convex, it minimises the loss
# under the constraint that no weight exceeds ``1 / decay`` in absolute value.
#
# To take away
# ------------
# * Under Adam, an L2 penalty gets weaker as the gradients get noisier.
# * Decoupled decay shrinks every weight by the same factor, at any noise.
# * On full batches an L2 penalty changes where Adam ends. Decoupled decay does not, as long as the
#   weights are small.
#
# The chapter :doc:`/optimisation/weight-decay` answers the questions around this one. Related
# statements:
#
# * :claim:`adam-l2-fades-with-large-gradients`
# * :claim:`adamw-shrinks-directly`
