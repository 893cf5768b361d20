"""Sweeps of the part on devices."""

import torch
from torch import nn
from torch.utils.benchmark import Timer
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
from torch.utils.data import DistributedSampler

from claimbook.sweeps.search import error, same, sweep
from claimbook.sweeps.strategies import (
    ALL,
    FLOATS,
    HALVES,
    LAYOUTS,
    among,
    booleans,
    computed,
    integers,
    programs,
    shapes,
    shapes_together,
    tensors,
)

ANY_LAYOUT = (*LAYOUTS, "expanded")
STEPS = ("add", "mul", "sin", "tanh", "sigmoid", "relu")


@sweep(
    cases=40,
    x=tensors(torch.float64, size=(1, 3), values="normal", requires_grad=True),
    program=programs(STEPS),
    reentrant=booleans,
)
def checkpointed_gradients_are_equal(x, program, reentrant):
    plain = torch.autograd.grad(computed(program, x * 1)[-1].sum(), x)[0]
    last = checkpoint(lambda each: computed(program, each)[-1], x * 1, use_reentrant=reentrant)
    last.sum().backward()
    same(x.grad, plain)


@sweep(cases=100, layers=integers(1, 6), segments=integers(1, 6))
def last_segment_is_not_checkpointed(layers, segments):
    ran = [0] * layers

    class Counted(nn.Linear):
        def forward(self, x):
            ran[self.place] += 1
            return super().forward(x)

    model = nn.Sequential(*(Counted(2, 2) for _ in range(layers)))
    for place, layer in enumerate(model):
        layer.place = place
    segments = min(segments, layers)
    x = torch.ones(1, 2, requires_grad=True)
    checkpoint_sequential(model, segments, x, use_reentrant=False).sum().backward()
    first_of_last = layers // segments * (segments - 1)
    assert ran == [2 if place < first_of_last else 1 for place in range(layers)]


@sweep(cases=100, shape=shapes(size=(0, 3)), p=among([0.0, 0.3, 0.5, 1.0]), reentrant=booleans)
def second_run_gets_the_same_mask(shape, p, reentrant):
    x = torch.ones(shape, requires_grad=True)
    y = checkpoint(lambda each: nn.functional.dropout(each, p), x * 1, use_reentrant=reentrant)
    y.sum().backward()
    same(x.grad, y.detach())


@sweep(shape=shapes(), dtype=among(ALL))
def meta_tensors_have_no_numbers(shape, dtype):
    x = torch.empty(shape, dtype=dtype, device="meta")
    assert (x.shape, x.dtype) == (shape, dtype)
    assert x.untyped_storage().data_ptr() == 0
    if x.numel():
        assert error(x.tolist) != ""


@sweep(count=integers(1, 20), ranks=integers(1, 5), shuffle=booleans, epochs=integers(1, 3))
def distributed_sampler_repeats_samples(count, ranks, shuffle, epochs):
    make = [DistributedSampler(range(count), ranks, r, shuffle=shuffle) for r in range(ranks)]
    drawn = [list(sampler) for sampler in make]
    assert len({len(each) for each in drawn}) == 1
    assert {place for each in drawn for place in each} == set(range(count))


@sweep(cases=100, count=integers(1, 20), ranks=integers(1, 5), seed=integers(0, 99))
def without_set_epoch_every_epoch_is_the_same(count, ranks, seed):
    sampler = DistributedSampler(range(count), ranks, 0, seed=seed)
    assert list(sampler) == list(sampler)


@sweep(cases=100, count=integers(1, 20), ranks=integers(1, 5), seeds=among([(0, 1), (7, 8)]))
def a_distributed_sampler_needs_one_seed(count, ranks, seeds):
    drawn = []
    for seed in seeds:
        torch.manual_seed(seed)
        drawn.append(list(DistributedSampler(range(count), ranks, 0, seed=5)))
    assert drawn[0] == drawn[1]


@sweep(
    cases=100,
    x=tensors(ALL, values="normal", layouts=ANY_LAYOUT),
    dtype=among([torch.qint8, torch.quint8]),
)
def quantize_per_tensor_requires_float32(x, dtype):
    fails = error(lambda: torch.quantize_per_tensor(x, 0.1, 3, dtype)) != ""
    assert fails == (x.dtype != torch.float32)


@sweep(
    cases=100,
    x=tensors(torch.float32, rank=(1, 3), size=(1, 4), values="normal", layouts=ANY_LAYOUT),
    batches=integers(1, 3),
)
def an_observer_records_minimum_and_maximum(x, batches):
    observer = torch.ao.quantization.MinMaxObserver()
    for factor in range(1, batches + 1):
        observer(x * factor)
    every = torch.stack([x * factor for factor in range(1, batches + 1)])
    assert observer.min_val == every.min()
    assert observer.max_val == every.max()


@sweep(
    cases=100,
    x=tensors(
        (torch.float32, *HALVES), rank=(2, 2), size=(1, 4), values="normal", requires_grad=True
    ),
    dtype=among(HALVES),
)
def backward_follows_the_forward_dtypes(x, dtype):
    model = nn.Linear(x.shape[1], 2, dtype=x.dtype)
    with torch.autocast("cpu", dtype):
        result = model(x)
        loss = nn.functional.mse_loss(result, torch.zeros_like(result))
    assert (result.dtype, loss.dtype) == (dtype, torch.float32)
    result.retain_grad()
    loss.retain_grad()
    loss.backward()
    for each in (x, result, loss, *model.parameters()):
        assert each.grad.dtype == each.dtype


@sweep(
    cases=100,
    x=tensors((*FLOATS, *HALVES), shape=(2, 2)),
    y=tensors((*FLOATS, *HALVES), shape=(2, 2)),
)
def a_region_without_autocast_converts_nothing_back(x, y):
    with torch.autocast("cpu", torch.bfloat16), torch.autocast("cpu", enabled=False):
        fails = error(lambda: x @ y).startswith("RuntimeError: expected m1 and m2")
        assert fails == (x.dtype != y.dtype)
        assert (x @ x).dtype == x.dtype


@sweep(cases=100, run=integers(1, 40), limit=integers(1, 40))
def slow_code_is_measured_once(run, limit):
    clock = [0]
    timer = Timer(f"clock[0] += {run}", timer=lambda: clock[0], globals={"clock": clock})
    times = timer.blocked_autorange(min_run_time=limit).times
    assert (len(times) == 1) == (run >= limit)


@sweep(cases=40, dtype=among(ALL), held=among(ALL))
def a_model_is_converted_to_floating_dtypes(dtype, held):
    model = nn.Module()
    model.held = nn.Buffer(torch.ones(2, dtype=held))
    is_taken = dtype.is_floating_point or dtype.is_complex
    assert (error(lambda: model.to(dtype)) == "") == is_taken
    converts = is_taken and (held.is_floating_point or held.is_complex)
    assert model.held.dtype == (dtype if converts else held)


@sweep(shapes=shapes_together(2), one=among(ALL), other=among(ALL))
def allclose_broadcasts_where_assert_close_refuses(shapes, one, other):
    a, b = torch.ones(shapes[0], dtype=one), torch.ones(shapes[1], dtype=other)
    refused = error(lambda: torch.allclose(a, b)) != ""
    assert refused == (one != other)
    if not refused:
        assert torch.allclose(a, b)
        nothing = torch.full(shapes[0], torch.nan)
        assert torch.allclose(nothing, nothing) == (nothing.numel() == 0)
        assert torch.allclose(nothing, nothing, equal_nan=True)
