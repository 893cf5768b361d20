"""Global state: whatever a claim changes, the next one finds it as the first one did."""

from operator import attrgetter

import pytest
import torch

from claimbook.engine.isolation import ASKED
from claimbook.model import Lane, Outcome
from helpers import claim

STATE = """
>>> import os, random, sys, warnings, numpy
>>> torch.get_default_dtype(), torch.get_default_device()
>>> torch.tensor([1 / 3, 1e-8])
>>> torch.is_grad_enabled(), torch.is_inference_mode_enabled()
>>> torch.ones(1, requires_grad=True).mul(2).requires_grad
>>> torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
>>> torch.is_autocast_enabled("cpu"), torch.is_anomaly_enabled(), torch.is_warn_always_enabled()
>>> torch.get_float32_matmul_precision(), torch.backends.cudnn.benchmark
>>> torch.backends.cudnn.enabled, torch.backends.cudnn.allow_tf32
>>> os.environ.get("CLAIM"), os.environ.get("HOME"), os.listdir()
>>> "nowhere" in sys.path, sys.getrecursionlimit(), sys.stdout.encoding
>>> torch.rand(1), torch.initial_seed(), random.random(), numpy.random.rand()
>>> len(warnings.filters), warnings.showwarning.__name__
>>> torch.multiprocessing.get_start_method()
>>> sorted(globals())
"""
CHANGES = {
    "default dtype": "torch.set_default_dtype(torch.float64)",
    "default device": 'torch.set_default_device("meta")',
    "device context": '_ = torch.device("meta").__enter__()',
    "print options": "torch.set_printoptions(precision=1, sci_mode=True)",
    "grad mode": "_ = torch.set_grad_enabled(False)",
    "no_grad entered": "torch.no_grad().__enter__()",
    "inference mode entered": "mode = torch.inference_mode(); mode.__enter__()",
    "inference mode kept": "torch.kept = torch.inference_mode(); torch.kept.__enter__()",
    "autocast entered": 'cast = torch.autocast("cpu"); _ = cast.__enter__()',
    "deterministic algorithms": "torch.use_deterministic_algorithms(True)",
    "anomaly mode": "_ = torch.autograd.set_detect_anomaly(True)",
    "matmul precision": 'torch.set_float32_matmul_precision("medium")',
    "cudnn": "torch.backends.cudnn.benchmark = True",
    "no cuDNN": "torch.backends.cudnn.enabled = False",
    "no TF32": "torch.backends.cudnn.allow_tf32 = False",
    "no TF32, in new words": "torch.backends.cudnn.conv.fp32_precision = 'ieee'",
    "threads": "torch.set_num_threads(2)",
    "warn always": "torch.set_warn_always(False)",
    "environ": 'import os; os.environ["CLAIM"] = "1"; del os.environ["HOME"]',
    "working folder": 'import os; os.chdir("/")',
    "files": '_ = open("file", "w").write("x"); import os; os.mkdir("folder")',
    "sys.path": 'import sys; sys.path.insert(0, "nowhere")',
    "recursion limit": "import sys; sys.setrecursionlimit(2000)",
    "torch's seed": "_ = torch.manual_seed(7)",
    "Python's seed": "import random; random.seed(7)",
    "NumPy's seed": "import numpy; numpy.random.seed(7)",
    "warning filters": 'import warnings; warnings.simplefilter("ignore")',
    "showwarning": "import warnings; warnings.showwarning = print",
    "a tensor mode": (
        "from torch.utils._python_dispatch import TorchDispatchMode as M; _ = M().__enter__()"
    ),
    "how workers start": "torch.multiprocessing.set_start_method('spawn', force=True)",
    "names": "other, torch.__name__ = 1, torch.__name__",
}
"""What a claim changes of what is asked above."""

OPTIMISER = "o = torch.optim.SGD([torch.ones(1)], 0.1); o.zero_grad(); o.step()"

