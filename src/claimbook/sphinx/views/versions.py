"""The view `changes`: what each version of the book changed."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby, pairwise

from docutils import nodes

from claimbook.records.versions import Changes, ClaimChange, Kind, changes, contents_of
from claimbook.sphinx import render, tables
from claimbook.sphinx.domain import ClaimDomain

NOW = ""
"""The name of the book as it is, after its newest version."""
TOLD = (Kind.OUTPUT, Kind.CODE)
TOLD_NOW = (*TOLD, Kind.NEW, Kind.WITHDRAWN)
"""Kinds of change for which claims are listed, and those since the newest version; others are only
counted."""


def show(domain: ClaimDomain) -> list[nodes.Node]:
    """Return a section for each step, newest first, and a line about the first version."""
    if not domain.versions:
        return [nodes.paragraph("", "No version of the book has been saved yet.")]
    first = domain.versions[0]
    size = f"{len(first.claims):,} statements and {len(first.entries):,} verdicts"
    text = f"The first version is {first.name} of {first.recorded.date}, with {size}."
    known = [
        *((version.name, version) for version in domain.versions),
        (NOW, contents_of(domain.book)),
    ]
    sections = [
        _section(domain, older, newer, changes(was, now))
        for (older, was), (newer, now) in pairwise(known)
    ]
    return [*reversed(sections), nodes.paragraph("", text)]


def _section(domain: ClaimDomain, older: str, newer: str, found: Changes) -> nodes.section:
    """Return a section: counts, verdicts, and folded tables of pages and lists of claims."""
    since = f"Since {older}"
    section = nodes.section(ids=[f"since-{older}"], names=[since])
    section += nodes.title("", since if newer == NOW else f"From {older} to {newer}")
    counted = [f"{word}: {count}" for word, count in found.counts()]
    section += nodes.paragraph("", " · ".join(counted) or "Nothing has changed.")
    if found.verdicts:
        section += nodes.rubric("", f"Verdicts ({len(found.verdicts)})")
        section += _verdicts(domain, found, f"In {older}", f"In {newer}" if newer else "Now")
    if found.claims:
        section += render.fold("By page", "claim-more", _pages(domain, found))
    for kind in TOLD_NOW if newer == NOW else TOLD:
        if claims := [change for change in found.claims if kind in change.kinds]:
            title = f"Statements: {kind} ({len(claims)})"
            section += render.fold(title, "claim-more", *_claims(domain, claims))
    return section


def _verdicts(domain: ClaimDomain, found: Changes, *when: str) -> nodes.table:
    """Return a table of changed verdicts: on each entry, before and after."""
    said = domain.said(change.id for change in found.verdicts)
    rows: Iterator[render.Cells] = (
        (
            [render.entry_link(change.id) if change.id in said else nodes.Text(change.id)],
            list(render.inline(said.get(change.id, ""))),
            [_word(change.before)],
            [_word(change.after)],
        )
        for change in found.verdicts
    )
    table = render.table(["Source", "What the source says", *when], rows, [14, 44, 21, 21])
    table["classes"].append("verdicts")
    return table


def _pages(domain: ClaimDomain, found: Changes) -> nodes.container:
    """Return a table of changed pages, with the number of claims by kind of change."""
    counts = Counter((c.page, kind) for c in found.claims for kind in c.kinds)
    kinds = [kind for kind in Kind if any(kind is each for _, each in counts)]
    pages = dict.fromkeys(change.page for change in found.claims)
    rows = (
        ([_page(domain, page)], *render.plain(*(str(counts[page, k] or "") for k in kinds)))
        for page in pages
    )
    width = 60 // len(kinds)
    widths = [100 - width * len(kinds), *[width] * len(kinds)]
    table = render.table(["Page", *kinds], rows, widths)
    tables.fit(table)
    return render.scrollable(table)


def _claims(domain: ClaimDomain, found: list[ClaimChange]) -> Iterator[nodes.Node]:
    """Yield each page with its claims: their titles, or ids if they no longer exist."""
    for page, changed in groupby(found, key=lambda change: change.page):
        yield nodes.paragraph("", "", nodes.strong("", "", _page(domain, page)))
        known = domain.book.by_id
        shown = (
            render.title_link(known[c.id]) if c.id in known else nodes.literal("", c.id)
            for c in changed
        )
        yield render.bullets(shown, "claim-index")


def _page(domain: ClaimDomain, name: str) -> nodes.Node:
    title = domain.env.titles.get(name)
    return render.link(name if title else "", "", title.astext() if title else name)


def _word(relation: str) -> nodes.Node:
    known = relation in render.VERDICT_WORDS
    return render.verdict(relation) if known else nodes.Text(relation)
