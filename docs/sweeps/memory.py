"""Sweeps of the part on memory."""

import math
import operator
from itertools import accumulate, product

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from claimbook.sweeps.search import error, same, sweep
from claimbook.sweeps.strategies import (
    ALL,
    COMPLEX,
    FLOATS,
    HALVES,
    INTEGERS,
    LAYOUTS,
    NUMBERS,
    REALS,
    among,
    assume,
    booleans,
    dims,
    integers,
    orders,
    several,
    shapes,
    shapes_like,
    shapes_together,
    tensors,
)

ANY_LAYOUT = (*LAYOUTS, "expanded")
WITH_ARRAYS = tuple(dtype for dtype in ALL if dtype != torch.bfloat16)


def shares(a, b):
    """Whether two tensors have one storage."""
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()


def refuses(work):
    """Whether a call raises an error."""
    return error(work) != ""


def positions(x):
    """Return where each element of a tensor lies in its storage."""
    count = x.untyped_storage().nbytes() // x.element_size()
    return torch.arange(max(count, 1)).as_strided(x.shape, x.stride(), x.storage_offset())


def strides_would_do(x, shape):
    """Whether some strides describe another shape of a tensor where its elements lie."""
    wanted = positions(x).reshape(shape)
    if not x.numel():
        return True
    strides = [
        int(wanted.select(d, min(1, n - 1)).min() - wanted.min()) for d, n in enumerate(shape)
    ]
    return torch.arange(9999).as_strided(shape, strides, int(wanted.min())).equal(wanted)


def kernels_of(work):
    """Return the names of the products that a call runs."""
    called = []

    class Kernels(TorchDispatchMode):
        def __torch_dispatch__(self, op, types, args=(), kwargs=None):
            called.extend({str(op).split(".")[1]} & {"dot", "mv", "mm", "bmm"})
            return op(*args, **(kwargs or {}))

    with Kernels():
        work()
    return called


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
    copy = x.reshape(shape)
    if shares(copy, x):
        assert copy.untyped_storage().nbytes() == x.untyped_storage().nbytes()
    else:
        assert copy.stride() == x.contiguous().view(shape).stride()
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


# as_strided


@sweep(
    x=tensors(ALL, shape=(12,), layouts=("contiguous", "offset")),
    shape=among([(2, 2), (2, 3), (3, 2), (3, 3)]),
    stride=integers(0, 2),
)
def equal_strides_make_overlapping_windows(x, shape, stride):
    windows = x.as_strided(shape, (stride, stride), x.storage_offset())
    assert shares(windows, x)
    assert windows[0, 1].data_ptr() == windows[1, 0].data_ptr()
    same(windows[1], x[stride :: stride or 1][: shape[1]] if stride else x[0].expand(shape[1]))


@sweep(
    x=tensors(ALL, rank=(1, 4), size=(1, 5), layouts=ANY_LAYOUT),
    dim=lambda x: dims(x),
    size=integers(1, 3),
    step=integers(1, 3),
)
def prefer_unfold_to_as_strided(x, dim, size, step):
    assume(size <= x.shape[dim])
    windows = x.unfold(dim, size, step).movedim(dim % x.dim(), 0)
    for number, window in enumerate(windows):
        same(window, x.narrow(dim, number * step, size).movedim(dim, -1))


@sweep(
    x=tensors(ALL, shape=(6,), layouts=("contiguous",)),
    shape=shapes(rank=(0, 3), size=(0, 3)),
    strides=lambda shape: several(integers(-1, 4), min_size=len(shape), max_size=len(shape)),
    offset=integers(0, 7),
)
def as_strided_chooses_shape_and_strides(x, shape, strides, offset):
    last = offset + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    inside = 0 in shape or last < len(x)
    assert refuses(lambda: x.as_strided(shape, strides, offset)) == (
        min(strides, default=0) < 0 or not inside
    )


@sweep(
    x=tensors(NUMBERS, rank=(1, 3), size=(3, 5)),
    dim=lambda x: dims(x),
    function=among(("add_", "sub_", "mul_")),
)
def in_place_arithmetic_on_windows_is_undefined(x, dim, function):
    windows = x.unfold(dim, 2, 1)
    assert error(lambda: getattr(windows, function)(1)) == ""


# Broadcasting


@sweep(
    matrix=tensors(ALL, rank=(2, 2), layouts=ANY_LAYOUT),
    vector=lambda matrix: tensors(ALL, shape=matrix.shape[1:], layouts=ANY_LAYOUT),
)
def a_row_is_added_to_every_row(matrix, vector):
    for added, row in zip(matrix + vector, matrix, strict=True):
        same(added, row + vector)


@sweep(
    scalar=tensors(ALL, shape=()),
    x=tensors(ALL, layouts=ANY_LAYOUT),
    function=among(("mul", "eq", "maximum", "logical_and")),
)
def a_scalar_tensor_broadcasts(scalar, x, function):
    assume(not (function == "maximum" and (scalar.is_complex() or x.is_complex())))
    assert getattr(torch, function)(scalar, x).shape == x.shape
    assert getattr(torch, function)(x, scalar).shape == x.shape


@sweep(
    prediction=tensors(FLOATS, rank=(2, 2), values="normal"),
    target=lambda prediction: tensors(prediction.dtype, shape=prediction.shape[:1]),
)
def column_minus_row_makes_all_pairs(prediction, target):
    column = prediction.mean(1, keepdim=True)
    pairs = column - target
    assert pairs.shape == (len(target), len(target))
    for row, number in zip(pairs, column, strict=True):
        same(row, number - target)
    same(functional.mse_loss(column, target), pairs.square().mean())


@sweep(x=tensors((*FLOATS, *HALVES), rank=(2, 2), values="normal"))
def a_mean_without_keepdim_turns(x):
    assume(x.shape[0] == x.shape[1])
    turned, means = x - x.mean(1), x.mean(1)
    for number, mean in enumerate(means):
        same(turned[:, number], x[:, number] - mean)


@sweep(
    target=tensors(torch.float64, rank=(1, 1), size=(1, 6), values="normal"),
    start=lambda target: tensors(torch.float64, shape=(len(target), 1), values="normal"),
)
def a_loss_over_all_pairs_teaches_the_mean(target, start):
    prediction = start.clone().requires_grad_()
    loss = (prediction - target).square().mean()
    (gradient,) = torch.autograd.grad(loss, prediction)
    best = prediction - gradient * len(target) / 2
    assert_close(best, target.mean().expand_as(best))


