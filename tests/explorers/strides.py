"""Torch's side of the explorer of storage, strides and views."""

import math

import torch

CALL = "strides.answer(drawn.shape, drawn.steps)"
LARGEST = 400


def draw(source):
    """A shape and up to five steps, most of them possible, as a reader types them."""
    shape = [source.choice([1, 2, 2, 3, 4, 5]) for _ in range(source.choice([0, 1, 2, 2, 3, 3, 4]))]
    x = torch.arange(math.prod(shape)).view(shape)
    steps = []
    for _ in range(source.randint(1, 5)):
        line = _step(source, x)
        try:
            with torch.no_grad():
                following = eval(f"x{line}", {"x": x})
        except (RuntimeError, IndexError, ValueError):
            steps.append(line)
            break
        if following.numel() > LARGEST or following.ndim > 6:
            continue
        x = following
        steps.append(line)
    return {"shape": shape, "steps": "\n".join(steps)}


def _step(source, x):
    return source.choice(STEPS)(source, x)


def _dim(source, rank):
    wrong = source.random() < 0.08
    most = max(rank, 1)
    return source.randint(-most - wrong, most - 1 + wrong)


def _permute(source, x):
    order = source.sample(range(x.ndim), x.ndim) or [0]
    if source.random() < 0.08:
        order[source.randrange(len(order))] = _dim(source, x.ndim)
    if source.random() < 0.08:
        order = source.choice([[*order, x.ndim], order[1:] or [0]])
    return _many(source, "permute", [d - x.ndim if source.random() < 0.2 else d for d in order])


def _expand(source, x):
    sizes = [source.randint(0, 4) if size == 1 else size for size in x.shape]
    sizes = [source.randint(1, 3) for _ in range(source.choice([0, 0, 1, 2]))] + sizes
    sizes = [-1 if x.ndim and source.random() < 0.15 else size for size in sizes] or [2]
    if source.random() < 0.08:
        sizes[source.randrange(len(sizes))] += 1
    return _many(source, "expand", sizes[source.random() < 0.05 :] or [3])


def _flatten(source, x):
    ends = [str(_dim(source, x.ndim)) for _ in range(source.choice([0, 1, 2]))]
    return f".flatten({', '.join(ends)})"


STEPS = [
    lambda source, x: f".transpose({_dim(source, x.ndim)}, {_dim(source, x.ndim)})",
    lambda source, x: source.choice([".t()", ".T", ".mT"]),
    _permute,
    *3 * [lambda source, x: f"[{', '.join(_places(source, x))}]"],
    *2 * [_expand],
    *3 * [lambda source, x: _many(source, "view", _sizes(source, x))],
    lambda source, x: _many(source, "reshape", _sizes(source, x)),
    lambda source, x: f".unsqueeze({_dim(source, x.ndim + 1)})",
    lambda source, x: source.choice([".squeeze()", f".squeeze({_dim(source, x.ndim)})"]),
    _flatten,
    lambda source, x: ".contiguous()",
]
"""Makers of a step, each as often as it stands here."""


def _many(source, kind, numbers):
    text = ", ".join(map(str, numbers))
    if source.random() < 0.2:
        text = f"({text},)" if len(numbers) == 1 else source.choice(["({})", "[{}]"]).format(text)
    return f".{kind}({text})"


def _sizes(source, x):
    rest, sizes = x.numel(), []
    while rest > 1 and source.random() < 0.7:
        size = source.choice([n for n in range(1, rest + 1) if rest % n == 0])
        sizes.append(size)
        rest //= size
    sizes.append(rest)
    if source.random() < 0.3:
        sizes.insert(source.randint(0, len(sizes)), 1)
    if source.random() < 0.3:
        source.shuffle(sizes)
    for chance, size in ((0.06, 3), (0.08, 0), (0.2, -1), (0.05, -1), (0.02, -2)):
        if source.random() < chance:
            sizes[source.randrange(len(sizes))] = size
    return sizes


