"""Docutils nodes and their HTML: placeholders, filled in when a page is written; parts of cards."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def connect(app: Sphinx) -> None:
    """Register the nodes that pages are stored or written with."""
    app.add_node(place)
    app.add_node(site_html, html=(_write_site_html, None))
    app.add_node(headline, html=(_open_headline, _close_headline))
    app.add_node(fold, html=(_open_fold, _close_fold))


class place(nodes.General, nodes.Element):  # noqa: N801 (docutils names nodes so)
    """A placeholder, filled in when the page is written; `what` is a key of `build.FILLED`."""


class link(nodes.Inline, nodes.TextElement):  # noqa: N801
    """A link to a `place` on a `page`, or on the page with a `view`; made when it is written."""


class site_html(nodes.raw):  # noqa: N801
    """Raw HTML that needs JavaScript: only on the site."""


def _write_site_html(writer: HTML5Translator, node: nodes.Element) -> None:
    if not _is_epub(writer):
        writer.body.append(node.astext())
    raise nodes.SkipNode


class headline(nodes.General, nodes.TextElement):  # noqa: N801
    """The first sentence of a claim, with the claim's `anchor`; or the title of a fold."""


def _open_headline(writer: HTML5Translator, node: nodes.Element) -> None:
    kind = ' class="claim-title"' if "anchor" in node else ""
    writer.body.append(f"<{_tag(writer, node)}{kind}>")


def _close_headline(writer: HTML5Translator, node: nodes.Element) -> None:
    """Add a link to the claim; after a `summary`, in which no link may be."""
    tag, link = _tag(writer, node), ""
    if "anchor" in node:
        there = f'href="#{node["anchor"]}" title="Link to this statement"'
        link = f'<a class="claim-link" {there}>#</a>'
    writer.body.append(f"</{tag}>{link}\n" if tag == "summary" else f"{link}</{tag}>\n")


def _tag(writer: HTML5Translator, node: nodes.Element) -> str:
    return "summary" if isinstance(node.parent, fold) and _folds(writer, node.parent) else "p"


class fold(nodes.General, nodes.Element):  # noqa: N801
    """A headline, followed by what is folded below it."""


MORE_POINTS = "more-points"
"""The class of a fold that only a narrow screen shows; elsewhere its content is open."""


def _folds(writer: HTML5Translator, node: nodes.Element) -> bool:
    """Return whether content is folded; in an EPUB no claim is, as few readers can unfold it."""
    return not (_is_epub(writer) and "claim" in node["classes"])


def _open_fold(writer: HTML5Translator, node: nodes.Element) -> None:
    """Unfold answers in an EPUB, and what only a narrow screen folds."""
    if not _folds(writer, node):
        writer.body.append('<div class="claim docutils">\n')
        return
    shown = {"answer", MORE_POINTS}.intersection(node["classes"])
    opened = ' open="open"' if _is_epub(writer) and shown else ""
    writer.body.append(f'<details class="{" ".join(node["classes"])}"{opened}>')


def _close_fold(writer: HTML5Translator, node: nodes.Element) -> None:
    writer.body.append("</details>\n" if _folds(writer, node) else "</div>\n")


def _is_epub(writer: HTML5Translator) -> bool:
    return bool(writer.builder.name == "epub")
