"""
What forgetting zero_grad() does
================================

``backward()`` adds to ``.grad``. Without ``zero_grad()`` every step therefore follows the sum of
all gradients so far. No error is raised, and plain SGD does not settle here: the weight swings
around the solution like a pendulum without friction, and above some learning rate the swings
explode.
"""

# %%
# The same loop with and without one line
# ---------------------------------------
# The data lie on a line of slope 3. The model has a single weight, and every step sees all the
# data. ``autograd.grad`` returns the gradient of each step by itself and leaves ``.grad`` alone.

import matplotlib.pyplot as plt
import torch
from torch import nn

from claimbook.teach.plots import curves, legend

SLOPE = 3.0
x = torch.arange(-2, 3, dtype=torch.float64).reshape(5, 1)
y = SLOPE * x


def train(lr, steps, clear):
    """Return each step's loss and gradient, and the weight before and after each."""
    model = nn.Linear(1, 1, bias=False, dtype=x.dtype)
    nn.init.zeros_(model.weight)
    losses, gradients, weights = [], [], [model.weight.detach().clone()]
    for _ in range(steps):
        loss = nn.functional.mse_loss(model(x), y)
        gradients += torch.autograd.grad(loss, model.weight, retain_graph=True)
        if clear:
            model.zero_grad()
        loss.backward()
        with torch.no_grad():
            model.weight -= lr * model.weight.grad
        losses.append(loss.detach())
        weights.append(model.weight.detach().clone())
    return torch.stack(losses), torch.cat(gradients)[:, 0], torch.cat(weights)[:, 0]


LR, STEPS = 0.05, 60
with_losses, _, _ = train(LR, STEPS, clear=True)
losses, gradients, weights = train(LR, STEPS, clear=False)

# %%
# With ``zero_grad()`` the loss falls to less than a billionth of the first one. Without it the loss
# keeps coming back: among any 15 steps in a row there is a loss above nine tenths of the first one.

assert with_losses[-1] < 1e-9 * with_losses[0], "with zero_grad() no loss"
assert (losses.unfold(0, 15, 1).amax(1) > 0.9 * losses[0]).all(), "without, the loss comes back"

fig, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
fig.suptitle("With zero_grad() training arrives, without it training swings on")
fig.set_label("With zero_grad() the loss falls to 0; without it keeps coming back.")
axes.set(xlabel="step", ylabel="loss")
curves(axes, range(STEPS), {"with zero_grad()": with_losses, "without": losses}, marker="")
legend(fig)
plt.show()

# %%
# Why it swings
# -------------
# If nothing clears ``.grad``, each step is the learning rate times the sum of all gradients so far,
# against its direction. Subtract one step from the next, and all gradients but the newest cancel.
# As the loss is a parabola, the newest gradient is ``h * e[k]``: the curvature ``h`` times
# ``e[k]``, the distance from the solution before step ``k``. So with ``a = lr * h``:
#
# .. code-block:: text
#
#     e[k+1] - 2*e[k] + e[k-1] = -a * e[k]
#
# This is the equation of a pendulum without friction: a gradient changes the *speed* of the weight,
# and there is no friction to slow it down.

h = 2 * (x**2).mean()
e = weights - SLOPE
assert torch.allclose(weights.diff(), -LR * gradients.cumsum(0)), "a step is lr times the sum"
assert torch.allclose(gradients, h * e[:-1]), "the gradient is h times the distance"
assert torch.allclose(e.diff().diff(), -LR * h * e[1:-1]), "the update is an oscillator"

# %%
# Where it explodes
# -----------------
# The solutions of this equation are made of powers ``r**k`` of the two roots of
# ``r**2 - (2 - a)*r + 1 = 0``. The product of the roots is 1. For ``a`` between 0 and 4 the roots
# are complex and of absolute value 1: the weight swings, and stays within
# ``|e[0]| / sqrt(1 - a/4)`` of the solution. For ``a`` above 4, one root is below -1, and after a
# while each step multiplies the distance by that root. The loop with ``zero_grad()`` explodes
# earlier. There ``e[k+1] = (1 - a) * e[k]``, so the distance shrinks only for ``a`` between 0 and
# 2.

fig, panels = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True, layout="constrained")
fig.suptitle("Without zero_grad() it explodes above lr * h = 4, with it above 2")
fig.set_label("Without it the distance swings at 0.2 and 3.9; with it 0.2 falls, 3.9 explodes.")
panels[0].set(title="without", xlabel="step", ylabel="distance from the solution", yscale="log")
panels[1].set(title="with zero_grad()", xlabel="step")
for a, style in (0.2, "-"), (3.9, "--"), (4.1, "-."):
    free, cleared = (train(a / h, 300, clear)[2] - SLOPE for clear in (False, True))
    assert torch.allclose(cleared[1:], (1 - a) * cleared[:-1]), "with zero_grad(): factor 1 - a"
    if a < 4:
        assert free.abs().max() <= free[0].abs() / (1 - a / 4) ** 0.5, "the swing is bounded"
        assert free[-15:].abs().max() > 0.9 * free[0].abs(), "the swing does not fade"
    else:
        root = 1 - a / 2 - (a**2 / 4 - a) ** 0.5
        assert torch.allclose(free[-1], root * free[-2]), "the distance grows by a root"
    for axes, e in zip(panels, (free, cleared), strict=True):
        axes.plot(e[: STEPS + 1].abs(), style, label=f"lr * h = {a}")
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * Without ``zero_grad()`` each step is the learning rate times the sum of all gradients so far.
# * When a loss keeps coming back to where it began, first look for a missing ``zero_grad()``.
#
# The chapter :doc:`/autograd/gradients-add-up` answers the questions around this one. Related
# statements:
#
# * :claim:`forgotten-step-is-lr-times-the-sum`
# * :claim:`forgetting-circles-the-minimum`
