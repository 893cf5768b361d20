"""The view `timeline`: what each release of torch changed."""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from docutils import nodes

from claimbook.model import Claim, Lane
from claimbook.records.book_runs import BookRun, Change, changed
from claimbook.sphinx import render
from claimbook.sphinx.domain import ClaimDomain


def show(domain: ClaimDomain) -> list[nodes.Node]:
    """Return a table of how many claims hold on each release, and the changes, newest first."""
    runs = [*domain.releases, *domain.cuda_releases]
    rows = [_counted(run, domain.book.claims) for run in runs]
    table = render.table(["torch", "examples", "as printed", "differ in"], rows, [16, 18, 18, 48])
    steps = [*pairwise(domain.cuda_releases), *pairwise(domain.releases)]
    sections = (_section(domain, older, newer) for older, newer in reversed(steps))
    return [render.scrollable(table), *sections]


def _name(run: BookRun) -> str:
    return f"{run.name}{render.WORDING['with'][run.lane]}"


def _counted(run: BookRun, claims: Iterable[Claim]) -> render.Cells:
    """Return a row: release, number of claims run, number that hold, and results of the others."""
    results = [result for claim in claims if (result := run.of(claim))]
    differ = Counter(result.word for result in results if not result.holds)
    words = render.WORDING["severities"]
    told = "; ".join(f"{words.get(word, word)}: {count}" for word, count in differ.most_common())
    device = f" ({run.environment.device})" * (run.lane is Lane.CUDA)
    ran, held = len(results), len(results) - differ.total()
    return render.plain(f"{_name(run)}{device}", f"{ran:,}", f"{held:,}", told)


def _section(domain: ClaimDomain, before: BookRun, after: BookRun) -> nodes.section:
    """Return what changed from one release to the next on a lane."""
    older, newer = _name(before), _name(after)
    changes = [*changed(domain.book.claims, before, after)]
    title = nodes.Text(f"From {before.name} to {newer}")
    section = render.section(f"torch-{newer.lower().replace(' ', '-')}", title)
    if not changes:
        section += nodes.paragraph("", "No example prints anything different.")
    for what, count in Counter(map(title_of, changes)).most_common():
        section += nodes.rubric("", f"{what} ({count})")
        alike = (change for change in changes if title_of(change) == what)
        section += [_changed(change, older, newer) for change in alike]
    return section


def title_of(change: Change) -> str:
    """Return what a change is, in words that say which release does what."""
    back = {} if change.new else render.WORDING["differences_back"]
    known = render.WORDING["differences"] | back
    return known.get(change.kind, change.kind.capitalize())


def _changed(change: Change, older: str, newer: str) -> nodes.Node:
    fold = render.fold(change.claim.title, "timeline-change")
    named = render.claim_link(change.claim.docname, change.claim.id, change.claim.id)
    fold += nodes.paragraph("", "", nodes.Text("Example "), named)
    fold += render.code(change.source)
    for version, text in ((older, change.before), (newer, change.after)):
        box = render.output(text)
        box.insert(0, nodes.paragraph("", f"on torch {version}", classes=["claim-lane"]))
        fold += box
    return fold
