"""The views of the whole book, by the name of their directive."""

from collections.abc import Callable

from docutils import nodes

from claimbook.sphinx.domain import ClaimDomain, Placed
from claimbook.sphinx.views import (
    apis,
    claim_index,
    counts,
    errors,
    guides,
    ledger,
    practice,
    timeline,
    versions,
)

VIEWS: dict[str, Callable[[ClaimDomain], list[nodes.Node]]] = {
    "timeline": timeline.show,
    "changes": versions.show,
    "counts": counts.show,
    "ledger": ledger.show,
    "errors": errors.show,
    "apis": apis.show,
    "claim-index": claim_index.show,
    "practice": practice.show,
}


def show(domain: ClaimDomain, placed: Placed) -> list[nodes.Node]:
    """Return the nodes of a view; its page is written again when they change."""
    if placed.kind in guides.GUIDES:
        return guides.show(domain, placed)
    return VIEWS[placed.kind](domain)
