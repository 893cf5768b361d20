"""Sweeps of the part on optimisation."""

import inspect
import itertools
import math
from functools import partial

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.optim import lr_scheduler
from torch.testing import assert_close

from claimbook.sweeps.search import error, same, sweep
from claimbook.sweeps.strategies import (
    COMPLEX,
    FLOATS,
    HALVES,
    INTEGERS,
    LAYOUTS,
    OPTIMISERS,
    among,
    assume,
    booleans,
    dims,
    integers,
    several,
    shapes_together,
    tensors,
)

REAL_FLOATS = (*FLOATS, *HALVES)
ANY_LAYOUT = (*LAYOUTS, "expanded")
MATRICES = tensors(torch.float64, rank=(2, 2), size=(1, 4), values="normal")
WEIGHTS = tensors((*FLOATS, *COMPLEX), size=(1, 3), values="normal", requires_grad=True)
REAL_WEIGHTS = tensors(size=(1, 3), values="normal", requires_grad=True)
RATES = among([1e-3, 0.1, 0.5, 2.0])
DECAYS = among([0.01, 0.1, 0.5, 1.0])
MOMENTA = among([0.0, 0.5, 0.9])
LOGITS = tensors(REAL_FLOATS, rank=(2, 4), size=(1, 4), values="normal", layouts=ANY_LAYOUT)
FUSED = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.Adagrad)
close = partial(assert_close, equal_nan=True)

SCHEDULERS = (
    partial(lr_scheduler.StepLR, step_size=2),
    partial(lr_scheduler.MultiStepLR, milestones=[1, 3]),
    partial(lr_scheduler.ExponentialLR, gamma=0.5),
    partial(lr_scheduler.ConstantLR, factor=0.5, total_iters=2),
    partial(lr_scheduler.LinearLR, total_iters=3),
    partial(lr_scheduler.PolynomialLR, total_iters=4, power=2),
    partial(lr_scheduler.CosineAnnealingLR, T_max=4),
    partial(lr_scheduler.CosineAnnealingWarmRestarts, T_0=3),
    partial(lr_scheduler.LambdaLR, lr_lambda=math.cos),
    partial(lr_scheduler.MultiplicativeLR, lr_lambda=math.cos),
)
"""Those that scale each group's rate, with an end of zero where they have one."""


def classes(logits, seed, also=()):
    """Return one class for each place of logits, or one of `also`."""
    among_these = torch.tensor([*range(logits.shape[1]), *also])
    generator = torch.Generator().manual_seed(seed)
    shape = (logits.shape[0], *logits.shape[2:])
    return among_these[torch.randint(len(among_these), shape, generator=generator)]


def with_gradient(weight, scale=1.0):
    """Return a copy of a weight that requires grad, with a gradient drawn by a fixed seed."""
    made = torch.empty_like(weight).copy_(weight.detach()).requires_grad_()
    generator = torch.Generator().manual_seed(1)
    made.grad = scale * torch.randn(weight.shape, dtype=weight.dtype, generator=generator)
    return made


def rates(optimizer):
    """Return the rate of each group."""
    return [group["lr"] for group in optimizer.param_groups]


def groups(lrs, make=torch.optim.SGD, **options):
    """Return an optimiser of one weight for each rate."""
    return make([{"params": [nn.Parameter(torch.zeros(1))], "lr": lr} for lr in lrs], **options)


# Batch size


@sweep(
    cases=100,
    samples=tensors(torch.float64, rank=(1, 1), size=(2, 4), values="normal"),
    size=lambda samples: integers(1, len(samples)),
)
def without_repeats_the_noise_falls_faster(samples, size):
    n = len(samples)
    once = torch.stack([samples[list(b)].mean() for b in itertools.combinations(range(n), size)])
    again = torch.stack([samples[list(b)].mean() for b in itertools.product(range(n), repeat=size)])
    close(again.var(correction=0), samples.var(correction=0) / size)
    close(once.var(correction=0), again.var(correction=0) * (n - size) / (n - 1))


@sweep(x=MATRICES, w=lambda x: tensors(torch.float64, shape=(x.shape[1],), values="normal"))
def no_noise_where_every_sample_fits(x, w):
    target = x @ w
    for sample, wanted in zip(x, target, strict=True):
        weight = w.clone().requires_grad_()
        (sample @ weight - wanted).square().backward()
        close(weight.grad, torch.zeros_like(w), atol=1e-9, rtol=0)


@sweep(
    x=MATRICES,
    hidden=lambda x: tensors(torch.float64, shape=(3, x.shape[1]), values="normal"),
    last=tensors(torch.float64, shape=(2, 3), values="normal"),
    scale=among([0.25, 2.0, 10.0, 1024.0]),
)
def same_function_any_sharpness(x, hidden, last, scale):
    close((x @ (hidden * scale).T).relu() @ (last / scale).T, (x @ hidden.T).relu() @ last.T)


# Clipping


