"""Sweeps of the part on modules."""

import copy
import io
import math
from functools import partial
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask
from torch.nn.utils import parametrizations, parametrize
from torch.nn.utils import rnn as sequences
from torch.testing import assert_close

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
DOUBLE = torch.float64
LENGTHS = several(integers(1, 4), min_size=1, max_size=4)
SIZES = integers(1, 4)
RATES = among((0.1, 0.3, 0.5, 0.7, 0.9))
RECURRENT = among((nn.RNN, nn.GRU, nn.LSTM))
RANDOM_LAYERS = (
    partial(nn.Linear, in_features=3, out_features=3),
    partial(nn.Conv1d, in_channels=3, out_channels=3, kernel_size=3, padding=1),
    partial(nn.ConvTranspose1d, in_channels=3, out_channels=3, kernel_size=3, padding=1),
    partial(nn.GRUCell, input_size=3, hidden_size=3),
)
CONSTANT_LAYERS = (
    partial(nn.LayerNorm, normalized_shape=3),
    partial(nn.BatchNorm1d, num_features=3),
    partial(nn.GroupNorm, num_groups=1, num_channels=3),
    nn.PReLU,
)
LAYERS = (*RANDOM_LAYERS, *CONSTANT_LAYERS)
"""Layers that make a 3 by 3 input from a 3 by 3 input."""
ACTIVATIONS = (
    nn.ReLU,
    nn.Tanh,
    nn.Sigmoid,
    nn.GELU,
    nn.SiLU,
    nn.ELU,
    nn.LeakyReLU,
    nn.Softplus,
    nn.Hardtanh,
    nn.PReLU,
)
LAZY = {
    partial(nn.LazyLinear, out_features=2): (4, 3),
    partial(nn.LazyConv1d, out_channels=2, kernel_size=1): (4, 3, 2),
    partial(nn.LazyConv2d, out_channels=2, kernel_size=1): (4, 3, 2, 2),
    partial(nn.LazyConvTranspose1d, out_channels=2, kernel_size=1): (4, 3, 2),
    partial(nn.LazyBatchNorm1d): (4, 3),
    partial(nn.LazyBatchNorm2d): (4, 3, 2, 2),
    partial(nn.LazyInstanceNorm1d, affine=True): (4, 3, 2),
}
DROPOUTS = {
    nn.Dropout: (2, 60),
    nn.Dropout1d: (2, 60, 2),
    nn.Dropout2d: (2, 60, 2, 2),
    nn.Dropout3d: (2, 60, 2, 2, 2),
    nn.AlphaDropout: (2, 60),
    nn.FeatureAlphaDropout: (2, 60, 2),
}
SHAPELESS = "RuntimeError: Can't access the shape of an uninitialized parameter or buffer"


def attend(*inputs, **options):
    """Return scaled dot-product attention."""
    return functional.scaled_dot_product_attention(*inputs, **options)


def normal(dtype, shape):
    """Draw tensors of normal values."""
    return tensors(dtype, shape=shape, values="normal")


def with_values(module):
    """Fill a module's parameters with random numbers, as training would; return it."""
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    return module


def filled(module, value):
    """Fill a module's parameters with one number; return it."""
    for parameter in module.parameters():
        nn.init.constant_(parameter, value)
    return module


def state(module):
    """Return copies of what a module saves."""
    return copy.deepcopy(dict(module.state_dict()))


def loaded(saved, **options):
    """Return what a file holds that `torch.save` has written."""
    file = io.BytesIO()
    torch.save(saved, file)
    file.seek(0)
    return torch.load(file, **options)


