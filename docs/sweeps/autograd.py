"""Sweeps of the part on autograd."""

import math
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from itertools import pairwise

import torch
from torch import nn
from torch.autograd import forward_ad, grad
from torch.autograd.functional import jacobian
from torch.autograd.graph import saved_tensors_hooks
from torch.nn import functional
from torch.testing import assert_close
from torch.utils.checkpoint import checkpoint
from torch.utils.flop_counter import FlopCounterMode

from claimbook.sweeps.search import error, same, sweep
from claimbook.sweeps.strategies import (
    ALL,
    COMPLEX,
    FLOATS,
    HALVES,
    LAYOUTS,
    NUMBERS,
    OPTIMISERS,
    among,
    assume,
    booleans,
    computed,
    dims,
    integers,
    programs,
    several,
    shapes,
    shapes_together,
    tensors,
)

ANY_LAYOUT = (*LAYOUTS, "expanded")
DIFFERENTIABLE = (*FLOATS, *HALVES, *COMPLEX)
INFERENCE = "RuntimeError: Inference tensors do not track version counter."
NO_GRAPH = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"

UNARY = ("sin", "tanh", "sigmoid", "square", "neg", "abs", "relu")
SMOOTH = ("add", "sub", "mul", "sin", "tanh", "sigmoid", "square", "neg")
ANY_STEP = (*SMOOTH, "maximum", "abs", "relu", "detach", "round")
SMALL = shapes(rank=(0, 2), size=(0, 3))
FILLED = shapes(rank=(0, 2), size=(1, 3))
WEIGHTS = tensors(torch.float64, values="normal", requires_grad=True)
TRAINABLE = tensors(torch.float64, size=(1, 3), values="normal", requires_grad=True)
LAYERS = (
    partial(nn.Linear, in_features=3, out_features=3),
    partial(nn.LayerNorm, normalized_shape=3),
    partial(nn.BatchNorm1d, num_features=3),
    partial(nn.GRUCell, input_size=3, hidden_size=3),
    nn.PReLU,
)
BILINEAR = partial(nn.Bilinear, in1_features=3, in2_features=3, out_features=2)
close = partial(assert_close, equal_nan=True)


def weights(shape):
    """Draw a leaf that requires grad."""
    return tensors(torch.float64, shape=shape, values="normal", requires_grad=True)


def nodes(result):
    """Return the nodes of a result's graph, each once."""
    return nodes_behind(result.grad_fn)


def nodes_behind(node):
    """Return a node and all to which it leads, each once."""
    found, left = [], [node]
    while left:
        node = left.pop()
        if node is not None and node not in found:
            found.append(node)
            left += [following for following, _ in node.next_functions]
    return found


def reached(result):
    """Return the leaves in which a result's graph ends."""
    return [node.variable for node in nodes(result) if hasattr(node, "variable")]


def saved(function):
    """Return the tensors that a call saves for the backward pass."""
    found = []
    with saved_tensors_hooks(lambda tensor: found.append(tensor) or tensor, lambda tensor: tensor):
        function()
    return found


def version(tensor):
    """Return how many in-place writes a tensor has counted."""
    return tensor._version  # noqa: SLF001


def base_of(view):
    """Return the tensor that owns a view's memory."""
    return view._base  # noqa: SLF001


def parameters_of(module):
    """Return copies of a module's parameters."""
    return [parameter.detach().clone() for parameter in module.parameters()]


# What backward does


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT), function=among(("clone", "sum", "square", "argmax")))
def without_the_flag_the_cell_stops(x, function):
    assume(not error(lambda: getattr(x, function)()))
    assert error(lambda: getattr(x, function)().backward()) == NO_GRAPH


@sweep(
    cases=100,
    shapes=shapes_together(2, rank=3, size=3),
    w=lambda shapes: tensors(DIFFERENTIABLE, shape=shapes[0], requires_grad=True),
    x=lambda shapes: tensors(ALL, shape=shapes[1], layouts=ANY_LAYOUT),
)
def untracked_tensor_in_a_tracked_product(shapes, w, x):
    y = w * x
    assert y.grad_fn.name() == "MulBackward0"
    y.backward(torch.ones_like(y))
    assert w.grad.shape == w.shape
    assert x.grad is None


@sweep(cases=100, shape=SMALL, a=weights, b=weights, program=programs(ANY_STEP))
def backward_serves_what_recorded_operations_reach(shape, a, b, program):
    loss = computed(program, a, b)[-1].double().sum()
    connected = reached(loss)
    if connected:
        loss.backward()
    for weight in (a, b):
        assert (weight.grad is not None) == any(weight is leaf for leaf in connected)


@sweep(cases=100, shape=FILLED, a=weights, b=weights, c=weights, program=programs(SMOOTH))
def one_sweep_serves_every_leaf(shape, a, b, c, program):
    def f(*inputs):
        return sum(result.sum() for result in computed(program, *inputs))

    f(a, b, c).backward()
    values = (a.detach(), b.detach(), c.detach())
    one, two, three = torch.func.jacfwd(f, argnums=(0, 1, 2))(*values)
    close((a.grad, b.grad, c.grad), (one, two, three))


@sweep(
    cases=100,
    shape=SMALL,
    w=weights,
    program=programs(SMOOTH),
    before=among((None, 3.0)),
    start=among((1.0, 5.0)),
)
def grad_is_the_derivative_if_it_was_empty(shape, w, program, before, start):
    def loss(weight):
        return computed(program, weight)[-1].sum()

    w.grad = None if before is None else torch.full(shape, before, dtype=w.dtype)
    loss(w).backward(torch.tensor(start, dtype=w.dtype))
    derivative = torch.func.jacfwd(loss)(w.detach())
    close(w.grad, start * derivative + (before or 0.0))


@sweep(
    cases=100,
    shape=SMALL,
    w=weights,
    power=integers(1, 3),
    decay=among((0.0, 0.1)),
    amsgrad=booleans(),
)
def adam_follows_grad_not_the_loss(shape, w, power, decay, amsgrad):
    other = w.detach().clone().requires_grad_()
    (w**power).sum().backward()
    other.grad = w.grad.clone()
    for weight in (w, other):
        torch.optim.Adam([weight], weight_decay=decay, amsgrad=amsgrad).step()
    same(w, other)


@sweep(
    cases=100, shape=SMALL, a=weights, b=weights, program=programs(SMOOTH), chosen=integers(0, 7)
)
def inputs_says_who_receives(shape, a, b, program, chosen):
    results = computed(program, a, b)
    receiver = results[chosen % len(results)]
    results[-1].sum().backward(inputs=[receiver])
    leaves = [leaf for leaf in results if leaf.is_leaf and leaf is not receiver]
    assert all(leaf.grad is None for leaf in leaves)


@sweep(
    cases=100,
    w=tensors(DIFFERENTIABLE, rank=(1, 4), size=(1, 4), requires_grad=True),
    row=integers(0, 3),
)
def index_the_grad_not_the_tensor(w, row):
    row %= len(w)
    (3 * w[row]).sum().abs().backward()
    assert w[row].grad is None
    assert w.grad[row].count_nonzero() == w.grad.count_nonzero()


@sweep(
    cases=100,
    x=tensors(DIFFERENTIABLE),
    y=lambda x: tensors(x.dtype, shape=tuple(x.shape)),
    tracked=among(((True, False), (False, True), (True, True))),
    function=among(("add", "sub", "mul", "div", "pow", "dot")),
)
def unflagged_tensor_has_no_place_in_the_graph(x, y, tracked, function):
    x.requires_grad_(tracked[0])
    y.requires_grad_(tracked[1])
    assume(not error(lambda: getattr(torch, function)(x, y)))
    result = getattr(torch, function)(x, y)
    places = [node for node, _ in result.grad_fn.next_functions]
    assert [node is not None for node in places] == list(tracked)


@sweep(cases=100, shape=SMALL, a=weights, program=programs((*ANY_STEP, "isnan", "argmax")))
def element_zero_does_not_require_grad(shape, a, program):
    assume(not error(lambda: computed(program, a)))
    loss = computed(program, a)[-1].sum()
    assert (error(loss.backward) == NO_GRAPH) == (loss.grad_fn is None)


@sweep(loss=tensors(ALL, rank=(0, 0), values="special"))
def a_number_has_no_backward(loss):
    assert isinstance(loss.item(), bool | int | float | complex)
    assert error(lambda: loss.item().backward()).startswith("AttributeError")


@sweep(
    cases=100,
    shape=SMALL,
    a=weights,
    program=programs(ANY_STEP),
    cut=among(("detach", "signbit", "no_grad", "number")),
)
def marking_the_loss_trains_nothing(shape, a, program, cut):
    with torch.set_grad_enabled(cut != "no_grad"):
        loss = computed(program, a)[-1].sum()
    if cut == "number":
        loss = torch.tensor(loss.item())
    elif cut != "no_grad":
        loss = loss.detach() if cut == "detach" else loss.signbit().double()
    loss.requires_grad = True
    loss.backward()
    assert a.grad is None


@sweep(
    cases=100,
    x=tensors(torch.float64, rank=(0, 3), values="normal"),
    chain=several(among(UNARY), min_size=1, max_size=5),
)
def walk_goes_from_loss_to_leaf(x, chain):
    arrived = torch.ones_like(x)
    results = [x.requires_grad_()]
    for function in chain:
        results.append(getattr(torch, function)(results[-1]))
    for function, argument, result in reversed([*zip(chain, results, results[1:], strict=False)]):
        value = argument.detach()
        _, derivative = torch.func.jvp(getattr(torch, function), (value,), (torch.ones_like(x),))
        close(result.grad_fn(arrived), arrived * derivative)
        arrived = arrived * derivative
    close(grad(results[-1].sum(), x)[0], arrived)


