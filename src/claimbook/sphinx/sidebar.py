"""The sidebar: the contents of the book, and links to the sites of its other versions.

The contents are rendered once, and their links adapted to each page. Sphinx would render them again
for each page, from all sections of all pages, which takes a quarter of the time of a build.
"""

from copy import deepcopy
from functools import cache, partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from xml.etree import ElementTree as ET

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.config import Config
from sphinx.environment.adapters.toctree import global_toctree_for_doc
from sphinx.util.osutil import relative_uri

from claimbook.records.versions import Versions

NEWEST = "newest"
"""The name of the site that is built from the newest state of the book."""


def connect(app: Sphinx) -> None:
    """Replace `toctree` before the theme calls it, and add the versions to every page."""
    app.add_config_value("claimbook_version", "", rebuild="html", types=str)
    app.connect("config-inited", _find_sites)

    @cache
    def contents(**options: Any) -> ET.Element:
        return _contents(app, options)

    def show(page: str, **options: Any) -> str:
        return seen_from(app.builder.get_target_uri(page), contents(**options))

    def replace(app: Sphinx, page: str, _: str, context: dict[str, Any], __: object) -> None:
        if "toctree" in context:
            context["toctree"] = partial(show, page)

    app.connect("html-page-context", replace, priority=300)


def _contents(app: Sphinx, options: dict[str, Any]) -> ET.Element:
    """Return the contents without a current page, links relative to the root of the site."""
    assert isinstance(app.builder, StandaloneHTMLBuilder)
    tree = global_toctree_for_doc(app.env, "", app.builder, tags=app.tags, **options)
    html = app.builder.render_partial(tree)["fragment"]
    return ET.fromstring(f"<div>{html}</div>")  # noqa: S314 (Sphinx wrote it)


def seen_from(page: str, contents: ET.Element) -> str:
    """Return contents as HTML, with links relative to a page and that page marked as current.

    Args:
        page: its address in the site, such as `autograd/leaves.html`.
    """
    tree = deepcopy(contents)
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


def _find_sites(app: Sphinx, config: Config) -> None:
    # Without a trailing slash, urljoin would drop the last part of the address.
    url = config.html_baseurl
    config.html_baseurl = address = f"{url.rstrip('/')}/" if url else ""
    this, names = config.claimbook_version, Versions.of(Path(app.srcdir)).names()
    found = {"book_version": this or NEWEST, "book_sites": sites(names, address, this)}
    config.html_context = {**config.html_context, **found}


def sites(versions: list[str], address: str, this: str) -> list[tuple[str, str]]:
    """Return (version, address) of each site; empty unless there are several and `address`.

    Args:
        versions: oldest first.
        address: the address of the newest site.
        this: the version of this site; empty for the newest.

    >>> sites(["0.1.0", "0.2.0"], "https://example.org/", "")
    [('newest', 'https://example.org/'), ('0.1.0', 'https://example.org/0.1.0/')]
    """
    older = versions if this else versions[:-1]
    there = [(version, urljoin(address, f"{version}/")) for version in reversed(older)]
    return [(NEWEST, address), *there] if address and there else []
