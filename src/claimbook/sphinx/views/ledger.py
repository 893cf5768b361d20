"""The view `ledger`: every entry of the register, with the book's answer."""

import re
from typing import NamedTuple

from docutils import nodes

from claimbook.model import Entry, Lane, Question, Status
from claimbook.pages.register import Answer
from claimbook.sphinx import controls, render
from claimbook.sphinx.domain import ClaimDomain


class Row(NamedTuple):
    """An entry with its answer."""

    entry: Entry
    word: str
    claims: list[tuple[render.Title, dict[Lane, Status]]]
    """The titles of the claims that relate to it, each with its status by lane."""
    remark: str
    named: dict[str, str]
    """Claim id → docname, for the claims that the remark names."""


Asked = tuple[Question, list[Row]]
"""A question with its entries."""


def data(domain: ClaimDomain) -> list[Asked]:
    """Return all questions of the register."""
    answers = domain.book.answers
    return [
        (question, [_row(domain, answers[entry.id]) for entry in question.entries])
        for question in domain.book.register.questions
    ]


def _row(domain: ClaimDomain, answer: Answer) -> Row:
    claims = [
        (
            render.title_of(c),
            {lane: shown.status for lane, shown in domain.shown[c.id].items()},
        )
        for c in answer.claims
    ]
    remark = answer.remark.text if answer.remark and not claims else ""
    named = {c: domain.places[c] for c in re.findall("`([^`]+)`", remark) if c in domain.places}
    return Row(answer.entry, answer.word or "open", claims, remark, named)


def show(asked: list[Asked]) -> list[nodes.Node]:
    """Return a section for each source, with a table for each question."""
    found: dict[str, nodes.section] = {}
    for question, rows in asked:
        source = question.source
        if source not in found:
            found[source] = render.section(f"source-{source}", nodes.Text(f"Source: {source}"))
        title = render.inline(f"{question.id} · {question.text}")
        found[source] += nodes.rubric("", "", *title, ids=[f"question-{question.id}"])
        head = ["Source", "What the source says", "What the book says"]
        grid = render.table(head, (_cells(row) for row in rows), [14, 38, 48])
        grid["classes"].append("ledger")
        found[source] += grid
    # Targets of links to a verdict: the filter shows its rows; without JavaScript, the top.
    top = nodes.container(ids=[f"verdict-{word}" for word in render.VERDICT_WORDS])
    count = sum(len(rows) for _, rows in asked)
    return [top, controls.list_filter(count, controls.VERDICT), *found.values()]


def _cells(row: Row) -> render.Cells:
    said: list[nodes.Node] = [render.verdict(row.word)]
    for title, statuses in row.claims:
        parts = [render.title_link(title)]
        for lane, status in statuses.items():
            if status is not Status.CURRENT:
                words = render.STATUS_WORDS[status]
                parts += [nodes.Text(" "), render.badge(render.LANE_NAMES[lane], status, words)]
        said += [nodes.Text(" "), nodes.inline("", "", *parts, classes=["ledger-claim"])]
    if row.remark:
        for part in render.inline(f" {row.remark}"):
            name = part.astext()
            said.append(render.claim_link(row.named.get(name, ""), name, part))
    entry = nodes.inline("", row.entry.id, ids=[f"entry-{row.entry.id}"])
    return [entry], list(render.inline(row.entry.statement)), said