def _places(source, x):
    places = []
    for size in x.shape[: source.randint(0, x.ndim)]:
        kind = source.random()
        if kind < 0.25:
            index = source.randint(-size, max(size - 1, 0)) if kind > 0.02 else size
            places.append(str(index))
        else:
            ends = [
                "" if source.random() < 0.5 else str(source.randint(-size - 1, size + 1))
                for _ in range(2)
            ]
            step = source.choice(["", "", "", ":", ":1", ":2", ":2", ":3"])
            if source.random() < 0.03:
                step = source.choice([":0", ":-1"])
            places.append(":".join(ends) + step)
    if source.random() < 0.2:
        places.insert(source.randint(0, len(places)), "None")
    if source.random() < 0.15:
        places.insert(source.randint(0, len(places)), "...")
    if source.random() < 0.05:
        places += ["0"] * (x.ndim + 1)
    return places or [source.choice(["...", ":", "0", "::2", "None"])]


def torch_says(case):
    """All that the explorer shows, computed by torch."""
    shape, lines = case["shape"], case["steps"].splitlines()
    code = [f"x = torch.arange({math.prod(shape)}).view({', '.join(map(str, shape)) or '()'})"]
    names = {"torch": torch}
    exec(code[0], names)
    first, start, steps = names["x"], shown(names["x"]), []
    for line in lines:
        before = names["x"]
        code.append(f"x = x{line}")
        try:
            exec(code[-1], names)
        except (RuntimeError, IndexError, ValueError) as error:
            text = f"{type(error).__name__}: {error}"
            copy = reshaped(before, line) if "not compatible" in text else None
            failed = {"line": line, "error": text, "copy": copy}
            return {"start": start, "steps": steps, "code": "\n".join(code), **failed}
        x = names["x"]
        steps.append({"line": line, **shown(x), "copies": not shared(x, before)})
    x = names["x"]
    whole = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage())
    places = torch.arange(len(whole)).as_strided(x.shape, x.stride(), x.storage_offset())
    return {
        "start": start,
        "steps": steps,
        "code": "\n".join(code),
        "storage": whole.tolist(),
        "positions": places.flatten().tolist(),
        "values": x.flatten().tolist(),
        "shares": shared(x, first),
        "viewable": shared(x, x.reshape(x.numel())) and viewable(x),
        "bytes": x.nbytes,
        "held": x.untyped_storage().nbytes(),
    }


def shown(x):
    """What is told of a tensor."""
    return {
        "shape": list(x.shape),
        "stride": list(x.stride()),
        "offset": x.storage_offset(),
        "contiguous": x.is_contiguous(),
    }


def shared(x, y):
    """Whether both read the same storage."""
    return x.untyped_storage()._cdata == y.untyped_storage()._cdata


def viewable(x):
    """Whether the tensor can be flattened without a copy."""
    try:
        x.view(x.numel())
    except RuntimeError:
        return False
    return True


def reshaped(x, line):
    """The bytes that reshape copies where view fails."""
    result = eval(f"x{line.replace('view', 'reshape')}", {"x": x})
    assert not shared(result, x)
    return result.untyped_storage().nbytes()