def trained(model, optimiser, steps, x, targets):
    """Train a model for some steps; return it."""
    optimizer = optimiser(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        functional.mse_loss(model(x), targets).backward()
        optimizer.step()
    return model


def span(layers, unit=2):
    """Return how many pixels lie from the first to the last that one output depends on."""
    x = y = torch.zeros(1, 1, 400, dtype=DOUBLE, requires_grad=True)
    for layer in layers:
        y = layer(y)
    y[..., unit].sum().backward()
    seen = x.grad.nonzero()[:, 2]
    return int(seen.max() - seen.min()) + 1


def convolution(kernel, stride=1, dilation=1):
    """Return a convolution with weights of 1."""
    weight = torch.ones(1, 1, kernel, dtype=DOUBLE)
    return lambda y: functional.conv1d(y, weight, None, stride, 0, dilation)


# Attention


@sweep(
    cases=100,
    queries=integers(0, 4),
    keys=integers(0, 4),
    batch=integers(0, 3),
    batch_first=booleans(),
    need_weights=booleans(),
)
def queries_set_the_length_of_the_output(queries, keys, batch, batch_first, need_weights):
    attention = nn.MultiheadAttention(4, 2, kdim=6, vdim=6, batch_first=batch_first)
    words, pixels = torch.randn(batch, queries, 4), torch.randn(batch, keys, 6)
    if not batch_first:
        words, pixels = words.transpose(0, 1), pixels.transpose(0, 1)
    out, weights = attention(words, pixels, pixels, need_weights=need_weights)
    assert out.shape == words.shape
    if need_weights:
        assert weights.shape == (batch, queries, keys)


@sweep(
    q=tensors((*FLOATS, *HALVES), rank=(4, 4), size=(1, 4), values="normal", layouts=ANY_LAYOUT),
    k=lambda q: normal(q.dtype, tuple(q.shape)),
    v=lambda q: normal(q.dtype, tuple(q.shape)),
    position=integers(0, 3),
    later=among((-100.0, 0.0, 100.0)),
)
def causal_attention_sees_no_later_values(q, k, v, position, later):
    before = attend(q, k, v, is_causal=True)[..., : position + 1, :]
    k[..., position + 1 :, :] = later
    v[..., position + 1 :, :] = later
    same(attend(q, k, v, is_causal=True)[..., : position + 1, :], before)


@sweep(
    cases=60,
    tokens=integers(1, 4),
    layers=integers(1, 2),
    norm_first=booleans(),
    training=booleans(),
)
def transformer_decoders_hide_nothing_by_themselves(tokens, layers, norm_first, training):
    layer = nn.TransformerDecoderLayer(
        4, 2, 8, 0.0, batch_first=True, norm_first=norm_first, dtype=DOUBLE
    )
    decoder = nn.TransformerDecoder(layer, layers).train(training)
    tgt = torch.randn(1, tokens, 4, dtype=DOUBLE, requires_grad=True)
    first = decoder(tgt, torch.randn(1, 5, 4, dtype=DOUBLE))[0, 0, 0]
    (gradient,) = torch.autograd.grad(first, tgt)
    assert gradient.any(2).all()


@sweep(
    q=tensors(FLOATS, rank=(2, 4), size=(1, 4), values="normal"),
    k=lambda q: normal(q.dtype, tuple(q.shape)),
    mask=lambda q: tensors(torch.bool, shape=(q.shape[-2], q.shape[-2]), layouts=ANY_LAYOUT),
    values=among(("ones and zeros", "normal")),
)
def float_masks_are_added_to_the_scores(q, k, mask, values):
    mask = mask.to(q.dtype) if values == "ones and zeros" else torch.randn_like(mask, dtype=q.dtype)
    one_hot = torch.eye(k.shape[-2], dtype=q.dtype).expand(*k.shape[:-2], -1, -1)
    weights = attend(q, k, one_hot, mask)
    assert_close(weights, (q @ k.mT / math.sqrt(q.shape[-1]) + mask).softmax(-1))
    assert (weights > 0).all()


@sweep(
    cases=100,
    length=integers(2, 4),
    heads=among((1, 2)),
    need_weights=booleans(),
    training=booleans(),
    gradients=booleans(),
)
def a_query_without_keys_is_nan_or_zero(length, heads, need_weights, training, gradients):
    attention = with_values(nn.MultiheadAttention(2, heads, batch_first=True)).train(training)
    x, causal = torch.randn(1, length, 2), torch.ones(length, length).bool().triu(1)
    padding = torch.arange(length)[None] < 1
    with torch.set_grad_enabled(gradients):
        out, _ = attention(x, x, x, padding, need_weights, attn_mask=causal)
    on_fast_path = not training and not gradients and heads == 2
    lost = need_weights or on_fast_path
    expected = torch.full((2,), math.nan) if lost else attention.out_proj.bias
    assert_close(out[0, 0], expected, equal_nan=True)
    assert not out[0, 1:].isnan().any()


# Dropout


@sweep(
    cases=60,
    p=RATES,
    x=tensors((*FLOATS, *HALVES), shape=(2, 200), values="normal", requires_grad=True),
)
def each_call_draws_a_new_mask(p, x):
    y = functional.dropout(x, p)
    assert not torch.equal(y == 0, functional.dropout(x, p) == 0)
    assert not torch.equal(y[0] == 0, y[1] == 0)
    y.sum().backward()
    same(y.detach(), x.detach() * x.grad)


@sweep(
    x=tensors((*FLOATS, *HALVES), values="special", layouts=ANY_LAYOUT),
    p=among((0.0, -0.0, 0, 1, 0.5, 1e-9, 1.0, True, -1e-9, 1.0000001, 2, math.nan, math.inf)),
    function=among((functional.dropout, functional.alpha_dropout, torch.dropout)),
)
def dropout_limits(x, p, function):
    refusal = error(lambda: function(x, p, True))
    assert ("dropout probability has to be between 0 and 1" in refusal) == (not 0 <= p <= 1)
    if p in (0, 1):
        same(function(x, p, True), x if p == 0 else x * 0)


@sweep(
    cases=40,
    p=among((0.0, 0.01, 0.2, 0.5, 0.8, 0.99)),
    x=tensors((*FLOATS, *HALVES), rank=(0, 1), size=(1, 4), values="normal"),
)
def scaling_keeps_the_mean(p, x):
    draws = 100_000
    dropped = functional.dropout(x.expand(draws, *x.shape), p).double()
    deviation = x.double().abs() * math.sqrt(p / (1 - p) / draws)
    rounding = x.double().abs() * 4 * torch.finfo(x.dtype).eps
    assert ((dropped.mean(0) - x).abs() <= 6 * deviation + rounding).all()


@sweep(x=tensors((*FLOATS, *HALVES), values="normal", layouts=ANY_LAYOUT), p=RATES)
def dropout_before_or_after_the_activation(x, p):
    torch.manual_seed(0)
    after = functional.dropout(functional.relu(x), p)
    torch.manual_seed(0)
    same(functional.relu(functional.dropout(x, p)), after)


@sweep(
    cases=30,
    p=among((0.0, 0.05, 0.2, 0.5, 0.8)),
    dtype=among(FLOATS),
    values=among(("normal", "uniform", "signs", "selu")),
)
def alpha_dropout_keeps_mean_and_variance(p, dtype, values):
    x = torch.randn(200_000, dtype=dtype)
    if values == "uniform":
        x = (torch.rand_like(x) - 0.5) * math.sqrt(12)
    elif values == "signs":
        x = x.sign()
    elif values == "selu":
        x = functional.selu(x)
    y = nn.AlphaDropout(p)(x)
    assert abs(y.mean()) < 0.03
    assert abs(y.var() - 1) < 0.06


@sweep(
    cases=100,
    kind=among(tuple(DROPOUTS)),
    p=RATES,
    context=among((torch.enable_grad, torch.no_grad, torch.inference_mode)),
)
def identity_needs_eval_mode(kind, p, context):
    layer, x = kind(p), torch.randn(DROPOUTS[kind])
    with context():
        same(layer.eval()(x), x)
        assert not torch.equal(layer.train()(x), x)


@sweep(cases=60, p=RATES, dtype=among((*FLOATS, *HALVES)), heads=integers(1, 3))
def attention_drops_weights_in_eval_mode_too(p, dtype, heads):
    class Attention(nn.Module):
        def forward(self, x):
            return attend(x, x, x, dropout_p=p)

    same_for_each = Attention().eval()(torch.ones(heads, 60, 1, dtype=dtype))
    assert len(same_for_each.unique()) > 1


@sweep(cases=60, layers=integers(1, 3), bidirectional=booleans(), length=integers(1, 4))
def lstm_dropout_is_between_layers(layers, bidirectional, length):
    lstm = nn.LSTM(3, 4, layers, dropout=1.0, bidirectional=bidirectional)
    x = torch.randn(length, 2, 3)
    last = nn.LSTM(lstm.input_size if layers == 1 else 4 + 4 * bidirectional, 4, 1)
    if bidirectional:
        last = nn.LSTM(last.input_size, 4, bidirectional=True)
    names = zip(last.state_dict(), [*lstm.state_dict()][-len(last.state_dict()) :], strict=True)
    last.load_state_dict({own: lstm.state_dict()[name] for own, name in names})
    given = x if layers == 1 else torch.zeros(length, 2, last.input_size)
    assert_close(lstm(x)[0], last(given)[0])


# Embeddings


@sweep(
    text=tensors((torch.int64, torch.int32), layouts=ANY_LAYOUT),
    width=integers(0, 4),
)
def embedding_adds_a_dimension(text, width):
    words = nn.Embedding(5, width)
    assert words(text.abs()).shape == (*text.shape, width)
    same(words(text.abs()), words.weight[text.abs().long()])


@sweep(
    cases=100,
    scores=tensors(FLOATS, rank=(1, 3), size=(1, 5), values="normal"),
    choose=among((torch.argmax, torch.argmin, torch.argsort, torch.round)),
)
def no_gradient_goes_through_indices(scores, choose):
    words = nn.Embedding(100, 2)
    hidden = (scores.requires_grad_() * 2).tanh()
    words(choose(hidden).long().abs()).sum().backward()
    assert scores.grad is None
    assert words.weight.grad is not None


@sweep(
    cases=100,
    text=tensors((torch.int64, torch.int32), rank=(0, 2)),
    padding_idx=among((None, 0, 4)),
    by_frequency=booleans(),
)
def one_word_costs_a_gradient_of_the_whole_table(text, padding_idx, by_frequency):
    words = nn.Embedding(5, 2, padding_idx, scale_grad_by_freq=by_frequency)
    words(text.abs()).sum().backward()
    assert words.weight.grad.layout == torch.strided
    assert words.weight.grad.untyped_storage().nbytes() == words.weight.untyped_storage().nbytes()


@sweep(
    lengths=several(integers(0, 3), min_size=1, max_size=4),
    mode=among(("sum", "mean", "max")),
    table=tensors(FLOATS, shape=(5, 2), values="normal"),
)
def offsets_say_where_each_bag_begins(lengths, mode, table):
    words, sizes = torch.randint(5, (sum(lengths),)), torch.tensor(lengths)
    bag = nn.EmbeddingBag.from_pretrained(table, mode=mode)
    rows = bag(words, sizes.cumsum(0) - sizes)
    reduce = {"sum": torch.sum, "mean": torch.mean, "max": torch.amax}[mode]
    for row, own in zip(rows, words.split(lengths), strict=True):
        assert_close(row, reduce(table[own], 0) if len(own) else torch.zeros_like(row))


@sweep(
    texts=tensors(torch.int64, rank=(2, 2), size=(1, 4)),
    padding_idx=among((None, 0, 2, 4)),
    table=tensors(FLOATS, shape=(5, 2), values="normal"),
)
def a_mean_counts_the_padding(texts, padding_idx, table):
    words = nn.Embedding.from_pretrained(table, padding_idx=padding_idx)
    means = words(texts.abs()).mean(1)
    for text, mean in zip(texts.abs(), means, strict=True):
        assert_close(mean, sum(table[index] for index in text) / len(text))


@sweep(
    cases=60,
    vectors=tensors(FLOATS, shape=(3, 2), values="normal"),
    kind=among((nn.Embedding, nn.EmbeddingBag)),
    optimiser=among(OPTIMISERS),
)
def from_pretrained_trains_the_tensor_itself(vectors, kind, optimiser):
    words, before = kind.from_pretrained(vectors, freeze=False), vectors.clone()
    words(torch.tensor([[0, 1, 2]])).sum().backward()
    optimiser(words.parameters(), lr=0.1).step()
    same(vectors, words.weight.detach())
    assert not torch.equal(vectors, before)


@sweep(
    cases=60,
    fixed=tensors(FLOATS, rank=(2, 2), size=(1, 3), values="normal"),
    optimiser=among(OPTIMISERS),
    steps=integers(1, 3),
)
def fixed_rows_are_safest_in_a_table_apart(fixed, optimiser, steps):
    before, new = fixed.clone(), nn.Parameter(torch.randn(2, fixed.shape[1], dtype=fixed.dtype))
    start = new.detach().clone()
    optimizer = optimiser([new], lr=0.1)
    for _ in range(steps):
        words = torch.arange(len(fixed) + 2)
        functional.embedding(words, torch.cat([fixed, new])).exp().sum().backward()
        optimizer.step()
    same(torch.cat([fixed, new])[: len(fixed)].detach(), before)
    assert not torch.equal(new, start)


@sweep(
    cases=100,
    text=tensors(torch.int64, rank=(1, 2), size=(1, 4)),
    padding_idx=among((None, 0)),
    loss=among((functional.cross_entropy, functional.mse_loss)),
)
def a_tied_table_has_a_gradient_in_every_row(text, padding_idx, loss):
    words, head = nn.Embedding(5, 3, dtype=DOUBLE), nn.Linear(3, 5, dtype=DOUBLE)
    words.padding_idx, head.weight = padding_idx, words.weight
    scores = head(words(text.abs())).flatten(0, -2)
    loss(scores, torch.rand_like(scores)).backward()
    assert words.weight.grad.any(1).all()


# Initialisation


def equal_units(inputs, units, outputs, activation, value):
    """Return a network of one hidden layer whose hidden units are equal."""
    model = nn.Sequential(nn.Linear(inputs, units), activation(), nn.Linear(units, outputs))
    model.double()
    model[0].weight = nn.Parameter(torch.randn(1, inputs, dtype=DOUBLE).repeat(units, 1))
    model[2].weight = nn.Parameter(torch.randn(outputs, 1, dtype=DOUBLE).repeat(1, units))
    nn.init.constant_(model[0].bias, value)
    return model


@sweep(
    cases=100,
    x=tensors(DOUBLE, rank=(2, 2), size=(1, 4), values="normal"),
    units=integers(1, 4),
    activation=among(ACTIVATIONS),
)
def hidden_units_share_one_gradient(x, units, activation):
    model = equal_units(x.shape[1], units, 2, activation, 0.5)
    functional.mse_loss(model(x), torch.randn(len(x), 2, dtype=DOUBLE)).backward()
    for layer, dim in (model[0], 0), (model[2], 1):
        for row in layer.weight.grad.unbind(dim):
            assert_close(row, layer.weight.grad.select(dim, 0))


@sweep(
    cases=60,
    x=tensors(DOUBLE, rank=(2, 2), size=(1, 4), values="normal"),
    hidden=integers(1, 2),
    activation=among(ACTIVATIONS),
    optimiser=among(OPTIMISERS),
)
def zeros_keep_the_symmetry(x, hidden, activation, optimiser):
    layers = [nn.Linear(x.shape[1], 3), activation()]
    layers += [nn.Linear(3, 3), activation()] * (hidden - 1)
    model = filled(nn.Sequential(*layers, nn.Linear(3, 1)).double(), 0.0)
    trained(model, optimiser, 4, x, torch.randn(len(x), 1, dtype=DOUBLE))
    for out in (model[: number + 1](x) for number in range(len(layers))):
        assert_close(out, out[:, :1].expand_as(out))


@sweep(
    cases=60,
    x=tensors(DOUBLE, rank=(2, 2), size=(1, 4), values="normal"),
    hidden=integers(1, 3),
    activation=among((nn.ReLU, nn.Tanh)),
    optimiser=among(OPTIMISERS),
)
def zeros_with_relu_learn_nothing(x, hidden, activation, optimiser):
    layers = [nn.Linear(x.shape[1], 3), activation()]
    for _ in range(hidden - 1):
        layers += [nn.Linear(3, 3), activation()]
    model = filled(nn.Sequential(*layers, nn.Linear(3, 1)).double(), 0.0)
    trained(model, optimiser, 4, x, torch.ones(len(x), 1, dtype=DOUBLE))
    *others, last_bias = model.parameters()
    assert last_bias.any()
    assert not any(other.any() for other in others)


@sweep(
    cases=100,
    x=tensors(DOUBLE, rank=(2, 2), size=(1, 4), values="normal"),
    units=integers(1, 8),
    activation=among(ACTIVATIONS),
)
def identical_units_count_as_one(x, units, activation):
    model = equal_units(x.shape[1], units, 2, activation, 0.5)
    one = nn.Sequential(nn.Linear(x.shape[1], 1), activation(), nn.Linear(1, 2)).double()
    one[0].weight = nn.Parameter(model[0].weight[:1])
    one[0].bias = nn.Parameter(model[0].bias[:1])
    one[2].weight = nn.Parameter(model[2].weight.sum(1, keepdim=True))
    one[2].bias = model[2].bias
    assert_close(model(x), one(x))


@sweep(
    x=tensors(DOUBLE, rank=(1, 2), size=(1, 4), values="normal"),
    biases=tensors(DOUBLE, rank=(1, 1), size=(2, 3)),
)
def random_biases_break_the_symmetry(x, biases):
    layer = nn.Linear(x.shape[-1], len(biases), dtype=DOUBLE)
    nn.init.zeros_(layer.weight)
    assert len(layer(x).unique()) == len(biases)
    layer.bias = nn.Parameter(biases)
    assert len(layer(x).unique()) == len(biases.unique())


@sweep(
    cases=50,
    x=tensors(DOUBLE, rank=(2, 2), size=(2, 5), values="normal"),
    targets=lambda x: normal(DOUBLE, (len(x), 1)),
)
def linear_models_start_at_zero(x, targets):
    model = filled(nn.Linear(x.shape[1], 1, dtype=DOUBLE), 0.0)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = functional.mse_loss(model(x), targets)
        loss.backward()
        return loss

    optimizer.step(closure)
    with_ones = torch.cat([x, torch.ones(len(x), 1, dtype=DOUBLE)], 1)
    best = with_ones @ torch.linalg.lstsq(with_ones, targets, driver="gelsd").solution
    assert_close(model(x), best, atol=1e-3, rtol=0)


@sweep(cases=100, nested=several(several(among(LAYERS), max_size=3), max_size=3))
def apply_reaches_each_module(nested):
    model = nn.Sequential(*(nn.Sequential(*(made() for made in inner)) for inner in nested))
    called = []
    model.apply(called.append)
    assert {*map(id, called)} == {*map(id, model.modules())}
    assert len(called) == 1 + len(nested) + sum(map(len, nested))


@sweep(cases=100, x=tensors(DOUBLE, rank=(1, 2), size=(1, 4), values="normal"), units=SIZES)
def zero_biases_are_fine(x, units):
    layer = nn.Linear(x.shape[-1], units, dtype=DOUBLE)
    nn.init.zeros_(layer.bias)
    layer(x).square().sum().backward()
    assert layer(x).unique(dim=-1).shape[-1] == units
    assert layer.bias.grad.all()


@sweep(
    cases=60,
    x=tensors(DOUBLE, rank=(2, 2), size=(1, 4), values="normal"),
    constant=among((0.0, 0.25, -1.0, 3.0)),
    activation=among(ACTIVATIONS),
    optimiser=among(OPTIMISERS),
)
def constants_are_like_zeros(x, constant, activation, optimiser):
    model = nn.Sequential(nn.Linear(x.shape[1], 3), activation(), nn.Linear(3, 1)).double()
    filled(model, constant)
    trained(model, optimiser, 3, x, torch.randn(len(x), 1, dtype=DOUBLE))
    out = model[:2](x)
    assert_close(out, out[:, :1].expand_as(out))


# The shapes of layers


@sweep(
    leading=shapes((0, 4)),
    x=lambda leading: tensors((*FLOATS, *HALVES), shape=(*leading, 3), layouts=ANY_LAYOUT),
    out_features=integers(0, 4),
)
def linear_keeps_leading_dimensions(leading, x, out_features):
    linear = nn.Linear(3, out_features, dtype=x.dtype)
    assert linear(x).shape == (*leading, out_features)


@sweep(x=tensors(ALL, rank=(2, 4), layouts=ANY_LAYOUT))
def flatten_before_the_first_linear(x):
    flat = nn.Flatten()(x)
    assert flat.dim() == 2
    assert len(flat) == len(x)
    for row, sample in zip(flat, x, strict=True):
        same(row, sample.flatten())


@sweep(
    x=tensors(FLOATS, rank=(3, 3), size=(1, 4), values="normal"),
    changed=integers(0, 3),
    out_features=SIZES,
)
def linear_treats_positions_alike(x, changed, out_features):
    linear, changed = nn.Linear(x.shape[2], out_features, dtype=x.dtype), changed % x.shape[1]
    before = linear(x)
    x[:, changed] += 1
    moved = (linear(x) - before).abs().amax((0, 2)) > 1e-4
    assert moved.nonzero().flatten().tolist() == [changed]
    assert_close(linear(x)[:, changed], linear(x[:, changed]))


@sweep(x=tensors(FLOATS, rank=(3, 4), size=(0, 9), layouts=ANY_LAYOUT))
def pooling_halves_until_nothing_is_left(x):
    assume(all(x.shape[:-2]))
    *leading, height, width = x.shape
    if height < 2 or width < 2:
        assert error(lambda: nn.MaxPool2d(2)(x)).startswith("RuntimeError")
    else:
        assert nn.MaxPool2d(2)(x).shape == (*leading, height // 2, width // 2)


@sweep(
    cases=100,
    x=tensors(torch.float32, rank=(3, 3), size=(1, 4), layouts=ANY_LAYOUT),
    layers=integers(1, 2),
    batch_first=booleans(),
    bidirectional=booleans(),
)
def swapped_axes_raise_only_with_a_state(x, layers, batch_first, bidirectional):
    lstm = nn.LSTM(x.shape[2], 5, layers, batch_first=batch_first, bidirectional=bidirectional)
    assert lstm(x.transpose(0, 1))[0].shape[:2] == (x.shape[1], x.shape[0])
    zeros = torch.zeros(layers * (1 + bidirectional), x.shape[not batch_first], 5)
    swapped = error(lambda: lstm(x.transpose(0, 1), (zeros, zeros)))
    assert ("Expected hidden[0] size" in swapped) == (x.shape[0] != x.shape[1])


@sweep(
    cases=100,
    x=tensors(torch.float32, rank=(3, 3), size=(1, 4), values="normal"),
    layers=integers(1, 3),
    dropout=among((0.0, 0.5)),
    proj_size=integers(0, 2),
)
def last_output_is_last_state(x, layers, dropout, proj_size):
    lstm = nn.LSTM(x.shape[2], 4, layers, dropout=dropout, proj_size=proj_size)
    output, (h_n, _) = lstm(x)
    same(output[-1], h_n[-1])


@sweep(
    cases=60,
    lengths=LENGTHS,
    kind=RECURRENT,
    layers=integers(1, 2),
    bidirectional=booleans(),
    padding=among((0.0, 9.0, math.nan)),
)
def packing_stops_at_each_end(lengths, kind, layers, bidirectional, padding):
    model = kind(2, 3, layers, bidirectional=bidirectional)
    samples = [torch.randn(length, 2) for length in lengths]
    x = sequences.pad_sequence(samples, padding_value=padding)
    _, state = model(sequences.pack_padded_sequence(x, lengths, enforce_sorted=False))
    final = state[0] if kind is nn.LSTM else state
    for number, sample in enumerate(samples):
        alone = model(sample)[1]
        assert_close(final[:, number], alone[0] if kind is nn.LSTM else alone)


@sweep(
    cases=60,
    lengths=LENGTHS,
    kind=RECURRENT,
    padding=among((0.0, -7.0)),
    batch_first=booleans(),
)
def last_step_of_unpacked_output_is_padding(lengths, kind, padding, batch_first):
    model, samples = kind(2, 3), [torch.randn(length, 2) for length in lengths]
    packed, _ = model(sequences.pack_sequence(samples, enforce_sorted=False))
    output, _ = sequences.pad_packed_sequence(packed, batch_first, padding)
    last = output[:, -1] if batch_first else output[-1]
    assert [bool((row == padding).all()) for row in last] == [
        length < max(lengths) for length in lengths
    ]


@sweep(
    lengths=LENGTHS,
    x=lambda lengths: tensors(ALL, shape=(len(lengths), max(lengths)), layouts=ANY_LAYOUT),
)
def packed_data_go_step_by_step(lengths, x):
    packed = sequences.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    order = packed.sorted_indices.tolist()
    steps = [(n, step) for step in range(max(lengths)) for n in order if step < lengths[n]]
    same(packed.data, torch.stack([x[sample, step] for sample, step in steps]))


@sweep(
    x=tensors(DOUBLE, rank=(4, 4), size=(1, 4), values="normal", layouts=ANY_LAYOUT),
    kernel=tensors(DOUBLE, rank=(2, 2), size=(1, 3), values="normal"),
    stride=integers(1, 2),
)
def one_kernel_for_every_channel(x, kernel, stride):
    """Each channel alone gives its part of the result."""
    channels = x.shape[1]
    options = {"padding": 1, "stride": stride}
    together = functional.conv2d(
        x, kernel.expand(channels, 1, *kernel.shape), groups=channels, **options
    )
    alone = [functional.conv2d(x[:, [c]], kernel[None, None], **options) for c in range(channels)]
    assert_close(together, torch.cat(alone, 1))


# Lazy modules


@sweep(cases=50, kind=among(tuple(LAZY)))
def lazy_module_changes_its_own_class(kind):
    layer = kind()
    net, lazy = nn.ModuleList([layer]), type(layer)
    net[0](torch.ones(LAZY[kind]))
    assert net[0] is layer
    assert type(layer) is lazy.cls_to_become


@sweep(taken=several(booleans(), max_size=5))
def unreached_layers_stay_lazy(taken):
    net = nn.ModuleList(nn.LazyLinear(2) for _ in taken)
    for layer, reached in zip(net, taken, strict=True):
        if reached:
            layer(torch.ones(3))
    assert [isinstance(layer, nn.LazyLinear) for layer in net] == [not each for each in taken]


@sweep(cases=50, kind=among(tuple(LAZY)), dtype=among((*FLOATS, *HALVES)))
def uninitialised_weight_has_no_shape(kind, dtype):
    for weight in kind(dtype=dtype).parameters():
        if isinstance(weight, nn.UninitializedParameter):
            assert weight.dtype == dtype
            assert weight.device.type == "cpu"
            assert error(lambda weight=weight: weight.shape).startswith(SHAPELESS)


@sweep(kernel=integers(1, 3), channels=SIZES, height=integers(3, 7), width=integers(3, 7))
def lazy_layers_follow_the_sizes(kernel, channels, height, width):
    conv = nn.Conv2d(1, channels, kernel)
    model = nn.Sequential(conv, nn.Flatten(), nn.LazyLinear(10))
    assert error(lambda: model[2].weight.numel()).startswith("ValueError")
    assert model(torch.zeros(2, 1, height, width)).shape == (2, 10)
    assert model[2].in_features == channels * (height - kernel + 1) * (width - kernel + 1)


@sweep(weight=tensors(FLOATS, layouts=ANY_LAYOUT), out_features=SIZES)
def lazy_layer_believes_the_file(weight, out_features):
    layer = nn.LazyLinear(out_features, bias=False, dtype=weight.dtype)
    layer.load_state_dict({"weight": weight})
    same(layer.weight.detach(), weight)


@sweep(cases=50, kind=among(tuple(LAZY)))
def uninitialised_state_dict_loads_only_into_lazy(kind):
    eager, lazy = kind(), kind()
    eager(torch.ones(LAZY[kind]))
    assert SHAPELESS.partition(": ")[2] in error(lambda: eager.load_state_dict(kind().state_dict()))
    lazy.load_state_dict(kind().state_dict())
    assert lazy.has_uninitialized_params()


# Looking into a model


@sweep(cases=100, kinds=several(among(LAYERS), max_size=4))
def forward_records_the_same_graph(kinds):
    model, x = nn.Sequential(*(kind() for kind in kinds)), torch.randn(3, 3, requires_grad=True)
    inputs = [x, *model.parameters()]
    called = torch.autograd.grad(model(x).square().sum(), inputs)
    same(torch.autograd.grad(model.forward(x).square().sum(), inputs), called)


@sweep(cases=100, kind=among(RANDOM_LAYERS))
def a_layer_made_in_forward_is_random_each_time(kind):
    class Net(nn.Module):
        def forward(self, x):
            return kind()(x)

    net, x = Net(), torch.ones(3, 3)
    assert not torch.equal(net(x), net(x))
    assert not list(net.parameters())


@sweep(cases=100, kind=among(tuple(DROPOUTS)), p=RATES)
def dropout_made_in_forward_stays_on(kind, p):
    class Net(nn.Module):
        def forward(self, x):
            return kind(p)(x)

    x = torch.randn(DROPOUTS[kind])
    assert not torch.equal(Net().eval()(x), x)


@sweep(cases=100, kind=among(LAYERS), optimiser=among(OPTIMISERS))
def a_layer_assigned_in_forward_is_not_trained(kind, optimiser):
    class Net(nn.Module):
        def forward(self, x):
            self.head = kind()
            return self.head(x)

    net, x = Net(), torch.ones(3, 3)
    net(x)
    head, optimizer = net.head, optimiser(net.parameters())
    assert [name for name, _ in net.named_children()] == ["head"]
    net(x).square().sum().backward()
    optimizer.step()
    assert net.head is not head
    assert all(parameter.grad is None for parameter in head.parameters())


@sweep(
    x=tensors((*FLOATS, *HALVES), values="normal", layouts=ANY_LAYOUT),
    requires_grad=booleans(),
    function=among((None, "detach", "exp", "clone", "t_copy", "view_as")),
)
def a_computed_weight_stops_deepcopy(x, requires_grad, function):
    x.requires_grad_(requires_grad)
    assume(function != "t_copy" or x.dim() <= 2)
    module = nn.Module()
    module.weight = x
    if function == "view_as":
        module.weight = x.view_as(x)
    elif function == "t_copy":
        module.weight = torch.t_copy(x)
    elif function:
        module.weight = getattr(x, function)()
    stopped = error(lambda: copy.deepcopy(module))
    assert ("Only Tensors created explicitly by the user" in stopped) == (not module.weight.is_leaf)


@sweep(cases=100, kinds=several(among(RANDOM_LAYERS), min_size=1, max_size=3))
def same_layers_with_new_weights(kinds):
    model = nn.Sequential(*(kind() for kind in kinds))
    fresh, before = copy.deepcopy(model), state(model)
    for module in fresh.modules():
        if hasattr(module, "reset_parameters"):
            module.reset_parameters()
    same(state(model), before)
    for new, old in zip(fresh.parameters(), model.parameters(), strict=True):
        assert new.shape == old.shape
        assert not torch.equal(new, old)


@sweep(cases=100, kinds=several(among(LAYERS), min_size=1, max_size=3), changed=integers(0, 99))
def compare_state_dicts_tensor_by_tensor(kinds, changed):
    model = nn.Sequential(*(kind() for kind in kinds))
    twin = copy.deepcopy(model)
    a, b = model.state_dict(), twin.state_dict()
    assert a.keys() == b.keys()
    assert all(torch.equal(a[name], b[name]) for name in a)
    with torch.no_grad():
        [*twin.parameters()][changed % len([*twin.parameters()])].view(-1)[0] += 1
    assert not all(torch.equal(a[name], b[name]) for name in a)


@sweep(x=tensors(ALL, values="special", layouts=ANY_LAYOUT))
def saving_rounds_nothing(x):
    back = loaded(x)
    assert (back.dtype, back.shape) == (x.dtype, x.shape)
    bits, kept = (torch.cat([each.flatten()]).view(torch.uint8) for each in (x, back))
    assert torch.equal(bits, kept)


# Modules or functions


@sweep(
    cases=150,
    x=tensors(DOUBLE, rank=(3, 5), size=(3, 5), values="normal", layouts=ANY_LAYOUT),
    mode=among(("zeros", "reflect", "replicate", "circular")),
    padding=integers(0, 2),
    stride=integers(1, 2),
)
def padding_mode_belongs_to_the_layer(x, mode, padding, stride):
    spatial = x.dim() - 2
    kind = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[spatial - 1]
    layer = kind(x.shape[1], 2, 3, stride, padding, padding_mode=mode, dtype=DOUBLE)
    padded = functional.pad(x, (padding,) * 2 * spatial, "constant" if mode == "zeros" else mode)
    function = (functional.conv1d, functional.conv2d, functional.conv3d)[spatial - 1]
    assert_close(layer(x), function(padded, layer.weight, layer.bias, stride))


@sweep(x=tensors(FLOATS, rank=(2, 5), size=(2, 4), values="special", layouts=ANY_LAYOUT))
def relu_and_pooling_have_no_state(x):
    pools = (nn.MaxPool1d, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)
    functions = (functional.max_pool1d,) * 2 + (functional.max_pool2d, functional.max_pool3d)
    pool, function = pools[x.dim() - 2](2), functions[x.dim() - 2]
    assert not nn.ReLU().state_dict()
    assert not pool.state_dict()
    same(nn.ReLU()(x), functional.relu(x))
    same(pool(x), function(x, 2))


@sweep(cases=100, kind=among(LAYERS), uses=integers(1, 4))
def one_relu_may_serve_in_many_places(kind, uses):
    layer, x = with_values(kind()).double(), torch.randn(3, 3, dtype=DOUBLE)
    copies = [copy.deepcopy(layer) for _ in range(uses)]
    shared = nn.Sequential(*[layer] * uses)
    shared(x).sum().backward()
    nn.Sequential(*copies)(x).sum().backward()
    assert len([*shared.parameters()]) == len([*layer.parameters()])
    for weight, *own in zip(layer.parameters(), *(c.parameters() for c in copies), strict=True):
        assert_close(weight.grad, sum(each.grad for each in own))


@sweep(
    x=tensors(DOUBLE, rank=(1, 3), size=(1, 4), values="normal", layouts=ANY_LAYOUT),
    sizes=several(SIZES, min_size=1, max_size=4),
    bias=booleans(),
)
def layers_of_one_input_are_one_wider_layer(x, sizes, bias):
    """Any number of layers, of any widths."""
    layers = [nn.Linear(x.shape[-1], size, bias, dtype=DOUBLE) for size in sizes]
    weight = torch.cat([layer.weight for layer in layers])
    biases = torch.cat([layer.bias for layer in layers]) if bias else None
    parts = functional.linear(x, weight, biases).split(sizes, dim=-1)
    for layer, part in zip(layers, parts, strict=True):
        assert_close(layer(x), part)


# Normalisation


@sweep(x=tensors(DOUBLE, rank=(3, 5), size=(1, 4), values="normal", layouts=ANY_LAYOUT))
def groupnorm_spans_from_instance_to_layer(x):
    channels = x.shape[1]
    whole = nn.LayerNorm(x.shape[1:], dtype=x.dtype)
    assume(x[0, 0].numel() > 1)
    assert_close(nn.GroupNorm(1, channels, dtype=x.dtype)(x), whole(x))
    assert_close(nn.GroupNorm(channels, channels, dtype=x.dtype)(x), functional.instance_norm(x))


@sweep(x=tensors(FLOATS, rank=(3, 3), size=(1, 4), values="normal", layouts=ANY_LAYOUT))
def batchnorm1d_wants_features_second(x):
    assume(x.shape[0] * x.shape[2] > 1)
    norm = nn.BatchNorm1d(x.shape[1], momentum=1.0, dtype=x.dtype)
    norm(x)
    assert_close(norm.running_mean, x.mean((0, 2)))
    swapped = error(lambda: norm(x.transpose(1, 2)))
    assert swapped == "" or "running_mean" in swapped or "more than 1 value" in swapped
    assert ("running_mean" in swapped) == (x.shape[1] != x.shape[2] and "more" not in swapped)


@sweep(
    cases=100,
    channels=integers(1, 4),
    spatial=integers(1, 3),
    kind=among(("BatchNorm", "InstanceNorm", "GroupNorm", "LayerNorm", "RMSNorm")),
)
def instancenorm_learns_nothing_by_default(channels, spatial, kind):
    arguments = {"GroupNorm": (1, channels), "LayerNorm": ([channels] * spatial,)}
    name = f"{kind}{spatial}d" if kind in ("BatchNorm", "InstanceNorm") else kind
    norm = getattr(nn, name)(*arguments.get(kind, (channels,)))
    learnt = {"InstanceNorm": [], "RMSNorm": ["weight"]}.get(kind, ["weight", "bias"])
    assert [each for each, _ in norm.named_parameters()] == learnt
    assert bool([*norm.buffers()]) == (kind == "BatchNorm")


@sweep(
    x=tensors(FLOATS, rank=(2, 2), size=(2, 4), values="special", layouts=ANY_LAYOUT),
    kind=among(("layer", "group")),
)
def a_norm_over_one_value_erases_it(x, kind):
    if kind == "layer":
        norm, values = nn.LayerNorm(1, dtype=x.dtype), x[..., None]
    else:
        norm, values = nn.GroupNorm(x.shape[1], x.shape[1], dtype=x.dtype), x
    nn.init.normal_(norm.bias)
    out = norm(values).view_as(x)
    bias = norm.bias.expand_as(x)
    rounding = 0 if kind == "layer" else 1e-4 * (1 + x.abs())
    assert ((out - bias).abs() <= rounding)[x.isfinite()].all()


@sweep(
    counted=integers(0, 5),
    x=tensors(DOUBLE, rank=(2, 2), size=(2, 4), values="normal", layouts=ANY_LAYOUT),
)
def the_count_of_batches_is_loaded_too(counted, x):
    old = nn.BatchNorm1d(x.shape[1], dtype=DOUBLE)
    for _ in range(counted):
        old(torch.randn_like(x))
    norm = nn.BatchNorm1d(x.shape[1], momentum=None, dtype=DOUBLE)
    norm.load_state_dict(old.state_dict())
    norm(x)
    expected = (old.running_mean * counted + x.mean(0)) / (counted + 1)
    assert_close(norm.running_mean, expected)


@sweep(
    x=tensors(DOUBLE, rank=(2, 4), size=(1, 4), values="normal"),
    loss=among(("abs", "exp", "square", "sin")),
)
def a_bias_before_batchnorm_learns_nothing(x, loss):
    assume(x[:, 0].numel() > 1)
    bias = torch.randn(x.shape[1], *[1] * (x.dim() - 2), dtype=DOUBLE, requires_grad=True)
    norm = (nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d)[x.dim() - 2](x.shape[1], dtype=DOUBLE)
    assert_close(norm(x + bias), norm(x))
    getattr(norm(x + bias), loss)().mean().backward()
    assert_close(bias.grad, torch.zeros_like(bias))


@sweep(
    x=tensors(DOUBLE, shape=(6, 3), values="normal"),
    scale=among((1.0, 10.0)),
    out_features=SIZES,
)
def weights_before_batchnorm_have_no_scale(x, scale, out_features):
    w = torch.randn(out_features, 3, dtype=DOUBLE) * scale
    small, large = w.clone().requires_grad_(), (10 * w).requires_grad_()
    norm = nn.BatchNorm1d(out_features, dtype=DOUBLE)
    outputs = [norm(functional.linear(x, weight)) for weight in (small, large)]
    assert_close(*outputs, rtol=1e-3, atol=1e-3)
    for out in outputs:
        (out * x[:, :1]).sum().backward()
    assert_close(large.grad, small.grad / 10, rtol=1e-3, atol=1e-3)


# Parameters and buffers


@sweep(cases=100, kinds=several(among(LAYERS), max_size=4))
def a_module_list_has_no_forward(kinds):
    layers, x = [kind() for kind in kinds], torch.randn(3, 3)
    expected = x
    for layer in layers:
        expected = layer(expected)
    same(nn.Sequential(*layers)(x), expected)
    assert "missing the required" in error(lambda: nn.ModuleList(layers)(x))


@sweep(
    tensor=tensors(ALL, layouts=ANY_LAYOUT),
    kind=among(("tensor", "buffer", "parameter", "number", "module", "None")),
)
def tensor_cannot_take_a_parameters_name(tensor, kind):
    value = {
        "tensor": tensor,
        "buffer": nn.Buffer(tensor),
        "parameter": nn.Parameter(tensor, requires_grad=False),
        "number": 3.0,
        "module": nn.Identity(),
        "None": None,
    }[kind]
    refusal = error(lambda: setattr(nn.Linear(2, 1), "weight", value))
    assert refusal.startswith("TypeError") == (kind not in ("parameter", "None"))


@sweep(
    cases=60,
    kind=among(
        (
            partial(nn.Linear, 2, 2),
            partial(nn.Conv1d, 2, 2, 1),
            partial(nn.ConvTranspose2d, 2, 2, 1),
            partial(nn.Bilinear, 2, 2, 2),
            partial(nn.LayerNorm, 2),
        )
    ),
    value=tensors(FLOATS),
)
def parameter_can_be_none(kind, value):
    layer = kind(bias=False)
    assert layer.bias is None
    assert "bias" not in layer.state_dict()
    layer.bias = nn.Parameter(value)
    assert "bias" in layer.state_dict()


@sweep(
    cases=150,
    buffer=tensors(ALL, layouts=ANY_LAYOUT),
    plain=tensors(ALL),
    persistent=booleans(),
    depth=integers(0, 2),
)
def buffer_moves_with_its_module(buffer, plain, persistent, depth):
    module = inner = nn.Module()
    for _ in range(depth):
        module = nn.Sequential(module)
    inner.buffer, inner.plain = nn.Buffer(buffer, persistent=persistent), plain
    module.to("meta")
    assert inner.buffer.is_meta
    assert inner.plain is plain


@sweep(cases=100, sizes=several(integers(2, 5), min_size=1, max_size=5), channels=SIZES)
def momentum_none_keeps_the_plain_mean(sizes, channels):
    norm = nn.BatchNorm1d(channels, momentum=None, dtype=DOUBLE)
    batches = [torch.randn(size, channels, dtype=DOUBLE) * 9 for size in sizes]
    for batch in batches:
        norm(batch)
    assert_close(norm.running_mean, torch.stack([batch.mean(0) for batch in batches]).mean(0))


@sweep(
    parameter=tensors((*FLOATS, *HALVES)),
    buffer=tensors(ALL, layouts=ANY_LAYOUT),
    dtype=among((*FLOATS, *HALVES)),
    by_name=booleans(),
)
def converting_spares_integer_buffers(parameter, buffer, dtype, by_name):
    assume(not buffer.is_complex() or by_name)
    module, kept = nn.Module(), buffer.dtype
    module.parameter, module.buffer = nn.Parameter(parameter), nn.Buffer(buffer)
    names = {"torch.float32": "float", "torch.float64": "double", "torch.float16": "half"}
    getattr(module, names.get(str(dtype), "bfloat16"))() if by_name else module.to(dtype)
    assert module.parameter.dtype == dtype
    assert module.buffer.dtype == (dtype if kept.is_floating_point else kept)


@sweep(
    old=tensors(ALL, layouts=ANY_LAYOUT),
    new=tensors(ALL, layouts=ANY_LAYOUT),
    persistent=booleans(),
)
def tensor_assigned_to_a_buffer_is_the_buffer(old, new, persistent):
    module = nn.Module()
    module.mean = nn.Buffer(old, persistent=persistent)
    module.mean = new
    assert dict(module.named_buffers())["mean"] is new
    assert ("mean" in module.state_dict()) == persistent
    assert error(lambda: setattr(module, "mean", 5.0)).startswith("TypeError")


@sweep(plain=tensors((*FLOATS, *HALVES, *COMPLEX), layouts=ANY_LAYOUT, requires_grad=True))
def plain_tensor_is_unknown_to_its_module(plain):
    module, dtype = nn.Module(), plain.dtype
    module.plain = plain
    module.double()
    assert not [*module.buffers(), *module.parameters(), *module.state_dict()]
    assert module.plain.dtype == dtype
    module.plain.sum().abs().backward()
    assert plain.grad is not None


@sweep(cases=100, kind=among(LAYERS), uses=integers(1, 4))
def tied_weight_is_listed_once(kind, uses):
    layers = [with_values(kind()).double() for _ in range(uses)]
    for layer in layers[1:]:
        for name, parameter in layers[0].named_parameters():
            setattr(layer, name, parameter)
    net, x = nn.ModuleList(layers), torch.randn(3, 3, dtype=DOUBLE)
    sum(layer(x).sin().sum() for layer in net).backward()
    alone = copy.deepcopy(layers[0])
    alone.zero_grad()
    alone(x).sin().sum().backward()
    for tied, single in zip(net.parameters(), alone.parameters(), strict=True):
        assert_close(tied.grad, uses * single.grad)
    assert len(net.state_dict()) == uses * len(alone.state_dict())


@sweep(
    cases=100,
    weight=tensors(DOUBLE, rank=(2, 2), size=(1, 4), values="normal"),
    function=among(("exp", "tanh", "square", "sigmoid", "neg")),
)
def parametrization_trains_the_original(weight, function):
    class Made(nn.Module):
        def forward(self, original):
            return getattr(original, function)()

    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=False, dtype=DOUBLE)
    layer.weight = nn.Parameter(weight)
    parametrize.register_parametrization(layer, "weight", Made(), unsafe=True)
    (original,) = layer.parameters()
    assert layer.weight is not layer.weight
    same(layer.weight, getattr(original, function)())
    layer(torch.randn(3, weight.shape[1], dtype=DOUBLE)).sum().backward()
    assert original.grad.any()


@sweep(cases=100, kind=among(LAYERS), uses=integers(1, 3), assign=booleans(), keep_vars=booleans())
def assign_unties_weights(kind, uses, assign, keep_vars):
    net = nn.ModuleList(kind() for _ in range(uses))
    own = len([*net[0].parameters()])
    for layer in net:
        for name, parameter in net[0].named_parameters():
            setattr(layer, name, parameter)
    net.load_state_dict(net.state_dict(keep_vars=keep_vars), assign=assign)
    untied = assign and not keep_vars
    assert len([*net.parameters()]) == (own * uses if untied else own)


# Pooling and resizing


@sweep(
    length=integers(1, 12),
    kernel=integers(1, 5),
    stride=integers(1, 5),
    padding=integers(0, 2),
    ceil_mode=booleans(),
)
def ceil_mode_keeps_the_last_pixels(length, kernel, stride, padding, ceil_mode):
    assume(length + 2 * padding >= kernel >= max(stride, 2 * padding))
    x = torch.zeros(1, 1, length, requires_grad=True)
    pooled = functional.avg_pool1d(x, kernel, stride, padding, ceil_mode)
    pooled.sum().backward()
    left_out = 0 if ceil_mode else max(0, (length + 2 * padding - kernel) % stride - padding)
    assert x.grad[0, 0].ne(0).tolist() == [True] * (length - left_out) + [False] * left_out


@sweep(
    x=tensors(FLOATS, rank=(4, 4), size=(1, 9), values="normal", layouts=ANY_LAYOUT),
)
def global_pooling_takes_any_size(x):
    pooled = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())(x)
    assert_close(pooled, x.mean((2, 3)))
    assert nn.Linear(x.shape[1], 10, dtype=x.dtype)(pooled).shape == (len(x), 10)


