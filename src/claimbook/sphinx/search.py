"""The search page and the data that it searches, in place of Sphinx's own."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.config import Config

from claimbook.exports.search import error_data, page_data, section_data, thinned
from claimbook.files import write_atomically
from claimbook.sphinx.domain import ClaimDomain, claim_domain
from claimbook.sphinx.tuning import beside

TEMPLATES = Path(__file__).with_name("templates")
DATA = "searchdata.js"


def connect(app: Sphinx) -> None:
    """Waits for the theme's name: the page's template is written for furo."""
    app.connect("config-inited", _take_over)


def _take_over(app: Sphinx, config: Config) -> None:
    if config.html_theme == "furo":
        config.templates_path.append(str(TEMPLATES))
        app.connect("builder-inited", _replace)


def _replace(app: Sphinx) -> None:
    if app.builder.name == "html" and isinstance(app.builder, StandaloneHTMLBuilder):
        app.builder.search = False
        read, written = list[str](), list[str]()
        app.connect("env-purge-doc", lambda _, env, docname: read.append(docname))
        app.connect("env-updated", lambda app, env: _start_data(app, read), priority=900)
        app.connect("doctree-resolved", lambda _, doctree, docname: written.append(docname))
        app.connect("html-collect-pages", lambda app: _page(app, written))
        app.connect("html-page-context", _add_files)


def _start_data(app: Sphinx, read: list[str]) -> None:
    """Writes what is searched, if pages were read anew or are gone."""
    path = Path(app.outdir, DATA)
    if read or not path.exists():
        beside(app, lambda: _write_data(app, path))


def _page(app: Sphinx, written: list[str]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The page, if others are written, to which it may lead."""
    if written or not Path(app.outdir, "search.html").exists():
        yield "search", {}, "search.html"


def _write_data(app: Sphinx, path: Path) -> None:
    # A script, not JSON: a page that was opened from a file loads the one and not the other.
    data = json.dumps(_data(app), ensure_ascii=False)
    write_atomically(path, f"searchData({data});\n")


def _data(app: Sphinx) -> dict[str, Any]:
    domain = claim_domain(app.env)
    sections = [data for name in sorted(app.env.found_docs) for data in _of_page(domain, name)]
    where = {claim: n for n, section in enumerate(sections) for claim in section["claims"]}
    return {"sections": thinned(sections), "errors": list(error_data(domain.claims(), where))}


def _of_page(domain: ClaimDomain, docname: str) -> Iterator[dict[str, Any]]:
    title = domain.env.titles[docname].astext()
    found = domain.sections.get(docname, [])
    for section in found:
        apis = domain.apis[docname]
        yield section_data(docname, title, domain.pages[docname], section, apis)
    if not found:
        yield page_data(docname, title)


def _add_files(app: Sphinx, name: str, *rest: Any) -> None:
    if name == "search":
        app.add_css_file("search.css")
        for script in ("minisearch.js", "search.js"):
            app.add_js_file(script, loading_method="defer")
