"""Add the results of its runs to a claim's card when the page is written."""

from collections.abc import Container, Iterable, Iterator
from typing import Any
from urllib.parse import urlencode

from docutils import nodes

from claimbook.checking.compare import compare, mismatches
from claimbook.model import Claim, Lane, Outcome, Record, Status
from claimbook.records.runs import Shown
from claimbook.sphinx import page_norm, render
from claimbook.sphinx.card import machines, releases
from claimbook.sphinx.domain import ClaimDomain

ON = {Lane.CPU: "the CPU", Lane.CUDA: "CUDA"}

ByLane = dict[Lane, Shown]
"""Lane → the status and records of a claim."""


def show(domain: ClaimDomain, place: nodes.Element) -> list[nodes.Node]:
    """Return a card's badges, verdicts and run details; update its outputs."""
    claim = domain.claim_on(place["page"], place["claim"])
    assert claim
    shown = domain.shown[claim.id]
    _show_run(place.parent, claim, shown)
    norm = page_norm.norm_of(domain, place["page"])
    others = [*machines.badges(claim, domain), *releases.badges(claim, domain, norm.releases)]
    return [
        *_lab_line(domain.labs[claim.id]),
        _badges(claim, shown, norm.lanes, others),
        *machines.table(claim, domain),
        *_failing(claim, shown),
        _more(domain, claim, shown),
    ]


def _more(domain: ClaimDomain, claim: Claim, shown: ByLane) -> nodes.Node:
    """Fold what the sources say, what other releases print, and how the claim ran."""
    pairs = [(str(relation.kind), relation.entry) for relation in claim.relations]
    said = render.sources(pairs, domain.said(entry for _, entry in pairs))
    others = [*releases.folds(claim, domain)]
    tried = domain.falsified[claim.id], domain.swept[claim.id]
    how = how_it_ran(claim, shown, *tried, domain.env.config.claimbook_repository)
    titles = [render.verdicts(pairs) if pairs else "", "Other releases" if others else ""]
    title = " · ".join(filter(None, [*titles, "How it ran"]))
    return render.more(title, *said, *others, *how)


def _show_run(card: nodes.Element, claim: Claim, lanes: ByLane) -> None:
    """Insert what the run printed where it differs from the page.

    Label outputs that no current run has confirmed.
    """
    for box in list(card.findall(nodes.container)):
        if "claim-output" in box["classes"] and "line" in box:
            lane = _lane_of(box, lanes)
            shown = lanes[lane]
            if shown.first and shown.status in (Status.FAILING, Status.VARIED):
                _show_got(box, claim, lane, shown.first)
            elif shown.status is not Status.CURRENT:
                _mark_unproved(box, render.STATUS_WORDS[shown.status])


def _lane_of(box: nodes.Element, lanes: ByLane) -> Lane:
    """Return the lane of an output; the CPU if it is for both."""
    of_cuda = f"on-{Lane.CUDA}" in box["classes"] or Lane.CPU not in lanes
    return Lane.CUDA if of_cuda else Lane.CPU


def _show_got(box: nodes.Element, claim: Claim, lane: Lane, record: Record) -> None:
    lines = [example.line for fence in claim.fences for example in fence.examples]
    number = lines.index(box["line"])
    example, outputs = claim.examples(lane)[number], record.outputs
    if number >= len(outputs):
        _mark_unproved(box, "not reached in this run; the page says")
    elif compare(example.want, outputs[number], lane):
        got = render.got(outputs[number])
        where = f"printed on {record.environment.device}"
        got[0] = nodes.paragraph("", where, classes=["claim-lane"])
        box.parent.insert(box.parent.index(box), got)
        _mark_unproved(box, "the page says")


def _mark_unproved(box: nodes.Element, words: str) -> None:
    box["classes"].append("unproved")
    label = next(box.findall(nodes.paragraph))
    if "claim-lane" in label["classes"]:
        label.append(nodes.Text(f", {words}"))
    else:
        box[0] = nodes.paragraph("", words, classes=["claim-lane"])


