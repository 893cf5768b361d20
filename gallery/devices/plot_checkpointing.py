"""
Checkpointing: how many segments
================================

A checkpointed network keeps the activations at the ends of its segments and computes the rest
again. If there are few segments, each is long; if there are many, many ends are kept. With 64 equal
layers, 8 segments take the least memory, about a quarter of what is kept without checkpoints.
Beyond the square root of the number of layers, more segments cost more memory and more work.
"""

# %%
# Memory
# ------
# The network has equal layers, each a matrix product and a ReLU. The batch is so large that the
# activations dwarf the weights. ``peaks`` measures the most memory in use at once, in multiples of
# the activations of one layer.

import matplotlib.pyplot as plt
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential
from torch.utils.flop_counter import FlopCounterMode

from claimbook.teach import peak_memory
from claimbook.teach.plots import legend, log_ticks


def network(depth, batch, width):
    """Return a function that trains a new network in a given number of segments."""
    layers = [nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(depth)]
    x = torch.ones(batch, width, requires_grad=True)

    def train(segments):
        options = {"use_reentrant": False, "preserve_rng_state": False}
        checkpoint_sequential(layers, segments, x, **options).sum().backward()

    train(1)  # from now on .grad exists and is added to
    return train


def peaks(depth, choices):
    train = network(depth, batch=2048, width=8)
    return [peak_memory(lambda count=count: train(count)) / (4 * 2048 * 8) for count in choices]


# %%
# With ``s`` segments of ``N / s`` layers each, ``s`` ends are kept. While one segment is computed
# again, its ``N / s`` activations are in memory as well. The sum ``s + N / s`` is least where the
# two terms are equal, which is at the square root of ``N``. There it is twice that root. The lines
# in the picture are this sum, the marks are measured. One segment means no checkpoint at all.

choices = {16: [2, 4, 8], 64: [1, 2, 4, 8, 16, 64]}
measured = {depth: peaks(depth, segments) for depth, segments in choices.items()}
for depth, segments in choices.items():
    root = round(depth**0.5)
    for count, peak in zip(segments, measured[depth], strict=True):
        assert abs(peak / (count + depth / count) - 1) < 0.1, "ends and one segment"
    assert min(measured[depth]) == measured[depth][segments.index(root)], "least at the root"
assert min(measured[64]) < 0.3 * measured[64][0], "a quarter of the memory"
assert min(measured[64]) < 2.2 * min(measured[16]), "four times as deep, twice the memory"

fig, axes = plt.subplots(figsize=(8, 4), layout="constrained")
fig.suptitle("The peak is least at the square root of the number of layers")
fig.set_label("Two curves shaped like a U, with their lowest points at 4 and 8 segments.")
axes.set(xlabel="segments", ylabel="peak memory in activations")
log_ticks(axes, x=choices[64], y=[8, 16, 32, 64])
for number, (depth, segments) in enumerate(choices.items()):
    grid = torch.linspace(1, depth, 200)
    axes.plot(grid, grid + depth / grid, ("-", "--", "-.")[number], color=f"C{number}")
    label, marker = f"{depth} layers", "os^"[number]
    axes.plot(segments, measured[depth], marker, color=f"C{number}", label=label)
legend(fig)
plt.show()

# %%
# Work
# ----
# The forward pass of every segment but the last is computed twice. If a backward pass is twice the
# work of a forward pass, training with ``s`` segments takes ``1 + (1 - 1/s) / 3`` times the work of
# training without checkpoints. So the first few segments bring most of the extra work, and it never
# exceeds a third. The numbers in the picture are the numbers of segments.

counted = network(64, batch=4, width=4)


def work(segments):
    with FlopCounterMode(display=False) as counter:
        counted(segments)
    return counter.get_total_flops()


worked = [work(segments) for segments in choices[64]]
worked = [amount / worked[0] for amount in worked]
for segments, amount in zip(choices[64], worked, strict=True):
    assert abs(amount - (1 + (1 - 1 / segments) / 3)) < 0.01, "one more forward, but the last"

fig, axes = plt.subplots(figsize=(8, 4), layout="constrained")
fig.suptitle(f"8 segments: least memory, {worked[3]:.2f} times the work")
fig.set_label("A hook: to the left and up as far as 8 segments, then back to the right and up.")
axes.set(xlabel="peak memory in activations, 64 layers", ylabel="work / work in one segment")
axes.plot(measured[64][:4], worked[:4], "o-", color="C0", label="worth choosing")
axes.plot(measured[64][3:], worked[3:], "s--", color="C1", label="more memory and more work")
for segments, peak, amount in zip(choices[64], measured[64], worked, strict=True):
    side, gap = ("bottom", 0.01) if segments > 8 else ("top", -0.01)
    axes.text(peak, amount + gap, segments, va=side, ha="center")
axes.margins(y=0.15)
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * Start with about as many segments as the square root of the number of layers.
# * The peak then grows like the square root of the depth: four times as many layers take twice the
#   memory.
#
# No CUDA measurement of it has been recorded yet. The chapter is :doc:`/devices/checkpointing`.
# Related statements:
#
# * :claim:`square-root-of-the-layers`
# * :claim:`last-segment-is-not-checkpointed`
# * :claim:`one-more-forward-is-a-third`
# * :claim:`only-activations-shrink`
#
# The square root is due to `Chen et al. (2016) <https://arxiv.org/abs/1604.06174>`_.
