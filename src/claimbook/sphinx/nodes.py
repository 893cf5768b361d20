"""Places on a page that are filled in when it is written, once all claims have run."""

from docutils import nodes


class claim_status(nodes.General, nodes.Element):  # noqa: N801 (docutils names nodes so)
    """Where a claim's badges stand; `claim` is its id."""


class claim_ledger(nodes.General, nodes.Element):  # noqa: N801
    """Where the ledger stands."""


class claim_counts(nodes.General, nodes.Element):  # noqa: N801
    """Where the counts of the whole book stand."""
