"""Docutils nodes: placeholders, filled in when a page is written, and parts of cards."""

from docutils import nodes


class place(nodes.General, nodes.Element):  # noqa: N801 (docutils names nodes so)
    """A placeholder, filled in when the page is written; `what` is a key of `build.FILLED`."""


class link(nodes.Inline, nodes.TextElement):  # noqa: N801
    """A link to a `place` on a `page`, or on the page with a `view`; made when it is written."""


class site_html(nodes.raw):  # noqa: N801
    """Raw HTML that needs JavaScript: only on the site."""


class claim_title(nodes.General, nodes.TextElement):  # noqa: N801
    """The first sentence of a claim; all that is visible if the claim is folded."""


class detail(nodes.General, nodes.Element):  # noqa: N801
    """A claim folded to its title, which is followed by a container, with the id, of the rest."""


MORE_POINTS = "more-points"
"""The class of a fold that only a narrow screen shows; elsewhere its content is open."""


class fold(nodes.General, nodes.Element):  # noqa: N801
    """Folded content; `title` is its visible label."""
