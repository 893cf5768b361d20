"""Split a page into sections, each with its title and short answer."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from docutils import nodes
from markdown_it.token import Token

from claimbook.model import Claim, Section
from claimbook.pages.myst import Markdown
from claimbook.pages.text import SHORT, strip_markup

ASKED = "{asked}"
"""The directive of what people ask."""
HEADING = ("heading_open", "h2")
"""Type and tag of the token that begins a section."""
OF_ERRORS = r"^`[^`]+`(?:(?:,| or| and)* `[^`]+`)*$"
"""A heading of one or more error messages; the browser uses this pattern too."""


def is_error(title: str) -> bool:
    """Return whether a heading is one or more error messages.

    >>> is_error("`no` and `never`"), is_error("What does `no` mean?")
    (True, False)
    """
    return re.match(OF_ERRORS, title) is not None


def sections(page: Markdown, path: str, claims: Sequence[Claim]) -> Iterator[Section]:
    """Yield the sections of a page, in order, each with those of the claims on its lines."""
    heads = [n for n, token in enumerate(page.tokens) if (token.type, token.tag) == HEADING]
    for head, end in pairwise([*heads, len(page.tokens)]):
        first = page.line(page.tokens[head])
        after = page.line(page.tokens[end]) if end in heads else len(page.lines) + 1
        here, tokens = range(first, after), page.tokens[head:end]
        title, *texts = [token.content for token in tokens if token.type == "inline"]
        short = next((text.removeprefix(SHORT) for text in texts if text.startswith(SHORT)), "")
        yield Section(
            path,
            strip_markup(title),
            strip_markup(short),
            anchor=_anchor(strip_markup(title)),
            lines=here,
            asked=_asked(page, tokens),
            claims=tuple(claim for claim in claims if claim.location.line in here),
        )


def _anchor(title: str) -> str:
    return nodes.make_id(nodes.fully_normalize_name(re.sub(r"[`*]", "", title)))


def _asked(page: Markdown, tokens: Sequence[Token]) -> tuple[str, ...]:
    asked = "".join(block.content for block in page.blocks(tokens) if block.info == ASKED)
    return tuple(filter(None, map(str.strip, asked.split("\n"))))
