"""Replace Sphinx's search by our own page and data; write the data for errors too."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

from claimbook.exports import lookup, messages, search, words
from claimbook.pages.text import curly
from claimbook.sphinx.controls import TEMPLATES
from claimbook.sphinx.data_files import beside, is_made_of, made_of, write_script
from claimbook.sphinx.domain import claim_domain
from claimbook.sphinx.views.lists import name_links

DATA, LINES, ERRORS = "searchdata.js", "searchlines.js", "errordata.js"
"""Files: the index; the sentences quoted in hits, loaded later; the messages of errors."""


def connect(app: Sphinx) -> None:
    """Replace the search if the theme is furo, for which the template is written."""
    app.connect("config-inited", _take_over)


def _take_over(app: Sphinx, config: Config) -> None:
    if config.html_theme == "furo":
        config.templates_path.append(str(TEMPLATES))
        app.connect("builder-inited", _replace)


def _replace(app: Sphinx) -> None:
    if app.builder.name == "html" and isinstance(app.builder, StandaloneHTMLBuilder):
        app.builder.search = False
        # Before claims run: weighting all words takes as long as all that follows.
        app.connect("env-updated", _start_data, priority=400)
        written = list[str]()
        app.connect("doctree-resolved", lambda _, doctree, docname: written.append(docname))
        app.connect("html-collect-pages", lambda app: _page(app, written))
        app.connect("html-page-context", _add_files)


def _start_data(app: Sphinx, env: BuildEnvironment) -> None:
    """Write the data of the search and of errors, if pages were read or removed."""
    if claim_domain(env).has_read or not Path(app.outdir, DATA).exists():
        places = [each for name in sorted(env.found_docs) for each in _places(env, name)]
        beside(app, lambda: _write_search(app, places))
        beside(app, lambda: _write_errors(app, places))


def _page(app: Sphinx, written: list[str]) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the search page, if any other page was written."""
    if written or not Path(app.outdir, "search.html").exists():
        yield "search", {}, "search.html"


def _write_search(app: Sphinx, places: list[search.Place]) -> None:
    names = name_links(claim_domain(app.env))
    comment = made_of(app, names, words.RULES, words.synonyms(), *map(repr, places))
    # Weighting all words takes seconds, and most edits of examples change no words.
    if not is_made_of(Path(app.outdir, DATA), comment):
        lines = [[[claim, curly(said)] for claim, said in each.quoted()] for each in places]
        write_script(Path(app.outdir, LINES), "searchLines", lines)
        data = search.data(places, names)
        write_script(Path(app.outdir, DATA), "searchData", data, comment=comment)


def _places(env: BuildEnvironment, docname: str) -> Iterator[search.Place]:
    title, page = env.titles[docname].astext(), claim_domain(env).pages[docname]
    for section in page.scanned.sections:
        yield search.place(section, title, page.sentences, page.apis)
    if not page.scanned.sections:
        yield search.Place(f"{docname}.html", "", title, {"title": title})


def _write_errors(app: Sphinx, places: list[search.Place]) -> None:
    domain = claim_domain(app.env)
    where = {claim: n for n, each in enumerate(places) for claim in each.titles}
    # Sections explain messages that no claim prints: `page#section`.
    where |= {each.address.replace(".html#", "#"): n for n, each in enumerate(places)}
    known = messages.known(domain.found, domain.book.sections)
    data = lookup.data(known, where, [*map(_shown, places)])
    write_script(Path(app.outdir, ERRORS), "errorData", data)


def _shown(each: search.Place) -> list[str]:
    """Return what the lookup shows of a section: address, page, title and short answer."""
    return [each.address, curly(each.page), curly(each.title), curly(each.short)]


def _add_files(app: Sphinx, name: str, *rest: Any) -> None:
    if name in {"search", claim_domain(app.env).page_with("errors")}:
        for script in ("errors.js", *(["search.js"] if name == "search" else [])):
            app.add_js_file(script, loading_method="defer")
