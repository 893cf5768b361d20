"""Torch's side of the explorer of sizes through layers."""

import re
from functools import cache

import torch
from torch import nn
from torch.nn.functional import conv1d
from torch.utils.flop_counter import FlopCounterMode

CALL = "layers.answer(drawn.input, drawn.layers)"
RAISED = (RuntimeError, ValueError, IndexError, NotImplementedError)
UNSURE = ("memory descriptor", "output size per channel")
"""Of a transposed convolution without output: which error, if any, depends on the machine."""
LONG = 4000
"""The length of the line on which receptive fields are measured."""


def draw(source):
    """A shape and up to five layers, most of which fit, as a reader types them."""
    rank = source.choice([1, 2, 2, 2, 2, 3])
    most = 20 if rank < 3 else 7
    shape = [source.randint(1, 6), *(source.randint(1, most) for _ in range(rank))]
    shape = shape if source.random() < 0.25 else [source.randint(1, 3), *shape]
    shape = [source.randint(1, 3), *shape] if source.random() < 0.06 else shape
    shape = shape[-1:] if source.random() < 0.08 else shape
    x, lines = torch.zeros(shape), []
    for _ in range(source.randint(1, 5)):
        kind = source.choice(KINDS1 if x.ndim < 4 and rank == 1 else KINDS2 if rank < 3 else KINDS3)
        if source.random() < 0.1:
            kind = source.choice(KINDS1 + KINDS2 + KINDS3)
        lines.append(kind(source, x))
        try:
            following = eval(f"nn.{lines[-1]}", {"nn": nn})(x).detach()
        except RAISED as error:
            if any(text in str(error) for text in UNSURE):
                lines.pop()
                continue
            break
        if not following.numel():
            lines.pop()
            continue
        x = following
        if x.numel() > 20_000:
            break
    return {"input": shape, "layers": "\n".join(lines)}


def _channels(source, x, at):
    fits = x.ndim >= -at and source.random() > 0.1
    return x.shape[at] if fits else source.randint(1, 6)


def _size(source, least, most, rank):
    if rank > 1 and source.random() < 0.25:
        return str(tuple(source.randint(least, most) for _ in range(rank)))
    return str(source.randint(least, most))


def _options(source, options):
    return "".join(f", {name}={text}" for name, text, chance in options if source.random() < chance)


def _conv(rank):
    def conv(source, x):
        channels = _channels(source, x, -rank - 1)
        groups = source.choice([d for d in range(1, channels + 1) if channels % d == 0])
        grouped = source.random() < 0.3
        out = source.randint(1, 3) * (groups if grouped and source.random() < 0.9 else 1)
        padding = _size(source, 0, 3, rank) if source.random() < 0.7 else "'same'"
        options = [
            ("stride", _size(source, 1, 3, rank), 0.35),
            ("padding", padding, 0.5),
            ("dilation", _size(source, 1, 3, rank), 0.25),
            ("groups", groups if source.random() < 0.9 else groups + 1, grouped),
            ("bias", "False", 0.2),
        ]
        if source.random() < 0.1:
            return f"Conv{rank}d({channels}, {out}, {_size(source, 1, 5, rank)}, 2, 1)"
        kernel = _size(source, 1, 5, rank)
        kernel = f"kernel_size={kernel}" if source.random() < 0.3 else kernel
        return f"Conv{rank}d({channels}, {out}, {kernel}{_options(source, options)})"

    return conv


def _transposed(source, x):
    channels = _channels(source, x, -3)
    groups = source.choice([d for d in range(1, channels + 1) if channels % d == 0])
    grouped = source.random() < 0.3
    out = source.randint(1, 3) * (groups if grouped and source.random() < 0.9 else 1)
    options = [
        ("stride", _size(source, 1, 3, 2), 0.6),
        ("padding", _size(source, 0, 3, 2), 0.5),
        ("output_padding", _size(source, 0, 2, 2), 0.4),
        ("dilation", _size(source, 1, 3, 2), 0.2),
        ("groups", groups, grouped),
        ("bias", "False", 0.2),
    ]
    return (
        f"ConvTranspose2d({channels}, {out}, {_size(source, 1, 4, 2)}{_options(source, options)})"
    )


def _pool(name):
    def pool(source, x):
        options = [
            ("stride", _size(source, 1, 3, 2), 0.5),
            ("padding", _size(source, 0, 2, 2), 0.4),
            ("dilation", _size(source, 1, 3, 2), 0.25 * (name == "MaxPool2d")),
            ("ceil_mode", source.choice(["True", "True", "False"]), 0.5),
        ]
        return f"{name}({_size(source, 1, 4, 2)}{_options(source, options)})"

    return pool


def _adaptive(source, x):
    sizes = source.choice([1, 1, 1, 2, (1, 1), (3, 1), "output_size=4"])
    return f"AdaptiveAvgPool2d({sizes})"


def _dropout(source, x):
    return f"Dropout({source.choice(['', '0.1', 'p=0.5', '.3', '0', '1', 'p=0', '1.5', '2'])})"


