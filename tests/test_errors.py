"""The lookup of errors: the claim that reproduces one is found, whatever its numbers are."""

import re
from dataclasses import replace

import pytest
import yaml

from claimbook.exports import errors
from claimbook.exports.errors import LIKE
from claimbook.pages.book import Book
from helpers import ROOT, claim

BOOK = errors.messages(Book.load(ROOT).claims)

SIZES = """
    >>> torch.ones(3) + torch.ones(4)
    Traceback (most recent call last):
    RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton \
dimension 0
"""
WARNS = """
    >>> import warnings
    >>> warnings.warn("The old way is 3 times slower. (Triggered internally at /a/b.cpp:3.)")
    UserWarning: The old way is 3 times slower. (Triggered internally at ...)
"""
MANY_LINES = """
    >>> raise ValueError("two lines:\\nthe second")
    Traceback (most recent call last):
    ValueError: two lines:
    the second
"""


def test_messages_of_claims():
    """Errors and warnings are messages, with all their lines, and without torch's own file."""
    found = errors.messages([claim("warns", WARNS), claim("lines", MANY_LINES)])
    assert [(m.type, m.text) for m in found] == [
        ("UserWarning", "The old way is 3 times slower."),
        ("ValueError", "two lines:\nthe second"),
    ]


def test_exceptions_of_an_example_are_no_messages():
    """Nobody else meets a class that an example defines; the error that it causes is one."""
    own = """
    >>> class Unreadable(Exception):
    ...     pass
    >>> raise Unreadable("a")
    Traceback (most recent call last):
    Unreadable: a
"""
    found = errors.messages([claim("own", own + MANY_LINES)])
    assert [message.type for message in found] == ["ValueError"]


def test_messages_that_a_statement_names():
    """An error whose words depend on Python stands in the statement, with its type."""
    text = "It is `OSError: no 'x'` or `OSError: 'x' is gone`, never an `EOFError`."
    named = replace(claim("named", MANY_LINES), statement=text)
    found = errors.messages([named])
    assert [(m.type, m.text) for m in found] == [
        ("OSError", "'x' is gone"),
        ("OSError", "no 'x'"),
        ("ValueError", "two lines:\nthe second"),
    ]


def test_each_traceback_of_an_output():
    """A worker's error stands before that of the process which lost it, a warning before both."""
    output = "Traceback (most recent call last):\n...\nValueError: in the worker\n"
    second = output.replace("ValueError: in", "RuntimeError: lost")
    both = f">>> f()\nUserWarning: it may be lost\n{output}{second}"
    found = errors.messages([claim("both", both)])
    assert [(m.type, m.text) for m in found] == [
        ("RuntimeError", "lost the worker"),
        ("UserWarning", "it may be lost"),
        ("ValueError", "in the worker"),
    ]


def test_the_claim_that_explains_comes_first():
    """Even if it prints more than others."""
    first = claim("first", MANY_LINES + SIZES, ":explains:\n")
    found = errors.messages([claim("sizes", SIZES), first])
    assert [c.id for c in found[0].claims] == ["first", "sizes"]


def test_names_of_weights_are_no_words():
    """A model of twelve layers finds what a claim with one layer prints."""
    ours = 'Missing key(s) in state_dict: "fc.weight".\n\tsize mismatch for fc.bias: copying'
    theirs = ours.replace("fc.weight", 'a.b", "c.d", "e.f').replace("fc.bias", "layer4.conv")
    assert errors.read(ours).words == errors.read(theirs).words


