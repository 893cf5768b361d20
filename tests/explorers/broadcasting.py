"""Torch's side of the explorer of broadcasting."""

import math

import torch

CALL = "broadcasting.answer(drawn)"
NAMES = "abc"
MOST = 60


def draw(source):
    """Two or three shapes, most of them made to fit, some by no more than luck."""
    most = source.choice([3, 3, 5, 7]) if source.random() < 0.9 else 999
    result = [source.randint(1, most) for _ in range(source.randint(0, 4 if most < 9 else 2))]
    shapes = [_part(source, result, most) for _ in range(source.choice([2, 2, 3]))]
    for _ in range(source.choice([0, 0, 0, 1, 2])):
        shape = source.choice(shapes)
        if shape:
            shape[source.randrange(len(shape))] = source.randint(0, most)
    return shapes


def _part(source, result, most):
    kept = result[source.randint(0, len(result)) if source.random() < 0.5 else 0 :]
    return [1 if source.random() < 0.3 else size for size in kept]


def torch_says(shapes):
    """All that the explorer shows, computed by torch."""
    names = NAMES[: len(shapes)]
    code = "".join(f"{n} = torch.zeros({tuple(s)})\n" for n, s in zip(names, shapes, strict=True))
    code += " + ".join(names)
    tensors = [filled(shape, 10 ** (len(shapes) - 1 - i)) for i, shape in enumerate(shapes)]
    total = tensors[0]
    for i, tensor in enumerate(tensors[1:], start=1):
        try:
            # float64 counts on where float32 would round.
            total = total.double() + tensor.double()
        except RuntimeError as error:
            at = f"{' + '.join(names[:i])} + {names[i]}"
            cure = advice(tensors) if len(shapes) == 2 else ""
            text = f"RuntimeError: {error}"
            return {
                "code": code,
                "error": text,
                "at": at,
                "left": list(total.shape),
                "advice": cure,
            }
    shown = eval(
        code.replace("\n", "; ").rpartition("; ")[2], dict(zip(names, tensors, strict=True))
    )
    stretched = torch.broadcast_tensors(*tensors)
    operands = [
        {
            "strides": list(view.stride()),
            "bytes": view.untyped_storage().nbytes(),
            "notCopied": view.clone(memory_format=torch.contiguous_format).nbytes - tensor.nbytes,
        }
        for tensor, view in zip(tensors, stretched, strict=True)
    ]
    return {
        "code": code,
        "shape": list(shown.shape),
        "bytes": shown.untyped_storage().nbytes(),
        "operands": operands,
        "grows": shown.numel() > max(map(torch.numel, tensors)),
        "values": [int(x) for x in total.flatten().tolist()] if total.numel() <= MOST else None,
    }


def filled(shape, factor):
    """A new tensor that counts from 1, times a factor."""
    numbers = torch.arange(1, math.prod(shape) + 1).view(shape)
    return torch.empty(shape).copy_(numbers).mul_(factor)


def advice(tensors):
    """Sizes of 1 for the tensor of lower rank that let both fit: one, or several at its end."""
    a, b = tensors
    name, short, long = ("a", a, b) if a.ndim < b.ndim else ("b", b, a)
    for dim in range(1, short.ndim + 1) if short.ndim < long.ndim else ():
        try:
            torch.add(short.unsqueeze(dim), long)
        except RuntimeError:
            continue
        return f"{name}.unsqueeze({dim})"
    for more in range(2, long.ndim - short.ndim + 1) if short.ndim else ():
        shape = (*short.shape, *more * [1])
        try:
            torch.add(short.view(shape), long)
        except RuntimeError:
            continue
        return f"{name}.view({', '.join(map(str, shape))})"
    return ""


MUTANTS = [
    ("Math.max(a.length, b.length)", "a.length"),
    ("let dim = rank - 1; dim >= 0; dim--", "let dim = 0; dim < rank; dim++"),
    ("sizes[dim - rank + sizes.length] ?? 1)", "sizes[dim] ?? 1)"),
    ("left !== right && left !== 1 &&", "left !== right &&"),
    ("left !== 1 && right !== 1", "left !== 1"),
    ("left !== 1 && right !== 1", "left > 1 && right > 1"),
    ("non-singleton dimension ${dim}", "non-singleton dimension ${dim - rank}"),
    ("left === 1 ? right : left", "Math.max(left, right)"),
    ("must match the size of ", "must match size of "),
    ("size === shape[dim] ? beside : 0", "beside"),
    ("size === shape[dim] ? beside : 0", "size === 1 ? 0 : beside"),
    ("Math.max(size, 1)", "size"),
    ("shape[dim + 1] * steps[dim + 1]", "0"),
    ("n + 1) * 10", "n) * 10"),
    ("all - 1 - i", "i"),
    ("sum + number(i", "sum * number(i"),
    ("(rest - index) / shape[dim]", "rest / shape[dim]"),
    ("a.length < b.length ?", "a.length > b.length ?"),
    ("dim <= short.length", "dim < short.length"),
    ("short.slice(0, dim), 1, ...", "short.slice(0, dim), ..."),
    ("let more = 2;", "let more = 3;"),
    ("short.length + more <= long.length", "short.length + more < long.length"),
    ("shape = common;", "shape = sizes;"),
    ("count(shape) > largest", "count(shape) >= largest"),
    ("count(shape) <= MOST", "count(shape) < MOST"),
    ("bytes - count(sizes) * BYTES", "bytes"),
    ("const BYTES = 4", "const BYTES = 8"),
    ('sizes.length === 1 ? "," : ""', '""'),
]
"""Changes of the rule, each of which the comparison must notice."""
