"""Places on a page that are filled in when it is written, once all claims have run."""

from docutils import nodes


class claim_status(nodes.General, nodes.Element):  # noqa: N801 (docutils names nodes so)
    """Where a claim's badges stand; `claim` is its id."""


class whole_book(nodes.General, nodes.Element):  # noqa: N801
    """Where one of the `views` of the whole book stands; `kind` is its name."""
