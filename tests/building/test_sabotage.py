"""Ten sabotages: the build and the tests both fail, and say all that an author needs."""

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from sphinx.util.console import strip_escape_sequences

from helpers import PAGES, ROOT, TinyBook, claim_text

HEADER = "Traceback (most recent call last):"
SIZES = (
    "RuntimeError: The size of tensor a (2) must {} the size of tensor b (3) "
    "at non-singleton dimension 0"
)
CHAPTER = (ROOT / "docs/autograd/gradients-add-up.md").read_text("utf-8")
ADDS = re.search(
    r"^:::\{claim\} backward-adds-into-grad\n.*?^:::$", CHAPTER, re.MULTILINE | re.DOTALL
)[0]
ADDS = re.sub(r"^:confirms:.*\n", "", ADDS, flags=re.MULTILINE)

RIGHT = {
    "value": ADDS,
    "cause": ADDS.replace("backward-adds", "each-backward-adds"),
    "error": claim_text(
        "shapes-must-fit",
        f">>> torch.ones(2) + torch.ones(3)\n{HEADER}\n{SIZES.format('match')}",
    ),
    "dtype": claim_text(
        "half-is-float16",
        ">>> torch.ones(2).half()\ntensor([1., 1.], dtype=torch.float16)",
    ),
    "shape": claim_text("ones-make-rows", ">>> torch.ones(1, 2)\ntensor([[1., 1.]])"),
    "warning": claim_text(
        "warnings-are-output",
        ">>> import warnings\n>>> warnings.warn('mind this')\nUserWarning: mind this",
    ),
    "made-up": claim_text("ones-divide", ">>> torch.ones(1) / 0\ntensor([inf])"),
    "graph": claim_text(
        "products-remember",
        ">>> torch.ones(1, requires_grad=True) * 2\ntensor([2.], grad_fn=<MulBackward0>)",
    ),
    "fence": "Prose.\n",
    "relation": claim_text("sums-do-add", ">>> 1 + 1\n2", ":confirms: basics-01.2\n"),
}


def report(page, line, claim, difference, code, lines):
    """The whole report of a claim that failed."""
    return (
        f"docs/{page}.md:{line}: {claim} [cpu] failed\n\n"
        f"  line {line}: {difference}\n    >>> {code}\n"
        + "".join(f"  {each}\n" for each in lines)
        + "\n  - is what the page says, + is what the run printed.\n"
        "  If torch is right, correct the output on the page and the sentence above it;\n"
        f"  if the page is right, fix its code. Run it alone: claimbook run {claim}\n"
        f"  To accept what was printed: claimbook accept {claim}"
    )


