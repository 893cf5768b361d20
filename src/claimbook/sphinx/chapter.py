"""Lay out a chapter: boxes for short answers and advice, and where its examples ran."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from docutils import nodes
from sphinx.application import Sphinx

from claimbook.exports.sections import SHORT
from claimbook.model import Claim, Lane, Status
from claimbook.sphinx import elements, render
from claimbook.sphinx.card import releases
from claimbook.sphinx.domain import ClaimDomain, claim_domain
from claimbook.sphinx.elements import MORE_POINTS

PRACTICE = "In practice"
OPEN_POINTS = 3
"""Points of a long list under *In practice* that a phone shows unfolded."""
WORDY = 20
"""Characters of a table's cell above which it keeps a width on a phone."""
SUBSECTIONS = {
    "Often said, and wrong": "often-wrong",
    PRACTICE: "in-practice",
    "See also": "see-also",
}
"""Title of a standard subsection → its class."""


def connect(app: Sphinx) -> None:
    """Lay out each page after it is read."""
    app.connect("doctree-read", _lay_out)


def _lay_out(app: Sphinx, doctree: nodes.document) -> None:
    _mark_short_answers(doctree)
    _mark_wordy_cells(doctree)
    for section in [*doctree.findall(nodes.section)]:
        title = section[0].astext()
        if title in SUBSECTIONS:
            section["classes"].append(SUBSECTIONS[title])
        if title == PRACTICE:
            _fold_points(section)
            _move_up(section)
    docname = app.env.docname
    if len(claim_domain(app.env).pages[docname].scanned.claims) > 1:
        _add_provenance(doctree, docname)


def _mark_short_answers(doctree: nodes.document) -> None:
    for paragraph in doctree.findall(nodes.paragraph):
        first = next((part for part in paragraph.children if part.astext()), None)
        if isinstance(first, nodes.strong) and first.astext() == SHORT.strip("*"):
            paragraph["classes"].append("short-answer")


def _mark_wordy_cells(doctree: nodes.document) -> None:
    for cell in doctree.findall(nodes.entry):
        if len(cell.astext()) > WORDY:
            cell["classes"].append("long")


def _fold_points(practice: nodes.section) -> None:
    """Fold the points of a long list after the first ones; only a narrow screen shows the fold."""
    for points in [part for part in practice if isinstance(part, nodes.bullet_list)]:
        if len(points) > OPEN_POINTS + 2:
            rest = nodes.bullet_list("", *points[OPEN_POINTS:], **points.attributes)
            points[OPEN_POINTS:] = []
            title = f"{len(rest)} more points"
            fold = elements.fold("", rest, title=title, classes=[MORE_POINTS])
            practice.insert(practice.index(points) + 1, fold)


def _move_up(practice: nodes.section) -> None:
    """Move *In practice* up to the short answer, before the examples."""
    section = practice.parent
    short = next((part for part in section if _has_class(part, "short-answer")), None)
    if short is not None:
        section.remove(practice)
        section.insert(section.index(short) + 1, practice)


def _add_provenance(doctree: nodes.document, docname: str) -> None:
    """Add a placeholder before the first section, or claim outside of sections."""
    if chapter := next(iter(doctree.findall(nodes.section)), None):
        place = next((n for n, part in enumerate(chapter) if _begins(part)), len(chapter) - 1)
        chapter.insert(place, elements.place(what="provenance", page=docname))


def _begins(part: nodes.Node) -> bool:
    return isinstance(part, nodes.section) or _has_class(part, "claim")


def _has_class(part: nodes.Node, name: str) -> bool:
    return isinstance(part, nodes.Element) and name in part["classes"]


@dataclass(frozen=True)
class Norm:
    """What holds for the examples of a page; cards show only exceptions."""

    lanes: frozenset[Lane]
    """The lanes on which any of them ran."""
    releases: str
    """The releases on which most of them hold, `2.6.0 to 2.15.0`; empty if unknown."""


@lru_cache(maxsize=1)  # each card of the current page asks for it
def norm(domain: ClaimDomain, docname: str) -> Norm:
    """Return the norm of a page."""
    claims = domain.pages[docname].scanned.claims
    seen = [pair for claim in claims for pair in domain.shown[claim.id].items()]
    ran = frozenset(lane for lane, shown in seen if shown.status is not Status.MISSING)
    return Norm(ran, releases.usual(claims, domain.releases))


def provenance(domain: ClaimDomain, place: nodes.Element) -> list[nodes.Node]:
    """Return a line that says where the examples of a page ran as printed."""
    claims = domain.pages[place["page"]].scanned.claims
    said = [part for lane in Lane for part in _of_lane(domain, claims, lane)]
    if not said:  # the cards show the status
        return []
    if usual := norm(domain, place["page"]).releases:
        said.append(f"torch {usual}")
    text = f"{len(claims)} examples ran as printed: {'; '.join(said)}."
    return [nodes.paragraph("", text, classes=["provenance"])]


def _of_lane(domain: ClaimDomain, claims: tuple[Claim, ...], lane: Lane) -> Iterator[str]:
    """Yield the devices of a lane and how many examples ran as printed; nothing if none did."""
    shown = [domain.shown[c.id][lane] for c in claims if lane in domain.shown[c.id]]
    current = [each for each in shown if each.status is Status.CURRENT]
    if current:
        records = (record for each in current for record in each.records)
        devices = ", ".join(dict.fromkeys(record.environment.device for record in records))
        count = "" if len(current) == len(claims) else f", {len(current)} of them"
        yield f"{render.LANE_NAMES[lane]} ({devices}){count}"