@sweep(x=tensors(ALL, rank=(1, 4), layouts=ANY_LAYOUT), times=integers(0, 3))
def repeat_starts_over_repeat_interleave_stays(x, times):
    repeated = x.repeat(times, *[1] * (x.dim() - 1))
    for number, row in enumerate(repeated):
        same(row, x[number % len(x)])
    for number, row in enumerate(x.repeat_interleave(times, dim=0)):
        same(row, x[number // times])


@sweep(
    x=tensors(ALL, rank=(2, 2), size=(1, 3), layouts=ANY_LAYOUT),
    n=integers(2, 4),
)
def expand_shares_and_repeat_copies(x, n):
    view = x[None].expand(n, *x.shape)
    assert shares(view, x)
    copies = x.repeat(n, 1), x.tile(n, 1), x.repeat_interleave(n, dim=0)
    for copy in copies:
        assert copy.untyped_storage().nbytes() == n * x.numel() * x.element_size()
        assert not shares(copy, x)
    same(copies[0], view.flatten(0, 1))
    same(copies[1], view.flatten(0, 1))
    same(copies[2], view.transpose(0, 1).flatten(0, 1))


@sweep(
    samples=integers(0, 9),
    w=tensors(NUMBERS, rank=(2, 2)),
    x=lambda samples, w: tensors(w.dtype, shape=(samples, w.shape[0])),
    b=lambda w: tensors(w.dtype, shape=w.shape[1:]),
)
def bias_is_broadcast_over_the_batch(samples, w, x, b):
    results = x @ w + b
    assert results.shape == (samples, w.shape[1])
    for sample, result in zip(x, results, strict=True):
        same(sample @ w + b, result)


# Memory formats


@sweep(
    x=tensors(FLOATS, rank=(4, 4), size=(1, 5)),
    kernel=integers(1, 3),
    padding=integers(0, 1),
)
def nhwc_of_height_three_passes_unnoticed(x, kernel, padding):
    channels = x.shape[3]
    assume(x.shape[1] == channels)
    assume(kernel <= min(x.shape[2:]) + 2 * padding)
    conv = nn.Conv2d(channels, 2, kernel, padding=padding, dtype=x.dtype)
    assert conv(x).shape[:2] == (len(x), 2)


@sweep(x=tensors(ALL, rank=(4, 4), layouts=ANY_LAYOUT))
def channels_last_changes_strides_only(x):
    changed = x.to(memory_format=torch.channels_last)
    assert changed.is_contiguous(memory_format=torch.channels_last)
    same(changed, x)


@sweep(x=tensors(ALL, rank=(4, 4), layouts=ANY_LAYOUT))
def one_channel_is_both_formats(x):
    x = x[:, :1].contiguous()
    assume(x.numel())
    assert x.is_contiguous()
    assert x.is_contiguous(memory_format=torch.channels_last)
    assert x.contiguous(memory_format=torch.channels_last).stride() == x.stride()
    _, _, height, width = x.shape
    changed = x.to(memory_format=torch.channels_last)
    assert changed.stride() == (height * width, 1, width, 1)


@sweep(nhwc=tensors(ALL, rank=(4, 4), layouts=ANY_LAYOUT))
def view_instead_of_permute_scrambles(nhwc):
    n, h, w, c = nhwc.shape
    same(nhwc.reshape(n, c, h, w).flatten(), nhwc.flatten())
    if not refuses(lambda: nhwc.view(n, c, h, w)):
        same(nhwc.view(n, c, h, w).flatten(), nhwc.flatten())


# Indexing


@sweep(x=tensors(ALL, rank=(2, 2), size=(1, 6), values="special", layouts=ANY_LAYOUT))
def first_nonzero_of_each_row(x):
    found = (x != 0).int().argmax(1)
    for row, position in zip(x.tolist(), found.tolist(), strict=True):
        assert position == next((i for i, value in enumerate(row) if value != 0), 0)


@sweep(x=tensors(ALL, rank=(2, 2), size=(1, 6), values="special", layouts=ANY_LAYOUT))
def last_nonzero_of_each_row(x):
    assume(bool((x != 0).any(1).all()))
    last = x.shape[1] - 1 - (x != 0).flip(1).int().argmax(1)
    for row, position in zip(x.tolist(), last.tolist(), strict=True):
        assert position == max(i for i, value in enumerate(row) if value != 0)


@sweep(
    x=tensors(REALS, rank=(1, 3), size=(1, 40), values="special", layouts=ANY_LAYOUT),
    dim=lambda x: dims(x),
)
def argmax_returns_the_first_of_equal_maxima(x, dim):
    x = x.nan_to_num(math.inf)
    lines = x.movedim(dim, -1).reshape(-1, x.shape[dim]).tolist()
    first = [line.index(max(line)) for line in lines]
    assert x.argmax(dim).flatten().tolist() == first
    assert x.max(dim).indices.flatten().tolist() == first


@sweep(
    x=tensors(REALS, rank=(2, 2), size=(0, 8), layouts=ANY_LAYOUT),
    k=lambda x: integers(0, x.shape[1]),
)
def top_k_of_each_row_and_their_mask(x, k):
    top = x.topk(k)
    mask = torch.zeros_like(x, dtype=torch.bool).scatter(1, top.indices, True)
    for row, chosen, values in zip(x, mask, top.values.tolist(), strict=True):
        assert values == sorted(row.tolist(), reverse=True)[:k]
        assert sorted(row[chosen].tolist(), reverse=True) == values


@sweep(
    x=tensors(REALS, rank=(2, 2), size=(0, 8), layouts=ANY_LAYOUT),
    k=lambda x: tensors(torch.int64, shape=x.shape[:1]),
)
def another_k_for_each_row(x, k):
    rank = x.argsort(1, descending=True).argsort(1)
    for row, chosen, n in zip(x, rank < k[:, None], k.clamp(0, x.shape[1]).tolist(), strict=True):
        assert sorted(row[chosen].tolist(), reverse=True) == sorted(row.tolist(), reverse=True)[:n]


@sweep(x=tensors((*REALS, torch.bool), rank=(1, 1), size=(0, 60), layouts=ANY_LAYOUT))
def a_stable_sort_takes_the_first_of_equals(x):
    order = x.sort(descending=True, stable=True).indices
    assert order.tolist() == sorted(range(len(x)), key=lambda i: -x[i].item())


@sweep(
    values=tensors(torch.float64, rank=(2, 2), size=(1, 5)),
    group=lambda values: several(integers(0, 3), min_size=len(values), max_size=len(values)),
)
def group_means_by_index_add(values, group):
    group = torch.tensor(group)
    sums = torch.zeros(4, values.shape[1], dtype=values.dtype).index_add(0, group, values)
    means = sums / group.bincount(minlength=4).clamp(min=1)[:, None]
    for number in group.unique().tolist():
        assert_close(means[number], values[group == number].mean(0))


@sweep(rows=tensors((*REALS, torch.bool), rank=(2, 2), size=(0, 3), layouts=ANY_LAYOUT))
def unique_rows_number_the_groups(rows):
    assume(rows.shape[1])
    distinct, group = rows.unique(dim=0, return_inverse=True)
    assert distinct.tolist() == sorted(map(list, set(map(tuple, rows.tolist()))))
    same(distinct[group], rows)


@sweep(rows=tensors(REALS, rank=(2, 2), size=(1, 4), layouts=ANY_LAYOUT))
def first_position_of_each_unique_row(rows):
    distinct, group = rows.unique(dim=0, return_inverse=True)
    start = torch.full((len(distinct),), len(rows))
    first = start.scatter_reduce(0, group, torch.arange(len(rows)), "amin")
    listed = rows.tolist()
    assert first.tolist() == [listed.index(row) for row in distinct.tolist()]


@sweep(
    values=tensors(NUMBERS, rank=(2, 2), size=(1, 4), layouts=ANY_LAYOUT),
    group=lambda values: several(integers(0, 1), min_size=len(values), max_size=len(values)),
)
def a_column_index_scatters_one_column(values, group):
    zeros, index = torch.zeros(2, values.shape[1], dtype=values.dtype), torch.tensor(group)
    expected = zeros.clone()
    expected[:, 0] = zeros[:, 0].index_add(0, index, values[:, 0])
    same(zeros.scatter_add(0, index[:, None], values), expected)
    same(zeros.scatter_reduce(0, index[:, None], values, "sum"), expected)


@sweep(x=tensors(REALS, rank=(2, 2), size=(1, 4), layouts=ANY_LAYOUT))
def unique_along_columns_is_not_per_row(x):
    columns = set(map(tuple, x.t().tolist()))
    assert x.unique(dim=1).t().tolist() == sorted(map(list, columns))


@sweep(
    values=tensors(REALS, rank=(1, 3), values="special", layouts=ANY_LAYOUT),
    boundaries=tensors(REALS, rank=(1, 1), size=(0, 6)),
)
def bucketize_counts_smaller_boundaries(values, boundaries):
    boundaries, values = boundaries.sort().values, values.nan_to_num(0)
    listed = boundaries.tolist()
    below = [sum(each < value for each in listed) for value in values.flatten().tolist()]
    up_to = [sum(each <= value for each in listed) for value in values.flatten().tolist()]
    assert torch.bucketize(values, boundaries).flatten().tolist() == below
    assert torch.bucketize(values, boundaries, right=True).flatten().tolist() == up_to


@sweep(
    boundaries=tensors(REALS, rank=(2, 2), size=(0, 4)),
    values=lambda boundaries: tensors(boundaries.dtype, rank=(1, 2)),
)
def boundaries_for_each_row(boundaries, values):
    boundaries = boundaries.sort().values
    if values.dim() == 2 and len(values) == len(boundaries):
        found = torch.searchsorted(boundaries, values)
        for row, own, result in zip(values, boundaries, found, strict=True):
            same(result, torch.bucketize(row, own))
    else:
        assert refuses(lambda: torch.searchsorted(boundaries, values))


@sweep(
    weights=tensors((*FLOATS, *HALVES), rank=(2, 2), size=(1, 4)),
    count=integers(1, 20),
)
def multinomial_draws_for_each_row(weights, count):
    weights = weights.clamp(min=0)
    assume(bool((weights.sum(1) > 0).all()))
    drawn = torch.multinomial(weights, count, replacement=True)
    assert drawn.shape == (len(weights), count)
    assert (weights.gather(1, drawn) > 0).all()


@sweep(
    weights=tensors((*FLOATS, *HALVES), rank=(1, 2), size=(1, 4), values="normal"),
    wrong=among((-1.0, -1e-3, math.inf, -math.inf, math.nan, "zero", "integers")),
    replacement=booleans(),
)
def weights_that_multinomial_refuses(weights, wrong, replacement):
    weights = weights.abs() + 1
    assert not refuses(lambda: torch.multinomial(weights, 1, replacement))
    if wrong == "integers":
        weights = weights.long()
    else:
        weights[..., -1] = 0 if wrong == "zero" else wrong
        weights *= 0 if wrong == "zero" else 1
    assert refuses(lambda: torch.multinomial(weights, 1, replacement))


@sweep(
    lengths=several(integers(0, 4), min_size=1, max_size=5),
    flat=lambda lengths: tensors(ALL, shape=(sum(lengths),), layouts=ANY_LAYOUT),
)
def a_mask_from_lengths_pads(lengths, flat):
    sizes = torch.tensor(lengths)
    mask = torch.arange(int(sizes.max())) < sizes[:, None]
    padded = torch.zeros(mask.shape, dtype=flat.dtype)
    padded[mask] = flat
    same(padded, nn.utils.rnn.pad_sequence(flat.split(lengths), batch_first=True))


@sweep(
    lengths=several(integers(1, 4), min_size=1, max_size=5),
    padded=lambda lengths: tensors(ALL, shape=(len(lengths), max(lengths)), layouts=ANY_LAYOUT),
)
def last_valid_element_of_each_row(lengths, padded):
    last = padded[torch.arange(len(lengths)), torch.tensor(lengths) - 1]
    for row, length, value in zip(padded, lengths, last, strict=True):
        same(value, row[:length][-1])


@sweep(
    x=tensors(FLOATS, rank=(1, 4), size=(1, 4), layouts=ANY_LAYOUT),
    dim=lambda x: dims(x),
    function=among(("sum", "argmax", "cumsum", "softmax", "sort", "unbind", "squeeze")),
)
def negative_dims_count_from_the_end(x, dim, function):
    call = getattr(torch, function)
    counted, expected = call(x, dim), call(x, dim % x.dim())
    same(counted, tuple(expected) if isinstance(expected, tuple) else expected)
    same(x.unsqueeze(-1), x.unsqueeze(x.dim()))


@sweep(
    scores=tensors(ALL, rank=(2, 2), size=(1, 4), layouts=ANY_LAYOUT),
    labels=lambda scores: several(
        integers(-scores.shape[1], scores.shape[1] - 1), min_size=len(scores), max_size=len(scores)
    ),
)
def one_value_per_row_takes_two_indices(scores, labels):
    picked = scores[torch.arange(len(labels)), torch.tensor(labels)]
    listed = [row[label] for row, label in zip(scores.tolist(), labels, strict=True)]
    assert picked.tolist() == listed


@sweep(
    x=tensors(ALL),
    mask=lambda x: tensors(torch.bool, shape=tuple(x.shape), layouts=ANY_LAYOUT),
    values=lambda x: tensors(x.dtype, rank=(0, 1), size=(0, 6)),
)
def a_mask_takes_one_value_for_each_true(x, mask, values):
    fits = values.dim() == 0 or len(values) in (1, int(mask.sum()))
    assert refuses(lambda: x.__setitem__(mask, values)) == (not fits)
    if fits:
        same(x[mask], values.expand(int(mask.sum())))


# Matrix products


@sweep(
    a=tensors(torch.int64, rank=(2, 2), size=(0, 4), layouts=ANY_LAYOUT),
    b=lambda a: tensors(torch.int64, shape=tuple(a.shape), layouts=ANY_LAYOUT),
)
def a_dot_product_for_each_row(a, b):
    rows = [(row @ other).item() for row, other in zip(a, b, strict=True)]
    assert (a * b).sum(-1).tolist() == rows


@sweep(
    x=tensors(torch.int64, rank=(1, 1), size=(0, 4), layouts=ANY_LAYOUT),
    y=lambda x: tensors(torch.int64, shape=tuple(x.shape), layouts=ANY_LAYOUT),
)
def outer_products_by_broadcasting(x, y):
    assert (x @ y).shape == ()
    assert (x @ y).item() == sum(a * b for a, b in zip(x.tolist(), y.tolist(), strict=True))
    assert (x[:, None] * y).tolist() == [[a * b for b in y.tolist()] for a in x.tolist()]


@sweep(
    size=integers(1, 3),
    a=lambda size: tensors(torch.int64, shape=(size, size), layouts=ANY_LAYOUT),
    n=integers(1, 4),
)
def powers_kronecker_products_and_solutions(size, a, n):
    power, element = a, a
    for _ in range(n - 1):
        power, element = power @ a, element * a
    same(torch.linalg.matrix_power(a, n), power)
    same(a**n, element)


@sweep(
    sizes=several(integers(0, 3), min_size=4, max_size=4),
    q=lambda sizes: tensors(torch.int64, shape=(sizes[0], sizes[1], sizes[3])),
    k=lambda sizes: tensors(torch.int64, shape=(sizes[0], sizes[2], sizes[3])),
)
def einsum_of_queries_and_keys(sizes, q, k):
    scores = torch.einsum("bqd,bkd->bqk", q, k)
    for b, m, n in product(*map(range, sizes[:3])):
        assert scores[b, m, n] == (q[b, m] * k[b, n]).sum()


@sweep(
    shapes=shapes_together(2, rank=3),
    x=lambda shapes: tensors((*FLOATS, *COMPLEX), shape=shapes[0], layouts=ANY_LAYOUT),
    y=lambda shapes: tensors((*FLOATS, *COMPLEX), shape=shapes[1], requires_grad=True),
    a=tensors(rank=(1, 4), size=(1, 3)),
    b=tensors(rank=(1, 4), size=(1, 3)),
)
def star_is_mul(shapes, x, y, a, b):
    star, mul = x * y, torch.mul(x, y)
    same(star, mul)
    assert star.grad_fn.name() == mul.grad_fn.name() == "MulBackward0"
    fits = not refuses(lambda: torch.broadcast_shapes(a.shape, b.shape))
    assert refuses(lambda: a * b) == (not fits)
    if a.shape[-1] != b.shape[-2:][0]:
        assert refuses(lambda: a.double() @ b.double())


@sweep(
    a=tensors(torch.float64, rank=(1, 3), size=(0, 3)),
    b=tensors(torch.float64, rank=(1, 3), size=(0, 3)),
)
def star_for_at_is_silent_on_squares(a, b):
    assume(not refuses(lambda: a @ b))
    fits = not refuses(lambda: torch.broadcast_shapes(a.shape, b.shape))
    assert (not refuses(lambda: a * b)) == fits


@sweep(
    batches=shapes_together(2, rank=2),
    sizes=several(integers(0, 3), min_size=4, max_size=4),
    dtype=among(NUMBERS),
)
def batch_dimensions_broadcast(batches, sizes, dtype):
    a = torch.ones((*batches[0], *sizes[:2]), dtype=dtype)
    b = torch.ones((*batches[1], *sizes[2:]), dtype=dtype)
    if sizes[1] == sizes[2]:
        batch = torch.broadcast_shapes(*batches)
        assert torch.matmul(a, b).shape == (*batch, sizes[0], sizes[3])
    else:
        assert refuses(lambda: torch.matmul(a, b))


@sweep(
    a=tensors(torch.float64, rank=(1, 4), size=(1, 3), layouts=ANY_LAYOUT),
    b=tensors(torch.float64, rank=(1, 4), size=(1, 3), layouts=ANY_LAYOUT),
)
def at_is_matmul(a, b):
    assume(not refuses(lambda: a @ b))
    same(a @ b, torch.matmul(a, b))
    assert kernels_of(lambda: a @ b) == kernels_of(lambda: torch.matmul(a, b))


@sweep(
    a=tensors(torch.float64, rank=(1, 3), size=(0, 3)),
    b=tensors(torch.float64, rank=(1, 3), size=(0, 3)),
)
def mm_takes_matrices_only(a, b):
    fits = a.dim() == b.dim() == 2 and a.shape[1] == b.shape[0]
    assert refuses(lambda: torch.mm(a, b)) == (not fits)


@sweep(
    sizes=several(integers(0, 3), min_size=3, max_size=3),
    a=lambda sizes: tensors(
        (torch.int64, *FLOATS, *COMPLEX), shape=(sizes[0], sizes[1]), layouts=ANY_LAYOUT
    ),
    b=lambda sizes, a: tensors(a.dtype, shape=(sizes[1], sizes[2]), layouts=ANY_LAYOUT),
    result=among(["", "i", "j", "k", "ij", "ik", "kj", "ijk", "kji"]),
)
def einsum_says_what_is_summed(sizes, a, b, result):
    products = a[:, :, None] * b
    for letter, dim in (("k", 2), ("j", 1), ("i", 0)):
        if letter not in result:
            products = products.sum(dim, dtype=a.dtype)
    left = [letter for letter in "ijk" if letter in result]
    expected = products.permute([left.index(letter) for letter in result])
    same(torch.einsum(f"ij,jk->{result}", a, b), expected)


# Arrays


@sweep(x=tensors(WITH_ARRAYS, rank=(1, 4), size=(1, 4)))
def capital_tensor_shares_float32(x):
    made = torch.Tensor(x.numpy())
    assert (made.data_ptr() == x.data_ptr()) == (x.dtype == torch.get_default_dtype())


@sweep(x=tensors(WITH_ARRAYS, layouts=ANY_LAYOUT), other=among(WITH_ARRAYS))
def from_numpy_takes_no_memory(x, other):
    assume(x.numel())
    tensor = torch.from_numpy(x.numpy())
    assert tensor.data_ptr() == x.data_ptr()
    assert (tensor.to(other).data_ptr() == x.data_ptr()) == (other == x.dtype)


@sweep(x=tensors(WITH_ARRAYS, rank=(1, 4), size=(1, 4)))
def tensors_know_no_read_only(x):
    array = x.numpy()
    array.flags.writeable = False
    torch.from_numpy(array).fill_(1)
    assert (array == 1).all()


@sweep(t=tensors(torch.bfloat16, layouts=ANY_LAYOUT))
def bfloat16_has_no_numpy_dtype(t):
    assert error(t.numpy).startswith("TypeError")
    same(torch.from_numpy(t.float().numpy()).bfloat16(), t)


@sweep(
    name=among(
        [
            "bool",
            "int8",
            "int16",
            "int32",
            "int64",
            "uint8",
            "uint16",
            "uint32",
            "uint64",
            "float16",
            "float32",
            "float64",
            "complex64",
            "complex128",
        ]
    ),
    x=tensors(torch.bool),
)
def numpy_dtypes_that_convert(name, x):
    array = x.numpy().astype(name)
    tensor = torch.from_numpy(array)
    assert str(tensor.dtype) == f"torch.{name}"
    assert tensor.numpy().tolist() == array.tolist()


@sweep(x=tensors(ALL, rank=(1, 4), layouts=ANY_LAYOUT), start=integers(0, 3))
def clone_copies_elements_only(x, start):
    x.grad = torch.ones_like(x)
    part = x[start:].clone()
    same(part, x[start:])
    assert part.grad is x.clone().grad is None
    assert part.untyped_storage().nbytes() == part.numel() * part.element_size()


# Joining


@sweep(
    x=tensors(ALL, rank=(0, 3), layouts=ANY_LAYOUT),
    y=lambda x: tensors(ALL, shape=tuple(x.shape), layouts=ANY_LAYOUT),
    dim=lambda x: integers(-x.dim() - 1, x.dim()),
)
def stack_is_unsqueeze_and_cat(x, y, dim):
    parts = [x.unsqueeze(dim), y.unsqueeze(dim)]
    same(torch.stack([x, y], dim), torch.cat(parts, dim))


@sweep(sizes=several(shapes(rank=(0, 2), size=(0, 2)), min_size=1, max_size=4))
def stack_wants_equal_shapes(sizes):
    parts = [torch.ones(size) for size in sizes]
    different = [place for place, size in enumerate(sizes) if size != sizes[0]]
    message = error(lambda: torch.stack(parts))
    if different:
        assert message.endswith(f"{list(sizes[different[0]])} at entry {different[0]}")
    else:
        assert message == ""


@sweep(
    x=tensors(rank=(1, 3), size=(0, 3)),
    y=lambda x: tensors(rank=(x.dim(), x.dim()), size=(0, 3)),
    dim=lambda x: dims(x),
)
def cat_wants_equal_sizes_elsewhere(x, y, dim):
    dim %= x.dim()
    fits = all(x.shape[d] == y.shape[d] for d in range(x.dim()) if d != dim)
    assert refuses(lambda: torch.cat([x, y], dim)) == (not fits)


@sweep(
    lengths=several(integers(1, 3), min_size=1, max_size=3), dtype=among(ALL), dim=integers(-2, 2)
)
def vectors_have_no_second_dimension_to_cat(lengths, dtype, dim):
    vectors = [torch.ones(length, dtype=dtype) for length in lengths]
    assert refuses(lambda: torch.cat(vectors, dim)) == (dim not in (-1, 0))
    assert refuses(lambda: torch.cat([vector.sum() for vector in vectors], dim))


@sweep(
    x=tensors(ALL, rank=(1, 4), size=(0, 3), layouts=ANY_LAYOUT),
    dim=lambda x: dims(x),
    empty=lambda x: tensors(x.dtype, rank=(1, 4), size=(0, 3)),
)
def cat_skips_a_flat_empty_tensor(x, dim, empty):
    assume(not empty.numel() and x.shape != (0,))
    dim %= x.dim()
    sizes = zip(empty.shape, x.shape, strict=False)
    fits = empty.dim() == x.dim() and all(a == b for d, (a, b) in enumerate(sizes) if d != dim)
    if fits or empty.shape == (0,):
        joined = torch.cat([empty, x], dim)
        same(joined.narrow(dim, joined.shape[dim] - x.shape[dim], x.shape[dim]), x)
    else:
        assert refuses(lambda: torch.cat([empty, x], dim))


# Strides


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT))
def the_block_is_the_storage(x):
    places = positions(x).flatten().tolist()
    held = x.untyped_storage().nbytes() // x.element_size()
    assert all(0 <= place < held for place in places)
    assert refuses(lambda: x.to_sparse().untyped_storage())