@sweep(
    cases=100,
    grads=several(tensors(FLOATS, size=(1, 3), values="normal", layouts=ANY_LAYOUT), max_size=4),
    limit=among([0.1, 1.0, 1e6]),
    norm_type=among([0.5, 1, 2, 3, math.inf]),
    foreach=among([None, True, False]),
)
def norm_is_taken_over_all_parameters(grads, limit, norm_type, foreach):
    weights = [torch.zeros_like(grad).requires_grad_() for grad in grads]
    for weight, grad in zip(weights, grads, strict=True):
        weight.grad = grad.clone()
    norm = clip_grad_norm_(weights, limit, norm_type, foreach=foreach)
    together = torch.cat(
        [torch.zeros(1, dtype=torch.float64), *(g.flatten().double() for g in grads)]
    )
    close(norm.double(), torch.linalg.vector_norm(together, norm_type), rtol=1e-4, atol=1e-6)


@sweep(weights=several(WEIGHTS, min_size=1, max_size=3), limit=among([0.0, 0.1, 1e6]))
def used_up_generator_clips_nothing(weights, limit):
    weights = [with_gradient(weight) for weight in weights]
    before = [weight.grad.clone() for weight in weights]
    generator = (weight for weight in weights)
    list(generator)
    clip_grad_norm_(generator, limit)
    same([weight.grad for weight in weights], before)


@sweep(
    grad=tensors(FLOATS, rank=(1, 3), size=(1, 4), values="normal"),
    limit=among([0.1, 0.5, 1.0, 1e6]),
)
def norm_clipping_keeps_the_direction(grad, limit):
    weight, other = (torch.zeros_like(grad).requires_grad_() for _ in range(2))
    weight.grad, other.grad = grad.clone(), grad.clone()
    clip_grad_norm_(weight, limit)
    close(weight.grad * grad.norm(), grad * weight.grad.norm(), rtol=1e-4, atol=1e-5)
    clip_grad_value_(other, limit)
    same(other.grad, grad.clamp(-limit, limit))


# Cross-entropy


@sweep(
    logits=LOGITS,
    seed=integers(0, 99),
    weighted=booleans,
    reduction=among(["mean", "sum", "none"]),
    special=booleans,
)
def cross_entropy_is_log_softmax_then_nll(logits, seed, weighted, reduction, special):
    if special:
        logits = logits * 1e4
    weight = torch.arange(1, logits.shape[1] + 1).to(logits.dtype) if weighted else None
    options = {"weight": weight, "reduction": reduction}
    target = classes(logits, seed, also=[-100])
    both = nn.Sequential(nn.LogSoftmax(dim=1))(logits)
    close(nn.CrossEntropyLoss(**options)(logits, target), nn.NLLLoss(**options)(both, target))


@sweep(
    logits=tensors(REAL_FLOATS, rank=(2, 4), size=(1, 4)),
    level=among([-7.0, 0.0, 30.0]),
    seed=integers(0, 99),
    smoothing=among([0.0, 0.3]),
)
def guessing_costs_the_log_of_the_classes(logits, level, seed, smoothing):
    guess = torch.full_like(logits, level)
    loss = functional.cross_entropy(guess, classes(logits, seed), label_smoothing=smoothing)
    close(loss, torch.tensor(logits.shape[1]).log().to(logits.dtype), rtol=0.01, atol=0.01)


@sweep(
    logits=tensors(FLOATS, rank=(2, 2), size=(2, 5), values="normal"),
    seed=integers(0, 99),
    scale=among([1.0, 100.0, 1e4]),
)
def softmax_before_cross_entropy_is_one_too_many(logits, seed, scale):
    target, count = classes(logits, seed), logits.shape[1]
    loss = functional.cross_entropy((logits * scale).softmax(1), target, reduction="none")
    assert (loss > math.log(1 + (count - 1) / math.e) - 1e-5).all()
    wrong = functional.one_hot((target + 1) % count, count).to(logits.dtype).mul(1e4)
    wrong.requires_grad_()
    functional.cross_entropy(wrong.softmax(1), target).backward()
    assert not wrong.grad.any()


@sweep(
    logits=tensors(REAL_FLOATS, rank=(2, 4), size=(1, 4), values="special", layouts=ANY_LAYOUT),
    seed=integers(0, 99),
    smoothing=among([0.0, 0.3]),
)
def log_softmax_twice_changes_nothing(logits, seed, smoothing):
    loss = partial(
        functional.cross_entropy, target=classes(logits, seed), label_smoothing=smoothing
    )
    close(loss(logits.log_softmax(1)), loss(logits))


@sweep(
    logits=tensors(FLOATS, rank=(2, 2), size=(1, 5), values="normal"),
    seed=integers(0, 99),
    ignored=among([-100, -1, 0]),
    smoothing=among([0.0, 0.3]),
    weighted=booleans,
)
def ignored_targets_do_not_count_in_the_mean(logits, seed, ignored, smoothing, weighted):
    target = classes(logits, seed, also=[ignored])
    kept = target != ignored
    weight = torch.arange(1, logits.shape[1] + 1).to(logits.dtype) if weighted else None
    loss = partial(functional.cross_entropy, weight=weight, label_smoothing=smoothing)
    close(loss(logits, target, ignore_index=ignored), loss(logits[kept], target[kept]))


