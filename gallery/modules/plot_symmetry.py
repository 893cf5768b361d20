"""
Equal units stay equal
======================

Without dropout, units of a hidden layer that start with the same numbers get the same gradients and
stay the same. Tanh units that start at zero do not even move. If they start at another constant,
they learn together what one unit learns. The balance is unstable, however: a difference of a
hundred-thousandth grows until the units part.
"""

# %%
# One point for each unit
# -----------------------
# The network has one input, eight tanh units and one output. Each unit has three numbers: the
# weight and the bias of its input, and the weight of its output. One tensor holds these numbers for
# all units of several networks, which are trained side by side by plain SGD on all the data.

import matplotlib.pyplot as plt
import torch

from claimbook.teach.plots import curves, legend

torch.manual_seed(0)
UNITS, LR = 8, 0.2
x = torch.linspace(-2, 2, 21, dtype=torch.float64)[:, None]
y = torch.exp(-2 * (x[:, 0] - 0.5) ** 2)


def train(networks, steps, lr):
    """Return the units before each step (step, network, unit, number), and the losses."""
    path, losses = [], []
    for _ in range(steps):
        path.append(networks)
        networks = networks.detach().requires_grad_()
        weight, bias, outer = networks[:, None].unbind(-1)
        out = (torch.tanh(weight * x + bias) * outer).sum(-1)
        loss = (out - y).square().mean(-1)
        (gradient,) = torch.autograd.grad(loss.sum(), networks)
        networks = networks.detach() - lr * gradient
        losses.append(loss.detach())
    return torch.stack(path), torch.stack(losses)


def spread(path):
    """Return how far the units of each network are from their mean, in total."""
    return (path - path.mean(2, keepdim=True)).square().sum((2, 3)).sqrt()


# %%
# Three starts
# ------------
# Each line is the path of one unit through the plane of its first two numbers, and the dot is its
# end. The units that start at zero stay there: ``tanh(0)`` is 0, the output weights are 0, and so
# are all gradients. From the constant 0.3 the eight units follow one path. Their losses are those
# of a single unit whose output weight starts eight times as large and learns eight times as fast,
# and whose other two numbers learn at an eighth of the rate. From random numbers the eight units
# follow eight paths, and end with less than a fifth of the loss of the equal units.

NAMES = "all zero", "all 0.3", "random"
shape = UNITS, 3
kinds = torch.zeros(shape), torch.full(shape, 0.3), 0.6 * torch.randn(shape)
starts = torch.stack(kinds).double()
path, losses = train(starts, 1000, LR)

assert torch.equal(path[-1, 0], path[0, 0]), "zeros stay where they are"
assert spread(path[:, 1:2]).max() < 1e-6, "a constant stays constant across units"
assert (path[-1, 1] - path[0, 1]).abs().max() > 0.1, "though it moves"
assert torch.pdist(path[-1, 2]).min() > 0.01, "random units end apart"
single, eighth = starts[1:2, :1] * torch.tensor([1, 1, UNITS]), torch.tensor([1 / 8, 1 / 8, 8])
one = train(single, len(losses), LR * eighth)[1]
assert torch.allclose(losses[:, 1], one[:, 0]), "equal units descend like one"
assert losses[-1, 2] < losses[-1, 1] / 5, "and get further than equal ones"

fig, panels = plt.subplots(1, 3, figsize=(8, 3.4), sharex=True, sharey=True, layout="constrained")
fig.suptitle("Eight units rest at zero, go one way from a constant, part if random")
fig.set_label("A dot at zero, one line from the constant, and eight lines from random starts.")
for network, (axes, name) in enumerate(zip(panels, NAMES, strict=True)):
    weight, bias, _ = path[:, network].unbind(-1)
    axes.plot(weight, bias, color=f"C{network}")
    axes.plot(weight[-1], bias[-1], "o", color=f"C{network}")
    axes.set(title=name, xlabel="weight of the unit")
panels[0].set_ylabel("bias of the unit")
plt.show()

# %%
# A small difference grows
# ------------------------
# Now the units start at the same constant plus noise, of a different size in each of three
# networks. Equal units are like a pencil on its tip: the distance between them grows by orders of
# magnitude. As long as it is small, it grows by the same factor in all three networks. So with a
# tenth of the noise the distance stays a tenth as large. Less noise only means that the units part
# later.

SIZES = torch.tensor([1e-3, 1e-4, 1e-5], dtype=torch.float64)
noise = torch.randn(shape, dtype=torch.float64)
nudged = starts[1] + SIZES[:, None, None] * noise
distance = spread(train(nudged, 1500, LR)[0])

small = distance[:, 0] < 0.05
tenths = distance[small, 1:] / distance[small, :-1]
assert ((tenths - 0.1).abs() < 0.01).all(), "a tenth stays a tenth while it is small"
assert (distance[-1] > 100 * distance[0]).all(), "every difference grows"
assert (distance[-1] > 0.1).all(), "and the units part"

fig, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
fig.suptitle("A difference between the units grows until they part")
fig.set_label("On a log scale three lines rise, a tenth apart, and bend to about the same height.")
series = {f"noise of {size:.0e}": line for size, line in zip(SIZES, distance.T, strict=True)}
curves(axes, range(len(distance)), series, marker="")
axes.set(xlabel="step", ylabel="distance between the units", yscale="log")
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * With tanh, units that start at zero stay there; units at another constant move, but as one unit.
# * Equal units add width without adding anything that can be learnt.
# * A tiny difference is enough in the end, but it takes steps to grow. So start with large
#   differences.
#
# The chapter :doc:`/modules/initialisation` says what to use instead. Related statements:
#
# * :claim:`identical-units-stay-identical`
# * :claim:`identical-units-count-as-one`
# * :claim:`zeros-with-relu-learn-nothing`
# * :claim:`constants-are-like-zeros`
