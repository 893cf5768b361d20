"""Lists of the book's claims: by page, by the error they print, by the name of torch they use."""

import re

from docutils import nodes

from claimbook.model import Claim
from claimbook.sphinx import render
from claimbook.sphinx.contents import parts
from claimbook.sphinx.controls import list_filter
from claimbook.sphinx.domain import ClaimDomain

NAMED = 5
"""Most claims shown for a name of torch."""


def by_page(domain: ClaimDomain) -> list[nodes.Node]:
    """Return a section for each part with claims, with one for each page, in book order."""
    sections = list[nodes.Node]()
    count = 0
    for part in parts(domain.env):
        with_claims = [name for name in part.pages if domain.pages[name].scanned.claims]
        if with_claims:
            title = nodes.Text(part.title or "Other pages")
            pages = [_section(domain, name) for name in with_claims]
            sections.append(render.section(f"part-{nodes.make_id(part.title)}", title, *pages))
            count += sum(len(domain.pages[name].scanned.claims) for name in with_claims)
    return [list_filter(count), *sections]


def _section(domain: ClaimDomain, docname: str) -> nodes.section:
    heading = render.link(docname, "", domain.env.titles[docname].astext())
    listed = render.title_list(domain.pages[docname].scanned.claims, "claim-index")
    return render.section(f"page-{nodes.make_id(docname)}", heading, listed)


def by_error(domain: ClaimDomain) -> list[nodes.Node]:
    """Return a folded list for each type; the page has a search for it."""
    by_type: dict[str, nodes.bullet_list] = {}
    for message in domain.messages:
        text = message.text or message.type
        item = nodes.list_item()
        item += nodes.literal_block("", text, language="text", classes=["error-text"])
        item += nodes.bullet_list("", *(_explained(domain, claim) for claim in message.claims))
        listed = by_type.setdefault(message.type, nodes.bullet_list(classes=["error-list"]))
        listed += item
    return [
        render.fold(f"{kind} ({len(listed)})", "error-type", listed)
        for kind, listed in by_type.items()
    ]


def _explained(domain: ClaimDomain, claim: Claim) -> nodes.list_item:
    page = nodes.Text(domain.env.titles[claim.docname].astext())
    here = render.claim_link(claim.docname, claim.id, page)
    said = [nodes.Text(": "), *render.inline(claim.statement)]
    return nodes.list_item("", nodes.paragraph("", "", here, *said))


def by_name(domain: ClaimDomain) -> list[nodes.Node]:
    """Return a section for each module or class, with its names and the claims about each."""
    addresses, found = _addresses(domain), _claims_by_name(domain)
    by_holder: dict[str, nodes.bullet_list] = {}
    for name in sorted(found, key=lambda name: (_holder(name), name.lower())):
        listed = by_holder.setdefault(_holder(name), nodes.bullet_list(classes=["api-list"]))
        listed += _used(name, addresses[name], found[name])
    sections = (
        render.section(f"apis-{holder}", nodes.literal("", holder), listed)
        for holder, listed in by_holder.items()
    )
    return [list_filter(len(found)), *sections]


def _used(name: str, address: str, claims: list[Claim]) -> nodes.list_item:
    """Return a name, linked to torch's documentation, with the claims most to the point."""
    there = nodes.reference("", "", nodes.literal("", name), refuri=address)
    in_all = f" is used in {len(claims)} example{'s' * (len(claims) > 1)}."
    item = nodes.list_item("", nodes.paragraph("", "", there, nodes.Text(in_all)))
    item["ids"] = [_anchor(name)]
    if naming := _naming(name, claims)[:NAMED]:
        item += render.title_list(naming)
    return item


def name_links(domain: ClaimDomain) -> dict[str, str]:
    """Return name of torch → its place in that list; empty if no page has the list."""
    page = domain.page_with("apis")
    names = sorted(_claims_by_name(domain)) if page else ()
    return {name: f"{page}.html#{_anchor(name)}" for name in names}


def _claims_by_name(domain: ClaimDomain) -> dict[str, list[Claim]]:
    """Return name of torch → the claims that may use it."""
    addresses, found = _addresses(domain), dict[str, list[Claim]]()
    for claim in domain.book.claims:
        for name in addresses.keys() & domain.pages[claim.docname].apis[claim.id]:
            found.setdefault(name, []).append(claim)
    return found


def _anchor(name: str) -> str:
    return f"api-{name}"


def _naming(name: str, claims: list[Claim]) -> list[Claim]:
    """Return the claims whose statement has a name: those with it in their title first."""
    code = re.compile(rf"`[^`]*\b{re.escape(name.rpartition('.')[2])}\b[^`]*`")
    naming = [claim for claim in claims if code.search(claim.statement)]
    naming.sort(key=lambda claim: (not code.search(claim.title), claim.detail))
    return naming


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