@sweep(x=tensors(ALL, rank=(2, 4), layouts=ANY_LAYOUT), a=lambda x: dims(x), b=lambda x: dims(x))
def transposing_moves_no_number(x, a, b):
    assert shares(x.transpose(a, b), x)
    same(positions(x.transpose(a, b)), positions(x).transpose(a, b))


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT), times=integers(2, 4))
def expanded_dimensions_have_stride_zero(x, times):
    expanded = x.expand(times, *x.shape)
    assert expanded.stride(0) == 0
    assert all(row.data_ptr() == x.data_ptr() for row in expanded)


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT))
def contiguous_is_unbroken_and_in_order(x):
    places = positions(x).flatten().tolist()
    unbroken = places == list(range(x.storage_offset(), x.storage_offset() + x.numel()))
    assert x.is_contiguous() == unbroken


@sweep(
    shape=shapes(rank=(1, 4)),
    strides=lambda shape: several(integers(0, 5), min_size=len(shape), max_size=len(shape)),
    other=integers(0, 99),
)
def size_one_strides_do_not_count(shape, strides, other):
    changed = [other if n == 1 else stride for n, stride in zip(shape, strides, strict=True)]
    a, b = torch.empty_strided(shape, strides), torch.empty_strided(shape, changed)
    assert a.is_contiguous() == b.is_contiguous()


