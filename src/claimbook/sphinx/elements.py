"""Places on a page that are filled in when it is written, and what docutils has no node for."""

from docutils import nodes


class place(nodes.General, nodes.Element):  # noqa: N801 (docutils names nodes so)
    """Where something is put when the page is written; `what` is a key of `build.FILLED`."""


class claim_title(nodes.General, nodes.TextElement):  # noqa: N801
    """What a claim states, in a sentence; a claim that is folded shows it alone."""


class detail(nodes.General, nodes.Element):  # noqa: N801
    """A claim that is folded to its title: that, and a container of all else with its id."""


class fold(nodes.General, nodes.Element):  # noqa: N801
    """What is read on demand; `title` stands where it is opened."""
