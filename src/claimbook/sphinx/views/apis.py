"""The view `apis`: the names of torch that claims use, each with claims about it."""

import re
from collections.abc import Iterator

from docutils import nodes

from claimbook.model import Claim
from claimbook.pages.text import first_sentence
from claimbook.sphinx import render
from claimbook.sphinx.domain import ClaimDomain
from claimbook.sphinx.render import Link

NAMED = 5
"""Most claims shown for a name."""

Used = tuple[str, str, list[render.Sentence], int]
"""A name of torch, its documentation's address, claims about it, and the number that use it."""


def data(domain: ClaimDomain) -> list[Used]:
    """Return the names in use, with claims whose statement has the name, titles first."""
    addresses, found = _addresses(domain), dict[str, list[Claim]]()
    for claim in domain.book.claims:
        for name in addresses.keys() & domain.apis[claim.docname][claim.id]:
            found.setdefault(name, []).append(claim)
    names = sorted(found, key=lambda name: (_holder(name), name.lower()))
    return [(n, addresses[n], [*_naming(n, found[n])][:NAMED], len(found[n])) for n in names]


def _naming(name: str, claims: list[Claim]) -> Iterator[render.Sentence]:
    code = re.compile(rf"`[^`]*\b{re.escape(name.rpartition('.')[2])}\b[^`]*`")
    titles = {claim.id: first_sentence(claim.statement) for claim in claims}
    ranked = sorted(claims, key=lambda claim: (not code.search(titles[claim.id]), claim.detail))
    for claim in ranked:
        if code.search(claim.statement):
            yield claim.docname, claim.id, titles[claim.id]


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


def show(used: list[Used], link: Link) -> list[nodes.Node]:
    """Return a section for each module or class."""
    by_holder: dict[str, nodes.bullet_list] = {}
    for name, address, claims, count in used:
        there = nodes.reference("", "", nodes.literal("", name), refuri=address)
        in_all = f" is used in {count} example{'s' * (count > 1)}."
        item = nodes.list_item("", nodes.paragraph("", "", there, nodes.Text(in_all)))
        item["ids"] = [f"api-{name}"]
        if claims:
            item += nodes.bullet_list("", *(render.sentence(*claim, link) for claim in claims))
        by_holder.setdefault(_holder(name), nodes.bullet_list(classes=["api-list"])).append(item)
    return [
        render.section(f"apis-{holder}", nodes.literal("", holder), listed)
        for holder, listed in by_holder.items()
    ]
