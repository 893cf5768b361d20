"""Sweeps of the part on tensors."""

import math
import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import prune
from torch.testing import assert_close
from torch.utils.data import DataLoader, default_collate

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
    integers,
    several,
    shapes,
    tensors,
)

ANY_LAYOUT = (*LAYOUTS, "expanded")
MODELS = (
    lambda: nn.Linear(3, 2),
    lambda: nn.Conv2d(2, 3, 2),
    lambda: nn.Embedding(4, 3),
    lambda: nn.LSTM(2, 3),
    lambda: nn.LayerNorm(4),
    lambda: nn.BatchNorm1d(3),
)

SMOOTH = ("exp", "sin", "tanh", "sigmoid", "square", "atan")


def kind(dtype):
    """The kind of a dtype's numbers, from narrow to wide: bool, integer, float, complex."""
    return 3 * dtype.is_complex or 2 * dtype.is_floating_point or int(dtype != torch.bool)


def numbers_in(nested):
    """Return the numbers of nested lists, in order."""
    if not isinstance(nested, list):
        return [nested]
    return [number for each in nested for number in numbers_in(each)]


def positions(x):
    """Return where each element of a tensor lies in its storage."""
    count = x.untyped_storage().nbytes() // x.element_size()
    return torch.arange(max(count, 1)).as_strided(x.shape, x.stride(), x.storage_offset())


# Dtypes


@sweep(
    dtype=among(FLOATS),
    number=lambda dtype: integers(
        *((-(2**24), 2**24) if dtype is torch.float32 else (-(2**53), 2**53))
    ),
)
def float32_counts_to_two_to_the_24(dtype, number):
    assert int(torch.tensor(number, dtype=dtype)) == number


@sweep(digits=integers(1, 10**6), power=integers(-290, 290))
def float64_is_precise_relative_to_the_number(digits, power):
    x = torch.tensor(digits * 10.0**power, dtype=torch.float64)
    gap = x.nextafter(torch.tensor(math.inf, dtype=torch.float64)) - x
    assert 1e-16 < gap / x < 2.3e-16
    assert (x + gap / 4) - x == 0


@sweep(
    x=tensors(ALL, rank=(1, 4), layouts=ANY_LAYOUT),
    scalar=tensors(ALL, shape=()),
    function=among((torch.add, torch.mul)),
)
def numbers_and_scalars_raise_only_the_kind(x, scalar, function):
    assume(kind(scalar.dtype) <= kind(x.dtype))
    assert function(x, scalar).dtype == x.dtype
    assert function(x, scalar.item()).dtype == x.dtype


@sweep(
    x=tensors(ALL, rank=(1, 1), size=(2, 4)),
    values=lambda x: tensors(ALL, shape=tuple(x.shape)),
    by=among(("list", "index", "mask", "slice")),
)
def writing_by_index_asks_for_one_dtype(x, values, by):
    everything = {
        "list": list(range(len(x))),
        "index": torch.arange(len(x)),
        "mask": torch.ones(len(x), dtype=torch.bool),
        "slice": slice(None),
    }
    fails = error(lambda: x.__setitem__(everything[by], values)) != ""
    assert fails == (values.dtype != x.dtype and by != "slice")


@sweep(image=tensors(torch.uint8, layouts=ANY_LAYOUT), count=integers(1, 4))
def bytes_quarter_the_traffic(image, count):
    late, early = default_collate([image] * count), default_collate([image / 255] * count)
    assert 4 * late.nbytes == early.nbytes
    same(late / 255, early)


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT))
def bytetensor_is_uint8_not_bool(x):
    assert isinstance(x, torch.ByteTensor) == (x.dtype is torch.uint8)
    assert isinstance(x, torch.BoolTensor) == (x.dtype is torch.bool)


# Complex numbers


@sweep(
    shape=shapes(),
    x=lambda shape: tensors(ALL, shape=shape),
    y=lambda shape: tensors(ALL, shape=shape),
)
def torch_complex_needs_two_floats_of_one_dtype(shape, x, y):
    fit = x.dtype == y.dtype and x.dtype in (torch.float16, torch.float32, torch.float64)
    assert (error(lambda: torch.complex(x, y)) == "") == fit