# Detaching


@sweep(cases=100, x=tensors(ALL, layouts=ANY_LAYOUT), function=among(("clone", "view_as", "neg")))
def detach_shares_values_without_history(x, function):
    if x.dtype in DIFFERENTIABLE:
        x.requires_grad_()
    assume(not (x.dtype == torch.bool and function == "neg"))
    y = x.view_as(x) if function == "view_as" else getattr(x, function)()
    alone = y.detach()
    assert alone is not y
    assert alone.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()
    assert (alone.shape, alone.stride()) == (y.shape, y.stride())
    assert (alone.requires_grad, alone.grad_fn) == (False, None)


@sweep(cases=100, shape=SMALL, a=weights, program=programs(SMOOTH))
def detach_cuts_its_own_path_only(shape, a, program):
    y = torch.tanh(a)
    result = computed(program, y, y.detach())[-1].sum()
    constant = torch.tensor(y.tolist(), dtype=y.dtype).view(shape)
    expected = computed(program, y, constant)[-1].sum()
    assume(expected.requires_grad)
    same(grad(result, a, retain_graph=True), grad(expected, a))


@sweep(cases=100, shape=SMALL, a=weights, program=programs((*ANY_STEP, "t", "ravel")))
def block_or_tensor(shape, a, program):
    with torch.no_grad():
        loss = computed(program, a)[-1].sum()
    assert error(loss.backward) == NO_GRAPH
    assert a.grad is None