@sweep(x=tensors(ALL, size=(2, 4), layouts=LAYOUTS))
def clone_copies_contiguous_lays_out(x):
    assert not shares(x.clone(), x)
    same(x.clone(), x)
    order = sorted(range(x.dim()), key=x.stride)
    assert order == sorted(range(x.dim()), key=x.clone().stride)
    assert x.contiguous() is x or not shares(x.contiguous(), x)


# Sums


@sweep(
    x=tensors(ALL, rank=(1, 3), size=(0, 12), values="normal", layouts=ANY_LAYOUT),
    dtype=among(ALL),
)
def dtype_converts_before_adding(x, dtype):
    same(x.sum(dtype=dtype), x.to(dtype).sum(dtype=dtype))


@sweep(
    x=tensors(torch.float32, rank=(1, 3), size=(0, 40), values="normal", layouts=ANY_LAYOUT),
    dim=lambda x: dims(x),
)
def cumsum_adds_in_float64_on_the_cpu(x, dim):
    same(x.cumsum(dim), x.double().cumsum(dim).float())


# Without a loop


@sweep(
    x=tensors((*NUMBERS, torch.bool), rank=(1, 3), size=(1, 4), layouts=ANY_LAYOUT),
    dim=lambda x: dims(x),
    chunk_size=among((None, 4)),
)
def vmap_calls_the_function_once(x, dim, chunk_size):
    calls = []
    torch.vmap(lambda each: calls.append(each) or each + 1, dim, chunk_size=chunk_size)(x)
    assert len(calls) == 1


