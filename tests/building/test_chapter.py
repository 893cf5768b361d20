"""The form of a chapter: titles, details, what holds of a whole page, guides to other pages."""

import json
import re
import zipfile
import zlib

import pytest

from claimbook.engine import environment
from claimbook.model import Lane
from claimbook.sphinx import page_norm
from helpers import CONF, SHAPE, SUM, TinyBook, claim_text, python

CHAPTER = """# Sums

You can add.

## What is a sum?

**In short.** A sum adds. It is one number.

:::{claim} sums-add
A `sum` adds all elements. The shape does not matter.

```pycon
>>> torch.ones(2, 2).sum()
tensor(4.)
```

All four ones were added.
:::

:::{claim} sums-of-bools-count
:detail:
:confirms: basics-01.1

A sum of bools counts. It does.

```pycon
>>> torch.tensor([True, False]).sum()
tensor(1)
```

One of them is true.
:::

### Often said, and wrong

Nothing.

### In practice

Call `sum`.

- one
- two
- three
- four
- five
- six

### See also

Nothing.

:::{asked}
how many are true
:::
"""


TITLES = {
    "It is `x`. `y` is not.": ("It is x.", "y is not."),
    "It is 0.5. Half\nof it.": ("It is 0.5.", "Half of it."),
    "*All* of `a.b` are one.\n`c` is": ("All of a.b are one.", "c is"),
    "Does it end? Yes.": ("Does it end?", "Yes."),
    "`No. Never!` is raised. So": ("No. Never! is raised.", "So"),
    "It is [a link](index.md). {claim}`sums <t>` too.": ("It is a link.", "sums too."),
}
ERROR = claim_text(
    "zero",
    ">>> 1 / 0\nTraceback (most recent call last):\nZeroDivisionError: division by zero",
)


def said_by_cards(statements):
    """Claims that say so, each by another name."""
    for number, said in enumerate(statements, 1):
        yield claim_text("t" * number, ">>> 1\n1").replace("It says so.", said)


TABLE = """| what | why |
| --- | --- |
| `ones` | a sentence of several words |
"""


@pytest.fixture(scope="module")
def chapter(tmp_path_factory):
    """A book of one chapter, which two guides lead to, with all its forms."""
    pages = {
        "index": "# Tiny\n\n```{route} The way\nsums\n```\n\n"
        "```{toctree}\nguide\nledger\ntitles\nerrors\n```\n",
        "guide": "# Guide\n\n```{overview}\n```\n\n```{questions}\nsums#what-is-a-sum\n"
        "sums#what-is-a-sum basics-01.2\n```\n\n"
        '```{beliefs}\nsums-add: "A sum is a vector."\n```\n\n'
        "```{toctree}\nsums\nones\nmends\n```\n",
        "ledger": "# Ledger\n\n```{ledger}\n```\n",
        "sums": CHAPTER,
        "ones": f"# Ones\n\n{SHAPE}\nSee {{claim}}`sums-add`.\n\n{TABLE}",
        "mends": "# Mends\n\n## `size of a` and `b`\n\n**In short.** Print `x.shape`.\n",
        "titles": "# Titles\n\n" + "\n".join(said_by_cards(TITLES)),
        "errors": f"# Errors\n\n```{{errors}}\n```\n\n{ERROR}",
    }
    book = TinyBook(tmp_path_factory.mktemp("chapter"), pages)
    done = book.sphinx()
    assert done.returncode == 0, done.stderr
    return book


def test_sentences_in_a_table_are_marked(chapter):
    """On a phone they keep a width; a word does not need it."""
    cells = chapter.page("ones").select("td")
    assert [cell.get("class") for cell in cells] == [None, ["long"]]


def test_a_title_is_the_first_sentence(chapter):
    """The rest stands beneath; the id is a link beside it."""
    card = chapter.page("sums").select_one("#claim-sums-add")
    title, rest = card.select("p")[:2]
    assert (title["class"], title.text) == (["claim-title"], "A sum adds all elements.#")
    assert title.code.text == "sum"
    assert title.a["href"] == "#claim-sums-add"
    assert rest.text == "The shape does not matter."


def test_where_a_first_sentence_ends(chapter):
    """At its stop, whatever markup is around it; not at the point of a number or a name."""
    found = [
        (card.select_one(".claim-title").text.removesuffix("#"), paragraph_of(card))
        for card in chapter.page("titles").select("div.claim")
    ]
    assert found == list(TITLES.values())


