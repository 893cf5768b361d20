"""A machine that rounds otherwise.

Which order a sum is taken in, and what the last bits of `exp` are, differs from processor to GPU
and from release to release. Monte Carlo arithmetic (Parker, Pierce and Eggert 2000,
doi:10.1109/5992.852391) changes last bits at random to see which digits do not depend on them. Here
they change as a function of the operation, the shapes and the number, so that, as on any machine,
what is computed twice is the same.
"""

import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

ARITHMETIC = """sum nansum mean var var_mean std std_mean prod cumsum cumprod trace norm
    linalg_vector_norm softmax mm bmm addmm addbmm baddbmm addmv addr mv dot vdot addcmul addcdiv
    lerp linspace pow convolution native_batch_norm native_batch_norm_legit native_layer_norm
    native_group_norm avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool2d upsample_bilinear2d
    mse_loss nll_loss nll_loss_forward huber_loss smooth_l1_loss embedding_dense index_add
    scatter_add scatter_reduce cdist_forward cdist pdist_forward mkldnn_rnn_layer
    thnn_fused_lstm_cell sigmoid"""
"""Operators whose terms may be added up in any order, or with some products left unrounded."""

FUNCTIONS = """exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh
    asinh acosh atanh log_sigmoid log_sigmoid_forward erf erfc erfinv lgamma digamma rsqrt gelu silu
    mish elu softplus logit hypot logaddexp xlogy logspace logsumexp logcumsumexp log_softmax
    log_softmax_backward_data binary_cross_entropy"""
"""Operators that IEEE 754 does not oblige to give the nearest number, as it does `+` and `sqrt`."""

BITS = {torch.float32: torch.int32, torch.float64: torch.int64}
"""Each dtype with that of its bits. Numbers of 16 bits are left alone: most kernels add them up in
`float32`, and round once."""

FARTHEST = 4
"""Units in the last place by which a number moves at most. Most of CUDA's functions are off by one
or two: CUDA Programming Guide, appendix on mathematical functions."""


class Machine(TorchDispatchMode):
    """Moves what was rounded by a few units in its last place.

    Args:
        seed: which machine; 0 is one that changes nothing.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seed = seed

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if exact := exactness(func.name()):
            shapes = [tuple(t.shape) for t in tree_leaves(args) if isinstance(t, torch.Tensor)]
            key = zlib.crc32(repr((self.seed, func.name(), shapes)).encode())
            for numbers in _numbers(args[0] if result is None else result):
                _move(numbers, exact(numbers), key, FARTHEST if self.seed else 0)
        return result


@cache
def exactness(operator: str) -> Callable[[torch.Tensor], torch.Tensor] | None:
    """What tells which results of an operator, `aten::exp_`, are the same on every machine.

    None if all are: it rounds as IEEE 754 says, draws random numbers, or moves data.
    """
    name = operator.partition("::")[2].partition(".")[0].strip("_").removeprefix("foreach_")
    if name in FUNCTIONS.split():
        return _is_small_and_whole
    name = name.partition("_backward")[0]
    rounded = name in f"{ARITHMETIC} {FUNCTIONS}".split() or name.startswith("linalg_")
    return _is_of_few_bits if rounded else None


def _is_small_and_whole(numbers: torch.Tensor) -> torch.Tensor:
    """As the logarithm of 1; that the exponential of some number has few bits may be luck."""
    return (numbers == numbers.round()) & (numbers.abs() < 1 << 8)


def _is_of_few_bits(numbers: torch.Tensor) -> torch.Tensor:
    """Nothing was rounded on the way, then; nor in a sum of whole numbers."""
    return (_bits(numbers) & 0xFF == 0) | (numbers == numbers.round())


def _numbers(result: Any) -> Iterator[torch.Tensor]:
    """The tensors of floats in memory among what an operator gave; complex ones as pairs."""
    for leaf in tree_leaves(result):
        if type(leaf) is torch.Tensor and leaf.layout is torch.strided and not leaf.is_meta:
            numbers = torch.view_as_real(leaf) if leaf.is_complex() else leaf
            if numbers.dtype in BITS:
                yield numbers


def _bits(numbers: torch.Tensor) -> torch.Tensor:
    return numbers.detach().clone().view(BITS[numbers.dtype])


def _move(numbers: torch.Tensor, exact: torch.Tensor, key: int, farthest: int) -> None:
    bits = _bits(numbers)
    steps = (bits.long() * 0x1E3779B97F4A7C15 + (key << 30) >> 40) % (2 * farthest + 1) - farthest
    limits = torch.finfo(numbers.dtype)  # beyond these a step might lead to no number
    still = exact | (numbers.abs().clamp(limits.tiny, limits.max / 2) != numbers.abs())
    numbers.copy_((bits + steps.to(bits.dtype).masked_fill(still, 0)).view(numbers.dtype))


_machines: list[Machine] = []


def begin(seed: int) -> None:
    """From now on this thread computes on another machine."""
    _machines.append(Machine(seed))
    _machines[-1].__enter__()  # type: ignore[no-untyped-call]


def end() -> None:
    """It computes on its own machine again."""
    _machines.pop().__exit__(None, None, None)  # type: ignore[no-untyped-call]
