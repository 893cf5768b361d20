"""The cells of pages: run as claims are, a page at a time, and kept until they change."""

import re

import pytest

from helpers import TinyBook

PICTURE = (
    "class Picture:\n    def _repr_html_(self):\n        return {html!r}.format(**globals())\n\n"
)
SAID = PICTURE.format(html="<b>{said}</b>") + "Picture()"


def with_cells(tmp_path, *pages):
    """A book with a page for each of these texts."""
    names = [f"a/p{number}" for number in range(len(pages))]
    index = "# I\n\n```{toctree}\n" + "\n".join(names) + "\n```\n"
    texts = {name: f"# P\n\n{text}" for name, text in zip(names, pages, strict=True)}
    return TinyBook(tmp_path, {"index": index, **texts})


def cell(code):
    """A code cell as a page has it."""
    return f"```{{code-cell}} python\n:tags: [remove-input]\n\n{code}\n```\n\n"


def drawn(book, page="a/p0"):
    """What the cells of a page drew."""
    return [str(found) for found in book.page(page).select(".cell_output > .output > b")]


def test_cells_of_a_page_share_their_names(tmp_path):
    """Those of another page have none of them, and find torch as it starts."""
    first = cell("import torch\nsaid = 1\ntorch.set_default_dtype(torch.float64)\n" + SAID)
    second = cell("said += 1\nPicture()")
    other = cell("import torch\nsaid = ('Picture' in globals(), torch.ones(1).dtype)\n" + SAID)
    book = with_cells(tmp_path, first + second, other)
    done = book.sphinx("-j", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert drawn(book) == ["<b>1</b>", "<b>2</b>"]
    assert drawn(book, "a/p1") == ["<b>(False, torch.float32)</b>"]


def test_a_large_picture_is_whole(tmp_path):
    """It may be longer than what a worker keeps of an output."""
    book = with_cells(tmp_path, cell("said = 30_000 * 'wide '\n" + SAID))
    assert book.sphinx().returncode == 0
    assert drawn(book) == [f"<b>{30_000 * 'wide '}</b>"]


def test_what_was_drawn_is_kept(tmp_path):
    """A page whose prose changed shows what its cells drew; one with another cell runs it."""
    code = "import os\nsaid = os.getpid(), os.urandom(4).hex()\n" + SAID
    book = with_cells(tmp_path, cell(code), cell("said = 0\n" + SAID))
    assert book.sphinx().returncode == 0
    first = drawn(book)
    book.replace("docs/a/p0.md", "# P\n", "# Q\n")
    assert book.sphinx().returncode == 0
    assert drawn(book) == first
    assert book.page("a/p0").h1.text.startswith("Q")
    book.replace("docs/a/p0.md", "urandom(4)", "urandom(5)")
    assert "pages written: a/p0.html" in book.sphinx().stdout
    assert drawn(book) != first


DYING = """\
import os
class Last:
    _repr_html_ = str
    def __del__(self, exit=os._exit): exit(3)
last = Last()
last"""
"""Ends the process when the page's names are deleted, after its last picture."""


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("said = 0\nprint('mind')\n" + SAID, "value: want nothing, got 'mind'"),
        (
            f"said = 0\n{SAID} if print('mind') is None else 1",
            "value: want 'picture ...', got 'mind'",
        ),
        (
            "1 + 1",
            "its last line must be a picture, as `lines(…)` of `claimbook.teach` returns one, and",
        ),
        ("x = 1", "a code cell must end with an expression that draws"),
        ("said = 0 + no\n" + SAID, "an error was raised: NameError: name 'no' is not defined"),
        ("import os\nos._exit(3)\n" + SAID, "the process exited with status 3 in example 1 of 2"),
        (
            DYING,
            "the process exited with status 3 in example 2 of 2",
        ),
        ("x = 1\na b", "a code cell is not valid Python: invalid syntax, in line 7"),
    ],
)
def test_a_cell_that_draws_nothing_fails_the_build(tmp_path, code, said):
    """What it did is told with its line of the page, and the next build tells it again."""
    book = with_cells(tmp_path, cell(code))
    for _ in range(2):
        done = book.sphinx()
        assert done.returncode == 1
        (line,) = [line for line in done.stderr.splitlines() if "code cell" in line]
        assert re.match(rf".*docs/a/p0\.md:3: (WARNING|ERROR): .*{re.escape(said)}", line)
