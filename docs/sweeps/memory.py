"""Sweeps of the part on memory."""

import torch

from claimbook.sweeps.search import error, same, sweep
from claimbook.sweeps.strategies import (
    ALL,
    LAYOUTS,
    dims,
    integers,
    orders,
    shapes_like,
    shapes_together,
    tensors,
)

ANY_LAYOUT = (*LAYOUTS, "expanded")


def shares(a, b):
    """Whether two tensors have one storage."""
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT), shape=lambda x: shapes_like(x))
def view_is_new_metadata_over_old_storage(x, shape):
    if not error(lambda: x.view(shape)):
        assert x.view(shape).shape == shape
        assert shares(x.view(shape), x)


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT), shape=lambda x: shapes_like(x))
def view_raises_rather_than_copy(x, shape):
    fails = error(lambda: x.view(shape)).startswith("RuntimeError: view size is not compatible")
    assert fails == (not shares(x.reshape(shape), x))


@sweep(x=tensors(ALL, layouts=("contiguous", "offset")), shape=lambda x: shapes_like(x))
def reshape_of_contiguous_is_a_view(x, shape):
    assert shares(x.reshape(shape), x)
    same(x.reshape(shape).flatten(), x.flatten())


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT), shape=lambda x: shapes_like(x))
def contiguous_makes_view_possible(x, shape):
    same(x.contiguous().view(shape), x.reshape(shape))


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT), shape=lambda x: shapes_like(x))
def reshape_copies_into_contiguous(x, shape):
    if not shares(x.reshape(shape), x):
        copy = x.reshape(shape)
        assert copy.is_contiguous()
        assert copy.untyped_storage().nbytes() == copy.numel() * copy.element_size()


@sweep(x=tensors(ALL, rank=(1, 4), layouts=ANY_LAYOUT), dim=lambda x: dims(x))
def squeeze_and_unsqueeze_never_copy(x, dim):
    assert shares(x.squeeze(dim), x)
    assert shares(x.unsqueeze(dim), x)


@sweep(x=tensors(ALL, rank=(2, 4), layouts=ANY_LAYOUT), order=lambda x: orders(x))
def strides_make_views_free(x, order):
    assert shares(x.permute(order), x)
    assert x.permute(order).stride() == tuple(x.stride(dim) for dim in order)


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT))
def contiguous_copies_only_if_needed(x):
    assert (x.contiguous() is x) == x.is_contiguous()
    assert shares(x.contiguous(), x) == x.is_contiguous()


@sweep(x=tensors(ALL, rank=(2, 2), layouts=("contiguous", "offset")))
def some_transposes_are_contiguous(x):
    if min(x.shape) > 1:
        assert not x.t().is_contiguous()


@sweep(shapes=shapes_together(3, rank=5))
def broadcast_shapes_computes_the_result(shapes):
    a, b, c = map(torch.ones, shapes)
    assert torch.broadcast_shapes(*shapes) == (a + b + c).shape


@sweep(
    shapes=shapes_together(2),
    x=lambda shapes: tensors(ALL, shape=shapes[0]),
    y=lambda shapes: tensors(ALL, shape=shapes[1]),
)
def in_place_cannot_grow(shapes, x, y):
    if (x == y).shape != x.shape:
        assert error(lambda: x.copy_(y)).startswith("RuntimeError")


@sweep(x=tensors(ALL, rank=(1, 4), size=(0, 6)), dim=lambda x: dims(x), step=integers(1, 3))
def a_step_of_two_doubles_the_stride(x, dim, step):
    order = [slice(None)] * x.dim()
    order[dim] = slice(None, None, step)
    assert x[tuple(order)].stride(dim) == step * x.stride(dim)
    assert shares(x[tuple(order)], x)
