"""Say once on a page where its examples ran as printed; its cards show only exceptions."""

import re
from dataclasses import dataclass
from functools import lru_cache

from docutils import nodes

from claimbook.model import Claim, Lane, Status
from claimbook.sphinx import render
from claimbook.sphinx.card import releases
from claimbook.sphinx.domain import ClaimDomain

LEFT_OUT = re.compile(r"\(R\)|\bNVIDIA |\b \d+GB\b[^,]*")
"""What a line need not say of a device: its maker, if the lane tells it, and its memory."""


@dataclass(frozen=True)
class Norm:
    """What holds for the examples of a page; cards show only exceptions."""

    lanes: frozenset[Lane]
    """The lanes on which any of them ran."""
    releases: str
    """The releases on which most of them hold, `2.6.0 to 2.15.0`; empty if unknown."""


@lru_cache(maxsize=1)  # each card of the current page asks for it
def norm_of(domain: ClaimDomain, docname: str) -> Norm:
    """Return the norm of a page."""
    claims = domain.pages[docname].scanned.claims
    seen = [pair for claim in claims for pair in domain.shown[claim.id].items()]
    ran = frozenset(lane for lane, shown in seen if shown.status is not Status.MISSING)
    return Norm(ran, releases.usual(claims, domain.releases))


def show(domain: ClaimDomain, place: nodes.Element) -> list[nodes.Node]:
    """Return a line that says where the examples of a page ran as printed."""
    claims = domain.pages[place["page"]].scanned.claims
    said = [*filter(None, (_of_lane(domain, claims, lane) for lane in Lane))]
    if not said:  # the cards show the status
        return []
    if usual := norm_of(domain, place["page"]).releases:
        said.append(f"torch {usual}")
    text = f"{len(claims)} examples ran as printed: {'; '.join(said)}."
    return [nodes.paragraph("", text, classes=["provenance"])]


def _of_lane(domain: ClaimDomain, claims: tuple[Claim, ...], lane: Lane) -> str:
    """Return the devices of a lane and how many examples ran as printed; empty if none did."""
    shown = [domain.shown[c.id][lane] for c in claims if lane in domain.shown[c.id]]
    current = [each for each in shown if each.status is Status.CURRENT]
    if not current:
        return ""
    records = (record for each in current for record in each.records)
    devices = ", ".join(dict.fromkeys(record.environment.device for record in records))
    count = "" if len(current) == len(claims) else f", {len(current)} of them"
    return f"{render.LANE_NAMES[lane]} ({LEFT_OUT.sub('', devices)}){count}"
