"""
What forgetting zero_grad() does
================================

``backward()`` adds to ``.grad``. Without ``zero_grad()`` every step therefore follows the sum of
all gradients so far. Nothing raises an error, and nothing gets better: the weight swings around the
solution like a pendulum without friction. This lab shows the swing, explains it, and finds the
learning rate at which it becomes an explosion.
"""

# %%
# The same loop with and without one line
# ---------------------------------------
# The data lie on a line of slope 3. The model has a single weight, which starts at 0. Every step
# sees all the data, so chance has no part in this. The update is plain SGD, written out.
# ``autograd.grad`` gives the gradient of the one step and leaves ``.grad`` alone.

import matplotlib.pyplot as plt
import torch
from torch import nn

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
with_losses, _, with_weights = train(LR, STEPS, clear=True)
losses, gradients, weights = train(LR, STEPS, clear=False)
steps, with_steps = weights.diff(), with_weights.diff()

# %%
# With ``zero_grad()`` the loss and the steps shrink to nothing. Without it the loss keeps
# coming back: any fifteen steps in a row hold a loss above nine tenths of the first one, and a step
# longer than the first one.

assert with_losses[-1] < 1e-9 * with_losses[0], "with zero_grad() no loss"
assert with_steps[-1].abs() < 1e-5 * with_steps[0].abs(), "with zero_grad() no steps"
for i in range(STEPS - 14):
    fifteen = slice(i, i + 15)
    assert losses[fifteen].max() > 0.9 * losses[0], "the loss comes back"
    assert steps[fifteen].abs().max() > steps[0].abs(), "long steps remain"

CARD = {"layout": "constrained"}
BELOW = {"loc": "outside lower center", "ncols": 3, "frameon": False}

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.6), **CARD)
fig.suptitle("With zero_grad() training arrives, without it training swings on")
fig.set_label("With zero_grad() loss and step fall to 0; without, both keep coming back.")
left.set(title="loss", xlabel="step")
left.plot(with_losses, color="C0", label="with zero_grad()")
left.plot(losses, "--", color="C1", label="without")
right.set(title="length of the step", xlabel="step")
right.plot(with_steps.abs(), color="C0")
right.plot(steps.abs(), "--", color="C1")
fig.legend(**BELOW)
plt.show()

# %%
# Every step is the sum of all gradients
# --------------------------------------
# If nothing clears ``.grad``, it holds ``g[0] + … + g[k]`` when step ``k`` is taken. The step is
# that sum times the learning rate:
#
# .. code-block:: text
#
#     w[k+1] - w[k] = -lr * (g[0] + … + g[k])
#
# The picture shows the steps as measured and as this sum predicts them, and beside them the steps
# that the newest gradient alone would have made.

predicted = -LR * gradients.cumsum(0)
assert torch.allclose(steps, predicted), "a step is lr times the sum"
assert not torch.allclose(steps, -LR * gradients), "and not lr times one gradient"

fig, axes = plt.subplots(figsize=(8, 3.4), **CARD)
fig.suptitle("Without zero_grad() each step is lr times the sum of all gradients")
fig.set_label("The measured steps lie on the curve of the sum, not on the newest gradient's.")
axes.set(xlabel="step", ylabel="change of the weight")
axes.plot(steps, "o", color="C1", label="measured")
axes.plot(predicted, color="C2", label="-lr * sum of gradients")
axes.plot(-LR * gradients, ":", color="C0", label="-lr * newest gradient")
fig.legend(**BELOW)
plt.show()