@sweep(z=tensors(COMPLEX, values="normal"), x=tensors(NUMBERS[:9]))
def conj_is_a_lazy_view(z, x):
    other = z.clone() + 1j
    w = z.conj()
    assert w.data_ptr() == z.data_ptr()
    w.copy_(other)
    same(z, other.conj().resolve_conj())
    assert x.conj() is x


@sweep(x=tensors((torch.float64, torch.complex128), rank=(1, 4), size=(1, 6), values="normal"))
def norm_says_who_divides(x):
    n = x.shape[-1]
    assert_close(torch.fft.fft(x)[..., 0].real, x.sum(-1).real)
    assert_close(torch.fft.ifft(x)[..., 0].real, x.sum(-1).real / n)
    for transform in (torch.fft.fft, torch.fft.ifft):
        shared = transform(x, norm="ortho")
        assert_close(shared[..., 0].real, x.sum(-1).real / n**0.5)
        assert_close(shared.abs().square().sum(), x.abs().square().sum())


@sweep(batch=tensors((torch.float64, torch.complex128), rank=(3, 4), size=(1, 4), values="normal"))
def fft2_transforms_the_last_two_dims(batch):
    along_last = torch.fft.fft(batch)
    for transformed, sample in zip(along_last, batch, strict=True):
        assert_close(transformed, torch.fft.fft(sample))
    along_two = torch.fft.fft(along_last, dim=-2)
    assert_close(torch.fft.fft2(batch), along_two)
    for dim in range(batch.dim() - 2):
        along_two = torch.fft.fft(along_two, dim=dim)
    assert_close(torch.fft.fftn(batch), along_two)