@sweep(
    x=tensors((*FLOATS, *HALVES), shape=(1, 1, 4, 6), layouts=ANY_LAYOUT),
    kernel=among(((2, 2), (4, 3), (1, 6), (3, 3))),
)
def max_pooling_gives_ties_to_the_first(x, kernel):
    x.requires_grad_()
    functional.max_pool2d(x, kernel).sum().backward()
    expected = torch.zeros(4, 6)
    for top in range(0, 5 - kernel[0], kernel[0]):
        for left in range(0, 7 - kernel[1], kernel[1]):
            window = x[0, 0, top : top + kernel[0], left : left + kernel[1]].flatten().tolist()
            row, column = divmod(window.index(max(window)), kernel[1])
            expected[top + row, left + column] = 1
    assert x.grad[0, 0].tolist() == expected.tolist()


@sweep(width=integers(2, 20), smaller=integers(1, 19), antialias=booleans())
def downsampling_skips_pixels_without_antialias(width, smaller, antialias):
    assume(smaller < width)
    x = torch.zeros(1, 1, 1, width, dtype=DOUBLE, requires_grad=True)
    out = functional.interpolate(x, (1, smaller), mode="bilinear", antialias=antialias)
    read = [torch.autograd.grad(each, x, retain_graph=True)[0].ne(0) for each in out.flatten()]
    assert antialias or max(int(each.sum()) for each in read) <= 2
    assert not antialias or sum(read).ne(0).all()
    assert antialias or 2 * smaller >= width or not sum(read).ne(0).all()


