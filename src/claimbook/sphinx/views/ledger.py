"""The ledger as docutils nodes: every entry of the register, and what the book says of it."""

import re
from typing import NamedTuple

from docutils import nodes

from claimbook.model import Entry, Lane, Question, Status
from claimbook.pages.register import Answer
from claimbook.sphinx import render
from claimbook.sphinx.domain import ClaimDomain


class Row(NamedTuple):
    """An entry."""

    entry: Entry
    word: str
    claims: list[tuple[str, str, dict[Lane, Status]]]
    """Page and id of each that relates to it, and by lane its status."""
    remark: str
    named: dict[str, str]
    """The claims that the remark names, with their pages."""


Asked = tuple[Question, bool, list[Row]]
"""A question, whether its source is in progress, and its entries."""


def data(domain: ClaimDomain) -> list[Asked]:
    """Return every question of the register."""
    register, answers = domain.book.register, domain.book.answers
    found = []
    for question in register.questions:
        rows = [_row(domain, answers[entry.id]) for entry in question.entries]
        found.append((question, question.source in register.in_progress, rows))
    return found


def _row(domain: ClaimDomain, answer: Answer) -> Row:
    claims = [
        (c.docname, c.id, {lane: shown.status for lane, shown in domain.shown[c.id].items()})
        for c in answer.claims
    ]
    remark = answer.remark.text if answer.remark and not claims else ""
    named = {c: domain.places[c] for c in re.findall("`([^`]+)`", remark) if c in domain.places}
    return Row(answer.entry, answer.word or "open", claims, remark, named)


def show(asked: list[Asked], link: render.Link) -> list[nodes.Node]:
    """Return every entry against its claims: a section a source, a table a question."""
    found: dict[str, nodes.section] = {}
    for question, in_progress, rows in asked:
        source = question.source
        if source not in found:
            found[source] = render.section(f"source-{source}", nodes.Text(f"Source: {source}"))
            if in_progress:
                note = "In progress: the book has not answered all of this source yet."
                found[source] += nodes.paragraph("", note)
        title = render.inline(f"{question.id} · {question.text}")
        found[source] += nodes.rubric("", "", *title, ids=[f"question-{question.id}"])
        head = ["Entry", "What the source says", "The book", "Status"]
        grid = render.table(head, (_cells(row, link) for row in rows), [15, 36, 34, 15])
        grid["classes"].append("ledger")
        found[source] += grid
    # What leads to a verdict: the filter shows its rows; without JavaScript this is the top.
    top = nodes.container(ids=[f"verdict-{word}" for word in render.WORDS])
    return [top, *found.values()]


def _cells(row: Row, link: render.Link) -> render.Cells:
    verdict: list[nodes.Node] = [render.verdict(row.word)]
    marks: list[nodes.Node] = []
    for docname, name, statuses in row.claims:
        verdict += [nodes.Text(" "), link.claim(docname, name)]
        for lane, status in statuses.items():
            marks += [render.badge(render.LANE_NAMES[lane], status, status), nodes.Text(" ")]
    if row.remark:
        for part in render.inline(f" {row.remark}"):
            name = part.astext()
            verdict.append(link.claim(row.named.get(name, ""), name, part))
    entry = nodes.inline("", row.entry.id, ids=[f"entry-{row.entry.id}"])
    return [entry], list(render.inline(row.entry.statement)), verdict, marks