def test_the_tip_of_a_link_is_plain_text(chapter):
    """It says what the claim states, without Markdown's marks of code."""
    (link,) = chapter.page("ones").select("p > a.reference[title]")
    assert link["title"] == "A sum adds all elements. The shape does not matter."


def test_errors_are_listed(chapter):
    """Each error of the book stands under its type, with a link to its claim."""
    folded = {fold.summary.text: fold for fold in chapter.page("errors").select(".error-type")}
    assert "division by zero" in folded["ZeroDivisionError (1)"].text
    assert folded["ZeroDivisionError (1)"].select("a[href='#claim-zero']")


def paragraph_of(card):
    """The prose under a card's title, before its code."""
    rest = card.select_one(".claim-title").find_next_sibling()
    return " ".join(rest.text.split()) if rest.name == "p" else ""


def test_a_detail_is_folded_to_its_title(chapter):
    """All else of it is inside, with the id: a link to it opens it, without a script."""
    (detail,) = chapter.page("sums").select("details.detail")
    assert detail.summary.text == "A sum of bools counts."
    assert not detail.summary.select("a")  # a link in what is clicked could not be reached
    assert detail.select_one("summary + a.claim-link")["href"] == "#claim-sums-of-bools-count"
    body = detail.select_one("#claim-sums-of-bools-count")
    assert [p.text for p in body.select(":scope > p")][:2] == ["It does.", "One of them is true."]
    assert body.select_one(".claim-output pre").text.strip() == "tensor(1)"


def test_what_is_said_under_an_output_is_marked(chapter):
    """So that it can be hidden with the output that is to be predicted."""
    shown = chapter.page("sums").select(".claim-session ~ .claim-shown")
    assert [p.text for p in shown] == ["All four ones were added.", "One of them is true."]


def test_parts_of_a_section_are_marked(chapter):
    """The short answer and two subsections have a look of their own; what is asked has none."""
    page = chapter.page("sums")
    assert page.select_one("p.short-answer").text.startswith("In short. A sum adds.")
    assert page.select_one("section.often-wrong > h3")
    assert page.select_one("section.see-also > h3")
    assert "how many are true" not in page.text


def test_what_to_do_comes_right_after_the_short_answer(chapter):
    """A reader in a hurry needs no example."""
    page = chapter.page("sums")
    short = page.select_one("p.short-answer")
    practice = short.find_next_sibling()
    assert practice["class"] == ["in-practice"]
    assert practice.p.text == "Call sum."


def test_a_long_list_of_advice_is_folded_for_phones(chapter):
    """After three points; Markdown and notebooks have one list, without a word of a fold."""
    practice = chapter.page("sums").select_one("section.in-practice")
    shown, folded = practice("ul")
    assert [item.text.strip() for item in shown("li")] == ["one", "two", "three"]
    assert folded.parent["class"] == ["more-points"]
    assert folded.parent.summary.text == "3 more points"
    assert [item.text.strip() for item in folded("li")] == ["four", "five", "six"]
    text = (chapter.site / "sums.md").read_text("utf-8")
    assert "six" in text
    assert "more points" not in text


def test_what_holds_of_all_is_said_once(chapter):
    """Where the examples ran stands under the page's first lines, and no card repeats it."""
    page = chapter.page("sums")
    device = environment.describe(Lane.CPU).device.replace("(R)", "")
    said = page.select_one("h1 ~ p.provenance").text
    assert said == f"2 examples ran as printed: CPU ({device})."
    assert not page.select(".claim-badge")


def test_a_device_is_named_briefly():
    """What its lane tells, and its memory, would take a phone a third line."""
    told = "NVIDIA H100 80GB HBM3, Intel(R) Xeon(R) Processor"
    assert page_norm.LEFT_OUT.sub("", told) == "H100, Intel Xeon Processor"


def test_code_that_nobody_runs_is_coloured(tmp_path):
    """A fence of text that is Python; where examples ran and the tools stand above it."""
    loop = 'for x in data:\n    step("\\d")'  # Python warns of such an escape
    fences = f"```text\n{loop}\n```\n\n```text\nnot code, for once\n```\n"
    one = claim_text("one", ">>> print(1)\n1")
    claims = f"## Sums\n\n{SUM}\n{one}"
    text = f"# I\n\nYou can add.\n\n{fences}\n{claims}"
    book = TinyBook(tmp_path, {"index": text})
    done = book.sphinx()
    assert (done.returncode, done.stderr) == (0, "")
    page = book.page("index")
    code, prose = page.select(".provenance + .page-tools ~ div[class*=highlight-]")
    assert code.select_one(".highlight .k").text == "for"
    assert not prose.select(".highlight .k")


