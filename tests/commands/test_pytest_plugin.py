"""Claims as pytest items: their names, choice, reports and lanes."""

import pytest
import torch

from helpers import PAGES, TinyBook, claim_text

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is there")
NO_CUDA = f"no CUDA device (torch {torch.__version__})"
WRONG = claim_text("two-is-three", ">>> 1\n1\n>>> torch.ones(2).sum()\ntensor(3.)")


@pytest.fixture
def book(pytester):
    """A book of few claims in pytester's folder."""
    how = "# How\n\n" + claim_text("one-is-one", ">>> 1\n1")
    pages = {"a/sums": PAGES["a/sums"], "a/shapes": PAGES["a/shapes"], "how": how}
    return TinyBook(pytester.path, pages)


def test_names(book, pytester):
    """Items are named by page, claim and lane."""
    done = pytester.runpytest_inprocess("--collect-only", "-q", "docs")
    assert done.outlines[:5] == [
        "docs/a/shapes.md::ones-have-a-shape[cpu]",
        "docs/a/sums.md::sum-adds[cpu]",
        "docs/a/sums.md::prod-multiplies[cpu]",
        "docs/a/sums.md::script-is-text[cpu]",
        "docs/how.md::one-is-one[cpu]",
    ]


def test_names_on_both_lanes(book, pytester):
    """A claim is an item on each lane asked for that it runs on."""
    lanes = ["--lane", "cpu", "--lane", "cuda"]
    done = pytester.runpytest_inprocess("--collect-only", "-q", *lanes, "docs/a")
    assert done.outlines[:3] == [
        "docs/a/shapes.md::ones-have-a-shape[cpu]",
        "docs/a/sums.md::sum-adds[cpu]",
        "docs/a/sums.md::sum-adds[cuda]",
    ]


@pytest.mark.parametrize("choice", [["-k", "prod-m"], ["docs/a/sums.md::prod-multiplies[cpu]"]])
def test_one_claim_alone(book, pytester, choice):
    """A claim runs alone, by a part of its id or by its whole name."""
    arguments = choice if "::" in choice[0] else [*choice, "docs"]
    done = pytester.runpytest_inprocess("-v", *arguments)
    assert done.parseoutcomes().get("passed") == 1
    done.stdout.fnmatch_lines(["docs/a/sums.md::prod-multiplies?cpu? PASSED*"])


def test_failing_claim(book, pytester):
    """A failure is told in the words of the report, with no traceback of the package."""
    book.write("docs/wrong.md", f"# Wrong\n\n{WRONG}")
    done = pytester.runpytest_inprocess("docs/wrong.md", "--junit-xml", "junit.xml")
    assert done.parseoutcomes() == {"failed": 1}
    start = done.outlines.index(
        "______________________________ two-is-three[cpu] _______________________________"
    )
    assert done.outlines[start + 1 : start + 12] == [
        "docs/wrong.md:10: two-is-three [cpu] failed",
        "",
        "  line 10: value: want 3., got 2.",
        "    >>> torch.ones(2).sum()",
        "  - tensor(3.)",
        "  + tensor(2.)",
        "",
        "  - is what the page says, + is what the run printed.",
        "  If torch is right, correct the output on the page and the sentence above it;",
        "  if the page is right, fix its code. Run it alone: claimbook run two-is-three",
        "  To accept what was printed: claimbook accept two-is-three",
    ]
    assert 'name="two-is-three[cpu]"' in (pytester.path / "junit.xml").read_text("utf-8")


def test_crashing_claim(book, pytester):
    """A claim that ends its process fails alone."""
    crash = claim_text("exits", ">>> import os\n>>> os._exit(3)")
    book.write("docs/wrong.md", f"# Wrong\n\n{crash}\n{claim_text('stays', '>>> 1')}")
    book.replace("docs/wrong.md", ">>> 1\n", ">>> 1\n1\n")
    done = pytester.runpytest_inprocess("docs/wrong.md")
    assert done.parseoutcomes() == {"failed": 1, "passed": 1}
    done.stdout.fnmatch_lines(
        [
            "docs/wrong.md:9: exits ?cpu? crashed",
            "  the process exited with status 3 in example 2 of 2",
            "  Other claims are not affected.",
        ]
    )


def test_cuda_is_skipped_with_its_reason(book, pytester):
    """A lane that cannot run here skips its claims and says why; the other lane runs."""
    done = pytester.runpytest_inprocess("-rs", "--lane", "cpu", "--lane", "cuda", "docs/a")
    assert done.parseoutcomes() == {"passed": 4, "skipped": 3}
    assert [line for line in done.outlines if NO_CUDA in line]


