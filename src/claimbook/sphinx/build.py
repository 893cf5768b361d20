"""The steps of a build: scan pages, run claims, and put the results on pages."""

import hashlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

from claimbook.checking.report import VARIED
from claimbook.engine import environment
from claimbook.exports import apis
from claimbook.exports.prose import sentences
from claimbook.exports.sections import reading_minutes, sections
from claimbook.model import Lane, Page, digest
from claimbook.pages.book import read_page
from claimbook.records.book_runs import BookRun
from claimbook.sphinx import chapter, elements, ran, render
from claimbook.sphinx.claims_json import write_json
from claimbook.sphinx.demands import varied
from claimbook.sphinx.domain import ClaimDomain, PageData, claim_domain, tell_missing
from claimbook.sphinx.execute import cells
from claimbook.sphinx.execute.lanes import Lanes
from claimbook.sphinx.tuning import beside
from claimbook.sphinx.views import counts, guides, practice
from claimbook.sphinx.views.registry import OF_RUNS, VIEWS

logger = logging.getLogger(__name__)


def connect(app: Sphinx) -> None:
    """Connect the steps to Sphinx's events."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends child processes
    lanes, started = Lanes(app), time.time()
    app.connect("env-get-outdated", replaced)
    app.connect("source-read", scan)
    app.connect("env-updated", lambda _, env: run_claims(lanes, env))
    app.connect("env-updated", write_data, priority=900)
    app.connect("warn-missing-reference", tell_missing)
    app.connect("doctree-resolved", fill_in)
    app.connect("build-finished", lambda app, error: tell_counts(app, error, started))


def scan(app: Sphinx, docname: str, source: list[str]) -> None:
    """Read a page's claims before Sphinx parses it."""
    domain, path, text = claim_domain(app.env), app.env.doc2path(docname), source[0]
    page = read_page(domain.project, path) if path.suffix == ".md" else Page("")
    data = PageData(_digest_of(path), reading_minutes(text, page), page)
    if page.path:
        data.sections, data.sentences = sections(text), sentences(text)
        data.apis = {claim.id: sorted(apis.used(claim.code)) for claim in page.claims}
    domain.pages[docname] = data


def replaced(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Return the pages whose content has changed, or that list a page which is gone.

    Sphinx compares modification times, and so misses an older file put in place of a page.
    """
    known = claim_domain(env).pages
    there = (name for name in known.keys() - added if name in env.found_docs)
    other = [name for name in there if _digest_of(env.doc2path(name)) != known[name].digest]
    lists = env.toctree_includes.items()
    return [*other, *(name for name, pages in lists if not removed.isdisjoint(pages))]


def _digest_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run_claims(lanes: Lanes, env: BuildEnvironment) -> list[str]:
    """Run claims without a valid record; return the pages that must be written again."""
    domain = claim_domain(env)
    domain.shown = {claim.id: {} for claim in domain.book.claims}
    of_runs = {n for n, page in domain.pages.items() if OF_RUNS & {v.kind for v in page.views}}
    for name in sorted(domain.pages.keys() - of_runs):
        domain.viewed[name] = _viewed(domain, name)
    for claim, lane, shown in lanes.read():  # last: torch may still be importing
        domain.shown[claim.id][lane] = shown
    for name in of_runs:
        domain.viewed[name] = _viewed(domain, name)
    book = digest(repr([*_seen_everywhere(domain)]))
    now = {name: digest(repr([book, *_seen(domain, name)])) for name in sorted(env.found_docs)}
    before, domain.data["seen"] = domain.data["seen"], now
    return [name for name, seen in now.items() if seen != before.get(name)]


def _viewed(domain: ClaimDomain, docname: str) -> list[Any]:
    """Return the data of each view on a page."""
    return [VIEWS[placed.kind].data(domain, placed) for placed in domain.pages[docname].views]


def _runs(domain: ClaimDomain) -> list[BookRun]:
    return [*domain.releases, *domain.cuda_releases, *domain.machines]


def _seen_everywhere(domain: ClaimDomain) -> Iterator[object]:
    """Yield what every page shows, Sphinx's parts included: all are written when it changes.

    The sidebar and the links to the previous and next page come from the contents and the titles.
    A page also holds a digest of the routes, so that browsers do not use cached ones.
    """
    env = domain.env
    for name, toc in sorted(env.tocs.items()):
        yield name, [tree.pformat() for tree in toc.findall(addnodes.toctree)]
    yield {name: title.pformat() for name, title in sorted(env.titles.items())}
    yield list(guides.routes(env))
    yield [(run.name, run.environment, run.hardware) for run in _runs(domain)]


def _seen(domain: ClaimDomain, docname: str) -> Iterator[object]:
    """Yield what a page shows from elsewhere: it is written again when that changes."""
    page = domain.pages[docname]
    for claim in page.scanned.claims:
        yield domain.shown[claim.id], domain.falsified[claim.id], domain.swept[claim.id]
        yield domain.labs[claim.id], [run.of(claim) for run in _runs(domain)]
    related = [relation.entry for claim in page.scanned.claims for relation in claim.relations]
    remarked = (entry for remark in page.scanned.remarks for entry in remark.entries)
    yield domain.said([*related, *remarked])
    linked = [domain.book.by_id.get(claim) for claim in page.claims_linked]
    yield [(claim.docname, claim.statement) for claim in linked if claim]
    yield [_headings(domain.env, name) for name in page.pages_linked]
    yield domain.viewed[docname], domain.drawings.get(docname)


def _headings(env: BuildEnvironment, docname: str) -> list[Any]:
    """Return the titles that links into a page may show; without a page, those of all labels."""
    if docname:
        slugs: dict[str, tuple[Any, ...]] = env.metadata[docname].get("myst_slugs", {})
        return [(slug, *told) for slug, (_, *told) in sorted(slugs.items())]
    labels = env.domains.standard_domain.labels
    return [repr(sorted((name, *map(str, to)) for name, to in labels.items()))]


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


def _view(domain: ClaimDomain, place: nodes.Element) -> list[nodes.Node]:
    page, number = place["page"], place["number"]
    view = VIEWS[domain.pages[page].views[number].kind]
    return view.show(domain.viewed[page][number])


def _remark(domain: ClaimDomain, place: nodes.Element) -> list[nodes.Node]:
    pairs = [("remark", entry) for entry in place["entries"]]
    said = render.sources(pairs, domain.said(place["entries"]))
    return [render.more(render.verdicts(pairs), *said)]


FILLED: dict[str, Callable[[ClaimDomain, nodes.Element], list[nodes.Node]]] = {
    "status": ran.show,
    "remark": _remark,
    "provenance": chapter.provenance,
    "cell": cells.show,
    "view": _view,
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