@sweep(x=tensors((*REALS, torch.bool), rank=(1, 1), layouts=ANY_LAYOUT))
def running_totals_are_one_call(x):
    numbers = x.tolist()
    assert x.cumsum(0).tolist() == list(accumulate(numbers))
    assert x.cumprod(0).tolist() == list(accumulate(numbers, operator.mul))
    assert x.cummax(0).values.tolist() == list(accumulate(numbers, max))


@sweep(
    starts=tensors(torch.bool, rank=(1, 1)),
    x=lambda starts: tensors(torch.int64, shape=tuple(starts.shape)),
)
def a_running_sum_restarts_at_its_groups(starts, x):
    first = torch.where(starts, torch.arange(len(x)), 0).cummax(0).values
    total = x.cumsum(0)
    sums: list[int] = []
    for begins, number in zip(starts.tolist(), x.tolist(), strict=True):
        sums.append(number if begins or not sums else sums[-1] + number)
    assert (total - (total - x)[first]).tolist() == sums


@sweep(
    conditions=tensors(torch.bool, rank=(2, 2)),
    choices=lambda conditions: tensors(torch.int64, shape=tuple(conditions.shape)),
)
def np_select_is_a_chain_of_where(conditions, choices):
    result = torch.full(conditions.shape[1:], -1)
    for condition, choice in zip(conditions.flip(0), choices.flip(0), strict=True):
        result = torch.where(condition, choice, result)
    if len(conditions):
        assert result.tolist() == np.select([*conditions.numpy()], [*choices.numpy()], -1).tolist()


