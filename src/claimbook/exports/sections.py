"""Split a page into sections, each with its title and short answer."""

import re
from dataclasses import dataclass
from itertools import pairwise

from docutils import nodes
from markdown_it.token import Token

from claimbook.model import Claim, Page
from claimbook.pages.myst import fences, tokenize
from claimbook.pages.text import first_sentence, strip_markup

SHORT = "**In short.**"
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
    tokens = tokenize(text)
    starts = [number for number, token in enumerate(tokens) if _is_heading(token)]
    parts = [tokens[start:end] for start, end in pairwise([*starts, len(tokens)])]
    lines = [*(_line(part[0]) for part in parts), text.count("\n") + 2]
    return [_section(part, range(*ends)) for part, ends in zip(parts, pairwise(lines), strict=True)]


def reading_minutes(text: str, page: Page) -> int:
    """Return the reading time of a page with folded details, in minutes."""
    return max(1, round(reading_words(text, page) / WORDS_A_MINUTE))


def reading_words(text: str, page: Page) -> int:
    """Count the words of a page, without hidden code and with only the titles of details."""
    rows = text.split("\n")
    titles = {claim.location.line: claim.statement for claim in page.claims if claim.detail}
    for token, line in fences(tokenize(text), 1):
        if token.map and (line in titles or _is_asked(token) or "remove-input" in token.content):
            rows[slice(*token.map)] = [""] * (token.map[1] - token.map[0])
            rows[token.map[0]] = first_sentence(titles.get(line, ""))
    return len(" ".join(rows).split())


def _is_heading(token: Token) -> bool:
    return token.type == "heading_open" and token.tag == "h2"


def _line(token: Token) -> int:
    assert token.map
    return token.map[0] + 1


def _section(tokens: list[Token], lines: range) -> Section:
    title, *texts = [
        strip_markup(" ".join(token.content.split())) for token in tokens if token.type == "inline"
    ]
    shorts = [text.removeprefix(SHORT).strip() for text in texts if text.startswith(SHORT)]
    anchor = nodes.make_id(nodes.fully_normalize_name(re.sub(r"[`*]", "", title)))
    asked = tuple(line for token in tokens if _is_asked(token) for line in _content(token))
    return Section(title, shorts[0] if shorts else "", anchor, lines, asked)


def _is_asked(token: Token) -> bool:
    return token.type in ("fence", "colon_fence") and token.info.strip() == "{asked}"


def _content(token: Token) -> list[str]:
    return [line.strip() for line in token.content.split("\n") if line.strip()]
