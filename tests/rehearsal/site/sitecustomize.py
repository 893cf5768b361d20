"""Makes a torch without CUDA find a CUDA device, the one that `device` makes of host memory.

Python imports this file as it starts if its folder is on the path. The device must be there before
torch looks for one, so that it is loaded when torch is imported; what torch's Python asks of CUDA
is answered afterwards.
"""

import ctypes
import importlib.util
import logging
import os
import sys
import types
from importlib.machinery import ExtensionFileLoader, PathFinder
from pathlib import Path

LIBRARY = os.environ.get("EMULATED_CUDA")


class Finder:
    """Finds torch, once, and wraps what loads it."""

    def find_spec(self, name, path=None, target=None):
        """The spec of torch; None for all else."""
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        load = spec.loader.exec_module

        def exec_module(module):
            device = load_device(Path(spec.origin).parent)
            load(module)
            install(module, device)

        spec.loader.exec_module = exec_module
        return spec


def load_device(package):
    """The extension, with the libraries of torch that it needs."""
    ctypes.CDLL(str(package / "lib/libtorch_python.so"), mode=ctypes.RTLD_GLOBAL)
    loader = ExtensionFileLoader("emulated_cuda", LIBRARY)
    spec = importlib.util.spec_from_file_location("emulated_cuda", LIBRARY, loader=loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def install(torch, device):
    """Answers what torch's Python asks of CUDA."""
    cuda = torch.cuda
    cuda._cudart = types.SimpleNamespace()
    cuda._is_in_bad_fork = device.is_forked
    cuda._queued_calls.clear()
    mode = [0]

    def set_mode(to):
        mode[0] = to
        device.set_sync_mode(to)

    answers = {
        "getDeviceCount": lambda: int(os.environ.get("CUDA_VISIBLE_DEVICES") != ""),
        "isInBadFork": device.is_forked,
        "init": lambda: start(torch, device),
        "getDevice": lambda: 0,
        "setDevice": lambda index: None,
        "exchangeDevice": lambda index: 0,
        "maybeExchangeDevice": lambda index: 0,
        "synchronize": lambda: None,
        "sleep": lambda cycles: None,
        "emptyCache": device.release,
        "memoryStats": lambda index: memory_stats(device),
        "resetPeakMemoryStats": lambda index: device.reset_peak(),
        "resetAccumulatedMemoryStats": lambda index: None,
        "set_sync_debug_mode": set_mode,
        "get_sync_debug_mode": lambda: mode[0],
        "getCurrentRawStream": lambda index: 0,
        "hasPrimaryContext": lambda index: True,
    }
    for name, answer in answers.items():
        setattr(torch._C, f"_cuda_{name}", answer)
    cuda._exchange_device, cuda._maybe_exchange_device = lambda index: 0, lambda index: 0
    properties = types.SimpleNamespace(
        name=os.environ.get("EMULATED_NAME", "Emulated GPU"),
        major=9,
        minor=0,
        total_memory=device.capacity(),
        multi_processor_count=132,
    )
    cuda.get_device_properties = lambda index=None: properties
    cuda.Stream = lambda *arguments, **options: torch.Stream("cuda")
    cuda.Event = lambda enable_timing=False, **options: torch.Event(
        "cuda", enable_timing=enable_timing
    )
    cuda.current_stream = lambda index=None: torch.accelerator.current_stream()
    cuda.set_stream = torch.accelerator.set_stream
    make_storage = torch.UntypedStorage.__new__

    def new_storage(cls, *arguments, device=None, **options):
        if device is None or torch.device(device).type != "cuda":
            return make_storage(cls, *arguments, device=device, **options)
        size = arguments[0] if arguments else 0
        return torch.empty(size, dtype=torch.uint8, device="cuda").untyped_storage()

    torch.UntypedStorage.__new__ = new_storage
    torch.backends.cudnn.is_acceptable = lambda tensor: False
    torch.version.cuda = "13.0"
    # Where there is CUDA there is Triton, and this does not warn.
    logging.getLogger("torch.utils.flop_counter").disabled = True


def start(torch, device):
    """What the first use of CUDA does."""
    torch.cuda.default_generators = (device.generator(),)
    device.poison_forks()


def memory_stats(device):
    """As the caching allocator counts."""
    used = {"current": device.allocated(), "peak": device.peak(), "allocated": device.total()}
    used["freed"] = used["allocated"] - used["current"]
    requested = {"current": device.requested(), "peak": device.peak_requested()}
    reserved = {"current": device.reserved(), "peak": device.peak_reserved()}
    return {
        "allocated_bytes": {"all": used},
        "active_bytes": {"all": used},
        "requested_bytes": {"all": requested},
        "reserved_bytes": {"all": reserved},
    }


if LIBRARY:
    sys.meta_path.insert(0, Finder())
