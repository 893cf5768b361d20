"""What is mended of the pages that the theme and other extensions make."""

from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

HEADING = 'role="heading"'


def connect(app: Sphinx) -> None:
    """Comes after the theme has made its contents."""
    app.connect("html-page-context", give_captions_a_level, priority=900)
    app.connect("html-page-context", mend_body)


def give_captions_a_level(
    app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Sphinx calls the captions of the contents headings and says no level; screen readers ask."""
    if tree := context.get("furo_navigation_tree"):
        context["furo_navigation_tree"] = tree.replace(HEADING, f'{HEADING} aria-level="2"')


MENDED = {
    " id='sg-tag-list'": "",  # sphinx-gallery gives it many times
    ' tooltip="': ' title="',  # an attribute of sphinx-gallery's own
    '<div role="list" class="citation-list">': '<div class="citation-list">',  # of no list items
}


def mend_body(
    app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """What HTML and ARIA do not know, of sphinx-gallery and docutils."""
    if body := context.get("body"):
        for written, right in MENDED.items():
            body = body.replace(written, right)
        context["body"] = body


def open_fold(writer: HTML5Translator, node: nodes.Element) -> None:
    """What is closed until asked for."""
    classes, title = " ".join(node["classes"]), escape(node["title"])
    writer.body.append(f'<details class="{classes}"><summary>{title}</summary>\n')


def close_fold(writer: HTML5Translator, node: nodes.Element) -> None:
    """Its end."""
    writer.body.append("</details>\n")
