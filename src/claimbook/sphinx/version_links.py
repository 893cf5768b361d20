"""Link the sites of other versions of the book in the sidebar."""

from pathlib import Path
from urllib.parse import urljoin

from sphinx.application import Sphinx
from sphinx.config import Config

from claimbook.records.versions import Versions

NEWEST = "newest"
"""The name of the site that is built from the newest state of the book."""


def connect(app: Sphinx) -> None:
    """Add the versions to every page; all are written again when there is a new one."""
    app.add_config_value("claimbook_version", "", rebuild="html", types=str)
    app.connect("config-inited", _find_sites)


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
