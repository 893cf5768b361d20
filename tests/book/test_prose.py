"""The book's sentences: torch has the names in them, and a claim begins with what is true."""

import re
from functools import cache
from pkgutil import resolve_name

import pytest

from claimbook.checking.report import explain
from claimbook.engine.pool import Runner
from claimbook.model import Lane, Outcome
from claimbook.pages.myst import Markdown
from claimbook.pages.parser import scan_page
from claimbook.pages.reading_time import reading_minutes
from helpers import ROOT, whole_book

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


def test_no_page_has_a_problem():
    """What a build would warn of, told in seconds: a short answer or a title that is too long."""
    assert not [str(problem) for problem in whole_book().problems]


def test_claims_that_show_how_one_is_written_hold():
    """They stand in fences of Markdown, which nothing else runs."""
    paths = [path for path in (*TEXTS, *ROOT.glob("*.md")) if path.suffix == ".md"]
    texts = [(path, path.read_text("utf-8")) for path in paths]
    fences = [(path, block) for path, text in texts for block in Markdown(text).blocks()]
    pages = [scan_page(f.content, str(p)) for p, f in fences if f.language in ("markdown", "md")]
    claims = [claim for page in pages for claim in page.claims]
    assert claims
    assert not [str(problem) for page in pages for problem in page.problems]
    with Runner() as runner:
        runs = [*runner.run(claims, Lane.CPU)]
    assert not [explain(*run) for run in runs if run[1].outcome is not Outcome.PASSED]


def test_statements_of_sources_end_as_sentences():
    """They stand alone, on cards and in lists."""
    entries = whole_book().register.entries.values()
    assert [e.id for e in entries if not re.search(r"[.!?][\"`)]*$", e.statement)] == []


def test_statements_begin_with_what_is_true():
    """The first sentence of a claim stands alone in indexes; it points to no example or page."""
    pointing = re.compile(r"(Here|Printed|This|These|They|As (above|below))\b")
    claims = whole_book().claims
    assert [str(c.location) for c in claims if pointing.match(c.statement)] == []


def test_outputs_hold_on_every_python():
    """What Python 3.12 prints in another way than 3.11 is not what a page is about."""
    wants = {c.id: [e.want for e in c.examples(Lane.CPU)] for c in whole_book().claims}
    assert [name for name, printed in wants.items() if "OrderedDict(" in "".join(printed)] == []


CHAPTERS = [
    path.relative_to(ROOT).as_posix()
    for path in sorted((ROOT / "docs").glob("*/*.md"))
    if path.parts[-2] != "contributing" and ":::{claim}" in path.read_text("utf-8")
]
POINTING = re.compile(r"\b(?:this (?:error|message|page|section)|here of)\b")
"""What leads out of a title, which stands alone in lists."""
MINUTES = 15


@pytest.mark.parametrize("path", CHAPTERS)
def test_titles_stand_alone(path):
    """A card's title points to nothing that does not stand beside it in a list."""
    page = pages()[path]
    assert page.claims
    titles = {str(c.location): c.title for c in page.claims}
    assert {where: t for where, t in titles.items() if POINTING.search(t)} == {}


@cache
def pages():
    """The pages by their paths."""
    return {page.path: page for page in whole_book().pages}


def unlike_a_chapter(path):
    """Yield what a section lacks or has too much of, with what to do."""
    page = pages()[path]
    for section in page.sections:
        claims, place = section.claims, f"{path}:{section.lines[0]}: {section.title}"
        if twice := [line for line in section.asked if section.asked.count(line) > 1]:
            yield f"{place}: {twice[0]!r} is asked twice"
        if not claims or section.title == "Predict":
            continue
        if not section.short:
            yield f"{place}: no short answer: write one that begins with **In short.**"
        if len(section.asked) < 3:
            yield f"{place}: write three questions that people type, in an {{asked}} at its end"
        if (opened := [claim.detail for claim in claims].count(False)) > 6:
            yield f"{place}: {opened} cards are open, 6 are the most: fold some with :detail:"
    if (minutes := reading_minutes((ROOT / path).read_text("utf-8"), page)) > MINUTES:
        yield f"{path}:1: {minutes} minutes to read, {MINUTES} are the most: make it two pages"


