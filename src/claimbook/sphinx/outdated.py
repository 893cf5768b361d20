"""Find the pages to read again, and those to write again because something else changed."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from claimbook.files import walk
from claimbook.model import digest
from claimbook.records.book_runs import BookRun
from claimbook.sphinx.domain import ClaimDomain, claim_domain
from claimbook.sphinx.views import guides


def connect(app: Sphinx) -> None:
    """Look for pages to read again when Sphinx does."""
    app.connect("env-get-outdated", replaced)


def replaced(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Return the pages whose content has changed, or that list a page which is gone.

    Sphinx compares modification times, and so misses an older file put in place of a page.
    """
    known = claim_domain(env).pages
    there = (name for name in known.keys() - added if name in env.found_docs)
    other = [name for name in there if digest_of(env.doc2path(name)) != known[name].digest]
    lists = env.toctree_includes.items()
    return [*other, *(name for name, pages in lists if not removed.isdisjoint(pages))]


def digest_of(file: Path) -> str:
    """Return the digest of a file, such as a page."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def assets(env: BuildEnvironment) -> list[Path]:
    """Return the styles, scripts and pictures that Sphinx copies to the site."""
    folders = (Path(env.srcdir, folder) for folder in env.config.html_static_path)
    return sorted(path for folder in folders for path in walk(folder))


def to_write(domain: ClaimDomain) -> list[str]:
    """Return the pages that show other things than in the last build; note what all show now."""
    everywhere = digest(repr([*_seen_everywhere(domain)]))
    now = {
        name: digest(repr([everywhere, *_seen(domain, name)]))
        for name in sorted(domain.env.found_docs)
    }
    before, domain.data["seen"] = domain.data["seen"], now
    return [name for name, seen in now.items() if seen != before.get(name)]


def _seen_everywhere(domain: ClaimDomain) -> Iterator[object]:
    """Yield what every page shows, Sphinx's parts included: all are written when it changes.

    The sidebar and the links to the previous and next page come from the contents and the titles.
    A page also holds digests of the routes, styles and scripts, so that browsers do not use cached
    ones.
    """
    env = domain.env
    for name, toc in sorted(env.tocs.items()):
        yield name, [tree.pformat() for tree in toc.findall(addnodes.toctree)]
    yield {name: title.pformat() for name, title in sorted(env.titles.items())}
    yield list(guides.routes(env))
    yield [digest_of(path) for path in assets(env)]
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
    yield [str(node) for view in domain.viewed[docname] for node in view]
    yield domain.drawings.get(docname)


def _runs(domain: ClaimDomain) -> list[BookRun]:
    return [*domain.releases, *domain.cuda_releases, *domain.machines]


def _headings(env: BuildEnvironment, docname: str) -> list[Any]:
    """Return the titles that links into a page may show; without a page, those of all labels."""
    if docname:
        slugs: dict[str, tuple[Any, ...]] = env.metadata[docname].get("myst_slugs", {})
        return [(slug, *told) for slug, (_, *told) in sorted(slugs.items())]
    labels = env.domains.standard_domain.labels
    return [repr(sorted((name, *map(str, to)) for name, to in labels.items()))]
