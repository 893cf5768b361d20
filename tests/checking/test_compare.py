"""Want against got: what is the same, what is not, and what the difference is called."""

import math
import time

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from claimbook.checking.compare import compare, diff, mismatches
from claimbook.checking.difference import Difference, Kind
from claimbook.model import Claim, Example, Fence, Lane, Location

ZERO_DIVISION = "Traceback (most recent call last):\nZeroDivisionError: division by zero"

SAME = {
    "nothing": ("", ""),
    "white space at the ends of lines": ("a  b \nc\n", "a  b\nc"),
    "a tensor's line broken elsewhere": (
        "tensor([[1., 2.],\n        [3., 4.]])",
        "tensor([[1., 2.], [3., 4.]])",
    ),
    "a field on the next line": (
        "tensor([1., 2.], grad_fn=<MulBackward0>)",
        "tensor([1., 2.],\n       grad_fn=<MulBackward0>)",
    ),
    "fewer digits written than printed": ("tensor([0.67, 1.50])", "tensor([0.6667, 1.5000])"),
    "fewer digits of a complex number": ("tensor(0.33+0.50j)", "tensor(0.3333+0.5000j)"),
    "nan and inf": ("tensor([nan, inf, -inf])", "tensor([nan, inf, -inf])"),
    "tensors within other text": (
        "(tensor([1., 2.]), 'x', tensor(3))",
        "(tensor([1.,\n 2.]), 'x', tensor(3))",
    ),
    "an ellipsis within a line": ("<object at 0x...>", "<object at 0x7f12>"),
    "an ellipsis line": ("first\n...\nlast", "first\nmany\nlines\nlast"),
    "an ellipsis line for no line": ("first\n...\nlast", "first\nlast"),
    "an ellipsis line for tensors": ("first\n...\nlast", "first\ntensor(1.)\nlast"),
    "an error whose stack the page leaves out": (
        ZERO_DIVISION,
        (
            "Traceback (most recent call last):\n"
            '  File "<claim>", line 1, in <module>\nZeroDivisionError: division by zero'
        ),
    ),
    "an error whose stack the page shortens": (
        "Traceback (most recent call last):\n    ...\nZeroDivisionError: division by zero",
        ZERO_DIVISION,
    ),
    "an ellipsis within an error's message": (
        "Traceback (most recent call last):\nRuntimeError: size 3 ... size 4",
        "Traceback (most recent call last):\nRuntimeError: size 3 does not fit size 4",
    ),
    "an ellipsis for a stack without an error": (
        "Traceback (most recent call last):\n...",
        "Traceback (most recent call last):\n  File a",
    ),
    "output before an error": (f"before\n{ZERO_DIVISION}", f"before\n{ZERO_DIVISION}"),
    "a tensor that torch shortens": (
        "tensor([0., 0.,  ..., 0., 0.])",
        "tensor([0., 0.,\n         ..., 0., 0.])",
    ),
    "a tensor that the page shortens": ("tensor([1., ..., 4.])", "tensor([1., 2., 3., 4.])"),
    "a sparse tensor broken elsewhere": (
        (
            "tensor(indices=tensor([[0, 1]]), values=tensor([1., 2.]), size=(2,), nnz=2,\n"
            "       layout=torch.sparse_coo)"
        ),
        (
            "tensor(indices=tensor([[0, 1]]),\n       values=tensor([1., 2.]),\n"
            "       size=(2,), nnz=2, layout=torch.sparse_coo)"
        ),
    ),
    "an empty tensor": ("tensor([], size=(0, 3))", "tensor([], size=(0, 3))"),
}


@pytest.mark.parametrize(("want", "got"), SAME.values(), ids=SAME.keys())
def test_no_difference(want, got):
    """What a reader would call the same output is the same."""
    assert compare(want, got) is None