# %%
# Why it swings
# -------------
# Take the formula of one step from that of the next. All gradients but the newest cancel:
#
# .. code-block:: text
#
#     w[k+1] - 2*w[k] + w[k-1] = -lr * g[k]
#
# The loss is a parabola, so its gradient is ``g[k] = h * e[k]``, where ``e[k]`` is the distance
# from the solution and ``h`` the curvature, the loss's second derivative. With ``a = lr * h``:
#
# .. code-block:: text
#
#     e[k+1] - 2*e[k] + e[k-1] = -a * e[k]
#
# That is a pendulum without friction, in steps: a gradient changes the *speed* of the weight, and
# nothing slows the weight down. As with a pendulum, a kind of energy stays the same at every step:
#
# .. code-block:: text
#
#     e[k+1]**2 - (2 - a)*e[k+1]*e[k] + e[k]**2 = a * e[0]**2
#
# At rest in the solution it would be 0. So the weight never comes to rest there.


def energy(e, a):
    """Return the quantity that a swing keeps, for each pair of neighbours in e."""
    return e[1:] ** 2 - (2 - a) * e[1:] * e[:-1] + e[:-1] ** 2


h = 2 * (x**2).mean()
a = LR * h
e = weights - SLOPE
bend = e[2:] - 2 * e[1:-1] + e[:-2]
assert torch.allclose(gradients, h * e[:-1]), "the gradient is h times the distance"
assert torch.allclose(bend, -a * e[1:-1]), "the update is an oscillator"
assert torch.allclose(energy(e, a), a * e[0] ** 2), "the energy stays the same"

# %%
# Where it explodes
# -----------------
# The oscillator's solutions are powers ``r**k`` of the two roots of ``r**2 - (2 - a)*r + 1 = 0``.
# The product of the roots is 1. For ``a`` between 0 and 4 they are complex and of absolute value 1:
# the weight swings, neither more nor less with time, and stays within ``|e[0]| / sqrt(1 - a/4)`` of
# the solution. Above 4 they are real, one of them is below -1, and the distance comes to grow by
# that factor with each step.
#
# The loop with ``zero_grad()`` has its limit earlier. There ``e[k+1] = (1 - a) * e[k]``, which
# shrinks only for ``a`` between 0 and 2.


def distances(a, steps, clear):
    """Return the distance from the solution, before and after each step."""
    return train(a / h, steps, clear)[2] - SLOPE


for a in (0.2, 3.9):
    e = distances(a, 300, clear=False)
    assert torch.allclose(energy(e, a), a * e[0] ** 2), "the energy stays the same"
    assert e.abs().max() <= e[0].abs() / (1 - a / 4) ** 0.5, "the swing is bounded"
    assert e[-15:].abs().max() > 0.9 * e[0].abs(), "the swing does not fade"

a = 4.1
e = distances(a, STEPS, clear=False)
root = 1 - a / 2 - (a**2 / 4 - a) ** 0.5
assert root < -1, "above 4 a root is below -1"
assert torch.allclose(e[-1], root * e[-2]), "and the distance grows by it"

fig, panels = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True, **CARD)
fig.suptitle("Without zero_grad() it explodes above lr * h = 4, with it above 2")
fig.set_label("Without it the distance swings at 0.2 and 3.9; with it 0.2 falls, 3.9 explodes.")
for axes, clear in zip(panels, (False, True), strict=True):
    axes.set(title="with zero_grad()" if clear else "without", xlabel="step")
    for a, style in (0.2, "-"), (3.9, "--"), (4.1, "-."):
        e = distances(a, STEPS, clear)
        axes.plot(e.abs(), style, label=None if clear else f"lr * h = {a}")
        if clear:
            assert torch.allclose(e[1:], (1 - a) * e[:-1]), "the factor is 1 - a"
panels[0].set(ylabel="distance from the solution", yscale="log")
fig.legend(**BELOW)
plt.show()

# %%
# To take away
# ------------
# * Without ``zero_grad()`` each step is lr times the sum of all gradients so far.
# * On a parabola the weight then swings for ever: no error and no explosion gives the bug away.
# * When a loss keeps coming back to where it began, look for the missing ``zero_grad()`` first.
#
# The chapter :doc:`/autograd/gradients-add-up` answers the questions around this one; see the
# claims :claim:`forgotten-step-is-lr-times-the-sum` and :claim:`forgetting-circles-the-minimum`.
