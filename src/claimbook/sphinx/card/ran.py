"""Say under a claim's code what came of its runs, when the page is written."""

from collections.abc import Container, Iterable, Iterator
from typing import Any
from urllib.parse import urlencode

from docutils import nodes

from claimbook.checking.compare import mismatches
from claimbook.model import Claim, Lane, Outcome, Status
from claimbook.sphinx import page_norm, render
from claimbook.sphinx.card import machines, releases
from claimbook.sphinx.domain import ByLane, ClaimDomain


def show(domain: ClaimDomain, place: nodes.Element) -> list[nodes.Node]:
    """Return a card's badges, verdicts and run details."""
    claim = domain.claim_at(place)
    shown = domain.shown[claim.id]
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
    said = render.sources(claim.relations, domain.said(r.entry for r in claim.relations))
    others = [*releases.folds(claim, domain)]
    tried = domain.falsified[claim.id], domain.swept[claim.id]
    how = how_it_ran(claim, shown, *tried, domain.env.config.claimbook_repository)
    verdicts = render.verdicts(claim.relations) if claim.relations else ""
    titles = (verdicts, "Other releases" if others else "", "How it ran")
    title = " · ".join(filter(None, titles))
    return render.fold(title, "claim-more", *said, *others, *how)


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
        line += nodes.inline("", render.WORDING["only"][claim.lanes[0]])
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
            boxed = ended and record is shown.first and lane is next(iter(lanes))  # `session`
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
