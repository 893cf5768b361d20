"""Places on a page that are filled in when it is written, and what docutils has no node for."""

from docutils import nodes


class claim_status(nodes.General, nodes.Element):  # noqa: N801 (docutils names nodes so)
    """Where a claim's badges stand; `claim` is its id, `page` the docname of where it stands."""


class claim_title(nodes.General, nodes.TextElement):  # noqa: N801
    """What a claim states, in a sentence; a claim that is folded shows it alone."""


class detail(nodes.General, nodes.Element):  # noqa: N801
    """A claim that is folded to its title: that, and a container of all else with its id."""


class cell(nodes.General, nodes.Element):  # noqa: N801
    """Where a page shows what a cell draws; `page` is its docname, `number` counts its cells."""


class provenance(nodes.General, nodes.Element):  # noqa: N801
    """Where a page says on what its claims ran; `page` is its docname."""


class whole_book(nodes.General, nodes.Element):  # noqa: N801
    """Where one of the `views` of the whole book stands; `kind` is its name."""


class guide(nodes.General, nodes.Element):  # noqa: N801
    """Where a guide to other pages stands; `kind` is its name, `lines` what it leads to."""


class shares(nodes.General, nodes.Element):  # noqa: N801
    """A bar of parts as long as their `shares` are large: what a part is → its number."""


class fold(nodes.General, nodes.Element):  # noqa: N801
    """What is read on demand; `title` stands where it is opened."""