@sweep(width=integers(1, 40), size=integers(1, 40), dtype=among(FLOATS))
def nearest_takes_the_first_pixel_of_each_block(width, size, dtype):
    x = torch.arange(width, dtype=dtype).view(1, 1, width)
    first = [number * width // size for number in range(size)]
    centre = [(2 * number + 1) * width // (2 * size) for number in range(size)]
    assert functional.interpolate(x, size, mode="nearest").flatten().tolist() == first
    assert functional.interpolate(x, size, mode="nearest-exact").flatten().tolist() == centre


@sweep(
    x=tensors(DOUBLE, rank=(3, 4), size=(1, 6), values="normal"),
    factor=among((0.3, 0.5, 0.7, 1.0, 1.2, 1.5, 2.0, 2.7)),
    way=among(("area", "align_corners", "recompute")),
)
def size_and_scale_factor_differ(x, factor, way):
    size = [math.floor(each * factor) for each in x.shape[2:]]
    assume(all(size))
    options = {"mode": ("linear", "bilinear")[x.dim() - 3]}
    options |= {"align_corners": True} if way == "align_corners" else {}
    options = {"mode": "area"} if way == "area" else options
    again = {"recompute_scale_factor": True} if way == "recompute" else {}
    scaled = functional.interpolate(x, scale_factor=factor, **options, **again)
    assert_close(scaled, functional.interpolate(x, size, **options))


# The receptive field


@sweep(
    cases=100,
    layers=several(
        among(
            (
                convolution(3),
                convolution(3, dilation=2),
                convolution(2, stride=2),
                torch.relu,
                partial(functional.max_pool1d, kernel_size=2),
                partial(functional.avg_pool1d, kernel_size=3, stride=2),
            )
        ),
        max_size=4,
    ),
)
def gradient_stays_inside_and_may_miss_some(layers):
    everything = torch.randn(1, 1, 300, dtype=DOUBLE, requires_grad=True)
    y = everything
    for layer in layers:
        y = layer(y)
    y[..., 2].sum().backward()
    reached = everything.grad.nonzero()[:, 2].tolist()
    averaging = {torch.relu: lambda y: y}
    field = [averaging.get(layer, layer) for layer in layers]
    field = [
        partial(functional.avg_pool1d, kernel_size=2)
        if getattr(layer, "func", None) is functional.max_pool1d
        else layer
        for layer in field
    ]
    assert not reached or max(reached) - min(reached) + 1 <= span(field)


@sweep(
    layers=several(
        among([(k, s, d) for k in (1, 2, 3, 5) for s in (1, 2, 3) for d in (1, 2)]), max_size=3
    )
)
def receptive_field_formula(layers):
    size, jump = 1, 1
    for kernel, stride, dilation in layers:
        size, jump = size + (kernel - 1) * dilation * jump, jump * stride
    assert span([convolution(*layer) for layer in layers]) == size


@sweep(kernels=several(integers(2, 4), min_size=1, max_size=4), dilation=integers(2, 4))
def equal_dilations_leave_holes(kernels, dilation):
    x = y = torch.zeros(1, 1, 200, dtype=DOUBLE, requires_grad=True)
    for kernel in kernels:
        y = convolution(kernel, dilation=dilation)(y)
    y[..., 0].sum().backward()
    seen = x.grad.nonzero()[:, 2]
    assert (seen % dilation == 0).all()
    assert seen.max() + 1 > len(seen)


# Scaled dot-product attention


@sweep(
    cases=150,
    lengths=LENGTHS,
    heads=integers(1, 3),
    dtype=among(FLOATS),
)
def padding_masks_need_two_more_dimensions(lengths, heads, dtype):
    x = torch.randn(len(lengths), heads, max(lengths), 2, dtype=dtype)
    real = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    out = attend(x, x, x, real[:, None, None, :])
    for sample, whole, length in zip(x, out, lengths, strict=True):
        alone = sample[:, :length]
        assert_close(whole[:, :length], attend(alone, alone, alone))


@sweep(
    x=tensors((*FLOATS, *HALVES), rank=(2, 4), size=(1, 4), values="normal"),
    shown=lambda x: tensors(torch.bool, shape=(x.shape[-2], x.shape[-2])),
    kind=among(("bool", "infinity", "lowest")),
)
def fully_masked_queries_return_zeros(x, shown, kind):
    assume(kind != "lowest" or x.dtype != torch.float16)
    hidden = ~shown.any(1)
    lowest = -math.inf if kind == "infinity" else torch.finfo(x.dtype).min
    added = torch.zeros(shown.shape, dtype=x.dtype).masked_fill(~shown, lowest)
    out = attend(x, x, x, shown if kind == "bool" else added)[..., hidden, :]
    mean = x.mean(-2, keepdim=True).expand_as(out)
    assert_close(out, mean if kind == "lowest" else torch.zeros_like(out))


@sweep(
    cases=60,
    length=integers(10, 20),
    heads=integers(1, 3),
    dtype=among(FLOATS),
    is_causal=booleans(),
    kernel=among((SDPBackend.MATH, SDPBackend.FLASH_ATTENTION)),
)
def the_plain_formula_stores_the_weights(length, heads, dtype, is_causal, kernel):
    stored, x = [], torch.ones(1, heads, length, 2, dtype=dtype, requires_grad=True)
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda t: stored.append(t.numel()), id)
    with sdpa_kernel(kernel), hooks:
        attend(x, x, x, is_causal=is_causal)
    assert (heads * length * length in stored) == (kernel is SDPBackend.MATH)


@sweep(cases=20, lengths=several(among((0, 100, 128, 200, 256)), min_size=1, max_size=3))
def block_masks_without_a_batch_are_those_of_sample_0(lengths):
    sizes = torch.tensor(lengths)

    def real(sample, head, query, key):
        return key < sizes[sample]

    alone = create_block_mask(real, None, None, 256, 256, device="cpu").to_dense()
    every = create_block_mask(real, len(lengths), None, 256, 256, device="cpu").to_dense()
    same(alone, every[:1])


@sweep(cases=60, lengths=LENGTHS, heads=integers(1, 2))
def jagged_attention_needs_no_padding(lengths, heads):
    samples = [torch.randn(length, heads * 2) for length in lengths]
    x = torch.nested.nested_tensor(samples, layout=torch.jagged)
    split = x.unflatten(-1, (heads, 2)).transpose(1, 2)
    out = attend(split, split, split).transpose(1, 2).unbind()
    for sample, own in zip(samples, out, strict=True):
        alone = sample.unflatten(-1, (heads, 2)).transpose(0, 1)
        assert_close(own, attend(alone, alone, alone).transpose(0, 1))


@sweep(cases=60, lengths=LENGTHS, function=among((torch.add, torch.mul, torch.sub)))
def jagged_tensors_of_equal_lengths_do_not_add(lengths, function):
    samples = [torch.ones(length, 1) for length in lengths]
    a, b = (torch.nested.nested_tensor(samples, layout=torch.jagged) for _ in "ab")
    assert error(lambda: function(a, b)).startswith("RuntimeError")
    assert error(lambda: function(a, 2 * a)) == ""


# Spectral normalisation


@sweep(
    cases=60,
    sizes=several(integers(1, 8), min_size=2, max_size=4),
    scale=among((0.1, 3.0, 50.0)),
)
def slope_is_the_largest_singular_value(sizes, scale):
    layers = []
    for inputs, outputs in pairwise(sizes):
        linear = nn.Linear(inputs, outputs, dtype=DOUBLE)
        linear.weight = nn.Parameter(torch.randn(outputs, inputs, dtype=DOUBLE) * scale)
        layers += [parametrizations.spectral_norm(linear), nn.ReLU()]
    model = nn.Sequential(*layers).eval()
    near, far = torch.randn(2, 50, sizes[0], dtype=DOUBLE)
    assert ((model(near) - model(far)).norm(dim=1) <= 1.1 * (near - far).norm(dim=1)).all()


@sweep(
    cases=60,
    wrap=among((nn.utils.spectral_norm, parametrizations.spectral_norm)),
    inputs=integers(20, 40),
    outputs=integers(20, 40),
    calls=integers(1, 3),
    training=booleans(),
)
def iteration_happens_in_training_mode(wrap, inputs, outputs, calls, training):
    layer = wrap(nn.Linear(inputs, outputs)).train(training)
    before = state(layer)
    for _ in range(calls):
        layer(torch.ones(inputs))
    after = state(layer)
    moved = [name for name in before if not torch.equal(before[name], after[name])]
    assert bool(moved) == training


# Train and eval


@sweep(
    nested=several(several(among(LAYERS), max_size=2), max_size=3),
    modes=several(booleans(), min_size=1, max_size=4),
)
def train_and_eval_set_a_flag(nested, modes):
    model = nn.Sequential(*(nn.Sequential(*(made() for made in inner)) for inner in nested))
    for mode in modes:
        (model.train if mode else model.eval)()
        assert {module.training for module in model.modules()} == {mode}


@sweep(
    cases=100,
    kind=among(LAYERS),
    mode=among((True, False, 0, 1, 1.0, "eval", "", None, (), torch.tensor(True))),
)
def train_takes_a_bool(kind, mode):
    refusal = error(lambda: kind().train(mode))
    expected = "" if mode is True or mode is False else "ValueError: training mode is expected"
    assert refusal.startswith(expected)
    assert bool(refusal) == bool(expected)


@sweep(
    cases=100,
    container=among((nn.ModuleList, list, tuple, lambda layers: nn.Sequential(*layers))),
    kind=among(tuple(DROPOUTS)),
    p=RATES,
)
def eval_reaches_registered_modules(container, kind, p):
    model, x = nn.Module(), torch.randn(DROPOUTS[kind])
    model.layers = container([kind(p)])
    model.eval()
    registered = isinstance(model.layers, nn.Module)
    assert torch.equal(model.layers[0](x), x) == registered


@sweep(cases=60, p=RATES, units=integers(60, 100), bias=booleans())
def dropout_zeroes_activations_not_weights(p, units, bias):
    linear = nn.Linear(3, units, bias)
    before = state(linear)
    y = nn.Sequential(linear, nn.Dropout(p))(torch.ones(2, 3))
    same(state(linear), before)
    assert not torch.equal(y[0] == 0, y[1] == 0)


@sweep(
    x=tensors(DOUBLE, rank=(2, 2), size=(2, 5), values="normal"),
    difference=among((-10.0, 1.0, 100.0)),
)
def batches_of_one_kind_mislead_batchnorm(x, difference):
    norm = nn.BatchNorm1d(x.shape[1], momentum=None, dtype=DOUBLE)
    assert_close(norm(x + difference), norm(x))
    norm.eval()
    assert ((norm(x + difference) - norm(x)) * difference > 0).all()


# Transfer learning


@sweep(cases=100, classes=integers(1, 9), features=SIZES, changed=integers(1, 9))
def new_classes_new_weight(classes, features, changed):
    head = nn.Linear(features, classes)
    head.out_features = changed
    assert (len(head.weight), len(head.bias)) == (classes, classes)
    assert head(torch.zeros(2, features)).shape == (2, classes)


@sweep(cases=100, kind=among(LAYERS), old=SIZES, new=SIZES)
def replace_the_head_before_or_after(kind, old, new):
    def net(classes):
        return nn.ModuleDict({"body": kind(), "head": nn.Linear(3, classes)})

    file = state(with_values(net(old)))
    first, second = net(old), net(new)
    first.load_state_dict(file)
    first["head"] = nn.Linear(3, new)
    body = {name: each for name, each in file.items() if name.startswith("body.")}
    second.load_state_dict(body, strict=False)
    same(state(first["body"]), state(second["body"]))
    assert first["head"].weight.shape == second["head"].weight.shape


@sweep(cases=100, kind=among(LAYERS), prefix=among(("module.", "_orig_mod.", "model.", "x")))
def nothing_matches_and_nothing_is_said(kind, prefix):
    target = kind()
    before = state(target)
    file = {prefix + name: each for name, each in state(with_values(kind())).items()}
    found = target.load_state_dict(file, strict=False)
    same(state(target), before)
    assert found.unexpected_keys == [*file]


@sweep(
    cases=100,
    frozen=integers(0, 3),
    optimiser=among(OPTIMISERS),
    training=booleans(),
)
def what_a_step_changes_when_early_layers_are_frozen(frozen, optimiser, training):
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 3), nn.Linear(3, 1))
    model.train(training)
    model[:frozen].requires_grad_(False)
    before = state(model)
    optimizer = optimiser(model.parameters(), lr=0.1)
    model(torch.randn(5, 2)).exp().sum().backward()
    optimizer.step()
    changed = {name for name, each in model.state_dict().items() if not each.equal(before[name])}
    statistics = {name for name, _ in model.named_buffers()}
    learning = {name for name, each in model.named_parameters() if each.requires_grad}
    moved = learning | (statistics if training else set())
    before_norm = {"0.bias"}
    assert changed - before_norm == moved - before_norm


