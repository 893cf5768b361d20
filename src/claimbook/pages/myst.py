"""Parse Markdown and directives as MyST does, without Sphinx."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from math import inf
from typing import Any, ClassVar

from docutils.parsers.rst import Directive
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.directives import parse_directive_text
from myst_parser.parsers.mdit import create_md_parser

from claimbook.model import Factor, Lane, RelationKind

MYST_EXTENSIONS = ("attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath")
"""The required `myst_enable_extensions`, so that scan and build tokenize alike."""

_DIRECTIVE = re.compile(r"\{([\w:.-]+)\}\s*(.*)", re.DOTALL)
"""The name and the argument of a directive: `{claim} sum-adds`."""


def _entries(value: str | None) -> list[str]:
    if value is None:
        raise ValueError("names no entry")
    return value.split()


def _alone(value: str | None) -> None:
    # Unlike docutils' flag, which accepts `no` from MyST.
    if value is not None:
        raise ValueError(f"has no value: leave out {value!r}, or the whole line")


def _seconds(value: str | None) -> float:
    with suppress(ValueError):
        seconds = float(value or "")
        if 0 < seconds < inf:
            return seconds
    raise ValueError(f"is in seconds, not {value or ''!r}")


def _members(kind: type[StrEnum]) -> Callable[[str | None], tuple[StrEnum, ...]]:
    """Return the function that reads an option which names members of an enumeration."""

    def read(value: str | None) -> tuple[StrEnum, ...]:
        named = (value or "").replace(",", " ").split()
        unknown = [each for each in named if each not in tuple(kind)]
        if unknown or not named:
            members = ", ".join(kind)
            raise ValueError(f"is one or more of {members}, not {' '.join(unknown) or 'none'}")
        return tuple(member for member in kind if member in named)

    return read


class ClaimSyntax(Directive):
    """The syntax of `{claim}`, for MyST's directive parser; never run."""

    required_arguments = 1
    final_argument_whitespace = True  # so that the error is about the id, not the number of words
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        **dict.fromkeys(map(str, RelationKind), _entries),
        "lanes": _members(Lane),
        "timeout": _seconds,
        "machine": _members(Factor),
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


@lru_cache(maxsize=256)  # a page is read for its claims, then for its sections and its sentences
def _parse(text: str) -> list[Token]:
    return _tokenizer().parse(text)


@dataclass(frozen=True)
class Block:
    """A fence of a page, which may be a directive."""

    info: str
    """What follows the marks of its first line: a language, or a directive with its argument."""
    content: str
    lines: range
    """Its lines on the page."""
    marks: str
    """What ends it."""
    nested: bool
    """Whether it stands in a list or quote."""
    closed: bool
    """Whether it has a closing line, before another fence opens."""

    @property
    def line(self) -> int:
        """The page line on which it begins."""
        return self.lines.start

    @cached_property
    def directive(self) -> tuple[str, str]:
        """The name and the argument of a directive; empty for a plain fence."""
        found = _DIRECTIVE.match(self.info)
        return (found[1], found[2]) if found else ("", "")

    @property
    def language(self) -> str:
        """The language of a plain fence."""
        return (self.info.split() or [""])[0].lower()


class Markdown:
    """A page, or the content of a directive, in blocks; directives in it are not parsed."""

    def __init__(self, text: str, first_line: int = 1) -> None:
        self.lines = lines(text)
        self.first_line = first_line
        """The page line on which it begins."""
        self.tokens = _parse(text)

    def line(self, token: Token) -> int:
        """Return the page line of a block."""
        return self.first_line + (token.map[0] if token.map else 0)

    def star_lists(self) -> Iterator[int]:
        """Yield the page lines that begin a list with `*` or `+`."""
        for token in self.tokens:
            if token.type == "list_item_open" and token.markup in ("*", "+"):
                yield self.line(token)

    def blocks(self, tokens: Iterable[Token] | None = None) -> Iterator[Block]:
        """Yield its fences, or those among some of its tokens."""
        for token in self.tokens if tokens is None else tokens:
            if token.type in ("fence", "colon_fence") and token.map:
                start, end = token.map
                yield Block(
                    info=token.info.strip(),
                    content=token.content,
                    lines=range(self.first_line + start, self.first_line + end),
                    marks=token.markup,
                    nested=token.level > 0,
                    closed=end > start + 1 and _is_closed(token, self.lines[end - 1]),
                )


def _is_closed(fence: Token, last: str) -> bool:
    """Return whether a fence ends with its last line; if another opens in it, it does not."""
    marks = last.strip(" \t>")
    ends = len(marks) >= 3 and {*marks} == {fence.markup[0]}
    opens = re.search(rf"^\s*{fence.markup}[\w{{]", fence.content, re.MULTILINE)
    return ends and not opens


def lines(text: str) -> list[str]:
    """Split a text into lines, as markdown-it does."""
    # str.splitlines would also split at form feeds and the like.
    return re.split(r"\r\n?|\n", text)


def parse_directive(kind: type[Directive], block: Block) -> tuple[Any, Markdown]:
    """Return a directive as parsed by MyST, and its body.

    Raises:
        MarkupError: its arguments do not fit its kind.
    """
    # MyST counts lines with str.splitlines, which splits at more characters than markdown-it.
    content = re.sub("[\v\f\x1c-\x1e\x85\u2028\u2029]", " ", block.content)
    parsed = parse_directive_text(kind, block.directive[1], content, line=block.line)
    body = "\n".join(lines(block.content)[parsed.body_offset :])
    return parsed, Markdown(body, block.line + 1 + parsed.body_offset)
