"""
Two settings for speed: one moves numbers, one changes them
===========================================================

``channels_last`` and half precision are recommended together. ``channels_last`` only changes where
the numbers lie in memory: gradients stay the same but for rounding. Half precision changes the
numbers: in a deep network, the gradients of the lower layers may be too small for ``float16`` and
become 0. Here, multiplying the loss by 4096 brings them back.
"""

# %%
# Where gradients die
# -------------------
# The network has eight convolutions, each followed by a sigmoid. Sigmoids make gradients small on
# their way down, because the slope of a sigmoid is at most 1/4. ``gradients`` returns the gradient
# of each convolution's weight, with autocast in the given precision and the loss multiplied by
# ``scale``. All of it runs on the CPU.

import copy

import matplotlib.pyplot as plt
import torch
from torch import nn

from claimbook.teach.plots import curves, legend

DEPTH, CHANNELS, SCALE = 8, 16, 2.0**12
torch.manual_seed(0)
layers = [nn.Conv2d(3 if i == 0 else CHANNELS, CHANNELS, 3, padding=1) for i in range(DEPTH)]
pairs = [nn.Sequential(layer, nn.Sigmoid()) for layer in layers]
model = nn.Sequential(*pairs, nn.Flatten(), nn.LazyLinear(1))
x, y = torch.randn(16, 3, 8, 8), torch.randn(16, 1)
model(x)


def gradients(dtype, scale=1.0, memory_format=torch.contiguous_format):
    """Return the gradients of the convolutions' weights, from the lowest layer upwards."""
    copied = copy.deepcopy(model).to(memory_format=memory_format)
    with torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
        loss = nn.functional.mse_loss(copied(x.to(memory_format=memory_format)), y)
    (scale * loss).backward()
    return [pair[0].weight.grad for pair in copied[:DEPTH]]


# %%
# The picture shows the sizes of all entries of the gradients in ``float32``, for three of the
# layers. To the left of the dotted line, at ``2**-25``, ``float16`` rounds to zero. Nearly all
# entries of the lowest layer lie there. The few to the right of the line become zero too, because
# the numbers that they are summed up from became zero on the way down. So hardly any weight of this
# layer would be trained.

exact, halves = gradients(torch.float32), gradients(torch.float16)
dead = [(half == 0).float().mean().item() for half in halves]
assert dead[0] > 0.95, "the lowest layer gets next to nothing"
assert max(dead[DEPTH // 2 :]) < 0.05, "the upper layers get nearly all"

fig, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
fig.suptitle(f"In float16 {dead[0]:.0%} of the lowest layer's gradients are zero")
fig.set_label("Three hills; the lowest layer's lies left of the line, the highest's far right.")
axes.set(xlabel="size of the gradient", ylabel="share of the entries", xscale="log")
edges = torch.logspace(-36, 0, 73, base=2)
for number, layer in enumerate((0, 2, DEPTH - 1)):
    sizes = exact[layer].abs().flatten()
    style = {"histtype": "stepfilled", "alpha": 0.5, "linewidth": 2, "edgecolor": f"C{number}"}
    style |= {"linestyle": ("-", "--", "-.")[number], "label": f"layer {layer + 1}"}
    axes.hist(sizes, edges, weights=torch.full_like(sizes, 1 / sizes.numel()), **style)
axes.axvline(2**-25, linestyle=":", color=plt.rcParams["text.color"])
legend(fig)
plt.show()

# %%
# A layout, a precision, a factor
# -------------------------------
# The picture shows the relative error of each layer's gradient, compared with contiguous
# ``float32``. ``channels_last`` adds in a different order, which changes the last digits.
# ``float16`` loses the gradients of the lower layers. A factor on the loss is a factor on every
# gradient: it moves the hills of the first picture to the right, away from the line. Before the
# update, the factor is divided out in ``float32``. Then the gradients of all layers are right, to
# within a twentieth.
#
# How much time each setting saves depends on the machine, above all on whether it has Tensor Cores.
# No CUDA measurement of it has been recorded yet.

scaled = [half / SCALE for half in gradients(torch.float16, SCALE)]
runs = {
    "channels_last": gradients(torch.float32, memory_format=torch.channels_last),
    "float16": halves,
    "float16, loss scaled": scaled,
}
errors = {
    name: [((g - true).norm() / true.norm()).item() for g, true in zip(run, exact, strict=True)]
    for name, run in runs.items()
}
assert max(errors["channels_last"]) < 1e-4, "another layout, the same gradients"
assert max(errors["float16"]) > 1e4 * max(errors["channels_last"]), "another precision, others"
assert errors["float16"][0] > 0.5, "unscaled, the lowest layer is wrong"
assert max(errors["float16, loss scaled"]) < 0.05, "scaled, all layers are right"

fig, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
fig.suptitle("channels_last keeps the gradients; float16 needs its loss scaled")
fig.set_label("channels_last stays near 1e-6, scaled float16 below 0.05; float16 falls from 1.")
axes.set(xlabel="layer, from the input", ylabel="relative error", yscale="log")
curves(axes, range(1, DEPTH + 1), errors)
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * ``channels_last`` moves the numbers and keeps their values. A ``view`` in the model may then
#   raise an error.
# * ``float16`` without loss scaling stops training where gradients are small, in the lower layers
#   first, and no error says so.
# * Scaling the loss saves these gradients, and costs little.
#
# The chapters are :doc:`/memory/channels-last` and :doc:`/tensors/low-precision`. Related
# statements:
#
# * :claim:`channels-last-changes-strides-only`
# * :claim:`gradients-vanish-below-two-to-the-minus-24`
# * :claim:`scaling-cures-what-autocast-does-not`
# * :claim:`scale-grows-after-good-steps`
#
# Loss scaling is due to `Micikevicius et al. (2018) <https://arxiv.org/abs/1710.03740>`_.