@sweep(
    n=integers(2, 40),
    rate=integers(1, 1000),
    number=lambda n: integers(0, n // 2),
)
def rfftfreq_names_the_bins(n, rate, number):
    frequency = torch.fft.rfftfreq(n, d=1 / rate, dtype=torch.float64)
    t = torch.arange(n, dtype=torch.float64) / rate
    spectrum = torch.fft.rfft((2 * torch.pi * frequency[number] * t).cos())
    assert len(frequency) == len(spectrum)
    assert spectrum.abs().argmax() == number
    assert_close(frequency[number].item(), number * rate / n)


@sweep(batch=tensors(ALL, rank=(2, 4), size=(1, 5), layouts=ANY_LAYOUT))
def fftshift_shifts_the_batch_too(batch):
    shifted = torch.stack([torch.fft.fftshift(sample) for sample in batch])
    same(torch.fft.fftshift(batch), shifted.roll(len(batch) // 2, dims=0))


@sweep(
    x=tensors(torch.float64, rank=(1, 1), size=(1, 6)),
    k=tensors(torch.float64, rank=(1, 1), size=(1, 6)),
    more=integers(0, 7),
)
def pad_for_a_linear_convolution(x, k, more):
    n = max(len(x), len(k)) + more
    linear = functional.conv1d(x[None], k.flip(0)[None, None], padding=len(k) - 1)[0]
    product = torch.fft.rfft(x, n=n) * torch.fft.rfft(k, n=n)
    circular = torch.zeros(n, dtype=x.dtype)
    circular.index_add_(0, torch.arange(len(linear)) % n, linear)
    assert_close(torch.fft.irfft(product, n=n), circular)


@sweep(
    x=tensors(torch.float64, rank=(1, 1), size=(1, 6), values="normal"),
    k=tensors(torch.float64, rank=(1, 1), size=(1, 6)),
)
def conv1d_does_not_flip(x, k):
    n = len(x) + len(k) - 1
    product = torch.fft.rfft(x, n=n) * torch.fft.rfft(k, n=n)
    convolution = torch.fft.irfft(product, n=n)
    flipped, plain = (
        functional.conv1d(x[None], each[None, None], padding=len(k) - 1)[0]
        for each in (k.flip(0), k)
    )
    assert flipped.allclose(convolution)
    assert plain.allclose(convolution) == k.equal(k.flip(0))


# One-hot


@sweep(
    labels=tensors(torch.int64, layouts=ANY_LAYOUT),
    classes=integers(5, 9),
)
def one_hot_adds_a_last_dimension(labels, classes):
    assert functional.one_hot(labels.abs(), classes).shape == (*labels.shape, classes)


@sweep(labels=tensors(ALL, layouts=ANY_LAYOUT))
def one_hot_takes_and_gives_int64(labels):
    if labels.dtype == torch.int64:
        assert functional.one_hot(labels.abs(), 5).dtype == torch.int64
    else:
        assert error(lambda: functional.one_hot(labels, 5)).startswith("RuntimeError")


@sweep(label=integers(0, 200))
def one_hot_of_a_list_needs_classes(label):
    same(functional.one_hot(torch.tensor([label])), torch.eye(label + 1).long()[label:])


@sweep(
    labels=several(among((0, 1, 2, -100)), min_size=1, max_size=6),
    scores=lambda labels: tensors(FLOATS, shape=(len(labels), 3), values="normal"),
)
def one_hot_knows_no_ignored_label(labels, scores):
    labels = torch.tensor(labels)
    losses = functional.cross_entropy(scores, labels, reduction="none")
    assert torch.equal(losses == 0, labels == -100)
    known = labels != -100
    same(losses[known], functional.cross_entropy(scores[known], labels[known], reduction="none"))
    assert (error(lambda: functional.one_hot(labels)) == "") == known.all()


@sweep(
    scores=tensors((*FLOATS, *HALVES), rank=(1, 4), size=(1, 4), requires_grad=True),
    keep=booleans(),
)
def no_gradient_through_one_hot(scores, keep):
    assert not scores.argmax(dim=-1, keepdim=keep).requires_grad
    hard = functional.one_hot(scores.argmax(dim=-1, keepdim=keep)).float()
    assert not hard.requires_grad


@sweep(labels=several(integers(0, 30), min_size=1, max_size=8))
def one_hot_vectors_are_orthogonal(labels):
    classes = functional.one_hot(torch.tensor(sorted(set(labels)))).float()
    same(classes @ classes.T, torch.eye(len(classes)))
    distances = (classes[:, None] - classes).square().sum(dim=2)
    same(distances, 2 - 2 * torch.eye(len(classes)))


@sweep(
    labels=tensors(torch.uint8, size=(0, 4), layouts=ANY_LAYOUT),
    table=tensors((*FLOATS, *HALVES), shape=(5, 3), values="normal"),
)
def embedding_is_a_one_hot_product(labels, table):
    encoded = functional.one_hot(labels.long(), num_classes=5).to(table.dtype)
    same(functional.embedding(labels.long(), table), encoded @ table)


@sweep(
    shape=shapes(rank=(1, 3), size=(1, 4)),
    labels=lambda shape: tensors(torch.uint8, shape=shape),
    scores=lambda shape: tensors(FLOATS, shape=(shape[0], 5, *shape[1:]), values="normal"),
)
def cross_entropy_takes_labels_or_probabilities(shape, labels, scores):
    encoded = functional.one_hot(labels.long(), num_classes=5).movedim(-1, 1)
    expected = functional.cross_entropy(scores, labels.long())
    assert_close(functional.cross_entropy(scores, encoded.to(scores.dtype)), expected)
    likely = scores.softmax(dim=1)
    entropy = -(likely * likely.log()).sum(dim=1).mean()
    assert_close(functional.cross_entropy(scores, likely), entropy)
    assert error(lambda: functional.cross_entropy(scores, encoded)).startswith("RuntimeError")


# item


@sweep(x=tensors(ALL, size=(0, 2), layouts=ANY_LAYOUT))
def item_takes_one_element_of_any_rank(x):
    said = error(lambda: x.item())
    assert said == "" if x.numel() == 1 else said.startswith("RuntimeError")


@sweep(x=tensors(ALL, values="special", layouts=ANY_LAYOUT))
def tolist_gives_all_numbers(x):
    same(torch.tensor(numbers_in(x.tolist()), dtype=x.dtype), x.flatten())
    assert isinstance(x.tolist(), list) == (x.dim() > 0)
    if x.numel():
        assert torch.tensor(x.tolist()).shape == x.shape


@sweep(name=among(("exp", "sin", "square")), steps=integers(0, 30), start=integers(-3, 3))
def summed_losses_make_one_long_graph(name, steps, start):
    w = torch.tensor(float(start), requires_grad=True)
    total, additions = torch.tensor(0.0), 0
    for _ in range(steps):
        total += getattr(w, name)()
    node = total.grad_fn
    while node and node.name() == "AddBackward0":
        node, additions = node.next_functions[0][0], additions + 1
    assert additions == steps


@sweep(
    x=tensors(torch.float64, shape=(), values="normal", requires_grad=True),
    name=among(("exp", "sin", "square", "sigmoid", "abs")),
)
def item_leaves_the_graph(x, name):
    factor = getattr(x, name)().item()
    assert torch.autograd.grad(x * factor, x)[0] == factor
    assert not torch.tensor(factor).requires_grad


# Tensors


@sweep(rows=several(several(among((1, 2.5, True)), min_size=1, max_size=3), min_size=1, max_size=4))
def tensor_elements_share_one_dtype(rows):
    if len(set(map(len, rows))) > 1:
        assert error(lambda: torch.tensor(rows)).startswith("ValueError")
    else:
        types = {type(number) for row in rows for number in row}
        widest = max(types, key=[bool, int, float].index)
        assert torch.tensor(rows).dtype == torch.tensor(widest(1)).dtype


@sweep(number=among((7, 2.5, True, 1j)), depth=integers(0, 5))
def scalar_is_not_a_vector_of_one(number, depth):
    nested = number
    for _ in range(depth):
        nested = [nested]
    assert torch.tensor(nested).shape == (1,) * depth
    assert torch.tensor(nested).item() == number


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT))
def shape_and_size_are_one(x):
    assert type(x.size()) is type(x.shape)
    assert x.shape == x.size() == tuple(x.size(dim) for dim in range(x.dim()))
    assert x.ndim == x.dim() == len(x.shape)


@sweep(
    x=tensors(ALL, values="special", layouts=ANY_LAYOUT),
    y=tensors(ALL, layouts=ANY_LAYOUT),
    other=among(("itself", "copy", "double", "another")),
)
def equal_is_one_answer(x, y, other):
    y = {"itself": x, "copy": x.clone(), "double": x.to(torch.complex128), "another": y}[other]
    answer = torch.equal(x, y)
    assert isinstance(answer, bool)
    assert answer == (x.shape == y.shape and bool((x == y).all()))


@sweep(
    x=tensors(FLOATS, requires_grad=True),
    name=among((*SMOOTH, "argmax", "isnan", "detach", "clone", "t")),
    needed=booleans(),
    recording=booleans(),
)
def history_is_in_results_not_in_leaves(x, name, needed, recording):
    assume(x.numel() and (name != "t" or x.dim() < 3))
    x.requires_grad_(needed)
    with torch.set_grad_enabled(recording):
        result = getattr(x, name)()
    assert x.grad_fn is None
    if result.grad_fn is not None:
        assert needed
        assert recording


@sweep(
    x=tensors(torch.float64, values="normal", requires_grad=True),
    names=several(among(SMOOTH), min_size=1, max_size=4),
)
def walk_the_history_by_hand(x, names):
    y = x
    for name in names:
        y = getattr(y, name)()
    node, grad = y.grad_fn, torch.ones_like(y)
    for _ in names:
        grad, node = node(grad), node.next_functions[0][0]
    same(grad.detach(), torch.autograd.grad(y, x, torch.ones_like(y))[0])


# What PyTorch is


@sweep(
    make=among(OPTIMISERS),
    model=among(MODELS[:2]),
    momentum=booleans(),
    steps=integers(1, 3),
)
def one_class_holds_all_numbers(make, model, momentum, steps):
    layer = model()
    options = {"momentum": 0.9} if momentum and make is torch.optim.SGD else {}
    optimizer = make(layer.parameters(), **options)
    for _ in range(steps):
        sum(weight.square().sum() for weight in layer.parameters()).backward()
        optimizer.step()
    for weight, state in optimizer.state.items():
        for each in (weight, weight.grad, *state.values()):
            assert isinstance(each, torch.Tensor)


@sweep(
    x=tensors(FLOATS, requires_grad=True),
    names=several(among(SMOOTH), min_size=1, max_size=5),
)
def each_line_leaves_its_node(x, names):
    y = x
    for name in names:
        before, y = y, getattr(y, name)()
        assert torch.equal(y.detach(), getattr(before.detach(), name)())
        assert name in y.grad_fn.name().lower() or name == "square"
        if before.grad_fn:
            assert y.grad_fn.next_functions[0][0] is before.grad_fn


@sweep(
    x=tensors(FLOATS, rank=(1, 4), size=(1, 4)),
    name=among((*SMOOTH, "argmax", "isnan", "long", "nonzero", "bool", "detach")),
    needed=booleans(),
    recording=booleans(),
)
def most_operations_may_leave_no_node(x, name, needed, recording):
    x.requires_grad_(needed)
    with torch.set_grad_enabled(recording):
        result = getattr(x, name)()
    assert (result.grad_fn is not None) == (needed and recording and name in SMOOTH)


@sweep(
    name=among(("sum", "max", "mean", "any", "isnan", "item", "tolist")),
    negated=booleans(),
)
def branches_on_data_stop_a_static_trace(name, negated):
    def f(x):
        return x * 2 if (not getattr(x, name)() if negated else getattr(x, name)()) else x * 3

    assert error(lambda: torch.fx.symbolic_trace(f)).startswith("TraceError")


# Low precision


@sweep(
    make=among(OPTIMISERS),
    model=among(MODELS),
    dtype=among((torch.float32, *HALVES)),
)
def sixteen_bits_halve_what_is_in_sixteen_bits(make, model, dtype):
    def memory(dtype):
        layer = model().to(dtype)
        optimizer = make(layer.parameters())
        sum(weight.square().sum() for weight in layer.parameters()).backward()
        optimizer.step()
        for weight, state in optimizer.state.items():
            yield from (weight, weight.grad)
            yield from (x for x in state.values() if x is not None and x.shape == weight.shape)

    kept, single = list(memory(dtype)), list(memory(torch.float32))
    halved = 2 * sum(x.nbytes for x in kept) == sum(x.nbytes for x in single)
    assert halved == all(x.element_size() == 2 for x in kept)


# Random


@sweep(
    seed=integers(0, 2**40),
    draw=among((torch.rand, torch.randn)),
    count=integers(2, 40),
)
def a_seed_starts_a_sequence(seed, draw, count):
    torch.manual_seed(seed)
    first, second = draw(count, dtype=torch.float64), draw(count, dtype=torch.float64)
    torch.manual_seed(seed)
    same(draw(count, dtype=torch.float64), first)
    assert len({*first.tolist(), *second.tolist()}) == 2 * count


@sweep(
    seed=integers(0, 2**40),
    draw=among(("rand", "randn", "randint", "randperm", "normal", "bernoulli", "exponential")),
)
def one_more_draw_shifts_all_later_ones(seed, draw):
    one = {
        "rand": lambda: torch.rand(1),
        "randn": lambda: torch.randn(1),
        "randint": lambda: torch.randint(9, (1,)),
        "randperm": lambda: torch.randperm(5),
        "normal": lambda: torch.normal(0.0, 1.0, (1,)),
        "bernoulli": lambda: torch.bernoulli(torch.tensor([0.5])),
        "exponential": lambda: torch.empty(1).exponential_(),
    }
    torch.manual_seed(seed)
    later = torch.rand(20, dtype=torch.float64)
    torch.manual_seed(seed)
    one[draw]()
    assert (torch.rand(20, dtype=torch.float64) != later).all()


@sweep(seed=integers(0, 2**32 - 1), library=among(("random", "numpy", "torch")))
def three_libraries_three_states(seed, library):
    seeds = {"random": random.seed, "numpy": np.random.seed, "torch": torch.manual_seed}
    draws = {
        "random": random.random,
        "numpy": np.random.random,
        "torch": lambda: torch.rand((), dtype=torch.float64).item(),
    }
    seeds[library](seed)
    first = {name: draw() for name, draw in draws.items()}
    seeds[library](seed)
    assert [name for name, draw in draws.items() if draw() == first[name]] == [library]


@sweep(seed=integers(0, 2**40), count=integers(16, 100))
def randn_depends_on_the_size(seed, count):
    torch.manual_seed(seed)
    eight = torch.randn(8)
    torch.manual_seed(seed)
    assert not torch.equal(torch.randn(count)[:8], eight)


@sweep(
    seed=integers(0, 2**40),
    make=among((*MODELS, lambda: nn.ReLU(), lambda: nn.PReLU(), lambda: nn.Bilinear(1, 1, 1))),
)
def one_seed_proves_no_gain(seed, make):
    torch.manual_seed(seed)
    head = nn.Linear(1, 1)
    torch.manual_seed(seed)
    layer, again = make(), make()
    weights = zip(layer.parameters(), again.parameters(), strict=True)
    are_random = any(not torch.equal(a, b) for a, b in weights)
    torch.manual_seed(seed)
    make()
    assert (nn.Linear(1, 1).weight != head.weight).all() == are_random


@sweep(
    seed=integers(0, 2**40),
    size=integers(1, 5),
    batch=integers(1, 5),
    own=booleans(),
    shuffle=booleans(),
)
def a_loader_draws_a_seed_that_nobody_needs(seed, size, batch, own, shuffle):
    generator = torch.Generator() if own else None
    loader = DataLoader(range(size), batch_size=batch, shuffle=shuffle, generator=generator)
    torch.manual_seed(seed)
    used, unused = torch.default_generator, torch.Generator()
    used, unused = (generator, used) if own else (used, unused)
    before, untouched = used.get_state(), unused.get_state()
    list(loader)
    assert not torch.equal(used.get_state(), before)
    assert torch.equal(unused.get_state(), untouched)


@sweep(cases=60, seed=integers(0, 2**40), dtype=among((*FLOATS, *HALVES)))
def rand_includes_zero_and_excludes_one(seed, dtype):
    torch.manual_seed(seed)
    x = torch.rand(100_000, dtype=dtype)
    assert ((x >= 0) & (x < 1)).all()
    if dtype in HALVES:
        assert (x == 0).any()


@sweep(cases=60, seed=integers(0, 2**40), parts=integers(2, 8))
def rand_hits_equal_stretches_equally(seed, parts):
    torch.manual_seed(seed)
    x = torch.rand(200_000)
    assert ((x * parts).long().bincount() / len(x) - 1 / parts).abs().max() < 0.01
    assert ((x * 2**24).frac() == 0).all()


@sweep(cases=40, seed=integers(0, 2**40), width=integers(100, 400))
def weights_from_zero_to_one_explode_when_wide(seed, width):
    torch.manual_seed(seed)
    signal = torch.randn(width, dtype=torch.float64)
    layers = torch.rand(8, width, width, dtype=torch.float64)
    for number, layer in enumerate(layers):
        before, signal = signal, signal @ layer
        if number > 3:
            assert abs(signal.norm() / before.norm() / (width / 2) - 1) < 0.1


# Sparse


@sweep(x=tensors(ALL, values="special", layouts=ANY_LAYOUT))
def sparse_stores_positions_and_values(x):
    s = x.to_sparse()
    same(s.indices(), x.nonzero().T)
    same(s.values(), x[x != 0])


@sweep(
    values=tensors(ALL, rank=(1, 3), size=(0, 4), layouts=ANY_LAYOUT),
    indices=lambda values: tensors(torch.uint8, shape=among(((1, len(values)), (2, len(values))))),
)
def sparse_size_is_guessed_if_not_given(values, indices):
    s = torch.sparse_coo_tensor(indices.long(), values)
    greatest = [max(row, default=-1) for row in indices.tolist()]
    assert s.shape == (*(index + 1 for index in greatest), *values.shape[1:])


@sweep(x=tensors(ALL, rank=(2, 2), size=(1, 5), layouts=ANY_LAYOUT))
def csr_counts_rows_up(x):
    s = x.to_sparse_csr()
    same(s.col_indices(), x.nonzero()[:, 1])
    same(s.values(), x[x != 0])
    same(s.crow_indices()[1:], (x != 0).sum(dim=1).cumsum(0))
    assert s.crow_indices()[0] == 0


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT))
def dense_stores_every_position(x):
    repeated = any(n > 1 and stride == 0 for n, stride in zip(x.shape, x.stride(), strict=True))
    if not repeated:
        assert positions(x).unique().numel() == x.numel()
        assert x.untyped_storage().nbytes() >= x.numel() * x.element_size()
    same(x.clone().untyped_storage().nbytes(), x.numel() * x.element_size())


