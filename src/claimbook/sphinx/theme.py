"""What is mended of the pages that the theme makes."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

HEADING = 'role="heading"'


def connect(app: Sphinx) -> None:
    """Comes after the theme has made its contents."""
    app.connect("html-page-context", give_captions_a_level, priority=900)


def give_captions_a_level(
    app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Sphinx calls the captions of the contents headings and says no level; screen readers ask."""
    if tree := context.get("furo_navigation_tree"):
        context["furo_navigation_tree"] = tree.replace(HEADING, f'{HEADING} aria-level="2"')
