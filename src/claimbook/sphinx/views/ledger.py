"""The ledger as docutils nodes: every entry of the register, and what the book says of it."""

from collections.abc import Iterator
from typing import Any

from docutils import nodes

from claimbook.exports.data import answer_data
from claimbook.model import Lane
from claimbook.pages.register import Answer
from claimbook.sphinx import render
from claimbook.sphinx.domain import ClaimDomain


def made_of(domain: ClaimDomain) -> Any:
    """Return plain data; the page is written anew when it changes."""
    statuses = {
        name: [data["status"] for data in lanes.values()] for name, lanes in domain.shown.items()
    }
    entries = list(map(answer_data, domain.book.answers.values()))
    return [entries, statuses, domain.places, domain.book.register.in_progress]


def show(domain: ClaimDomain, link: render.Link) -> list[nodes.Node]:
    """Return every entry against its claims: a section a source, a table a question."""
    answers = domain.book.answers
    found: dict[str, nodes.section] = {}
    for question in domain.book.register.questions:
        source = question.source
        if source not in found:
            title = nodes.title("", f"Source: {source}")
            found[source] = nodes.section("", title, ids=[f"source-{source}"])
            if source in domain.book.register.in_progress:
                note = "In progress: the book has not answered all of this source yet."
                found[source] += nodes.paragraph("", note)
        asked = render.inline(f"{question.id} · {question.text}")
        found[source] += nodes.rubric("", "", *asked, ids=[f"question-{question.id}"])
        rows = [_row(domain, answers[entry.id], link) for entry in question.entries]
        head = ["Entry", "What the source says", "The book", "Status"]
        grid = render.table(head, rows, [15, 36, 34, 15])
        grid["classes"].append("ledger")
        found[source] += grid
    # What leads to a verdict: the filter shows its rows; without JavaScript this is the top.
    top = nodes.container(ids=[f"verdict-{word}" for word in render.WORDS])
    return [top, *found.values()]


def _row(domain: ClaimDomain, answer: Answer, link: render.Link) -> render.Cells:
    word = answer.word or "open"
    verdict: list[nodes.Node] = [render.verdict(word)]
    for claim in answer.claims:
        verdict += [nodes.Text(" "), link.claim(claim.id)]
    if answer.remark and not answer.claims:
        said = render.inline(f" {answer.remark.text}")
        verdict += [link.claim(part.astext(), part) for part in said]
    marks = [mark for claim in answer.claims for mark in _marks(domain.shown[claim.id])]
    entry = nodes.inline("", answer.entry.id, ids=[f"entry-{answer.entry.id}"])
    return [entry], list(render.inline(answer.entry.statement)), verdict, marks


def _marks(lanes: dict[str, dict[str, Any]]) -> Iterator[nodes.Node]:
    for lane, data in lanes.items():
        yield render.badge(render.LANE_NAMES[Lane(lane)], data["status"], data["status"])
        yield nodes.Text(" ")