@pytest.mark.parametrize("path", CHAPTERS)
def test_sections_answer_and_are_asked_for(path):
    """Each begins with a short answer, and says how people ask for it; few cards are open."""
    assert "\n".join(unlike_a_chapter(path)) == ""


IN_A_SENTENCE = re.compile(r"^(?![-*+] |\d+[.)] |[ #:|]|$).*\n(- |1[.)] ).*", re.MULTILINE)


@pytest.mark.parametrize("path", CHAPTERS)
def test_no_sentence_breaks_into_a_list(path):
    """A line that begins with a dash or with `1.` would begin a list within a sentence."""
    prose = FENCED.sub("", (ROOT / path).read_text("utf-8"))
    assert [found[0] for found in IN_A_SENTENCE.finditer(prose)] == []


TEXTED = re.compile(r"\{[a-z:]+\}`([^`<]+?)\s*<[^`>]+>`|(?<!!)\[([^]]+)\]\([^)\s]+\)")
BARE = re.compile(
    r"(?:(?:an?|the|this|that|its|one|another|more|some|torch's|PyTorch's) )?"
    r"(?:another|card|chapter|claim|documentation|error|examples?|gist|here|how|links?|more|notebook"
    r"|notes?|one|page|reason|recipe|report|section|source|statement|that|there|this|tutorial|why)"
    r"(?: (?:above|below|(?:on|with) (?:an?|the|one) \w+))?",
    re.IGNORECASE,
)
"""A text that names only the kind of place: a list of a page's links does not tell them apart."""


def bare_links(text):
    """Texts of links that do not say where they lead, each with its line."""
    prose = FENCED.sub(lambda fence: "\n" * fence[0].count("\n"), text)
    for link in TEXTED.finditer(prose):
        words = " ".join((link[1] or link[2]).split())
        if BARE.fullmatch(words.strip("`")):
            yield f"{prose.count(chr(10), 0, link.start()) + 1}: {words}"


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_say_where_they_lead(path):
    """Read aloud by themselves, links differ: no "an example", "why" or "documentation"."""
    assert [*bare_links(path.read_text("utf-8"))] == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_to_claims_have_words_of_their_own(path):
    """Without any, the whole title stands in the middle of a sentence."""
    prose = FENCED.sub("", path.read_text("utf-8"))
    assert re.findall(r"(?<!`)\{claim\}`[^`<]+`(?!`)", prose) == []


SHOWN_ELSEWHERE = re.compile(r"^(?:# .+\n\n|\*\*In short\.\*\*)(?:.+\n)+", re.MULTILINE)


@pytest.mark.parametrize("path", [path for path in CHAPTERS if "/lessons/" not in path])
def test_what_is_shown_elsewhere_names_pages_in_words(path):
    """Overviews and hits show a chapter's first lines and short answers without their links."""
    for text in SHOWN_ELSEWHERE.findall((ROOT / path).read_text("utf-8")):
        assert re.findall(r"\{doc\}`[^`<]+`", text) == []


def test_what_a_bare_link_is():
    """The kind alone, over lines too; not a link that names its subject, nor code in a fence."""
    text = (
        "{claim}`an\nexample <a-b>` and {doc}`one <c>`, [its documentation](https://x.org/y)\n"
        "{claim}`an example of a tie <a-b>` and {claim}`a-b`, [notes on CUDA](x), ![here](y.png)\n"
        "```text\n[here](x)\n```\n"
    )
    assert [*bare_links(text)] == ["1: an example", "2: one", "2: its documentation"]
