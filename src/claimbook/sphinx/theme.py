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
    app.connect("html-page-context", mend_gallery)


def give_captions_a_level(
    app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Sphinx calls the captions of the contents headings and says no level; screen readers ask."""
    if tree := context.get("furo_navigation_tree"):
        context["furo_navigation_tree"] = tree.replace(HEADING, f'{HEADING} aria-level="2"')


def mend_gallery(
    app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """sphinx-gallery gives an id many times, and has an attribute that HTML does not know."""
    if body := context.get("body"):
        body = body.replace(" id='sg-tag-list'", "")
        context["body"] = body.replace(' tooltip="', ' title="')


def open_fold(writer: HTML5Translator, node: nodes.Element) -> None:
    """What is closed until asked for."""
    classes, title = " ".join(node["classes"]), escape(node["title"])
    writer.body.append(f'<details class="{classes}"><summary>{title}</summary>\n')


def close_fold(writer: HTML5Translator, node: nodes.Element) -> None:
    """Its end."""
    writer.body.append("</details>\n")
