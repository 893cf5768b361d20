"""
Truncated backpropagation: memory bought with memory
====================================================

Backpropagation in short windows takes little memory: the peak grows with the window, not with the
sequence. The price is memory of another kind: a recurrent network hardly learns to remember what
lies further back than its window. The value may still be in the state, but no gradient tells the
weights to keep it there.
"""

# %%
# The same data, the same updates, different cuts
# -----------------------------------------------
# The task is to output the number that came in two, three or four steps ago. The state is a little
# noisy, so that only what the weights keep up on purpose can be read from it. Each pair of a window
# and a delay trains a model of its own. All models train side by side, with one update every 24
# steps. Models of the same delay differ only in where ``detach()`` cuts their state. A mask of ones
# and zeros makes the cuts: it chooses the state or its detached copy, which has the same value.

import matplotlib.pyplot as plt
import torch

from claimbook.teach import peak_memory
from claimbook.teach.plots import curves, grouped_bars, legend

WINDOWS, DELAYS = (1, 2, 3, 4, 5, 6, 12), (2, 3, 4)
CHUNK, UPDATES, BATCH, HIDDEN = 24, 150, 16, 12
window, delay = torch.cartesian_prod(torch.tensor(WINDOWS), torch.tensor(DELAYS)).T
MODELS = len(window)


def step(state, numbers, recurrent, inward):
    """Return the next state of a plain recurrent network, with a little noise."""
    state = torch.baddbmm(numbers * inward, state, recurrent).tanh()
    return state + 0.15 * torch.randn(BATCH, HIDDEN)


torch.manual_seed(0)
recurrent = 0.2 * HIDDEN**-0.5 * torch.randn(1, HIDDEN, HIDDEN)
start = recurrent, 0.5 * torch.randn(1, 1, HIDDEN), torch.zeros(1, HIDDEN, 1)
weights = [weight.repeat(MODELS, 1, 1).requires_grad_() for weight in start]
optimizer = torch.optim.Adam(weights, lr=0.02)
state, past, errors = torch.zeros(MODELS, BATCH, HIDDEN), torch.zeros(max(DELAYS), BATCH, 1), []
for _ in range(UPDATES):
    heard = torch.cat([past, torch.randn(CHUNK, BATCH, 1)])
    state, states = state.detach(), []
    for time in range(CHUNK):
        attached = (time % window != 0).float().reshape(MODELS, 1, 1)
        state = torch.lerp(state.detach(), state, attached)
        state = step(state, heard[max(DELAYS) + time], *weights[:2])
        states.append(state)
    wanted = heard[max(DELAYS) + torch.arange(CHUNK)[:, None] - delay]
    error = (torch.stack(states) @ weights[2] - wanted).square().mean(dim=(0, 2, 3))
    optimizer.zero_grad()
    error.sum().backward()
    optimizer.step()
    past = heard[-max(DELAYS) :]
    errors.append(error.detach())
final = torch.stack(errors[-20:]).mean(dim=0).reshape(len(WINDOWS), len(DELAYS))

# %%
# A number that came in ``d`` steps ago takes ``d + 1`` steps to reach the output. Models whose
# window holds that many steps learn to keep it. With every shorter window the error stays more than
# one and a half times as large.

for steps_ago, error in zip(DELAYS, final.T, strict=True):
    within = torch.tensor(WINDOWS) > steps_ago
    assert error[~within].min() > 1.5 * error[within].max(), "what is cut is not learnt"

fig, axes = plt.subplots(figsize=(8, 3.8), layout="constrained")
fig.suptitle("A window must reach back further than what is to be remembered")
fig.set_label("Each delay's error drops at the first window that is longer than the delay.")
axes.set(xlabel="window in steps", ylabel="mean squared error", ylim=(0, 1.15))
axes.axhline(1, linestyle=":", color=plt.rcParams["text.color"], label="always answering 0")
curves(axes, WINDOWS, {f"{d} steps ago": final[:, row] for row, d in enumerate(DELAYS)})
legend(fig, columns=4)
plt.show()

# %%
# What the window saves
# ---------------------
# The next picture shows the peak memory, in multiples of the size of one state, for sequences of 48
# and of 96 steps. ``backward()`` is called once for each window. The peak grows with the window.
# With the same window, the longer sequence takes about as much as the shorter one.


def states_kept(length, width):
    def truncated():
        state = torch.zeros(1, BATCH, HIDDEN)
        for time in range(1, length + 1):
            state = step(state, torch.ones(BATCH, 1), *model)
            if time % width == 0:
                state.sum().backward()
                state = state.detach()

    return peak_memory(truncated) / (4 * BATCH * HIDDEN)


model = [weight[:1].detach().requires_grad_() for weight in weights[:2]]
states_kept(4, 4)  # from now on .grad exists and is added to
widths = 4, 16, 48, 96
short, long = ([states_kept(n, width) for width in widths if width <= n] for n in (48, 96))
assert long[3] > 1.8 * long[2] > 9 * long[0], "the peak grows with the window"
for one, other in zip(short, long[:3], strict=True):
    assert abs(other / one - 1) < 0.1, "the length of the sequence does not count"

fig, axes = plt.subplots(figsize=(8, 3.4), layout="constrained")
fig.suptitle("The peak grows with the window, not with the sequence")
fig.set_label("Pairs of equal bars for both lengths; from window to window they grow.")
axes.set(xlabel="window in steps", ylabel="peak memory in states")
grouped_bars(axes, widths, {"sequence of 48 steps": short, "of 96": long}, form="{:.0f}")
legend(fig)
plt.show()

# %%
# To take away
# ------------
# * The window is a choice between memory on the device and memory in the model: with a shorter one
#   fewer bytes are kept, and the model learns to look back less far.
# * A window should hold all the steps from the one where something comes in to the one where it is
#   needed.
#
# The chapter :doc:`/autograd/long-sequences` explains how to cut. Related statements:
#
# * :claim:`truncation-bounds-memory-not-time`
# * :claim:`what-lies-before-the-cut-is-not-learnt`
# * :claim:`checkpointing-keeps-the-whole-gradient`
