"""
What loader workers speed up
============================

Two workers halve the time of a dataset that waits. A dataset that computes gains only if each
worker has a core of its own: two workers on one core share that core's time. And a dataset that
does next to nothing gets slower, because handing the batches over costs more than making them.
"""

# %%
# Three datasets
# --------------
# One sleeps for each sample, as if it waited for a disk or a network. One computes, and one only
# hands out a number. The processes are forked, so that the workers have these classes without
# importing them. (Windows cannot fork. There, and with ``spawn`` or ``forkserver``, a dataset must
# stand in a module of its own.)

import os
import time

import matplotlib.pyplot as plt
import torch
from torch.utils.data import DataLoader, Dataset

from claimbook.teach import compare

torch.manual_seed(0)


class Waiting(Dataset):
    """Waits ten milliseconds for each sample."""

    def __len__(self):
        return 16

    def __getitem__(self, index):
        time.sleep(0.01)
        return index


class Computing(Dataset):
    """Computes for some milliseconds, and hands out the CPU time that this took."""

    def __len__(self):
        return 16

    def __getitem__(self, index):
        start = time.process_time()
        sum(i * i for i in range(40_000))
        return time.process_time() - start


class Trivial(Dataset):
    """Hands out its index."""

    def __len__(self):
        return 400

    def __getitem__(self, index):
        return index


# %%
# Time without workers, over time with them
# -----------------------------------------
# Each loader keeps its workers alive from epoch to epoch, and is run once before it is timed, so
# their start does not count. Epochs with and without workers take turns, and the fastest of each
# is taken. Above 1, the workers help. All workers are bound to one and the same core, where the
# system allows it, so that the picture shows what a core can do and not how many there are.

CORE = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def bind(worker):
    """Bind a worker to the one core."""
    if CORE is not None:
        os.sched_setaffinity(0, {CORE})


def loader(dataset, workers):
    """Return a loader of batches of two, whose workers stay alive."""
    options = {"multiprocessing_context": "fork", "persistent_workers": True} if workers else {}
    return DataLoader(dataset, 2, num_workers=workers, worker_init_fn=bind, **options)


def epoch(batches, step=0.0):
    """Return a function that goes through the batches and spends a time on each."""

    def run():
        for _ in batches:
            time.sleep(step)

    return run


def speedup(dataset, workers, step=0.0):
    """Return the time of an epoch without workers, over the time with them."""
    without, with_workers = loader(dataset, 0), loader(dataset, workers)
    return compare(epoch(without, step), epoch(with_workers, step), rounds=5).best


KINDS = {"waiting": Waiting(), "computing": Computing(), "trivial": Trivial()}
one = [speedup(dataset, 1) for dataset in KINDS.values()]
two = [speedup(dataset, 2) for dataset in KINDS.values()]

assert two[0] > 1.4, "two workers wait at the same time"
assert one[0] < 1.25, "one worker waits as long as the main process"
assert max(one[2], two[2]) < 0.6, "handing over costs more than making"

fig, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
fig.suptitle("Workers speed up waiting, and slow down trifles")
fig.set_label("Bars: with two workers waiting is well above 1, and the trivial dataset far below.")
places = torch.arange(len(KINDS))
axes.bar(places - 0.2, one, 0.38, color="C0", label="1 worker")
axes.bar(places + 0.2, two, 0.38, fill=False, edgecolor="C1", hatch="//", label="2 workers")
axes.axhline(1, linestyle=":", color=plt.rcParams["text.color"])
axes.set_xticks(places, KINDS)
axes.set(xlabel="dataset", ylabel="speed, no workers = 1")
fig.legend(loc="outside lower center", ncols=2, frameon=False)
plt.show()

# %%
# The middle bars depend on who else wants the core: of a busy one, two processes get a greater
# share than one. But all that two workers compute fits into the time of their one core.

if CORE is not None:
    batches = loader(KINDS["computing"], 2)
    list(batches)  # starts the workers
    start = time.perf_counter()
    computed = sum(seconds.sum() for seconds in batches)
    assert computed < 1.1 * (time.perf_counter() - start), "two workers share one core's time"

# %%
# What one worker is good for
# ---------------------------
# So far nothing was done with the batches. A training step takes time too, on a GPU without the
# CPU's help: here it sleeps as long as a batch takes to load. Without workers the two
# times add up. One worker loads the next batch during the step.

overlap = speedup(Waiting(), 1, step=0.02)
assert overlap > 1.3, "loading and training overlap"
assert overlap > one[0] + 0.2, "which is what one worker gains"

fig, axes = plt.subplots(figsize=(8, 2.4), layout="constrained")
fig.suptitle("One worker helps if the training step leaves it time")
fig.set_label("Two horizontal bars; without a step the speed is about 1, with one well above.")
bars = axes.barh(["no training step", "step as long as loading"], [one[0], overlap], color="C0")
axes.bar_label(bars, fmt="%.2f", label_type="center")
axes.axvline(1, linestyle=":", color=plt.rcParams["text.color"])
axes.set(xlabel="speed with one worker, no workers = 1")
axes.invert_yaxis()
plt.show()

# %%
# To take away
# ------------
# * Waiting needs no core: more workers than cores can pay if samples come from disk or network.
# * Computing needs cores: more workers than free cores gain nothing.
# * For data that lie in memory already, ``num_workers=0`` is the fast way.
# * One worker is enough if it makes a batch in less time than a training step takes.
#
# No CUDA measurement of loaders has been recorded yet. The chapter :doc:`/data/workers` answers
# the questions around this one; see the claims :claim:`waiting-uses-no-cpu`,
# :claim:`one-thread-fills-one-core`, :claim:`tiny-samples-are-slower-with-a-worker` and
# :claim:`batches-are-loaded-beside-the-step`.