@sweep(
    x=tensors((*FLOATS, *HALVES, *COMPLEX), rank=(1, 3), size=(1, 4), requires_grad=True),
    row=integers(0, 3),
)
def single_tensors_can_be_edited_with_care(x, row):
    row %= len(x)
    assert error(lambda: x[row].requires_grad_(False)).startswith("RuntimeError: you can only")
    assert error(lambda: x[row].fill_(9)).startswith("RuntimeError: a view of a leaf Variable")
    x.detach()[row] = 9
    assert x[row].eq(9).all()
    assert not x.requires_grad_(False)[row].requires_grad


@sweep(
    cases=100,
    rates=several(among((None, 0.01, 0.5)), min_size=1, max_size=4),
    optimiser=among(OPTIMISERS),
)
def groups_with_their_own_learning_rate(rates, optimiser):
    weights = [nn.Parameter(torch.ones(2)) for _ in rates]
    pairs = zip(weights, rates, strict=True)
    groups = [{"params": [w]} | ({} if rate is None else {"lr": rate}) for w, rate in pairs]
    optimizer = optimiser(groups, lr=0.1)
    assert [group["lr"] for group in optimizer.param_groups] == [rate or 0.1 for rate in rates]


@sweep(x=tensors(ALL, rank=(3, 4), size=(1, 3)), factor=integers(1, 3))
def pixel_unshuffle_is_space_to_depth(x, factor):
    *front, height, width = x.shape
    image = x.repeat_interleave(factor, -2).repeat_interleave(factor, -1)
    image = image * torch.arange(1, 1 + factor).repeat(width).to(image.dtype)
    blocks = image.reshape(*front, height, factor, width, factor)
    channels = blocks.movedim((-3, -1), (-4, -3)).flatten(-5, -3)
    same(functional.pixel_unshuffle(image, factor), channels)
    same(functional.pixel_shuffle(channels, factor), image)


