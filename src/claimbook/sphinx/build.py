"""The steps of a build: scan pages, run claims, and put the results on pages."""

import hashlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

from claimbook.checking.report import VARIED
from claimbook.engine import environment
from claimbook.exports import apis
from claimbook.exports.prose import sentences
from claimbook.exports.sections import reading_minutes, sections
from claimbook.files import ReadError
from claimbook.model import Lane, Page, digest
from claimbook.mutation.falsify import Results, falsified_data
from claimbook.pages.book import BookError, read_page
from claimbook.records.book_runs import BookRun
from claimbook.sphinx import chapter, elements, ran, render, stale
from claimbook.sphinx.demands import varied
from claimbook.sphinx.domain import ClaimDomain, claim_domain, tell_broken, tell_missing
from claimbook.sphinx.execute import cells
from claimbook.sphinx.execute.lanes import Lanes
from claimbook.sphinx.views import counts
from claimbook.sphinx.views.registry import OF_RUNS, show, shown_on
from claimbook.sweeps import results as sweeps
from claimbook.sweeps.written import read_sweeps

logger = logging.getLogger(__name__)


def connect(app: Sphinx) -> None:
    """Connect the steps to Sphinx's events."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends child processes
    lanes, started = Lanes(app), time.time()
    app.connect("env-get-outdated", replaced)
    app.connect("source-read", scan)
    app.connect("env-updated", lambda _, env: run_claims(lanes, env))
    app.connect("warn-missing-reference", tell_missing)
    app.connect("doctree-resolved", fill_in)
    app.connect("build-finished", lambda app, error: tell_counts(app, error, started))


def scan(app: Sphinx, docname: str, source: list[str]) -> None:
    """Read a page's claims before Sphinx parses it."""
    domain, path, page = claim_domain(app.env), app.env.doc2path(docname), Page("")
    domain.texts[docname] = _digest_of(path)
    if path.suffix == ".md":
        domain.pages[docname] = page = read_page(domain.project, Path(path))
        domain.sections[docname] = sections(source[0])
        domain.sentences[docname] = sentences(source[0])
        domain.apis[docname] = {claim.id: sorted(apis.used(claim.code)) for claim in page.claims}
    domain.minutes[docname] = reading_minutes(source[0], page)


