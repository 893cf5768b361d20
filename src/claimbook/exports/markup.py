"""Render the book's texts and code as self-contained HTML."""

from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt

from claimbook.pages.text import curly


def inline(text: str) -> str:
    """Return inline Markdown as HTML; HTML in it is escaped, and quotes become curly."""
    return str(_markdown().renderInline(curly(text)))


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False})


def code(text: str) -> str:
    """Return Python code as HTML with Pygments' classes, without a wrapping element."""
    from pygments import highlight

    return str(highlight(text, *_pygments())).rstrip("\n")


@cache
def _pygments() -> tuple[Any, Any]:
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return PythonLexer(), HtmlFormatter(nowrap=True)


def output(text: str) -> str:
    """Escape a program's output for HTML."""
    return escape(text, quote=False)