@sweep(
    weight=tensors(torch.float64, rank=(2, 2), size=(1, 4), values="normal", layouts=LAYOUTS),
    rows=integers(1, 3),
)
def linear_multiplies_by_a_transposed_view(weight, rows):
    x = torch.randn(rows, weight.shape[1], dtype=weight.dtype)
    assert_close(functional.linear(x, weight), x @ weight.T)
    assert weight.T.data_ptr() == weight.data_ptr()


@sweep(inputs=integers(1, 6), outputs=integers(1, 6), groups=integers(1, 6), rank=integers(1, 3))
def groups_divide_the_channels(inputs, outputs, groups, rank):
    for kind in ("", "Transpose"):
        layer = getattr(nn, f"Conv{kind}{rank}d")
        made = error(lambda layer=layer: layer(inputs, outputs, 1, groups=groups)) == ""
        assert made == (inputs % groups == outputs % groups == 0)
    assert (error(lambda: nn.GroupNorm(groups, inputs)) == "") == (inputs % groups == 0)


@sweep(
    size=integers(1, 5),
    wanted=integers(1, 14),
    kernel=integers(1, 4),
    stride=integers(1, 3),
    padding=integers(0, 2),
)
def output_size_undoes_a_convolution(size, wanted, kernel, stride, padding):
    settings = {"kernel_size": kernel, "stride": stride, "padding": padding}
    up, down = nn.ConvTranspose1d(1, 1, **settings), nn.Conv1d(1, 1, **settings)
    assume((size - 1) * stride - 2 * padding + kernel > 0)
    small = torch.ones(1, 1, size)
    refused = error(lambda: up(small, output_size=(wanted,)))
    maps_back = wanted + 2 * padding >= kernel and down(torch.ones(1, 1, wanted)).shape[2] == size
    assert (refused == "") == maps_back


