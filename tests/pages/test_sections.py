"""What is read from a page besides its claims: sections, sentences, reading time."""

import pytest

from claimbook.pages.parser import scan_page
from claimbook.pages.prose import sentences
from claimbook.pages.reading_time import reading_words
from helpers import claim_text

CLAIM = claim_text("sums", ">>> torch.ones(2).sum()\ntensor(2.)")
PAGE = f"""\
---
file_format: mystnb
---
# A page

## What does `sum()` do, and *why*?

**In short.** It {{py:meth}}`adds <torch.Tensor.sum>`
all of it, if 1 < 2.

:::{{asked}}
how to add up

sum of a tensor
:::

## No short answer

**Not in short.** No.

{CLAIM}
"""


def test_sections():
    """A section has its title, the paragraph *In short* on one line, its id and its lines."""
    first, second = scan_page(PAGE, "docs/a.md").sections
    assert (first.title, first.anchor) == (
        "What does `sum()` do, and *why*?",
        "what-does-sum-do-and-why",
    )
    assert first.short == "It adds all of it, if 1 < 2."
    assert first.asked == ("how to add up", "sum of a tensor")
    assert (second.title, second.short, second.asked) == ("No short answer", "", ())
    assert (first.lines, second.lines) == (range(6, 17), range(17, len(PAGE.split("\n")) + 1))


def test_claims_of_a_section():
    """They are those that stand on its lines."""
    page = scan_page(PAGE, "docs/a.md")
    assert [section.claims for section in page.sections] == [(), page.claims]


def test_sentences_of_claims():
    """An explanation belongs to its claim, options and code are no prose, a remark is."""
    text = (
        ":::{claim} views\n:detail:\n:confirms: a-1.1\n\nViews share memory. Copies do not.\n\n"
        "```pycon\n>>> 1\n1\n```\n\nIt prints 1.\n:::\n\n"
        ":::{remark} a-1.2\n\nNobody can tell.\n:::\n"
    )
    said = sentences(f"## A\n\n{text}")
    assert [(each.claim, each.text) for each in said] == [
        ("views", "Views share memory."),
        ("views", "Copies do not."),
        ("views", "It prints 1."),
        ("", "Nobody can tell."),
    ]
    assert {each.line for each in said} == {3, 17}


@pytest.mark.parametrize("options", ["", ":class: tip\n\n", ":class: tip\n:name: a\n"])
def test_options_end_where_the_prose_begins(options):
    """What looks like an option within a paragraph is prose."""
    (said,) = sentences(f":::{{note}}\n{options}A key\n:like: this one\n:::\n")
    assert said.text == "A key :like: this one"


def test_links_to_other_pages_are_no_sentences():
    """A list under *See also* is left out, up to the next heading."""
    text = "# P\n\n### See also\n\nAnother page.\n\n## Next\n\nIt is read.\n"
    assert [each.text for each in sentences(text)] == ["It is read."]


def test_what_is_not_read_takes_no_time():
    """The words of a page count a detail's title alone, and nothing hidden or only looked for."""
    cell = '```{code-cell}\n:tags: ["remove-input"]\nlines(x)\n```\n'
    detail = CLAIM.replace("} sums\n", "} sums\n:detail:\n")
    text = f"# A page\n\n{detail}\n{cell}\n:::{{asked}}\nhow to add\n:::\n"
    assert reading_words(text, scan_page(text, "docs/a.md")) == len(
        ["#", "A", "page", "It", "says", "so."]
    )
    shown = text.replace(detail, CLAIM)
    assert reading_words(shown, scan_page(shown, "docs/a.md")) == len(
        ["#", "A", "page", *CLAIM.split()]
    )