DIFFERENT = {
    "the first of two numbers that only look like a tensor": (
        "tensor(1, 5)",
        "tensor(2, 5)",
        "value: want 1,5, got 2,5",
    ),
    "numbers without their bracket": (
        "tensor(1., 2.)",
        "tensor([1., 2.])",
        "shape: want tensor(1., 2.), got tensor([1., 2.])",
    ),
    "another bracket at the end": (
        "tensor([1], dtype=torch.int32]",
        "tensor([1], dtype=torch.int32)",
        "value: want 'tensor([1], dtype=torch.int32]', got 'tensor([1], dtype=torch.int32)'",
    ),
    "another bracket at the end of a tensor within one": (
        "tensor(values=tensor([1.]])",
        "tensor(values=tensor([1.]))",
        "value: values: want tensor([1.]], got tensor([1.])",
    ),
    "two signs": ("tensor(1.+-2.j)", "tensor(1.-2.j)", "value: want 1.+-2.j, got 1.-2.j"),
    "a sign that torch leaves out": (
        "tensor(+0.5)",
        "tensor(0.5000)",
        "rounding: a last digit differs: want +0.5, got 0.5000",
    ),
    "a zero in front": (
        "tensor(00.5)",
        "tensor(0.5000)",
        "rounding: a last digit differs: want 00.5, got 0.5000",
    ),
    "more digits than are printed": (
        "tensor(0.50000)",
        "tensor(0.5000)",
        "rounding: a last digit differs: want 0.50000, got 0.5000",
    ),
    "an address": (
        "<object at 0x7f00>",
        "<object at 0x7f01>",
        "value: want '<object at 0x7f00>', got '<object at 0x7f01>'",
    ),
    "a want that begins with #": ("# any", "5", "value: want '# any', got '5'"),
    "a want that is the mark for numbers": ("#", "5", "value: want '#', got '5'"),
    "a third digit": (
        "tensor(0.669)",
        "tensor(0.6667)",
        "value: want 0.669, got 0.6667",
    ),
    "a last digit": (
        "tensor([1., 0.6666])",
        "tensor([1., 0.6667])",
        "rounding: a last digit differs: element [1]: want 0.6666, got 0.6667",
    ),
    "a rounded number for a whole one": (
        "tensor(2.)",
        "tensor(2.0000)",
        "rounding: a last digit differs: want 2., got 2.0000",
    ),
    "an exponent": (
        "tensor([0.0000, 0.5000])",
        "tensor([1.0000e-05, 5.0000e-01])",
        "rounding: a last digit differs: element [0]: want 0.0000, got 1.0000e-05",
    ),
    "a Python float's last digit": (
        "0.1",
        "0.10000000000000001",
        "rounding: a last digit differs: want '0.1', got '0.10000000000000001'",
    ),
    "another last digit that is the whole number": (
        "0.001",
        "0.003",
        "value: want '0.001', got '0.003'",
    ),
    "another only digit in a tensor": (
        "tensor([1.0000, 0.0010])",
        "tensor([1.0000, 0.0012])",
        "value: element [1]: want 0.0010, got 0.0012",
    ),
    "nothing for a small number": ("1e-08", "0.0", "value: want '1e-08', got '0.0'"),
    "a Python float": ("0.1", "0.2", "value: want '0.1', got '0.2'"),
    "a Python int": ("99", "100", "value: want '99', got '100'"),
    "integers for floats": (
        "tensor([1, 2])",
        "tensor([1., 2.])",
        "dtype: want int (tensor([1, 2])), got float (tensor([1., 2.]))",
    ),
    "booleans for integers": (
        "tensor([True])",
        "tensor([1])",
        "dtype: want bool (tensor([True])), got int (tensor([1]))",
    ),
    "floats for complex numbers": (
        "tensor([1.])",
        "tensor([1.+0.j])",
        "dtype: want float (tensor([1.])), got complex (tensor([1.+0.j]))",
    ),
    "no dtype": (
        "tensor([1.])",
        "tensor([1.], dtype=torch.float16)",
        "dtype: dtype: want none, got torch.float16",
    ),
    "another dtype": (
        "tensor([1.], dtype=torch.float64)",
        "tensor([1.], dtype=torch.float16)",
        "dtype: dtype: want torch.float64, got torch.float16",
    ),
    "another dtype by itself": (
        "torch.float32",
        "torch.float16",
        "dtype: want 'torch.float32', got 'torch.float16'",
    ),
    "a device on cpu": (
        "tensor([1.])",
        "tensor([1.], device='cuda:0')",
        "device: device: want none, got 'cuda:0'",
    ),
    "the device meta": (
        "tensor(..., size=(2,))",
        "tensor(..., device='meta', size=(2,))",
        "device: device: want none, got 'meta'",
    ),
    "a dtype beside torch's own ellipsis": (
        "<0x...> tensor(..., device='meta', size=(2,))",
        "<0x7f> tensor(..., device='meta', size=(2,), dtype=torch.float16)",
        "dtype: dtype: want none, got torch.float16",
    ),
    "no grad_fn": (
        "tensor(1.)",
        "tensor(1., grad_fn=<MulBackward0>)",
        "requires_grad or grad_fn: grad_fn: want none, got <MulBackward0>",
    ),
    "another grad_fn": (
        "tensor(1., grad_fn=<AddBackward0>)",
        "tensor(1., grad_fn=<MulBackward0>)",
        "requires_grad or grad_fn: grad_fn: want <AddBackward0>, got <MulBackward0>",
    ),
    "no requires_grad": (
        "tensor(1.)",
        "tensor(1., requires_grad=True)",
        "requires_grad or grad_fn: requires_grad: want none, got True",
    ),
    "another shape": (
        "tensor([[1., 2.]])",
        "tensor([1.,\n        2.])",
        "shape: want tensor([[1., 2.]]), got tensor([1., 2.])",
    ),
    "one element more": (
        "tensor([1., 2.])",
        "tensor([1., 2., 3.])",
        "shape: want tensor([1., 2.]), got tensor([1., 2., 3.])",
    ),
    "another size of nothing": (
        "tensor([], size=(0, 3))",
        "tensor([], size=(0, 4))",
        "shape: want tensor([], size=(0, 3)), got tensor([], size=(0, 4))",
    ),
    "another Size": (
        "torch.Size([2, 3])",
        "torch.Size([3, 2])",
        "shape: want 'torch.Size([2, 3])', got 'torch.Size([3, 2])'",
    ),
    "another value": (
        "tensor([[1, 2], [3, 4]])",
        "tensor([[1, 2], [5, 4]])",
        "value: element [1, 0]: want 3, got 5",
    ),
    "one integer off": ("tensor([1000])", "tensor([1001])", "value: element [0]: want 1000, "),
    "a signed zero": ("tensor(0.)", "tensor(-0.)", "value: want 0., got -0."),
    "nan for a number": ("tensor(nan)", "tensor(1.)", "value: want nan, got 1."),
    "the other infinity": ("tensor(inf)", "tensor(-inf)", "value: want inf, got -inf"),
    "a complex part": (
        "tensor(1.+2.j)",
        "tensor(1.+3.j)",
        "value: want 1.+2.j, got 1.+3.j",
    ),
    "a value of a sparse tensor": (
        "tensor(indices=tensor([[0]]), values=tensor([1.]), size=(2,), nnz=1)",
        "tensor(indices=tensor([[0]]), values=tensor([2.]), size=(2,), nnz=1)",
        "value: element [0]: want 1., got 2.",
    ),
    "the layout of a sparse tensor": (
        "tensor(indices=tensor([[0]]), layout=torch.sparse_coo)",
        "tensor(indices=tensor([[0]]), layout=torch.sparse_csr)",
        "value: layout: want torch.sparse_coo, got torch.sparse_csr",
    ),
    "fields without data": (
        "tensor(nnz=1)",
        "tensor(5, nnz=1)",
        "shape: want tensor(nnz=1), got tensor(5, nnz=1)",
    ),
    "text around tensors": (
        "(tensor(1.),)",
        "[tensor(1.)]",
        "value: want '(tensor(1.),)', got '[tensor(1.)]'",
    ),
    "white space within a line": ("a  b", "a b", "cosmetic: only white space differs"),
    "nothing wanted": ("", "5", "value: want nothing, got '5'"),
    "nothing printed": ("5", "", "value: want '5', got nothing"),
    "an error where none is wanted": (
        "5",
        ZERO_DIVISION,
        "an error was raised: ZeroDivisionError: division by zero",
    ),
    "an error where nothing is wanted": (
        "",
        ZERO_DIVISION,
        "an error was raised: ZeroDivisionError: division by zero",
    ),
    "an ellipsis for a traceback": (
        "...",
        ZERO_DIVISION,
        "an error was raised: ZeroDivisionError: division by zero",
    ),
    "a header alone": (
        "5",
        "Traceback (most recent call last):",
        "an error was raised: Traceback (most recent call last):",
    ),
    "a header that goes on": (
        "Traceback (most recent call last): 42",
        "Traceback (most recent call last): 43",
        (
            "value: want 'Traceback (most recent call last): 42', "
            "got 'Traceback (most recent call last): 43'"
        ),
    ),
    "a stack without an error": (
        "Traceback (most recent call last):\n  File a\n    f(1)",
        "Traceback (most recent call last):\n  File a\n    f(2)",
        "value: want 'f(1)', got 'f(2)'",
    ),
    "no error": (
        ZERO_DIVISION,
        "",
        "no error was raised: expected ZeroDivisionError: division by zero",
    ),
    "an error's name printed": (
        ZERO_DIVISION,
        "ZeroDivisionError: division by zero",
        "no error was raised: expected ZeroDivisionError: division by zero",
    ),
    "another error": (
        ZERO_DIVISION.replace("ZeroDivision", "Value"),
        ZERO_DIVISION,
        "error type: want ValueError, got ZeroDivisionError",
    ),
    "an error of no type": (
        "Traceback (most recent call last):\n...",
        ZERO_DIVISION,
        "error type: want none named, got ZeroDivisionError",
    ),
    "a made-up message": (
        ZERO_DIVISION.replace("by zero", "by nothing"),
        ZERO_DIVISION,
        "error text: want 'division by nothing', got 'division by zero'",
    ),
    "half a message": (
        "Traceback (most recent call last):\nRuntimeError: first line",
        "Traceback (most recent call last):\nRuntimeError: first line\nsecond line",
        "error text: want nothing, got 'second line'",
    ),
    "an ellipsis for a message": (
        "Traceback (most recent call last):\nZeroDivisionError: ...",
        ZERO_DIVISION,
        "error text: the page leaves the whole message open",
    ),
    "ellipses for a message": (
        "Traceback (most recent call last):\nZeroDivisionError: ...\n...",
        ZERO_DIVISION,
        "error text: the page leaves the whole message open",
    ),
    "output before an error that is not shown": (
        ZERO_DIVISION,
        f"before\n{ZERO_DIVISION}",
        "value: want nothing, got 'before'",
    ),
    "a warning": (
        "5",
        "UserWarning: mind this\n5",
        "a warning that the page does not show: UserWarning: mind this",
    ),
    "a warning before an error": (
        ZERO_DIVISION,
        f"DeprecationWarning: old\n{ZERO_DIVISION}",
        "a warning that the page does not show: DeprecationWarning: old",
    ),
}


