"""Sweeps of first aid."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from claimbook.sweeps.search import error, same, sweep
from claimbook.sweeps.strategies import (
    ALL,
    FLOATS,
    HALVES,
    INTEGERS,
    LAYOUTS,
    among,
    booleans,
    dims,
    integers,
    several,
    shapes,
    tensors,
)

ANY_LAYOUT = (*LAYOUTS, "expanded")


@sweep(image=tensors(ALL, rank=(2, 2), size=(1, 4), layouts=ANY_LAYOUT))
def one_grey_image_needs_two_dimensions_more(image):
    assert image[None, None].shape == (1, 1, *image.shape)
    same(image[None, None][0, 0], image)


@sweep(image=tensors(FLOATS, rank=(3, 5), size=(1, 3)))
def resizing_needs_batch_and_channel(image):
    assert functional.interpolate(image, scale_factor=2).shape == (
        *image.shape[:2],
        *(2 * size for size in image.shape[2:]),
    )


@sweep(height=integers(0, 3), widths=among([(1, 2), (3, 1), (2, 5)]), dtype=among(ALL))
def cat_along_the_other_dimension(height, widths, dtype):
    parts = [torch.ones((height, width), dtype=dtype) for width in widths]
    assert torch.cat(parts, dim=1).shape == (height, sum(widths))
    assert error(lambda: torch.cat(parts, dim=0)).startswith("RuntimeError")


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT), y=lambda x: tensors(x.dtype, shape=tuple(x.shape)))
def a_condition_on_several_elements(x, y):
    fails = error(lambda: bool(x == y)).startswith("RuntimeError: Boolean value of Tensor")
    assert fails == (x.numel() != 1)
    assert bool((x == y).all()) == (x.tolist() == y.tolist())


@sweep(x=tensors(ALL, rank=(1, 4), size=(0, 4), layouts=ANY_LAYOUT))
def unpacking_a_tensor_yields_its_rows(x):
    def unpack():
        first, second = x
        return first, second

    assert error(unpack).startswith("ValueError") == (len(x) != 2)
    if len(x) == 2:
        for row, part in enumerate(unpack()):
            same(part, x[row])


@sweep(
    logits=tensors(torch.float64, rank=(3, 4), size=(1, 4), values="normal"), label=integers(0, 9)
)
def classes_go_to_dimension_one(logits, label):
    target = torch.full(logits.shape[:-1], label % logits.shape[-1])
    moved = functional.cross_entropy(logits.movedim(-1, 1), target)
    flat = functional.cross_entropy(logits.flatten(0, -2), target.flatten())
    torch.testing.assert_close(moved, flat)


@sweep(dtype=among(HALVES), x=tensors((*FLOATS, *HALVES), shape=(2, 3)))
def a_half_model_wants_half_input(dtype, x):
    model = nn.Linear(3, 2).to(dtype)
    fails = error(lambda: model(x)).startswith("RuntimeError")
    assert fails == (x.dtype != dtype)
    with torch.autocast("cpu", dtype):
        x = x if x.dtype != torch.float64 else x.float()  # the one that autocast leaves
        assert model(x).dtype == dtype


@sweep(
    saved=several(integers(1, 3), min_size=1, max_size=3),
    own=several(integers(1, 3), min_size=1, max_size=3),
)
def build_the_optimiser_as_it_was_saved(saved, own):
    was, now = (
        torch.optim.SGD(
            [{"params": [nn.Parameter() for _ in range(count)]} for count in counts], lr=lr
        )
        for counts, lr in ((saved, 0.5), (own, 0.25))
    )
    fails = error(lambda: now.load_state_dict(was.state_dict())).startswith("ValueError")
    assert fails == (saved != own)
    assert now.param_groups[0]["lr"] == (0.25 if fails else 0.5)


@sweep(width=integers(1, 4), bias=booleans)
def a_replica_lists_no_parameters(width, bias):
    layer = nn.Linear(width, 2, bias=bias)
    assert len([*layer.parameters()]) == 1 + bias
    replica = layer._replicate_for_data_parallel()  # noqa: SLF001
    assert [*replica.parameters()] == []


@sweep(
    x=tensors(ALL, rank=(1, 3), size=(1, 3), layouts=ANY_LAYOUT),
    dtype=among((*INTEGERS, *FLOATS)),
    shape=lambda x: shapes((x.ndim, x.ndim), (0, 4)),
    dim=lambda x: dims(x),
)
def gather_wants_a_long_index_that_fits(x, dtype, shape, dim):
    index = torch.zeros(shape, dtype=dtype)
    others = [d for d in range(x.ndim) if d != dim % x.ndim]
    fits = all(shape[d] <= x.shape[d] for d in others)
    whole = dtype in (torch.int64, torch.int32)
    unchecked = index.numel() == 0
    assert (error(lambda: x.gather(dim, index)) == "") == (unchecked or (fits and whole))


@sweep(
    x=tensors(ALL, rank=(1, 3), size=(1, 3)),
    dtype=among((*INTEGERS, *FLOATS)),
    shape=lambda x: shapes((x.ndim, x.ndim), (1, 4)),
    source=lambda x: shapes((x.ndim, x.ndim), (1, 4)),
    dim=lambda x: dims(x),
)
def scatter_wants_an_index_no_larger_than_src(x, dtype, shape, source, dim):
    index, src = torch.zeros(shape, dtype=dtype), torch.ones(source, dtype=x.dtype)
    others = [d for d in range(x.ndim) if d != dim % x.ndim]
    fits = all(shape[d] <= x.shape[d] for d in others)
    fits = fits and all(a <= b for a, b in zip(shape, source, strict=True))
    whole = dtype in (torch.int64, torch.int32)
    assert (error(lambda: x.scatter(dim, index, src)) == "") == (fits and whole)


@sweep(x=tensors(ALL, rank=(0, 2), size=(0, 3), layouts=ANY_LAYOUT), dtype=among(ALL))
def a_dtype_is_no_string(x, dtype):
    name = str(dtype).removeprefix("torch.")
    assert error(lambda: x.to("cpu", name)).startswith("TypeError: to() received an invalid")
    assert error(lambda: x.to(name)).startswith("RuntimeError")
    assert x.to("cpu", dtype).dtype == x.to(dtype).dtype == dtype


@sweep(
    batch=tensors(torch.float32, rank=(3, 3), size=(1, 3)),
    place=among([(0, 0, 0), (-1, -1, -1), (0, -1, 0)]),
    value=among([float("nan"), 1.0]),
)
def skip_the_matrices_that_are_not_finite(batch, place, value):
    batch = batch.nan_to_num(0, 0, 0).clamp(-10, 10).contiguous().clone()
    batch[place] = value
    finite = batch.isfinite().all(dim=(1, 2))
    failed = error(lambda: torch.linalg.svd(batch))
    assert ("non-finite" in failed) == (not finite.all())
    assert error(lambda: torch.linalg.svd(batch[finite])) == ""


@sweep(lengths=several(integers(0, 4), min_size=1, max_size=4))
def rows_of_different_lengths_are_padded_first(lengths):
    rows = [[1] * length for length in lengths]
    failed = error(lambda: np.array(rows))
    assert ("inhomogeneous shape after 1 dimensions" in failed) == (len({*lengths}) > 1)
    parts = [torch.tensor(row) for row in rows]
    padded = nn.utils.rnn.pad_sequence(parts, batch_first=True)
    assert padded.shape == (len(rows), max(lengths))


@sweep(x=tensors(FLOATS, rank=(2, 6), size=(2, 3)), count=integers(1, 3))
def video_is_padded_with_two_zeros_more(x, count):
    failed = error(lambda: functional.pad(x, (1, 1) * count, mode="reflect"))
    assert bool(failed) == (x.ndim - count not in (1, 2))
    if x.ndim == 5:
        padded = functional.pad(x, (1, 1, 1, 1, 0, 0), mode="reflect")
        assert padded.shape == (*x.shape[:3], x.shape[3] + 2, x.shape[4] + 2)


@sweep(cached=integers(1, 4), new=integers(1, 4), batch=integers(1, 2))
def a_mask_covers_the_cached_keys(cached, new, batch):
    queries, keys = torch.ones(batch, 1, new, 2), torch.ones(batch, 1, cached + new, 2)

    def attend(columns):
        mask = torch.ones(new, columns).bool()
        return functional.scaled_dot_product_attention(queries, keys, keys, mask)

    assert attend(cached + new).shape == queries.shape
    assert bool(error(lambda: attend(new))) == (new > 1)  # a single column is broadcast
