"""
Spectral normalisation bounds the slope
=======================================

A chain of linear layers and ReLUs can be no steeper than the product of the largest singular values
of its weights. If each weight is divided by its largest singular value, the slope stays at about 1
or below. Fitted to a cliff, such a network makes a ramp. The singular value is estimated by power
iteration, with one round in each step.
"""

# %%
# A cliff, fitted twice
# ---------------------
# The target jumps from -1 to 1, which no finite slope can follow. The plain network tries to. The
# other network has ``spectral_norm`` on each layer. In each step, one gradient gives the slope on a
# fine grid of inputs. The bound is computed beside it: the product of the largest singular values,
# from an exact decomposition of the weights in use.

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import spectral_norm

from claimbook.teach.plots import curves, legend

torch.manual_seed(0)


x = torch.linspace(-2, 2, 101)[:, None]
target = x.sign()


def train(wrap, steps):
    """Return the outputs after training, and the slope and the bound before each step."""
    layers = [wrap(nn.Linear(*sizes)) for sizes in ((1, 32), (32, 32), (32, 1))]
    model = nn.Sequential(layers[0], nn.ReLU(), layers[1], nn.ReLU(), layers[2])
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    slopes, bounds = [], []
    for _ in range(steps):
        grid = x.clone().requires_grad_()
        with parametrize.cached():  # slope and bound of the same weights
            out = model(grid)
            (slope,) = torch.autograd.grad(out.sum(), grid, retain_graph=True)
            slopes.append(slope.abs().max())
            norms = [torch.linalg.matrix_norm(layer.weight.detach(), 2) for layer in layers]
            bounds.append(torch.stack(norms).prod())
        optimiser.zero_grad()
        (out - target).square().mean().backward()
        optimiser.step()
    return out.detach(), torch.stack(slopes), torch.stack(bounds)


STEPS = 200
plain, plain_slopes, plain_bounds = train(lambda layer: layer, STEPS)
normed, slopes, bounds = train(spectral_norm, STEPS)

assert (plain_slopes <= 1.001 * plain_bounds).all(), "the product bounds the slope"
assert (slopes <= 1.001 * bounds).all(), "here too"
assert plain_slopes[-1] > 5, "the plain network gets steep"
assert slopes.max() < 1.1, "the other one never does"
assert slopes[-1] > 0.8, "and it uses what it may"

fig, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
fig.suptitle("Fitted to a cliff, the normalised network makes a ramp of slope 1")
fig.set_label("The plain network jumps like the target; the normalised one rises at a slope of 1.")
axes.plot(x, target, ":", color=plt.rcParams["text.color"], label="target")
axes.plot(x, plain, color="C0", label="plain")
axes.plot(x, normed, "--", color="C1", label="spectral_norm")
axes.set(xlabel="input", ylabel="output")
legend(fig)
plt.show()

# %%
# The bound holds from the first step to the last. For the plain network it grows, and lies well
# above the measured slope. For the normalised network it is about 1. It is not exactly 1 because
# the estimate lags behind: torch does one round of the iteration in each step, while the weights
# move. This shows in the first steps, when the weights turn fastest, and hardly later.

assert plain_bounds[-1] > 1.2 * plain_slopes[-1], "the bound is not tight"
assert ((bounds[50:] - 1).abs() < 0.2).all(), "the estimate follows the weights"

fig, panels = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
fig.suptitle("The product of the norms bounds the slope, in each step")
fig.set_label(
    "Plain: slope and bound grow, bound above. Normalised: the slope rises to a bound near 1."
)
runs = ("plain", plain_slopes, plain_bounds), ("spectral_norm", slopes, bounds)
for axes, (title, slope, bound) in zip(panels, runs, strict=True):
    series = {"greatest slope": slope, "product of the norms": bound}
    curves(axes, range(STEPS), series, marker="")
    axes.set(title=title, xlabel="step", ylim=(0, None))
panels[0].set_ylabel("output per input")
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * The product of the largest singular values bounds the slope, for any weights; it is not tight.
# * With ``spectral_norm`` on all layers that bound is 1, but for the lag of the estimate.
#
# The chapter :doc:`/modules/spectral-norm` answers the questions around this one. Related
# statements:
#
# * :claim:`slope-is-the-largest-singular-value`
# * :claim:`the-estimate-lags-behind`
# * :claim:`convolution-is-bounded-as-a-matrix`
#
# The method is that of `Miyato et al. (2018) <https://arxiv.org/abs/1802.05957>`_.