def _badges(
    claim: Claim, lanes: ByLane, ran: Container[Lane], others: Iterable[nodes.Node]
) -> nodes.paragraph:
    """Return badges where a claim is an exception on its page, and the figures that it measured.

    Args:
        ran: the lanes on which any claim of the page ran.
        others: further badges, before the figures.
    """
    line = nodes.paragraph(classes=["claim-badges"])
    if len(claim.lanes) == 1:
        line += nodes.inline("", f"run on {ON[claim.lanes[0]]} only")
    for lane, shown in lanes.items():
        usual = {Status.CURRENT} if lane in ran else {Status.CURRENT, Status.MISSING}
        if shown.status not in usual:
            line += render.badge(
                render.LANE_NAMES[lane], shown.status, render.STATUS_WORDS[shown.status]
            )
    line += [*others]
    for lane, shown in lanes.items() if claim.machine else ():
        if shown.first and (measured := render.figures(shown.first.measurements)):
            line += nodes.inline("", f"measured on {render.LANE_NAMES[lane]}: {measured}")
    return line


def _failing(claim: Claim, lanes: ByLane) -> Iterator[nodes.Node]:
    """Yield what failing lanes printed, unless the card's outputs show it."""
    for lane, shown in lanes.items():
        if shown.status not in (Status.FAILING, Status.VARIED):
            continue
        for record in shown.records:
            if record.outcome is Outcome.PASSED:
                continue
            title = f"On {render.LANE_NAMES[lane]} ({record.environment.device})"
            ended = record.outcome in (Outcome.FAILED, Outcome.VARIED)
            boxed = ended and record is shown.first and lane is next(iter(lanes))  # _show_run
            found = mismatches(claim, lane, record.outputs)
            if not (boxed and all(each.example.want for each in found)):
                message = "" if ended else record.message
                yield render.differing(title, claim, lane, record.outputs, message)


def _lab_line(labs: Iterable[tuple[str, str]]) -> Iterator[nodes.Node]:
    """Yield a line with links to the labs that refer to a claim, if any.

    Args:
        labs: (docname, title).
    """
    line = nodes.paragraph(classes=["claim-labs"])
    for docname, title in labs:
        line += nodes.Text(", " if line.children else "Drawn in a lab: ")
        line += render.link(docname, "", title)
    if line.children:
        yield line


def how_it_ran(
    claim: Claim,
    lanes: ByLane,
    falsified: dict[str, Any] | None,
    swept: dict[str, Any] | None,
    repository: str,
) -> Iterator[nodes.Node]:
    """Yield where, when and with which torch a claim ran, and how to run and correct it.

    Args:
        repository: `owner/name` on GitHub; may be empty.
    """
    for lane, shown in lanes.items():
        for record in shown.records:
            where = record.environment
            words = [f"torch {where.torch}", where.device, record.recorded.date]
            if record.outcome is Outcome.PASSED and record.message:
                words.append(record.message)
            yield nodes.paragraph("", f"{render.LANE_NAMES[lane]}: {', '.join(words)}")
    if falsified and falsified["mutants"]:
        text = "{killed} of {mutants} altered copies of it print something else".format(**falsified)
        text += " (stale: changed since)" * (falsified["status"] == "stale")
        yield nodes.paragraph("", text, classes=["claim-falsified"])
    if swept:
        yield from _searched(swept)
    command = nodes.literal("", f"claimbook run {claim.id}")
    yield nodes.paragraph("", "", nodes.Text("Run it: "), command)
    if repository:
        address = f"https://github.com/{repository}/issues/new?{urlencode({'title': claim.id})}"
        suggest = nodes.reference("", "Suggest a correction", refuri=address)
        yield nodes.paragraph("", "", suggest)


def _searched(swept: dict[str, Any]) -> Iterator[nodes.Node]:
    """Yield the cases searched without a counterexample, and the code of the search."""
    text = "No counterexample among {cases} drawn cases: {drawn}.".format(**swept)
    text += " The statement, or the search, has changed since." * (swept["status"] == "stale")
    yield nodes.paragraph("", text, classes=["claim-swept"])
    yield nodes.literal_block(swept["source"], swept["source"], language="python")
