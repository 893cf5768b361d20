"""Snapshots of the global state of Python and torch, to detect that a claim changed it."""

import builtins
import copyreg
import csv
import decimal
import faulthandler
import functools
import gc
import locale
import logging
import os
import resource
import signal
import socket
import sys
import tempfile
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable
from operator import attrgetter
from types import FunctionType
from typing import Any

from claimbook.engine.environment import cores
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
backends.cuda.matmul.allow_bf16_reduced_precision_reduction get_num_interop_threads
is_deterministic_algorithms_warn_only_enabled nn.modules.module._global_module_registration_hooks
nn.modules.module._global_buffer_registration_hooks nn.utils.parametrize._cache_enabled hub._hub_dir
nn.modules.module._global_parameter_registration_hooks autograd._profiler_enabled
serialization.get_default_load_endianness serialization.get_crc32_options library._defs.__len__
utils._pytree.SUPPORTED_NODES.__len__ distributions.Distribution._validate_args
_logging._internal.log_state.log_qname_to_level _logging._internal.log_state.artifact_names
"""
"""Settings of torch and getters of settings; not every release has all of them."""

GETTERS: list[Callable[[Any], Any]] = [
    *map(attrgetter, ASKED.split()),
    lambda torch: torch._C._autograd._top_saved_tensors_default_hooks(True),
    # Functions that `torch.fx.wrap` has marked in a claim, whose names are gone by now.
    lambda torch: [*torch.fx._symbolic_trace._wrapped_fns_to_patch.values()].count({}),
]
LIMITS = [value for name, value in vars(resource).items() if name.startswith("RLIMIT_")]
OF_PYTHON = {"__slotnames__", "__annotations__"}
"""Caches that Python adds to a class when it is inspected or an instance is copied."""
OWNERS = {*sys.stdlib_module_names, "numpy", "torch"}
"""Packages in which claims may replace functions."""
OURS = {"stdout", "stderr"}
"""Names that the worker itself sets anew for each claim."""
SIGNALS = ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGCHLD", "SIGPIPE")
TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
LASTING: list[str] = []
"""Functions that were called and whose effect can be neither seen nor undone."""


def note_what_lasts() -> None:
    """Have calls of such functions noted from now on."""
    sys.addaudithook = _noting(sys.addaudithook)
    os.register_at_fork = _noting(os.register_at_fork)


def _noting(function: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(function)
    def noted(*args: Any, **kwargs: Any) -> None:
        function(*args, **kwargs)
        LASTING.append(function.__name__)

    return noted


class Snapshot:
    """The current state, as much of it as can be read in less time than a claim takes."""

    def __init__(self) -> None:
        self._settings = _settings()
        self._things = [(place, {**vars(place)}) for place in _places()]
        self._modules = {*sys.modules}

    def still_holds(self) -> bool:
        """Return whether nothing has changed."""
        new = sys.modules.keys() - self._modules
        if any(_is_own(sys.modules[name]) for name in new):
            return False
        self._modules |= new
        differing = [there for there in self._things if _differ(*there)]
        return all(_hold(*there) for there in differing) and _settings() == self._settings


def _is_own(module: object) -> bool:
    """Return whether a claim has made a module, or has imported it from a place of its own."""
    places = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
    own = os.path.realpath(tempfile.gettempdir())
    return getattr(module, "__spec__", None) is None or any(p.startswith(own) for p in places)


def _differ(place: object, things: dict[str, object]) -> bool:
    """Return whether any name was bound anew, in the time that a comparison in C takes."""
    try:
        return bool(vars(place) != things)
    except Exception:  # noqa: BLE001  # of what a claim has put there, such as an array
        return True


def _settings() -> list[str]:
    """Return the settings as text, since some are changed in place."""
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
        asked += [numpy.get_printoptions(), numpy.geterr(), numpy.geterrcall()]
    # Only what differs from the defaults: an example may be the first to import one.
    asked.append("".join(m.codegen_config() for m in [*sys.modules.values()] if _configures(m)))
    return [*map(repr, asked), *map(repr, _settings_of_python())]


def _configures(module: object) -> bool:
    """Return whether a module has settings of torch, as `torch._dynamo.config` has."""
    return hasattr(type(module), "codegen_config")


def _settings_of_python() -> list[object]:
    mask = os.umask(0)
    os.umask(mask)
    return [
        *(mask, os.environ._data, time.tzname),  # type: ignore[attr-defined]  # not decoded
        os.getpriority(os.PRIO_PROCESS, 0),
        *(sys.path, sys.meta_path, sys.argv, sys.stdin, sys.displayhook, sys.excepthook),
        *(sys.gettrace(), sys.getprofile(), sys.getrecursionlimit(), sys.getswitchinterval()),
        *(sys.unraisablehook, sys.get_int_max_str_digits(), threading.getprofile()),
        *(sys.path_hooks, sys.get_asyncgen_hooks(), faulthandler.is_enabled(), LASTING),
        getattr(sys.modules.get("asyncio.events"), "_event_loop_policy", None),  # made when used
        *(csv.list_dialects(), csv.field_size_limit()),
        *(tracemalloc.is_tracing(), copyreg.dispatch_table, socket.getdefaulttimeout()),
        *(warnings.formatwarning, decimal.DefaultContext),
        *(gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.callbacks),
        *(threading.excepthook, threading.gettrace(), tempfile.gettempdir(), len(vars(builtins))),
        *(locale.setlocale(locale.LC_ALL), decimal.getcontext(), *map(resource.getrlimit, LIMITS)),
        *(logging.root.disabled, logging.root.manager.disable, *_loggers()),
        *(*map(signal.getitimer, TIMERS), sys.float_info.min / 2),  # 0 if flushed
        *(_handler(getattr(signal, name)) for name in SIGNALS),
        signal.pthread_sigmask(signal.SIG_BLOCK, []),
        cores(),
    ]


def _handler(number: signal.Signals) -> object:
    """Return what a signal does; the handler that torch's first loader sets does not count."""
    handler = signal.getsignal(number)
    of_torch = str(getattr(handler, "__module__", "")).startswith("torch.utils.data")
    return signal.SIG_DFL if of_torch else handler


