"""
Batch size, sharpness and generalisation
========================================

At the same learning rate, batches of one end at flatter places than full batches. With a larger
learning rate, full batches end at places about as flat. But flatter is not better: full batches at
a small learning rate, stopped on the way, are sharper than these and predict better. The error on
new data depends on how much of the noise has been fitted.
"""

# %%
# Eight networks at once
# ----------------------
# Each run trains a network of 24 ReLU units on 64 noisy samples, and tests it on 500 new ones
# without noise. Eight runs, each with its own data and weights, are trained side by side: the first
# dimension of every tensor counts the runs. Every setting makes 1200 steps of plain SGD.

import matplotlib.pyplot as plt
import torch

from claimbook.teach.plots import legend

RUNS, SAMPLES, INPUTS, UNITS, STEPS = 8, 64, 10, 24, 1200
torch.manual_seed(0)

line = torch.randn(RUNS, INPUTS, 1) / INPUTS**0.5
x, x_new = torch.randn(RUNS, SAMPLES, INPUTS), torch.randn(RUNS, 500, INPUTS)
y = 1.5 * (x @ line).tanh() + 0.5 * torch.randn(RUNS, SAMPLES, 1)
y_new = 1.5 * (x_new @ line).tanh()
sizes = (INPUTS, UNITS), (UNITS, 1)
start = [torch.randn(RUNS, *size) / size[0] ** 0.5 for size in sizes]
start.insert(1, torch.zeros(RUNS, 1, UNITS))
runs = torch.arange(RUNS)[:, None]


def losses(weights, x, y):
    hidden, bias, out = weights
    return ((x @ hidden + bias).relu() @ out - y).square().mean((1, 2)) / 2


def train(batch, lr):
    weights = [w.clone().requires_grad_() for w in start]
    for _ in range(STEPS):
        rows = torch.randint(SAMPLES, (RUNS, batch))
        a, b = (x, y) if batch == SAMPLES else (x[runs, rows], y[runs, rows])
        gradients = torch.autograd.grad(losses(weights, a, b).sum(), weights)
        with torch.no_grad():
            for weight, gradient in zip(weights, gradients, strict=True):
                weight.sub_(lr * gradient)
    return weights


# %%
# Sharpness is the largest curvature of the loss over all 64 samples: the largest eigenvalue of its
# Hessian. Power iteration finds it; each round is a backward pass through the gradient.


def sharpness(weights):
    gradients = torch.autograd.grad(losses(weights, x, y).sum(), weights, create_graph=True)
    vector = [torch.randn_like(w) for w in weights]
    for _ in range(30):
        size = torch.stack([v.square().sum((1, 2)) for v in vector]).sum(0).sqrt()
        unit = [v / size[:, None, None] for v in vector]
        vector = torch.autograd.grad(gradients, weights, unit, retain_graph=True)
    return torch.stack([(u * v).sum((1, 2)) for u, v in zip(unit, vector, strict=True)]).sum(0)


SETTINGS = {
    "batches of 1, lr 0.05": (1, 0.05),
    "all 64, lr 0.05": (64, 0.05),
    "all 64, lr 0.5": (64, 0.5),
    "all 64, lr 0.01": (64, 0.01),
}
sharp, fit, error = {}, {}, {}
for name, (batch, lr) in SETTINGS.items():
    weights = train(batch, lr)
    sharp[name] = sharpness(weights)
    with torch.no_grad():
        fit[name] = 2 * losses(weights, x, y)
        error[name] = 2 * losses(weights, x_new, y_new)

# %%
# In each of the eight runs, batches of one end flatter than full batches at the same learning rate.
# (Most runs have not come to rest; the sharpness is that of the place where they stop.)
# Full batches cannot stay where the curvature is above ``2 / lr``: there each step goes past the
# minimum and ends farther from it than it began. At a learning rate of 0.5 that bound is 4, and the
# runs end close to it.
#
# In most runs, batches of one predict better than full batches at the same learning rate. But full
# batches at a learning rate of 0.5 are about as flat, and most of them predict worse than those at
# 0.01, which are sharper. The second panel shows what the slow runs share with batches of one: a
# large training error. It is large where little of the noise has been fitted, because the weights
# jump about or because they move slowly.

one, full, fast, slow = SETTINGS
assert (sharp[one] < sharp[full]).all(), "batches of one: flatter in every run"
assert (sharp[fast] < sharp[full]).all(), "a larger learning rate: flatter as well"
assert sharp[fast].max() < 1.1 * 2 / SETTINGS[fast][1], "as it must be, 2 / lr"
assert (error[one] < error[full]).float().mean() > 0.5, "most batches of one predict better"
assert sharp[slow].median() > 1.2 * sharp[fast].median(), "the slow runs are sharper"
assert (error[slow] < error[fast]).float().mean() > 0.7, "and most predict better"
assert fit[slow].median() > 10 * fit[fast].median(), "they have fitted less of the noise"

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 4.2), sharey=True, layout="constrained")
fig.suptitle("Flatter places predict no better; runs that fit less of the noise do")
fig.set_label("By sharpness the test errors lie mixed; by training error they fall to the right.")
for name, style in zip(SETTINGS, ("C0o", "C1s", "C2^", "C3D"), strict=True):
    left.plot(sharp[name], error[name], style, label=name)
    right.plot(fit[name].clamp(min=1e-8), error[name], style)
left.axvline(4, color=plt.rcParams["text.color"], linestyle=":", label="2 / lr for lr 0.5")
left.set(xlabel="sharpness", ylabel="error on new data")
right.set(xlabel="training error", xscale="log")
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * The noise of small batches and a large learning rate both drive SGD to flatter places.
# * Flatter is not better by itself: here the runs that had fitted less of the noise did better.
#
# The chapter :doc:`/optimisation/batch-size` answers the questions around this one. Related
# statements:
#
# * :claim:`noise-or-a-larger-rate-finds-flatter-minima`
# * :claim:`large-batch-gap-closes-with-the-rate`
# * :claim:`same-function-any-sharpness`
