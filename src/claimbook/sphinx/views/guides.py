"""Views that lead through the book: `route`, `overview`, `questions` and `beliefs`.

Each line of a guide names a page, section or claim, from which the view takes its content.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.environment import BuildEnvironment

from claimbook.exports.sections import is_error
from claimbook.files import write_changed
from claimbook.model import Claim, RelationKind
from claimbook.pages.text import first_sentence
from claimbook.sphinx import elements, render
from claimbook.sphinx.complaints import warn
from claimbook.sphinx.domain import ClaimDomain, Placed, claim_domain

ROUTES = "routes.js"
"""The file with the routes. Each page has it, to show those who follow a route its next page."""


@dataclass(frozen=True)
class Guide:
    """A view of the pages, sections or claims that its lines name."""

    of_line: Callable[[ClaimDomain, str], Iterator[Any]]
    """Yields plain data for a line; nothing if the line names nothing known."""
    of_all: Callable[[list[Any]], nodes.Node]

    def data(self, domain: ClaimDomain, placed: Placed) -> list[Any]:
        """Return its data, by default that of its page's contents; warn of unknown lines."""
        found = list[Any]()
        for line in placed.lines or domain.env.toctree_includes.get(placed.page, []):
            if data := [*self.of_line(domain, line)]:
                found += data
            else:
                place = f"{domain.env.doc2path(placed.page)}:{placed.line}"
                warn(place, f"{placed.kind}: no page or section `{line}`", "unknown-page")
        return found

    def show(self, data: list[Any]) -> list[nodes.Node]:
        """Return its nodes."""
        return [self.of_all(data)]


def _stop(domain: ClaimDomain, name: str) -> Iterator[Any]:
    if name in domain.pages:
        yield name, domain.env.titles[name].astext(), domain.pages[name].minutes


def _route(stops: list[Any]) -> nodes.Node:
    """Return pages in reading order, with the minutes of each and in total."""
    items = [nodes.list_item("", _line(stop)) for stop in stops]
    whole = nodes.paragraph("", f"{_hours(sum(stop[2] for stop in stops))} of reading in all")
    whole["classes"].append("minutes")
    listed = nodes.enumerated_list("", *items, enumtype="arabic", classes=["route"])
    return nodes.container("", listed, whole)


def _line(stop: tuple[str, str, int]) -> nodes.paragraph:
    name, title, minutes = stop
    time = nodes.inline("", f" {minutes} min", classes=["minutes"])
    return nodes.paragraph("", "", render.link(name, "", title), time)


def _hours(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return " ".join([f"{hours} h"] * bool(hours) + [f"{rest} min"] * bool(rest or not hours))


def _chapter(domain: ClaimDomain, name: str) -> Iterator[Any]:
    for stop in _stop(domain, name):
        asked = [(s.title, s.anchor, s.short) for s in domain.pages[name].sections if s.short]
        yield *stop, domain.env.metadata[name].get("summary", ""), asked


def _overview(chapters: list[Any]) -> nodes.Node:
    """Return chapters with their summaries, and their questions with folded answers."""
    whole = nodes.container(classes=["overview"])
    for name, title, minutes, summary, asked in chapters:
        whole += nodes.rubric("", "", *_line((name, title, minutes)).children)
        whole += nodes.paragraph("", summary)
        for question, place, short in asked:
            of_error = is_error(question)
            said = nodes.paragraph("", "", *render.inline(short), nodes.Text(" "))
            said += render.link(name, place, "Its cures" if of_error else "Shown here")
            classes = ["answer", *["message"] * of_error]
            apart = question.replace("`, `", "` · `") if of_error else question
            whole += elements.fold("", said, title=apart, classes=classes)
    return whole


def _question(domain: ClaimDomain, line: str) -> Iterator[Any]:
    address, _, entry = line.partition(" ")
    name, _, place = address.partition("#")
    if not (page := domain.pages.get(name)):
        return
    for section in page.sections:
        if section.anchor == place and section.short:
            title = domain.env.titles[name].astext()
            claims = domain.book.claims if entry else section.claims(page.scanned)
            said = next(_said(domain, claims, entry), None)
            if said or not entry:
                yield name, title, place, section.title, section.short, said


def _said(domain: ClaimDomain, claims: Iterable[Claim], entry: str) -> Iterator[Any]:
    """Yield statements of sources that the claims decide, wrong ones first.

    Args:
        entry: the only entry to consider; empty for all.
    """
    related = [(claim, relation) for claim in claims for relation in claim.relations]
    for kind in (RelationKind.CORRECTS, RelationKind.UPDATES, RelationKind.CONFIRMS):
        for claim, relation in related:
            if relation.kind is kind and entry in {"", relation.entry}:
                for text in domain.said([relation.entry]).values():
                    title = first_sentence(claim.statement)
                    yield str(kind), text, title, claim.docname, claim.id


def _questions(asked: list[Any]) -> nodes.Node:
    """Return questions with folded answers, each with a statement to judge, if any."""
    listed = nodes.enumerated_list(enumtype="arabic", classes=["questions"])
    for name, title, place, question, short, said in asked:
        item = nodes.list_item()
        answer = nodes.paragraph("", "", *render.inline(short))
        item += elements.fold("", answer, title=question, classes=["answer"])
        if said:
            item += _judged(*said)
        more = render.link(name, place, title)
        item += nodes.paragraph("", "", nodes.Text("More: "), more, classes=["minutes"])
        listed += item
    return listed


def _judged(kind: str, text: str, statement: str, docname: str, claim: str) -> elements.fold:
    title = "True or false? " + text
    fold = elements.fold(title=title, classes=["claim-fold", "judge"])
    shown = render.claim_link(docname, claim, "the example")
    words = [render.verdict(kind), nodes.Text(". "), *render.inline(statement)]
    fold += nodes.paragraph("", "", *words, nodes.Text(" See "), shown, nodes.Text("."))
    return fold


def _belief(domain: ClaimDomain, line: str) -> Iterator[Any]:
    name, _, quote = line.partition(": ")
    if claim := domain.book.by_id.get(name):
        yield claim.docname, name, quote, first_sentence(claim.statement)


def _beliefs(found: list[Any]) -> nodes.Node:
    """Return beliefs as cards that unfold to what is true, with a link to the example."""
    cards = nodes.container(classes=["beliefs"])
    for docname, claim, quote, statement in found:
        card = elements.fold(title=quote, classes=["belief"])
        shown = render.claim_link(docname, claim, "See it run")
        card += nodes.paragraph("", "", *render.inline(statement), nodes.Text(" "), shown)
        cards += card
    return cards


GUIDES = {
    "beliefs": Guide(_belief, _beliefs),
    "route": Guide(_stop, _route),
    "overview": Guide(_chapter, _overview),
    "questions": Guide(_question, _questions),
}


def write_routes(env: BuildEnvironment, static: Path) -> None:
    """Write the routes before the pages, which link to them with a digest."""
    if found := list(routes(env)):
        text = f"const bookRoutes = {json.dumps(found, ensure_ascii=False)};\n"
        write_changed(static / ROUTES, text)


def routes(env: BuildEnvironment) -> Iterator[dict[str, Any]]:
    """Yield each route: its title, the page it is on, and its pages."""
    domain = claim_domain(env)
    for docname, page in sorted(domain.pages.items()):
        for route in page.views:
            if route.kind == "route" and route.title:
                stops = [stop[:2] for line in route.lines for stop in _stop(domain, line)]
                yield {"title": route.title, "on": docname, "stops": stops}
