"""The view `counts`: numbers of statements by verdict, of claims, and of runs."""

from collections import Counter
from collections.abc import Iterable, Iterator

from docutils import nodes

from claimbook.model import Lane, Status
from claimbook.records.runs import Shown
from claimbook.sphinx import render
from claimbook.sphinx.domain import ClaimDomain


def show(domain: ClaimDomain) -> list[nodes.Node]:
    """Return a bar of verdicts, its legend with links to the ledger, and other numbers."""
    found = {word: count for word, count in verdicts(domain).items() if count}
    legend = [_verdict(word, count) for word, count in found.items()]
    totals = map(nodes.Text, _totals(domain))
    return [_bar(found), render.bullets(legend, "verdicts"), render.bullets(totals, "totals")]


def _bar(found: dict[str, int]) -> nodes.raw:
    """Draw the counts as a bar, hidden from screen readers, as the legend has the numbers."""
    parts = (
        f'<span class="relation-{word}" style="flex-grow: {count}"></span>'
        for word, count in found.items()
    )
    bar = f'<div class="shares" aria-hidden="true">{"".join(parts)}</div>\n'
    return nodes.raw("", bar, format="html")


def _verdict(word: str, count: int) -> nodes.Node:
    number = nodes.inline("", f"{count:,}", classes=[f"relation-{word}"])
    words = nodes.Text(f" {render.VERDICT_WORDS[word]}")
    title = nodes.inline("", "", nodes.strong("", "", number), words)
    return render.ledger_link(f"verdict-{word}", title)


def verdicts(domain: ClaimDomain) -> dict[str, int]:
    """Count the entries by verdict."""
    words = [answer.word or "open" for answer in domain.book.answers.values()]
    return {word: words.count(word) for word in render.VERDICT_WORDS}


def _totals(domain: ClaimDomain) -> Iterator[str]:
    shown, statuses = domain.shown.values(), render.WORDING["statuses"]
    yield f"{len(domain.book.answers):,} statements"
    yield f"{len(shown):,} examples"
    for lane in Lane:
        ran = [lanes[lane] for lanes in shown if lane in lanes]
        count = Counter[str](each.status for each in ran)
        told = ", ".join(f"{count[s]:,} {words}" for s, words in statuses.items() if count[s])
        if count[Status.CURRENT] == len(ran):
            told = f"all {statuses[Status.CURRENT]}"
        yield f"{len(ran):,} for {render.LANE_NAMES[lane]}: {told}{_last(ran)}"
    mutants = [data for data in domain.falsified.values() if data and data["status"] == "current"]
    if total := sum(data["mutants"] for data in mutants):
        caught = 100 * sum(data["killed"] for data in mutants) // total
        yield f"{caught} % of {total:,} copies with one thing changed were noticed"
    swept = [data for data in domain.swept.values() if data and data["status"] == "current"]
    if cases := sum(data["cases"] for data in swept):
        yield f"{len(swept):,} statements also hold in {cases:,} randomly drawn cases"


def _last(ran: Iterable[Shown]) -> str:
    """Return when and where the newest successful run was; empty if there is none."""
    records = [each.first for each in ran if each.first and each.status is Status.CURRENT]
    if not records:
        return ""
    last = max(records, key=lambda record: record.recorded.date)
    where = last.environment
    return f"; last on {last.recorded.date} with torch {where.torch} on {where.device}"
