"""What a page shows of other pages: it is written anew when that has changed.

Sphinx writes a page whose own file has changed. The contents beside each page, the links to the
page before and after it and the titles that links show are those of other pages. A page also holds
the digest of the routes, without which a browser would go on with the old ones.
"""

from typing import Any

from sphinx import addnodes
from sphinx.environment import BuildEnvironment

from claimbook.sphinx.views import guides


def contents(env: BuildEnvironment) -> list[Any]:
    """Return the order of all pages with their titles and captions, and the routes."""
    trees = {
        name: [tree.pformat() for tree in toc.findall(addnodes.toctree)]
        for name, toc in sorted(env.tocs.items())
    }
    titles = {name: title.pformat() for name, title in sorted(env.titles.items())}
    return [trees, titles, list(guides.routes(env))]


def headings(env: BuildEnvironment, docname: str) -> list[Any]:
    """Return what a link into a page may show; without a page, into whatever has a name."""
    if docname:
        slugs: dict[str, tuple[Any, ...]] = env.metadata[docname].get("myst_slugs", {})
        return [(slug, *told) for slug, (_, *told) in sorted(slugs.items())]
    std = env.domains.standard_domain
    return [repr(sorted((name, *map(str, to)) for name, to in std.labels.items()))]
