"""Texts and code of the book as HTML that stands for itself."""

from functools import cache
from html import escape
from typing import Any

from markdown_it import MarkdownIt


def inline(text: str) -> str:
    """Return Markdown of one line as HTML; HTML in it is text."""
    return str(_markdown().renderInline(text))


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False})


def code(text: str) -> str:
    """Return Python as HTML with Pygments' classes, without the frame around it."""
    from pygments import highlight

    return str(highlight(text, *_pygments())).rstrip("\n")


@cache
def _pygments() -> tuple[Any, Any]:
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    return PythonLexer(), HtmlFormatter(nowrap=True)


def output(text: str) -> str:
    """Return what a program printed, as HTML that shows just that."""
    return escape(text, quote=False)
