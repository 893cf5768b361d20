"""
Clipping by norm and by value on a cliff
========================================

On a cliff of the loss, a single gradient throws the weights far away. Clipping turns the leap into
a short step. Clipping by norm keeps the direction of the step and cuts only its length. Clipping by
value cuts each element by itself, so the step turns towards a diagonal. Here both get down the
cliff, to different places.
"""

# %%
# A ball and a box
# ----------------
# A thousand random gradients of two elements are clipped in both ways, with a limit of 1.

import matplotlib.pyplot as plt
import torch
from torch import nn

from claimbook.teach.plots import legend

LIMIT = 1.0
torch.manual_seed(0)


def clipped(gradients, clip):
    """Return each row after clip(row, LIMIT)."""
    rows = []
    for gradient in gradients:
        w = nn.Parameter(torch.empty_like(gradient))
        w.grad = gradient.clone()
        clip(w, LIMIT)
        rows.append(w.grad)
    return torch.stack(rows)


CLIPS = {"by norm": nn.utils.clip_grad_norm_, "by value": nn.utils.clip_grad_value_}
gradients = 2 * torch.randn(1000, 2)
by_norm, by_value = (clipped(gradients, clip) for clip in CLIPS.values())
cosine = nn.functional.cosine_similarity
assert cosine(by_norm, gradients).min() > 0.999, "by norm: every direction is kept"
assert cosine(by_value, gradients).min() < 0.85, "by value: some are turned by over 30 degrees"
assert by_norm.norm(dim=1).max() < LIMIT + 1e-5, "by norm: none is longer than the limit"
assert by_value.abs().max() <= LIMIT, "by value: no element is larger"
assert by_value.norm(dim=1).max() > 1.4 * LIMIT, "but the whole is longer, up to the corner"

fig, panels = plt.subplots(1, 2, figsize=(8, 4.2), sharex=True, sharey=True, layout="constrained")
fig.suptitle("Clipping by norm pulls gradients to a ball, by value to a box")
fig.set_label("Clipped by norm the points fill a disc of radius 1, by value a square of side 2.")
pairs = zip((by_norm, by_value), ("C0o", "C1s"), strict=True)
for axes, name, (points, style) in zip(panels, CLIPS, pairs, strict=True):
    axes.plot(*gradients.T, "+", color="C2", markersize=4, alpha=0.6, label="before")
    axes.plot(*points.T, style, markersize=3, label=name)
    axes.set(title=name, xlabel="first element", aspect="equal", xlim=(-4, 4), ylim=(-4, 4))
panels[0].set(ylabel="second element")
legend(fig)
plt.show()

# %%
# Down the cliff
# --------------
# The cliff is in the loss of a recurrent network with two weights, ``h = w*h + b``. It takes 20
# steps from ``h = 0`` and should end at 1. For ``w`` above 1 its output grows like ``w**20``. The
# descent starts there. Below the cliff lies a valley of solutions.


def loss(w, b):
    h = 0 * w
    for _ in range(20):
        h = w * h + b
    return (h - 1) ** 2 / 2


def descend(clip, steps=120):
    """Return the weights before and after each step of plain SGD."""
    weights = nn.Parameter(torch.tensor([1.05, 0.5]))
    optimizer = torch.optim.SGD([weights], lr=0.01)
    path = [weights.detach().clone()]
    for _ in range(steps):
        optimizer.zero_grad()
        loss(*weights).backward()
        clip(weights, LIMIT)
        optimizer.step()
        path.append(weights.detach().clone())
    return torch.stack(path)


free = descend(lambda weights, limit: None)
paths = {name: descend(clip) for name, clip in CLIPS.items()}

assert free[1].norm() > 10 * free[0].norm(), "without clipping: one leap, far away"
for path in paths.values():
    assert loss(*path[-1]) < 1e-3 < loss(*path[0]), "clipped: down to the valley"
first = {name: path[1] - path[0] for name, path in paths.items()}
assert first["by norm"][0] / first["by norm"][1] > 3, "by norm: mostly along w, as the slope is"
assert first["by value"].diff().abs() < 1e-5, "by value: along the diagonal"
assert (paths["by norm"][-1] - paths["by value"][-1]).norm() > 0.05, "to another place"

w, b = torch.meshgrid(torch.linspace(0.5, 1.1, 121), torch.linspace(0, 0.6, 121), indexing="xy")
fig, axes = plt.subplots(figsize=(8, 5), layout="constrained")
fig.suptitle("Clipped, both ways lead down; not clipped, one step leaves the picture")
fig.set_label("On a map of the loss the path by norm bends, and that by value is diagonal.")
axes.set(xlabel="w", ylabel="b")
levels = [0.001, 0.01, 0.1, 1, 10, 100]
lines = axes.contour(w, b, loss(w, b), levels, colors=plt.rcParams["text.color"], alpha=0.4)
axes.clabel(lines, levels[2:5])
for (name, path), style in zip(paths.items(), ("C0o-", "C1s--"), strict=True):
    axes.plot(*path.T, style, markersize=4, markevery=5, label=name)
leap = torch.stack([free[0], torch.lerp(free[0], free[1], 1 / 50)])
axes.plot(*leap.T, "C3:", lw=3, label="not clipped, on its way out")
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * Clipping by norm keeps the direction, clipping by value does not.
# * On a cliff, either way of clipping turns a leap into a short step.
#
# The chapter :doc:`/optimisation/clipping` answers the questions around this one. Related
# statements:
#
# * :claim:`norm-clipping-keeps-the-direction`
# * :claim:`one-step-off-the-cliff`
