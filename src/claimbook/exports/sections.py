"""Split a page into sections, each with its title and short answer."""

import re
from dataclasses import dataclass
from itertools import pairwise

from docutils import nodes
from markdown_it.token import Token

from claimbook.model import Claim, Page
from claimbook.pages.myst import Markdown
from claimbook.pages.text import SHORT, first_sentence, strip_markup

ASKED = "{asked}"
"""The directive of what people ask."""
HEADING = ("heading_open", "h2")
"""Type and tag of the token that begins a section."""
OF_ERRORS = r"^`[^`]+`(?:(?:,| or| and)* `[^`]+`)*$"
"""A heading of one or more error messages; the browser uses this pattern too."""
WORDS_A_MINUTE = 200
"""Reading speed for prose and code, in space-separated words."""


@dataclass(frozen=True)
class Section:
    """A second-level section of a page."""

    title: str
    """Markdown on one line; on most pages a question."""
    short: str
    """The *In short* paragraph, as Markdown on one line; empty without one."""
    anchor: str
    """Its HTML id on the page."""
    lines: range
    """Its lines on the page, counted from 1."""
    asked: tuple[str, ...] = ()
    """Questions in people's own words, used only by the search."""

    def claims(self, page: Page) -> list[Claim]:
        """Return its claims."""
        return [claim for claim in page.claims if claim.location.line in self.lines]


def is_error(title: str) -> bool:
    """Return whether a heading is one or more error messages.

    >>> is_error("`no` and `never`"), is_error("What does `no` mean?")
    (True, False)
    """
    return re.match(OF_ERRORS, title) is not None


def sections(text: str) -> list[Section]:
    """Return the sections of a page's Markdown text, in order."""
    page = Markdown(text)
    heads = [n for n, token in enumerate(page.tokens) if (token.type, token.tag) == HEADING]
    found = []
    for head, end in pairwise([*heads, len(page.tokens)]):
        first = page.line(page.tokens[head])
        after = page.line(page.tokens[end]) if end in heads else len(page.lines) + 1
        found.append(_section(page, page.tokens[head:end], range(first, after)))
    return found


def _section(page: Markdown, tokens: list[Token], lines: range) -> Section:
    title, *texts = [strip_markup(token.content) for token in tokens if token.type == "inline"]
    shorts = [text.removeprefix(SHORT).strip() for text in texts if text.startswith(SHORT)]
    anchor = nodes.make_id(nodes.fully_normalize_name(re.sub(r"[`*]", "", title)))
    asked = [block.content for block in page.blocks(tokens) if block.info == ASKED]
    questions = filter(None, map(str.strip, "".join(asked).split("\n")))
    return Section(title, shorts[0] if shorts else "", anchor, lines, tuple(questions))


def reading_minutes(text: str, page: Page) -> int:
    """Return the reading time of a page with folded details, in minutes."""
    return max(1, round(reading_words(text, page) / WORDS_A_MINUTE))


def reading_words(text: str, page: Page) -> int:
    """Count the words of a page, without hidden code and with only the titles of details."""
    rows = text.split("\n")
    titles = {claim.location.line: claim.statement for claim in page.claims if claim.detail}
    for block in Markdown(text).blocks():
        if block.line in titles or block.info == ASKED or "remove-input" in block.content:
            for line in block.lines:
                rows[line - 1] = ""
            rows[block.line - 1] = first_sentence(titles.get(block.line, ""))
    return len(" ".join(rows).split())
