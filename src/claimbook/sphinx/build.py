"""The steps of a build: scan pages, run claims, and put the results on pages."""

import gc
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.nodes import make_refnode

from claimbook.checking.report import VARIED
from claimbook.engine import environment
from claimbook.exports import messages
from claimbook.exports.apis import used
from claimbook.model import Lane, Page
from claimbook.pages.book import read_page
from claimbook.pages.prose import sentences
from claimbook.pages.reading_time import reading_minutes
from claimbook.sphinx import demands, elements, outdated, page_norm, render
from claimbook.sphinx.card import ran, session
from claimbook.sphinx.claims_json import write_json
from claimbook.sphinx.data_files import beside
from claimbook.sphinx.domain import ClaimDomain, PageData, Placed, claim_domain, tell_missing
from claimbook.sphinx.execute import cells
from claimbook.sphinx.execute.lanes import Lanes
from claimbook.sphinx.last_build import LastBuild
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
    build = Build(app)
    app.connect("source-read", scan)
    app.connect("doctree-read", demands.check_shown)
    app.connect("env-updated", build.update)
    app.connect("warn-missing-reference", tell_missing)
    app.connect("doctree-resolved", build.fill_in)
    app.connect("build-finished", build.tell)
    app.connect("build-finished", build.keep, priority=950)  # after data files are written
    app.connect("build-finished", lambda *_: gc.freeze(), priority=1000)  # speeds up Python's exit


def scan(app: Sphinx, docname: str, source: list[str]) -> None:
    """Read a page's claims before Sphinx parses it."""
    domain, path, text = claim_domain(app.env), app.env.doc2path(docname), source[0]
    page = read_page(domain.project, path) if path.suffix == ".md" else Page("")
    data = PageData(outdated.digest_of(path), reading_minutes(text, page), page)
    if page.path:
        data.sentences, data.found = sentences(text), messages.found(page)
        data.apis = {claim.id: sorted(used(claim.code)) for claim in page.claims}
    domain.pages[docname] = data


class Build:
    """The steps of one build after pages are read; if nothing has changed, none is taken."""

    def __init__(self, app: Sphinx) -> None:
        self._lanes, self._last, self._started = Lanes(app), LastBuild(app), time.time()
        self._same, self._said = False, ""

    def update(self, app: Sphinx, env: BuildEnvironment) -> list[str]:
        """Do all that needs every page; return the pages that must be written again."""
        domain, self._same = claim_domain(env), self._last.is_same()
        if self._same:
            logger.info("nothing has changed since the last build; no claim is run")
            return []
        self._gather(app, domain)
        return outdated.to_write(domain)

    def _gather(self, app: Sphinx, domain: ClaimDomain) -> None:
        """Run, draw, check and write data."""
        self._same = False
        cells.draw(domain)
        domain.shown = self._lanes.shown()
        self._lanes.close()
        domain.read_records()  # before Sphinx forks: each process would name broken files again
        domain.viewed = {
            name: [_view(domain, placed) for placed in page.views]
            for name, page in sorted(domain.pages.items())
        }
        demands.check(app, domain)
        write_data(app, domain)

    def fill_in(self, app: Sphinx, doctree: nodes.document, docname: str) -> None:
        """Replace the placeholders of a page by badges, relations and views; complete links."""
        domain = claim_domain(app.env)
        if self._same:  # pages are written on demand, as by `sphinx-build -a`
            self._gather(app, domain)
        for place in list(doctree.findall(elements.place)):
            place.replace_self(FILLED[place["what"]](domain, place))
        for link in list(doctree.findall(elements.link)):
            page = domain.page_with(link["view"]) if "view" in link else link["page"]
            made = page and make_refnode(app.builder, docname, page, link["place"], link.children)
            link.replace_self(made or link.children)

    def tell(self, app: Sphinx, error: Exception | None) -> None:
        """Log the counts of entries, the pages written, and the claims that differ here."""
        if error or app.builder.format != "html":
            return
        domain = claim_domain(app.env)
        self._said = self._last.said if self._same else "\n".join(_told(domain))
        counted, *differ = self._said.split("\n")
        logger.info("%s", counted)
        logger.info("pages written: %s", _written(Path(app.outdir), self._started))
        for line in differ:
            logger.info("%s", line)

    def keep(self, app: Sphinx, error: Exception | None) -> None:
        """Save what the next build has to know."""
        if not error:
            self._last.keep(self._said)


def _view(domain: ClaimDomain, placed: Placed) -> list[nodes.Node]:
    """Return the nodes of a view; its page is written again when they change."""
    if placed.kind in guides.GUIDES:
        return guides.show(domain, placed)
    return VIEWS[placed.kind](domain)


def write_data(app: Sphinx, domain: ClaimDomain) -> None:
    """Write the data files of the site, most of them while pages are written."""
    site = Path(app.outdir)
    if app.builder.format == "html":
        beside(app, lambda: write_json(domain, site / "claims.json"))
    if app.builder.name == "html":
        guides.write_routes(app.env, site / "_static")
        if page := domain.page_with("practice"):
            beside(app, lambda: practice.write_decks(app, site / page))


def _viewed(domain: ClaimDomain, place: nodes.Element) -> list[nodes.Node]:
    return domain.viewed[place["page"]][place["number"]]


def _remark(domain: ClaimDomain, place: nodes.Element) -> list[nodes.Node]:
    pairs = [("remark", entry) for entry in place["entries"]]
    said = render.sources(pairs, domain.said(place["entries"]))
    return [render.fold(render.verdicts(pairs), "claim-more", *said)]


FILLED: dict[str, Callable[[ClaimDomain, nodes.Element], list[nodes.Node]]] = {
    "session": session.show,
    "status": ran.show,
    "remark": _remark,
    "provenance": page_norm.show,
    "cell": cells.show,
    "view": _viewed,
}
"""Kind of placeholder → function that returns its content."""


def _told(domain: ClaimDomain) -> Iterator[str]:
    """Yield a line with the counts of entries by verdict, and one for each claim that differs."""
    found = counts.verdicts(domain).items()
    yield f"entries: {', '.join(f'{count} {word}' for word, count in found)}"
    if differ := [*demands.varied(domain)]:
        yield f"\n{VARIED} ({environment.describe(Lane.CPU).device}); their cards say so:"
        for claim, message in differ:
            yield f"{claim.location}: {claim.id}: {message}"


def _written(site: Path, since: float) -> str:
    pages = sorted(site.rglob("*.html"))
    new = [page.relative_to(site).as_posix() for page in pages if page.stat().st_mtime >= since]
    return f"all {len(new)}" if len(new) == len(pages) else ", ".join(new) or "none"
