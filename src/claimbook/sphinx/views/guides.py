"""Views that lead through the book: `route`, `overview`, `questions` and `beliefs`.

Each line of a guide names a page, section or claim, from which the view takes its content.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from docutils import nodes
from sphinx.environment import BuildEnvironment

from claimbook.exports.sections import is_error
from claimbook.files import write_changed
from claimbook.model import Claim, RelationKind
from claimbook.sphinx import elements, render
from claimbook.sphinx.complaints import warn
from claimbook.sphinx.domain import ClaimDomain, Placed, claim_domain

ROUTES = "routes.js"
"""The file with the routes. Each page has it, to show those who follow a route its next page."""


T = TypeVar("T")


@dataclass(frozen=True)
class Guide(Generic[T]):
    """A view of the pages, sections or claims that its lines name."""

    of_line: Callable[[ClaimDomain, str], T | None]
    """Returns plain data for a line; None if the line names nothing known."""
    of_all: Callable[[list[T]], nodes.Node]

    def data(self, domain: ClaimDomain, placed: Placed) -> list[T]:
        """Return its data, by default that of its page's contents; warn of unknown lines."""
        found = list[T]()
        for line in placed.lines or domain.env.toctree_includes.get(placed.page, []):
            if (data := self.of_line(domain, line)) is not None:
                found.append(data)
            else:
                place = f"{domain.env.doc2path(placed.page)}:{placed.line}"
                warn(place, f"{placed.kind}: no page or section `{line}`", "unknown-page")
        return found

    def show(self, data: list[T]) -> list[nodes.Node]:
        """Return its nodes."""
        return [self.of_all(data)]


class Stop(NamedTuple):
    """A page of a route."""

    docname: str
    title: str
    minutes: int
    """Its reading time."""


def _stop(domain: ClaimDomain, docname: str) -> Stop | None:
    if docname not in domain.pages:
        return None
    return Stop(docname, domain.env.titles[docname].astext(), domain.pages[docname].minutes)


def _route(stops: list[Stop]) -> nodes.Node:
    """Return pages in reading order, with the minutes of each and in total."""
    items = [nodes.list_item("", _line(stop)) for stop in stops]
    whole = nodes.paragraph("", f"{_hours(sum(stop.minutes for stop in stops))} of reading in all")
    whole["classes"].append("minutes")
    listed = nodes.enumerated_list("", *items, enumtype="arabic", classes=["route"])
    return nodes.container("", listed, whole)


def _line(stop: Stop) -> nodes.paragraph:
    time = nodes.inline("", f" {stop.minutes} min", classes=["minutes"])
    return nodes.paragraph("", "", render.link(stop.docname, "", stop.title), time)