@sweep(logits=LOGITS, seed=integers(0, 99))
def nll_picks_negates_and_averages(logits, seed):
    target = classes(logits, seed)
    picked = logits.gather(1, target.unsqueeze(1)).squeeze(1)
    same(functional.nll_loss(logits, target, reduction="none"), -picked)


@sweep(
    logits=LOGITS,
    seed=integers(0, 99),
    share=among([0.0, 0.1, 0.3, 1.0]),
    reduction=among(["mean", "sum", "none"]),
)
def label_smoothing_mixes_in_even_odds(logits, seed, share, reduction):
    logits, target = logits.float(), classes(logits, seed)
    count = logits.shape[1]
    mixed = functional.one_hot(target, count).movedim(-1, 1) * (1 - share) + share / count
    loss = partial(functional.cross_entropy, reduction=reduction)
    close(loss(logits, target, label_smoothing=share), loss(logits, mixed))


@sweep(
    log_p=lambda: tensors(torch.float64, rank=(2, 2), size=(1, 4), values="normal"),
    target=lambda log_p: several(integers(1, max(1, log_p.shape[1] - 1)), max_size=3),
)
def ctc_adds_up_all_alignments(log_p, target):
    """The product over all ways to choose a class at each step."""
    steps, count = log_p.shape
    assume(count > 1 and target)
    log_p = log_p.log_softmax(1)
    total = log_p.new_zeros(())
    for path in itertools.product(range(count), repeat=steps):
        merged = [label for label, _ in itertools.groupby(path)]
        if [label for label in merged if label] == target:
            total += log_p[range(steps), path].sum().exp()
    loss = functional.ctc_loss(
        log_p[:, None], torch.tensor([target]), [steps], [len(target)], reduction="sum"
    )
    close(loss.neg().exp(), total)


# Losses of one's own


@sweep(
    p=tensors(FLOATS, values="normal", requires_grad=True),
    limit=among([-1.0, 0.0, 0.5]),
    compare=among([torch.gt, torch.ge, torch.lt, torch.le, torch.eq, torch.ne]),
)
def a_soft_count_replaces_a_hard_one(p, limit, compare):
    assert not compare(p, limit).float().sum().requires_grad
    assert p.sigmoid().sum().requires_grad


@sweep(
    cases=100, make=among(OPTIMISERS), held=REAL_WEIGHTS, other=REAL_WEIGHTS, steps=integers(1, 3)
)
def parameters_of_a_loss_need_the_optimiser(make, held, other, steps):
    optimizer, before = make([held]), other.detach().clone()
    for _ in range(steps):
        (held.sum() * other.sum()).backward()
        optimizer.step()
    assert torch.equal(other, before)


@sweep(
    losses=tensors(torch.float64, shape=(4,), values="normal"),
    weights=several(integers(0, 3), min_size=4, max_size=4),
    factor=among([0.5, 2.0, 10.0]),
)
def sample_weights_after_reduction_none(losses, weights, factor):
    weight = torch.tensor(weights)

    def mean(by):
        return (losses * by).sum() / by.sum()

    close(mean(weight), losses.repeat_interleave(weight).mean())
    close(mean(weight * factor), mean(weight))


@sweep(
    cases=100,
    losses=several(
        tensors(torch.float64, rank=(1, 1), size=(1, 4), values="normal"), min_size=1, max_size=3
    ),
)
def per_token_or_per_sequence(losses):
    tokens = torch.cat(losses).mean()
    sequences = torch.stack([each.mean() for each in losses]).mean()
    if len({len(each) for each in losses}) == 1:
        close(tokens, sequences)
    by_length = sum(each.mean() * len(each) for each in losses) / sum(map(len, losses))
    close(tokens, by_length)


@sweep(labels=several(integers(0, 3), min_size=1, max_size=9))
def weights_from_class_counts(labels):
    count = torch.tensor(labels).bincount(minlength=4)
    weight = len(labels) / (4 * count)
    close((weight * count)[count > 0], torch.full(((count > 0).sum(),), len(labels) / 4))
    assert weight[count == 0].isinf().all()


@sweep(cases=100, similar=tensors(torch.float64, rank=(2, 2), size=(1, 3), values="normal"))
def the_two_directions_differ(similar):
    assume(similar.shape[0] == similar.shape[1])
    partner = torch.arange(len(similar))

    def both(s):
        return functional.cross_entropy(s, partner) + functional.cross_entropy(s.T, partner)

    close(both(similar), both(similar.T))


@sweep(
    logits=tensors(torch.float64, rank=(2, 2), size=(2, 4), values="normal"), seed=integers(0, 99)
)
def equal_items_are_false_negatives(logits, seed):
    logits.requires_grad_()
    target = classes(logits, seed)
    wrong = functional.one_hot(target, logits.shape[1]) == 0
    functional.cross_entropy(logits, target).backward()
    assert (logits.grad[wrong] > 0).all()
    logits.grad = None
    functional.cross_entropy(logits.masked_fill(wrong, -math.inf), target).backward()
    assert not logits.grad[wrong].any()