@sweep(
    values=tensors(ALL, rank=(1, 1), size=(0, 8)),
    size=several(integers(10, 2**31 - 1), min_size=1, max_size=2),
)
def petabytes_dense_gigabytes_sparse(values, size):
    places = torch.arange(len(values)).expand(len(size), -1)
    s = torch.sparse_coo_tensor(places, values, size, check_invariants=True).coalesce()
    assert s.shape == tuple(size)
    assert s.indices().nbytes == len(values) * len(size) * 8
    assert s.values().nbytes == values.nbytes


@sweep(
    labels=tensors(torch.uint8, rank=(1, 4), layouts=ANY_LAYOUT),
    options=among(({}, {"padding_idx": 0}, {"max_norm": 1.0})),
)
def sparse_embedding_has_a_sparse_gradient(labels, options):
    embedding = nn.Embedding(9, 2, sparse=True, **options)
    embedding(labels.long()).sum().backward()
    assert embedding.weight.grad.is_sparse
    stored = embedding.weight.grad.coalesce().indices().flatten().tolist()
    assert set(stored) <= set(labels.flatten().tolist())
    assert options or set(stored) == set(labels.flatten().tolist())


@sweep(x=tensors((torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)))
def the_bits_of_an_integer_by_shifts(x):
    width = 8 * x.element_size()
    places = torch.arange(width - 1, -1, -1, device=x.device)
    bits = x.flatten()[:, None].long() >> places & 1
    for value, row in zip(x.flatten().tolist(), bits.tolist(), strict=True):
        assert "".join(map(str, row)) == f"{value % 2**width:0{width}b}"


