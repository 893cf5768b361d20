"""What the search looks through, and when the build writes it. What it finds: tests/browser."""

import pytest

from claimbook.exports.search import RARE, error_data, section_data, thinned
from claimbook.exports.sections import sections
from claimbook.pages.parser import scan_page
from helpers import CONF, TinyBook, claim_text, data_of

FAILS = claim_text(
    "sizes-must-match",
    ">>> torch.ones(3).add(torch.ones(4), alpha=2)\nTraceback (most recent call last):\n"
    "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) "
    "at non-singleton dimension 0",
)
PAGE = f"# Sums\n\n## What is a sum?\n\n**In short.** An addition.\n\n{FAILS}"


def test_section_data():
    """A section says what it asks, answers, states, and which names its code uses."""
    page = scan_page(PAGE, "docs/a/sums.md")
    (section,) = sections(PAGE)
    apis = {"sizes-must-match": ["torch.Tensor.add", "torch.ones"]}
    assert section_data("a/sums", "Sums", page, section, apis) == {
        "id": "a/sums.html#what-is-a-sum",
        "page": "Sums",
        "title": "What is a sum?",
        "short": "An addition.",
        "claims": ["sizes-must-match"],
        "statements": ["It says so."],
        "names": "torch.Tensor.add torch.ones",
        "words": "ones add alpha",
    }


def test_error_data():
    """An error leads to each section whose claims print it, once."""
    claims = scan_page(PAGE, "docs/a/sums.md").claims
    (error,) = error_data(claims, {"sizes-must-match": 7})
    assert error["type"] == "RuntimeError"
    assert error["sections"] == [7]
    (unplaced,) = error_data(claims, {})
    assert unplaced["sections"] == []


def test_statements_are_kept_in_short():
    """Of what a hit does not show, only words that few sections hold and its statement not yet."""
    others = {"title": "A sum", "short": "It adds `ones`.", "names": "torch.ones", "words": "alpha"}
    told = "Sums add. All of them may overflow: `alpha` and torch.int8 do, and overflow ones."
    one = {**others, "statements": [told]}
    many = [{**others, "statements": ["All of them may add."]}] * RARE
    section, *_ = thinned([one, *many])
    assert section == {
        **others,
        "statements": ["Sums add."],
        "rest": ["overflow and torch.int8 do"],
    }


PAGES = {"index": "# Tiny\n\n```{toctree}\na/sums\n```\n", "a/sums": PAGE}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A small book in the theme of the big one, built."""
    conf = CONF.replace("alabaster", "furo")
    made = TinyBook(tmp_path_factory.mktemp("book"), PAGES, conf=conf)
    done = made.sphinx()
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def test_search_page(book):
    """The page loads its data by a script, and says what it needs without any."""
    html = (book.site / "search.html").read_text("utf-8")
    assert "needs JavaScript" in html
    assert '<script src="searchdata.js' in html
    assert not (book.site / "searchindex.js").exists()
    assert "search.js" not in (book.site / "a/sums.html").read_text("utf-8")


def test_page_and_data_are_written_with_others_only(book):
    """The data holds every section and each page without one; where nothing changed both stay."""
    path, page = book.site / "searchdata.js", book.site / "search.html"
    (data,) = data_of(path)
    assert [each["id"] for each in data["sections"]] == ["a/sums.html#what-is-a-sum", "index.html"]

    def times():
        return path.stat().st_mtime_ns, page.stat().st_mtime_ns

    before = times()
    assert book.sphinx().returncode == 0
    assert times() == before
    book.replace("docs/a/sums.md", "An addition", "A long addition")
    assert book.sphinx().returncode == 0
    assert "A long addition" in path.read_text("utf-8")
    assert times()[1] != before[1]


def test_other_themes_keep_their_search(tmp_path):
    """The template is furo's; elsewhere Sphinx's own search stands."""
    made = TinyBook(tmp_path, PAGES)
    assert made.sphinx().returncode == 0
    assert (made.site / "searchindex.js").exists()
    assert not (made.site / "searchdata.js").exists()
