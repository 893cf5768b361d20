"""Markdown and directives as MyST reads them, without Sphinx."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, ClassVar

from docutils.parsers.rst import Directive
from docutils.parsers.rst.directives import unchanged
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.directives import parse_directive_text
from myst_parser.parsers.mdit import create_md_parser

from claimbook.model import RelationKind

MYST_EXTENSIONS = ("attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath")
"""What `myst_enable_extensions` must be, so that scan and build tokenize alike."""

STAR = "this line begins a list: wrap the sentence elsewhere, or begin lists with `-`"
"""What is wrong with a line that begins with `*` or `+`, as a wrapped product or sum may."""


def _entries(value: str | None) -> str:
    if value is None:
        raise ValueError("names no entry")
    return value


def _alone(value: str | None) -> None:
    # docutils' own flag accepts `no` where MyST reads it.
    if value is not None:
        raise ValueError(f"has no value: leave out {value!r}, or the whole line")


class ClaimSyntax(Directive):
    """What a `{claim}` accepts; read by MyST's parser of directives, never run."""

    required_arguments = 1
    final_argument_whitespace = True  # so that the id is blamed, not the number of words
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(map(str, RelationKind), _entries),
        **dict.fromkeys(("lanes", "timeout", "machine"), unchanged),
        **dict.fromkeys(("cpu-build", "detail", "explains"), _alone),
    }


class RemarkSyntax(Directive):
    """What a `{remark}` accepts: the entries it speaks of."""

    required_arguments = 1
    optional_arguments = 99
    has_content = True


@cache
def _tokenizer() -> MarkdownIt:
    return create_md_parser(MdParserConfig(enable_extensions=set(MYST_EXTENSIONS)), RendererHTML)


def tokenize(text: str) -> list[Token]:
    """Return Markdown as MyST reads it; what directives hold is not taken apart."""
    return _tokenizer().parse(text)


def fences(tokens: Iterable[Token], first_line: int) -> Iterator[tuple[Token, int]]:
    """Yield each fence, with the line of the page on which it begins."""
    for token in tokens:
        if token.type in ("fence", "colon_fence") and token.map:
            yield token, first_line + token.map[0]


def fence_lines(token: Token, line: int) -> range:
    """Return the page lines of a fence that begins on the given one."""
    assert token.map
    return range(line, line + token.map[1] - token.map[0])


def star_lists(tokens: Iterable[Token], first_line: int) -> Iterator[int]:
    """Yield the lines of a page that begin with `*` or `+`, and so a list."""
    for token in tokens:
        if token.type == "list_item_open" and token.markup in ("*", "+") and token.map:
            yield first_line + token.map[0]


def is_closed(token: Token, source: str) -> bool:
    """Return whether a fence ends with a line of its own marks, before another opens."""
    assert token.map
    last = lines(source)[token.map[1] - 1].strip(" \t>")
    ended = token.map[1] > token.map[0] + 1 and last == token.markup[0] * max(len(last), 3)
    return ended and not re.search(rf"^\s*{token.markup}[\w{{]", token.content, re.MULTILINE)


def lines(text: str) -> list[str]:
    """Return the lines of a text, as markdown-it splits it."""
    # str.splitlines would also split at form feeds and the like.
    return re.split(r"\r\n?|\n", text)


def parse_directive(kind: type[Directive], argument: str, content: str, line: int) -> Any:
    """Return what MyST makes of a directive.

    Raises:
        MarkupError: it is not as its kind asks.
    """
    # MyST would count what str.splitlines takes for a line more than markdown-it does.
    content = re.sub("[\v\f\x1c-\x1e\x85\u2028\u2029]", " ", content)
    return parse_directive_text(kind, argument, content, line=line)