def _linear(source, x):
    bias = ", bias=False" * (source.random() < 0.3)
    return f"Linear({_channels(source, x, -1)}, {source.randint(1, 9)}{bias})"


KINDS1 = [
    *5 * [_conv(1)],
    _linear,
    lambda source, x: f"Upsample(scale_factor={source.randint(1, 3)})",
    lambda source, x: source.choice(["ReLU()", "GELU()", "Flatten()"]),
    _adaptive,
]
KINDS2 = [
    *5 * [_conv(2)],
    *2 * [_transposed],
    *2 * [_pool("MaxPool2d"), _pool("AvgPool2d")],
    _linear,
    lambda source, x: f"Upsample(scale_factor={source.randint(1, 3)})",
    *2 * [lambda source, x: f"BatchNorm2d({_channels(source, x, -3)})"],
    _adaptive,
    _dropout,
    lambda source, x: source.choice(["ReLU()", "Tanh()", "Sigmoid()", "Flatten()", "Flatten()"]),
]
KINDS3 = [*4 * [_conv(3)], _dropout, lambda source, x: source.choice(["ReLU()", "Flatten()"])]
"""Makers of a layer for sequences, images and volumes, each as often as it stands here."""


def torch_says(case):
    """All that the explorer shows, computed by torch."""
    lines = case["layers"].splitlines()
    model = "".join(f"    nn.{line},\n" for line in lines)
    start = ", ".join(map(str, case["input"]))
    code = f"x = torch.empty({start})\nmodel = nn.Sequential(\n{model})\nmodel(x).shape"
    x, done, steps = torch.zeros(case["input"]), [], []
    for line in lines:
        try:
            layer = eval(f"nn.{line}", {"nn": nn})
            result = layer(x)
        except RAISED as error:
            failed = {"error": f"{type(error).__name__}: {error}", "cure": cure(x, line)}
            return {"steps": steps, "code": code, "line": line, **failed}
        done.append(layer)
        told = {"parameters": count(layer), "adds": adds(layer, x), "field": field(done)}
        steps.append({"line": line, "shape": list(result.shape), **told, "keeps": keeps(layer, x)})
        x = result.detach()
    names = {"torch": torch, "nn": nn}
    before, _, last = code.rpartition("\n")
    exec(before, names)
    assert eval(last, names) == x.shape
    model = names["model"]
    whole = {"shape": list(x.shape), "parameters": count(model)}
    return {"steps": steps, "code": code, **whole, "adds": sum(step["adds"] for step in steps)}


def count(module):
    """The number of parameters."""
    return sum(parameter.numel() for parameter in module.parameters())


def adds(module, x):
    """Multiply-adds, as torch's own counter has them: half of its operations."""
    # The counter does not know the product of a matrix and a single vector.
    x = x[None] if x.ndim == 1 else x
    with FlopCounterMode(display=False) as counter:
        module(x)
    return counter.get_total_flops() // 2


def field(done):
    """How far one output reads for each dimension, measured by a gradient; None without one."""
    single = (nn.ReLU, nn.GELU, nn.Tanh, nn.Sigmoid, nn.Dropout)
    spread = [layer for layer in done if not isinstance(layer, single)]
    convolutions = {nn.Conv1d: 1, nn.Conv2d: 2, nn.Conv3d: 3}
    kinds = (*convolutions, nn.MaxPool2d, nn.AvgPool2d, nn.BatchNorm2d)
    if not spread or not all(isinstance(layer, kinds) for layer in spread):
        return None
    ranks = {convolutions.get(type(layer), 2) for layer in spread}
    if len(ranks) > 1:
        return None
    (rank,) = ranks
    windows = [layer for layer in spread if not isinstance(layer, nn.BatchNorm2d)]
    return [_reach(tuple(_window(layer, dim) for layer in windows)) for dim in range(rank)]


def _window(layer, dim):
    own = (layer.kernel_size, layer.stride, getattr(layer, "dilation", 1))
    return tuple(s if isinstance(s, int) else s[dim] for s in own)


@cache
def _reach(windows):
    line = torch.ones(1, 1, LONG, dtype=torch.float64, requires_grad=True)
    x = line
    for kernel, stride, dilation in windows:
        weight = torch.ones(1, 1, kernel, dtype=torch.float64)
        x = conv1d(x, weight, stride=stride, dilation=dilation)
    (slope,) = torch.autograd.grad(x[0, 0, 0], line)
    read = slope[0, 0].nonzero()
    return int(read.max() - read.min()) + 1


def keeps(layer, x):
    """The padding with which a convolution of stride 1 keeps the sizes, found by trying."""
    if not isinstance(layer, (nn.Conv1d, nn.Conv2d, nn.Conv3d)) or set(layer.stride) != {1}:
        return None
    found = [_keeping(*one) for one in zip(layer.kernel_size, layer.dilation, strict=True)]
    return found if None not in found else None


@cache
def _keeping(kernel, dilation):
    long, weight = torch.zeros(1, 1, 40), torch.zeros(1, 1, kernel)
    tried = (
        padding
        for padding in range(kernel * dilation)
        if conv1d(long, weight, padding=padding, dilation=dilation).shape == long.shape
    )
    return next(tried, None)