MUTANTS = [
    ("x.shape.length - 1 - dim)", "dim)"),
    ("transpose(x, [-2, -1])", "transpose(x, [0, 1])"),
    ("if (rank === 1) {", "if (rank === 9) {"),
    ("const most = Math.max(rank, 1);", "const most = rank;"),
    ("dim < -most ||", "dim <= -most ||"),
    ("dim < -most || dim >= most", "dim < -most || dim > most"),
    ("return dim < 0 ? dim + most : dim;", "return Math.abs(dim);"),
    ("step *= Math.max(shape[dim], 1);", "step *= shape[dim];"),
    ("if (product(shape) === 0) return true;", ""),
    ("if (shape[dim] === 1) continue;", ""),
    ("if (stride[dim] !== step) return false;", "if (stride[dim] > step) return false;"),
    ("let found = [offset];", "let found = [0];"),
    ("i * stride[dim]);", "i);"),
    ("stride: rowMajor(shape), offset: 0, shares: false", "stride: x.stride, offset: 0"),
    ("offset: 0, shares: false", "offset: x.offset, shares: false"),
    ("offset: 0, shares: false", "offset: 0, shares: true"),
    ("if (left >= 0) raise(", "if (left > 0) raise("),
    ("} else if (size < 0) {", "} else if (size < -9) {"),
    ("at index ${at} of shape", "at index ${at + 1} of shape"),
    ("known === count ||", "known >= count ||"),
    ("count % known === 0", "known < count"),
    ("if (known === 0) {", "if (count === 0) {"),
    ("list(shape) === list(wanted) ? stride : rowMajor(wanted)", "rowMajor(wanted)"),
    ("shape[dim - 1] !== 1 && stride", "stride"),
    ("stride[dim - 1] !== block * step", "stride[dim - 1] !== block"),
    ("stride[dim - 1] !== block * step", "stride[dim - 1] < block * step"),
    ("(filled < block || wanted[at] === 1)", "filled < block"),
    ("found[at] = filled * step;", "found[at] = step;"),
    ("if (filled !== block) return null;", ""),
    ("step = stride[dim - 1];", ""),
    ("block = filled = 1;", "block = 1;"),
    ("if (!stride) {", "if (!isContiguous(x)) {"),
    ("return stride ? { ...x, shape, stride } : copied(x, shape);", "return copied(x, shape);"),
    (
        "stride ? { ...x, shape, stride } : copied",
        "isContiguous(x) ? { ...x, shape, stride } : copied",
    ),
    ("if (dims.length !== x.shape.length) {", "if (dims.length > x.shape.length) {"),
    ("if (order.includes(wrapped))", "if (order.includes(dim))"),
    ("shape: order.map((dim) => x.shape[dim])", "shape: x.shape"),
    ("stride: order.map((dim) => x.stride[dim])", "stride: x.stride"),
    ("dim === a ? b : dim === b ? a : dim", "dim === a ? b : dim"),
    ("if (rank > 2) {", "if (rank !== 2) {"),
    ("rank < 2 ? x", "false ? x"),
    ("if (missing < 0) {", "if (missing < -9) {"),
    ("shape[dim] !== size && size !== 1", "shape[dim] !== size && size > 1"),
    ("if (shape[dim] === size && x.shape.length) {", "if (shape[dim] === size) {"),
    ("if (shape[dim] === size && x.shape.length) {", "if (own >= 0) {"),
    ("own < 0 ? shape[dim + 1] * stride[dim + 1]", "own < 0 ? 0"),
    ("singleton dimension ${dim}.  Target", "singleton dimension ${dim}. Target"),
    ("wrap(asked, shape.length + 1)", "wrap(asked, shape.length)"),
    ("dim < shape.length ? shape[dim] * stride[dim] : 1", "dim < shape.length ? stride[dim] : 1"),
    ("shape[dim] !== 1 || (only", "shape[dim] > 1 || (only"),
    ("(only !== null && dim !== only)", "false"),
    ("[from = 0, to = -1]", "[from = 0, to = 0]"),
    ("if (first > last) {", "if (first >= last) {"),
    ("if (!rank) return reshape(x, [1]);", "if (!rank) return x;"),
    ("(isContiguous(x) ? x : copied(x))", "copied(x)"),
    ("places.length > 1 && read > rank", "read > rank"),
    ("dim += rank - read;", "dim += rank - read + 1;"),
    ("place < -size || place >= size", "place < -size || place > size"),
    ("bounds for dimension ${at}", "bounds for dimension ${dim}"),
    ("(place < 0 ? place + size : place) * stride", "Math.abs(place) * stride"),
    ("Math.max(end < 0 ? end + size : end, low)", "Math.max(end, low)"),
    ("place.to ?? size, from)", "place.to ?? size, 0)"),
    ("offset: offset + from * stride[dim],", "offset,"),
    ("Math.ceil((to - from) / step)", "Math.floor((to - from) / step)"),
    ("stride.with(dim, stride[dim] * step)", "stride"),
    ("if (step === 0) raise", "if (step === -1) raise"),
    ("copies: next.storage !== x.storage", "copies: false"),
    ("const flat = viewed(x, [product(x.shape)]) !== null;", "const flat = isContiguous(x);"),
    ("held: x.storage.length * BYTES", "held: product(x.shape) * BYTES"),
    ("product(reshape(x, numbers).shape) * BYTES", "x.storage.length * BYTES"),
]
"""Changes of the rule, each of which the comparison must notice."""
