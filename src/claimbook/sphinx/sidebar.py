"""Render the contents in the sidebar once, and adapt the links to each page.

Sphinx would render them again for each page, from all sections of all pages.
"""

import re
from functools import cache, partial
from typing import Any

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment.adapters.toctree import global_toctree_for_doc
from sphinx.util.osutil import relative_uri

_TAG = re.compile(
    r'<(?P<tag>ul|li|a)\b(?: class="(?P<classes>[^"]*)")?(?: href="(?P<href>[^"]*)")?|</(?:ul|li)>'
)
_LINK = re.compile(r'(?<=reference internal" href=")[^"]*')


def connect(app: Sphinx) -> None:
    """Replace `toctree` before the theme calls it."""

    @cache
    def contents(**options: Any) -> Contents:
        return Contents(_html(app, options))

    def show(page: str, **options: Any) -> str:
        return contents(**options).seen_from(app.builder.get_target_uri(page))

    def replace(app: Sphinx, page: str, _: str, context: dict[str, Any], __: object) -> None:
        if "toctree" in context:
            context["toctree"] = partial(show, page)

    app.connect("html-page-context", replace, priority=300)


def _html(app: Sphinx, options: dict[str, Any]) -> str:
    assert isinstance(app.builder, StandaloneHTMLBuilder)
    tree = global_toctree_for_doc(app.env, "", app.builder, tags=app.tags, **options)
    return str(app.builder.render_partial(tree)["fragment"])


class Contents:
    """The contents of the book, rendered without a current page.

    Args:
        html: the lists, with links relative to the root of the site.
    """

    def __init__(self, html: str) -> None:
        self._html = html
        self._marks = _marks(html)

    def seen_from(self, page: str) -> str:
        """Return the HTML with links relative to a page and that page marked as current.

        Args:
            page: its address in the site, such as `autograd/leaves.html`.
        """
        pieces, last = list[str](), 0
        for place, mark in sorted(self._marks.get(page, ())):
            pieces += [self._html[last:place], mark]
            last = place
        html = "".join([*pieces, self._html[last:]])
        return _LINK.sub(lambda link: relative_uri(page, link[0]) or "#", html)


def _marks(html: str) -> dict[str, set[tuple[int, str]]]:
    """Return address of a page → (offset, text) of the marks that make it current."""
    around, found = list[tuple[int, str]](), dict[str, set[tuple[int, str]]]()
    for tag in _TAG.finditer(html):
        match tag["tag"]:
            case "ul":
                around.append((tag.end("tag"), ' class="current"'))
            case "li":
                around.append((tag.end("classes"), " current"))
            case "a":
                marks = {*around, (tag.start("classes"), "current ")}
                found.setdefault(tag["href"], set()).update(marks)
            case None:
                around.pop()
    return found
