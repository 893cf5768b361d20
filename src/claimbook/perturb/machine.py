"""A machine that rounds otherwise.

Which order a sum is taken in, and what the last bit of `exp` is, differs from processor to GPU and
from release to release. Monte Carlo arithmetic (Parker, Pierce and Eggert 2000,
doi:10.1109/5992.852391) changes last bits at random to see which digits do not depend on them. Here
they change as a function of the operation, the shapes and the number, so that, as on any machine,
what is computed twice is the same.
"""

import re
import zlib
from collections.abc import Iterator
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

SUMS = """sum nansum mean var var_mean std std_mean prod cumsum cumprod logsumexp logcumsumexp trace
    norm linalg_vector_norm softmax log_softmax mm bmm addmm addbmm baddbmm addmv addr mv dot vdot
    convolution native_batch_norm native_batch_norm_legit native_layer_norm native_group_norm
    avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool2d mse_loss nll_loss nll_loss_forward
    binary_cross_entropy embedding_dense index_add scatter_add scatter_reduce mkldnn_rnn_layer
    thnn_fused_lstm_cell cdist_forward cdist pdist_forward upsample_bilinear2d"""
"""Operators whose terms may be added up in any order, or with some products left unrounded."""

FUNCTIONS = """exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan atan2 sinh cosh tanh
    asinh acosh atanh sigmoid log_sigmoid log_sigmoid_forward erf erfc erfinv lgamma digamma pow
    rsqrt gelu silu mish elu softplus logit hypot logaddexp xlogy addcmul addcdiv lerp huber_loss
    smooth_l1_loss linspace logspace"""
"""Operators that IEEE 754 does not oblige to give the nearest number, as it does `+` and `sqrt`."""

ROUNDED = {*SUMS.split(), *FUNCTIONS.split()}
AFFIXES = re.compile(r"^_*(foreach_)?|(_backward\w*)?_?$")
BITS = {torch.float32: torch.int32, torch.float64: torch.int64}
"""Each dtype with that of its bits. Numbers of 16 bits are left alone: most kernels add them up in
`float32`, and round once."""

SPARE = (1 << 8) - 1
"""A number whose last bits are 0 has needed no rounding."""


class Machine(TorchDispatchMode):
    """Adds -1, 0 or 1 to the last bit of what was rounded.

    Whole numbers, and those with eight zeros in their last bits, are taken to be exact.

    Args:
        seed: which machine; 0 is one that changes nothing.
    """

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seed = seed

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = AFFIXES.sub("", func.name().partition("::")[2].partition(".")[0])
        if name in ROUNDED or name.startswith("linalg_"):
            shapes = [tuple(t.shape) for t in tree_leaves(args) if isinstance(t, torch.Tensor)]
            key = zlib.crc32(repr((self.seed, name, shapes)).encode())
            for tensor in _numbers(args[0] if result is None else result):
                _shift(tensor, key, self.seed)
        return result


def _numbers(result: Any) -> Iterator[torch.Tensor]:
    """The tensors of floats in memory among what an operator gave; complex ones as pairs."""
    for leaf in tree_leaves(result):
        if type(leaf) is torch.Tensor and leaf.layout is torch.strided and not leaf.is_meta:
            numbers = torch.view_as_real(leaf) if leaf.is_complex() else leaf
            if numbers.dtype in BITS:
                yield numbers


def _shift(numbers: torch.Tensor, key: int, seed: int) -> None:
    dtype = BITS[numbers.dtype]
    bits = numbers.detach().clone().view(dtype)
    exact = (bits & SPARE == 0) | (numbers == numbers.round())
    drawn = (bits.long() * 0x1E3779B97F4A7C15 + (key << 30)) >> 40
    steps = (drawn % 3 - 1).to(dtype) * bool(seed)
    numbers.copy_((bits + steps.masked_fill(exact, 0)).view(numbers.dtype))


_machines: list[Machine] = []


def begin(seed: int) -> None:
    """From now on this thread computes on another machine."""
    _machines.append(Machine(seed))
    _machines[-1].__enter__()  # type: ignore[no-untyped-call]


def end() -> None:
    """It computes on its own machine again."""
    _machines.pop().__exit__(None, None, None)  # type: ignore[no-untyped-call]