def replaced(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Return the pages whose content has changed, or that list a page which is gone.

    Sphinx compares modification times, and so misses an older file put in place of a page.
    """
    known = claim_domain(env).texts
    there = (name for name in known.keys() - added if name in env.found_docs)
    other = [name for name in there if _digest_of(env.doc2path(name)) != known[name]]
    lists = env.toctree_includes.items()
    return [*other, *(name for name, pages in lists if not removed.isdisjoint(pages))]


def _digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run_claims(lanes: Lanes, env: BuildEnvironment) -> list[str]:
    """Run claims without a valid record; return the pages that must be written again."""
    domain = claim_domain(env)
    domain.falsified, domain.swept = _falsified(domain), _swept(domain)
    domain.labs, domain.shown = domain.find_labs(), {claim.id: {} for claim in domain.book.claims}
    of_runs = {name for name, views in domain.views.items() if OF_RUNS & {v.kind for v in views}}
    domain.viewed = {name: shown_on(domain, name) for name in domain.views.keys() - of_runs}
    for claim, lane, shown in lanes.read():  # last: torch may still be importing
        domain.shown[claim.id][lane] = shown
    domain.viewed |= {name: shown_on(domain, name) for name in of_runs}
    around = [stale.contents(env), [(r.name, r.environment, r.hardware) for r in _runs(domain)]]
    book = digest(repr(around))
    now = {name: digest(repr([book, *_seen(domain, name)])) for name in sorted(env.found_docs)}
    before, domain.data["seen"] = domain.data["seen"], now
    return [name for name, seen in now.items() if seen != before.get(name)]


def _runs(domain: ClaimDomain) -> list[BookRun]:
    return [*domain.releases, *domain.cuda_releases, *domain.machines]


def _seen(domain: ClaimDomain, docname: str) -> Iterator[object]:
    """Yield what a page shows from elsewhere: it is written again when that changes."""
    page = domain.pages.get(docname, Page(""))
    for claim in page.claims:
        yield domain.shown[claim.id], domain.falsified[claim.id], domain.swept[claim.id]
        yield domain.labs[claim.id], [run.of(claim) for run in _runs(domain)]
    related = [relation.entry for claim in page.claims for relation in claim.relations]
    yield domain.said([*related, *(entry for remark in page.remarks for entry in remark.entries)])
    linked = [domain.book.by_id.get(claim) for claim in domain.linked.get(docname, ())]
    yield [(claim.docname, claim.statement) for claim in linked if claim]
    yield [stale.headings(domain.env, name) for name in domain.mentions.get(docname, ())]
    yield domain.viewed.get(docname), domain.drawings.get(docname)


def _falsified(domain: ClaimDomain) -> dict[str, dict[str, Any] | None]:
    results = Results.of(domain.project.docs, tell_broken)
    found = {claim: results.load(claim) for claim in domain.book.claims}
    return {c.id: falsified_data(c, r) if r else None for c, r in found.items()}


def _swept(domain: ClaimDomain) -> dict[str, dict[str, Any] | None]:
    kept = sweeps.Results.of(domain.project.docs, tell_broken)
    data: dict[str, dict[str, Any] | None] = dict.fromkeys(c.id for c in domain.book.claims)
    try:
        written = read_sweeps(domain.project, domain.book.claims)
    except (BookError, ReadError) as error:
        logger.warning("%s", error, type="claim", subtype="bad-sweep")
        return data
    for claim, sweep in written.items():
        if result := kept.load(sweep.claim):
            data[claim] = sweeps.swept_data(sweep, result)
    return data


def fill_in(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Replace the placeholders of a page by badges, relations and views."""
    domain = claim_domain(app.env)
    to = partial(make_refnode, app.builder, docname)
    link = render.Link(to, domain.page_with("ledger"))
    for place in list(doctree.findall(elements.place)):
        place.replace_self(FILLED[place["what"]](domain, place, link))


def _view(domain: ClaimDomain, place: nodes.Element, link: render.Link) -> list[nodes.Node]:
    page, number = place["page"], place["number"]
    return show(domain.views[page][number], domain.viewed[page][number], link)


def _remark(domain: ClaimDomain, place: nodes.Element, link: render.Link) -> list[nodes.Node]:
    pairs = [("remark", entry) for entry in place["entries"]]
    said = render.sources(pairs, domain.said(place["entries"]), link)
    return [render.more(render.verdicts(pairs), *said)]


FILLED: dict[str, Callable[[ClaimDomain, nodes.Element, render.Link], list[nodes.Node]]] = {
    "status": ran.show,
    "remark": _remark,
    "provenance": chapter.provenance,
    "cell": cells.show,
    "view": _view,
}
"""Kind of placeholder → function that returns its content."""


def tell_counts(app: Sphinx, exception: Exception | None, started: float) -> None:
    """Log the counts of entries by verdict, and the pages written.

    Args:
        started: when the build began, in seconds since the epoch.
    """
    if not exception and app.builder.format == "html":
        found = counts.verdicts(claim_domain(app.env)).items()
        logger.info("entries: %s", ", ".join(f"{count} {word}" for word, count in found))
        logger.info("pages written: %s", _written(Path(app.outdir), started))
        _tell_varied(claim_domain(app.env))


def _tell_varied(domain: ClaimDomain) -> None:
    """Log, at the end of the build, the claims that differ on this machine."""
    if found := [*varied(domain)]:
        here = environment.describe(Lane.CPU)
        logger.info("\n%s (%s); their cards say so:", VARIED, here.device)
        for claim, message in found:
            logger.info("%s: %s: %s", claim.location, claim.id, message)


def _written(site: Path, since: float) -> str:
    pages = sorted(site.rglob("*.html"))
    new = [page.relative_to(site).as_posix() for page in pages if page.stat().st_mtime >= since]
    return f"all {len(new)}" if len(new) == len(pages) else ", ".join(new) or "none"