def test_one_message_of_several_claims():
    """Numbers make no other message, and the claim that prints nothing else comes first."""
    other = SIZES.replace("3", "5")
    found = errors.messages([claim("both", MANY_LINES + other), claim("sizes", SIZES)])
    assert [(m.type, [c.id for c in m.claims]) for m in found] == [
        ("RuntimeError", ["sizes", "both"]),
        ("ValueError", ["both"]),
    ]


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("KeyError: 'a b'", "KeyError", {"a", "b"}),
        ("[rank0]: torch.OutOfMemoryError: no 3 MiB", "OutOfMemoryError", {"no", "mib"}),
        ("x.py:3: UserWarning: on cuda:0 (Triggered internally at /x.)", "UserWarning", {"on"}),
        (
            (
                "torch.AcceleratorError: CUDA error: an illegal access\nSearch for `cudaErrorX'\n"
                "CUDA kernel errors might be asynchronously reported at some other API call\n"
                "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
                "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
            ),
            "AcceleratorError",
            {"error", "an", "illegal", "access"},
        ),
        ("ValueError: first\n\nTypeError: last\r\nof two lines", "TypeError", None),
        ("  raise EOFError\nEOFError", "EOFError", {"eoferror"}),
        ("no type at all", "", {"no", "type", "at", "all"}),
        ("at 0x7f3a torch.float32", "", {"at", "torch.float32"}),
        ("", "", set()),
    ],
)
def test_reading(text, kind, words):
    """The last message of a text counts, by its words."""
    message = errors.read(text)
    assert message.type == kind
    assert message.words == ({"last", "of", "two", "lines"} if words is None else words)


def other_numbers(text):
    """The same message from another program: other sizes, another device."""
    text = re.sub(r"(?<![\w.])\d+", lambda number: str(int(number[0]) + 7), text)
    return text.replace("cpu", "cuda:1")


@pytest.mark.parametrize("message", BOOK, ids=[f"{m.claims[0].id}-{m.type}" for m in BOOK])
def test_every_message_of_the_book_is_found(message):
    """With other numbers, at the end of a traceback, each is the first hit."""
    text = 'Traceback (most recent call last):\n  File "x.py", line 9, in <module>\n    y = f(x)\n'
    text += f"{message.type}: {other_numbers(message.text)}\n"
    first = errors.search(BOOK, text, 1)[0]
    assert first.message.words == message.words


@pytest.mark.parametrize(
    ("pasted", "expected"),
    [
        ("The size of tensor a (64) must match the size of tensor b (10)", "must match the size"),
        ("mat1 and mat2 shapes cannot be multiplied (32x784 and 512x10)", "cannot be multiplied"),
        ("element 0 of tensors does not require grad", "does not have a grad_fn"),
        ("Trying to backward through the graph a second time", "Specify retain_graph=True"),
        ("modified by an inplace operation: [torch.cuda.FloatTensor [8, 3]]", "inplace operation:"),
        ("view size is not compatible with input tensor's size and stride", "Use .reshape(...)"),
        ("can't convert cuda:0 device type tensor to numpy", "numpy"),
        ("grad can be implicitly created only for scalar outputs", "implicitly created only"),
        ("a leaf Variable that requires grad is being used in an in-place", "a leaf Variable"),
        ("Boolean value of Tensor with more than one value is ambiguous", "is ambiguous"),
    ],
)
def test_part_of_a_message(pasted, expected):
    """A piece of a line, as people paste it, finds the message too."""
    assert expected in errors.search(BOOK, pasted, 1)[0].message.text


QUERIES = yaml.safe_load((ROOT / "tests/error_queries.yaml").read_text("utf-8"))


def test_errors_of_other_programs():
    """Of 100 errors as people paste them, at least 95 find what reproduces them, and first."""
    first = {query: errors.search(BOOK, query, 1)[0] for query in QUERIES}
    wrong = [
        query
        for query, part in QUERIES.items()
        if part not in first[query].message.text or first[query].likeness < LIKE
    ]
    assert len(QUERIES) >= 40
    assert len(wrong) <= 0.05 * len(QUERIES), wrong


def test_likeness_falls_with_the_words():
    """Equal messages are 1, and 0.1 more with their type; others are less; strangers are none."""
    known = errors.messages([claim("sizes", SIZES), claim("lines", MANY_LINES)])
    text = known[0].text
    assert errors.search(known, f"RuntimeError: {text}")[0].likeness == pytest.approx(1.1)
    assert errors.search(known, text)[0].likeness == pytest.approx(1)
    assert 0 < errors.search(known, "The size of something else entirely")[0].likeness < 0.6
    assert errors.search(known, "quite unheard") == []