def cure(x, line):
    """The first argument, where it is a number of channels or features, with which it would run."""
    name = line.partition("(")[0]
    at = {"Linear": -1, "Conv1d": -2, "Conv2d": -3, "Conv3d": -4, "ConvTranspose2d": -3}
    at |= {"BatchNorm2d": -3}
    if name not in at or x.ndim < -at[name]:
        return None
    wanted = x.shape[at[name]]
    try:
        result = eval("nn." + re.sub(r"\(\d+", f"({wanted}", line, count=1), {"nn": nn})(x)
    except RAISED:
        return None
    return wanted if result.numel() else None


MUTANTS = [
    ("sizes.length === 2 && rank < 3", "rank < 3"),
    ("sizes[0], sizes.at(-1)]", "sizes.at(-1), sizes[0]]"),
    ("if (!mean && rank !== 3 && rank !== 4)", "if (!mean && rank !== 4)"),
    ("if (!mean && rank !== 3 && rank !== 4)", "if (rank !== 3 && rank !== 4)"),
    ("if (mean && rank < 2) outOfRange(-2, rank);", ""),
    ("if (p > 1)", "if (p > 9)"),
    ("Conv3d: -4", "Conv3d: -3"),
    ("dilation[i] * (size - 1) + 1", "dilation[i] * size"),
    ("dilation[i] * (size - 1) + 1", "size"),
    ("shape.length === rank + 1 || ", ""),
    ("shape : [1, ...shape];", "shape : shape;"),
    ("if (from % groups)", "if (false)"),
    ("if (out % groups)", "if (false)"),
    ("stride.some((step) => step !== 1)", "stride.every((step) => step !== 1)"),
    ("const weight = [out, from / groups", "const weight = [out, from"),
    ("size + 2 * (same", "size + (same"),
    ("size < reach[i])) {", "size <= reach[i])) {"),
    ("size < reach[i])) {", "size < kernel[i])) {"),
    ("Kernel size: (${cross(reach)})", "Kernel size: (${cross(kernel)})"),
    ("Math.floor((size - reach[i]) / stride[i])", "Math.ceil((size - reach[i]) / stride[i])"),
    (
        "product(result) * product(weight.slice(1)), reach",
        "product(result) * product(weight), reach",
    ),
    ("stride.every((step) => step === 1) && reach.every", "reach.every"),
    ("reach.map((size) => (size - 1) / 2)", "kernel.map((size) => (size - 1) / 2)"),
    ("const weight = [from, out / groups", "const weight = [from, out"),
    ("more >= stride[i] && more >= dilation[i]", "more >= stride[i]"),
    ("more >= stride[i] && more >= dilation[i]", "more > stride[i] && more > dilation[i]"),
    ("(size - 1) * stride[i] - 2", "size * stride[i] - 2"),
    ("reach[i] + extra[i]));", "reach[i]));"),
    ("adds: product(shape) * product", "adds: product(shape) / 2 * product"),
    ('"MaxPool2d" && rank !== 3 && rank !== 4', '"MaxPool2d" && rank !== 4'),
    ("if (rank < 3) outOfRange", "if (rank < 2) outOfRange"),
    ("padding[i] > Math.floor(reach[i] / 2)", "padding[i] > Math.floor(kernel[i] / 2)"),
    ("(ceil ? stride[i] - 1 : 0)", "0"),
    ("found - (ceil && (found - 1) * stride[i] >= size + padding[i] ? 1 : 0)", "found"),
    ("(found - 1) * stride[i] >= size + padding[i]", "(found - 1) * stride[i] >= size"),
    ("if (rank > 4) {", "if (rank > 9) {"),
    ("pad > Math.floor(kernel[i] / 2)", "false"),
    ("padW = ${padding[1]}, padH = ${padding[0]}", "padW = ${padding[0]}, padH = ${padding[1]}"),
    ("shape.length < 3 || shape.length > 5", "shape.length < 4 || shape.length > 5"),
    ("dim > 1 ? size * scale", "dim > 0 ? size * scale"),
    ("[shape[0], product(shape.slice(1))]", "[product(shape)]"),
    ("${rows}x${last} and", "${last}x${rows} and"),
    ("from * out + (bias ? out : 0),\n      adds: rows", "from * out,\n      adds: rows"),
    ("adds: rows * from * out", "adds: from * out"),
    ("product(shape) === shape[1]", "false"),
    ("parameters: 2 * channels", "parameters: channels"),
    (
        "const same = (shape) => ({ shape, keepsField: true });",
        "const same = (shape) => ({ shape });",
    ),
    ("one === null ? args.kernel : one", "one === null ? [1, 1] : one"),
    ("(next.reach[i] - 1) * apart", "(next.reach[i] - 1)"),
    ("apart: apart * next.stride[i]", "apart: next.stride[i]"),
    ("} else if (!next.keepsField) lost = true;", "}"),
    ("next.reach.length !== field.length", "false"),
    ("{ ...args, in: shape.at(wanted) }", "args"),
    ("size + (reach[i] - 1) % 2", "size"),
]
"""Changes of the rule, each of which the comparison must notice."""
