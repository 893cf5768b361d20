"""The global state of Python and torch, by which a worker tells that a claim has changed it."""

import builtins
import gc
import locale
import logging
import os
import resource
import signal
import sys
import threading
import time
from operator import attrgetter

from claimbook.model import Lane

ASKED = """
is_grad_enabled is_inference_mode_enabled is_anomaly_enabled is_anomaly_check_nan_enabled
get_default_dtype get_num_threads is_warn_always_enabled is_autocast_cache_enabled
are_deterministic_algorithms_enabled get_float32_matmul_precision _C._len_torch_dispatch_stack
_C._len_torch_function_stack _C._is_multithreading_enabled autograd.forward_ad._current_level
_C._autograd._saved_tensors_hooks_is_enabled __future__.get_overwrite_module_params_on_conversion
_tensor_str.PRINT_OPTS __future__.get_swap_module_params_on_conversion backends.cudnn.enabled
utils.deterministic.fill_uninitialized_memory nn.modules.module._global_forward_hooks
nn.modules.module._global_forward_pre_hooks nn.modules.module._global_backward_hooks
sparse.check_sparse_tensor_invariants.is_enabled utils.data._utils.collate.default_collate_fn_map
multiprocessing.get_start_method multiprocessing.get_sharing_strategy serialization.get_safe_globals
backends.cudnn.deterministic backends.cudnn.benchmark backends.cudnn.benchmark_limit
backends.cudnn.allow_tf32 backends.cudnn.fp32_precision backends.cudnn.conv.fp32_precision
backends.cudnn.rnn.fp32_precision backends.fp32_precision backends.mkldnn.enabled
backends.mkldnn.deterministic backends.mkldnn.fp32_precision backends.mkldnn.conv.fp32_precision
backends.mkldnn.matmul.fp32_precision backends.opt_einsum.enabled backends.mha.get_fastpath_enabled
backends.cuda.flash_sdp_enabled backends.cuda.math_sdp_enabled backends.cuda.cudnn_sdp_enabled
backends.cuda.mem_efficient_sdp_enabled backends.cuda.matmul.fp32_precision
backends.cuda.matmul.allow_fp16_reduced_precision_reduction _C._cuda_get_sync_debug_mode
backends.cuda.matmul.allow_bf16_reduced_precision_reduction
"""
"""Settings of torch, and functions that tell one; not every release has each of them."""

GETTERS = [*map(attrgetter, ASKED.split())]
GETTERS += [lambda torch: torch._C._autograd._top_saved_tensors_default_hooks(True)]  # type: ignore[list-item]
SIGNALS = ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2")


class Snapshot:
    """The state as it is now, as far as it can be asked for in less time than a claim takes."""

    def __init__(self) -> None:
        self._settings = _settings()
        self._things = [(place, {**vars(place)}) for place in _places()]

    def still_holds(self) -> bool:
        """Return whether nothing of it has changed."""
        differing = [there for there in self._things if vars(there[0]) != there[1]]
        return all(_hold(*there) for there in differing) and _settings() == self._settings


def _settings() -> list[str]:
    """Return what is set, as text, since some of it is changed where it stands."""
    import torch

    asked: list[object] = []
    for get in GETTERS:
        try:
            found = get(torch)
            asked.append(found() if callable(found) else found)
        except (AttributeError, RuntimeError):
            asked.append(None)
    autocast = (torch.is_autocast_enabled, torch.get_autocast_dtype)
    asked += [ask(lane) for ask in autocast for lane in Lane]
    hooks = vars(sys.modules["torch.optim.optimizer"])
    asked += [value for name, value in hooks.items() if name.startswith("_global_optimizer_")]
    if numpy := sys.modules.get("numpy"):
        asked += [numpy.get_printoptions(), numpy.geterr()]
    return [*map(repr, asked), *map(repr, _settings_of_python())]


def _settings_of_python() -> list[object]:
    mask = os.umask(0)
    os.umask(mask)
    return [
        *(mask, os.environ._data, time.tzname),  # type: ignore[attr-defined]  # not decoded
        os.getpriority(os.PRIO_PROCESS, 0),
        *(sys.path, sys.meta_path, sys.argv, sys.stdin, sys.displayhook, sys.excepthook),
        *(sys.gettrace(), sys.getprofile(), sys.getrecursionlimit(), sys.getswitchinterval()),
        *(logging.root.level, logging.root.disabled, logging.root.manager.disable),
        *(gc.isenabled(), gc.get_threshold(), threading.excepthook, len(vars(builtins))),
        *(locale.setlocale(locale.LC_ALL), resource.getrlimit(resource.RLIMIT_NOFILE)),
        *(signal.getitimer(signal.ITIMER_REAL), sys.float_info.min / 2),  # 0 if it is flushed
        *(signal.getsignal(getattr(signal, name)) for name in SIGNALS),
    ]


def _places() -> list[object]:
    """Return the modules and classes whose functions a claim may replace."""
    import torch
    from torch import nn

    layers = [thing for thing in vars(nn).values() if isinstance(thing, type)]
    functions = [nn, nn.functional, nn.init, torch.autograd, torch.optim, builtins, os, time]
    return [torch, torch.Tensor, *layers, *functions]


def _hold(place: object, things: dict[str, object]) -> bool:
    """Return whether each public name, each function and class stands for what it stood for."""
    found = vars(place)
    # A new name may hide what a class inherits; in a module it does no harm.
    hides = isinstance(place, type) and any(n[:2] != "__" for n in found.keys() - things)
    kept = (found.get(n) is t for n, t in things.items() if n[0] != "_" or callable(t))
    return not hides and all(kept)
