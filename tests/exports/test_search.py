"""What the search looks through, and when the build writes it. What it finds: tests/browser."""

from dataclasses import replace

import pytest

from claimbook.exports import words
from claimbook.exports.search import BARE, ERROR, LESSON, STEPS, Place, index, place
from claimbook.pages.parser import scan_page
from claimbook.pages.prose import sentences
from helpers import CONF, TinyBook, claim_text, data_of

FAILS = claim_text(
    "sizes-must-match",
    ">>> torch.ones(3).add(torch.ones(4), alpha=2)\nTraceback (most recent call last):\n"
    "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) "
    "at non-singleton dimension 0",
)
PAGE = f"""# Sums

## What is a sum?

**In short.** An addition.

{FAILS}
### In practice

Sum along `dim`. Long sums lose digits.

### See also

{{doc}}`/a/other`

:::{{asked}}
how to add up
:::
"""


def test_a_section_as_it_is_searched():
    """What it asks, answers, states, shows by the way, and by which names its code is known."""
    page = scan_page(PAGE, "docs/a/sums.md")
    (section,) = page.sections
    apis = {"sizes-must-match": ["torch.Tensor.add", "torch.ones"]}
    found = place(section, "Sums", sentences(PAGE), apis)
    assert (found.address, found.page, found.title) == (
        "a/sums.html#what-is-a-sum",
        "Sums",
        "What is a sum?",
    )
    assert found.texts == {
        "title": "What is a sum?",
        "page": "Sums",
        "asked": "how to add up",
        "short": "An addition.",
        "statements": "It says so.",
        "prose": "Sum along `dim`.\nLong sums lose digits.",
        "names": "torch.Tensor.add\ntorch.ones",
    }
    assert found.titles == {"sizes-must-match": "It says so."}
    assert [(line.claim, line.text) for line in found.lines] == [
        ("sizes-must-match", "It says so."),
        ("", "Sum along `dim`."),
        ("", "Long sums lose digits."),
    ]


def test_a_hit_quotes_sentences(book):
    """A cell of a table is searched, but says nothing alone; nor does what a colon announces."""
    (data,) = data_of(book.site / "searchdata.js")
    (lines,) = data_of(book.site / "searchlines.js")
    place = [address for address, *_ in data["places"]].index("a/table.html#which-one")
    assert "zwieback" in data["terms"]
    assert lines[place] == [["", "Take (any of) these!"]]


def test_a_hit_quotes_titles_whole():
    """Though a colon divides them for the search; of other sentences, those that stand alone."""
    claim = "Sums add: `x.sum()`. So it is. Long sums lose digits."
    text = "# P\n\n## Why?\n\n" + claim_text("sums", ">>> 1\n1").replace("It says so.", claim)
    page = scan_page(text, "docs/p.md")
    (section,) = page.sections
    found = place(section, "P", sentences(text), {})
    assert [*found.quoted()] == [
        ("sums", "Sums add: `x.sum()`."),
        ("sums", "Long sums lose digits."),
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("normalization", "normalised"),
        ("behavior", "behaviours"),
        ("accumulate", "accumulation"),
        ("optimizer", "optimise"),
        ("Conv2d", "conv"),
        ("dropped", "drop"),
        ("losses", "loss"),
        ("copies", "copied"),
        ("analyze", "analyse"),
    ],
)
def test_one_stem(one, other):
    """Inflections, American spelling and the dimensions of a layer make no other word."""
    assert words.stem(one.lower()) == words.stem(other.lower())


def test_stems_that_stay_apart():
    """What is no inflection is another word."""
    assert len({*map(words.stem, ("train", "trace", "loss", "lose", "none", "non"))}) == 6


def test_synonyms_are_of_stems_and_of_both_sides():
    """Each is found by the other; of several words the pair counts."""
    found = words.synonyms()
    assert "#" not in found  # a comment names none
    assert words.stem("count") in found[words.stem("number")]
    assert words.stem("number") in found[words.stem("count")]
    assert "lr" in found["".join(map(words.stem, ("learning", "rate")))]


def weights(places):
    """Word → number of a place → its weight."""
    told = {}
    for word, numbers in index(places).items():
        here, told[word] = 0, {}
        for step, weight in zip(numbers[::2], numbers[1::2], strict=True):
            here += step
            told[word][here] = weight
    return told


def somewhere(title="Sums", claims=("a",), **texts):
    """A section that says something."""
    return Place(
        "a.html#b", "Page", title, {"title": title, **texts}, titles=dict.fromkeys(claims, "S.")
    )


def test_a_title_weighs_more_than_prose_and_a_long_text_less():
    """So does a section with claims more than one without, than an error, or than a lesson."""
    said = "gradients of many other things that are said here at length"
    told = weights(
        [
            somewhere(title="Gradients"),
            somewhere(prose="gradients"),
            somewhere(prose=said),
            somewhere(title="Gradients", claims=()),
            somewhere(title="`Gradients`"),
            replace(somewhere(title="Gradients"), address="lessons/a.html#b"),
        ]
    )[words.stem("gradients")]
    assert STEPS > told[0] > told[1] >= told[2] > 0
    assert told[3] == pytest.approx(told[0] * BARE, abs=1)
    assert told[4] == pytest.approx(told[0] * ERROR, abs=1)
    assert told[5] == pytest.approx(told[0] * LESSON, abs=1)


def test_pairs_are_words_where_somebody_asks_for_them():
    """In a title, by an asker, or as a name of torch; then they count in every text."""
    told = weights(
        [somewhere(asked="tensor cores"), somewhere(prose="Tensor Cores and big things")]
    )
    assert {*told["tensorcor"]} == {0, 1}
    assert "bigth" not in told
    assert {*weights([somewhere(names="torch.no_grad")])} >= {"nograd", "grad"}


PAGES = {
    "index": "# Tiny\n\n```{toctree}\na/sums\na/other\na/table\n```\n",
    "a/sums": PAGE,
    "a/other": "# Other\n",
    "a/table": "# Table\n\n## Which one?\n\nTake (any of) these! In order:\n\n"
    "| of |\n| --- |\n| zwieback |\n",
}


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
    assert html.index("errors.js") < html.index("search.js")
    assert not (book.site / "searchindex.js").exists()
    assert "search.js" not in (book.site / "a/sums.html").read_text("utf-8")


def test_page_and_data_are_written_with_others_only(book):
    """The data holds every section and each page without one; where no word changed it stays."""
    path, page = book.site / "searchdata.js", book.site / "search.html"
    (data,) = data_of(path)
    assert [address for address, *_ in data["places"]] == [
        "a/other.html",
        "a/sums.html#what-is-a-sum",
        "a/table.html#which-one",
        "index.html",
    ]
    (lines,) = data_of(book.site / "searchlines.js")
    assert lines[1][0] == ["sizes-must-match", "It says so."]
    (errors,) = data_of(book.site / "errordata.js")
    (message,) = errors["messages"]
    assert message["sections"] == [0]
    assert errors["sections"] == [
        ["a/sums.html#what-is-a-sum", "Sums", "What is a sum?", "An addition."]
    ]
    assert message["claims"] == [["sizes-must-match", "It says so.", 0]]

    def times():
        return path.stat().st_mtime_ns, page.stat().st_mtime_ns

    before = times()
    assert book.sphinx().returncode == 0
    assert times() == before
    book.replace("docs/a/sums.md", "alpha=2", "alpha=3")  # other code has no other words
    assert book.sphinx().returncode == 0
    assert path.stat().st_mtime_ns == before[0]
    before = times()
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
