"""
Dropout in training and at test time
====================================

In training mode the output of a linear layer behind dropout is a random number. Its mean is the
output of ``eval()`` mode, and its variance follows from a formula. A network that memorises noisy
data is far too sure of its answers. Trained with dropout, it is less so in ``eval()`` mode, and
still less if dropout stays on and many answers are averaged. A single one of those answers is less
often right than their mean.
"""

# %%
# One sum, many masks
# -------------------
# A linear layer with one output adds up a hundred inputs, each times its weight. Behind dropout,
# every term ``w*x`` becomes 0 with probability ``p``, and ``w*x / (1 - p)`` otherwise. Such a term
# has the mean ``w*x`` and the variance ``p / (1 - p) * (w*x)**2``. The variances of all terms add
# up, because each is dropped independently.

import matplotlib.pyplot as plt
import torch
from torch import nn

from claimbook.teach.plots import legend

torch.manual_seed(0)

layer = nn.Linear(100, 1, bias=False)
x = torch.randn(100)
terms = (layer.weight * x).detach()
plain = terms.sum()

fig, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
fig.suptitle("Dropout keeps the mean of a sum and widens it by p / (1 - p)")
fig.set_label("Three histograms round the value of eval(); the greater p, the wider.")
with torch.no_grad():
    for p, style in (0.1, "-"), (0.5, "--"), (0.8, "-."):
        dropout = nn.Dropout(p)
        outputs = layer(dropout(x.expand(20_000, 100)))
        variance = p / (1 - p) * terms.square().sum()
        error = (variance / len(outputs)) ** 0.5
        assert (outputs.mean() - plain).abs() < 5 * error, "the mean is the value of eval()"
        assert (outputs.var() / variance - 1).abs() < 0.1, "the variance is that of the formula"
        assert layer(dropout.eval()(x)).allclose(plain), "eval() gives the plain sum"
        axes.hist(outputs[:, 0], 60, density=True, histtype="step", ls=style, label=f"p = {p}")
axes.axvline(plain, linestyle=":", color=plt.rcParams["text.color"], label="eval()")
axes.set(xlabel="output", ylabel="density")
legend(fig, columns=4)
plt.show()

# %%
# How sure a network is
# ---------------------
# Now a classifier learns a task that leaves much to chance. Only one of its ten inputs counts, and
# noise as strong as that input helps to decide the class. There are 200 samples, and enough weights
# to learn them by heart.


def sample(size):
    x = torch.randn(size, 10)
    return x, (x[:, 0] + torch.randn(size) > 0).long()


def train(p, x, classes):
    """Return a network trained with dropout of probability p, in training mode."""
    hidden = [nn.Linear(10, 64), nn.ReLU(), nn.Dropout(p), nn.Linear(64, 64), nn.ReLU()]
    model = nn.Sequential(*hidden, nn.Dropout(p), nn.Linear(64, 2))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(200):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(x), classes).backward()
        optimiser.step()
    return model


data, (x, classes) = sample(200), sample(4000)
without, dropped = train(0.0, *data), train(0.5, *data)
with torch.no_grad():
    assert (without(data[0]).argmax(1) == data[1]).all(), "200 samples are learnt by heart"
    answers = torch.stack([dropped(x).softmax(1) for _ in range(30)])
    probabilities = {
        "no dropout": without.eval()(x).softmax(1),
        "left on, one answer": answers[0],
        "eval()": dropped.eval()(x).softmax(1),
        "left on, mean of 30": answers.mean(0),
    }

# %%
# A network's confidence is the probability that it gives to its answer. A network is calibrated if,
# of its answers with a confidence of 0.9, nine in ten are right, and likewise for any other
# confidence. Here all four ways to answer are too sure, but not equally. The bars show by how much
# the mean confidence exceeds the share of right answers.

right, excess = {}, {}
for name, each in probabilities.items():
    confidence, answer = each.max(1)
    right[name] = (answer == classes).double()
    excess[name] = (confidence.mean() - right[name].mean()).item()

assert excess["no dropout"] > excess["eval()"] + 0.02, "dropout makes it less sure"
assert excess["eval()"] > excess["left on, mean of 30"] + 0.02, "averaging less still"
assert excess["left on, mean of 30"] > 0.05, "but too sure it remains"
single = (answers.argmax(2) == classes).double().mean()
assert right["left on, mean of 30"].mean() > single, "one answer is less often right"

fig, axes = plt.subplots(figsize=(8, 2.8), layout="constrained")
fig.suptitle("Dropout tempers confidence, the mean of many answers most")
fig.set_label("Bars of overconfidence: longest with no dropout, shortest for the mean of 30.")
bars = axes.barh(list(excess), list(excess.values()), color=["C0", "C1", "C2", "C3"])
axes.bar_label(bars, fmt="{:.2f}", padding=3)
axes.set(xlabel="mean confidence minus share of right answers", ylim=(3.5, -0.5))
plt.show()

# %%
# To take away
# ------------
# * A sum behind dropout has as its mean the value of ``eval()`` mode; its variance grows with
#   ``p / (1 - p)``.
# * Dropout reduces overconfidence here, but does not remove it.
#
# The chapter :doc:`/modules/dropout` answers the questions around this one. Related statements:
#
# * :claim:`scaling-keeps-the-mean`
# * :claim:`scaling-raises-the-energy`
# * :claim:`dropout-left-on-tells-the-uncertainty`
#
# Averaging over masks is Monte Carlo dropout, of `Gal and Ghahramani (2016)
# <https://arxiv.org/abs/1506.02142>`_; on overconfidence see `Guo et al. (2017)
# <https://arxiv.org/abs/1706.04599>`_.
