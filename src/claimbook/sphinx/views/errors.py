"""The view `errors`: the errors and warnings of the book, each with the claims that print it."""

from typing import NamedTuple

from docutils import nodes

from claimbook.model import Claim
from claimbook.sphinx import elements, render
from claimbook.sphinx.domain import ClaimDomain


class Explanation(NamedTuple):
    """A claim that prints a message."""

    docname: str
    page: str
    """The title of its page."""
    claim: str
    """Its id."""
    statement: str


class Printed(NamedTuple):
    """A message, with the claims that print it."""

    type: str
    text: str
    claims: list[Explanation]


def data(domain: ClaimDomain) -> list[Printed]:
    """Return all errors and warnings that claims print, with the claims."""
    titles = {name: title.astext() for name, title in domain.env.titles.items()}

    def explanation(claim: Claim) -> Explanation:
        return Explanation(claim.docname, titles[claim.docname], claim.id, claim.statement)

    return [Printed(m.type, m.text, [*map(explanation, m.claims)]) for m in domain.messages]


def show(printed: list[Printed]) -> list[nodes.Node]:
    """Return a folded list for each type; the page has a search for it."""
    by_type: dict[str, nodes.bullet_list] = {}
    for kind, text, claims in printed:
        item = nodes.list_item()
        item += nodes.literal_block("", text or kind, language="text", classes=["error-text"])
        item += nodes.bullet_list("", *map(_explained, claims))
        by_type.setdefault(kind, nodes.bullet_list(classes=["error-list"])).append(item)
    return [
        elements.fold("", listed, title=f"{kind} ({len(listed)})", classes=["error-type"])
        for kind, listed in by_type.items()
    ]


def _explained(by: Explanation) -> nodes.list_item:
    here = render.claim_link(by.docname, by.claim, nodes.Text(by.page))
    said = [nodes.Text(": "), *render.inline(by.statement)]
    return nodes.list_item("", nodes.paragraph("", "", here, *said))
