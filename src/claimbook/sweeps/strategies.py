"""Strategies for sweeps: tensors of any dtype, shape, layout and values, and their arguments."""

import math
from collections.abc import Callable, Sequence

import hypothesis
import torch
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes
from hypothesis.strategies import SearchStrategy
from torch import Tensor

Shape = tuple[int, ...]
Program = list[tuple[str, int, int]]
"""Steps: a function of torch, and the indices of two earlier results as arguments."""

FLOATS = (torch.float32, torch.float64)
HALVES = (torch.float16, torch.bfloat16)
COMPLEX = (torch.complex64, torch.complex128)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
REALS = (*FLOATS, *HALVES, *INTEGERS)
NUMBERS = (*REALS, *COMPLEX)
ALL = (*NUMBERS, torch.bool)

LAYOUTS = ("contiguous", "permuted", "stepped", "offset")
"""Memory layouts of drawn tensors; `expanded` must be asked for, as in-place operations reject
it."""

BINARY = ("add", "sub", "mul", "maximum", "atan2")
"""Functions of two tensors in a program; all others take one."""

OPTIMISERS = tuple(
    vars(torch.optim)[name]
    for name in (
        *("SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adadelta", "Adagrad", "Adafactor"),
        *("RMSprop", "Rprop", "ASGD"),
    )
)
"""Those that accept parameters of any shape with dense gradients, and need no closure."""

SPECIAL = (0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 1e-8, 3e4)

assume = hypothesis.assume
"""Skip a case that does not meet a condition."""
among = st.sampled_from
"""Draw one of the given values."""
integers = st.integers
"""Draw an integer between two bounds, both included."""
booleans = st.booleans
"""Draw `True` or `False`."""
several = st.lists
"""Draw a list of what a strategy draws, of `min_size` to `max_size` elements."""


def shapes(rank: tuple[int, int] = (0, 4), size: tuple[int, int] = (0, 4)) -> SearchStrategy[Shape]:
    """Draw shapes with bounds, both included, for the number of dimensions and their sizes."""
    return st.lists(st.integers(*size), min_size=rank[0], max_size=rank[1]).map(tuple)


def shapes_together(count: int, rank: int = 4, size: int = 4) -> SearchStrategy[tuple[Shape, ...]]:
    """Draw `count` shapes that broadcast together."""
    drawn = mutually_broadcastable_shapes(
        num_shapes=count, max_dims=rank, min_side=0, max_side=size
    )
    return drawn.map(lambda together: tuple(map(tuple, together.input_shapes)))


def dims(tensor: Tensor) -> SearchStrategy[int]:
    """Draw a dimension of a tensor, positive or negative; the tensor must not be 0-d."""
    return st.integers(-tensor.dim(), tensor.dim() - 1)


def orders(tensor: Tensor) -> SearchStrategy[tuple[int, ...]]:
    """Draw a permutation of a tensor's dimensions, for `permute`."""
    return st.permutations(range(tensor.dim())).map(tuple)


@st.composite
def shapes_like(draw: st.DrawFn, tensor: Tensor) -> Shape:
    """Draw a shape with a tensor's number of elements, for `view` and `reshape`."""
    left, shape = tensor.numel(), list[int]()
    for _ in range(draw(st.integers(0, 3))):
        fits = [size for size in range(1, left + 1) if left % size == 0] or [0, 1, 2]
        shape.append(draw(st.sampled_from(fits)))
        left = left // shape[-1] if shape[-1] else draw(st.integers(0, 3))
    end = shape if left == 1 and draw(st.booleans()) else [*shape, left]
    return tuple(end) if math.prod(end) == tensor.numel() else (tensor.numel(),)


def programs(functions: Sequence[str], steps: int = 6) -> SearchStrategy[Program]:
    """Draw programs of elementwise functions, for `computed`."""
    earlier = st.integers(0, steps)
    return st.lists(st.tuples(st.sampled_from(functions), earlier, earlier), max_size=steps)


def computed(program: Program, *inputs: Tensor) -> list[Tensor]:
    """Run a program; return the inputs and the result of each step.

    >>> computed([("add", 0, 1), ("neg", 2, 0)], torch.tensor(2), torch.tensor(3))
    [tensor(2), tensor(3), tensor(5), tensor(-5)]
    """
    results = list(inputs)
    for name, first, second in program:
        taken = [results[first % len(results)], results[second % len(results)]]
        results.append(getattr(torch, name)(*taken[: 2 if name in BINARY else 1]))
    return results


@st.composite
def tensors(
    draw: st.DrawFn,
    dtype: torch.dtype | Sequence[torch.dtype] = FLOATS,
    *,
    shape: Shape | SearchStrategy[Shape] | None = None,
    rank: tuple[int, int] = (0, 4),
    size: tuple[int, int] = (0, 4),
    values: str = "whole",
    layouts: Sequence[str] = LAYOUTS,
    requires_grad: bool = False,
) -> Tensor:
    """Draw tensors.

    Args:
        dtype: one or several.
        shape: a shape, or a strategy for shapes; by default bounded by `rank` and `size`.
        values: `whole` numbers from -4 to 4, which every dtype adds exactly; `normal` ones; or
            `special`: normal ones mixed with infinities, NaN and zeros of both signs. Integers
            are always whole, and unsigned ones not negative.
        layouts: from `LAYOUTS`, or `expanded`.
    """
    if shape is None:
        shape = shapes(rank, size)
    if isinstance(shape, SearchStrategy):
        shape = draw(shape)
    kinds = [dtype] if isinstance(dtype, torch.dtype) else list(dtype)
    made = draw(st.sampled_from(kinds))
    generator = torch.Generator(torch.get_default_device()).manual_seed(
        draw(st.integers(0, 1 << 16))
    )
    layout = draw(st.sampled_from(layouts))
    tensor = _laid_out(layout, shape, lambda s: _filled(s, made, values, generator))
    return tensor.requires_grad_(requires_grad)


def _filled(shape: Shape, dtype: torch.dtype, values: str, generator: torch.Generator) -> Tensor:
    """Return a contiguous tensor of drawn values."""
    if dtype.is_complex:
        real = _filled((*shape, 2), torch.float64, values, generator)
        return torch.view_as_complex(real).to(dtype)
    if values == "whole" or not dtype.is_floating_point:
        lowest = 0 if dtype in (torch.bool, torch.uint8) else -4
        highest = 2 if dtype is torch.bool else 5
        return torch.randint(lowest, highest, shape, generator=generator).to(dtype)
    normal = torch.randn(shape, generator=generator, dtype=torch.float64)
    if values == "special":
        special = torch.tensor(SPECIAL, dtype=torch.float64)
        picked = special[torch.randint(len(SPECIAL), shape, generator=generator)]
        normal = torch.where(torch.rand(shape, generator=generator) < 0.5, picked, normal)
    return normal.to(dtype)


def _laid_out(layout: str, shape: Shape, make: Callable[[Shape], Tensor]) -> Tensor:
    """Return a tensor of a shape and memory layout."""
    match layout:
        case "permuted":
            return make(shape[::-1]).permute(tuple(reversed(range(len(shape)))))
        case "stepped" if shape:
            return make((*shape[:-1], 2 * shape[-1]))[..., ::2]
        case "offset":
            return make((2, *shape))[1]
        case "expanded":
            return make(tuple(1 for _ in shape)).expand(shape)
        case _:
            return make(shape)
