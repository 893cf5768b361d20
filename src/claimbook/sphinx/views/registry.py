"""What some pages show of the whole book, by the directive that asks for it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from docutils import nodes

from claimbook.exports import errors
from claimbook.model import Claim
from claimbook.pages.text import first_sentence
from claimbook.sphinx import render
from claimbook.sphinx.contents import parts
from claimbook.sphinx.domain import ClaimDomain, Placed
from claimbook.sphinx.render import Link
from claimbook.sphinx.views import counts, ledger, practice, releases, versions
from claimbook.sphinx.views.guides import GUIDES

NAMED = 5
"""How many claims are shown that use the same name of torch."""


@dataclass(frozen=True)
class View:
    """One way to show the whole book."""

    made_of: Callable[[ClaimDomain], Any]
    """Plain data; a page that shows the view is written anew when it changes."""
    show: Callable[[ClaimDomain, Link], list[nodes.Node]]


def _errors_made_of(domain: ClaimDomain) -> Any:
    titles = {docname: domain.env.titles[docname].astext() for docname in domain.pages}
    found = errors.messages(domain.book.claims)
    told = [(m.type, m.text, c.id, c.statement, c.location.path) for m in found for c in m.claims]
    return titles, told


def _errors(domain: ClaimDomain, link: Link) -> list[nodes.Node]:
    by_type: dict[str, nodes.bullet_list] = {}
    for message in errors.messages(domain.book.claims):
        item = nodes.list_item()
        text = message.text or message.type
        item += nodes.literal_block("", text, language="text", classes=["error-text"])
        told = (_claim_item(domain, c, link) for c in message.claims)
        item += nodes.bullet_list("", *told)
        by_type.setdefault(message.type, nodes.bullet_list(classes=["error-list"])).append(item)
    return [
        _section("errors", name, nodes.literal("", name), found) for name, found in by_type.items()
    ]


def _apis_made_of(domain: ClaimDomain) -> Any:
    return [(name, c.id, c.location.path) for name, claims in _by_api(domain) for c in claims]


def _apis(domain: ClaimDomain, link: Link) -> list[nodes.Node]:
    addresses = api_addresses(domain)
    by_holder: dict[str, nodes.definition_list] = {}
    for name, claims in _by_api(domain):
        there = nodes.reference("", "", nodes.literal("", name), refuri=addresses[name])
        term = nodes.term("", "", there, ids=[f"api-{name}"])
        item = nodes.definition("", nodes.bullet_list("", *_statements(claims, link)))
        holder = name.rpartition(".")[0]
        group = by_holder.setdefault(holder, nodes.definition_list(classes=["api-list"]))
        group += nodes.definition_list_item("", term, item)
    return [
        _section("apis", holder, nodes.literal("", holder), group)
        for holder, group in by_holder.items()
    ]


def _by_api(domain: ClaimDomain) -> list[tuple[str, list[Claim]]]:
    known, found = api_addresses(domain), dict[str, list[Claim]]()
    for claim in domain.book.claims:
        for name in known.keys() & domain.apis[claim.docname][claim.id]:
            found.setdefault(name, []).append(claim)
    for name, claims in found.items():
        short = name.rpartition(".")[2]
        claims.sort(key=lambda claim: (short not in claim.statement, claim.detail))
    return sorted(found.items(), key=lambda pair: (pair[0].rpartition(".")[0], pair[0].lower()))


def api_addresses(domain: ClaimDomain) -> dict[str, str]:
    """Return where torch's own documentation explains each name."""
    inventory = getattr(domain.env, "intersphinx_named_inventory", {}).get("torch", {})
    return {
        name: item.uri
        for role in ("py:class", "py:function", "py:method", "py:attribute", "py:data")
        for name, item in inventory.get(role, {}).items()
    }


def _index_made_of(domain: ClaimDomain) -> Any:
    titles = {name: domain.env.titles[name].astext() for name in domain.pages}
    return titles, sorted((c.id, c.statement, c.docname) for c in domain.book.claims)


def _index(domain: ClaimDomain, link: Link) -> list[nodes.Node]:
    """Return every claim by its first sentence, in the order of the book."""
    found = list[nodes.Node]()
    for part in parts(domain.env):
        pages = [_of_page(domain, name, link) for name in part.pages if _claims(domain, name)]
        if pages:
            title = nodes.Text(part.title or "Beside the parts")
            found.append(_section("part", nodes.make_id(part.title), title, *pages))
    return found


def _claims(domain: ClaimDomain, name: str) -> tuple[Claim, ...]:
    return domain.pages[name].claims if name in domain.pages else ()


def _of_page(domain: ClaimDomain, name: str, link: Link) -> nodes.section:
    title = link.to(name, "", nodes.inline("", domain.env.titles[name].astext()))
    items = (_statement(claim, link) for claim in _claims(domain, name))
    listed = nodes.bullet_list("", *items, classes=["claim-index"])
    return _section("page", nodes.make_id(name), title, listed)


def _claim_item(domain: ClaimDomain, claim: Claim, link: Link) -> nodes.list_item:
    title = domain.env.titles[link.places[claim.id]].astext()
    here = link.claim(claim.id, nodes.Text(title))
    said = [nodes.Text(": "), *render.inline(claim.statement)]
    return nodes.list_item("", nodes.paragraph("", "", here, *said))


def _statement(claim: Claim, link: Link) -> nodes.list_item:
    """Return a claim by its first sentence."""
    text = nodes.inline("", "", *render.inline(first_sentence(claim.statement)))
    return nodes.list_item("", nodes.paragraph("", "", link.claim(claim.id, text)))


def _statements(claims: list[Claim], link: Link) -> Iterator[nodes.Node]:
    """Yield claims by their first sentence, those first that say the most about it."""
    yield from (_statement(claim, link) for claim in claims[:NAMED])
    if len(claims) > NAMED:
        yield nodes.list_item("", nodes.paragraph("", f"and {len(claims) - NAMED} more"))


def _section(view: str, name: str, title: nodes.Node, *content: nodes.Node) -> nodes.section:
    return nodes.section("", nodes.title("", "", title), *content, ids=[f"{view}-{name}"])


VIEWS = {
    "timeline": View(releases.timeline_made_of, releases.timeline),
    "changes": View(versions.made_of, versions.show),
    "counts": View(counts.made_of, counts.show),
    "ledger": View(ledger.made_of, ledger.show),
    "errors": View(_errors_made_of, _errors),
    "apis": View(_apis_made_of, _apis),
    "claim-index": View(_index_made_of, _index),
    "practice": View(practice.made_of, practice.show),
}

OF_RUNS = {"counts", "ledger"}
"""Those that show what came of the claims in this build."""


def view_on(domain: ClaimDomain, docname: str, placed: Placed) -> View:
    """Return the view for which a directive of a page stands."""
    if (guide := GUIDES.get(placed.kind)) is None:
        return VIEWS[placed.kind]
    lines = placed.lines or domain.env.toctree_includes.get(docname, [])
    return View(
        lambda domain: guide.made_of(domain, lines),
        lambda domain, link: [guide.show(guide.made_of(domain, lines), link)],
    )