@sweep(
    x=tensors(NUMBERS, rank=(1, 3), size=(0, 5), layouts=ANY_LAYOUT),
    left=integers(-3, 0),
    right=integers(-3, 0),
)
def negative_padding_crops_down_to_nothing(x, left, right):
    size = x.shape[-1] + left + right
    if size < 0:
        assert error(lambda: functional.pad(x, (left, right)))
    else:
        same(functional.pad(x, (left, right)), x.narrow(-1, -left, size))


@sweep(
    x=tensors((DOUBLE,), rank=(2, 2), size=(1, 4), values="normal"),
    kept=among([(), ("weight",), ("bias",), ("weight", "bias")]),
)
def detached_weights_get_gradients_from_func_grad(x, kept):
    layer = nn.Linear(x.shape[1], 2, dtype=DOUBLE)
    parameters = dict(layer.named_parameters())
    weights = {name: p if name in kept else p.detach() for name, p in parameters.items()}

    def output(weights):
        return torch.func.functional_call(layer, weights, (x,)).tanh().sum()

    assert output(weights).requires_grad == bool(kept)
    expected = torch.autograd.grad(output(parameters), list(parameters.values()))
    for gradient, wanted in zip(torch.func.grad(output)(weights).values(), expected, strict=True):
        assert_close(gradient, wanted)
