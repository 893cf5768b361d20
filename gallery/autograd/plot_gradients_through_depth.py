"""
The size of a gradient through depth
====================================

On its way back through a network, a gradient is multiplied by one factor for each layer. The scale
of the initial weights sets this factor, and the number of layers is its exponent. In forty plain
layers, weights that are a little too small let the gradient vanish, and weights that are a little
too large let it explode. Kaiming's scheme gives a factor of 1. With LayerNorm in each layer the
scale of the weights no longer matters for this.
"""

# %%
# A narrow strip between nothing and too much
# -------------------------------------------
# The network has forty layers of 128 units with ReLU, without biases. ``gradient_sizes`` sends a
# random gradient in at the top. It returns the length of the gradient that arrives at each layer's
# output, divided by the length of the one sent in.

import matplotlib.pyplot as plt
import torch
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from torch import nn

from claimbook.teach.plots import legend

WIDTH, DEPTH = 128, 40
torch.set_default_dtype(torch.float64)


def gradient_sizes(draw, normalise=nn.Identity):
    """Return the length of the gradient at each layer's output, relative to the last."""
    torch.manual_seed(0)
    out, outputs = torch.randn(32, WIDTH, requires_grad=True), []
    for _ in range(DEPTH):
        layer = nn.Linear(WIDTH, WIDTH, bias=False)
        draw(layer.weight)
        out = normalise()(layer(out)).relu()
        outputs.append(out)
    gradients = torch.autograd.grad(out, outputs, torch.randn_like(out))
    sizes = torch.stack([gradient.norm() for gradient in gradients])
    return sizes / sizes[-1]


# %%
# The picture shows forty such networks side by side. From left to right the standard deviation of
# the weights goes from half to twice that of Kaiming's scheme, which is ``sqrt(2 / fan_in)``. The
# lines join places where the gradient has shrunk or grown by the same power of ten.

KAIMING = (2 / WIDTH) ** 0.5
scales = torch.logspace(-1, 1, 40, base=2).tolist()
columns = [
    gradient_sizes(lambda weight, scale=scale: nn.init.normal_(weight, std=scale * KAIMING))
    for scale in scales
]
tens = torch.stack(columns, dim=1).log10().flip(0)

assert tens[-1, 0] < -10 < 10 < tens[-1, -1], "half the scale: vanished; twice: exploded"
near_one = [i for i, scale in enumerate(scales) if 0.95 < scale < 1.05]
assert tens[:, near_one].abs().max() < 1.5, "within a twentieth of Kaiming's: neither"

ends = [to_rgba("C0"), to_rgba("C0", 0), to_rgba("C1", 0), to_rgba("C1")]
signed = LinearSegmentedColormap.from_list("signed", ends)

fig, axes = plt.subplots(figsize=(8, 4), layout="constrained")
fig.suptitle("Only near one scale of the weights does a gradient keep its size")
fig.set_label("Small at the lower left, large at the lower right, a clear strip between them.")
axes.set(xlabel="standard deviation of the weights / Kaiming's", ylabel="layers below the top")
extent = (-1, 1, DEPTH - 0.5, -0.5)
axes.imshow(tens, cmap=signed, vmin=-12, vmax=12, extent=extent, aspect="auto")
ink, levels = plt.rcParams["text.color"], [-9, -6, -3, -1, 1, 3, 6, 9]
lines = axes.contour(tens, levels, extent=(-1, 1, 0, DEPTH - 1), colors=ink)
axes.clabel(lines, fmt=lambda power: f"1e{power:+.0f}", fontsize=9)
axes.set_xticks([-1, -0.5, 0, 0.5, 1], ["1/2", "0.71", "1", "1.41", "2"])
plt.show()

# %%
# Which factor
# ------------
# On its way back through a layer, a gradient first meets the ReLU, which stops it in about half of
# the units. Then it meets the transposed weights, which multiply its mean square by
# ``fan_out * variance``, where ``variance`` is that of the weights. So the factor of a layer is
# ``sqrt(fan_out * variance / 2)``. That is ``sqrt(1/6)`` with torch's default, ``sqrt(1/2)`` with
# Xavier's scheme and 1 with Kaiming's. The lines in the first panel are the powers of these
# factors, the marks are measured.
#
# In the second panel there is a LayerNorm between each product and its ReLU. On the way forward,
# LayerNorm divides by the scale that the weights have put in; so it divides by it on the way back
# too. The factor is about 1 for all three schemes.

draws = {
    "default": (lambda weight: weight, (1 / 6) ** 0.5),
    "Xavier": (nn.init.xavier_normal_, (1 / 2) ** 0.5),
    "Kaiming": (nn.init.kaiming_normal_, 1.0),
}
depth = torch.arange(DEPTH)

fig, panels = plt.subplots(1, 2, figsize=(8, 3.8), sharey=True, layout="constrained")
fig.suptitle("The scheme sets the factor of a plain layer, LayerNorm makes it 1")
fig.set_label("First three straight lines of different slope; then all three stay near 1.")
for axes, normalise in zip(panels, (nn.Identity, lambda: nn.LayerNorm(WIDTH)), strict=True):
    plain = normalise is nn.Identity
    axes.set(title="plain" if plain else "with LayerNorm", xlabel="layers below the top")
    for number, (name, (draw, factor)) in enumerate(draws.items()):
        sizes = gradient_sizes(draw, normalise).flip(0)
        expected = factor if plain else 1.0
        assert abs(sizes[-1] ** (1 / (DEPTH - 1)) / expected - 1) < 0.06, "the factor of a layer"
        label = f"{name}: {factor:.2f} a plain layer"
        axes.plot(depth, expected**depth, color=f"C{number}")
        axes.plot(depth[::3], sizes[::3], "os^"[number], color=f"C{number}", label=label)
panels[0].set(ylabel="length of the gradient", yscale="log")
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * The factor of one layer is raised to the power of the depth, so small errors of scale grow
#   large.
# * For plain ReLU layers Kaiming's scale is right. With half of it the gradient loses more than ten
#   powers of ten in forty layers; with twice as much it gains as many.
# * With LayerNorm in each layer, the scale of the weights does not change how much the gradient
#   shrinks or grows on its way through the layers.
#
# The chapters are :doc:`/modules/initialisation` and :doc:`/autograd/hooks`. Related statements:
#
# * :claim:`kaiming-keeps-the-scale-through-relu`
# * :claim:`default-variance-is-a-third-over-fan-in`
# * :claim:`same-factor-grows-or-vanishes`
# * :claim:`hooks-show-a-vanishing-gradient`