def _loggers() -> list[object]:
    """Return how loggers are configured, but the one that torch configures when it compiles."""
    known = [logging.root, *logging.root.manager.loggerDict.values()]
    settings = [
        (x, x.level, x.disabled, not x.propagate, x.handlers)
        for x in known
        if isinstance(x, logging.Logger) and x.name != "torch.__trace"
    ]
    return [each for each in settings if any(each[1:])]


def _places() -> list[object]:
    """Return the public modules of Python, NumPy and torch, and the classes that claims use most.

    A claim may replace a function in any of them.
    """
    import torch
    from torch import autograd, distributions, nn, optim
    from torch.utils import data

    modules = [each for name, each in [*sys.modules.items()] if each and _is_public(name)]
    of_classes = (nn, data, optim, optim.lr_scheduler, autograd, distributions)
    classes = [c for module in of_classes for c in vars(module).values() if isinstance(c, type)]
    return [torch.Tensor, *classes, *modules]


def _is_public(module: str) -> bool:
    parts = module.split(".")
    return parts[0] in OWNERS and not any(part.startswith("_") for part in parts)


def _hold(place: object, things: dict[str, object]) -> bool:
    """Return whether each public name, function and class is still bound to the same object."""
    found = vars(place)
    # A new name may hide an inherited one in a class; in a module it is harmless.
    hides = isinstance(place, type) and found.keys() - things - OF_PYTHON
    kept = (
        _bare(found.get(name)) is thing
        for name, thing in things.items()
        if (name[0] != "_" or callable(thing)) and name not in OURS
    )
    return not hides and all(kept)


def _bare(thing: object) -> object:
    """Return a function without the wrapper that the first optimiser puts around `step`."""
    # Not by getattr: of `ctypes.cdll`, whatever name is asked for is a library to load.
    hooked = isinstance(thing, FunctionType) and vars(thing).get("hooked") is True
    return vars(thing)["__wrapped__"] if hooked else thing