@sweep(cases=100, encoder=among(LAYERS), optimiser=among(OPTIMISERS), steps=integers(1, 3))
def detached_encoder_is_not_trained(encoder, optimiser, steps):
    layer, head = encoder(), nn.Linear(3, 1)
    before, head_before = parameters_of(layer), parameters_of(head)
    optimizer = optimiser([*layer.parameters(), *head.parameters()], lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        head(layer(torch.randn(4, 3)).detach()).exp().sum().backward()
        optimizer.step()
    same(parameters_of(layer), before)
    assert not torch.equal(head.weight, head_before[0])


@sweep(cases=100, x=WEIGHTS, chain=several(among(UNARY), min_size=1, max_size=5))
def block_saves_what_detach_throws_away(x, chain):
    def encoder():
        features = x
        for function in chain:
            features = getattr(torch, function)(features)
        return features.detach()

    assert not saved(torch.no_grad()(encoder))
    saves = set(chain) != {"neg"}
    assert bool(saved(encoder)) == saves


@sweep(cases=100, x=WEIGHTS, first=among((*UNARY, "clone")), then=among(UNARY))
def detach_underscore_repairs_nothing(x, first, then):
    y = getattr(torch, first)(x)
    y.detach_()
    assert error(lambda: getattr(torch, then)(y).sum().backward()) == NO_GRAPH


# Gradients add up


@sweep(
    cases=100,
    w=tensors(DIFFERENTIABLE, layouts=ANY_LAYOUT, requires_grad=True),
    before=lambda w: tensors(w.dtype, shape=tuple(w.shape)),
    gradient=lambda w: tensors(w.dtype, shape=tuple(w.shape)),
    create_graph=booleans(),
)
def backward_adds_into_grad(w, before, gradient, create_graph):
    w.grad = before.clone()
    w.clone().backward(gradient, create_graph=create_graph)
    same(w.grad.detach(), before + gradient)


@sweep(cases=100, shape=SMALL, a=weights, program=programs(SMOOTH))
def uses_in_one_graph_add_up(shape, a, program):
    uses = [a.detach().clone().requires_grad_() for _ in range(3)]
    computed(program, a, a, a)[-1].sum().backward()
    sum(result.sum() for result in computed(program, *uses)[-1:]).backward()
    shares = [use.grad for use in uses if use.grad is not None]
    close(a.grad, sum(shares))


@sweep(
    cases=100,
    w=WEIGHTS,
    program=programs(SMOOTH),
    retain_graph=booleans(),
    create_graph=booleans(),
    inputs=booleans(),
)
def backward_has_no_overwriting_mode(w, program, retain_graph, create_graph, inputs):
    loss = computed(program, w)[-1].sum()
    (alone,) = grad(loss, w, retain_graph=True)
    assert w.grad is None
    w.grad = torch.ones_like(w)
    received = [w] if inputs else None
    loss.backward(retain_graph=retain_graph, create_graph=create_graph, inputs=received)
    same(w.grad.detach(), 1 + alone)


@sweep(
    cases=100,
    shape=SMALL,
    a=weights,
    b=weights,
    program=programs((*SMOOTH, "maximum", "round")),
    flags=among(((True, True), (True, False), (False, True))),
)
def leaves_that_require_grad_receive(shape, a, b, program, flags):
    a.requires_grad_(flags[0])
    b.requires_grad_(flags[1])
    results = computed(program, nn.Parameter(a) if flags[0] else a, b)
    ends = reached(results[-1].sum())
    assume(ends)
    results[-1].sum().backward()
    for leaf, flag in zip(results[:2], flags, strict=True):
        assert (leaf.grad is not None) == (flag and any(leaf is end for end in ends))


@sweep(
    cases=100,
    w=TRAINABLE,
    optimiser=among(OPTIMISERS),
    decay=among((0.0, 0.1)),
    steps=integers(0, 2),
)
def none_is_skipped_zero_is_not(w, optimiser, decay, steps):
    assume(optimiser is not torch.optim.Rprop or not decay)
    options = {"weight_decay": decay} if decay else {}
    optimizer = optimiser([w], **options)
    for _ in range(steps):
        w.grad = torch.ones_like(w)
        optimizer.step()
    optimizer.zero_grad()
    before = w.detach().clone()
    optimizer.step()
    assert w.grad is None
    same(w.detach(), before)


@sweep(cases=100, w=tensors(DIFFERENTIABLE, requires_grad=True), trained=booleans())
def zero_underscore_needs_a_grad(w, trained):
    if trained:
        (w * 2).sum().abs().backward()
        torch.optim.SGD([w]).zero_grad()
    assert w.grad is None
    assert error(lambda: w.grad.zero_()).startswith("AttributeError")


def trajectory(optimiser, w, clear):
    """Return a weight after each of four updates towards 4, 8, 12 and 16."""
    w = w.detach().clone().requires_grad_()
    optimizer = optimiser([w], lr=0.1)
    seen = []
    for target in (4.0, 8.0, 12.0, 16.0):
        if clear == "first":
            optimizer.zero_grad()
        loss = ((w - target) ** 2).sum()
        if clear == "assign":
            (w.grad,) = grad(loss, w)
        else:
            loss.backward()
        if clear == "before the step":
            optimizer.zero_grad()
        optimizer.step()
        if clear == "last":
            optimizer.zero_grad()
        seen.append(w.detach().clone())
    return seen


@sweep(cases=100, w=TRAINABLE, optimiser=among(OPTIMISERS))
def overwriting_grad_needs_no_clearing(w, optimiser):
    pairs = zip(trajectory(optimiser, w, "assign"), trajectory(optimiser, w, "first"), strict=True)
    assert all(torch.equal(assigned, cleared) for assigned, cleared in pairs)


@sweep(cases=100, w=TRAINABLE, optimiser=among(OPTIMISERS))
def clear_between_step_and_backward(w, optimiser):
    same(trajectory(optimiser, w, "last"), trajectory(optimiser, w, "first"))
    same(trajectory(optimiser, w, "before the step"), [w.detach()] * 4)


@sweep(cases=100, w=WEIGHTS, slopes=several(integers(-4, 4), min_size=1, max_size=5))
def forgotten_clearing_sums_everything(w, slopes):
    for number, slope in enumerate(slopes, start=1):
        (slope * w).sum().backward()
        same(w.grad, torch.full_like(w, sum(slopes[:number])).detach())


@sweep(
    cases=100,
    w=WEIGHTS,
    slopes=several(integers(-4, 4), min_size=1, max_size=5),
    lr=among((0.5, 1.0, 0.001)),
    maximize=booleans(),
)
def forgotten_step_is_lr_times_the_sum(w, slopes, lr, maximize):
    optimizer = torch.optim.SGD([w], lr=lr, maximize=maximize)
    for number, slope in enumerate(slopes, start=1):
        before = w.detach().clone()
        (slope * w).sum().backward()
        optimizer.step()
        update = lr * sum(slopes[:number]) * (-1 if maximize else 1)
        close(before - w, torch.full_like(w, update))


@sweep(
    cases=100,
    w=WEIGHTS,
    lr=among((0.5, 0.01)),
    maximize=booleans(),
    targets=several(integers(-4, 4), min_size=1, max_size=5),
)
def forgetting_is_momentum_one(w, lr, maximize, targets):
    other = w.detach().clone().requires_grad_()
    forgetful = torch.optim.SGD([w], lr=lr, maximize=maximize)
    heavy = torch.optim.SGD([other], lr=lr, momentum=1, maximize=maximize)
    for target in targets:
        heavy.zero_grad()
        for weight, optimizer in ((w, forgetful), (other, heavy)):
            (weight - target).square().sum().backward()
            optimizer.step()
    close(w, other)


@sweep(
    pieces=integers(1, 4),
    rows=integers(1, 3),
    loss=among(
        (
            functional.mse_loss,
            functional.l1_loss,
            functional.cross_entropy,
            functional.huber_loss,
            functional.kl_div,
        )
    ),
)
def divide_mean_losses_not_sums(pieces, rows, loss):
    x, target = torch.randn(pieces * rows, 3), torch.rand(pieces * rows, 3)

    def gradient(cut, reduction, divide_by):
        w = torch.ones(3, requires_grad=True)
        for inputs, wanted in zip(x.chunk(cut), target.chunk(cut), strict=True):
            (loss(inputs * w, wanted, reduction=reduction) / divide_by).backward()
        return w.grad

    close(gradient(pieces, "mean", pieces), gradient(1, "mean", 1))
    close(gradient(pieces, "sum", 1), gradient(1, "sum", 1))


@sweep(
    cases=100,
    pieces=integers(1, 4),
    rows=integers(1, 3),
    limit=among((0.1, 1.0, 100.0)),
    momentum=among((0, 0.9)),
)
def accumulate_then_clip_step_and_clear(pieces, rows, limit, momentum):
    updates, x = 3, torch.randn(3 * pieces * rows, 3, dtype=torch.float64)

    def trained(cut):
        w = torch.ones(3, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.SGD([w], lr=0.1, momentum=momentum)
        for number, inputs in enumerate(x.chunk(updates * cut), start=1):
            ((inputs @ w).square().mean() / cut).backward()
            if number % cut == 0:
                nn.utils.clip_grad_norm_(w, limit)
                optimizer.step()
                optimizer.zero_grad()
        return w.detach()

    close(trained(pieces), trained(1))


@sweep(cases=100, slopes=several(integers(1, 9), min_size=1, max_size=8), every=integers(1, 4))
def a_round_cut_short_leaks_into_the_next(slopes, every):
    w, used = torch.zeros(1, requires_grad=True), []
    for _ in range(2):
        for number, slope in enumerate(slopes, start=1):
            (slope * w).backward()
            if number % every == 0:
                used.append(w.grad.item())
                w.grad = None
    left_over = sum(slopes[len(slopes) - len(slopes) % every :])
    if len(slopes) >= every:
        assert used[len(used) // 2] == used[0] + left_over


@sweep(
    cases=100,
    w=WEIGHTS,
    slopes=several(integers(-9, 9), min_size=1, max_size=4),
    limit=among((1.0, 5.0)),
)
def clip_after_the_last_piece(w, slopes, limit):
    for slope in slopes:
        (slope * w * w.detach()).sum().backward()
    whole = w.grad.clone()
    nn.utils.clip_grad_norm_(w, limit)
    assert w.grad.norm() <= limit
    assert (w.grad * whole >= 0).all()


@sweep(cases=100, w=WEIGHTS, slopes=several(integers(-4, 4), min_size=1, max_size=5))
def clearing_between_pieces_keeps_the_last(w, slopes):
    for slope in slopes:
        w.grad = None
        (slope * w).sum().backward()
    same(w.grad, torch.full_like(w, slopes[-1]).detach())


def in_pieces(layer, batch, sizes):
    """Return the gradients of a layer's weights, of a batch cut into micro-batches."""
    layer.zero_grad()
    for piece in batch.split(sizes):
        (layer(piece) * piece).sum().backward()
    return [parameter.grad.clone() for parameter in layer.parameters()]


@sweep(
    cases=100,
    batch=tensors(torch.float64, rank=(3, 4), size=(2, 4), values="normal"),
    name=among(("LayerNorm", "GroupNorm", "RMSNorm")),
    cut=integers(1, 3),
)
def layernorm_and_groupnorm_agree_in_pieces(batch, name, cut):
    channels = batch.shape[1]
    layer = {
        "LayerNorm": lambda: nn.LayerNorm(batch.shape[1:]),
        "RMSNorm": lambda: nn.RMSNorm(batch.shape[1:]),
        "GroupNorm": lambda: nn.GroupNorm(channels, channels),
    }[name]().double()
    pairs = zip(in_pieces(layer, batch, cut), in_pieces(layer, batch, len(batch)), strict=True)
    assert all(torch.allclose(pieces, whole) for pieces, whole in pairs)


@sweep(
    cases=100,
    batch=tensors(torch.float64, rank=(3, 3), size=(2, 4), values="normal"),
    cut=integers(1, 3),
)
def batchnorm_sees_only_the_piece(batch, cut):
    layer = nn.BatchNorm1d(batch.shape[1]).double()
    for piece in batch.split(cut):
        means = layer(piece).mean((0, 2))
        close(means, torch.zeros_like(means), atol=1e-6, rtol=0)
    whole = in_pieces(layer, batch, len(batch))[0]
    assert torch.allclose(in_pieces(layer, batch, cut)[0], whole) == (cut >= len(batch))


# The graph and its leaves


@sweep(
    cases=100,
    shapes=shapes_together(3, rank=3, size=3),
    w=lambda shapes: tensors(DIFFERENTIABLE, shape=shapes[0]),
    x=lambda shapes: tensors(DIFFERENTIABLE, shape=shapes[1]),
    b=lambda shapes: tensors(DIFFERENTIABLE, shape=shapes[2]),
    flags=several(booleans(), min_size=3, max_size=3),
)
def forward_builds_a_graph_towards_what_requires_grad(shapes, w, x, b, flags):
    for tensor, flag in zip((w, x, b), flags, strict=True):
        tensor.requires_grad_(flag)
    y = w * x + b
    assert (y.grad_fn is not None) == any(flags)
    assert y.requires_grad == any(flags)


@sweep(cases=100, shape=SMALL, a=weights, b=weights, program=programs(ANY_STEP), flag=booleans())
def graph_ends_where_gradients_are_wanted(shape, a, b, program, flag):
    b.requires_grad_(flag)
    result = computed(program, a, b)[-1].sum()
    for node in nodes(result):
        if not any(following for following, _ in node.next_functions):
            assert node.variable is a or (node.variable is b and flag)


@sweep(
    rows=integers(1, 4),
    chosen=several(integers(0, 3), min_size=1, max_size=5),
    plain=several(booleans(), min_size=5, max_size=5),
)
def next_functions_name_node_and_output(rows, chosen, plain):
    parts = torch.ones(rows, requires_grad=True).unbind()
    picked = [(number % rows, alone) for number, alone in zip(chosen, plain, strict=False)]
    inputs = [parts[number].detach() if alone else parts[number] for number, alone in picked]
    if any(each.requires_grad for each in inputs):
        expected = [(None, 0) if alone else (parts[0].grad_fn, number) for number, alone in picked]
        assert list(torch.stack(inputs).grad_fn.next_functions) == expected


@sweep(cases=100, shape=SMALL, a=weights, b=weights, program=programs(ANY_STEP))
def one_accumulator_for_each_leaf(shape, a, b, program):
    results = computed(program, a, b)
    ends = [node for node in nodes(sum(results)) if node.name().endswith("AccumulateGrad")]
    assert {id(node.variable) for node in ends} == {id(a), id(b)}
    assert len(ends) == 2
    assert a.grad_fn is None


@sweep(cases=100, shape=SMALL, a=weights, program=programs(SMOOTH), written=several(integers(0, 7)))
def in_place_makes_no_cycle(shape, a, program, written):
    results = [a * 1, *computed(program, a)]
    for number in written:
        target = results[number % len(results)]
        if not target.is_leaf:
            target.mul_(results[0]).add_(target)
    for node in nodes(sum(results)):
        following = [each for each, _ in node.next_functions if each]
        assert all(node not in nodes_behind(each) for each in following)


@sweep(
    cases=100, x=WEIGHTS, function=among((*UNARY, "exp", "cos", "clone", "cumsum", "sum", "ravel"))
)
def nodes_know_the_way_back_only(x, function):
    y = getattr(x, function)(*([-1] if function == "cumsum" else []))
    assume(y.requires_grad and not y.is_leaf)
    assert not hasattr(y.grad_fn, "forward")
    assert y.grad_fn(torch.ones_like(y)).shape == x.shape


@sweep(
    cases=100,
    x=tensors(ALL, layouts=ANY_LAYOUT),
    function=among(("clone", "view_as", "detach", "square", "argmax", "isnan", "ravel")),
    recorded=booleans(),
)
def is_leaf_of_every_kind(x, function, recorded):
    x.requires_grad_(x.dtype in DIFFERENTIABLE)
    assume(function != "argmax" or (x.numel() and not x.is_complex() and x.dtype != torch.bool))
    with torch.set_grad_enabled(recorded):
        y = x.view_as(x) if function == "view_as" else getattr(x, function)()
    for tensor in (x, y):
        assert tensor.is_leaf == (tensor.grad_fn is None)
        assert tensor.is_leaf or tensor.requires_grad


@sweep(
    cases=100,
    w=tensors(DIFFERENTIABLE, requires_grad=True),
    data=lambda w: tensors(ALL, shape=tuple(w.shape), layouts=ANY_LAYOUT),
    watched=booleans(),
)
def data_are_leaves_outside_the_graph(w, data, watched):
    data.requires_grad_(watched and data.dtype in DIFFERENTIABLE)
    assert data.is_leaf
    assert (data + w).is_leaf is False
    ends = reached(w * data)
    assert any(end is data for end in ends) == data.requires_grad


@sweep(cases=100, shape=SMALL, a=weights, b=weights, program=programs((*SMOOTH, "maximum")))
def leaves_keep_intermediates_do_not(shape, a, b, program):
    results = computed(program, a, b)
    results[-1].sum().backward()
    assert any(leaf.grad is not None for leaf in (a, b))
    assert all(result.grad is None for result in results if not result.is_leaf)


@sweep(cases=100, x=tensors(ALL), requires_grad=booleans())
def retain_grad_needs_a_gradient(x, requires_grad):
    x.requires_grad_(requires_grad and x.dtype in DIFFERENTIABLE)
    refused = error(x.retain_grad).startswith("RuntimeError: can't retain_grad")
    assert refused == (not x.requires_grad)
    assert not x.retains_grad


@sweep(
    cases=100,
    x=tensors(DIFFERENTIABLE, layouts=ANY_LAYOUT, requires_grad=True),
    function=among(("neg", "clone", "tanh", "ravel", "view_as", "expand")),
)
def kept_intermediate_gradients_cost_memory(x, function):
    if function == "expand":
        y = x.expand(3, *x.shape)
    else:
        y = x.view_as(x) if function == "view_as" else getattr(x, function)()
    y.retain_grad()
    y.sum().abs().backward()
    assert y.grad.untyped_storage().nbytes() == y.nbytes


@sweep(
    cases=100, w=tensors(FLOATS, values="normal", requires_grad=True), lr=among((0.25, 0.0, -1.0))
)
def second_round_finds_no_grad(w, lr):
    w.square().sum().backward()
    w = w - lr * w.grad
    w.square().sum().backward()
    assert not w.is_leaf
    assert w.grad is None


@sweep(leaves=several(integers(-3, 3), min_size=1, max_size=6), shape=integers(0, 31))
def tree_recursion_is_plain_code(leaves, shape):
    """The bits of `shape` decide how a list is split; each split multiplies by `w`."""
    w = torch.tensor(2.0, requires_grad=True, dtype=torch.float64)

    def encode(part, depth):
        if len(part) == 1:
            paths.append(part[0] * depth * 2.0 ** max(depth - 1, 0))
            return part[0]
        cut = 1 if shape >> depth & 1 else len(part) // 2
        return w * (encode(part[:cut], depth + 1) + encode(part[cut:], depth + 1))

    paths = []
    value = encode(leaves, 0)
    if len(leaves) > 1:
        assert grad(value, w)[0] == sum(paths)


@sweep(cases=100, x=WEIGHTS, function=among((*UNARY, "clone", "sum", "exp")))
def each_iteration_has_nodes_of_its_own(x, function):
    first, second = (getattr(x, function)().grad_fn for _ in range(2))
    assert first is not second
    assert first.next_functions == second.next_functions


@sweep(
    cases=100, x=tensors(ALL, rank=(1, 4), size=(1, 3)), function=among(("clone", "isnan", "bool"))
)
def some_tensors_have_no_values_to_show(x, function):
    shapes_seen = []
    torch.vmap(lambda sample: shapes_seen.append(sample.shape) or sample)(x)
    assert shapes_seen == [x.shape[1:]]
    meta = getattr(x.to("meta"), function)()
    assert meta.shape == x.shape
    assert error(meta.tolist).startswith("NotImplementedError")


# Hooks


@sweep(
    cases=100,
    layer=among((*LAYERS, BILINEAR)),
    rows=integers(2, 4),
)
def what_each_module_hook_is_given(layer, rows):
    module, seen = layer(), {}
    inputs = [torch.randn(rows, 3, requires_grad=True) for _ in range(1 + (layer is BILINEAR))]
    module.register_forward_pre_hook(lambda _, args: seen.update(pre=args))
    module.register_forward_hook(lambda _, args, output: seen.update(args=args, output=output))
    module.register_full_backward_hook(lambda _, into, out: seen.update(into=into, out=out))
    output = module(*inputs)
    output.square().sum().backward()
    assert len(seen["pre"]) == len(seen["args"]) == len(inputs)
    same(seen["output"], output)
    same(list(seen["into"]), [each.grad for each in inputs])
    same(list(seen["out"]), [2 * output.detach()])


class Scale(nn.Module):
    """Multiply by a keyword argument."""

    def forward(self, x, *, by=1):
        """Return `by * x`."""
        return by * x


@sweep(x=tensors(ALL), by=integers(-3, 3), asked=booleans(), before=booleans())
def hooks_see_keywords_on_request(x, by, asked, before):
    module, seen = Scale(), []
    register = module.register_forward_pre_hook if before else module.register_forward_hook
    register(lambda _, *given: seen.extend(given), with_kwargs=asked)
    module(x, by=by)
    assert any(given == {"by": by} for given in seen if isinstance(given, dict)) == asked


@sweep(
    cases=100,
    w=WEIGHTS,
    factors=several(integers(2, 9), min_size=1, max_size=5),
    removed=several(integers(0, 4), max_size=3),
)
def handle_remove_ends_a_hook(w, factors, removed):
    handles = [w.register_hook(lambda gradient, by=by: gradient * by) for by in factors]
    for number in removed:
        handles[number % len(handles)].remove()
    gone = {number % len(handles) for number in removed}
    kept = math.prod(by for number, by in enumerate(factors) if number not in gone)
    same(grad(w.sum(), w)[0], torch.full_like(w, kept).detach())


@sweep(x=tensors(ALL), requires_grad=booleans())
def no_hook_without_gradient(x, requires_grad):
    x.requires_grad_(requires_grad and x.dtype in DIFFERENTIABLE)
    refused = error(lambda: x.register_hook(print)).startswith("RuntimeError: cannot register")
    assert refused == (not x.requires_grad)


@sweep(cases=100, shape=SMALL, a=weights, program=programs(SMOOTH))
def hook_sees_the_sum_over_uses(shape, a, program):
    seen = []
    h = a.clone()
    h.register_hook(seen.append)
    computed(program, h)[-1].sum().backward()
    same(seen, [a.grad])


@sweep(cases=100, shape=SMALL, a=weights, program=programs(SMOOTH))
def autograd_grad_runs_no_post_accumulate_hook(shape, a, program):
    ran = []
    a.register_hook(lambda _: ran.append("hook"))
    a.register_post_accumulate_grad_hook(lambda _: ran.append("post-accumulate hook"))
    loss = computed(program, a)[-1].sum()
    grad(loss, a, retain_graph=True)
    assert ran == ["hook"]
    loss.backward()
    assert ran[1:] == ["hook", "post-accumulate hook"]


@sweep(
    cases=100,
    x=tensors(torch.float64, rank=(1, 3), size=(2, 3), values="normal", requires_grad=True),
    function=among(("unbind", "split", "max", "sort", "aminmax", "frexp", "qr")),
)
def hook_of_an_unused_output_is_given_none(x, function):
    arguments = {"split": [1], "max": [0], "sort": [0]}.get(function, [])
    assume(not error(lambda: getattr(x, function)(*arguments)))
    used, *others = getattr(x, function)(*arguments)
    seen = []
    others = [other for other in others if other.requires_grad]
    for other in others:
        other.register_hook(seen.append)
    used.sum().backward()
    assert seen == [None] * len(others)


@sweep(
    cases=100,
    w=WEIGHTS,
    order=several(among(("add", "mul", "neg", "look")), min_size=1, max_size=5),
    intermediate=booleans(),
)
def hooks_run_in_order_of_registration(w, order, intermediate):
    does = {
        "add": lambda g: g + 1,
        "mul": lambda g: g * 3,
        "neg": torch.neg,
        "look": lambda g: None,
    }
    y = w.clone() if intermediate else w
    expected = torch.ones_like(w).detach()
    for name in order:
        y.register_hook(does[name])
        expected = expected if name == "look" else does[name](expected)
    same(grad(y.sum(), y)[0], expected)


@sweep(
    cases=100,
    x=tensors(FLOATS, requires_grad=True),
    returned=tensors(ALL, layouts=ANY_LAYOUT),
)
def hook_must_keep_the_shape(x, returned):
    x.register_hook(lambda gradient: returned)
    accepted = not error(lambda: x.clone().sum().backward())
    assert accepted == (returned.shape == x.shape and returned.dtype == x.dtype)


@sweep(cases=100, layers=several(among(LAYERS), min_size=1, max_size=4))
def hooks_show_a_vanishing_gradient(layers):
    model, seen = nn.Sequential(*(layer() for layer in layers)), []
    for layer in model:
        layer.register_full_backward_hook(lambda _, into, out: seen.append(out[0]))
    outputs = [torch.randn(4, 3, requires_grad=True)]
    for layer in model:
        outputs.append(layer(outputs[-1]))
        outputs[-1].retain_grad()
    outputs[-1].square().sum().backward()
    same(seen, [output.grad for output in outputs[:0:-1]])


@sweep(cases=100, w=WEIGHTS, rounds=integers(1, 5), factor=integers(2, 3))
def hooks_on_parameters_pile_up(w, rounds, factor):
    for number in range(1, rounds + 1):
        w.register_hook(lambda gradient: factor * gradient)
        same(grad(w.sum(), w)[0], torch.full_like(w, factor**number).detach())


@sweep(cases=100, layer=among(LAYERS))
def hooks_are_not_in_the_state_dict(layer):
    model, x = layer(), torch.randn(4, 3)
    plain, state = model(x), model.state_dict()
    model.register_forward_hook(lambda _, args, output: output * 10)
    model.register_full_backward_hook(print)
    assert model.state_dict().keys() == state.keys()
    loaded = layer()
    loaded.load_state_dict(model.state_dict())
    same(loaded(x), plain)


# In-place operations

IN_PLACE = (
    *("abs", "acos", "atan", "ceil", "cos", "cosh", "digamma", "erf", "erfinv", "exp", "expm1"),
    *("floor", "frac", "lgamma", "log", "log1p", "logit", "neg", "reciprocal", "relu", "round"),
    *("rsqrt", "sigmoid", "sign", "sin", "sinc", "sqrt", "square", "tan", "tanh", "tril", "triu"),
)
"""Functions whose form with an underscore has a derivative."""


@sweep(
    cases=100,
    x=tensors(NUMBERS, rank=(0, 3), layouts=ANY_LAYOUT),
    function=among(("add", "sub", "mul", "div", "pow", "neg", "abs", "floor", "square", "round")),
)
def not_every_result_has_its_own_memory(x, function):
    other = [1] if function in ("add", "sub", "mul", "div", "pow") else []
    assume(not error(lambda: getattr(x, function)(*other)))
    result = getattr(x, function)(*other)
    assert not x.numel() or result.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()


@sweep(
    cases=100,
    x=tensors(torch.float64, rank=(0, 3), values="normal", requires_grad=True),
    function=among(
        (*IN_PLACE, "softmax", "cumsum", "cumprod", "sort", "max", "prod", "std", "norm")
    ),
    write=among(("zero_", "exp_", "add_", "fill_")),
)
def only_saved_values_must_stay(x, function, write):
    def result(y):
        given = [0] if function in ("softmax", "cumsum", "cumprod") else []
        made = getattr(y, function)(*given)
        return (made if isinstance(made, torch.Tensor) else made[0]).sum()

    assume(not error(lambda: result(x * 1)))
    (undisturbed,) = grad(result(x * 1), x)
    y, saved = x * 1, []
    with torch.autograd.graph.saved_tensors_hooks(saved.append, lambda packed: packed):
        result(y)
    z = result(y)
    getattr(y, write)(*([2.0] if write in ("add_", "fill_") else []))
    if error(lambda: grad(z, x, retain_graph=True)):
        assert y.data_ptr() in [tensor.data_ptr() for tensor in saved]
    else:
        same(grad(z, x)[0], undisturbed)


@sweep(
    cases=100,
    x=tensors(torch.float64, rank=(2, 2), values="normal", requires_grad=True),
    function=among(IN_PLACE),
    view=booleans(),
)
def in_place_operations_are_recorded(x, function, view):
    (expected,) = grad(getattr(x * 1, function)().sum(), x)
    y = x * 1
    getattr(y.view_as(y) if view else y, function + "_")()
    close(y, getattr(x, function)())
    close(grad(y.sum(), x)[0], expected)


@sweep(
    x=tensors(FLOATS, rank=(2, 2), values="normal"),
    function=among(IN_PLACE),
    times=integers(0, 3),
    view=booleans(),
)
def version_counts_writes(x, function, times, view):
    before = version(x)
    for _ in range(times):
        getattr(x.view_as(x) if view else x, function + "_")()
    assert version(x) == before + times


@sweep(cases=100, x=WEIGHTS, earlier=integers(0, 3), later=integers(0, 3))
def the_version_at_saving_is_compared(x, earlier, later):
    y = x * 3
    for _ in range(earlier):
        y.add_(1)
    z = y.square().sum()
    for _ in range(later):
        y.add_(1)
    if later:
        message = error(z.backward)
        assert f"is at version {earlier + later}; expected version {earlier} instead" in message
    else:
        z.backward()
        close(x.grad, 6 * (x.detach() * 3 + earlier))


@sweep(
    cases=100,
    x=WEIGHTS,
    write=among(("zero_", "exp_", "sin_")),
    through=among(("data", "detach", "view_as", "itself")),
)
def only_counted_writes_are_caught(x, write, through):
    y = x * 3
    z = y.square().sum()
    written = {
        "data": lambda: y.data,
        "detach": lambda: y.detach(),
        "view_as": lambda: y.view_as(y),
        "itself": lambda: y,
    }[through]()
    before = version(y)
    getattr(written, write)()
    counted = version(y) > before
    assert counted == (through != "data")
    assert ("modified by an inplace operation" in error(z.backward)) == counted


@sweep(
    cases=100,
    x=tensors(torch.float64, rank=(1, 3), size=(1, 3), values="normal", requires_grad=True),
    row=integers(0, 2),
    write=among(("assign", "fill_", "masked_fill_", "index_fill_", "copy_")),
    start=lambda x: tensors(torch.float64, shape=tuple(x.shape), values="special"),
)
def an_overwritten_element_sends_nothing_back(x, row, write, start):
    y, row = x * 1, row % len(x)
    mask = torch.zeros(x.shape, dtype=torch.bool)
    mask[row] = True
    if write == "assign":
        y[row] = 7.0
    elif write == "masked_fill_":
        y.masked_fill_(mask, 7.0)
    elif write == "index_fill_":
        y.index_fill_(0, torch.tensor([row]), 7.0)
    else:
        getattr(y[row], write)(torch.tensor(7.0, dtype=x.dtype))
    y.backward(start)
    same(x.grad, torch.where(mask, 0.0, start))


@sweep(
    cases=100,
    x=WEIGHTS,
    needs=among(("square", "sin", "cos", "sinc")),
    needs_not=among(("neg", "relu", "exp", "tanh", "sigmoid", "sum")),
)
def one_value_is_lost_not_the_graph(x, needs, needs_not):
    y = x * 3
    lost, kept = getattr(y, needs)().sum(), getattr(y, needs_not)().sum()
    (expected,) = grad(kept, x, retain_graph=True)
    y.add_(1)
    same(grad(kept, x)[0], expected)
    assert "modified by an inplace operation" in error(lambda: grad(lost, x))


# Inference mode


@sweep(cases=100, x=tensors(ALL, layouts=ANY_LAYOUT), function=among(("clone", "square", "isnan")))
def inference_tensor_lacks_a_counter(x, function):
    with torch.inference_mode():
        t = getattr(x, function)()
    assert error(lambda: version(t)) == INFERENCE
    assert error(lambda: t.requires_grad_()).startswith("RuntimeError")
    assert error(lambda: version(x.view_as(x))) == ""


# Jacobians


@sweep(
    cases=100,
    outputs=integers(1, 4),
    x=tensors(torch.float64, rank=(1, 1), size=(1, 4), values="normal"),
    program=programs(SMOOTH, 3),
)
def jacobian_has_a_row_per_output(outputs, x, program):
    mix = torch.randn(outputs, len(x), dtype=x.dtype)

    def f(point):
        return mix @ computed(program, point)[-1]

    rows = jacobian(f, x)
    assert rows.shape == (outputs, len(x))
    step = torch.full_like(x, 1e-6)
    close(f(x + step) - f(x - step), 2 * rows @ step, rtol=1e-4, atol=1e-8)


@sweep(
    cases=50,
    inputs=integers(1, 9),
    outputs=integers(1, 9),
    dtype=among((*FLOATS, *HALVES)),
)
def jacobian_bytes_grow_with_both_sizes(inputs, outputs, dtype):
    mix = torch.ones(outputs, inputs, dtype=dtype)
    matrix = jacobian(lambda x: mix @ x, torch.ones(inputs, dtype=dtype))
    assert matrix.nbytes == inputs * outputs * dtype.itemsize


@sweep(
    cases=100,
    x=tensors((*FLOATS, *HALVES), rank=(0, 3), size=(0, 3)),
    reverse=booleans(),
    function=among(("sum", "square", "ravel", "clone", "mT", "unsqueeze", "diff")),
)
def jacobian_shape_joins_output_and_input(x, reverse, function):
    def f(tensor):
        if function == "mT":
            return tensor.mT
        return getattr(tensor, function)(*([0] if function == "unsqueeze" else []))

    assume(not error(lambda: f(x)))
    if reverse:
        found = torch.func.jacrev(f)(x)
    else:
        assume(f(x).numel())
        found = jacobian(f, x)
    assert found.shape == f(x).shape + x.shape


@sweep(
    cases=100, x=WEIGHTS, chain=several(among(UNARY), min_size=1, max_size=5), number=integers(0, 4)
)
def backward_starts_with_one(x, chain, number):
    results = [x]
    for function in chain:
        results.append(getattr(torch, function)(results[-1]))
    loss, arrived = results[-1].sum(), []
    result = results[1 + number % len(chain)]
    result.register_hook(arrived.append)
    loss.register_hook(arrived.append)
    loss.backward(retain_graph=True)
    same(arrived[0], torch.ones((), dtype=x.dtype))
    same(arrived[1], grad(loss, result)[0])


@sweep(
    cases=100,
    batch=tensors(torch.float64, rank=(2, 2), size=(1, 3), values="normal"),
    program=programs(SMOOTH, 3),
)
def vmap_gives_a_jacobian_per_sample(batch, program):
    def f(x):
        return computed(program, x)[-1].cumsum(-1)

    each = torch.func.vmap(torch.func.jacrev(f))(batch)
    close(each, torch.stack([jacobian(f, sample) for sample in batch]))
    everything = torch.func.jacrev(f)(batch)
    assert everything.shape == batch.shape + batch.shape
    close(everything.sum(2), each)


@sweep(
    cases=100,
    x=tensors(torch.float64, rank=(0, 2), size=(1, 3), values="normal"),
    function=among((*UNARY, "sum", "ravel", "cumsum")),
    vectorize=booleans(),
)
def jacobian_runs_one_backward_per_output(x, function, vectorize):
    seen, given = [], [0] if function == "cumsum" else []

    def f(point):
        point.register_hook(seen.append)
        return getattr(point, function)(*given)

    assume(not error(lambda: getattr(x, function)(*given)))
    outputs = getattr(x, function)(*given).numel()
    jacobian(f, x, vectorize=vectorize)
    assert len(seen) == (1 if vectorize else outputs)


@sweep(
    inputs=integers(1, 4),
    returned=several(booleans(), max_size=6),
)
def one_gradient_for_each_input(inputs, returned):
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            return sum(tensors)

        @staticmethod
        def backward(ctx, gradient):
            return tuple(number * gradient if some else None for number, some in given)

    given = list(enumerate(returned, start=1))
    leaves = [torch.ones(2, requires_grad=True) for _ in range(inputs)]
    accepted = not error(lambda: Sum.apply(*leaves).sum().backward())
    assert accepted == (len(returned) >= inputs and not any(returned[inputs:]))
    if accepted:
        expected = [number if some else None for number, some in given[:inputs]]
        assert [leaf.grad if leaf.grad is None else leaf.grad[0] for leaf in leaves] == expected


@sweep(
    cases=100, shape=SMALL, a=weights, b=weights, program=programs((*SMOOTH, "maximum", "detach"))
)
def unused_inputs_are_an_error_unless_allowed(shape, a, b, program):
    loss = computed(program, a, b)[-1].sum()
    assume(loss.requires_grad)
    unused = len(reached(loss)) < 2
    assert bool(error(lambda: grad(loss, (a, b), retain_graph=True))) == unused
    gradients = grad(loss, (a, b), allow_unused=True, retain_graph=True)
    assert any(gradient is None for gradient in gradients) == unused


# Long sequences


@sweep(
    cases=100,
    steps=integers(1, 6),
    bias=booleans(),
    nonlinearity=among(("tanh", "relu")),
    num_layers=integers(1, 2),
    bidirectional=booleans(),
    batch_first=booleans(),
    dropout=among((0.0, 0.5)),
)
def fused_layer_is_one_node_for_all_steps(
    steps, bias, nonlinearity, num_layers, bidirectional, batch_first, dropout
):
    layer = nn.RNN(
        3,
        2,
        bias=bias,
        nonlinearity=nonlinearity,
        num_layers=num_layers,
        bidirectional=bidirectional,
        batch_first=batch_first,
        dropout=dropout,
    )

    def count(length):
        x = torch.zeros(1, length, 3) if batch_first else torch.zeros(length, 1, 3)
        return len(nodes(layer(x)[0]))

    layers = num_layers * (2 if bidirectional else 1)
    assert count(steps + 1) - count(steps) == 4 * layers


@sweep(
    cases=100, steps=integers(1, 6), w=tensors(torch.float64, values="normal", requires_grad=True)
)
def shared_weight_gradient_by_hand(steps, w):
    copies = [w.detach().clone().requires_grad_() for _ in range(steps)]
    math.prod([w] * steps).sum().backward()
    math.prod(copies).sum().backward()
    close(w.grad, sum(copy.grad for copy in copies))
    close(w.grad, steps * w.detach() ** (steps - 1))


@sweep(cases=100, start=WEIGHTS, weight=among((-3.0, 0.5, 1.0, 2.0)), steps=integers(1, 5))
def squashing_shrinks_the_factor(start, weight, steps):
    h, factor = start, torch.ones_like(start)
    for _ in range(steps):
        h = (weight * h).tanh()
        derivative = 1 - h.detach() ** 2
        assert (derivative <= 1).all()
        factor = factor * weight * derivative
    close(grad(h.sum(), start)[0], factor)


@sweep(
    cases=60,
    num_layers=integers(1, 2),
    bidirectional=booleans(),
    bias=booleans(),
    proj_size=integers(0, 1),
    h_too=booleans(),
    c_too=booleans(),
)
def detach_both_parts_of_an_lstm_state(num_layers, bidirectional, bias, proj_size, h_too, c_too):
    layer = nn.LSTM(3, 2, num_layers, bias=bias, bidirectional=bidirectional, proj_size=proj_size)
    output, (h, c) = layer(torch.randn(2, 1, 3))
    output.sum().backward()
    state = (h.detach() if h_too else h, c.detach() if c_too else c)
    output, _ = layer(torch.randn(2, 1, 3), state)
    again = "Trying to backward through the graph a second time" in error(output.sum().backward)
    assert again == (not (h_too and c_too))


@sweep(length=integers(1, 24), rows=integers(1, 4), steps=integers(1, 5))
def a_row_goes_on_where_the_last_one_ended(length, rows, steps):
    text = torch.arange(length // rows * rows)
    batches = text.view(rows, -1).split(steps, dim=1)
    for batch, following in pairwise(batches):
        same(following[:, 0], batch[:, -1] + 1)


@sweep(cases=100, w=TRAINABLE, optimiser=among(OPTIMISERS), retain_graph=booleans())
def retain_graph_meets_changed_weights(w, optimiser, retain_graph):
    optimizer = optimiser([w], lr=0.25)
    first = w * w
    first.sum().backward(retain_graph=retain_graph)
    optimizer.step()
    second = w * w * (first if retain_graph else first.detach())
    refused = "modified by an inplace operation" in error(second.sum().backward)
    assert refused == retain_graph


@sweep(weight=among((-2.0, 0.5, 1.0, 2.0)), steps=integers(1, 8), chunk=integers(1, 8))
def gradients_end_at_the_cut(weight, steps, chunk):
    inputs, h = torch.zeros(steps, requires_grad=True), torch.zeros(())
    for step, x in enumerate(inputs):
        h = weight * (h.detach() if step % chunk == 0 else h) + x
    h.backward()
    last = (steps - 1) // chunk * chunk
    assert inputs.grad.tolist() == [
        weight ** (steps - 1 - step) if step >= last else 0.0 for step in range(steps)
    ]


@sweep(cases=100, shape=SMALL, a=weights, program=programs((*SMOOTH, "maximum", "relu")))
def checkpointing_keeps_the_whole_gradient(shape, a, program):
    runs = []

    def chunk(h):
        runs.append(h)
        return computed(program, h, a)[-1]

    exact = grad(chunk(chunk(a)).sum(), a, allow_unused=True)[0]
    kept = checkpoint(chunk, checkpoint(chunk, a, use_reentrant=False), use_reentrant=False)
    same(grad(kept.sum(), a)[0], exact)


@sweep(steps=integers(1, 8), chunk=integers(1, 8))
def what_lies_before_the_cut_is_not_learnt(steps, chunk):
    a, w = (torch.tensor(1.0, requires_grad=True) for _ in range(2))
    h = a
    for step in range(steps):
        h = w * (h.detach() if step % chunk == 0 and step else h)
    h.backward()
    assert (a.grad is None) == (steps > chunk)


@sweep(steps=integers(1, 9), look_back=integers(1, 5))
def a_window_lets_every_step_see_as_far(steps, look_back):
    inputs, states = torch.ones(steps, requires_grad=True), [torch.zeros(())]
    for step in range(steps):
        start = max(0, step + 1 - look_back)
        h = states[start]
        for x in inputs[start : step + 1]:
            h = h + x
        states.append(h.detach())
        assert h == step + 1
        assert grad(h, inputs)[0].sum() == min(step + 1, look_back)


# Gradients that are nan


@sweep(
    cases=100,
    x=tensors(FLOATS, rank=(0, 2), values="special", requires_grad=True),
    chain=several(among((*UNARY, "sqrt", "log", "reciprocal", "exp")), min_size=1, max_size=4),
)
def anomaly_mode_looks_for_nan_only(x, chain):
    def loss():
        results = [x]
        for function in chain:
            results.append(getattr(torch, function)(results[-1]))
            node = results[-1].grad_fn
            node.register_hook(lambda into, _: nan.append(bool(into[0].isnan().any())))
        return results[-1].sum()

    nan = []
    with torch.autograd.set_detect_anomaly(True):
        reported = "returned nan values" in error(loss().backward)
    nan.clear()
    loss().backward()
    assert reported == any(nan)


WHOLE = ("argmax", "argmin", "argsort", "isnan", "isfinite", "signbit", "long", "int", "bool")
WHOLE += ("count_nonzero", "nonzero", "logical_not", "any", "all", "isinf", "byte", "short")


@sweep(
    cases=100,
    x=tensors((*FLOATS, *HALVES), values="special", requires_grad=True),
    function=among(WHOLE),
)
def integer_and_bool_results_cut_the_graph(x, function):
    assume(not error(lambda: getattr(x, function)()))
    result = getattr(x, function)()
    assert result.grad_fn is None
    assert not result.requires_grad
    assert not result.float().requires_grad


@sweep(
    cases=100,
    x=tensors(FLOATS, rank=(1, 3), size=(1, 4), requires_grad=True),
    dim=lambda x: dims(x),
    function=among(("sort", "max", "min", "topk", "median", "cummax", "mode", "kthvalue")),
    weight=among((1.0, 10.0)),
)
def picked_values_have_gradients(x, dim, function, weight):
    given = {"topk": (1, dim), "kthvalue": (1, dim)}.get(function, ())
    values, indices = getattr(x, function)(*given, **({} if given else {"dim": dim}))
    assert not indices.requires_grad
    values.backward(torch.full_like(values, weight).detach())
    if function in ("max", "min", "median", "mode", "kthvalue"):
        indices = indices.unsqueeze(dim)
    places = torch.zeros_like(x).scatter_add(dim, indices, torch.full(indices.shape, weight).to(x))
    same(x.grad, places)


@sweep(
    cases=100,
    x=tensors(torch.float64, values="normal", requires_grad=True),
    threshold=among((-1.0, 0.0, 1.0)),
    start=lambda x: tensors(torch.float64, shape=tuple(x.shape), values="special"),
)
def a_mask_is_a_constant_factor(x, threshold, start):
    t = torch.tensor(threshold, requires_grad=True)
    mask = x > t
    (x * mask).backward(start)
    same(x.grad[mask], start[mask])
    finite = start[~mask].isfinite()
    assert (x.grad[~mask][finite] == 0).all()
    assert x.grad[~mask][~finite].isnan().all()
    assert t.grad is None


@sweep(
    cases=100,
    x=tensors((*FLOATS, *HALVES), requires_grad=True),
    function=among(("heaviside", "floor_divide")),
    swapped=booleans(),
)
def some_derivatives_are_not_written(x, function, swapped):
    other = torch.full_like(x, 0.5).detach()
    y = getattr(torch, function)(*((other, x) if swapped else (x, other)))
    assert y.grad_fn is not None
    assert "is not implemented" in error(lambda: y.backward(y.detach()))


@sweep(cases=100, x=tensors(ALL, layouts=ANY_LAYOUT))
def floats_and_complex_numbers_can_require_grad(x):
    accepted = not error(x.requires_grad_)
    assert accepted == (x.dtype.is_floating_point or x.dtype.is_complex)


@sweep(
    cases=100,
    scores=tensors(torch.float64, rank=(1, 1), size=(1, 5), values="normal", requires_grad=True),
    cost=lambda scores: tensors(torch.float64, shape=tuple(scores.shape)),
)
def few_options_can_all_be_weighed(scores, cost):
    chances = scores.softmax(dim=0)
    expected = chances @ cost
    rate = chances * (cost - expected)
    close(grad(expected, scores, retain_graph=True)[0], rate.detach())


@sweep(
    cases=100,
    scores=tensors(torch.float64, rank=(1, 1), size=(1, 5), values="normal", requires_grad=True),
    reward=lambda scores: tensors(torch.float64, shape=tuple(scores.shape)),
)
def policy_gradients_need_no_path(scores, reward):
    (exact,) = grad(scores.softmax(dim=0) @ reward, scores)
    average = torch.zeros_like(exact)
    for choice, chance in enumerate(scores.softmax(dim=0).tolist()):
        log_p = scores.log_softmax(dim=0)[choice]
        average += chance * grad(log_p, scores)[0] * reward[choice]
    close(average, exact)


# no_grad and inference mode


@sweep(cases=100, shape=SMALL, a=weights, program=programs(ANY_STEP))
def under_no_grad_results_have_no_history(shape, a, program):
    outside = computed(program, a)
    with torch.no_grad():
        inside = computed(program, a)
    for one, other in zip(outside[1:], inside[1:], strict=True):
        same(one, other)
        assert other.grad_fn is None
        assert not other.requires_grad


@sweep(cases=100, layer=among(LAYERS), mode=among((torch.no_grad, torch.inference_mode)))
def no_grad_leaves_requires_grad_alone(layer, mode):
    module, x = layer(), torch.randn(4, 3)
    with mode():
        assert not module(x).requires_grad
        assert all(parameter.requires_grad for parameter in module.parameters())
    module(x).sum().backward()
    assert any(parameter.grad is not None for parameter in module.parameters())


@sweep(cases=100, shape=SMALL, a=weights, program=programs(SMOOTH), chosen=integers(0, 7))
def neither_touches_the_tensor_itself(shape, a, program, chosen):
    results = computed(program, a)
    before = nodes(results[-1])
    y = results[chosen % len(results)]
    with torch.no_grad():
        inside = 2 * y
    assert inside.grad_fn is None
    assert (2 * y.detach()).grad_fn is None
    assert (2 * y).grad_fn is not None
    assert nodes(results[-1]) == before


@sweep(
    cases=100,
    x=tensors(torch.float64, rank=(0, 2), values="normal"),
    program=programs(SMOOTH, 3),
    mode=among((torch.no_grad, torch.inference_mode)),
)
def forward_mode_goes_through_no_grad(x, program, mode):
    def tangent(dual):
        return forward_ad.unpack_dual(computed(program, dual * 1)[-1]).tangent

    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        outside = tangent(dual)
        with mode():
            inside = tangent(dual)
    if mode is torch.no_grad:
        same(inside, outside)
    else:
        assert inside is None


VIEWS = {
    "step": lambda x: x[..., ::2],
    "view_as": lambda x: x.view_as(x),
    "mT": lambda x: x.mT,
    "unsqueeze": lambda x: x.unsqueeze(0),
    "squeeze": lambda x: x.squeeze(),
    "expand": lambda x: x.expand(2, *x.shape),
    "unbind": lambda x: x.unbind()[0],
    "split": lambda x: x.split(1)[0],
    "chunk": lambda x: x.chunk(2)[-1],
    "diagonal": lambda x: x.diagonal(),
    "view_as_real": torch.view_as_real,
    "real": lambda x: x.real,
}


@sweep(
    cases=100,
    x=tensors(DIFFERENTIABLE, size=(1, 3), requires_grad=True, layouts=ANY_LAYOUT),
    kind=among(tuple(VIEWS)),
)
def views_made_under_no_grad_lose_gradients(x, kind):
    assume(not error(lambda: VIEWS[kind](x)))
    with torch.no_grad():
        view = VIEWS[kind](x)
    assume(view is not x and base_of(view) is not None)
    assert view.requires_grad == base_of(view).requires_grad
    assert view.grad_fn is None
    assume(view.requires_grad)
    (5 * view).sum().abs().backward()
    assert view.grad is None
    assert x.grad is None


@sweep(
    cases=100,
    scores=tensors(FLOATS, rank=(2, 2), size=(1, 4), values="normal", requires_grad=True),
    labels=lambda scores: tensors(torch.int64, shape=(len(scores),)),
)
def validation_needs_no_gradients(scores, labels):
    def accuracy():
        return ((scores * 2).argmax(dim=1) == labels).float().mean()

    assert not accuracy().requires_grad
    same(torch.no_grad()(accuracy)(), accuracy())


@sweep(
    cases=60,
    sizes=several(integers(1, 6), min_size=3, max_size=3),
    flags=among(((True, True), (True, False), (False, True))),
)
def backward_is_most_of_the_arithmetic(sizes, flags):
    rows, inner, columns = sizes
    a = torch.ones(rows, inner, requires_grad=flags[0])
    b = torch.ones(inner, columns, requires_grad=flags[1])

    def operations(work):
        with FlopCounterMode(display=False) as counter:
            work()
        return counter.get_total_flops()

    once = 2 * rows * inner * columns
    assert operations(lambda: a @ b) == operations(torch.no_grad()(lambda: a @ b)) == once
    assert operations(lambda: (a @ b).sum().backward()) == (1 + sum(flags)) * once


@sweep(cases=100, w=WEIGHTS, updates=integers(0, 5), recorded=booleans())
def tracked_updates_grow_a_chain(w, updates, recorded):
    for _ in range(updates):
        (gradient,) = grad((w**2).sum() / 2, w)
        with torch.set_grad_enabled(recorded):
            w = w - 0.5 * gradient
        w.requires_grad_()
    chain = [node.name() for node in nodes(w) if node.next_functions]
    assert chain == ["SubBackward0"] * (updates if recorded else 0)


@sweep(cases=100, x=WEIGHTS, function=among(UNARY), calls=integers(1, 3), called=booleans())
def no_grad_decorates_functions(x, function, calls, called):
    plain = getattr(torch, function)
    decorated = (torch.no_grad() if called else torch.no_grad)(lambda: plain(x))
    for _ in range(calls):
        assert not decorated().requires_grad
        assert plain(x).requires_grad
        assert torch.is_grad_enabled()


@sweep(modes=several(booleans(), min_size=1, max_size=5))
def set_grad_enabled_acts_at_once(modes):
    with torch.enable_grad():
        for mode in modes:
            forgotten_with = torch.set_grad_enabled(mode)
            assert torch.is_grad_enabled() == mode
            forgotten_with = torch.no_grad(), torch.enable_grad(), forgotten_with
            assert torch.is_grad_enabled() == mode
    assert torch.is_grad_enabled()


@sweep(
    cases=50,
    modes=several(
        among((torch.no_grad, torch.enable_grad, torch.inference_mode)), min_size=1, max_size=3
    ),
)
def grad_mode_belongs_to_a_thread(modes):
    with ExitStack() as stack, ThreadPoolExecutor() as pool:
        for mode in modes:
            stack.enter_context(mode())
        here = torch.is_grad_enabled()
        assert pool.submit(torch.is_grad_enabled).result()
        assert not pool.submit(torch.is_inference_mode_enabled).result()
        assert torch.is_grad_enabled() == here


# requires_grad and freezing


@sweep(
    x=tensors(DIFFERENTIABLE, layouts=ANY_LAYOUT, requires_grad=True),
    function=among(("clone", "neg", "sum", "view_as", "abs")),
    flag=booleans(),
)
def only_a_leafs_mark_can_change(x, function, flag):
    y = x.view_as(x) if function == "view_as" else getattr(x, function)()
    refused = error(lambda: y.requires_grad_(flag)).startswith("RuntimeError: you can only change")
    assert refused == (not flag)
    x.requires_grad_(flag)
    assert x.requires_grad == flag
    assert not y.detach().requires_grad


@sweep(cases=100, layer=among(LAYERS), nested=booleans())
def a_module_has_a_method_not_an_attribute(layer, nested):
    module = nn.Sequential(layer()) if nested else layer()
    module.requires_grad = False
    assert all(parameter.requires_grad for parameter in module.parameters())
    assert not any(each.requires_grad for each in module.requires_grad_(False).parameters())


@sweep(cases=100, layer=among(LAYERS), optimiser=among(OPTIMISERS), steps=integers(1, 3))
def frozen_parameters_get_no_gradient(layer, optimiser, steps):
    model = nn.Sequential(layer().requires_grad_(False), nn.Linear(3, 1))
    before = parameters_of(model)
    optimizer = optimiser(model.parameters(), lr=0.1)
    for _ in range(steps):
        model(torch.randn(4, 3)).exp().sum().backward()
        optimizer.step()
    frozen = list(model[0].parameters())
    assert all(parameter.grad is None for parameter in frozen)
    same(parameters_of(model)[: len(frozen)], before[: len(frozen)])
    assert not torch.equal(model[1].weight, before[len(frozen)])


@sweep(
    cases=100,
    rank=integers(1, 3),
    momentum=among((0.1, None, 1.0)),
    affine=booleans(),
)
def freezing_parameters_leaves_buffers_moving(rank, momentum, affine):
    kind = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)[rank - 1]
    layer = kind(2, momentum=momentum, affine=affine).requires_grad_(False)
    before = layer.running_mean.clone()
    layer(torch.randn(3, 2, *[2] * rank))
    moved = layer.running_mean.clone()
    assert not torch.equal(moved, before)
    layer.eval()(torch.randn(3, 2, *[2] * rank))
    same(layer.running_mean, moved)


@sweep(
    cases=100,
    layers=several(among(LAYERS), min_size=1, max_size=3),
    thawed=several(booleans(), min_size=3, max_size=3),
    data=booleans(),
)
def an_all_frozen_model_has_no_backward(layers, thawed, data):
    model = nn.Sequential(*(layer() for layer in layers))
    for layer, flag in zip(model, thawed, strict=False):
        layer.requires_grad_(flag)
    loss = model(torch.randn(4, 3, requires_grad=data)).sum()
    frozen = not any(thawed[: len(layers)]) and not data
    assert (error(loss.backward) == NO_GRAPH) == frozen


@sweep(
    cases=100,
    layer=among(LAYERS),
    optimiser=among((torch.optim.Adam, torch.optim.AdamW)),
    amsgrad=booleans(),
    freeze=booleans(),
)
def frozen_parameters_have_no_optimiser_state(layer, optimiser, amsgrad, freeze):
    model = nn.Sequential(layer().requires_grad_(not freeze), nn.Linear(3, 1))
    optimizer = optimiser(model.parameters(), amsgrad=amsgrad)
    model(torch.randn(4, 3)).sum().backward()
    optimizer.step()
    for parameter in model.parameters():
        assert bool(optimizer.state[parameter]) == parameter.requires_grad


@sweep(
    head=integers(-9, 9),
    missing=integers(-9, 9),
    norm_type=among((1.0, 2.0, math.inf)),
    max_norm=among((0.5, 5.0)),
)
def unused_gradients_count_in_the_clipped_norm(head, missing, norm_type, max_norm):
    weights = [torch.zeros((), requires_grad=True) for _ in range(2)]
    weights[0].grad, weights[1].grad = torch.tensor(float(head)), torch.tensor(float(missing))
    norm = nn.utils.clip_grad_norm_(weights, max_norm, norm_type)
    both = torch.tensor([head, missing], dtype=torch.float32)
    close(norm, torch.linalg.vector_norm(both, norm_type))
    if missing and head and norm > max_norm and norm_type != math.inf:
        alone = [torch.tensor(float(head), requires_grad=True)]
        alone[0].grad = torch.tensor(float(head))
        nn.utils.clip_grad_norm_(alone, max_norm, norm_type)
        assert weights[0].grad.abs() < alone[0].grad.abs()


# What is saved, and when it is freed


@sweep(
    x=tensors(torch.float64, rank=(2, 2), size=(1, 3), values="normal", requires_grad=True),
    function=among((*IN_PLACE, "clone", "sum", "mean", "prod", "std", "max", "ravel", "norm")),
)
def each_operation_saves_what_its_derivative_needs(x, function):
    def gradient(at):
        return grad(getattr(at, function)().sum(), at)[0]

    elsewhere = (x + 0.7).detach().requires_grad_()
    depends_on_values = not torch.equal(gradient(x), gradient(elsewhere))
    assert saved(lambda: getattr(x, function)()) or not depends_on_values


@sweep(
    x=tensors(torch.float64, rank=(2, 3), size=(1, 3), values="normal", requires_grad=True),
    kind=among(("step", "view_as", "unsqueeze", "split", "diagonal", "mT")),
    write=among(("neg_", "zero_", "exp_", "add_")),
    retain=booleans(),
)
def a_write_through_a_view_allows_one_pass(x, kind, write, retain):
    h = x.clone()
    assume(not error(lambda: VIEWS[kind](h)))
    given = [1] if write == "add_" else []
    assume(not error(lambda: getattr(VIEWS[kind](x.clone()), write)(*given)))
    getattr(VIEWS[kind](h), write)(*given)
    total = h.sum()
    total.backward(retain_graph=retain)
    again = error(total.backward)
    assert ("Trying to backward through the graph a second time" in again) == (not retain)


@sweep(
    cases=100,
    shape=SMALL,
    w=weights,
    trunk=programs(SMOOTH),
    heads=several(programs(SMOOTH, 3), min_size=1, max_size=3),
)
def two_losses_need_not_retain(shape, w, trunk, heads):
    def losses():
        shared = computed(trunk, w)[-1]
        return [computed(head, shared)[-1].sum() for head in heads]

    sum(losses()).backward()
    summed, w.grad = w.grad, None
    for loss in losses():
        loss.backward(retain_graph=True)
    close(summed, w.grad)
    w.grad = None
    for number in range(len(heads)):
        losses()[number].backward()
    close(summed, w.grad)


@sweep(cases=100, shape=SMALL, w=weights, first=programs(SMOOTH), second=programs(SMOOTH))
def separate_gradients_need_separate_passes(shape, w, first, second):
    shared = w.tanh()
    losses = [computed(program, shared)[-1].sum() for program in (first, second)]
    alone = [grad(loss, w, retain_graph=True)[0] for loss in losses]
    rows = torch.eye(2, dtype=w.dtype)
    (batched,) = grad(torch.stack(losses), w, rows, is_grads_batched=True, retain_graph=True)
    assert torch.allclose(batched, torch.stack(alone))
    close(grad(sum(losses), w)[0], sum(alone))


@sweep(
    cases=100,
    shape=SMALL,
    w=weights,
    trunk=programs(SMOOTH),
    heads=several(programs(SMOOTH, 3), min_size=1, max_size=3),
)
def a_cut_needs_no_retained_graph(shape, w, trunk, heads):
    shared = computed(trunk, w)[-1]
    (whole,) = grad(sum(computed(head, shared)[-1].sum() for head in heads), w, retain_graph=True)
    shared = computed(trunk, w)[-1]
    h = shared.detach().requires_grad_()
    for head in heads:
        computed(head, h)[-1].sum().backward()
    shared.backward(h.grad)
    close(w.grad, whole)


@sweep(cases=100, shape=SMALL, a=weights, program=programs(SMOOTH), retain=booleans())
def graph_goes_with_its_last_user(shape, a, program, retain):
    inner = a.exp()
    loss = sum(computed(program, inner)).sum()
    loss.backward(retain_graph=retain)
    inner = weakref.ref(inner)
    del loss
    assert inner() is None


@sweep(
    cases=100, shape=SMALL, x=weights, w=weights, program=programs(SMOOTH), create_graph=booleans()
)
def a_gradient_penalty_needs_create_graph(shape, x, w, program, create_graph):
    def f(x, w):
        return computed(program, x * w.tanh())[-1].sum()

    def penalty(w):
        return torch.func.grad(f)(x.detach(), w).square().sum()

    (slope,) = grad(f(x, w), x, create_graph=create_graph)
    (w.sum() + slope.square().sum()).backward()
    trained = torch.func.grad(penalty)(w.detach())
    close(w.grad, 1 + trained if create_graph else torch.ones(shape, dtype=w.dtype))


@sweep(
    x=tensors(torch.float64, rank=(2, 2), size=(1, 3), values="normal", requires_grad=True),
    function=among((*IN_PLACE, "clone", "sum", "mean", "prod", "std", "max", "mm", "mul", "add")),
)
def hooks_see_each_saved_tensor(x, function):
    given = [x.mT] if function == "mm" else [x] if function in ("mul", "add") else []
    node = getattr(x, function)(*given).grad_fn
    names = [name for name in dir(node) if name.startswith("_saved_")]
    kept = [getattr(node, name) for name in names]
    packed = saved(lambda: getattr(x, function)(*given))
    assert len(packed) == sum(isinstance(each, torch.Tensor) for each in kept)


# Functions with a backward of their own


@sweep(cases=100, shape=SMALL, x=weights, weight=weights, program=programs(SMOOTH))
def a_weight_from_outside_gets_no_gradient(shape, x, weight, program):
    class FromOutside(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return computed(program, x, weight)[-1] * weight

        @staticmethod
        def backward(ctx, gradient):
            return gradient * weight

    FromOutside.apply(x).sum().backward()
    assert x.grad is not None
    assert weight.grad is None


@sweep(flags=several(booleans(), min_size=1, max_size=5))
def needs_input_grad_spares_half_the_work(flags):
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            return sum(tensors)

        @staticmethod
        def backward(ctx, gradient):
            assert list(ctx.needs_input_grad) == flags
            return tuple(gradient if flag else None for flag in ctx.needs_input_grad)

    leaves = [torch.ones(2, requires_grad=flag) for flag in flags]
    result = Sum.apply(*leaves)
    assert result.requires_grad == any(flags)
    if any(flags):
        result.sum().backward()
        assert [leaf.grad is not None for leaf in leaves] == flags
