"""The ledger as docutils nodes: every entry of the register, and what the book says of it."""

from collections.abc import Iterator
from typing import Any

from docutils import nodes

from claimbook.export import anchor
from claimbook.model import Lane
from claimbook.register import Answer, Register
from claimbook.sphinx import render

Shown = dict[str, dict[str, dict[str, Any]]]
"""Claim id → lane → what the lane says."""


def sections(
    register: Register,
    answers: dict[str, Answer],
    places_of: dict[str, str],
    shown: Shown,
    link: render.Link,
) -> list[nodes.Node]:
    """Every entry against its claims and their status: a section a source, a table a question.

    Args:
        places_of: claim id → docname.
    """
    found: dict[str, nodes.section] = {}
    for question in register.questions:
        source = question.source
        if source not in found:
            found[source] = nodes.section(ids=[f"source-{source}"], names=[source])
            found[source] += nodes.title("", f"Source: {source}")
        asked = render.inline(f"{question.id} · {question.text}")
        found[source] += nodes.rubric("", "", *asked, ids=[f"question-{question.id}"])
        rows = [_row(answers[entry.id], places_of, shown, link) for entry in question.entries]
        head = ["Entry", "What the source says", "The book", "Status"]
        grid = render.table(head, rows, [18, 41, 27, 14])
        grid["classes"].append("ledger")
        found[source] += grid
    return list(found.values())


def _row(
    answer: Answer, places_of: dict[str, str], shown: Shown, link: render.Link
) -> render.Cells:
    word = answer.word or "open"
    verdict: list[nodes.Node] = []
    verdict += [nodes.inline("", word, classes=["claim-relation", f"relation-{word}"])]
    for claim in answer.claims:
        name = nodes.inline("", claim.id)
        verdict += [nodes.Text(" "), link(places_of[claim.id], anchor(claim.id), name)]
    if answer.remark and not answer.claims:
        verdict += [nodes.Text(" "), *render.inline(answer.remark.text)]
    marks = [mark for claim in answer.claims for mark in _marks(shown.get(claim.id, {}))]
    entry = nodes.inline("", answer.entry.id, ids=[f"entry-{answer.entry.id}"])
    return [entry], list(render.inline(answer.entry.statement)), verdict, marks


def _marks(lanes: dict[str, dict[str, Any]]) -> Iterator[nodes.Node]:
    for lane, data in lanes.items():
        text = f"{render.LANE_NAMES[Lane(lane)]} {data['status']}"
        yield nodes.inline("", text, classes=["claim-badge", f"status-{data['status']}"])