def test_required_lane(book, pytester):
    """With --require-lane, a lane that cannot run here fails once, and says why once."""
    done = pytester.runpytest_inprocess("--lane", "cuda", "--require-lane", "docs/a/sums.md")
    assert done.parseoutcomes() == {"failed": 1}
    said = f"the cuda lane cannot run here: {NO_CUDA}"
    assert [line for line in done.outlines if line == said] == [said]


def test_reasons_of_skips_are_told_once(book, pytester):
    """Without any option, however many claims a lane has."""
    done = pytester.runpytest_inprocess("--lane", "cuda", "docs")
    [line] = [line for line in done.outlines if NO_CUDA in line]
    assert line.startswith("SKIPPED [4] ")
    assert line.endswith(f": cuda: {NO_CUDA}")


def test_last_failed(book, pytester):
    """`--lf` runs what failed alone."""
    book.write("docs/wrong.md", f"# Wrong\n\n{WRONG}")
    assert pytester.runpytest_inprocess("docs").parseoutcomes() == {"failed": 1, "passed": 5}
    assert pytester.runpytest_inprocess("--lf", "docs").parseoutcomes() == {"failed": 1}


def test_problems_are_an_item(book, pytester):
    """What is wrong with a page is an item that fails, beside the page's claims."""
    book.write("docs/wrong.md", f"# W\n\n```python\nx\n```\n\n{claim_text('fine', '>>> 1')}")
    book.replace("docs/wrong.md", ">>> 1\n", ">>> 1\n1\n")
    done = pytester.runpytest_inprocess("-v", "docs/wrong.md")
    assert done.parseoutcomes() == {"failed": 1, "passed": 1}
    done.stdout.fnmatch_lines(["docs/wrong.md::problems FAILED*", "docs/wrong.md::fine?cpu? *"])
    assert (
        "docs/wrong.md:3: a plain `python` fence is never run: write it as a claim, "
        "`:::{claim} an-id`, or as a code cell that draws [claim.unowned-code]"
    ) in done.outlines


def test_pages_outside_are_ignored(book, pytester):
    """A Markdown file that is no page of the book, or stands outside any book, is left alone."""
    book.write("notes/sums.md", PAGES["a/sums"])
    assert pytester.runpytest_inprocess("notes").ret == pytest.ExitCode.NO_TESTS_COLLECTED
    (pytester.path / "pyproject.toml").write_text("")
    assert pytester.runpytest_inprocess("docs").ret == pytest.ExitCode.NO_TESTS_COLLECTED


@pytest.mark.parametrize("words", [[], ["--rootdir=one", "one", "other"]])
def test_books_outside_the_root_folder_are_collected(pytester, words):
    """From a folder above two books, the claims of both run."""
    for name in ("one", "other"):
        TinyBook(pytester.path / name, {"a/sums": PAGES["a/sums"]})
    done = pytester.runpytest_inprocess("-v", *words, "-k", "sum-adds")
    assert done.parseoutcomes() == {"passed": 2, "deselected": 4}


def test_a_broken_register_is_an_item(book, pytester):
    """A wrong line of the register fails an item of its own, and stops no claim."""
    book.write("docs/register/basics.yaml", "- id: basics-01\n")
    done = pytester.runpytest_inprocess("docs")
    assert done.parseoutcomes() == {"failed": 1, "passed": 5}
    assert (
        "docs/register/basics.yaml:1: expected entries, id, question, found id [claim.bad-register]"
    ) in done.outlines


def test_pages_that_are_missing_are_an_error(book, pytester):
    """A book that cannot be read is not taken for none."""
    book.docs.rename(book.root / "pages")
    done = pytester.runpytest_inprocess("pages")
    assert done.ret == pytest.ExitCode.INTERRUPTED
    assert f"{book.docs}: the folder of the book's pages is missing" in done.outlines


def test_stopping_at_the_first_failure(book, pytester):
    """With -x no later claim is reported, and nothing is left to wait for."""
    book.write("docs/a/first.md", f"# First\n\n{WRONG}")
    done = pytester.runpytest_inprocess("-x", "docs/a/first.md", "docs/a/sums.md")
    assert done.parseoutcomes() == {"failed": 1}


def test_xdist(book, pytester):
    """Under pytest-xdist each claim runs once, in whichever process."""
    done = pytester.runpytest_subprocess("-n", "2", "docs")
    assert done.parseoutcomes() == {"passed": 5}


def test_each_item_says_why_nothing_can_be_run(book, pytester, monkeypatch):
    """Not only the first one that asked."""
    (pytester.path / "hooks").mkdir()
    (pytester.path / "hooks/sitecustomize.py").write_text(
        "import sys\nsys.modules['torch'] = None\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(pytester.path / "hooks"))
    done = pytester.runpytest_inprocess("docs/a/sums.md")
    assert done.parseoutcomes() == {"failed": 3}
    assert done.stdout.str().count("could not import torch; see its output above") >= 3
    assert "StopIteration" not in done.stdout.str()
