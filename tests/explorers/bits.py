"""Torch's side of the explorer of a number's bits."""

import math
from functools import cache

import torch

CALL = "bits.answer(drawn)"
FORMATS = {
    torch.float32: torch.int32,
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
    torch.float8_e5m2: torch.uint8,
    torch.float8_e4m3fn: torch.uint8,
}
"""Each float, and the integers of its width."""
KNOWN = [
    *("0.0", "-0.0", "-0", "-0/5", "0/-5", "inf", "-inf", "nan"),
    *("1/3", "0.1", "-2/3", "65519.99", "65520", "464", "2**24"),
]


def draw(source):
    """A number as a reader types it, often at or between the numbers of a format."""
    return source.choice(KINDS)(source)


def _beside(source):
    """A number of a format, or one in the middle between two, or hardly beside it."""
    dtype = source.choice(list(FORMATS))
    pattern = source.randrange(2 ** (8 * dtype.itemsize - 1) - 1)
    here, beyond = _values([pattern, pattern + 1], dtype)
    number = source.choice([here, (here + beyond) / 2])
    number = source.choice([number, number, math.nextafter(number, source.choice([0, math.inf]))])
    number = number if math.isfinite(number) else 1e6
    return source.choice([1, -1]) * number


KINDS = [
    *8 * [lambda source: repr(_beside(source))],
    *5 * [lambda s: f"{s.uniform(-10, 10):.{s.randint(0, 9)}f}e{s.randint(-48, 40)}"],
    *2 * [lambda source: repr(round(source.uniform(-600, 600), source.randint(0, 6)))],
    lambda source: str(source.randint(-70000, 70000)),
    lambda s: f"{s.randint(-99, 99)}/{s.choice(['', '-'])}{s.randint(1, 999)}",
    lambda source: f"{source.choice(['', '-'])}2**{source.randint(-160, 140)}",
    lambda source: source.choice(KNOWN),
]
"""Makers of a number, each as often as it stands here."""


def _values(patterns, dtype):
    """The numbers that patterns of bits stand for, as Python floats."""
    width = 8 * dtype.itemsize
    whole = torch.tensor(patterns) % 2**width
    signed = whole - 2**width * (whole >= 2 ** (width - 1)) if width > 8 else whole
    return signed.to(FORMATS[dtype]).view(dtype).double().tolist()


@cache
def _all(dtype):
    """All numbers of a format of 8 bits."""
    return _values(list(range(256)), dtype)


def torch_says(text):
    """All that the explorer shows, computed by torch."""
    code = f'float("{text}")' if text.strip("-") in ("inf", "nan") else f"float({text})"
    number = eval(code)
    lines = [f"torch.tensor(x, dtype={dtype}).item()" for dtype in FORMATS]
    return {
        "number": repr(number),
        "formats": [
            stored(number, dtype, line) for dtype, line in zip(FORMATS, lines, strict=True)
        ],
        "code": "\n".join([f"x = {code}", *lines]),
    }


def stored(number, dtype, line):
    """What is told of the number in one format."""
    width, limits = 8 * dtype.itemsize, torch.finfo(dtype)
    pattern = int(torch.tensor(number, dtype=dtype).view(FORMATS[dtype])) % 2**width
    here = eval(line, {"torch": torch, "x": number})
    fraction = round(-math.log2(limits.eps))
    below, above = (following(here, dtype, math.copysign(math.inf, s)) for s in (-1, 1))
    outer = below if math.copysign(1, here) < 0 else above
    finite = outer is not None and math.isfinite(outer)
    texts = [None if one is None else repr(one) for one in (below, above)]
    return {
        "dtype": str(dtype).removeprefix("torch."),
        "digits": f"{pattern:0{width}b}",
        "fields": [1, width - 1 - fraction, fraction],
        "stored": repr(here),
        "fate": fate(number, here, dtype),
        "off": repr(here - number) if math.isfinite(here - number) else None,
        "below": texts[0],
        "above": texts[1],
        "step": repr(abs(outer - here)) if finite else None,
        "largest": repr(limits.max),
        "flips": [*map(repr, _values([pattern ^ 2**at for at in reversed(range(width))], dtype))],
    }


