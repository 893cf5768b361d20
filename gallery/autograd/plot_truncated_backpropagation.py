"""
Truncated backpropagation: memory bought with memory
====================================================

A window of ten steps takes a tenth of the memory that a hundred take. It is paid for with memory
of another kind: a recurrent network does not learn to remember what lies further back than its
window. The value may still be in the state; no gradient tells the weights to keep it there.
"""

# %%
# The same data, the same updates, other cuts
# -------------------------------------------
# The task is to say the number that came in two, three or four steps ago. The state is a little
# noisy, so that only what the weights keep alive on purpose can be read from it.
#
# Each pair of a window and a delay trains a model of its own. All train side by side, as
# entries of one batched product, on the same data and with the same updates, one every 24
# steps. They differ only in where ``detach()`` cuts their state loose from the past: a mask
# of ones and zeros mixes the state with its detached copy, which has the same value.

import matplotlib.pyplot as plt
import torch

from claimbook.teach import peak_memory

WINDOWS, DELAYS = (1, 2, 3, 4, 5, 6, 12), (2, 3, 4)
CHUNK, UPDATES, BATCH, HIDDEN = 24, 150, 16, 12
MODELS = len(WINDOWS) * len(DELAYS)
window, delay = torch.cartesian_prod(torch.tensor(WINDOWS), torch.tensor(DELAYS)).T


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
# A number that came in ``d`` steps ago takes ``d + 1`` steps to reach the output. Windows that hold
# so many steps learn to keep it. For all shorter ones the error stays at least half as large again,
# and mostly several times as large; an error of 1 is that of always answering 0. Far longer
# windows are no better: what lies within reach is learnt, and a longer reach adds nothing to it.

for column, steps_ago in enumerate(DELAYS):
    short = [row for row, width in enumerate(WINDOWS) if width <= steps_ago]
    long = [row for row, width in enumerate(WINDOWS) if width > steps_ago]
    assert final[short, column].min() > 1.5 * final[long, column].max(), "what is cut is not learnt"

CARD = {"layout": "constrained"}

fig, axes = plt.subplots(figsize=(8, 3.8), **CARD)
fig.suptitle("A window must reach back further than what is to be remembered")
fig.set_label("Each delay's error drops at the first window that is longer than the delay.")
axes.set(xlabel="window in steps", ylabel="mean squared error", ylim=(0, 1.15))
axes.axhline(1, linestyle=":", color=plt.rcParams["text.color"])
for column, steps_ago in enumerate(DELAYS):
    style = "os^"[column] + ("-", "--", "-.")[column]
    axes.plot(WINDOWS, final[:, column], style, label=f"{steps_ago} steps ago")
fig.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# What the window saves
# ---------------------
# Sequences of 48 and of 96 steps, run through with one ``backward()`` for each window. Until then,
# autograd keeps what each step of the window has made. The peak, counted in states, grows with the
# window. With the same window, the sequence of twice the length takes no more.


def truncated(length, width):
    """Run one sequence forward and backward, cut after every width steps."""
    state = torch.zeros(1, BATCH, HIDDEN)
    for time in range(length):
        if time % width == 0:
            state = state.detach()
        state = step(state, torch.ones(BATCH, 1), *model)
        if time % width == width - 1:
            state.sum().backward()


def states_kept(length, width):
    return peak_memory(lambda: truncated(length, width)) / (4 * BATCH * HIDDEN)


model = [weight[:1].detach().requires_grad_() for weight in weights[:2]]
truncated(4, 4)  # from now on .grad exists and is added to
short = {width: states_kept(48, width) for width in (4, 16, 48)}
long = {width: states_kept(96, width) for width in (4, 16, 48, 96)}
assert long[48] > 6 * long[4], "a short window needs little"
assert long[96] > 1.8 * long[48], "a window of twice the length takes twice as much"
for width, kept in short.items():
    assert abs(long[width] / kept - 1) < 0.1, "the length of the sequence does not count"

fig, axes = plt.subplots(figsize=(8, 3.4), **CARD)
fig.suptitle("The peak grows with the window, not with the sequence")
fig.set_label("Pairs of equal bars for both lengths; from window to window they grow.")
axes.set(xlabel="window in steps", ylabel="peak memory in states")
ink = plt.rcParams["text.color"]
for side, colour, kept, hatch in (-0.2, "C0", short, ""), (0.2, "C1", long, "//"):
    places = [place + side for place in range(len(kept))]
    bars = axes.bar(places, list(kept.values()), 0.38, color=colour, edgecolor=ink, hatch=hatch)
    bars.set_label(f"sequence of {max(kept)} steps")
    axes.bar_label(bars, fmt="%.0f")
axes.set_xticks(range(4), list(long))
fig.legend(loc="outside lower center", ncols=2, frameon=False)
plt.show()

# %%
# To take away
# ------------
# * The window is a choice between memory on the device and memory in the model.
# * A window must hold all the steps from where something comes in to where it is needed.
# * If the memory allows, take a longer window than that: the first steps after a cut see
#   less than a window.
#
# The chapter :doc:`/autograd/long-sequences` tells how to cut and what else to do; see the claims
# :claim:`truncation-bounds-memory-not-time`, :claim:`what-lies-before-the-cut-is-not-learnt`,
# :claim:`first-step-of-a-chunk-sees-nothing-behind` and, for the whole gradient at little
# memory, :claim:`checkpointing-keeps-the-whole-gradient`.
