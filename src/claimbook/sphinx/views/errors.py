"""The view `errors`: all errors and warnings that claims print, by type."""

from docutils import nodes

from claimbook.sphinx import elements, render
from claimbook.sphinx.domain import ClaimDomain
from claimbook.sphinx.render import Link

Printed = tuple[str, str, list[tuple[str, str, str, str]]]
"""Type and text of a message; docname, page title, id and statement of each claim."""


def data(domain: ClaimDomain) -> list[Printed]:
    """Return all messages with their claims."""
    titles = {name: domain.env.titles[name].astext() for name in domain.pages}
    return [
        (m.type, m.text, [(c.docname, titles[c.docname], c.id, c.statement) for c in m.claims])
        for m in domain.messages
    ]


def show(printed: list[Printed], link: Link) -> list[nodes.Node]:
    """Return a folded list for each type; the page has a search for it."""
    by_type: dict[str, nodes.bullet_list] = {}
    for name, text, claims in printed:
        item = nodes.list_item()
        item += nodes.literal_block("", text or name, language="text", classes=["error-text"])
        item += nodes.bullet_list("", *(_item(*claim, link) for claim in claims))
        by_type.setdefault(name, nodes.bullet_list(classes=["error-list"])).append(item)
    return [
        elements.fold("", listed, title=f"{name} ({len(listed)})", classes=["error-type"])
        for name, listed in by_type.items()
    ]


def _item(docname: str, title: str, name: str, statement: str, link: Link) -> nodes.list_item:
    here = link.claim(docname, name, nodes.Text(title))
    said = [nodes.Text(": "), *render.inline(statement)]
    return nodes.list_item("", nodes.paragraph("", "", here, *said))
