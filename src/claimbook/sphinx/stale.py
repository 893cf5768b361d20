"""Find what a page shows of other pages, as it must be written again when that changes.

Sphinx writes a page only if its own file has changed. The sidebar, the links to the previous and
next page and the titles of links come from other pages. A page also holds a digest of the routes,
so that browsers do not use cached ones.
"""

from typing import Any

from sphinx import addnodes
from sphinx.environment import BuildEnvironment

from claimbook.sphinx.views import guides


def contents(env: BuildEnvironment) -> list[Any]:
    """Return the contents tree, the titles of all pages, and the routes."""
    trees = {
        name: [tree.pformat() for tree in toc.findall(addnodes.toctree)]
        for name, toc in sorted(env.tocs.items())
    }
    titles = {name: title.pformat() for name, title in sorted(env.titles.items())}
    return [trees, titles, list(guides.routes(env))]


def headings(env: BuildEnvironment, docname: str) -> list[Any]:
    """Return the titles that links into a page may show; without a page, those of all labels."""
    if docname:
        slugs: dict[str, tuple[Any, ...]] = env.metadata[docname].get("myst_slugs", {})
        return [(slug, *told) for slug, (_, *told) in sorted(slugs.items())]
    std = env.domains.standard_domain
    return [repr(sorted((name, *map(str, to)) for name, to in std.labels.items()))]
