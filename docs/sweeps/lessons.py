"""Sweeps of the lessons."""

import math

import torch
from torch import nn
from torch.nn import functional
from torch.testing import assert_close
from torch.utils.data import DataLoader

from claimbook.sweeps.search import error, same, sweep
from claimbook.sweeps.strategies import (
    ALL,
    COMPLEX,
    FLOATS,
    HALVES,
    LAYOUTS,
    NUMBERS,
    OPTIMISERS,
    REALS,
    among,
    assume,
    booleans,
    integers,
    shapes,
    tensors,
)

ANY_LAYOUT = (*LAYOUTS, "expanded")
DIFFERENTIABLE = (*FLOATS, *HALVES, *COMPLEX)
WEIGHTS = tensors((*FLOATS, *COMPLEX), size=(1, 3), values="normal", requires_grad=True)


@sweep(x=tensors(ALL, layouts=ANY_LAYOUT))
def whole_numbers_cannot_require_grad(x):
    fails = error(x.requires_grad_).startswith("RuntimeError: only Tensors of floating point")
    assert fails == (x.dtype not in DIFFERENTIABLE)


@sweep(x=tensors(DIFFERENTIABLE, values="normal", requires_grad=True, layouts=ANY_LAYOUT))
def each_input_has_its_own_derivative(x):
    (x * x).sum().backward(torch.ones((), dtype=x.dtype))
    assert x.grad.shape == x.shape
    same(x.grad, 2 * x.detach().conj())


@sweep(x=WEIGHTS, lr=among([0.01, 0.1, 1.0]), steps=integers(1, 3))
def sgd_takes_the_step_done_by_hand(x, lr, steps):
    optimizer, by_hand = torch.optim.SGD([x], lr=lr), x.detach().clone()
    for _ in range(steps):
        optimizer.zero_grad()
        x.abs().square().sum().backward()
        by_hand = by_hand - lr * x.grad
        optimizer.step()
        assert_close(x.detach(), by_hand)


@sweep(x=tensors(DIFFERENTIABLE, size=(1, 4), requires_grad=True, layouts=ANY_LAYOUT))
def predict_the_gradient_of_a_mean(x):
    x.mean().backward(torch.ones((), dtype=x.dtype))
    assert_close(x.grad, torch.full_like(x.grad, 1 / x.numel()))


@sweep(x=tensors(NUMBERS, rank=(1, 4), size=(1, 4), layouts=ANY_LAYOUT))
def nested_lists_become_a_tensor(x):
    same(torch.tensor(x.tolist(), dtype=x.dtype), x)


@sweep(shape=shapes(), seed=integers(0, 1 << 40), dtype=among((*FLOATS, *HALVES)))
def one_seed_draws_the_same_numbers_again(shape, seed, dtype):
    drawn = [torch.manual_seed(seed) and torch.rand(shape, dtype=dtype) for _ in range(2)]
    same(drawn[0], drawn[1])
    assert ((drawn[0] >= 0) & (drawn[0] < 1)).all()


@sweep(
    x=tensors(NUMBERS, rank=(1, 2), layouts=ANY_LAYOUT),
    number=integers(1, 4),
    work=among([torch.add, torch.sub, torch.mul, torch.eq, torch.ne]),
)
def operators_work_element_by_element(x, number, work):
    each = [work(element, number) for element in x.flatten()]
    assert work(x, number).flatten().tolist() == [element.item() for element in each]


@sweep(x=tensors(NUMBERS, rank=(2, 2), size=(1, 4), layouts=ANY_LAYOUT))
def a_row_or_a_column_is_broadcast(x):
    row, column = x[0], x[:, :1]
    same(x + row, torch.stack([each + row for each in x]))
    same(x + column, torch.stack([x[:, i] + column[:, 0] for i in range(x.shape[1])], 1))


@sweep(row=tensors(ALL, rank=(1, 4), layouts=ANY_LAYOUT))
def none_in_an_index_adds_a_dimension(row):
    same(row[:, None], row.unsqueeze(1))
    assert row[:, None].shape == (len(row), 1, *row.shape[1:])


@sweep(a=tensors(NUMBERS, shape=(2, 3), layouts=ANY_LAYOUT), width=integers(0, 4))
def the_at_sign_multiplies_matrices(a, width):
    b = torch.ones((3, width), dtype=a.dtype)
    same(a @ b, (a[:, :, None] * b).sum(1, dtype=a.dtype))


@sweep(
    column=tensors(NUMBERS, rank=(1, 1), layouts=ANY_LAYOUT),
    row=lambda column: tensors(column.dtype, rank=(1, 1), layouts=ANY_LAYOUT),
)
def predict_a_column_plus_a_row(column, row):
    table = column[:, None] + row
    assert table.tolist() == [[(a + b).item() for b in row] for a in column]


@sweep(cases=100, count=integers(0, 9), size=integers(1, 4), shuffle=booleans)
def a_loader_hands_out_batches(count, size, shuffle):
    loader = DataLoader(range(count), size, shuffle=shuffle and count > 0)
    batches = list(loader)
    assert sorted(int(each) for batch in batches for each in batch) == list(range(count))
    assert all(len(batch) == size for batch in batches[:-1])


@sweep(cases=100, make=among(OPTIMISERS), size=integers(1, 3))
def one_step_of_training_watched(make, size):
    weight = torch.ones(size, requires_grad=True)
    weight.square().sum().backward()
    same(weight.grad, torch.full((size,), 2.0))
    same(weight.detach(), torch.ones(size))
    make([weight]).step()
    assert not torch.equal(weight, torch.ones(size))


