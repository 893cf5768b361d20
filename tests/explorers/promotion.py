"""Torch's side of the explorer of type promotion."""

import itertools

import torch

CALL = "promotion.answer(...drawn)"
DTYPES = [
    *("bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"),
    *("float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64"),
    *("complex64", "complex128"),
]
NUMBERS = {"True": True, "2": 2, "2.5": 2.5, "2j": 2j}
OPERANDS = [*(f"{dtype}{sizes}" for dtype in DTYPES for sizes in ("[3]", "[]")), *NUMBERS]
OPERATIONS = ["+", "-", "*", "/", "//", ">", "==", "+=", "/="]
ALL = [
    [a, b, operation]
    for a, b, operation in itertools.product(OPERANDS, OPERANDS, OPERATIONS)
    if not {a, b} <= NUMBERS.keys()
]
"""Each pair of operands, of which one is a tensor, with each operation."""


def draw(source):
    """Two operands and an operation."""
    return source.choice(ALL)


def torch_says(case):
    """All that the explorer shows, computed by torch."""
    left, right, operation = case
    names = {"a": _made(left), "b": _made(right)}
    wide = {name: _with_a_dimension(value) for name, value in names.items()}
    code = f"{_code('a', left)}\n{_code('b', right)}\n{_last(operation)}"
    return {**_attempt(code), "wide": _attempt(_last(operation), wide), "code": code}


def _attempt(code, names=None):
    names = {"torch": torch, **(names or {})}
    before, _, last = code.rpartition("\n")
    try:
        exec(before, names)
        return {"dtype": str(eval(last, names)).removeprefix("torch.")}
    except RuntimeError as error:
        return {"error": f"{type(error).__name__}: {error}"}


def _code(name, operand):
    if operand in NUMBERS:
        return f"{name} = {operand}"
    dtype, _, sizes = operand.rstrip("]").partition("[")
    return f"{name} = torch.ones({sizes or '()'}, dtype=torch.{dtype})"


def _last(operation):
    if operation in ("+=", "/="):
        return f"a {operation} b\na.dtype"
    return f"(a {operation} b).dtype"


def _made(operand):
    names = {"torch": torch}
    exec(_code("x", operand), names)
    return names["x"]


def _with_a_dimension(value):
    """The same dtype in three elements; a number's own as torch.tensor chooses it."""
    return torch.as_tensor(value).expand(3).clone()


MUTANTS = [
    ('2.5: "float32"', '2.5: "float64"'),
    ('2: "int64"', '2: "int32"'),
    ('"2j": "complex64"', '"2j": "complex128"'),
    ('float16: "complex32",', 'float16: "complex64",'),
    ('bfloat16: "complex64",', 'bfloat16: "complex32",'),
    ("if (either(FLOAT8)) raise", "if (false) raise"),
    ("if (kind(b) === 2) return b;", ""),
    ("attempted to promote ${NAMES[a]} and ${NAMES[b]}", "attempted to promote ${a} and ${b}"),
    ("kind(a) <= kind(b) ? [a, b]", "kind(a) > kind(b) ? [a, b]"),
    ("if (kind(high) < 3 || kind(low) < 2) return high;", "return high;"),
    ("bits(a) > bits(b) ? a : b", "bits(a) > bits(b) ? b : a"),
    ('"int16" : "float32"', '"uint8" : "float32"'),
    ('"int16" : "float32"', '"int16" : "bfloat16"'),
    ("if (kind(higher) === 3) return higher;", ""),
    ("if (kind(lower) < 3) return higher;", "if (kind(lower) < 3) return promote(higher, lower);"),
    ("if (kind(lower) === 3) return lower;", ""),
    ("kind(higher) === 0 || kind(lower) === 2 ?", "kind(lower) === 2 ?"),
    ("kind(higher) === 0 || kind(lower) === 2 ?", "kind(higher) === 0 ?"),
    ("counts: sizes ? 0 : 1", "counts: 0"),
    ("counts: 2, number: true", "counts: 1, number: true"),
    ("combine(found[1], found[2])", "combine(found[2], found[1])"),
    ("if (truth === 2) {", "if (truth > 2) {"),
    ("a.number ? [b, a] : [a, b]", "[a, b]"),
    ('kind(dtype) < 2 ? "float32"', 'kind(dtype) < 2 ? "float64"'),
    ("if (a.number) { // 2 / b", "if (false) { //"),
    ('FLOAT8, ["complex32"]', "FLOAT8"),
    ('dtype, ["bool"], WIDE_UNSIGNED', "dtype, WIDE_UNSIGNED"),
    ('a.number ? "lt_cpu"', 'a.number ? "gt_cpu"'),
    ("if (kind(to) === 0) return from === to;", ""),
    ("Math.max(kind(to), 1)", "kind(to) + 1"),
    ("if (a.number) return operation(a, b);", ""),
    ("if (a.counts > 0 && b.counts === 0) {", "if (a.counts !== b.counts) {"),
    ("const dtype = result(common(a, b));", "const dtype = common(a, b);"),
    ("return a.dtype;\n  };", "return dtype;\n  };"),
    ("counts: 0, number: false });", "number: false });"),
]
"""Changes of the rule, each of which the comparison must notice."""