@sweep(x=tensors(torch.float64, rank=(1, 2)), percent=integers(1, 100))
def an_ema_of_a_series_by_doubling(x, percent):
    assume(len(x))
    alpha = percent / 100
    by_loop = [x[0]]
    for value in x[1:]:
        by_loop.append(alpha * value + (1 - alpha) * by_loop[-1])
    y, keep, step = torch.cat([x[:1], alpha * x[1:]]), 1 - alpha, 1
    while step < len(y):
        y = torch.cat([y[:step], y[step:] + keep * y[:-step]])
        keep, step = keep * keep, 2 * step
    assert_close(y, torch.stack(by_loop), equal_nan=True)


@sweep(
    x=tensors(NUMBERS, shape=(3,)),
    index=several(integers(-3, 2), max_size=6),
    values=lambda x, index: tensors(x.dtype, shape=(len(index),)),
)
def repeated_indices_are_added_to_once(x, index, values):
    before, place = x.clone(), torch.tensor(index, dtype=torch.int64)
    x[place] += values
    for i in range(3):
        sums = [before[i] + v for j, v in zip(index, values, strict=True) if j % 3 == i]
        assert any(x[i] == each for each in sums or [before[i]])


@sweep(
    x=tensors(ALL, rank=(2, 2), layouts=ANY_LAYOUT),
    shifts=lambda x: several(integers(-9, 9), min_size=len(x), max_size=len(x)),
)
def each_row_by_its_own_shift(x, shifts):
    length = x.shape[1]
    assume(length)
    index = (torch.arange(length) - torch.tensor(shifts, dtype=torch.int64)[:, None]) % length
    for row, shift, rolled in zip(x, shifts, x.gather(1, index), strict=True):
        same(rolled, row.roll(shift))


