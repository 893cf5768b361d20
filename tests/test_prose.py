"""The book's sentences: torch has the names in them, and a claim begins with what is true."""

import re
from pkgutil import resolve_name

import pytest

from claimbook.exports.sections import first_sentence, reading_minutes, sections
from claimbook.model import Lane
from claimbook.pages.book import Book
from helpers import ROOT

SHORT = {"nn": "torch.nn", "F": "torch.nn.functional", "Tensor": "torch.Tensor"}
FENCED = re.compile(r"^(`{3,})[^`\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)(`{1,2})([^`]+)\1(?!`)")
DOTTED = re.compile(r"(?<![\w.'\"/-])(torch|nn|F|Tensor)((?:\.[A-Za-z_]\w*)+)")

TEXTS = [
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if "_build" not in path.parts),
    *sorted((ROOT / "gallery").rglob("plot_*.py")),
]


def names(text):
    """Dotted names of torch in inline code, each with its line; what is in fences runs."""
    prose = FENCED.sub(lambda fence: "\n" * fence[0].count("\n"), text)
    for code in INLINE.finditer(prose):
        line = prose.count("\n", 0, code.start()) + 1
        for head, rest in DOTTED.findall(code[2]):
            yield line, SHORT.get(head, head) + rest


def missing(text):
    """Those that torch does not have."""
    for line, name in names(text):
        try:
            resolve_name(name)
        except (ImportError, AttributeError):
            yield f"{line}: {name}"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # from modules of torch, as they load
@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_names_in_sentences_exist(path):
    """A name that a release takes away, or that was never there, is found by page and line."""
    assert not [*missing(path.read_text("utf-8"))]


def test_what_is_looked_up():
    """Chains of names in inline code of one or two backticks; not words, fences or file names."""
    text = (
        "`torch.ones(2)` and torch.nowhere, `from torch.nn import Gone`\n"
        "```pycon\n>>> `torch.nowhere`\n```\n"
        "``nn.Linear`` and `x = F.relu(F.relo(x))`, `Tensor.seen`, `a/torch.md`, `my_torch.ones`\n"
    )
    assert next(names(text)) == (1, "torch.ones")
    assert [*missing(text)] == ["5: torch.nn.functional.relo", "5: torch.Tensor.seen"]


def test_statements_begin_with_what_is_true():
    """The first sentence of a claim stands alone in indexes; it points to no example or page."""
    pointing = re.compile(r"(Here|Printed|This|These|They|As (above|below))\b")
    claims = Book.load(ROOT).claims
    assert [str(c.location) for c in claims if pointing.match(c.statement)] == []


WIDEST = 90
"""Columns of code that a card shows on a desk without scrolling."""


def test_code_fits_its_card():
    """Nobody has to scroll to read an example."""
    lines = [
        f"{claim.location}: {claim.id}: {line}"
        for claim in Book.load(ROOT).claims
        for line in claim.code.splitlines()
        if len(line) > WIDEST
    ]
    assert lines == []


def test_outputs_hold_on_every_python():
    """What Python 3.12 prints in another way than 3.11 is not what a page is about."""
    wants = {c.id: [e.want for e in c.examples(Lane.CPU)] for c in Book.load(ROOT).claims}
    assert [name for name, printed in wants.items() if "OrderedDict(" in "".join(printed)] == []


CHAPTERS = {
    page.path: page
    for page in Book.load(ROOT).pages
    if page.path.count("/") == 2 and "/contributing/" not in page.path and page.claims
}
LONGEST_TITLE = 125
POINTING = re.compile(r"\b(?:this (?:error|message|page|section)|here of)\b")
"""What leads out of a title, which stands alone in lists."""
MINUTES = 15


@pytest.mark.parametrize("path", CHAPTERS)
def test_titles_are_sentences(path):
    """A card's title is one sentence, short enough to be read at a glance."""
    titles = {str(c.location): first_sentence(c.statement) for c in CHAPTERS[path].claims}
    assert {where: t for where, t in titles.items() if POINTING.search(t)} == {}
    assert {w: t for w, t in titles.items() if t[-1] not in ".?!" or len(t) > LONGEST_TITLE} == {}


@pytest.mark.parametrize("path", CHAPTERS)
def test_sections_answer_and_are_asked_for(path):
    """Each begins with a short answer, and says how people ask for it; few cards are open."""
    page, text = CHAPTERS[path], (ROOT / path).read_text("utf-8")
    parts = [s for s in sections(text) if s.claims(page) and s.title != "Predict"]
    told = {s.title: (bool(s.short), len(s.asked) >= 3, len(s.short.split()) < 80) for s in parts}
    assert {title: each for title, each in told.items() if not all(each)} == {}
    opened = {s.title: [c.detail for c in s.claims(page)].count(False) for s in parts}
    assert {title: count for title, count in opened.items() if count > 6} == {}
    assert reading_minutes(text, page) <= MINUTES


IN_A_SENTENCE = re.compile(r"^(?![-*+] |\d+[.)] |[ #:|]|$).*\n(- |1[.)] ).*", re.MULTILINE)


@pytest.mark.parametrize("path", CHAPTERS)
def test_no_sentence_breaks_into_a_list(path):
    """A line that begins with a dash or with `1.` would begin a list within a sentence."""
    prose = FENCED.sub("", (ROOT / path).read_text("utf-8"))
    assert [found[0] for found in IN_A_SENTENCE.finditer(prose)] == []