SABOTAGES = {
    "value": (
        ("tensor([5.])", "tensor([3.])"),
        report(
            *("value", 14, "backward-adds-into-grad"),
            *("value: element [0]: want 3., got 5.", "x.grad"),
            ["- tensor([3.])", "+ tensor([5.])"],
        ),
    ),
    "cause": (
        ("(3 * x).backward()", "x.grad = None; (3 * x).backward()"),
        report(
            *("cause", 14, "each-backward-adds-into-grad"),
            *("value: element [0]: want 5., got 3.", "x.grad"),
            ["- tensor([5.])", "+ tensor([3.])"],
        ),
    ),
    "error": (
        ("must match", "must equal"),
        report(
            *("error", 8, "shapes-must-fit"),
            "error text: want 'The size of tensor a (2) must equal the size of tensor b (3) at "
            "non-singleton dimension 0', got 'The size of tensor a (2) must match the size of "
            "tensor b (3) at non-singleton dimension 0'",
            "torch.ones(2) + torch.ones(3)",
            [
                f"  {HEADER}",
                f"- {SIZES.format('equal')}",
                f"+ {SIZES.format('match')}",
            ],
        ),
    ),
    "dtype": (
        (", dtype=torch.float16", ""),
        report(
            *("dtype", 8, "half-is-float16"),
            *("dtype: dtype: want none, got torch.float16", "torch.ones(2).half()"),
            ["- tensor([1., 1.])", "+ tensor([1., 1.], dtype=torch.float16)"],
        ),
    ),
    "shape": (
        ("tensor([[1., 1.]])", "tensor([1., 1.])"),
        report(
            *("shape", 8, "ones-make-rows"),
            "shape: want tensor([1., 1.]), got tensor([[1., 1.]])",
            "torch.ones(1, 2)",
            ["- tensor([1., 1.])", "+ tensor([[1., 1.]])"],
        ),
    ),
    "warning": (
        ("\nUserWarning: mind this", ""),
        report(
            *("warning", 9, "warnings-are-output"),
            "a warning that the page does not show: UserWarning: mind this",
            "warnings.warn('mind this')",
            ["+ UserWarning: mind this"],
        ),
    ),
    "made-up": (
        ("tensor([inf])", f"{HEADER}\nZeroDivisionError: division by zero"),
        report(
            *("made-up", 8, "ones-divide"),
            "no error was raised: expected ZeroDivisionError: division by zero",
            "torch.ones(1) / 0",
            [f"- {HEADER}", "- ZeroDivisionError: division by zero", "+ tensor([inf])"],
        ),
    ),
    "graph": (
        (", grad_fn=<MulBackward0>", ""),
        report(
            *("graph", 8, "products-remember"),
            "requires_grad or grad_fn: grad_fn: want none, got <MulBackward0>",
            "torch.ones(1, requires_grad=True) * 2",
            ["- tensor([2.])", "+ tensor([2.], grad_fn=<MulBackward0>)"],
        ),
    ),
    "fence": (
        ("Prose.\n", "```python\nx = 1\n```\n"),
        (
            "docs/fence.md:3: a plain `python` fence is never run: write it as a claim, "
            "`:::{claim} an-id`, or as a code cell that draws [claim.unowned-code]"
        ),
    ),
    "relation": (
        ("basics-01.2", "basics-01.1"),
        (
            "docs/relation.md:3: sums-do-add: confirms basics-01.1, which ones-have-a-shape "
            "(docs/a/shapes.md:3) corrects; one entry has one relation "
            "[claim.conflicting-relations]"
        ),
    ),
}


def book(root, texts):
    """A book with a page for each text, and the pages of the tiny book that it relates to."""
    shapes = PAGES["a/shapes"].replace("basics-01.2", "basics-01.1")
    pages = {"a/shapes": shapes, **{name: f"# {name}\n\n{text}" for name, text in texts.items()}}
    toctree = "\n".join(["# Tiny", "", "```{toctree}", *pages, "```", ""])
    return TinyBook(root, {"index": toctree, **pages})


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the build and pytest say of a book in which each page was sabotaged."""
    texts = {}
    for name, right in RIGHT.items():
        (old, new), _ = SABOTAGES[name]
        assert right.count(old) == 1
        texts[name] = right.replace(old, new)
    sabotaged = book(tmp_path_factory.mktemp("sabotaged"), texts)
    with ThreadPoolExecutor() as pool:
        runs = pool.submit(sabotaged.sphinx), pool.submit(sabotaged.pytest)
        return tuple(run.result() for run in runs)


def test_before_the_sabotage(tmp_path):
    """The same pages, as they should be, pass."""
    tested = book(tmp_path, RIGHT).pytest()
    assert tested.returncode == 0, tested.stdout


@pytest.mark.parametrize("name", SABOTAGES)
def test_the_build_fails(told, name):
    """Sphinx warns at page and line, with claim, lane, kind, diff and what to do next."""
    built, _ = told
    _, said = SABOTAGES[name]
    place, _, message = said.partition(": ")
    if "[claim." not in said:
        message = f"{message} [claim.failed]"
    assert built.returncode == 1
    assert f"{place}: WARNING: {message}\n" in strip_escape_sequences(built.stderr)


@pytest.mark.parametrize("name", SABOTAGES)
def test_the_tests_fail(told, name):
    """Pytest says the same of the same page."""
    _, tested = told
    _, said = SABOTAGES[name]
    assert tested.returncode == 1
    assert f"{said}\n" in tested.stdout


def test_nothing_else_fails(told):
    """Each sabotage is one failure; the claim beside them passes."""
    built, tested = told
    assert strip_escape_sequences(built.stderr).count("WARNING: ") == len(SABOTAGES)
    assert re.search(rf"= {len(SABOTAGES)} failed, 2 passed in ", tested.stdout)