OTHERS = {
    "denormal numbers": ("_ = torch.set_flush_denormal(True)", "torch.tensor(1e-40) * 1 == 0"),
    "autocast's dtype": (
        'torch.set_autocast_dtype("cpu", torch.float16)',
        'torch.get_autocast_dtype("cpu")',
    ),
    "a saved tensor's hook": (
        "torch.autograd.graph.saved_tensors_hooks(print, print).__enter__()",
        "_ = torch.ones(1, requires_grad=True).exp()",
    ),
    "classes that may be loaded": (
        "import collections; torch.serialization.add_safe_globals([collections.Counter])",
        "len(torch.serialization.get_safe_globals())",
    ),
    "oneDNN": ("_ = torch.backends.mkldnn.set_flags(False)", "torch.backends.mkldnn.enabled"),
    "attention": (
        "torch.backends.cuda.enable_flash_sdp(False)",
        "torch.backends.cuda.flash_sdp_enabled()",
    ),
    "a hook of all modules": (
        "_ = nn.modules.module.register_module_forward_hook(print)",
        "_ = nn.Identity()(1)",
    ),
    "a hook of all optimisers": (
        "from torch.optim import optimizer as o; o._global_optimizer_pre_hooks[0] = print",
        "torch.optim.SGD([torch.ones(1)]).step()",
    ),
    "how samples are collated": (
        "from torch.utils.data import _utils; _utils.collate.default_collate_fn_map[int] = max",
        "from torch.utils.data import default_collate; default_collate([1, 2])",
    ),
    "unset memory": (
        "torch.utils.deterministic.fill_uninitialized_memory = False",
        "torch.utils.deterministic.fill_uninitialized_memory",
    ),
    "how tensors are shared": (
        'torch.multiprocessing.set_sharing_strategy("file_system")',
        "torch.multiprocessing.get_sharing_strategy()",
    ),
    "a function of torch": ("torch.relu = None", "torch.relu(torch.ones(1))"),
    "a method of tensors": ("torch.Tensor.add = None", "torch.ones(1).add(1)"),
    "a method of modules": ("nn.Module.__call__ = None", "nn.Identity()(1)"),
    "a method of a layer": ("nn.ReLU.forward = None", "nn.ReLU()(torch.ones(1))"),
    "a function of Python": ("import os; os.getcwd = None", "import os; callable(os.getcwd)"),
    "a new built-in": ("import builtins; builtins.spam = 1", "spam"),
    "a built-in that is gone": ("import builtins; del builtins.sorted", "callable(sorted)"),
    "NumPy's print options": (
        "import numpy; numpy.set_printoptions(precision=2)",
        "import numpy; numpy.array([1 / 3])",
    ),
    "garbage": ("import gc; gc.disable()", "import gc; gc.isenabled()"),
    "what is logged": (
        "import logging; logging.disable()",
        "import logging; logging.root.isEnabledFor(40)",
    ),
    "the level of the log": (
        "import logging; logging.root.setLevel(50)",
        "import logging; logging.root.isEnabledFor(40)",
    ),
    "a timer": (
        "import signal; _ = signal.setitimer(signal.ITIMER_REAL, 100)",
        "import signal; signal.getitimer(signal.ITIMER_REAL)",
    ),
    "what a signal does": (
        "import signal; _ = signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
        "import signal; signal.getsignal(signal.SIGUSR1)",
    ),
    "the locale": (
        'import locale; _ = locale.setlocale(locale.LC_ALL, "C")',
        "import locale; locale.setlocale(locale.LC_ALL)",
    ),
    "the time zone": (
        'import os, time; os.environ["TZ"] = "Asia/Tokyo"; time.tzset()',
        "import time; time.localtime(0).tm_hour",
    ),
    "how many files": (
        "import resource as r; r.setrlimit(r.RLIMIT_NOFILE, (40, 100))",
        "import resource as r; r.getrlimit(r.RLIMIT_NOFILE)",
    ),
    "niceness": ("import os; _ = os.nice(3)", "import os; os.nice(0)"),
    "umask": (
        "import os; _ = os.umask(0o77)",
        'import os; os.mkdir("d"); oct(os.stat("d").st_mode)',
    ),
    "arguments": ("import sys; sys.argv.append(1)", "import sys; len(sys.argv)"),
    "threads between operators": (
        "torch.set_num_interop_threads(3)",
        "torch.get_num_interop_threads()",
    ),
    "a hook of all parameters": (
        "_ = nn.modules.module.register_module_parameter_registration_hook(print)",
        "_ = nn.Linear(1, 1)",
    ),
    "a hook of all buffers": (
        "_ = nn.modules.module.register_module_buffer_registration_hook(print)",
        "_ = nn.BatchNorm1d(1)",
    ),
    "a profiler that goes on": (
        "torch.kept = torch.autograd.profiler.profile(); _ = torch.kept.__enter__()",
        "torch.autograd._profiler_enabled()",
    ),
    "the order of bytes in a file": (
        "s = torch.serialization; s.set_default_load_endianness(s.LoadEndianness.BIG)",
        "torch.serialization.get_default_load_endianness()",
    ),
    "where models are kept": ("torch.hub.set_dir('here')", "torch.hub.get_dir()"),
    "an operator": (
        "torch.kept = torch.library.Library('mine', 'DEF'); _ = torch.kept.define('f() -> ()')",
        "hasattr(torch.ops.mine, 'f')",
    ),
    "a tree": (
        "torch.utils._pytree.register_pytree_node(slice, list, slice)",
        "torch.utils._pytree.tree_leaves(slice(1)) == [slice(1)]",
    ),
    "an operator of tensors": ("torch.Tensor.__add__ = None", "torch.ones(1) + 1"),
    "what a subclass is told": (
        "nn.Module.__init_subclass__ = classmethod(print)",
        "class Layer(nn.Module): pass",
    ),
    "a method of loaders": (
        "torch.utils.data.DataLoader.__len__ = None",
        "len(torch.utils.data.DataLoader([1]))",
    ),
    "a method of functions": (
        "torch.autograd.Function.apply = None",
        "callable(torch.autograd.Function.apply)",
    ),
    "a function of a part of torch": ("torch.linalg.norm = None", "callable(torch.linalg.norm)"),
    "a function of random": (
        "import random; random.random = None",
        "import random; random.random()",
    ),
    "a method of optimisers": ("torch.optim.Optimizer.zero_grad = None", OPTIMISER),
    "a method of an optimiser": ("torch.optim.SGD.step = bool", OPTIMISER),
    "a method of an optimiser that was used": (
        "torch.optim.SGD.step = bool; torch.kept = torch.optim.SGD([torch.ones(1)])",
        OPTIMISER,
    ),
    "a method of a scheduler": (
        "torch.optim.lr_scheduler.StepLR.get_lr = None",
        "callable(torch.optim.lr_scheduler.StepLR.get_lr)",
    ),
    "a function of a Fourier transform": ("torch.fft.fft = None", "callable(torch.fft.fft)"),
    "a function of checkpoints": (
        "torch.utils.checkpoint.checkpoint = None",
        "callable(torch.utils.checkpoint.checkpoint)",
    ),
    "a class of hooks": (
        "torch.autograd.graph.saved_tensors_hooks = None",
        "callable(torch.autograd.graph.saved_tensors_hooks)",
    ),
    "arguments of distributions": (
        "torch.distributions.Distribution.set_default_validate_args(False)",
        "torch.distributions.Bernoulli(2.0)",
    ),
    "limits of torch.compile": (
        "import torch._dynamo; torch._dynamo.config.recompile_limit = 1",
        "import torch._dynamo; torch._dynamo.config.recompile_limit",
    ),
    "how a warning looks": (
        "import warnings; warnings.formatwarning = None",
        "import warnings; callable(warnings.formatwarning)",
    ),
    "decimal digits": (
        "import decimal; decimal.getcontext().prec = 3",
        "import decimal; decimal.Decimal(1) / 3",
    ),
    "digits of an integer": (
        "import sys; sys.set_int_max_str_digits(700)",
        "len(str(10**1000))",
    ),
    "a logger": (
        "import logging as l; l.root.level = 20; l.getLogger('a').addHandler(l.StreamHandler())",
        "import logging; logging.getLogger('a').info('slow')",
    ),
    "how the log looks": (
        "import logging; logging.basicConfig(format='%(message)s')",
        "import logging; logging.warning('slow')",
    ),
    "what garbage is told to": (
        "import gc; gc.callbacks.append(lambda *_: None)",
        "import gc; len(gc.callbacks)",
    ),
    "how much time": (
        "import resource as r; r.setrlimit(r.RLIMIT_CPU, (50, 100))",
        "import resource as r; r.getrlimit(r.RLIMIT_CPU)",
    ),
    "where temporary files are": (
        "import tempfile; tempfile.tempdir = 'nowhere'",
        "import tempfile; tempfile.gettempdir() == 'nowhere'",
    ),
    "whether there is a GPU": (
        "torch.cuda.is_available = lambda: True",
        "torch.cuda.is_available()",
    ),
    "a function deep in torch": (
        "nn.utils.rnn.pad_sequence = None",
        "callable(nn.utils.rnn.pad_sequence)",
    ),
    "a method of distributions": (
        "torch.distributions.Normal.rsample = None",
        "callable(torch.distributions.Normal.rsample)",
    ),
    "how gradients are switched off": ("torch.no_grad.__enter__ = None", "with torch.no_grad(): 1"),
    "a function of another module of Python": (
        "import copy; copy.deepcopy = None",
        "import copy; callable(copy.deepcopy)",
    ),
    "a function that the worker itself calls": (
        "import json; json.loads = None",
        "import json; json.loads('1')",
    ),
    "a function of NumPy": ("import numpy; numpy.sum = None", "import numpy; numpy.sum([1])"),
    "a number that no comparison takes": (
        "import math; math.pi = torch.ones(2)",
        "import math; math.pi",
    ),
    "a module of its own": (
        "import sys; open('own.py', 'w').close(); sys.path[:0] = '.'; import own; del sys.path[0]",
        "import sys; 'own' in sys.modules",
    ),
    "a folder of its own, as a module": (
        "import sys, os; os.mkdir('own'); sys.path.append('.'); import own; _ = sys.path.pop()",
        "import sys; 'own' in sys.modules",
    ),
    "a module that is none": (
        "import sys, types; sys.modules['none'] = types.ModuleType('none')",
        "import none",
    ),
    "children that nobody waits for": (
        "import signal; _ = signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
        "import subprocess; subprocess.run(['false']).returncode",
    ),
    "signals that are held back": (
        "import signal; _ = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])",
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [])",
    ),
    "a timer of the processor's time": (
        "import signal; _ = signal.setitimer(signal.ITIMER_PROF, 100)",
        "import signal; signal.getitimer(signal.ITIMER_PROF)",
    ),
    "what a hook is told": (
        "import sys; sys.addaudithook(lambda *event: event[0] == 'mine' and print('told'))",
        "import sys; sys.audit('mine')",
    ),
    "what a forked process does first": (
        "import os; os.register_at_fork(after_in_child=lambda: print('forked'))",
        "import os; _ = os.waitpid(os.fork() or os._exit(0), 0)",
    ),
    "what torch logs": (
        "import logging; torch._logging.set_logs(dynamo=logging.INFO)",
        "import logging; logging.getLogger('torch._dynamo').isEnabledFor(20)",
    ),
    "how a checkpoint is loaded": (
        "from torch.utils.serialization import config as c; c.load.mmap = True",
        "from torch.utils.serialization import config as c; c.load.mmap",
    ),
    "limits of another part of torch.compile": (
        "import torch._functorch.config as c; c.donated_buffer = None",
        "import torch._functorch.config as c; c.donated_buffer",
    ),
    "how a type is pickled": (
        "import copyreg; copyreg.pickle(slice, lambda one: (int, ()))",
        "import pickle; pickle.loads(pickle.dumps(slice(3)))",
    ),
    "how long a socket waits": (
        "import socket; socket.setdefaulttimeout(1)",
        "import socket; socket.getdefaulttimeout()",
    ),
    "whom NumPy calls": (
        "import numpy; _ = numpy.seterrcall(print)",
        "import numpy; numpy.geterrcall()",
    ),
    "how modules are found": (
        "import sys; sys.path_hooks.clear()",
        "import sys; len(sys.path_hooks) > 0",
    ),
    "what is told of a crash": (
        "import faulthandler; faulthandler.enable()",
        "import faulthandler; faulthandler.is_enabled()",
    ),
    "what memory is traced": (
        "import tracemalloc; tracemalloc.start()",
        "import tracemalloc; tracemalloc.is_tracing()",
    ),
    "decimal digits of new threads": (
        "import decimal; decimal.DefaultContext.prec = 3",
        "import decimal; decimal.Context().prec",
    ),
    "functions that torch.fx leaves whole": (
        "import torch.fx; relu = F.relu; _ = torch.fx.wrap('relu')",
        "import torch.fx; len(torch.fx._symbolic_trace._wrapped_fns_to_patch)",
    ),
    "the level of torch's log": (
        "import logging; logging.getLogger('torch.fx').setLevel(50)",
        "import logging; logging.getLogger('torch.fx').level",
    ),
    "who reads torch's log": (
        "import logging; logging.getLogger('torch').addHandler(logging.NullHandler())",
        "import logging; len(logging.getLogger('torch').handlers)",
    ),
    "a log that is off": (
        "import logging; logging.getLogger('spam').disabled = True",
        "import logging; logging.getLogger('spam').disabled",
    ),
    "asyncio's loop": (
        "import asyncio; asyncio.run(asyncio.sleep(0))",
        "import asyncio; asyncio.events._event_loop_policy",
    ),
    "dialects of csv": (
        "import csv; csv.register_dialect('spam', delimiter=';')",
        "import csv; csv.list_dialects()",
    ),
    "the longest field of csv": (
        "import csv; _ = csv.field_size_limit(5)",
        "import csv; csv.field_size_limit()",
    ),
    "standard input": ("import sys; sys.stdin = None", "import sys; sys.stdin.read()"),
}
"""What a claim changes, and code by which another would notice."""

