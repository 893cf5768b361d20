"""A lane `cuda` that computes on the CPU, for tests alone.

Python imports this file as it starts if its folder is on the path. The commands, the runner, the
worker and the store are the real ones; only what they ask of a GPU is answered here.
"""

import os
import warnings

from claimbook.engine import environment
from claimbook.model import Environment, Lane

NAME = "Stand-in <GPU>"
described = environment.describe


def unavailable(lane):
    """The lane can run, on what stands in for CUDA."""
    if lane is Lane.CUDA:
        import torch

        on_cpu = torch.set_default_device
        torch.set_default_device = lambda device: on_cpu("cpu" if device == "cuda" else device)
        torch.cuda.manual_seed_all = _seed
        torch.cuda.reset_peak_memory_stats = lambda: None
        torch.cuda.memory_allocated = lambda: 1024
        torch.cuda.max_memory_allocated = lambda: 1536
        torch.autograd.backward = _warning_once(torch.autograd.backward)
        if error := os.environ.get("STAND_IN_FULL"):
            torch.addmm = _raising(error)


def _seed(seed):
    """What first asks the device for something."""
    if error := os.environ.get("STAND_IN_ERROR"):
        raise RuntimeError(error)


def _raising(error):
    """What a device without memory does at the first product."""
    import torch

    def product(*arguments):
        raise torch.OutOfMemoryError(error)

    return product


def _warning_once(backward):
    """As a thread of autograd's does that calls cuBLAS for the first time."""
    warned = []

    def called(*arguments, **options):
        if not warned:
            warned.append(True)
            warnings.warn("Attempting to run cuBLAS without a CUDA context", stacklevel=2)
        return backward(*arguments, **options)

    return called


def describe(lane):
    """A made-up GPU; variables of the environment may name another one, and its torch."""
    if lane is Lane.CPU:
        return described(lane)
    torch = os.environ.get("STAND_IN_TORCH") or environment.torch_version()
    device = os.environ.get("STAND_IN_DEVICE") or NAME
    return Environment(torch, "3.11.0", "Linux x86_64", device, "13.0", "580.0", "9.0")


environment.unavailable, environment.describe = unavailable, describe