@sweep(
    cases=100,
    logits=tensors(FLOATS, rank=(1, 3), size=(1, 4), values="normal", requires_grad=True),
    kind=among(["dice", "iou"]),
)
def soft_dice_takes_probabilities(logits, kind):
    target = (logits.detach() > 1).to(logits.dtype)

    def loss(p):
        both, sizes = (p * target).sum(), p.sum() + target.sum()
        return 1 - (2 * both / sizes if kind == "dice" else both / (sizes - both))

    loss(logits.sigmoid()).backward()
    assert logits.grad.isfinite().all()
    assert not loss((logits.sigmoid() > 0.5).float()).requires_grad


@sweep(
    p=tensors(torch.float64, rank=(1, 2), size=(1, 3)),
    smooth=among([1e-6, 0.5, 1.0, 100.0]),
)
def smooth_decides_what_an_empty_mask_costs(p, smooth):
    p = p.abs() / 4
    mask = torch.zeros_like(p)

    def dice(s):
        return 1 - (2 * (p * mask).sum() + s) / (p.sum() + mask.sum() + s)

    assert dice(0).isnan() == (p.sum() == 0)
    close(dice(smooth), p.sum() / (p.sum() + smooth))


@sweep(
    cases=100,
    x=tensors(REAL_FLOATS, rank=(1, 3), size=(1, 4), values="normal", layouts=LAYOUTS),
    dim=lambda x: dims(x),
    finite=booleans,
)
def a_row_of_minus_infinity_has_a_nan_gradient(x, dim, finite):
    row = torch.full_like(x, -math.inf)
    if finite:
        row.select(dim, 0).fill_(2.0)
    row.requires_grad_()
    result = row.logsumexp(dim)
    result.sum().backward()
    assert (result == (2.0 if finite else -math.inf)).all()
    assert row.grad.isnan().all() == (not finite)
    assert row.softmax(dim).isnan().all() == (not finite)


# Double descent


@sweep(cases=100, x=tensors(torch.float64, rank=(2, 2), size=(1, 6), values="normal"))
def variance_grows_with_the_parameters(x):
    assume(torch.linalg.matrix_rank(x) == x.shape[1])
    fitted = x @ torch.linalg.pinv(x)  # of each noise, what the least-squares weights fit
    close(fitted.square().sum() / len(x), torch.tensor(x.shape[1] / len(x)).double())


@sweep(
    cases=100,
    x=tensors(torch.float64, rank=(2, 2), size=(1, 5), values="normal"),
    more=lambda x: tensors(torch.float64, shape=(len(x), 2), values="normal"),
    y=lambda x: tensors(torch.float64, shape=(len(x),), values="normal"),
)
def more_features_allow_a_smaller_norm(x, more, y):
    assume(torch.linalg.matrix_rank(x) == len(x))

    def least(features):
        return (torch.linalg.pinv(features) @ y).norm()

    assert least(torch.cat([x, more], 1)) <= least(x) + 1e-9


# Logits


@sweep(
    cases=100,
    x=tensors(torch.float32, values="normal", layouts=ANY_LAYOUT),
    around=among([17.3, 0.0, -17.0, -88.0, -200.0, 200.0]),
)
def sigmoid_rounds_to_one_and_underflows(x, around):
    x = x + around
    p = x.sigmoid()
    assert (p[x > 18] == 1).all()
    assert (p[x < 16] < 1).all()
    assert (p[x < -89] == 0).all()
    assert (p[x > -88] > 0).all()


@sweep(
    cases=100,
    x=tensors(FLOATS, values="normal", layouts=ANY_LAYOUT),
    y=lambda x: tensors(x.dtype, shape=tuple(x.shape), values="normal"),
    size=among([1.0, 30.0, 1e4]),
)
def logits_loss_by_hand(x, y, size):
    x, y = x * size, y.sigmoid()
    by_hand = x.clamp(min=0) - x * y + torch.log1p(torch.exp(-x.abs()))
    close(nn.BCEWithLogitsLoss(reduction="none")(x, y), by_hand)


@sweep(
    cases=100,
    x=tensors(FLOATS, rank=(1, 1), values="normal", layouts=ANY_LAYOUT),
    y=lambda x: tensors(torch.bool, shape=tuple(x.shape)),
    size=among([1.0, 30.0, 1e4]),
    reduction=among(["mean", "sum", "none"]),
)
def two_class_cross_entropy_is_bce(x, y, size, reduction):
    x = x * size
    pair = torch.stack([torch.zeros_like(x), x], dim=1)
    binary = functional.binary_cross_entropy_with_logits(x, y.to(x.dtype), reduction=reduction)
    close(functional.cross_entropy(pair, y.long(), reduction=reduction), binary)


@sweep(
    cases=100,
    x=tensors(FLOATS, values="normal"),
    y=lambda x: tensors((*INTEGERS, torch.bool), shape=tuple(x.shape)),
    loss=among([functional.binary_cross_entropy, functional.binary_cross_entropy_with_logits]),
    reduction=among(["mean", "sum", "none"]),
)
def binary_targets_must_be_float(x, y, loss, reduction):
    assert error(lambda: loss(x.sigmoid(), y, reduction=reduction)).startswith("RuntimeError")


