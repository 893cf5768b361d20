"""The views `claim-index`, `errors` and `apis`: claims by page, by message and by name of torch."""

import re
from collections.abc import Iterator

from docutils import nodes

from claimbook.model import Claim
from claimbook.pages.text import first_sentence
from claimbook.sphinx import elements, render
from claimbook.sphinx.contents import parts
from claimbook.sphinx.controls import list_filter
from claimbook.sphinx.domain import ClaimDomain

Listed = tuple[str, str, list[render.Sentence]]
"""A docname, the page's title, and its claims."""


def pages_data(domain: ClaimDomain) -> list[tuple[str, list[Listed]]]:
    """Return the title and pages of each part with claims, in book order."""
    found = []
    for part in parts(domain.env):
        names = [name for name in part.pages if domain.pages[name].scanned.claims]
        if names:
            found.append((part.title, [_page(domain, name) for name in names]))
    return found


def _page(domain: ClaimDomain, name: str) -> Listed:
    sentences = [render.sentence_of(claim) for claim in domain.pages[name].scanned.claims]
    return name, domain.env.titles[name].astext(), sentences


def pages(found: list[tuple[str, list[Listed]]]) -> list[nodes.Node]:
    """Return a section for each part, with one for each page."""
    sections = [
        render.section(
            f"part-{nodes.make_id(title)}",
            nodes.Text(title or "Other pages"),
            *(_section(*page) for page in pages),
        )
        for title, pages in found
    ]
    return [list_filter(sum(len(page[2]) for _, pages in found for page in pages)), *sections]


def _section(name: str, title: str, claims: list[render.Sentence]) -> nodes.section:
    heading = render.link(name, "", title)
    listed = render.sentences(claims, "claim-index")
    return render.section(f"page-{nodes.make_id(name)}", heading, listed)


Printed = tuple[str, str, list[tuple[str, str, str, str]]]
"""Type and text of a message; docname, page title, id and statement of each claim."""


def errors_data(domain: ClaimDomain) -> list[Printed]:
    """Return all errors and warnings that claims print, with the claims."""
    titles = {name: title.astext() for name, title in domain.env.titles.items()}
    return [
        (m.type, m.text, [(c.docname, titles[c.docname], c.id, c.statement) for c in m.claims])
        for m in domain.messages
    ]


def errors(printed: list[Printed]) -> list[nodes.Node]:
    """Return a folded list for each type; the page has a search for it."""
    by_type: dict[str, nodes.bullet_list] = {}
    for name, text, claims in printed:
        item = nodes.list_item()
        item += nodes.literal_block("", text or name, language="text", classes=["error-text"])
        item += nodes.bullet_list("", *(_explained(*claim) for claim in claims))
        by_type.setdefault(name, nodes.bullet_list(classes=["error-list"])).append(item)
    return [
        elements.fold("", listed, title=f"{name} ({len(listed)})", classes=["error-type"])
        for name, listed in by_type.items()
    ]


def _explained(docname: str, title: str, name: str, statement: str) -> nodes.list_item:
    here = render.claim_link(docname, name, nodes.Text(title))
    said = [nodes.Text(": "), *render.inline(statement)]
    return nodes.list_item("", nodes.paragraph("", "", here, *said))


NAMED = 5
"""Most claims shown for a name of torch."""

Used = tuple[str, str, list[render.Sentence], int]
"""A name of torch, its documentation's address, claims about it, and the number that use it."""


def apis_data(domain: ClaimDomain) -> list[Used]:
    """Return the names in use, with claims whose statement has the name, titles first."""
    addresses, found = _addresses(domain), dict[str, list[Claim]]()
    for claim in domain.book.claims:
        for name in addresses.keys() & domain.pages[claim.docname].apis[claim.id]:
            found.setdefault(name, []).append(claim)
    names = sorted(found, key=lambda name: (_holder(name), name.lower()))
    return [(n, addresses[n], [*_naming(n, found[n])][:NAMED], len(found[n])) for n in names]


def api_links(domain: ClaimDomain) -> dict[str, str]:
    """Return name of torch → its place in the view; empty if no page has the view."""
    page, known = domain.page_with("apis"), _addresses(domain)
    used = {
        name for each in domain.pages.values() for names in each.apis.values() for name in names
    }
    return {name: f"{page}.html#{_anchor(name)}" for name in sorted(used & known.keys()) if page}


def _anchor(name: str) -> str:
    return f"api-{name}"


def _naming(name: str, claims: list[Claim]) -> Iterator[render.Sentence]:
    code = re.compile(rf"`[^`]*\b{re.escape(name.rpartition('.')[2])}\b[^`]*`")
    naming = [claim for claim in claims if code.search(claim.statement)]
    naming.sort(key=lambda claim: (not code.search(first_sentence(claim.statement)), claim.detail))
    yield from map(render.sentence_of, naming)


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


def apis(used: list[Used]) -> list[nodes.Node]:
    """Return a section for each module or class."""
    by_holder: dict[str, nodes.bullet_list] = {}
    for name, address, claims, count in used:
        there = nodes.reference("", "", nodes.literal("", name), refuri=address)
        in_all = f" is used in {count} example{'s' * (count > 1)}."
        item = nodes.list_item("", nodes.paragraph("", "", there, nodes.Text(in_all)))
        item["ids"] = [_anchor(name)]
        if claims:
            item += render.sentences(claims)
        by_holder.setdefault(_holder(name), nodes.bullet_list(classes=["api-list"])).append(item)
    sections = (
        render.section(f"apis-{holder}", nodes.literal("", holder), listed)
        for holder, listed in by_holder.items()
    )
    return [list_filter(len(used)), *sections]