@pytest.mark.parametrize(("want", "got", "said"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_difference(want, got, said):
    """What differs is found, and called by its kind; a `said` that ends in `, ` goes on."""
    assert str(compare(want, got)).startswith(said)
    assert said.endswith(", ") or str(compare(want, got)) == said


def test_every_kind_has_an_example_here():
    """No kind of difference is without a test."""
    named = {kind for kind in Kind for *_, said in DIFFERENT.values() if said.startswith(kind)}
    assert named == set(Kind)


@pytest.mark.parametrize(
    ("want", "got"),
    [
        ("tensor([1.])", "tensor([1.], device='cuda:0')"),
        ("tensor([1.], device='cuda:0')", "tensor([1.])"),
        ("tensor([1.])", "tensor([1.],\n       device='cuda:0')"),
        ("tensor(1., grad_fn=<X>)", "tensor(1., device='cuda:0', grad_fn=<X>)"),
    ],
)
def test_own_device_of_the_cuda_lane(want, got):
    """On `cuda`, the lane's own device is no difference; on `cpu` it is one."""
    assert compare(want, got, Lane.CUDA) is None
    assert compare(want, got, Lane.CPU).kind is Kind.DEVICE


@pytest.mark.parametrize("other", ["cpu", "cuda:1", "meta"])
def test_other_devices_on_the_cuda_lane(other):
    """On `cuda`, any device but the lane's own is a difference."""
    said = f"device: device: want none, got '{other}'"
    assert str(compare("tensor([1.])", f"tensor([1.], device='{other}')", Lane.CUDA)) == said


def test_diff_marks_lines():
    """What the page says is marked `-`, what the run printed `+`, the rest is not marked."""
    assert diff("a\nb\nc", "a\nB\nc") == "  a\n- b\n+ B\n  c"
    assert diff("a\nb", "c") == "- a\n- b\n+ c"
    assert (diff("", "c"), diff("a", "")) == ("+ c", "- a")


def test_diff_of_a_flood():
    """Thousands of lines that are alike, but not the same, take no time."""
    want = "\n".join(f"line {n} of the output" for n in range(1000))
    got = "\n".join(f"line {n}.0 of an output" for n in range(3000))
    started = time.process_time()
    assert diff(want, got).count("\n") == 3999
    assert time.process_time() - started < 2


def test_mismatches_end_where_the_run_did():
    """Examples that a run did not reach are not compared."""
    examples = tuple(Example("1\n", want, 4) for want in ("1", "2", "3"))
    claim = Claim("c", "s", Location("p.md", 1), (Fence(examples),))
    (only,) = mismatches(claim, Lane.CPU, ("1", "1"))
    assert (only.example.want, only.got) == ("2", "1")
    assert only.difference == Difference(Kind.VALUE, "want '2', got '1'")


TEXT_LIKE_OUTPUT = st.lists(
    st.sampled_from(
        [
            *("tensor(", ")", "[", "]", ",", "1.", "2", "-0.", "1e99999999", "0.5000", "True", "j"),
            *("dtype=", "size=", "device='cuda:0'", "grad_fn=<X>", "...", "\n", " ", "#", "nan"),
            *("Traceback (most recent call last):", "UserWarning: x", "torch.Size(", "torch.int8"),
            *("\n...\n", "ValueError: ", "1+2j", "'", "\x0c", "\r"),
        ]
    ),
    max_size=12,
).map("".join)


@given(st.text() | TEXT_LIKE_OUTPUT, st.sampled_from(Lane))
def test_a_text_is_like_itself(text, lane):
    """Whatever is printed, it does not differ from itself."""
    assert compare(text, text, lane) is None


@given(st.text() | TEXT_LIKE_OUTPUT, st.text() | TEXT_LIKE_OUTPUT, st.sampled_from(Lane))
@example("#", "5", Lane.CPU)
@example("5", "Traceback (most recent call last):", Lane.CPU)
@example("tensor(a=1)", "tensor(5, a=1)", Lane.CPU)
@example("tensor(1e999999999999999999999)", "tensor(2.)", Lane.CPU)
@example("tensor(1.e9999999)", "tensor(1.e-9999999)", Lane.CPU)
def test_any_pair_is_compared(want, got, lane):
    """No pair of texts makes the comparison raise."""
    difference = compare(want, got, lane)
    assert difference is None or str(difference)


NUMBERS = {
    torch.float32: st.floats(width=32),
    torch.float64: st.floats(),
    torch.int64: st.integers(-(2**40), 2**40),
    torch.bool: st.booleans(),
    torch.complex64: st.complex_numbers(max_magnitude=1e6),
}


@st.composite
def tensors(draw):
    dtype = draw(st.sampled_from([*NUMBERS]))
    shape = draw(st.sampled_from([(), (1,), (3,), (2, 2), (1, 3), (0,), (0, 2)]))
    numbers = draw(st.lists(NUMBERS[dtype], min_size=math.prod(shape), max_size=math.prod(shape)))
    return torch.tensor(numbers, dtype=dtype).reshape(shape)


@given(tensors(), tensors())
@example(torch.tensor([0.0, 0.5]), torch.tensor([1e-5, 0.5]))
@example(torch.tensor(2.0), torch.tensor(2.00001))
@example(torch.tensor(2.00001), torch.tensor(2.0))
def test_tensors_that_print_differently_differ(a, b):
    """Two tensors compare as the same only if torch prints them alike."""
    assert (compare(repr(a), repr(b)) is None) == (repr(a) == repr(b))


@given(tensors())
def test_near_tensors_that_print_differently_differ(a):
    """So it is where the numbers are hardly apart."""
    b = a * 1.0001 if a.is_floating_point() else a + 0
    assert (compare(repr(a), repr(b)) is None) == (repr(a) == repr(b))


def test_a_tensor_nested_too_deep_is_a_difference():
    """And not the end of the run."""
    deep = "tensor(" + "[" * 1200 + "1" + "]" * 1200 + ")"
    assert compare("tensor([1])", deep)
    assert compare(deep, deep) is None


def test_many_dots_take_no_time():
    """Pieces are found from left to right, as doctest finds them."""
    got = "[" + "0, " * 200 + "0]"
    want = "[0, ..., 0, ..., 0, ..., 0, ..., 1]"
    started = time.process_time()
    assert compare(want, got)
    assert compare(want.replace("1]", "0]"), got) is None
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("want", "got", "fits"),
    [
        ("a...a", "a", False),
        ("a...a", "aa", True),
        ("a...b...c", "axbybzc", True),
        ("...", "anything\nat all", True),
        ("a\n...\nb", "a\nb", True),
        ("a\n...\nb\n...\nc", "a\n1\nb\n2\nb\n3\nc", True),
        ("a\n...\nb\n...\nc", "a\n1\n2\nc", False),
        ("a\n...\nb c...", "a\n1\nb cd", True),
        ("a\n...\nb", "a\nb\nc", False),
    ],
)
def test_dots_stand_for_what_is_left_out(want, got, fits):
    """Within a line for any text, alone on a line for any lines."""
    assert (compare(want, got) is None) == fits


@pytest.mark.parametrize("flood", ["tensor(" * 14_000, "tensor([" * 12_000, "tensor(' " * 11_000])
def test_many_tensors_without_an_end_take_no_time(flood):
    """A flood of them is read once, from left to right."""
    started = time.process_time()
    assert compare("tensor(1)", flood)
    assert time.process_time() - started < 1


def test_dots_in_a_tensor_stand_for_text():
    """Numbers beside them are compared as text; the message says so."""
    assert compare("tensor([0.3300, ...])", "tensor([0.3300, 0.5000])") is None
    found = compare("tensor([0.33, ...])", "tensor([0.3300, 0.5000])")
    assert str(found) == (
        "value: `...` stands for text: write the numbers beside it as torch prints them"
    )
