"""The views of the whole book, by the name of their directive."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class WholeBook:
    """A view without options."""

    of_book: Callable[[ClaimDomain], Any]
    """Returns its plain data; its page is written again when this changes."""
    show: Callable[[Any], list[nodes.Node]]

    def data(self, domain: ClaimDomain, placed: Placed) -> Any:
        """Return its data."""
        return self.of_book(domain)


VIEWS: dict[str, WholeBook | guides.Guide[Any]] = {
    "timeline": WholeBook(timeline.data, timeline.show),
    "changes": WholeBook(versions.data, versions.show),
    "counts": WholeBook(counts.data, counts.show),
    "ledger": WholeBook(ledger.data, ledger.show),
    "errors": WholeBook(errors.data, errors.show),
    "apis": WholeBook(apis.data, apis.show),
    "claim-index": WholeBook(claim_index.data, claim_index.show),
    "practice": WholeBook(practice.data, practice.show),
    **guides.GUIDES,
}

OF_RUNS = {"counts", "ledger"}
"""The views that show results of this build."""
