"""Render the contents in the sidebar once, and adapt the links to each page.

Sphinx would render them again for each page, from all sections of all pages.
"""

from copy import deepcopy
from functools import cache, partial
from typing import Any
from xml.etree import ElementTree as ET

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment.adapters.toctree import global_toctree_for_doc
from sphinx.util.osutil import relative_uri


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
        self._tree = ET.fromstring(f"<div>{html}</div>")  # noqa: S314 (Sphinx wrote it)

    def seen_from(self, page: str) -> str:
        """Return the HTML with links relative to a page and that page marked as current.

        Args:
            page: its address in the site, such as `autograd/leaves.html`.
        """
        tree = deepcopy(self._tree)
        above = {child: parent for parent in tree.iter() for child in parent}
        around = set[ET.Element]()
        for link in tree.iterfind(".//a[@href]"):
            address, part = link.attrib["href"], link
            if address == page:
                link.set("class", f"current {link.get('class')}")
                while (part := above[part]) is not tree:
                    around.add(part)
            if "internal" in link.get("class", ""):
                link.set("href", relative_uri(page, address) or "#")
        for part in around:
            part.set("class", f"{part.get('class', '')} current".strip())
        return "".join(ET.tostring(part, "unicode", "html") for part in tree)
