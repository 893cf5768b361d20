"""
Two settings for speed: one moves numbers, one changes them
===========================================================

``channels_last`` and half precision are recommended together. The first only changes where the
numbers lie: gradients stay the same but for rounding. The second changes the numbers: in
``float16`` the gradients of the lower layers of a deep network may be too small to exist, and die
as zeros. Multiplying the loss by 4096 brings them back.
"""

# %%
# Where gradients die
# -------------------
# Eight convolutions with sigmoids, which make gradients small on their way down: the slope of a
# sigmoid is at most 1/4. ``gradients`` returns the gradient of each layer's weight, with autocast
# in the given precision and the loss multiplied by ``scale``. All of it runs on the CPU.

import copy

import matplotlib.pyplot as plt
import torch
from torch import nn

from claimbook.teach import compare

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
# The picture gives the sizes of all entries, for three of the layers, as ``float32`` has them.
# Below the dotted line, at ``2**-25``, ``float16`` rounds to zero. Nearly all of the lowest layer
# lies there, and the few entries to the right of it die too: what they are summed up from has died
# on the way down. No weight of this layer would be trained.

exact, halves = gradients(torch.float32), gradients(torch.float16)
dead = [(half == 0).float().mean().item() for half in halves]
assert dead[0] > 0.8, "the lowest layer gets next to nothing"
assert max(dead[DEPTH // 2 :]) < 0.05, "the upper layers get nearly all"

CARD = {"layout": "constrained"}
BELOW = {"loc": "outside lower center", "ncols": 3, "frameon": False}

fig, axes = plt.subplots(figsize=(8, 3.8), **CARD)
fig.suptitle(f"In float16 {dead[0]:.0%} of the lowest layer's gradients are zero")
fig.set_label("Three hills; the lowest layer's lies left of the line, the highest's far right.")
axes.set(xlabel="size of the gradient", ylabel="share of the entries", xscale="log")
edges = torch.logspace(-36, 0, 73, base=2)
for number, layer in enumerate((0, 2, DEPTH - 1)):
    sizes = exact[layer].abs().flatten()
    style = {"histtype": "stepfilled", "alpha": 0.5, "edgecolor": f"C{number}", "linewidth": 2}
    style["linestyle"] = ("-", "--", "-.")[number]
    share = torch.full_like(sizes, 1 / sizes.numel())
    axes.hist(sizes, edges, weights=share, label=f"layer {layer + 1}", **style)
axes.axvline(2**-25, linestyle=":", color=plt.rcParams["text.color"])
fig.legend(**BELOW)
plt.show()

# %%
# How loss scaling saves them
# ---------------------------
# A factor on the loss is a factor on every gradient. It moves the hills to the right, away from the
# line, and before the update it is divided out in ``float32``. Too small a factor leaves some
# dead; with too large a one, something overflows on the way and the gradients become infinite or
# NaN. Between the two lies a wide range, with 4096 in it. ``GradScaler`` starts at ``2**16``, and
# whenever it meets an infinity, it skips the step and halves. Here it is made to start far too
# high.

powers = list(range(0, 33, 2))
zero, broken = [], []
for power in powers:
    entries = torch.cat([half.flatten() for half in gradients(torch.float16, 2.0**power)])
    zero.append((entries == 0).float().mean().item())
    broken.append((~entries.isfinite()).float().mean().item())

scaler = torch.amp.GradScaler("cpu", init_scale=2.0**32)
trained = copy.deepcopy(model)
optimizer = torch.optim.SGD(trained.parameters(), lr=0.01)
for _ in range(20):
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.float16):
        loss = nn.functional.mse_loss(trained(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
settled = scaler.get_scale()

scaled = gradients(torch.float16, SCALE)
for half, true in zip(scaled, exact, strict=True):
    assert (half / SCALE - true).norm() < 0.05 * true.norm(), "scaled, all layers are right"
assert (halves[0] - exact[0]).norm() > 0.5 * exact[0].norm(), "unscaled, the lowest is not"
assert zero[0] > 0.05, "no scale: many zeros"
assert zero[6] + broken[6] < 0.002, "2**12: hardly a zero, and no infinity"
assert broken[-1] > 0.5, "2**32: overflow"
assert 2**6 < settled < 2**24, "GradScaler comes down into the range"

fig, axes = plt.subplots(figsize=(8, 3.8), **CARD)
fig.suptitle("Between too small and too large a factor all gradients survive")
fig.set_label("Zeros fall to none from 2**0 to 2**8; from about 2**18 on, all is infinite or NaN.")
axes.set(xlabel="power of two that multiplies the loss", ylabel="share of the gradients")
axes.plot(powers, zero, "o-", color="C0", label="dead: zero")
axes.plot(powers, broken, "s--", color="C1", label="overflown: infinite or NaN")
place = torch.tensor(settled).log2().item()
axes.axvline(place, linestyle=":", color="C2", label=f"GradScaler, from 32 down to {place:.0f}")
fig.legend(**BELOW)
plt.show()

# %%
# What ``channels_last`` does
# ---------------------------
# The same comparison for the layout: the relative error of each layer's gradient, against
# contiguous ``float32``. The layout adds in another order, which costs the last digits. What it
# gains in time depends on the machine. For the CPU of this build, the title gives the time of a
# convolution forward and backward, with ``channels_last`` over without; there is no rule for
# CPUs, so measure. On Tensor Cores there is one; no CUDA measurement of it has been
# recorded yet.

last = gradients(torch.float32, memory_format=torch.channels_last)
runs = {
    "channels_last": last,
    "float16": halves,
    "float16, loss scaled": [g / SCALE for g in scaled],
}
errors = {
    name: [((g - true).norm() / true.norm()).item() for g, true in zip(run, exact, strict=True)]
    for name, run in runs.items()
}
assert max(errors["channels_last"]) < 1e-4, "another layout, the same gradients"
assert max(errors["float16"]) > 1e4 * max(errors["channels_last"]), "another precision, others"

conv = nn.Conv2d(32, 32, 3, padding=1)
last_conv = copy.deepcopy(conv).to(memory_format=torch.channels_last)
image = torch.randn(8, 32, 28, 28)
last_image = image.to(memory_format=torch.channels_last)
assert last_conv(last_image).stride()[1] == 1, "the layout is handed on"
ratio = compare(
    lambda: last_conv(last_image).sum().backward(), lambda: conv(image).sum().backward()
).best

fig, axes = plt.subplots(figsize=(8, 3.8), **CARD)
fig.suptitle(f"channels_last keeps the gradients; its time here: {ratio:.2f} of contiguous")
fig.set_label("channels_last stays near 1e-6, scaled float16 near 1e-3; float16 rises to 1.")
axes.set(xlabel="layer, from the input", ylabel="relative error", yscale="log")
for number, (name, values) in enumerate(errors.items()):
    style = "os^"[number] + ("-", "--", "-.")[number]
    axes.plot(range(1, DEPTH + 1), values, style, color=f"C{number}", label=name)
fig.legend(**BELOW)
plt.show()

# %%
# To take away
# ------------
# * ``channels_last`` is safe to try: it moves numbers and keeps them.
# * ``float16`` without loss scaling stops training where gradients are small, in the lower layers
#   first, and nothing says so.
# * Scaling the loss costs nothing and saves them. ``GradScaler`` finds a factor by itself.
#
# The chapters are :doc:`/memory/channels-last` and :doc:`/tensors/low-precision`; see the claims
# :claim:`channels-last-changes-strides-only`, :claim:`float16-gradients-underflow`,
# :claim:`scaling-cures-what-autocast-does-not` and :claim:`scaler-skips-overflowing-steps`. Loss
# scaling is due to `Micikevicius et al. (2018) <https://arxiv.org/abs/1710.03740>`_.
