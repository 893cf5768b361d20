"""Places on a page that are filled in when it is written, once all claims have run."""

from docutils import nodes


class claim_status(nodes.General, nodes.Element):  # noqa: N801 (docutils names nodes so)
    """Where a claim's badges stand; `claim` is its id."""


class claim_more(nodes.General, nodes.Element):  # noqa: N801
    """What is shown of a claim on demand; `summary` is what to click."""


class whole_book(nodes.General, nodes.Element):  # noqa: N801
    """Where one of the `views` of the whole book stands; `kind` is its name."""
