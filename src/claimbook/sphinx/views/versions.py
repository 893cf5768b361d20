"""The view `changes`: what each version of the book changed."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import NamedTuple

from docutils import nodes

from claimbook.records.versions import Changes, ClaimChange, Kind, VerdictChange, changes
from claimbook.sphinx import render
from claimbook.sphinx.domain import ClaimDomain

NOW = ""
"""The name of the book as it is, after its newest version."""
TOLD = (Kind.OUTPUT, Kind.CODE, Kind.NEW, Kind.WITHDRAWN)
"""Kinds of change for which claims are listed; restated and moved claims are only counted."""


class Step(NamedTuple):
    """The changes from one version to the next, or from the newest one to now."""

    older: str
    newer: str
    changes: Changes
    said: dict[str, str]
    """Id → statement, of changed entries that are in the register."""
    cards: dict[str, render.Title]
    """Id → title, of changed claims that are in the book."""
    pages: dict[str, str]
    """Docname → title, of changed pages that are in the book."""


def data(domain: ClaimDomain) -> tuple[str, list[Step]]:
    """Return a line about the first version, and the steps between versions and to now."""
    if not domain.versions:
        return "No version of the book has been saved yet.", []
    first = domain.versions[0]
    size = f"{len(first.claims):,} statements and {len(first.entries):,} verdicts"
    known = [*((version.name, version) for version in domain.versions), (NOW, domain.contents())]
    steps = [
        _step(domain, older, newer, changes(was, now))
        for (older, was), (newer, now) in pairwise(known)
    ]
    return f"The first version is {first.name} of {first.recorded.date}, with {size}.", steps


def _step(domain: ClaimDomain, older: str, newer: str, found: Changes) -> Step:
    known, titles = domain.book.by_id, domain.env.titles
    said = domain.said(each.id for each in found.verdicts)
    cards = {c.id: render.title_of(known[c.id]) for c in found.claims if c.id in known}
    pages = {c.page: titles[c.page].astext() for c in found.claims if c.page in titles}
    return Step(older, newer, found, said, cards, pages)


def show(data: tuple[str, list[Step]]) -> list[nodes.Node]:
    """Return a section for each step, newest first, and the line about the first version."""
    first, steps = data
    return [*(_section(step) for step in reversed(steps)), nodes.paragraph("", first)]


def _section(step: Step) -> nodes.section:
    """Return a section: counts, verdicts, and folded tables of pages and lists of claims."""
    older, newer, changes = step[:3]
    since = f"Since {older}"
    section = nodes.section(ids=[f"since-{older}"], names=[since])
    section += nodes.title("", since if newer == NOW else f"From {older} to {newer}")
    counted = [f"{word}: {count}" for word, count in changes.counts()]
    section += nodes.paragraph("", " · ".join(counted) or "Nothing has changed.")
    if verdicts := changes.verdicts:
        head = ["Source", "What the source says", f"In {older}"]
        head.append("Now" if newer == NOW else f"In {newer}")
        rows = (_verdict(verdict, step.said.get(verdict.id, "")) for verdict in verdicts)
        table = render.table(head, rows, [14, 44, 21, 21])
        table["classes"].append("verdicts")
        section += [nodes.rubric("", f"Verdicts ({len(verdicts)})"), table]
    if changes.claims:
        section += render.more("By page", _pages(step))
    for kind in TOLD:
        if claims := [change for change in changes.claims if kind in change.kinds]:
            title = f"Statements: {kind} ({len(claims)})"
            section += render.more(title, *_claims(claims, step))
    return section


def _pages(step: Step) -> nodes.container:
    """Return a table of changed pages, with the number of claims by kind of change."""
    counts = Counter((c.page, kind) for c in step.changes.claims for kind in c.kinds)
    kinds = [kind for kind in Kind if any(kind is each for _, each in counts)]
    pages = dict.fromkeys(change.page for change in step.changes.claims)
    rows = (
        ([_page(page, step)], *render.plain(*(str(counts[page, k] or "") for k in kinds)))
        for page in pages
    )
    width = 60 // len(kinds)
    widths = [100 - width * len(kinds), *[width] * len(kinds)]
    return render.scrollable(render.table(["Page", *kinds], rows, widths))


def _claims(claims: list[ClaimChange], step: Step) -> Iterator[nodes.Node]:
    """Yield each page with its claims: their titles, or ids if they no longer exist."""
    for page, changed in groupby(claims, key=lambda change: change.page):
        yield nodes.paragraph("", "", nodes.strong("", "", _page(page, step)))
        titles = [step.cards.get(c.id, render.Title("", c.id, f"`{c.id}`")) for c in changed]
        yield render.title_list(titles, "claim-index")


def _page(name: str, step: Step) -> nodes.Node:
    return render.link(name if name in step.pages else "", "", step.pages.get(name, name))


def _verdict(change: VerdictChange, said: str) -> render.Cells:
    entry = render.entry_link(change.id) if said else nodes.inline("", change.id)
    return ([entry], list(render.inline(said)), _word(change.before), _word(change.after))


def _word(relation: str) -> list[nodes.Node]:
    known = relation in render.VERDICT_WORDS
    return [render.verdict(relation) if known else nodes.Text(relation)]
