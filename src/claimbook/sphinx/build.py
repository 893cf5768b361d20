"""The steps of a build: scan pages, run claims, and put the results on pages."""

import gc
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

from claimbook.checking.report import VARIED
from claimbook.engine import environment
from claimbook.exports.apis import used
from claimbook.exports.prose import sentences
from claimbook.exports.sections import reading_minutes, sections
from claimbook.model import Lane, Page
from claimbook.pages.book import read_page
from claimbook.sphinx import elements, outdated, page_norm, render
from claimbook.sphinx.card import ran
from claimbook.sphinx.claims_json import write_json
from claimbook.sphinx.data_files import beside
from claimbook.sphinx.demands import varied
from claimbook.sphinx.domain import ClaimDomain, PageData, Placed, claim_domain, tell_missing
from claimbook.sphinx.execute import cells
from claimbook.sphinx.execute.lanes import Lanes
from claimbook.sphinx.views import counts, guides, ledger, lists, practice, timeline, versions

logger = logging.getLogger(__name__)

OBJECTS_BETWEEN_COLLECTIONS = 100_000
"""A build makes few reference cycles. Python's default, a collection every 700 objects, takes a
fifth of the time of a build without changes."""

VIEWS: dict[str, Callable[[ClaimDomain], list[nodes.Node]]] = {
    "timeline": timeline.show,
    "changes": versions.show,
    "counts": counts.show,
    "ledger": ledger.show,
    "errors": lists.by_error,
    "apis": lists.by_name,
    "claim-index": lists.by_page,
    "practice": practice.show,
}
"""Name of a directive → the view of the whole book that it shows."""


def connect(app: Sphinx) -> None:
    """Connect the steps to Sphinx's events."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends child processes
    gc.enable()
    gc.set_threshold(OBJECTS_BETWEEN_COLLECTIONS, 100, 100)
    lanes, started = Lanes(app), time.time()
    app.connect("source-read", scan)
    app.connect("env-updated", lambda _, env: run_claims(lanes, env))
    app.connect("env-updated", write_data, priority=900)
    app.connect("warn-missing-reference", tell_missing)
    app.connect("doctree-resolved", fill_in)
    app.connect("build-finished", lambda *_: gc.freeze(), priority=1000)  # speeds up Python's exit
    app.connect("build-finished", lambda app, error: tell_counts(app, error, started))


def scan(app: Sphinx, docname: str, source: list[str]) -> None:
    """Read a page's claims before Sphinx parses it."""
    domain, path, text = claim_domain(app.env), app.env.doc2path(docname), source[0]
    page = read_page(domain.project, path) if path.suffix == ".md" else Page("")
    data = PageData(outdated.digest_of(path), reading_minutes(text, page), page)
    if page.path:
        data.sections, data.sentences = sections(text), sentences(text)
        data.apis = {claim.id: sorted(used(claim.code)) for claim in page.claims}
    domain.pages[docname] = data


def run_claims(lanes: Lanes, env: BuildEnvironment) -> list[str]:
    """Run claims without a valid record; return the pages that must be written again."""
    domain = claim_domain(env)
    domain.shown = {claim.id: {} for claim in domain.book.claims}
    for claim, lane, shown in lanes.run_due():
        domain.shown[claim.id][lane] = shown
    for name, page in sorted(domain.pages.items()):
        domain.viewed[name] = [_view(domain, placed) for placed in page.views]
    return outdated.to_write(domain)


def _view(domain: ClaimDomain, placed: Placed) -> list[nodes.Node]:
    """Return the nodes of a view; its page is written again when they change."""
    if placed.kind in guides.GUIDES:
        return guides.show(domain, placed)
    return VIEWS[placed.kind](domain)


def write_data(app: Sphinx, env: BuildEnvironment) -> None:
    """Write the data files of the site, most of them while pages are written."""
    domain, site = claim_domain(env), Path(app.outdir)
    if app.builder.format == "html":
        beside(app, lambda: write_json(domain, site / "claims.json"))
    if app.builder.name == "html":
        guides.write_routes(env, site / "_static")
        if page := domain.page_with("practice"):
            beside(app, lambda: practice.write_decks(app, site / page))


def fill_in(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Replace the placeholders of a page by badges, relations and views; complete their links."""
    domain = claim_domain(app.env)
    for place in list(doctree.findall(elements.place)):
        place.replace_self(FILLED[place["what"]](domain, place))
    for link in list(doctree.findall(elements.link)):
        page = domain.page_with(link["view"]) if "view" in link else link["page"]
        made = page and make_refnode(app.builder, docname, page, link["place"], link.children)
        link.replace_self(made or link.children)


def _viewed(domain: ClaimDomain, place: nodes.Element) -> list[nodes.Node]:
    return domain.viewed[place["page"]][place["number"]]


def _remark(domain: ClaimDomain, place: nodes.Element) -> list[nodes.Node]:
    pairs = [("remark", entry) for entry in place["entries"]]
    said = render.sources(pairs, domain.said(place["entries"]))
    return [render.more(render.verdicts(pairs), *said)]


FILLED: dict[str, Callable[[ClaimDomain, nodes.Element], list[nodes.Node]]] = {
    "status": ran.show,
    "remark": _remark,
    "provenance": page_norm.show,
    "cell": cells.show,
    "view": _viewed,
}
"""Kind of placeholder → function that returns its content."""


def tell_counts(app: Sphinx, exception: Exception | None, started: float) -> None:
    """Log the counts of entries by verdict, the pages written, and the claims that differ here.

    Args:
        started: when the build began, in seconds since the epoch.
    """
    if exception or app.builder.format != "html":
        return
    domain = claim_domain(app.env)
    found = counts.verdicts(domain).items()
    logger.info("entries: %s", ", ".join(f"{count} {word}" for word, count in found))
    logger.info("pages written: %s", _written(Path(app.outdir), started))
    if differ := [*varied(domain)]:
        here = environment.describe(Lane.CPU)
        logger.info("\n%s (%s); their cards say so:", VARIED, here.device)
        for claim, message in differ:
            logger.info("%s: %s: %s", claim.location, claim.id, message)


def _written(site: Path, since: float) -> str:
    pages = sorted(site.rglob("*.html"))
    new = [page.relative_to(site).as_posix() for page in pages if page.stat().st_mtime >= since]
    return f"all {len(new)}" if len(new) == len(pages) else ", ".join(new) or "none"
