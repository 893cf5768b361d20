"""The view `apis`: the names of torch that claims use, with the claims about each."""

import re
from typing import NamedTuple

from docutils import nodes

from claimbook.model import Claim
from claimbook.pages.text import first_sentence
from claimbook.sphinx import render
from claimbook.sphinx.controls import list_filter
from claimbook.sphinx.domain import ClaimDomain

NAMED = 5
"""Most claims shown for a name of torch."""


class Used(NamedTuple):
    """A name of torch that claims use."""

    name: str
    address: str
    """The address of its documentation."""
    cards: list[render.Title]
    """Claims about it, the most to the point first; at most `NAMED`."""
    examples: int
    """The number of claims that use it."""


def data(domain: ClaimDomain) -> list[Used]:
    """Return the names in use, with claims whose statement has the name, titles first."""
    addresses, found = _addresses(domain), dict[str, list[Claim]]()
    for claim in domain.book.claims:
        for name in addresses.keys() & domain.pages[claim.docname].apis[claim.id]:
            found.setdefault(name, []).append(claim)
    names = sorted(found, key=lambda name: (_holder(name), name.lower()))
    return [Used(n, addresses[n], _naming(n, found[n])[:NAMED], len(found[n])) for n in names]


def links(domain: ClaimDomain) -> dict[str, str]:
    """Return name of torch → its place in the view; empty if no page has the view."""
    page, known = domain.page_with("apis"), _addresses(domain)
    used = {
        name for each in domain.pages.values() for names in each.apis.values() for name in names
    }
    return {name: f"{page}.html#{_anchor(name)}" for name in sorted(used & known.keys()) if page}


def _anchor(name: str) -> str:
    return f"api-{name}"


def _naming(name: str, claims: list[Claim]) -> list[render.Title]:
    """Return the claims whose statement has a name: those with it in their title first."""
    code = re.compile(rf"`[^`]*\b{re.escape(name.rpartition('.')[2])}\b[^`]*`")
    naming = [claim for claim in claims if code.search(claim.statement)]
    naming.sort(key=lambda claim: (not code.search(first_sentence(claim.statement)), claim.detail))
    return [*map(render.title_of, naming)]


def _holder(name: str) -> str:
    """Return the module or class of a name of torch."""
    return name.rpartition(".")[0]


def _addresses(domain: ClaimDomain) -> dict[str, str]:
    """Return name → address in torch's documentation."""
    inventory = getattr(domain.env, "intersphinx_named_inventory", {}).get("torch", {})
    return {
        name: item.uri
        for role in ("py:class", "py:function", "py:method", "py:attribute", "py:data")
        for name, item in inventory.get(role, {}).items()
    }


def show(used: list[Used]) -> list[nodes.Node]:
    """Return a section for each module or class."""
    by_holder: dict[str, nodes.bullet_list] = {}
    for name, address, cards, examples in used:
        there = nodes.reference("", "", nodes.literal("", name), refuri=address)
        in_all = f" is used in {examples} example{'s' * (examples > 1)}."
        item = nodes.list_item("", nodes.paragraph("", "", there, nodes.Text(in_all)))
        item["ids"] = [_anchor(name)]
        if cards:
            item += render.title_list(cards)
        by_holder.setdefault(_holder(name), nodes.bullet_list(classes=["api-list"])).append(item)
    sections = (
        render.section(f"apis-{holder}", nodes.literal("", holder), listed)
        for holder, listed in by_holder.items()
    )
    return [list_filter(len(used)), *sections]
