"""Render the book's texts and code as self-contained HTML."""

from html import escape

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from claimbook.pages.text import curly

MARKDOWN = MarkdownIt("commonmark", {"html": False})
HTML = HtmlFormatter(nowrap=True)


def inline(text: str) -> str:
    """Return inline Markdown as HTML; HTML in it is escaped, and quotes become curly."""
    return str(MARKDOWN.renderInline(curly(text)))


def code(text: str) -> str:
    """Return Python code as HTML with Pygments' classes, without a wrapping element."""
    return str(highlight(text, PythonLexer(), HTML)).rstrip("\n")


def output(text: str) -> str:
    """Escape a program's output for HTML."""
    return escape(text, quote=False)
