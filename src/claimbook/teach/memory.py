"""The most memory that tensors take at once while something runs."""

import gc
import os

import torch
from torch.autograd.profiler import profile

from claimbook.teach.measure import Work, label, record


def peak_memory(work: Work) -> int:
    """Count the most bytes of tensors that ``work()`` allocated and that were live at once.

    Autograd's saved tensors, the backward pass's temporaries and the kernels' own scratch tensors
    count; memory from before does not, unless ``work`` frees it on CUDA, which lowers the number.
    So let ``work`` make what it frees. Records the bytes under the function's name.

    On the CPU these are the allocator's events as ``torch.profiler`` sees them with
    ``profile_memory``, so ``work`` must not profile itself. If the default device is CUDA, it is
    the peak of ``requested_bytes`` in ``torch.cuda.memory_stats``, which counts what was asked for
    before the allocator rounds up, less its value at the start.

    >>> import torch
    >>> def one_after_the_other():
    ...     first = torch.empty(1000)
    ...     del first
    ...     second = torch.empty(2000)
    >>> peak_memory(one_after_the_other)
    8000
    """
    gc.collect()  # earlier garbage must not be freed while we count
    device = torch.empty(0).device  # torch 2.6 fails to say its default once that was reset
    peak = _peak_on_cuda(work, device) if device.type == "cuda" else _peak_on_cpu(work)
    record(label(work, "work"), peak, "bytes")
    return peak


def _peak_on_cpu(work: Work) -> int:
    # Read at the first profile; otherwise Kineto tells each start and stop on stderr.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")
    with profile(profile_memory=True) as profiler:
        work()
    events = [e for e in profiler.kineto_results.events() if e.name() == "[memory]"]
    live = peak = 0
    for event in sorted(events, key=lambda e: e.start_ns()):
        live += event.nbytes()  # negative when memory is freed
        peak = max(peak, live)
    return peak


def _peak_on_cuda(work: Work, device: torch.device) -> int:
    _make_cublas_workspaces(device)
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_stats(device)["requested_bytes.all.current"]
    work()
    torch.cuda.synchronize(device)
    return int(torch.cuda.memory_stats(device)["requested_bytes.all.peak"] - before)


def _make_cublas_workspaces(device: torch.device) -> None:
    """Let cuBLAS take its scratch memory, once per thread, before anything is measured."""
    with torch.inference_mode(False), torch.enable_grad():
        x = torch.ones(2, 2, device=device, requires_grad=True)
        torch.addmm(x[0], x, x).mm(x).sum().backward()  # autograd.grad may hold its result on
