"""The view `ledger`: every entry of the register, with the book's answer."""

from docutils import nodes

from claimbook.model import Status
from claimbook.pages.register import Answer
from claimbook.sphinx import render
from claimbook.sphinx.controls import list_filter
from claimbook.sphinx.domain import ClaimDomain


def show(domain: ClaimDomain) -> list[nodes.Node]:
    """Return a section for each source, with a table for each question."""
    answers, found = domain.book.answers, dict[str, nodes.section]()
    for question in domain.book.register.questions:
        source = question.source
        if source not in found:
            found[source] = render.section(f"source-{source}", nodes.Text(f"Source: {source}"))
        title = render.inline(f"{question.id} · {question.text}")
        found[source] += nodes.rubric("", "", *title, ids=[f"question-{question.id}"])
        head = ["Source", "What the source says", "What the book says"]
        rows = (_cells(domain, answers[entry.id]) for entry in question.entries)
        grid = render.table(head, rows, [14, 38, 48])
        grid["classes"].append("ledger")
        found[source] += grid
    # Targets of links to a verdict: the filter shows its rows; without JavaScript, the top.
    top = nodes.container(ids=[f"verdict-{word}" for word in render.VERDICT_WORDS])
    return [top, list_filter(len(answers), by_verdict=True), *found.values()]


def _cells(domain: ClaimDomain, answer: Answer) -> render.Cells:
    said: list[nodes.Node] = [render.verdict(answer.word or "open")]
    for claim in answer.claims:
        parts = [render.title_link(claim)]
        for lane, shown in domain.shown[claim.id].items():
            if shown.status is not Status.CURRENT:
                words = render.STATUS_WORDS[shown.status]
                badge = render.badge(render.LANE_NAMES[lane], shown.status, words)
                parts += [nodes.Text(" "), badge]
        said += [nodes.Text(" "), nodes.inline("", "", *parts, classes=["ledger-claim"])]
    if answer.remark and not answer.claims:
        for part in render.inline(f" {answer.remark.text}"):
            named = domain.book.by_id.get(part.astext())
            said.append(render.claim_link(named.docname, named.id, part) if named else part)
    entry = nodes.inline("", answer.entry.id, ids=[f"entry-{answer.entry.id}"])
    return [entry], list(render.inline(answer.entry.statement)), said
