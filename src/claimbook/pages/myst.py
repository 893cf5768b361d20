"""Parse Markdown and directives as MyST does, without Sphinx."""

import re
from collections.abc import Iterable, Iterator, Sequence
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
"""The required `myst_enable_extensions`, so that scan and build tokenize alike."""

STAR = "this line begins a list: wrap the sentence elsewhere, or begin lists with `-`"
"""Message for a line that begins with `*` or `+`, such as a wrapped product or sum."""


def _entries(value: str | None) -> str:
    if value is None:
        raise ValueError("names no entry")
    return value


def _alone(value: str | None) -> None:
    # Unlike docutils' flag, which accepts `no` from MyST.
    if value is not None:
        raise ValueError(f"has no value: leave out {value!r}, or the whole line")


class ClaimSyntax(Directive):
    """The syntax of `{claim}`, for MyST's directive parser; never run."""

    required_arguments = 1
    final_argument_whitespace = True  # so that the error is about the id, not the number of words
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(map(str, RelationKind), _entries),
        **dict.fromkeys(("lanes", "timeout", "machine"), unchanged),
        **dict.fromkeys(("cpu-build", "detail", "explains"), _alone),
    }


class RemarkSyntax(Directive):
    """The syntax of `{remark}`: its arguments are entries."""

    required_arguments = 1
    optional_arguments = 99
    has_content = True


@cache
def _tokenizer() -> MarkdownIt:
    parser = create_md_parser(MdParserConfig(enable_extensions=set(MYST_EXTENSIONS)), RendererHTML)
    return parser.disable("inline")


def tokenize(text: str) -> list[Token]:
    """Return the block tokens of Markdown; the content of directives is not parsed."""
    return _tokenizer().parse(text)


def fences(tokens: Iterable[Token], first_line: int) -> Iterator[tuple[Token, int]]:
    """Yield each fence with the page line on which it begins."""
    for token in tokens:
        if token.type in ("fence", "colon_fence") and token.map:
            yield token, first_line + token.map[0]


def fence_lines(token: Token, line: int) -> range:
    """Return the page lines of a fence that begins on a line."""
    assert token.map
    return range(line, line + token.map[1] - token.map[0])


def star_lists(tokens: Iterable[Token], first_line: int) -> Iterator[int]:
    """Yield the page lines that begin a list with `*` or `+`."""
    for token in tokens:
        if token.type == "list_item_open" and token.markup in ("*", "+") and token.map:
            yield first_line + token.map[0]


def is_closed(token: Token, source: Sequence[str]) -> bool:
    """Return whether a fence of these lines has a closing line, before another fence opens."""
    assert token.map
    last = source[token.map[1] - 1].strip(" \t>")
    ended = token.map[1] > token.map[0] + 1 and last == token.markup[0] * max(len(last), 3)
    return ended and not re.search(rf"^\s*{token.markup}[\w{{]", token.content, re.MULTILINE)


def lines(text: str) -> list[str]:
    """Split a text into lines, as markdown-it does."""
    # str.splitlines would also split at form feeds and the like.
    return re.split(r"\r\n?|\n", text)


def parse_directive(kind: type[Directive], argument: str, content: str, line: int) -> Any:
    """Return a directive as parsed by MyST.

    Raises:
        MarkupError: its arguments or content do not fit its kind.
    """
    # MyST counts lines with str.splitlines, which splits at more characters than markdown-it.
    content = re.sub("[\v\f\x1c-\x1e\x85\u2028\u2029]", " ", content)
    return parse_directive_text(kind, argument, content, line=line)
