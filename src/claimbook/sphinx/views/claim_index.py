"""The view `claim-index`: the first sentences of all claims, in book order."""

from docutils import nodes

from claimbook.pages.text import first_sentence
from claimbook.sphinx import render
from claimbook.sphinx.contents import parts
from claimbook.sphinx.domain import ClaimDomain
from claimbook.sphinx.render import Link

Listed = tuple[str, str, list[render.Sentence]]
"""A docname, the page's title, and its claims."""


def data(domain: ClaimDomain) -> list[tuple[str, list[Listed]]]:
    """Return the title and pages of each part with claims."""
    found = []
    for part in parts(domain.env):
        names = [name for name in part.pages if name in domain.pages and domain.pages[name].claims]
        if names:
            found.append((part.title, [_page(domain, name) for name in names]))
    return found


def _page(domain: ClaimDomain, name: str) -> Listed:
    claims = domain.pages[name].claims
    sentences = [(name, claim.id, first_sentence(claim.statement)) for claim in claims]
    return name, domain.env.titles[name].astext(), sentences


def show(found: list[tuple[str, list[Listed]]], link: Link) -> list[nodes.Node]:
    """Return a section for each part, with one for each page."""
    return [
        render.section(
            f"part-{nodes.make_id(title)}",
            nodes.Text(title or "Other pages"),
            *(_section(*page, link) for page in pages),
        )
        for title, pages in found
    ]


def _section(name: str, title: str, claims: list[render.Sentence], link: Link) -> nodes.section:
    listed = nodes.bullet_list("", *(render.sentence(*c, link) for c in claims))
    listed["classes"].append("claim-index")
    heading = link.to(name, "", nodes.inline("", title))
    return render.section(f"page-{nodes.make_id(name)}", heading, listed)