@sweep(
    x=tensors(REALS, values="special", layouts=ANY_LAYOUT),
    wanted=lambda x: tensors(x.dtype, values="special", layouts=ANY_LAYOUT),
)
def isin_marks_the_members(x, wanted):
    wanted = wanted.flatten()
    members = [value in wanted.tolist() for value in x.flatten().tolist()]
    assert torch.isin(x, wanted).flatten().tolist() == members


@sweep(x=tensors(ALL, values="special", layouts=ANY_LAYOUT))
def nonzero_lists_where_a_value_is(x):
    for value in x.flatten()[:3].tolist():
        wanted = [
            list(where) for where in product(*map(range, x.shape)) if x[where].item() == value
        ]
        assert (x == value).nonzero().tolist() == wanted


@sweep(x=tensors(FLOATS, rank=(1, 1), size=(1, 6), layouts=ANY_LAYOUT), v=integers(-5, 5))
def argmin_of_the_difference_finds_the_nearest(x, v):
    distances = [abs(value - v) for value in x.tolist()]
    nearest = (x.double() - v).abs().argmin()
    assert distances[nearest] == min(distances)


@sweep(x=tensors(torch.float64, rank=(2, 2), size=(2, 5), values="normal"))
def cov_takes_rows_as_variables(x):
    rows = np.array(x.tolist())
    assert_close(x.cov(), torch.from_numpy(np.cov(rows)))
    assert_close(x.corrcoef(), torch.from_numpy(np.corrcoef(rows)))


# Shapes


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT), shape=lambda x: shapes_like(x))
def view_and_reshape_return_another_shape(x, shape):
    assert x.reshape(shape).shape == shape
    same(x.reshape(shape).flatten(), x.flatten())
    if not refuses(lambda: x.view(shape)):
        same(x.view(shape), x.reshape(shape))


@sweep(
    sizes=several(integers(1, 3), min_size=4, max_size=4),
    x=lambda sizes: tensors(ALL, shape=(sizes[0], sizes[1], sizes[2] * sizes[3])),
)
def attention_heads_by_view_and_transpose(sizes, x):
    n, t, heads, features = sizes
    split = x.contiguous().view(n, t, heads, -1).transpose(1, 2)
    assert split.shape == (n, heads, t, features)
    for head in range(heads):
        same(split[:, head], x[..., head * features : (head + 1) * features])
    same(split.contiguous().transpose(1, 2).flatten(2), x)


@sweep(x=tensors(ALL, size=(0, 3), layouts=ANY_LAYOUT), shape=lambda x: shapes_like(x))
def reshape_copies_only_if_it_must(x, shape):
    assert shares(x.reshape(shape), x) == strides_would_do(x, shape)


@sweep(x=tensors(ALL, size=(0, 3), layouts=ANY_LAYOUT), shape=lambda x: shapes_like(x))
def view_fails_only_where_no_strides_would_do(x, shape):
    assert refuses(lambda: x.view(shape)) == (not strides_would_do(x, shape))


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT), shape=shapes())
def sizes_must_multiply_up(x, shape):
    if math.prod(shape) != x.numel():
        assert refuses(lambda: x.view(shape))
        assert refuses(lambda: x.reshape(shape))


@sweep(
    x=tensors(ALL, layouts=ANY_LAYOUT),
    sizes=several(integers(-1, 4), min_size=2, max_size=4),
)
def one_size_at_most_is_inferred(x, sizes):
    assume(-1 in sizes)
    if sizes.count(-1) > 1 or 0 in sizes:
        assert refuses(lambda: x.view(sizes))
        assert refuses(lambda: x.reshape(sizes))


@sweep(
    x=tensors(ALL, rank=(1, 4), layouts=ANY_LAYOUT),
    dim=lambda x: dims(x),
    sizes=lambda x, dim: shapes_like(torch.empty(x.shape[dim])),
)
def unflatten_never_copies(x, dim, sizes):
    assume(sizes)
    assert shares(x.unflatten(dim, sizes), x)


@sweep(
    x=tensors(ALL, rank=(1, 4), size=(0, 3), layouts=ANY_LAYOUT),
    start=lambda x: integers(0, x.dim() - 1),
    end=lambda x, start: integers(start, x.dim() - 1),
)
def flatten_merges_what_it_is_told(x, start, end):
    flat = x.flatten(start, end)
    assert shares(flat, x) == strides_would_do(x, flat.shape)


@sweep(
    x=tensors((*FLOATS, *HALVES), rank=(1, 4), values="special", layouts=("contiguous", "offset"))
)
def bytes_tell_zero_from_minus_zero(x):
    assert torch.equal(x.view(torch.uint8), x.clone().view(torch.uint8))
    zeros = x[x == 0]
    assert torch.equal(zeros, -zeros)
    if len(zeros):
        assert not torch.equal(zeros.view(torch.uint8), (-zeros).view(torch.uint8))


@sweep(
    xs=tensors(torch.float64, rank=(1, 1), size=(2, 6), values="normal"),
    x=tensors(torch.float64, rank=(1, 1), size=(1, 6), values="normal"),
    slope=integers(-3, 3),
)
def searchsorted_and_lerp_interpolate(xs, x, slope):
    xs = xs.unique()
    assume(len(xs) > 1)
    ys = slope * xs.abs()
    right = torch.searchsorted(xs, x).clamp(1, len(xs) - 1)
    left = right - 1
    found = torch.lerp(ys[left], ys[right], (x - xs[left]) / (xs[right] - xs[left]))
    inside = (x >= xs[0]) & (x <= xs[-1])
    expected = torch.from_numpy(np.interp(x.numpy(), xs.numpy(), ys.numpy()))
    assert_close(found[inside], expected[inside])


