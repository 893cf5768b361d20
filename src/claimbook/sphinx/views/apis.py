"""The names of torch that claims use, each with those that speak of it."""

import re
from collections.abc import Iterator

from docutils import nodes

from claimbook.model import Claim
from claimbook.pages.text import first_sentence
from claimbook.sphinx import render
from claimbook.sphinx.domain import ClaimDomain
from claimbook.sphinx.render import Link

NAMED = 5
"""How many claims are shown that speak of the same name."""

Used = tuple[str, str, list[render.Sentence], int]
"""A name of torch, the address of its documentation, claims that name it, and how many use it."""


def data(domain: ClaimDomain) -> list[Used]:
    """Return what is shown; of the claims that use a name those that name it, titles first."""
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
    """Return the module or class that a name of torch stands in."""
    return name.rpartition(".")[0]


def _addresses(domain: ClaimDomain) -> dict[str, str]:
    """Return where torch's own documentation explains each name."""
    inventory = getattr(domain.env, "intersphinx_named_inventory", {}).get("torch", {})
    return {
        name: item.uri
        for role in ("py:class", "py:function", "py:method", "py:attribute", "py:data")
        for name, item in inventory.get(role, {}).items()
    }


def show(used: list[Used], link: Link) -> list[nodes.Node]:
    """Return a section for each module and class."""
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
