"""
What loader workers speed up
============================

Two workers shorten the time of a dataset that waits, because they wait at the same time. A dataset
that computes gains only if each worker has a core of its own: two workers on one core share that
core's time. A dataset that does next to nothing gets slower, because handing the batches over costs
more than making them.
"""

# %%
# Three datasets
# --------------
# The first sleeps for each sample, as if it waited for a disk or a network. The second computes,
# and the third only hands out a number. The worker processes are forked, so that they have these
# functions without importing them. (Windows cannot fork. There, and with ``spawn`` or
# ``forkserver``, workers import them from a file, and lambdas such as those below do not work.)

import os
import time

import matplotlib.pyplot as plt
from torch.utils.data import DataLoader, Dataset

from claimbook.teach import compare, observe
from claimbook.teach.plots import grouped_bars, legend


class Samples(Dataset):
    """A dataset of a given size, whose samples are made by a function."""

    def __init__(self, size, make):
        self.size, self.make = size, make

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        return self.make()


def compute():
    """Compute for some milliseconds, and return the CPU time that this took."""
    start = time.process_time()
    sum(i * i for i in range(40_000))
    return time.process_time() - start


KINDS = {
    "waiting": Samples(8, lambda: time.sleep(0.02) or 0),
    "computing": Samples(8, compute),
    "trivial": Samples(100, lambda: 0),
}

# %%
# Time without workers, over time with them
# -----------------------------------------
# Each loader keeps its workers alive from epoch to epoch and is run once before it is timed, so the
# start of the workers does not count. Epochs with and without workers take turns, and the fastest
# of each kind is taken. A bar above 1 means that the workers help. Where the system allows it, all
# workers are bound to one and the same core. So the picture shows what one core can do, and not how
# many cores there are.

CORE = min(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None


def bind(worker):
    if CORE is not None:
        os.sched_setaffinity(0, {CORE})


def loader(dataset, workers):
    """Return a loader of batches of two, whose workers stay alive."""
    options = {"multiprocessing_context": "fork", "persistent_workers": True} if workers else {}
    return DataLoader(dataset, 2, num_workers=workers, worker_init_fn=bind, **options)


def speedup(dataset, workers):
    """Return the time of an epoch without workers, over the time with them."""
    without, with_workers = loader(dataset, 0), loader(dataset, workers)
    return compare(lambda: list(without), lambda: list(with_workers), rounds=5).best


one, two = ([speedup(dataset, workers) for dataset in KINDS.values()] for workers in (1, 2))

observe(two[0] > 1.4, "two workers wait at the same time")
observe(one[0] < 1.25, "one worker waits as long as the main process")
observe(max(one[2], two[2]) < 0.6, "handing over costs more than making")

fig, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
fig.suptitle("Workers speed up waiting and slow down trivial work")
fig.set_label("Bars: with two workers waiting is well above 1, and the trivial dataset far below.")
axes.set(xlabel="dataset", ylabel="speed, no workers = 1")
axes.axhline(1, linestyle=":", color=plt.rcParams["text.color"])
grouped_bars(axes, KINDS, {"1 worker": one, "2 workers": two}, form="")
legend(fig)
plt.show()

# %%
# The middle bars depend on what else runs on the core: two processes get a greater share of a busy
# core than one. But two workers cannot compute for longer than their one core has time. The code
# below adds up the CPU time that they took, and compares it with the time that passed.

if CORE is not None:
    batches = loader(KINDS["computing"], 2)
    list(batches)  # starts the workers
    start = time.perf_counter()
    computed = sum(seconds.sum() for seconds in batches)
    observe(computed < 1.1 * (time.perf_counter() - start), "two workers share one core's time")

# %%
# To take away
# ------------
# * Waiting needs no core: more workers than cores can pay off if samples come from disk or network.
# * Computing needs cores: more workers than free cores gain nothing.
# * For data that are in memory already and need no work, ``num_workers=0`` is the fast way.
#
# No CUDA measurement of loaders has been recorded yet. The chapter :doc:`/data/workers` answers the
# questions around this one. Related statements:
#
# * :claim:`waiting-uses-no-cpu`
# * :claim:`one-thread-fills-one-core`
# * :claim:`tiny-samples-are-slower-with-a-worker`
# * :claim:`batches-are-loaded-beside-the-step`