@sweep(
    shape=shapes(rank=(4, 4), size=(0, 3)),
    p=integers(1, 3),
)
def patches_of_an_image_by_two_unfolds(shape, p):
    n, c, rows, columns = shape
    assume(n and c and rows and columns)
    images = torch.arange(n * c * rows * columns * p * p).view(n, c, rows * p, columns * p)
    windows = images.unfold(2, p, p).unfold(3, p, p)
    assert shares(windows, images)
    patches = windows.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
    cut = [band.split(p, 3) for band in images.split(p, 2)]
    same(patches, torch.stack([patch.flatten(1) for band in cut for patch in band], 1))


@sweep(x=tensors(FLOATS, rank=(2, 2), layouts=ANY_LAYOUT))
def a_mask_drops_rows(x):
    left = [row for row in x if not any(math.isnan(number) for number in row.tolist())]
    same(x[~x.isnan().any(1)], torch.stack(left) if left else x[:0])


@sweep(
    x=tensors(REALS, rank=(2, 2), layouts=ANY_LAYOUT),
    rows=lambda x: tensors(x.dtype, shape=(2, x.shape[1]), layouts=ANY_LAYOUT),
)
def rows_among_other_rows(x, rows):
    listed = rows.tolist()
    among_them = [any(row == other for other in listed) for row in x.tolist()]
    assert (x[:, None] == rows).all(-1).any(1).tolist() == among_them


@sweep(
    weights=tensors((*FLOATS, *HALVES), rank=(1, 1), size=(1, 8), layouts=ANY_LAYOUT),
    count=integers(1, 8),
    replacement=booleans(),
)
def multinomial_draws_by_weight(weights, count, replacement):
    weights = weights.abs()
    assume(weights.sum() > 0 and (replacement or count <= len(weights)))
    drawn = torch.multinomial(weights, count, replacement=replacement)
    assert drawn.shape == (count,)
    assert replacement or len(drawn.unique()) == count
    if replacement or count <= (weights > 0).sum():
        assert (weights[drawn] > 0).all()


@sweep(
    x=tensors(ALL, rank=(0, 3), size=(1, 3), layouts=ANY_LAYOUT),
    value=lambda x: tensors(x.dtype, shape=tuple(x.shape[-1:]), layouts=ANY_LAYOUT),
)
def in_asks_for_any_equal_element(x, value):
    found = [bool((row == value).any()) for row in x.reshape(-1, *value.shape)]
    assert (value in x) == any(found)


@sweep(
    x=tensors(ALL, rank=(1, 3), size=(0, 9), layouts=ANY_LAYOUT),
    count=integers(1, 9),
    dim=lambda x: dims(x),
)
def chunk_may_return_fewer_pieces(x, count, dim):
    assert len(x.tensor_split(count, dim)) == count
    assert x.shape[dim] == 0 or len(x.chunk(count, dim)) <= count
    same(torch.cat(x.chunk(count, dim), dim), x)


@sweep(
    x=tensors(ALL, rank=(2, 4), size=(1, 3), layouts=ANY_LAYOUT),
    picks=lambda x: several(
        several(integers(0, x.shape[1] - 1), min_size=2, max_size=2),
        min_size=len(x),
        max_size=len(x),
    ),
)
def each_sample_picks_its_own_rows(x, picks):
    index = torch.tensor(picks)
    picked = x[torch.arange(len(x))[:, None], index]
    assert picked.shape == (len(x), 2, *x.shape[2:])
    for sample, rows, found in zip(x, picks, picked, strict=True):
        same(found, torch.stack([sample[row] for row in rows]))
    wide = index.view(len(x), 2, *[1] * (x.dim() - 2))
    same(x.gather(1, wide.expand(-1, -1, *x.shape[2:])), picked)
    same(x.take_along_dim(wide, 1), picked)


@sweep(
    x=tensors(ALL, rank=(1, 4), size=(1, 3), layouts=ANY_LAYOUT),
    columns=integers(1, 4),
    numbers=several(several(integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=5),
)
def gather_nd_is_an_index_by_columns(x, columns, numbers):
    assume(columns <= x.dim())
    sizes = torch.tensor(x.shape[:columns])
    indices = torch.tensor(numbers)[:, :columns] % sizes
    same(x[indices.unbind(-1)], torch.stack([x[tuple(row)] for row in indices.tolist()]))


@sweep(x=tensors(REALS, rank=(2, 2), size=(1, 4), values="special", layouts=ANY_LAYOUT))
def row_and_column_of_the_largest(x):
    assume(not x.isnan().any())
    row, column = torch.unravel_index(x.argmax(), x.shape)
    assert x[row, column] == x.max()
    assert [row.item(), column.item()] == (x == x.max()).nonzero()[0].tolist()


@sweep(x=tensors((*INTEGERS, *FLOATS), rank=(2, 2), size=(1, 40), layouts=ANY_LAYOUT))
def sort_the_rows_by_several_columns(x):
    assume(not x.isnan().any())
    order = torch.arange(len(x))
    for column in reversed(range(x.shape[1])):
        order = order[x[order, column].argsort(stable=True)]
    assert x[order].tolist() == sorted(x.tolist())
    assert order.tolist() == np.lexsort(x.numpy().T[::-1]).tolist()


@sweep(
    values=tensors((*FLOATS, *HALVES), rank=(1, 1), size=(1, 40), requires_grad=True),
    size=integers(1, 4),
)
def overwritten_values_get_gradients_too(values, size):
    index = torch.arange(len(values)) % size
    by_scatter = torch.zeros(size, dtype=values.dtype).scatter(0, index, values)
    by_assignment = torch.zeros(size, dtype=values.dtype)
    by_assignment[index] = values
    for written in by_scatter, by_assignment:
        assert (torch.autograd.grad(written.sum(), values)[0] == 1).all()


@sweep(
    x=tensors(FLOATS, rank=(2, 3), size=(1, 5), values="normal"),
    kind=among(["any", "equal", "integers", "zeros"]),
)
def equal_singular_values_spoil_the_gradient(x, kind):
    u, s, vh = torch.linalg.svd(x, full_matrices=False)
    chosen = {"any": s, "equal": torch.ones_like(s), "integers": s.round(), "zeros": 0 * s}[kind]
    matrix = ((u * chosen[..., None, :]) @ vh).requires_grad_()
    (gradient,) = torch.autograd.grad(torch.linalg.svdvals(matrix).sum(), matrix)
    assert gradient.isfinite().all()
