"""The names of torch that claims use, each with some of these claims."""

from docutils import nodes

from claimbook.model import Claim
from claimbook.pages.text import first_sentence
from claimbook.sphinx import render
from claimbook.sphinx.domain import ClaimDomain
from claimbook.sphinx.render import Link

NAMED = 5
"""How many claims are shown that use the same name."""

Used = tuple[str, str, list[render.Sentence], int]
"""A name of torch, the address of its documentation, claims that use it, and how many do."""


def data(domain: ClaimDomain) -> list[Used]:
    """Return what is shown, first the claims that say the most about a name."""
    addresses, found = _addresses(domain), dict[str, list[Claim]]()
    for claim in domain.book.claims:
        for name in addresses.keys() & domain.apis[claim.docname][claim.id]:
            found.setdefault(name, []).append(claim)
    names = sorted(found, key=lambda name: (_holder(name), name.lower()))
    return [(n, addresses[n], _most_about(n, found[n]), len(found[n])) for n in names]


def _most_about(name: str, claims: list[Claim]) -> list[render.Sentence]:
    short = name.rpartition(".")[2]
    ranked = sorted(claims, key=lambda claim: (short not in claim.statement, claim.detail))
    return [(c.docname, c.id, first_sentence(c.statement)) for c in ranked[:NAMED]]


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
    by_holder: dict[str, nodes.definition_list] = {}
    for name, address, claims, count in used:
        there = nodes.reference("", "", nodes.literal("", name), refuri=address)
        term = nodes.term("", "", there, ids=[f"api-{name}"])
        listed = nodes.bullet_list("", *(render.sentence(*claim, link) for claim in claims))
        if left := count - len(claims):
            listed += nodes.list_item("", nodes.paragraph("", f"and {left} more"))
        group = by_holder.setdefault(_holder(name), nodes.definition_list(classes=["api-list"]))
        group += nodes.definition_list_item("", term, nodes.definition("", listed))
    return [
        render.section(f"apis-{holder}", nodes.literal("", holder), group)
        for holder, group in by_holder.items()
    ]
