"""Docutils nodes and their HTML: placeholders, filled in when a page is written; parts of cards."""

import re
from html import escape

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from claimbook.pages.text import curly


def connect(app: Sphinx) -> None:
    """Register the nodes that pages are stored or written with."""
    app.add_node(place)
    app.add_node(site_html, html=(_write_site_html, None))
    app.add_node(claim_title, html=(_open_title, _close_title))
    app.add_node(detail, html=(_open_detail, _close_detail))
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


class claim_title(nodes.General, nodes.TextElement):  # noqa: N801
    """The first sentence of a claim; all that is visible if the claim is folded."""


def _open_title(writer: HTML5Translator, node: nodes.Element) -> None:
    writer.body.append(f'<{_title_tag(writer, node)} class="claim-title">')


def _close_title(writer: HTML5Translator, node: nodes.Element) -> None:
    """Add a link to the claim; after a `summary`, in which no link may be."""
    link = f'<a class="claim-link" href="#{node["anchor"]}" title="Link to this statement">#</a>'
    tag = _title_tag(writer, node)
    writer.body.append(f"</{tag}>{link}\n" if tag == "summary" else f"{link}</{tag}>\n")


def _title_tag(writer: HTML5Translator, node: nodes.Element) -> str:
    folded = isinstance(node.parent, detail) and not _is_epub(writer)
    return "summary" if folded else "p"


class detail(nodes.General, nodes.Element):  # noqa: N801
    """A claim folded to its title, which is followed by a container, with the id, of the rest."""


def _open_detail(writer: HTML5Translator, node: nodes.Element) -> None:
    """Make it a card like others in an EPUB, as few readers can unfold it."""
    if _is_epub(writer):
        writer.body.append('<div class="claim docutils">\n')
    else:
        writer.body.append(f'<details class="{" ".join(node["classes"])}">\n')


def _close_detail(writer: HTML5Translator, node: nodes.Element) -> None:
    writer.body.append("</div>\n" if _is_epub(writer) else "</details>\n")


class fold(nodes.General, nodes.Element):  # noqa: N801
    """Folded content; `title` is its visible label."""


MORE_POINTS = "more-points"
"""The class of a fold that only a narrow screen shows; elsewhere its content is open."""


def _open_fold(writer: HTML5Translator, node: nodes.Element) -> None:
    """Unfold answers in an EPUB, and what only a narrow screen folds."""
    classes, title = " ".join(node["classes"]), folded_title(node["title"])
    shown = {"answer", MORE_POINTS}.intersection(node["classes"])
    opened = ' open="open"' if _is_epub(writer) and shown else ""
    writer.body.append(f'<details class="{classes}"{opened}><summary>{title}</summary>\n')


def _close_fold(writer: HTML5Translator, node: nodes.Element) -> None:
    writer.body.append("</details>\n")


def folded_title(text: str) -> str:
    """Return the title of a fold as HTML: code between backticks, quotes as in the text.

    >>> print(folded_title('What does "`x` is a *leaf*" mean?'))
    What does “<code class="docutils literal notranslate">x</code> is a <em>leaf</em>” mean?
    """
    pieces = re.split(r"(`[^`]+`|\*[^*\s][^*]*\*)", curly(text))
    return "".join(_marked(each) if i % 2 else escape(each) for i, each in enumerate(pieces))


def _marked(piece: str) -> str:
    inner = escape(piece[1:-1])
    code = f'<code class="docutils literal notranslate">{inner}</code>'
    return code if piece.startswith("`") else f"<em>{inner}</em>"


def _is_epub(writer: HTML5Translator) -> bool:
    return bool(writer.builder.name == "epub")
