"""Measure the peak memory of tensors during a call."""

import gc
import os

import torch
from torch.autograd.profiler import profile

from claimbook.teach.measure import Work, label, record


def peak_memory(work: Work) -> int:
    """Return and record the peak number of bytes that ``work()`` held in tensors.

    Autograd's saved tensors, temporaries of the backward pass and scratch tensors of kernels
    count; earlier memory does not. On CUDA, freeing earlier memory lowers the result, so ``work``
    should free only what it allocates. The function's name is the name of the record.

    On the CPU, the bytes come from ``torch.profiler`` with ``profile_memory``, so ``work`` must not
    use the profiler itself. If the default device is CUDA, they are the peak of ``requested_bytes``
    in ``torch.cuda.memory_stats`` (before the allocator rounds up) minus its value at the start.

    >>> import torch
    >>> def one_after_the_other():
    ...     first = torch.empty(1000)
    ...     del first
    ...     second = torch.empty(2000)
    >>> peak_memory(one_after_the_other)
    8000
    """
    gc.collect()  # so that no earlier garbage is freed during the measurement
    device = torch.empty(0).device  # torch 2.6: get_default_device fails after a reset
    peak = _peak_on_cuda(work, device) if device.type == "cuda" else _peak_on_cpu(work)
    record(label(work, "work"), peak, "bytes")
    return peak


def _peak_on_cpu(work: Work) -> int:
    # Read at the first profile; without it, Kineto logs each start and stop to stderr.
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
    """Make cuBLAS allocate its workspaces, one per thread, before the measurement."""
    with torch.inference_mode(False), torch.enable_grad():
        x = torch.ones(2, 2, device=device, requires_grad=True)
        torch.addmm(x[0], x, x).mm(x).sum().backward()  # autograd.grad may keep its result
