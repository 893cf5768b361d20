"""Sweeps of the part on data."""

import io

import torch
from torch import nn
from torch.nn import functional
from torch.testing import assert_close as close
from torch.utils.data import DataLoader, default_collate, random_split

from claimbook.sweeps.search import error, same, sweep
from claimbook.sweeps.strategies import (
    ALL,
    among,
    assume,
    booleans,
    integers,
    several,
    tensors,
)

ARRAYS = tuple(each for each in ALL if each is not torch.bfloat16)


def indices(loader):
    """Return the batches of a loader as lists."""
    return [list(batch) for batch in loader]


@sweep(cases=100, count=integers(0, 9), size=integers(1, 4), drop=booleans)
def loader_is_sampler_fetch_collate(count, size, drop):
    data = [10 * each for each in range(count)]
    batches = [data[start : start + size] for start in range(0, count, size)]
    if drop:
        batches = [batch for batch in batches if len(batch) == size]
    loader = DataLoader(data, batch_size=size, drop_last=drop)
    assert [batch.tolist() for batch in loader] == batches


@sweep(cases=100, count=integers(0, 9), size=integers(1, 12))
def drop_last_may_leave_no_batch(count, size):
    batches = indices(DataLoader(range(count), batch_size=size, drop_last=True))
    assert len(batches) == count // size


@sweep(cases=100, x=tensors(ALL, rank=(1, 3), size=(1, 4)), size=integers(1, 3))
def getitems_fetches_a_batch_at_once(x, size):
    calls = []

    class Rows(list):
        def __getitems__(self, places):
            calls.append(places)
            return [self[place] for place in places]

    loader = DataLoader(Rows(x), batch_size=size)
    same(torch.cat(list(loader)), x)
    assert calls == indices(loader.batch_sampler)


@sweep(x=tensors(ARRAYS), copies=integers(1, 3))
def numpy_arrays_are_collated(x, copies):
    batch = default_collate([x.numpy()] * copies)
    assert batch.dtype == x.dtype
    assert torch.equal(batch, torch.stack([x] * copies))


@sweep(cases=100, count=integers(1, 20), size=integers(1, 5), drop=booleans, epochs=integers(1, 3))
def shuffled_anew_in_each_epoch(count, size, drop, epochs):
    loader = DataLoader(range(count), batch_size=size, shuffle=True, drop_last=drop)
    for _ in range(epochs):
        seen = torch.cat([torch.empty(0, dtype=torch.int64), *loader]).tolist()
        assert len(set(seen)) == len(seen) == (count // size * size if drop else count)


@sweep(cases=100, first=integers(0, 5), second=integers(0, 5))
def both_parts_of_a_split_share_the_dataset(first, second):
    data = list(range(first + second))
    parts = random_split(data, [first, second])
    assert parts[0].dataset is parts[1].dataset is data
    assert sorted([*parts[0].indices, *parts[1].indices]) == data


@sweep(cases=100, places=several(integers(0, 4), max_size=6), size=integers(1, 3))
def any_list_of_indices_is_a_sampler(places, size):
    loader = DataLoader(range(5), batch_size=size, sampler=places)
    for _ in range(2):
        assert [int(each) for batch in loader for each in batch] == places


@sweep(x=tensors(ALL, rank=(1, 3), size=(1, 3), layouts=("contiguous", "permuted", "stepped")))
def state_dict_is_no_copy(x):
    module = nn.Module()
    module.register_buffer("held", x)
    module.state_dict()["held"].fill_(1)
    assert (x == 1).all()


@sweep(x=tensors(ALL, rank=(1, 3), size=(1, 4)), times=integers(1, 4))
def tied_weights_are_saved_once(x, times):
    assume(x.is_contiguous())
    file = io.BytesIO()
    torch.save([x] * times, file)
    file.seek(0)
    loaded = torch.load(file)
    same(loaded, [x] * times)
    assert len({each.untyped_storage().data_ptr() for each in loaded}) == 1


@sweep(value=among([None, {1}, object(), 1j, range(2)]), copies=integers(1, 3))
def unknown_types_are_refused(value, copies):
    known = isinstance(value, range)  # a sequence
    assert error(lambda: default_collate([value] * copies)).startswith("TypeError") != known


@sweep(
    x=tensors((torch.uint8, torch.float32), rank=(3, 3), size=(1, 6), values="normal"),
    cuts=several(integers(0, 6), max_size=4),
)
def sums_give_mean_and_std_in_one_pass(x, cuts):
    images = [part.double() for part in x.tensor_split(sorted(cuts), dim=2)]
    count = sum(image[0].numel() for image in images)
    mean = sum(image.sum((1, 2)) for image in images) / count
    squares = sum((image**2).sum((1, 2)) for image in images)
    std = (squares / count - mean**2).clamp(min=0).sqrt()
    close(mean, x.double().mean((1, 2)))
    close(std, x.double().std((1, 2), correction=0), rtol=0, atol=1e-7)


@sweep(
    images=tensors(torch.float64, rank=(2, 2), size=(1, 5), values="normal"),
    labels=lambda images: several(
        integers(0, images.shape[1] - 1), min_size=len(images), max_size=len(images)
    ),
    quarters=integers(0, 4),
)
def mixup_labels_or_mixup_losses(images, labels, quarters):
    share, labels = quarters / 4, torch.tensor(labels)
    one_hot = functional.one_hot(labels, images.shape[1]).double()
    mixed = share * images + (1 - share) * images.flip(0)
    targets = share * one_hot + (1 - share) * one_hot.flip(0)
    own = functional.cross_entropy(mixed, labels)
    partner = functional.cross_entropy(mixed, labels.flip(0))
    close(functional.cross_entropy(mixed, targets), share * own + (1 - share) * partner)
