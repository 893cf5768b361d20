"""The view `errors`: the errors and warnings of the book, each with the claims that print it."""

from docutils import nodes

from claimbook.model import Claim
from claimbook.sphinx import elements, render
from claimbook.sphinx.domain import ClaimDomain


def show(domain: ClaimDomain) -> list[nodes.Node]:
    """Return a folded list for each type; the page has a search for it."""
    by_type: dict[str, nodes.bullet_list] = {}
    for message in domain.messages:
        text = message.text or message.type
        item = nodes.list_item()
        item += nodes.literal_block("", text, language="text", classes=["error-text"])
        item += nodes.bullet_list("", *(_explained(domain, claim) for claim in message.claims))
        listed = by_type.setdefault(message.type, nodes.bullet_list(classes=["error-list"]))
        listed += item
    return [
        elements.fold("", listed, title=f"{kind} ({len(listed)})", classes=["error-type"])
        for kind, listed in by_type.items()
    ]


def _explained(domain: ClaimDomain, claim: Claim) -> nodes.list_item:
    page = nodes.Text(domain.env.titles[claim.docname].astext())
    here = render.claim_link(claim.docname, claim.id, page)
    said = [nodes.Text(": "), *render.inline(claim.statement)]
    return nodes.list_item("", nodes.paragraph("", "", here, *said))
