"""What pages show of other releases of torch: a badge, what these print, and the timeline."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from docutils import nodes

from claimbook.model import Claim, Lane
from claimbook.pages.text import first_sentence
from claimbook.records.book_runs import BookRun
from claimbook.records.release_history import Change, Span, changed, spans
from claimbook.sphinx import nodes as places
from claimbook.sphinx import render
from claimbook.sphinx.domain import ClaimDomain
from claimbook.sphinx.render import Link

HOLDS = "holds"


def made_of(claim: Claim, releases: list[BookRun]) -> list[Any]:
    """Plain data; the claim's page is written anew when it changes."""
    return [(span.first, span.last, span.result.word) for span in spans(claim, releases)]


def usual(claims: Iterable[Claim], releases: list[BookRun]) -> str:
    """Return the releases on which most claims of a page hold; empty if none was run on any."""
    found = (spans(claim, releases) for claim in claims if Lane.CPU in claim.lanes)
    held = Counter(str(s[0]) for s in found if len(s) == 1 and s[0].result.word == HOLDS)
    return max(held, key=held.__getitem__, default="")


def badge(claim: Claim, found: list[Span], usual: str) -> Iterator[nodes.Node]:
    """On which releases the claim holds, if these are not those of its whole page."""
    differs = any(span.result.word != HOLDS for span in found)
    words = [f"{_word(span)} on {span}" if differs else str(span) for span in found]
    if found and words != [usual]:
        yield render.badge("torch", "stale" if differs else "current", " · ".join(words))
    elif usual and not found and Lane.CPU in claim.lanes:
        yield render.badge("torch", "missing", "not run on other releases")


def folds(claim: Claim, found: Iterable[Span]) -> Iterator[nodes.Node]:
    """What the releases print on which it does something else."""
    for span in found:
        if (result := span.result).word != HOLDS:
            title = f"On torch {span}"
            yield render.differing(title, claim, Lane.CPU, result.outputs, result.message)


def timeline_made_of(domain: ClaimDomain) -> Any:
    """Plain data; the page is written anew when it changes."""
    steps = [changed(domain.claims(), *pair) for pair in pairwise(domain.releases)]
    shown = [[(c.claim.statement, c.before, c.after) for c in step] for step in steps]
    return [domain.places(), _counted(domain), shown]


def timeline(domain: ClaimDomain, link: Link) -> list[nodes.Node]:
    """How many claims hold on each release, and what each changed, the newest first."""
    claims, where = domain.claims(), domain.places()
    steps = [
        _step(older.name, newer.name, list(changed(claims, older, newer)), where, link)
        for older, newer in pairwise(domain.releases)
    ]
    rows = [render.plain(*row) for row in _counted(domain)]
    table = render.table(["torch", "Claims", "Hold", "Differ"], rows, [14, 14, 14, 58])
    return [table, *reversed(steps)]


def _counted(domain: ClaimDomain) -> list[list[str]]:
    """Of each release how many claims ran there, how many hold, and what became of the others."""
    rows, claims = list[list[str]](), domain.claims()
    for release in domain.releases:
        words = Counter(result.word for claim in claims if (result := release.of(claim)))
        run, holds = words.total(), words.pop(HOLDS, 0)
        others = ", ".join(f"{count} {word}" for word, count in words.most_common())
        rows.append([release.name, str(run), str(holds), others])
    return rows


def _step(
    older: str, newer: str, changes: list[Change], where: dict[str, str], link: Link
) -> nodes.section:
    title = nodes.title("", f"From {older} to {newer}")
    section = nodes.section("", title, ids=[f"torch-{newer}"])
    if not changes:
        section += nodes.paragraph("", "No claim prints anything else.")
    for kind, count in Counter(change.kind for change in changes).most_common():
        section += nodes.rubric("", f"{kind} ({count})")
        alike = (change for change in changes if change.kind == kind)
        section += [_changed(change, older, newer, where, link) for change in alike]
    return section


def _changed(
    change: Change, older: str, newer: str, where: dict[str, str], link: Link
) -> nodes.Node:
    claim = change.claim
    summary = first_sentence(claim.statement).replace("`", "")
    fold = places.fold(title=summary, classes=["timeline-change"])
    fold += nodes.paragraph("", "", nodes.Text("Claim "), render.claim_link(claim.id, where, link))
    fold += render.code(change.example.source)
    for version, text in ((older, change.before), (newer, change.after)):
        box = render.output(text)
        box.insert(0, nodes.paragraph("", f"on torch {version}", classes=["claim-lane"]))
        fold += box
    return fold


def _word(span: Span) -> str:
    return HOLDS if span.result.word == HOLDS else f"differs ({span.result.word})"