def test_a_card_says_what_is_an_exception(tmp_path):
    """A claim for one lane, and one that came out otherwise."""
    told = [SUM, claim_text("of-a-gpu", ">>> 2\n2", ":lanes: cuda\n"), claim_text("no", ">>> 1\n2")]
    book = TinyBook(tmp_path, {"index": "# I\n\n" + "\n".join(told)})
    assert book.sphinx().returncode == 1
    page = book.page("index")
    badges = {card["id"]: card.select_one(".claim-badges").text for card in page.select(".claim")}
    assert badges == {
        "claim-sum-adds": "",
        "claim-of-a-gpu": "run on CUDA only",
        "claim-no": "CPU prints something else",
    }
    assert page.select_one(".provenance").text.endswith(", 1 of them.")


def test_where_nothing_ran_as_printed_no_line_says_so(tmp_path):
    """Neither of a claim that differs, nor of one that no machine has run."""
    told = [claim_text("of-a-gpu", ">>> 2\n2", ":lanes: cuda\n"), claim_text("no", ">>> 1\n2")]
    book = TinyBook(tmp_path, {"index": "# I\n\n" + "\n".join(told)})
    assert book.sphinx().returncode == 1
    assert not book.page("index").select(".provenance")


def test_a_heading_makes_no_filter(tmp_path):
    """Only a page with a long list of the whole book has one."""
    text = "# I\n\n## Source code\n\nText.\n\n## Part of it\n\nText.\n\n```{toctree}\nledger\n```\n"
    book = TinyBook(tmp_path, {"index": text, "ledger": "# L\n\n```{ledger}\n```\n"})
    assert book.sphinx().returncode == 0
    assert not book.page("index").select(".list-filter")
    assert book.page("ledger").select_one(".list-filter [role=status]").text == "4 of 4"


def test_other_forms_carry_the_form(chapter):
    """In Markdown and in a notebook all stands open, in the page's order."""
    text = (chapter.site / "sums.md").read_text("utf-8")
    assert re.findall(r"\*\*A .*?\*\*|All four|One of them|How it ran", text) == [
        *("**A `sum` adds all elements.**", "All four", "How it ran"),
        *("**A sum of bools counts.**", "One of them", "How it ran"),
    ]
    cells = json.loads((chapter.site / "sums.ipynb").read_text("utf-8"))["cells"]
    assert [(c["cell_type"], c["source"].split("\n")[-1]) for c in cells][2:] == [
        ("code", "torch.ones(2, 2).sum()"),
        ("markdown", "It does."),
        ("code", "torch.tensor([True, False]).sum()"),
        ("markdown", "Nothing."),
    ]
    assert cells[3]["source"].startswith("All four ones were added.\n\n**A sum of bools counts.**")


def test_an_epub_folds_nothing(chapter, tmp_path):
    """Most readers of an EPUB could not open it."""
    python("-m", "sphinx", "-q", "-b", "epub", "docs", str(tmp_path), cwd=chapter.root)
    (packed,) = tmp_path.glob("*.epub")
    book = zipfile.ZipFile(packed)
    page = book.read("sums.xhtml").decode()
    assert page.count('<div class="claim docutils') == page.count('class="claim-title"') > 0
    assert '<details class="claim detail"' not in page
    assert '<summary class="claim-title"' not in page
    answers = book.read("guide.xhtml").decode().split('<details class="answer"')[1:]
    assert [answer.startswith(' open="open"') for answer in answers] == [True, True, True]


def test_guides_say_what_pages_say(chapter):
    """An overview has the short answers, questions have something to judge, beliefs turn over."""
    guide = chapter.page("guide")
    overview = guide.select_one(".overview")
    assert overview.select_one(".rubric a")["href"] == "sums.html"
    asked = overview.select_one("details.answer:not(.message)")
    assert asked.summary.text == "What is a sum?"
    assert asked.p.text.strip() == "A sum adds. It is one number. Shown here"
    assert asked.a["href"] == "sums.html#what-is-a-sum"
    of_error = overview.select_one("details.message")
    assert of_error.summary.text == "size of a and b"
    assert [code.text for code in of_error.summary("code")] == ["size of a", "b"]
    assert of_error.p.text.strip() == "Print x.shape. Its cures"
    assert of_error.a["href"] == "mends.html#size-of-a-and-b"
    answer = guide.select_one("ol.questions > li > details.answer")
    assert not answer.has_attr("open")
    assert answer.summary.text == "What is a sum?"
    assert answer.p.text.strip() == "A sum adds. It is one number."
    judged, other = guide.select("ol.questions > li > details.judge")
    assert judged.summary.text == "True or false? A sum adds all elements."
    assert judged.p.text.startswith("right. A sum of bools counts. See the example")
    assert other.summary.text == "True or false? A sum multiplies."
    assert other.p.a["href"] == "ones.html#claim-ones-have-a-shape"
    belief = guide.select_one("details.belief")
    assert belief.summary.text == "“A sum is a vector.”"
    assert belief.p.a["href"] == "sums.html#claim-sums-add"