@sweep(
    cases=100,
    shapes=shapes_together(2),
    loss=among([functional.binary_cross_entropy, functional.binary_cross_entropy_with_logits]),
)
def binary_shapes_must_agree(shapes, loss):
    input, target = (torch.full(shape, 0.5) for shape in shapes)
    fails = error(lambda: loss(input, target)).startswith("ValueError")
    assert fails == (shapes[0] != shapes[1])


@sweep(
    cases=100,
    x=tensors(FLOATS, values="special"),
    y=lambda x: tensors(x.dtype, shape=tuple(x.shape), values="special"),
)
def logits_loss_does_not_check_targets(x, y):
    assert error(lambda: nn.BCEWithLogitsLoss()(x, y)) == ""
    outside = ((y < 0) | (y > 1)).any()
    if outside:
        assert error(lambda: nn.BCELoss()(x.nan_to_num().sigmoid(), y))


@sweep(positive=integers(1, 5), negative=integers(1, 5), weight=among([0.5, 2.0, 3.0]))
def pos_weight_shifts_the_probabilities(positive, negative, weight):
    target = torch.tensor([1.0] * positive + [0.0] * negative)
    frequency = target.mean()
    logit = frequency.logit().requires_grad_()
    pos_weight = torch.tensor(weight)
    functional.binary_cross_entropy_with_logits(
        logit.expand(len(target)), target, pos_weight=pos_weight
    ).backward()
    assert logit.grad.abs() > 1e-6


# A model that does not learn


@sweep(x=tensors(REAL_FLOATS, values="special", requires_grad=True, layouts=ANY_LAYOUT))
def a_last_relu_blocks_the_gradient(x):
    result = x.relu()
    result.backward(torch.ones_like(result))
    assert (result[x < 0] == 0).all()
    assert (x.grad[x < 0] == 0).all()
    assert (x.grad[x > 0] == 1).all()


@sweep(cases=100, make=among(OPTIMISERS), held=REAL_WEIGHTS, other=REAL_WEIGHTS)
def parameters_the_optimiser_does_not_hold(make, held, other):
    held, other = with_gradient(held), with_gradient(other)
    before = held.detach().clone(), other.detach().clone()
    make([held]).step()
    same(other.detach(), before[1])
    assert not torch.equal(held, before[0])


@sweep(
    cases=100,
    logits=tensors(FLOATS, rank=(2, 2), size=(1, 4), values="normal"),
    seed=integers(0, 99),
)
def accuracy_compares_argmax_with_labels(logits, seed):
    labels = classes(logits, seed)
    right = sum(
        row.index(max(row)) == label for row, label in zip(logits.tolist(), labels, strict=True)
    )
    close((logits.argmax(1) == labels).float().mean(), right / torch.tensor(float(len(labels))))
    assert (logits.argmax(1) == labels[:, None]).shape == (len(labels), len(labels))
    assert (logits.argmax() == labels).shape == labels.shape


@sweep(
    cases=100,
    sizes=several(integers(1, 4), min_size=1, max_size=4),
    right=tensors(torch.bool, shape=(16,)),
)
def mean_of_batch_accuracies_misleads(sizes, right):
    batches = right[: sum(sizes)].double().split(sizes)
    means = torch.stack([batch.mean() for batch in batches])
    overall = right[: sum(sizes)].double().mean()
    if len(set(sizes)) == 1:
        close(means.mean(), overall)
    close((means * torch.tensor(sizes)).sum() / sum(sizes), overall)


# Optimisers


@sweep(
    weight=tensors((*FLOATS, *HALVES, *COMPLEX), values="normal", layouts=LAYOUTS),
    make=among([torch.optim.Adam, torch.optim.AdamW]),
    foreach=booleans,
)
def adam_keeps_two_averages_and_a_counter(weight, make, foreach):
    weight = with_gradient(weight)
    optimizer = make([weight], foreach=foreach)
    optimizer.step()
    state = optimizer.state[weight]
    assert sorted(state) == ["exp_avg", "exp_avg_sq", "step"]
    assert state["exp_avg"].shape == state["exp_avg_sq"].shape == weight.shape
    assert state["step"] == 1


@sweep(
    weight=tensors((*FLOATS, *HALVES, *COMPLEX), values="normal"),
    make=among([torch.optim.Adam, torch.optim.AdamW]),
    amsgrad=booleans,
    foreach=booleans,
)
def adam_state_has_the_parameters_dtype(weight, make, amsgrad, foreach):
    weight = with_gradient(weight)
    optimizer = make([weight], amsgrad=amsgrad, foreach=foreach)
    optimizer.step()
    state = dict(optimizer.state[weight])
    assert state.pop("step").dtype == torch.float32
    assert {average.dtype for average in state.values()} == {weight.dtype}