def has_infinity(dtype):
    """Whether some pattern of the format is infinite."""
    return dtype.itemsize != 1 or any(map(math.isinf, _all(dtype)))


def following(here, dtype, towards):
    """The next number of the format in a direction; None where there is none."""
    if math.isnan(here) or here == towards:
        return None
    if dtype.itemsize > 1:
        start = torch.tensor(here, dtype=dtype)
        return torch.nextafter(start, torch.tensor(towards, dtype=dtype)).item()
    beyond = [one for one in _all(dtype) if (one > here if towards > 0 else one < here)]
    if not beyond:
        return None
    found = min(beyond) if towards > 0 else max(beyond)
    return math.copysign(found, here) if found == 0 else found


def fate(number, here, dtype):
    """What became of the number, in a word."""
    limits = torch.finfo(dtype)
    if math.isnan(number):
        return "nan"
    if math.isinf(here):
        return "infinite" if math.isinf(number) else "overflows"
    if abs(number) > limits.max and not has_infinity(dtype):
        return "saturates"
    if number and not here:
        return "underflows"
    exact = "exact" if number == here else "rounded"
    return f"{exact}, subnormal" if 0 < abs(here) < limits.smallest_normal else exact


MUTANTS = [
    ("exponent < -4 ||", "exponent < -6 ||"),
    ("exponent >= 16", "exponent >= 21"),
    ('padStart(2, "0")', 'padStart(1, "0")'),
    ('Object.is(number, -0) ? "-0.0"', 'false ? "-0.0"'),
    ("number) : number) / other;", "number) : number) * other;"),
    ("whole ? 0 - one : -one", "-one"),
    ("sign ? -value(second) : value(second)", "value(second)"),
    ("ones * size + size / 2", "ones * size + 1"),
    (
        '{ dtype: "float16", exponent: 5, fraction: 10 }',
        '{ dtype: "float16", exponent: 6, fraction: 9 }',
    ),
    ('fraction: 2, nan: "ones" }', "fraction: 2 }"),
    ('nan: "ones", finite: true', 'nan: "ones"'),
    ("const least = 2 - 2 **", "const least = 1 - 2 **"),
    ("(ones + 1) * size - 2 : infinity", "(ones + 1) * size - 3 : infinity"),
    ("exponent ? size + place % size : place", "size + place % size"),
    ("Math.max(exponent, 1) - 1", "exponent - 1"),
    ("rest > 0.5 || (rest === 0.5 && below % 2)", "rest >= 0.5"),
    ("rest > 0.5 || (rest === 0.5 && below % 2)", "rest > 0.5"),
    ("? below + 1 : below;", "? below : below;"),
    ("const single = Math.fround(number);", "const single = number;"),
    ("const most = infinity ?? largest;", "const most = infinity ?? nan;"),
    ("Math.max(Math.floor(Math.log2(single)), least)", "Math.floor(Math.log2(single))"),
    ("return place > largest ? most : place;", "return Math.min(place, largest);"),
    ('return "saturates";', 'return "overflows";'),
    ('if (number && !stored) return "underflows";', ""),
    ("stored && place < format.normal", "stored && place <= format.normal"),
    ("stored && place < format.normal", "place < format.normal"),
    ("(place === largest && infinity === null)", "false"),
    ("place ? decoded(place - 1, format)", "decoded(place - 1, format)"),
    ("-decoded(1, format)", "decoded(1, format)"),
    ("below: negative ? above : below", "below"),
    ("outer === null || outer === Infinity ?", "outer === null ?"),
    ("number < 0 || Object.is(number, -0)", "number < 0"),
    ("slice(0, at) + (1 - digit)", "slice(0, at) + digit"),
    ('pattern[0] === "1" ? -found : found', "found"),
]
"""Changes of the rule, each of which the comparison must notice."""