def _hours(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return " ".join([f"{hours} h"] * bool(hours) + [f"{rest} min"] * bool(rest or not hours))


class Asked(NamedTuple):
    """A question of a page, with its short answer."""

    question: str
    anchor: str
    """The HTML id of its section."""
    short: str


class Chapter(NamedTuple):
    """A page, with what it asks and answers."""

    stop: Stop
    summary: str
    asked: list[Asked]


def _chapter(domain: ClaimDomain, docname: str) -> Chapter | None:
    if not (stop := _stop(domain, docname)):
        return None
    asked = [Asked(s.title, s.anchor, s.short) for s in domain.pages[docname].sections if s.short]
    return Chapter(stop, domain.env.metadata[docname].get("summary", ""), asked)


def _overview(chapters: list[Chapter]) -> nodes.Node:
    """Return chapters with their summaries, and their questions with folded answers."""
    whole = nodes.container(classes=["overview"])
    for stop, summary, asked in chapters:
        whole += nodes.rubric("", "", *_line(stop).children)
        whole += nodes.paragraph("", summary)
        for question, place, short in asked:
            of_error = is_error(question)
            said = nodes.paragraph("", "", *render.inline(short), nodes.Text(" "))
            said += render.link(stop.docname, place, "Its cures" if of_error else "Shown here")
            classes = ["answer", *["message"] * of_error]
            apart = question.replace("`, `", "` · `") if of_error else question
            whole += elements.fold("", said, title=apart, classes=classes)
    return whole


class Judged(NamedTuple):
    """A statement of a source, with the claim that decides it."""

    verdict: str
    text: str
    card: render.Title


class Question(NamedTuple):
    """A question of a page, perhaps with a statement to judge."""

    docname: str
    page: str
    """The page's title."""
    asked: Asked
    judged: Judged | None


def _question(domain: ClaimDomain, line: str) -> Question | None:
    """Return the question of a section; if an entry follows, with that statement to judge."""
    address, _, entry = line.partition(" ")
    name, _, place = address.partition("#")
    if not (page := domain.pages.get(name)):
        return None
    for section in page.sections:
        if section.anchor == place and section.short:
            claims = domain.book.claims if entry else section.claims(page.scanned)
            judged = next(_decided(domain, claims, entry), None)
            if judged or not entry:
                asked = Asked(section.title, section.anchor, section.short)
                return Question(name, domain.env.titles[name].astext(), asked, judged)
    return None


def _decided(domain: ClaimDomain, claims: Iterable[Claim], entry: str) -> Iterator[Judged]:
    """Yield statements of sources that the claims decide, wrong ones first.

    Args:
        entry: the only entry to consider; empty for all.
    """
    related = [(claim, relation) for claim in claims for relation in claim.relations]
    for kind in (RelationKind.CORRECTS, RelationKind.UPDATES, RelationKind.CONFIRMS):
        for claim, relation in related:
            if relation.kind is kind and entry in {"", relation.entry}:
                for text in domain.said([relation.entry]).values():
                    yield Judged(str(kind), text, render.title_of(claim))


def _questions(questions: list[Question]) -> nodes.Node:
    """Return questions with folded answers, each with a statement to judge, if any."""
    listed = nodes.enumerated_list(enumtype="arabic", classes=["questions"])
    for docname, page, asked, judged in questions:
        item = nodes.list_item()
        answer = nodes.paragraph("", "", *render.inline(asked.short))
        link = render.link(docname, asked.anchor, page)
        more = nodes.paragraph("", "", nodes.Text("More: "), link, classes=["minutes"])
        item += elements.fold("", answer, more, title=asked.question, classes=["answer"])
        if judged:
            item += _to_judge(judged)
        listed += item
    return listed


def _to_judge(judged: Judged) -> elements.fold:
    """Fold the verdict on a statement beneath it."""
    verdict, text, card = judged
    fold = elements.fold(title=f"True or false? {text}", classes=["claim-fold", "judge"])
    shown = render.claim_link(card.docname, card.claim, "the example")
    words = [render.verdict(verdict), nodes.Text(". "), *render.inline(card.text)]
    fold += nodes.paragraph("", "", *words, nodes.Text(" See "), shown, nodes.Text("."))
    return fold


class Belief(NamedTuple):
    """A belief in somebody's words, with the claim that is true."""

    quote: str
    card: render.Title


def _belief(domain: ClaimDomain, line: str) -> Belief | None:
    """Return the belief of a line: `claim-id: "What people say."`."""
    name, _, quote = line.partition(": ")
    claim = domain.book.by_id.get(name)
    return Belief(quote, render.title_of(claim)) if claim else None


def _beliefs(beliefs: list[Belief]) -> nodes.Node:
    """Return beliefs as cards that unfold to what is true, with a link to the example."""
    cards = nodes.container(classes=["beliefs"])
    for quote, true in beliefs:
        card = elements.fold(title=quote, classes=["belief"])
        shown = render.claim_link(true.docname, true.claim, "See it run")
        card += nodes.paragraph("", "", *render.inline(true.text), nodes.Text(" "), shown)
        cards += card
    return cards


GUIDES: dict[str, Guide[Any]] = {
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
                stops = filter(None, (_stop(domain, line) for line in route.lines))
                pages = [(stop.docname, stop.title) for stop in stops]
                yield {"title": route.title, "on": docname, "stops": pages}