@sweep(
    cases=100,
    grads=several(tensors(torch.float64, shape=(3,), values="normal"), min_size=1, max_size=4),
    betas=among([(0.9, 0.999), (0.9, 0.8), (0.0, 0.5), (0.5, 0.0)]),
    eps=among([1e-8, 1e-3, 1.0]),
    lr=RATES,
)
def adam_by_hand(grads, betas, eps, lr):
    weight = torch.ones(3, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([weight], lr=lr, betas=betas, eps=eps)
    by_hand, m, v = torch.ones(3, dtype=torch.float64), 0, 0
    for step, grad in enumerate(grads, start=1):
        weight.grad = grad.clone()
        optimizer.step()
        m = betas[0] * m + (1 - betas[0]) * grad
        v = betas[1] * v + (1 - betas[1]) * grad**2
        mean, square = m / (1 - betas[0] ** step), v / (1 - betas[1] ** step)
        by_hand = by_hand - lr * mean / (square.sqrt() + eps)
    close(weight.detach(), by_hand)


@sweep(
    cases=100,
    weight=tensors(torch.float32, values="normal", layouts=("contiguous", "permuted", "offset")),
    make=among(FUSED),
    decay=among([0.0, 0.1]),
    maximize=booleans,
    steps=integers(1, 3),
)
def foreach_and_fused_compute_the_same(weight, make, decay, maximize, steps):
    results = []
    for way in ({"foreach": False}, {"foreach": True}, {"fused": True}):
        trained = with_gradient(weight)
        trained.grad = torch.empty_like(trained).copy_(trained.grad)
        optimizer = make([trained], lr=0.1, weight_decay=decay, maximize=maximize, **way)
        for _ in range(steps):
            optimizer.step()
        results.append(trained.detach())
    close(results[1], results[0])
    close(results[2], results[0])


# Regression


@sweep(
    x=tensors(REAL_FLOATS, values="normal", layouts=ANY_LAYOUT),
    y=lambda x: tensors(x.dtype, shape=tuple(x.shape), values="normal"),
    delta=among([0.1, 0.5, 1.0, 3.0]),
    reduction=among(["mean", "sum", "none"]),
)
def smooth_l1_is_huber_divided_by_beta(x, y, delta, reduction):
    huber = functional.huber_loss(x, y, delta=delta, reduction=reduction)
    smooth = functional.smooth_l1_loss(x, y, beta=delta, reduction=reduction)
    close(smooth, huber / delta)


@sweep(x=tensors(REAL_FLOATS, size=(1, 4), values="normal", requires_grad=True))
def the_root_of_a_perfect_fit_has_a_nan_gradient(x):
    functional.mse_loss(x, x.detach()).sqrt().backward()
    assert x.grad.isnan().all()


@sweep(
    anchor=tensors(torch.float64, rank=(1, 2), size=(1, 4), values="normal"),
    away=lambda anchor: tensors(torch.float64, shape=tuple(anchor.shape), values="normal"),
    mirrored=booleans,
    margin=among([0.5, 1.0, 3.0]),
    p=among([1, 2, 3]),
)
def a_triplet_loss_at_its_margin_tells_nothing_apart(anchor, away, mirrored, margin, p):
    positive, negative = anchor + away, anchor + (-away if mirrored else away)
    loss = nn.TripletMarginLoss(margin=margin, p=p)(anchor, positive, negative)
    close(loss, torch.tensor(margin).double(), atol=1e-4, rtol=0)


@sweep(
    y=tensors(FLOATS, rank=(1, 3), size=(1, 4), values="normal", layouts=ANY_LAYOUT),
    dim=lambda y: dims(y),
    eps=among([1e-8, 1e-3]),
)
def a_zero_vector_has_a_huge_gradient(y, dim, eps):
    zero = torch.zeros_like(y, requires_grad=True)
    cosine = functional.cosine_similarity(zero, y, dim=dim, eps=eps)
    assert not cosine.any()
    cosine.sum().backward()
    close(zero.grad, functional.normalize(y, dim=dim) / eps)


@sweep(
    x=tensors(REAL_FLOATS, rank=(1, 2), size=(1, 4), values="normal", layouts=ANY_LAYOUT),
    p=among([1.0, 2.0, 3.0, math.inf]),
)
def pairwise_distance_of_equal_vectors_is_not_zero(x, p):
    assert (functional.pairwise_distance(x, x, p=p) > 0).all()


@sweep(
    x=tensors(FLOATS, rank=(2, 2), size=(1, 40), values="normal", layouts=ANY_LAYOUT),
    p=among([0.5, 1.0, 1.5, 2.0, 3.0, math.inf]),
    by_product=booleans(),
)
def cdist_passes_no_gradient_between_equal_points(x, p, by_product):
    mode = "use_mm_for_euclid_dist" if by_product else "donot_use_mm_for_euclid_dist"
    x, y = x.detach().clone().requires_grad_(), x.detach().clone()
    between = torch.cdist(x, y, p=p, compute_mode=mode).diagonal().sum()
    assert not torch.autograd.grad(between, x)[0].any()
    by_hand = (x - y).square().sum(-1).sqrt().sum()
    assert torch.autograd.grad(by_hand, x)[0].isnan().all()


@sweep(weights=several(tensors(FLOATS, shape=(2, 3), values="normal"), min_size=1, max_size=5))
def averaged_model_keeps_the_plain_mean(weights):
    model = nn.Linear(3, 2)
    averaged = torch.optim.swa_utils.AveragedModel(model)
    for weight in weights:
        with torch.no_grad():
            model.weight.copy_(weight)
        averaged.update_parameters(model)
    mean = torch.stack([weight.float() for weight in weights]).mean(0)
    close(averaged.module.weight.detach(), mean)


# Schedulers


@sweep(
    schedule=among(SCHEDULERS),
    lrs=several(RATES, min_size=1, max_size=3),
    steps=integers(0, 6),
)
def each_group_is_scaled_from_its_own_rate(schedule, lrs, steps):
    optimizer = groups(lrs)
    scheduler = schedule(optimizer)
    alone = groups([1.0])
    one = schedule(alone)
    for _ in range(steps):
        optimizer.step(), scheduler.step()
        alone.step(), one.step()
    assert scheduler.get_last_lr() == rates(optimizer)
    close(torch.tensor(rates(optimizer)), torch.tensor(lrs) * rates(alone)[0])


@sweep(
    schedule=among(
        [
            *SCHEDULERS,
            partial(lr_scheduler.CyclicLR, base_lr=0.1, max_lr=1.0),
        ]
    ),
    last=integers(-1, 3),
    initial=booleans,
)
def last_epoch_needs_the_initial_rate(schedule, last, initial):
    optimizer = groups([1.0, 2.0], momentum=0.9)
    for group in optimizer.param_groups if initial else []:
        group["initial_lr"] = group["lr"]
    fails = error(lambda: schedule(optimizer, last_epoch=last)).startswith("KeyError")
    assert fails == (last >= 0 and not initial)


@sweep(
    make=among([torch.optim.SGD, torch.optim.Adam, torch.optim.RMSprop]),
    lr=RATES,
    momentum=among([0.0, 0.3, 0.9]),
    steps=integers(0, 9),
)
def one_cycle_sets_rate_and_momentum(make, lr, momentum, steps):
    def after(lr, momentum):
        name = "betas" if make is torch.optim.Adam else "momentum"
        value = (momentum, 0.999) if name == "betas" else momentum
        optimizer = groups([lr], make, **{name: value})
        scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
        for _ in range(steps):
            optimizer.step(), scheduler.step()
        return rates(optimizer), optimizer.param_groups[0][name]

    assert after(lr, momentum) == after(7.0, 0.5)


@sweep(lrs=several(RATES, min_size=1, max_size=3), top=RATES, steps=integers(0, 9))
def one_max_lr_serves_all_groups(lrs, top, steps):
    optimizer, listed = groups(lrs, momentum=0.9), groups(lrs, momentum=0.9)
    one = lr_scheduler.OneCycleLR(optimizer, max_lr=top, total_steps=10)
    each = lr_scheduler.OneCycleLR(listed, max_lr=[top, *lrs[1:]], total_steps=10)
    for _ in range(steps):
        optimizer.step(), one.step(), listed.step(), each.step()
    assert len(set(rates(optimizer))) == 1
    assert (len(set(rates(listed))) == 1) == (len({top, *lrs[1:]}) == 1)


@sweep(
    lr=among([0.6, 1.0]),
    lowest=among([0.0, 0.01, 0.5]),
    length=integers(1, 5),
    rounds=integers(1, 3),
)
def warm_restarts_skip_the_minimum(lr, lowest, length, rounds):
    optimizer = groups([lr])
    scheduler = lr_scheduler.CosineAnnealingWarmRestarts(optimizer, length, eta_min=lowest)
    for step in range(length * rounds):
        assert (rates(optimizer) == [lr]) == (step % length == 0)
        assert rates(optimizer)[0] > lowest
        optimizer.step(), scheduler.step()
    assert rates(optimizer) == [lr]


@sweep(
    best=among([0.0, 0.1, 1.0]),
    falls=several(among([0.1, 0.5, 1.0]), min_size=1, max_size=6),
    patience=integers(0, 3),
    mode=among(["min", "max"]),
)
def plateau_compares_with_the_best(best, falls, patience, mode):
    optimizer = groups([1.0])
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, mode=mode, patience=patience)
    sign = 1 if mode == "min" else -1
    scheduler.step(sign * best)
    for left in range(len(falls), 0, -1):  # better each time, and never as good as the first
        scheduler.step(sign * (best + sum(falls[:left])))
    close(rates(optimizer)[0], 0.1 ** (len(falls) // (patience + 1)))


# Weight decay


@sweep(
    weight=tensors(torch.float64, shape=(3,), values="normal"),
    momentum=MOMENTA,
    nesterov=booleans,
    lr=among([0.01, 0.1]),
    decay=DECAYS,
    steps=integers(1, 4),
)
def sgd_decay_is_l2_until_something_intervenes(weight, momentum, nesterov, lr, decay, steps):
    assume(momentum or not nesterov)
    decayed, penalised = (weight.clone().requires_grad_() for _ in range(2))
    options = {"lr": lr, "momentum": momentum, "nesterov": nesterov}
    for each, inside, outside in ((decayed, decay, 0), (penalised, 0, decay)):
        optimizer = torch.optim.SGD([each], weight_decay=inside, **options)
        for _ in range(steps):
            optimizer.zero_grad()
            (each.cos().sum() + outside / 2 * each.square().sum()).backward()
            optimizer.step()
    close(decayed.detach(), penalised.detach())


@sweep(weight=WEIGHTS, lr=RATES, decay=DECAYS, maximize=booleans, foreach=booleans)
def sgd_decay_shrinks_by_lr_times_lambda(weight, lr, decay, maximize, foreach):
    weight.grad = torch.zeros_like(weight)
    before = weight.detach().clone()
    options = {"weight_decay": decay, "maximize": maximize, "foreach": foreach}
    torch.optim.SGD([weight], lr=lr, **options).step()
    close(weight.detach(), before * (1 - lr * decay))


@sweep(weight=WEIGHTS, momentum=among([0.5, 0.9]), decay=DECAYS, nesterov=booleans)
def momentum_repeats_the_decay(weight, momentum, decay, nesterov):
    weight = with_gradient(weight)
    options = {"momentum": momentum, "weight_decay": decay, "nesterov": nesterov}
    optimizer = torch.optim.SGD([weight], lr=0.1, **options)
    expected = 0
    for _ in range(3):
        expected = momentum * expected + weight.grad + decay * weight.detach()
        optimizer.step()
        close(optimizer.state[weight]["momentum_buffer"], expected)


@sweep(
    cases=100,
    weight=REAL_WEIGHTS,
    make=among([each for each in OPTIMISERS if each is not torch.optim.Rprop]),
    decay=DECAYS,
    maximize=booleans,
    foreach=booleans,
)
def decay_leaves_grad_and_loss_alone(weight, make, decay, maximize, foreach):
    weight = with_gradient(weight)
    before = weight.grad.clone()
    make([weight], weight_decay=decay, maximize=maximize, foreach=foreach).step()
    assert torch.equal(weight.grad, before)


@sweep(
    weight=REAL_WEIGHTS,
    make=among([each for each in OPTIMISERS if each is not torch.optim.Rprop]),
    decay=DECAYS,
    foreach=booleans,
)
def no_gradient_no_decay(weight, make, decay, foreach):
    other, before = with_gradient(weight), weight.detach().clone()
    make([weight, other], weight_decay=decay, foreach=foreach).step()
    same(weight.detach(), before)
    assert not torch.equal(other, before)


@sweep(make=among(OPTIMISERS))
def l1_penalty_is_added_to_the_loss(make):
    options = inspect.signature(make).parameters
    assert not [name for name in options if "l1" in name]


@sweep(weight=REAL_WEIGHTS, lr=RATES, decay=DECAYS, size=among([1e-3, 1.0, 1e3]))
def adam_rescales_l2(weight, lr, decay, size):
    steps = {}
    for make, by in itertools.product((torch.optim.Adam, torch.optim.AdamW), (0.0, decay)):
        trained = with_gradient(weight, size)
        make([trained], lr=lr, weight_decay=by).step()
        steps[make, by] = weight.detach() - trained.detach()
    plain = steps[torch.optim.AdamW, 0.0]
    close(
        steps[torch.optim.AdamW, decay] - plain, lr * decay * weight.detach(), atol=1e-5, rtol=1e-4
    )
    assert (steps[torch.optim.Adam, decay].abs() <= lr * 1.001).all()


@sweep(
    value=among([math.nan, math.inf, -math.inf, -1.0, 0.0, 2.0]),
    dtype=among(FLOATS),
    samples=integers(1, 6),
    classes=integers(1, 300),
    data=integers(0, 1 << 16),
)
def nan_logits_predict_class_zero(value, dtype, samples, classes, data):
    generator = torch.Generator().manual_seed(data)
    labels = torch.randint(classes, (samples,), generator=generator)
    predicted = torch.full((samples, classes), value, dtype=dtype).argmax(1)
    same((predicted == labels).double().mean(), (labels == 0).double().mean())


@sweep(
    lengths=several(integers(0, 4), min_size=2, max_size=2), width=integers(1, 9), row=booleans()
)
def ctc_lengths_must_fit_the_targets(lengths, width, row):
    log_p = torch.zeros(9, 2, 3).log_softmax(2)
    targets = torch.ones(width if row else (2, width), dtype=torch.int64)
    refused = error(lambda: functional.ctc_loss(log_p, targets, [9, 9], lengths)) != ""
    assert refused == (width != sum(lengths) if row else width < max(lengths))


@sweep(
    logits=tensors(FLOATS, rank=(2, 2), size=(1, 5), values="normal", layouts=ANY_LAYOUT),
    number=integers(1, 4),
    seed=integers(0, 99),
    smoothing=among([0.0, 0.1]),
)
def teachers_are_averaged_as_probabilities(logits, number, seed, smoothing):
    shape, generator = (number, *logits.shape), torch.Generator().manual_seed(seed)
    teachers = torch.randn(shape, generator=generator, dtype=logits.dtype).mul(3).softmax(-1)
    logits = logits.detach().requires_grad_()
    loss = partial(functional.cross_entropy, logits, label_smoothing=smoothing)
    apart, together = torch.stack([loss(p) for p in teachers]).mean(), loss(teachers.mean(0))
    close(apart, together)
    for one, other in zip(
        torch.autograd.grad(apart, logits), torch.autograd.grad(together, logits), strict=True
    ):
        close(one, other, rtol=1e-4, atol=1e-5)
