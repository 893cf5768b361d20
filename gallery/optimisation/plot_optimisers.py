"""
SGD, momentum and Adam in a narrow valley
=========================================

In a valley whose walls bend 200 times as much as its floor, plain SGD needs over four times as many
steps as SGD with momentum. Adam is fast too where the valley lies along an axis. If the same valley
is turned by 45 degrees, Adam needs over one and a half times as many steps, in the median of ten
starts. The other two need as many as before.
"""

# %%
# One valley, lying straight and turned
# -------------------------------------
# The loss is half of ``w @ bowl @ w``, with curvature 1 along the floor and 200 across. Ten starts
# lie on a circle of radius 1 around the bottom. ``angle`` turns the starts together with the
# valley, so that nothing changes but its direction relative to the axes.

import math

import matplotlib.pyplot as plt
import torch
from torch import nn

CURVATURES = torch.tensor([1.0, 200.0])
STEPS = 600
OPTIMISERS = {
    "SGD": (torch.optim.SGD, {}, range(-9, -5)),
    "momentum": (torch.optim.SGD, {"momentum": 0.9}, range(-9, -5)),
    "Adam": (torch.optim.Adam, {}, range(-3, 2)),
}
torch.manual_seed(0)
starts = nn.functional.normalize(torch.randn(10, 2))


def valley(angle):
    """Return the rotation by an angle in degrees, and the bowl turned by it."""
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    rotation = torch.tensor([[c, -s], [s, c]])
    return rotation, rotation * CURVATURES @ rotation.T


def descend(name, angle, lr):
    """Return where each start is before and after each step, until all are at the bottom."""
    make, options, _ = OPTIMISERS[name]
    rotation, bowl = valley(angle)
    w = starts @ rotation.T
    optimizer = make([w], lr=lr, **options)
    course = [w.clone()]
    while len(course) <= STEPS and course[-1].norm(dim=1).max() > 0.01:
        w.grad = w @ bowl
        optimizer.step()
        course.append(w.clone())
    return torch.stack(course)


# %%
# For each start, each optimiser takes its best learning rate out of some powers of 2. A start has
# arrived once it is within 0.01 of the bottom. The picture shows a start from which Adam needs the
# median of its steps in the turned valley.

courses = {
    (name, angle): [descend(name, angle, 2.0**power) for power in OPTIMISERS[name][2]]
    for name in OPTIMISERS
    for angle in (0, 45)
}


def steps_to_arrive(course):
    arrived = course.norm(dim=2) < 0.01
    return torch.where(arrived.any(0), arrived.int().argmax(0), STEPS)


counts = {key: torch.stack([*map(steps_to_arrive, runs)]) for key, runs in courses.items()}
best = {key: count.amin(0) for key, count in counts.items()}

median = {key: steps.median() for key, steps in best.items()}
for angle in (0, 45):
    assert (best["SGD", angle] > 4 * best["momentum", angle]).all(), "SGD is far behind"
for name in "SGD", "momentum":
    assert torch.allclose(best[name, 0], best[name, 45], atol=2), "these do not see the turn"
assert median["SGD", 0] > 5 * median["Adam", 0], "straight, Adam is fast"
assert median["Adam", 45] > 1.5 * median["Adam", 0], "turned, it is slower"

fig, panels = plt.subplots(2, 3, figsize=(8, 5), sharex=True, sharey=True, layout="constrained")
fig.suptitle("Turned by 45 degrees, Adam's way gets longer; the others only turn")
fig.set_label("SGD crawls along the floor and momentum swings. Adam's path changes with the turn.")
x, y = torch.meshgrid(*2 * [torch.linspace(-1.1, 1.1, 111)], indexing="xy")
grid = torch.stack([x, y], dim=2)
styles = list(zip(OPTIMISERS, ("C0o-", "C1s--", "C2^-."), strict=True))
shown = (best["Adam", 45] - median["Adam", 45]).abs().argmin()
for row, angle in zip(panels, (0, 45), strict=True):
    height = ((grid @ valley(angle)[1]) * grid).sum(2) / 2
    row[0].set(ylabel="second weight")
    for axes, (name, style) in zip(row, styles, strict=True):
        fastest = counts[name, angle][:, shown].argmin()
        course = courses[name, angle][fastest][:, shown]
        axes.contour(x, y, height, [0.5, 5, 20, 50], colors=plt.rcParams["text.color"], alpha=0.4)
        axes.plot(*course.T, style, markersize=3, lw=1)
        axes.set(title=f"{name}: {counts[name, angle][fastest, shown]} steps", aspect="equal")
for axes in panels[1]:
    axes.set(xlabel="first weight")
plt.show()

# %%
# Plain SGD is limited to a learning rate that the steep walls allow, so it crawls along the floor.
# Momentum adds up what the crawling steps have in common. Adam divides each element of the gradient
# by its usual size, so both weights move alike. That helps only if the directions of the valley are
# those of the weights.

# %%
# To take away
# ------------
# * In a narrow valley, momentum needs only a fraction of the steps of plain SGD.
# * Adam evens out the steps along the axes of the weights, and along no other directions.
#
# The chapter :doc:`/optimisation/optimisers` answers the questions around this one. Related
# statements:
#
# * :claim:`adam-is-faster-on-uneven-slopes`
# * :claim:`weights-gradients-states-in-bytes`
