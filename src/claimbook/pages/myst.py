"""Parse Markdown into blocks as MyST does, without Sphinx."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import takewhile

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

MYST_EXTENSIONS = ("attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath")
"""The required `myst_enable_extensions`, so that scan and build tokenize alike."""

_DIRECTIVE = re.compile(r"\{([\w:.-]+)\}\s*(.*)", re.DOTALL)
"""The name and the argument of a directive: `{claim} sum-adds`."""
_OPTION = re.compile(r"\s*:(?!::)")
"""The start of an option's line; three colons begin a fence."""


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
        return (found[1], found[2].strip()) if found else ("", "")

    @cached_property
    def options(self) -> list[str]:
        """The lines of a directive's options: its first ones, as far as they begin with a colon."""
        return [*takewhile(_OPTION.match, lines(self.content))]

    @property
    def body(self) -> "Markdown":
        """The content of a directive, below its options."""
        below = lines(self.content)[len(self.options) :]
        return Markdown("\n".join(below), self.line + 1 + len(self.options))

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
    ends = len(marks) >= len(fence.markup) and {*marks} == {fence.markup[0]}
    opens = re.search(rf"^\s*{fence.markup}[\w{{]", fence.content, re.MULTILINE)
    return ends and not opens


def lines(text: str) -> list[str]:
    """Split a text into lines, as markdown-it does."""
    # str.splitlines would also split at form feeds and the like.
    return re.split(r"\r\n?|\n", text)