def test_who_follows_a_route_is_led_on(chapter):
    """Each page knows the routes with a title, as they are now, and their pages."""
    text = (chapter.site / "_static/routes.js").read_text("utf-8")
    routes = json.loads(text.removeprefix("const bookRoutes = ").rstrip(";\n"))
    assert routes == [{"title": "The way", "on": "index", "stops": [["sums", "Sums"]]}]
    address = f"_static/routes.js?v={zlib.crc32(text.encode()):08x}"
    assert address in (chapter.site / "sums.html").read_text("utf-8")
    assert chapter.page("index").select("ol.route li")


COMPARED = """
def setup(app):
    asked = {"collapse": False, "titles_only": True, "maxdepth": -1, "includehidden": True}

    def sphinx(app, page, template, context, doctree):
        context["expected"] = context["toctree"](**asked)

    def ours(app, page, template, context, doctree):
        same = context["toctree"](**asked) == context["expected"]
        print(f"{page}: {'same' if same else 'different'}")

    app.connect("html-page-context", sphinx, priority=299)
    app.connect("html-page-context", ours, priority=301)
"""
"""Asks Sphinx for the contents beside each page before the book's own stand there, and after."""


def test_contents_beside_a_page_are_those_that_sphinx_makes(tmp_path):
    """On pages of two folders, listed once, twice or not at all, under captions and with code."""
    tree = "```{toctree}\n:caption: Part\n:hidden:\n\n"
    pages = {
        "index": f"# Tiny\n\n{tree}a/index\nPyTorch <https://pytorch.org>\n```\n\n{tree}d\n```\n",
        "a/index": f"# A\n\n## B\n\n{tree}one\nb/two\nself\n```\n",
        "a/one": "# `x.grad` & one\n\n## C\n",
        "a/b/two": f"# Two\n\n{tree}three\n```\n",
        "a/b/three": "# Three\n",
        "d": f"# D\n\n{tree}Another title </a/one>\n```\n",
        "alone": "---\norphan: true\n---\n# Alone\n",
    }
    done = TinyBook(tmp_path, pages, conf=CONF + COMPARED).sphinx()
    assert done.returncode == 0, done.stderr
    said = [
        line.split()[-2:]
        for line in done.stdout.splitlines()
        if line.endswith((": same", ": different"))
    ]
    assert sorted(said) == sorted([f"{page}:", "same"] for page in [*pages, "genindex", "search"])


def test_a_guide_to_nowhere_is_a_warning(tmp_path):
    """It names the line of the guide, and what is not there."""
    book = TinyBook(tmp_path)
    book.write("docs/d.md", "# D\n\n```{questions}\na/sums#no-such-section\ne#why\n```\n")
    book.write("docs/e.md", "# E\n\n## Why?\n\n```{beliefs}\nsums-add: So.\n```\n")
    book.write("docs/f.md", "# F\n\n```{route} Way\nsums\n```\n")
    done = book.sphinx()
    assert done.returncode == 1
    for expected in (
        "docs/d.md:3: WARNING: questions: no page or section `a/sums#no-such-section`",
        "docs/d.md:3: WARNING: questions: `e#why` has no short answer",
        "docs/e.md:5: WARNING: beliefs: no claim has the id `sums-add`; did you mean sum-adds?",
        "docs/f.md:3: WARNING: route: no page or section `sums`; did you mean a/sums?",
    ):
        assert expected in done.stderr


def test_a_guide_follows_its_pages(tmp_path):
    """A page that shows short answers is written anew when they change."""
    book = TinyBook(tmp_path)
    book.write("docs/d.md", "# D\n\n```{overview}\ne\n```\n")
    book.write("docs/e.md", "# E\n\n## Why?\n\n**In short.** So.\n")
    assert book.sphinx().returncode == 0
    book.write("docs/e.md", "# E\n\n## Why?\n\n**In short.** Thus.\n")
    assert book.sphinx().returncode == 0
    assert book.page("d").select_one(".answer p").text.strip() == "Thus. Shown here"