ALL = {name: (change, "state") for name, change in CHANGES.items()}
ALL |= {name: (change, name) for name, (change, _) in OTHERS.items()}
LOOKS = {"state": STATE, **{name: f">>> {look}" for name, (_, look) in OTHERS.items()}}


def run(runner, *sessions):
    """What came of claims, run one after the other."""
    claims = [claim(f"claim-{number}", text) for number, text in enumerate(sessions)]
    runs = dict(runner.run(claims, Lane.CPU))
    return [runs[each] for each in claims]


@pytest.fixture(scope="module")
def as_new(runner):
    """What is seen where nothing was changed."""
    return dict(zip(LOOKS, run(runner, *LOOKS.values()), strict=True))


@pytest.mark.parametrize(("change", "look"), ALL.values(), ids=ALL.keys())
def test_the_next_claim_finds_the_state_as_new(runner, as_new, change, look):
    """Whatever global state a claim changes, the next one finds it as the first one did."""
    changed, seen = run(runner, f">>> {change}", LOOKS[look])
    assert (changed.outcome, {*changed.outputs}) == (Outcome.PASSED, {""})
    assert (seen.outcome, seen.outputs) == (as_new[look].outcome, as_new[look].outputs)


@pytest.mark.parametrize(("change", "look"), ALL.values(), ids=ALL.keys())
def test_a_claim_sees_what_it_changed(runner, as_new, change, look):
    """Each of these is a change that the next claim could see."""
    (seen,) = run(runner, f">>> {change}\n{LOOKS[look].lstrip()}")
    new = as_new[look]
    assert (seen.outcome, seen.outputs[-len(new.outputs) :]) != (new.outcome, new.outputs)


def test_what_changes_nothing_keeps_its_worker(runner):
    """A claim after claims that only used what is set back anyway runs in the same process."""
    process = ">>> import os; os.getpid()"
    uses = (
        ">>> x = torch.ones(2, requires_grad=True); x.sum().backward()",
        ">>> generator = torch.manual_seed(3)",
        '>>> open("file", "w").close()',
        ">>> with torch.no_grad(): print(nn.Linear(2, 3).weight.shape)",
        f">>> {OPTIMISER}",
        ">>> import torch._dynamo",
        ">>> import ctypes; ctypes.a_new_name = 1",
    )
    first, *_, last = run(runner, process, *uses, process)
    assert first.outputs == last.outputs
    _, dirty = run(runner, process, process.replace("import os;", "torch.relu = 0; import os;"))
    assert first.outputs != dirty.outputs


def test_all_settings_are_asked():
    """The pinned torch has each of them, but for CUDA's; a change of one that is gone is unseen."""
    for name in ASKED.split():
        if "_cuda_" not in name:
            attrgetter(name)(torch)
