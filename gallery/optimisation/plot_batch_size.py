"""
Batch size, sharpness and generalisation
========================================

At one learning rate and number of steps, batches of one end in flatter minima than full batches. A
larger learning rate makes full batches as flat. But flatter is not better: full batches at a small
learning rate end in sharper minima than at a large one, and predict better. The error on new data
goes with how much of the noise has been fitted.
"""

# %%
# Eight networks at once
# ----------------------
# Each run is a network of 24 ReLU units, with 64 noisy samples and 500 new ones without noise.
# Eight runs, with data and weights of their own, are trained side by side: the first dimension of
# every tensor counts the runs. Every setting starts from the same weights and makes 1200 steps of
# plain SGD.

import matplotlib.pyplot as plt
import torch

RUNS, SAMPLES, INPUTS, UNITS, STEPS = 8, 64, 10, 24, 1200
CARD = {"layout": "constrained"}
torch.manual_seed(0)

line = torch.randn(RUNS, INPUTS, 1) / INPUTS**0.5
x, x_new = torch.randn(RUNS, SAMPLES, INPUTS), torch.randn(RUNS, 500, INPUTS)
y = 1.5 * (x @ line).tanh() + 0.5 * torch.randn(RUNS, SAMPLES, 1)
y_new = 1.5 * (x_new @ line).tanh()
start = [
    torch.randn(RUNS, INPUTS, UNITS) / INPUTS**0.5,
    torch.zeros(RUNS, 1, UNITS),
    torch.randn(RUNS, UNITS, 1) / UNITS**0.5,
]
runs = torch.arange(RUNS)[:, None]


def losses(weights, x, y):
    """Return each run's loss."""
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
# Hessian. Power iteration finds it. It multiplies a vector by the Hessian over and over, which
# takes one backward pass through the gradient each time.


def sharpness(weights):
    """Return each run's sharpness."""
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
# Sharpness follows batch and learning rate
# -----------------------------------------
# In each of the eight runs batches of one end flatter than full batches. Full batches cannot stay
# where the curvature is above ``2 / lr``: there each step of gradient descent overshoots by more
# than it started with. At a learning rate of 0.5 that bound is 4, and the runs end up against it.

one, full, fast, slow = SETTINGS
assert (sharp[one] < sharp[full]).all(), "batches of one: flatter in every run"
assert sharp[one].median() < 0.75 * sharp[full].median(), "by a quarter at least"
assert (sharp[fast] < sharp[full]).all(), "a larger learning rate: flatter as well"
assert sharp[fast].max() < 1.1 * 2 / SETTINGS[fast][1], "as it must be, 2 / lr"

STYLES = dict(zip(SETTINGS, ("C0o", "C1s", "C2^", "C3D"), strict=True))
fig, axes = plt.subplots(figsize=(8, 3.4), **CARD)
fig.suptitle("Small batches and large learning rates end in flatter minima")
fig.set_label("Batches of one, and all 64 at lr 0.5, end near 4; the two others are sharper.")
for row, (name, style) in enumerate(STYLES.items()):
    axes.plot(sharp[name], row + torch.linspace(-0.2, 0.2, RUNS), style)
axes.axvline(2 / SETTINGS[fast][1], color=plt.rcParams["text.color"], ls=":", lw=1)
axes.text(2 / SETTINGS[fast][1], -0.7, " 2 / lr for lr 0.5", va="top")
axes.set(xlabel="sharpness, one mark for each run", xlim=(0, None), ylim=(3.5, -0.7))
axes.set_yticks(range(4), [*SETTINGS])
plt.show()

# %%
# The error on new data does not follow sharpness
# -----------------------------------------------
# Batches of one predict better than full batches at the same learning rate in most runs. But the
# full batches of learning rate 0.5 are as flat, and predict worse than those of 0.01, which are
# sharper. The right half shows what the slow runs share with batches of one: the training error. It
# is large where little of the noise has been fitted, by jumping about or by going slowly.

assert (error[one] < error[full]).float().mean() > 0.5, "most batches of one predict better"
assert sharp[slow].median() > 1.2 * sharp[fast].median(), "the slow runs are sharper"
assert (error[slow] < error[fast]).float().mean() > 0.7, "and most predict better"
assert error[slow].median() < 0.8 * error[fast].median(), "by a fifth at least"
assert fit[slow].median() > 10 * fit[fast].median(), "they have fitted less of the noise"

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 4.2), sharey=True, **CARD)
fig.suptitle("Flat minima predict no better; runs that fit less of the noise do")
fig.set_label("By sharpness the test errors lie mixed; by training error they fall to the right.")
for name, style in STYLES.items():
    left.plot(sharp[name], error[name], style, label=name)
    right.plot(fit[name].clamp(min=1e-8), error[name], style)
left.set(xlabel="sharpness", ylabel="error on new data")
right.set(xlabel="training error", xscale="log")
fig.legend(loc="outside lower center", ncols=2, frameon=False)
plt.show()

# %%
# To take away
# ------------
# * Noise of small batches and long steps both drive SGD to flatter minima.
# * A flatter minimum is no better by itself: sharper ones did better here.
# * What looks like an effect of the batch size may be one of how much of the noise is fitted.
#
# The chapter :doc:`/optimisation/batch-size` answers the questions around this one; see the claims
# :claim:`noise-or-a-larger-rate-finds-flatter-minima`,
# :claim:`large-batch-gap-closes-with-the-rate` and :claim:`same-function-any-sharpness`.
