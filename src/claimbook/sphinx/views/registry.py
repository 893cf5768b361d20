"""The views of the whole book, by the name of their directive."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from docutils import nodes

from claimbook.sphinx.domain import ClaimDomain, Placed
from claimbook.sphinx.render import Link
from claimbook.sphinx.views import (
    apis,
    claim_index,
    counts,
    errors,
    ledger,
    practice,
    releases,
    versions,
)
from claimbook.sphinx.views.guides import GUIDES


@dataclass(frozen=True)
class View:
    """A kind of view."""

    data: Callable[[ClaimDomain], Any]
    """Returns its plain data; its page is written again when this changes."""
    show: Callable[[Any, Link], list[nodes.Node]]


VIEWS = {
    "timeline": View(releases.timeline_data, releases.timeline),
    "changes": View(versions.data, versions.show),
    "counts": View(counts.data, counts.show),
    "ledger": View(ledger.data, ledger.show),
    "errors": View(errors.data, errors.show),
    "apis": View(apis.data, apis.show),
    "claim-index": View(claim_index.data, claim_index.show),
    "practice": View(practice.data, practice.show),
}

OF_RUNS = {"counts", "ledger"}
"""The views that show results of this build."""


def shown_on(domain: ClaimDomain, docname: str) -> list[Any]:
    """Return the data of each view on a page."""
    return [_data(domain, docname, placed) for placed in domain.views[docname]]


def _data(domain: ClaimDomain, docname: str, placed: Placed) -> Any:
    if guide := GUIDES.get(placed.kind):
        lines = placed.lines or domain.env.toctree_includes.get(docname, [])
        return guide.data_of(domain, lines)
    return VIEWS[placed.kind].data(domain)


def show(placed: Placed, data: Any, link: Link) -> list[nodes.Node]:
    """Return the nodes of a view."""
    if guide := GUIDES.get(placed.kind):
        return [guide.show(data, link)]
    return VIEWS[placed.kind].show(data, link)