@sweep(x=tensors(NUMBERS, rank=(1, 3), layouts=ANY_LAYOUT))
def combine_masks_with_and_or_not(x):
    assume(not x.is_complex())
    flat = x.flatten().tolist()
    assert ((x > 0) & (x < 2)).flatten().tolist() == [0 < n < 2 for n in flat]
    assert ((x < 0) | (x > 2)).flatten().tolist() == [n < 0 or n > 2 for n in flat]
    assert (~(x > 0)).flatten().tolist() == [not n > 0 for n in flat]
    picked = [n for n in flat if 0 < n < 2]
    assert x[(x > 0) & (x < 2)].tolist() == picked


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT), shape=shapes())
def a_new_tensor_like_another(x, shape):
    zeros, full = torch.zeros_like(x), x.new_full(shape, 1)
    assert (zeros.shape, zeros.dtype, zeros.device) == (x.shape, x.dtype, x.device)
    assert not zeros.count_nonzero()
    assert (full.shape, full.dtype, full.device) == (torch.Size(shape), x.dtype, x.device)
    same(full, torch.ones(shape, dtype=x.dtype))


@sweep(samples=integers(1, 12), size=integers(1, 12))
def mean_loss_and_accuracy_of_an_epoch(samples, size):
    scores = torch.randn(samples, 3, dtype=torch.float64)
    labels = torch.arange(samples) % 3
    total, correct = 0.0, 0
    for each, right in zip(scores.split(size), labels.split(size), strict=True):
        total += functional.cross_entropy(each, right).item() * len(right)
        correct += (each.argmax(1) == right).sum().item()
    assert math.isclose(total / samples, functional.cross_entropy(scores, labels).item())
    assert correct / samples == (scores.argmax(1) == labels).double().mean().item()


@sweep(x=tensors((*FLOATS, *HALVES), layouts=("contiguous",)), amount=among((0.0, 0.3, 1.0)))
def pruning_saves_no_memory(x, amount):
    assume(x.numel())
    layer = nn.Module()
    layer.weight = nn.Parameter(x)

    def size():
        return sum(t.nbytes for t in {*layer.parameters(), *layer.buffers(), layer.weight})

    before = size()
    prune.l1_unstructured(layer, "weight", amount=amount)
    assert size() == 3 * before
    prune.remove(layer, "weight")
    assert size() == before


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT))
def a_tensor_as_a_key_is_found_by_identity(x):
    twin = x.clone()
    same(twin, x)
    assert x in {x: 1}
    assert twin not in {x: 1}
    assert len({x, twin, x}) == 2