@sweep(x=WEIGHTS, times=integers(1, 4))
def predict_the_gradient_after_two_passes(x, times):
    one = torch.autograd.grad(x.abs().square().sum(), x)[0]
    for _ in range(times):
        x.abs().square().sum().backward()
    assert_close(x.grad, times * one)


@sweep(labels=tensors(ALL, rank=(1, 1)), other=integers(0, 4))
def an_accuracy_over_all_pairs_is_wrong(labels, other):
    guesses = torch.full_like(labels, other)
    assert (guesses == labels[:, None]).shape == (len(labels), len(labels))


@sweep(level=among([-5.0, 0.0, 30.0]), label=integers(0, 3), dtype=among(FLOATS))
def predict_the_loss_of_a_guess(level, label, dtype):
    loss = functional.cross_entropy(torch.full((4,), level, dtype=dtype), torch.tensor(label))
    assert_close(loss, torch.tensor(math.log(4), dtype=dtype))


@sweep(logits=tensors(FLOATS, rank=(2, 2), size=(1, 5), values="normal", layouts=ANY_LAYOUT))
def softmax_and_argmax_read_the_logits(logits):
    shares = logits.softmax(dim=1)
    assert_close(shares.sum(1), torch.ones(len(logits), dtype=logits.dtype))
    same(shares.argmax(1), logits.argmax(1))


@sweep(dtype=among(REALS), rows=integers(1, 4))
def tables_of_integers_or_float64_need_float(dtype, rows):
    layer, table = nn.Linear(2, 3), torch.ones(rows, 2, dtype=dtype)
    refused = "must have the same dtype" in error(lambda: layer(table))
    assert refused == (dtype != torch.float32)
    same(layer(table.float()), layer(torch.ones(rows, 2)))


@sweep(dtype=among(ALL), column=booleans, shift=integers(0, 1), count=integers(2, 5))
def wrong_labels_raise_an_error_each(dtype, column, shift, count):
    labels = (torch.arange(count) % 2 + shift).to(dtype)
    target = labels[:, None] if column else labels
    raised = error(lambda: functional.cross_entropy(torch.zeros(count, 2), target))
    wrong = column or shift or dtype not in (torch.int64, torch.uint8)
    assert bool(raised) == bool(wrong)


@sweep(x=tensors(FLOATS, rank=(2, 2), size=(2, 5), values="normal", layouts=LAYOUTS))
def scaled_columns_have_mean_0_and_deviation_1(x):
    mean, std = x.mean(dim=0), x.std(dim=0)
    assume(std.min() > 0.01)
    scaled = (x - mean) / std
    assert_close(scaled.mean(dim=0), torch.zeros_like(mean), atol=1e-4, rtol=0)
    assert_close(scaled.std(dim=0), torch.ones_like(std), atol=1e-4, rtol=0)


@sweep(logits=tensors(FLOATS, rank=(2, 2), size=(1, 5), values="normal", layouts=ANY_LAYOUT))
def predict_the_shape_of_the_answers(logits):
    assert logits.argmax(dim=1).tolist() == [row.argmax().item() for row in logits]


@sweep(inputs=integers(1, 10), outputs=integers(1, 10))
def predict_the_parameters_of_a_layer(inputs, outputs):
    layer = nn.Linear(inputs, outputs)
    assert layer.weight.numel() == inputs * outputs
    assert layer.bias.numel() == outputs


@sweep(x=tensors(FLOATS, rank=(2, 2), size=(2, 7), layouts=ANY_LAYOUT))
def pooling_keeps_the_largest_of_four(x):
    height, width = x.shape[0] // 2, x.shape[1] // 2
    blocks = x[: 2 * height, : 2 * width].reshape(height, 2, width, 2)
    pooled = nn.MaxPool2d(2)(x[None, None])
    same(pooled, blocks.amax(dim=(1, 3))[None, None])
    same(nn.Flatten()(pooled), pooled.reshape(1, height * width))


@sweep(x=tensors(FLOATS, rank=(3, 3), size=(2, 7), layouts=ANY_LAYOUT))
def predict_what_the_pooling_keeps(x):
    height, width = x.shape[1] // 2, x.shape[2] // 2
    blocks = x[:, : 2 * height, : 2 * width].reshape(-1, height, 2, width, 2)
    same(nn.MaxPool2d(2)(x), blocks.amax(dim=(2, 4)))


@sweep(batch=integers(1, 4), made_for=integers(1, 30), sizes=shapes(rank=(1, 3), size=(1, 4)))
def a_wrong_size_after_flatten_is_named(batch, made_for, sizes):
    features = math.prod(sizes)
    assume(made_for != features)
    layers = nn.Sequential(nn.Flatten(), nn.Linear(made_for, 3))
    said = error(lambda: layers(torch.zeros(batch, *sizes)))
    assert f"({batch}x{features} and {made_for}x3)" in said


@sweep(channels=integers(1, 4), size=integers(4, 40), classes=integers(1, 12))
def three_numbers_change_for_mnist_and_cifar(channels, size, classes):
    layers = [nn.Conv2d(channels, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Conv2d(8, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    layers += [nn.Flatten(), nn.Linear(32 * (size // 4) ** 2, classes)]
    logits = nn.Sequential(*layers)(torch.zeros(2, channels, size, size))
    assert logits.shape == (2, classes)


@sweep(channels=integers(1, 5), filters=integers(1, 5), kernel=integers(1, 5))
def predict_the_parameters_of_a_convolution(channels, filters, kernel):
    count = sum(p.numel() for p in nn.Conv2d(channels, filters, kernel).parameters())
    assert count == channels * filters * kernel**2 + filters
