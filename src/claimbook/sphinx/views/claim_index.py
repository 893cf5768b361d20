"""The view `claim-index`: the claims of each page."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from docutils import nodes

from claimbook.sphinx import render
from claimbook.sphinx.contents import parts
from claimbook.sphinx.controls import list_filter
from claimbook.sphinx.domain import ClaimDomain


class Listed(NamedTuple):
    """A page with claims."""

    docname: str
    title: str
    cards: list[render.Title]


class ListedPart(NamedTuple):
    """A part of the book with claims."""

    title: str
    pages: list[Listed]


def data(domain: ClaimDomain) -> list[ListedPart]:
    """Return the parts and pages with claims, in book order."""
    listed = (ListedPart(part.title, [*_listed(domain, part.pages)]) for part in parts(domain.env))
    return [part for part in listed if part.pages]


def _listed(domain: ClaimDomain, docnames: Iterable[str]) -> Iterator[Listed]:
    for name in docnames:
        if claims := domain.pages[name].scanned.claims:
            yield Listed(name, domain.env.titles[name].astext(), [*map(render.title_of, claims)])


def show(parts: list[ListedPart]) -> list[nodes.Node]:
    """Return a section for each part, with one for each page."""
    sections = [
        render.section(
            f"part-{nodes.make_id(part.title)}",
            nodes.Text(part.title or "Other pages"),
            *map(_section, part.pages),
        )
        for part in parts
    ]
    return [list_filter(sum(len(page.cards) for part in parts for page in part.pages)), *sections]


def _section(page: Listed) -> nodes.section:
    heading = render.link(page.docname, "", page.title)
    listed = render.title_list(page.cards, "claim-index")
    return render.section(f"page-{nodes.make_id(page.docname)}", heading, listed)
