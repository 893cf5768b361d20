"""Views that lead through the book: `route`, `overview`, `questions` and `beliefs`.

Each line of a guide names a page, section or claim, from which the view takes its content.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.environment import BuildEnvironment

from claimbook.files import write_changed
from claimbook.model import Claim, RelationKind
from claimbook.pages.sections import is_error
from claimbook.pages.text import near
from claimbook.sphinx import elements, render
from claimbook.sphinx.complaints import warn
from claimbook.sphinx.contents import summary
from claimbook.sphinx.domain import ClaimDomain, Placed, claim_domain

ROUTES = "routes.js"
"""The file with the routes. Each page has it, to show those who follow a route its next page."""


def show(domain: ClaimDomain, placed: Placed) -> list[nodes.Node]:
    """Return a guide, by default to the pages of its page's contents; warn of unknown lines."""
    of_line = GUIDES[placed.kind]
    found = list[nodes.Node]()
    lines = placed.lines or domain.env.toctree_includes.get(placed.page, ())
    for line in lines:
        if shown := of_line(domain, line):
            found += shown
        else:
            place = f"{domain.env.doc2path(placed.page)}:{placed.line}"
            warn(place, f"{placed.kind}: {_wrong(domain, placed.kind, line)}", "unknown-page")
    if placed.kind not in ORDERED:
        return [nodes.container("", *found, classes=[placed.kind])]
    listed = nodes.enumerated_list("", *found, enumtype="arabic", classes=[placed.kind])
    if placed.kind != "route":
        above = (view for view in domain.pages[placed.page].views if view.line < placed.line)
        listed["start"] = 1 + sum(len(view.lines) for view in above if view.kind == placed.kind)
        return [listed]
    total = sum(domain.pages[name].minutes for name in lines if name in domain.pages)
    text = f"{_hours(total)} of reading in all"
    return [nodes.container("", listed, nodes.paragraph("", text, classes=["minutes"]))]


def _wrong(domain: ClaimDomain, kind: str, line: str) -> str:
    """Return what is wrong with a line that shows nothing."""
    name, _, entry = line.partition(" ")
    if kind == "beliefs":
        name = name.removesuffix(":")
        return f"no claim has the id `{name}`{near(name, domain.book.by_id)}"
    sections = [section.place for section in domain.book.sections]
    known = sections if kind == "questions" else [*domain.pages]
    if name in known:
        return f"`{name}` has no short answer" + f", or no claim that decides {entry}" * bool(entry)
    return f"no page or section `{line}`{near(name, known)}"


def _stop(domain: ClaimDomain, docname: str) -> list[nodes.Node]:
    """Return a page of a route."""
    return [nodes.list_item("", line) for line in _line(domain, docname)]


def _line(domain: ClaimDomain, docname: str) -> list[nodes.Element]:
    """Return a line with a page's title and minutes."""
    if docname not in domain.pages:
        return []
    title = render.link(docname, "", domain.env.titles[docname].astext())
    time = nodes.inline("", f" {domain.pages[docname].minutes} min", classes=["minutes"])
    return [nodes.paragraph("", "", title, time)]


def _hours(minutes: int) -> str:
    hours, rest = divmod(minutes, 60)
    return " ".join([f"{hours} h"] * bool(hours) + [f"{rest} min"] * bool(rest or not hours))


def _chapter(domain: ClaimDomain, docname: str) -> list[nodes.Node]:
    """Return a page with its summary, and its questions with folded answers."""
    shown = list[nodes.Node]()
    for line in _line(domain, docname):
        about = nodes.paragraph("", summary(domain.env, docname))
        shown += [nodes.rubric("", "", *line.children), about]
        for section in domain.pages[docname].scanned.sections:
            if section.short:
                of_error = is_error(section.title)
                said = nodes.paragraph("", "", *render.inline(section.short), nodes.Text(" "))
                shown_where = "Its cures" if of_error else "Shown here"
                said += render.link(docname, section.anchor, shown_where)
                kind = "answer message" if of_error else "answer"
                title = section.title.replace("`, `", "` · `") if of_error else section.title
                shown.append(render.fold(title, kind, said))
    return shown


def _question(domain: ClaimDomain, line: str) -> list[nodes.Node]:
    """Return the question of a section with its folded answer, and a statement to judge, if any.

    It is a statement that the section's claims decide; if an entry follows, the one of this entry.
    """
    address, _, entry = line.partition(" ")
    name, _, place = address.partition("#")
    page = domain.pages.get(name)
    for section in page.scanned.sections if page else ():
        if section.anchor == place and section.short:
            claims = domain.book.claims if entry else section.claims
            judged = [*_to_judge(domain, claims, entry)][:1]
            if judged or not entry:
                answer = nodes.paragraph("", "", *render.inline(section.short))
                there = render.link(name, place, domain.env.titles[name].astext())
                more = nodes.paragraph("", "", nodes.Text("More: "), there, classes=["minutes"])
                asked = render.fold(section.title, "answer", answer, more)
                return [nodes.list_item("", asked, *judged)]
    return []


def _to_judge(domain: ClaimDomain, claims: Iterable[Claim], entry: str) -> Iterator[elements.fold]:
    """Yield statements of sources that the claims decide, wrong ones first, with the verdict.

    Args:
        entry: the only entry to consider; empty for all.
    """
    related = [(claim, relation) for claim in claims for relation in claim.relations]
    for kind in (RelationKind.CORRECTS, RelationKind.UPDATES, RelationKind.CONFIRMS):
        for claim, relation in related:
            if relation.kind is kind and entry in {"", relation.entry}:
                for text in domain.said([relation.entry]).values():
                    see = render.claim_link(claim.docname, claim.id, "the example")
                    true = [nodes.Text(". "), *render.inline(claim.title), nodes.Text(" See ")]
                    said = nodes.paragraph("", "", render.verdict(kind), *true, see)
                    said += nodes.Text(".")
                    yield render.fold(f"True or false? {text}", "claim-fold judge", said)


def _belief(domain: ClaimDomain, line: str) -> list[nodes.Node]:
    """Return the belief of a line, `claim-id: "What people say."`; it unfolds to what is true."""
    name, _, quote = line.partition(": ")
    if not (claim := domain.book.by_id.get(name)):
        return []
    see = render.claim_link(claim.docname, claim.id, "See it run")
    said = nodes.paragraph("", "", *render.inline(claim.title), nodes.Text(" "), see)
    return [render.fold(quote, "belief", said)]


GUIDES: dict[str, Callable[[ClaimDomain, str], list[nodes.Node]]] = {
    "beliefs": _belief,
    "route": _stop,
    "overview": _chapter,
    "questions": _question,
}
"""Name of a guide → what returns the nodes of a line; empty if the line names nothing known."""
ORDERED = {"route", "questions"}
"""Guides that are numbered."""


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
                listed = [name for name in route.lines if name in domain.pages]
                pages = [(name, env.titles[name].astext()) for name in listed]
                yield {"title": route.title, "on": docname, "stops": pages}
