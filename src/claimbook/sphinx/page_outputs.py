"""Write a page's other forms along with it."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from sphinx.application import Sphinx

from claimbook.exports import figures
from claimbook.exports.markdown import markdown
from claimbook.exports.notebook import notebook
from claimbook.files import write_atomically, write_changed
from claimbook.sphinx.contents import parts, summary
from claimbook.sphinx.controls import RENDERER
from claimbook.sphinx.domain import claim_domain

COLAB = "https://colab.research.google.com/github/{repository}/blob/notebooks/{page}.ipynb"
"""Colab opens notebooks only from GitHub; the site's workflow keeps them on this branch."""


def connect(app: Sphinx) -> None:
    """Connect what writes the forms of each page, and at the end the files of the site."""
    app.setup_extension("sphinx_markdown_builder")
    app.connect("doctree-read", note_summary)
    app.connect("html-page-context", write_forms)
    app.connect("html-page-context", adapt_to_epub)
    app.connect("build-finished", write_lists)
    app.connect("build-finished", remove_gone)


def remove_gone(app: Sphinx, exception: Exception | None) -> None:
    """Remove the files of deleted pages, which Sphinx leaves in the site: each had Markdown."""
    if not exception and _is_site(app):
        for path in Path(app.outdir).rglob("*.md"):
            page = path.relative_to(app.outdir).with_suffix("").as_posix()
            if page not in app.env.found_docs and path.with_suffix(".html").exists():
                for form in ("html", "md", "ipynb"):
                    path.with_suffix(f".{form}").unlink(missing_ok=True)


def note_summary(app: Sphinx, doctree: nodes.document) -> None:
    """Note the first paragraph of each page, in which references to pages have no titles yet."""
    prose = (p for p in doctree.findall(nodes.paragraph) if isinstance(p.parent, nodes.section))
    first = next(prose, None)
    text = " ".join(first.astext().split()) if first else ""
    app.env.metadata[app.env.docname]["summary"] = text


def write_forms(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Write a page's Markdown and notebook, and note them for the page."""
    if doctree is None or not _is_site(app):
        return
    folder, name = Path(app.outdir, page).parent, page.rpartition("/")[2]
    write_atomically(folder / f"{name}.md", markdown(app.builder, doctree, doctree))
    # As the text beside a shared link.
    context["meta"] = {**(context["meta"] or {}), "og:description": summary(app.env, page)}
    context["metatags"] += f'\n<link rel="alternate" type="text/markdown" href="{name}.md">'
    if page == app.config.root_doc:
        context["page_forms"] = _editions(app)
    elif _write_notebook(app, page, doctree):
        context["page_forms"] = [*_forms(app, page, name), *_practise(app, page, "this chapter")]
    elif any(view.kind == "questions" for view in claim_domain(app.env).pages[page].views):
        context["page_forms"] = _practise(app, page, "these questions")


def _editions(app: Sphinx) -> list[tuple[str, str]]:
    """Return the downloads of the whole book; empty if their address is not known."""
    address = app.config.claimbook_downloads.rstrip("/")
    book = f"{address}/{app.config.epub_basename}"
    return [("EPUB", f"{book}.epub"), ("Offline site", f"{book}.zip")] if address else []


def _forms(app: Sphinx, page: str, name: str) -> Iterator[tuple[str, str]]:
    yield "Notebook", f"{name}.ipynb"
    if repository := app.config.claimbook_repository:
        yield "Open in Colab", COLAB.format(repository=repository, page=page)
    yield "Markdown", f"{name}.md"


def _practise(app: Sphinx, page: str, what: str) -> Iterator[tuple[str, str]]:
    """Yield the link to the cards of a page, if the book has a practice page."""
    if practice := claim_domain(app.env).page_with("practice"):
        address = app.builder.get_relative_uri(page, practice)
        yield f"Practise {what}", f"{address}?page={page}"


def adapt_to_epub(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Leave out of a page what an EPUB cannot hold."""
    if app.builder.name == "epub" and "body" in context:
        context["body"] = figures.adapt_to_epub(context["body"], page, Path(app.outdir))


def _is_site(app: Sphinx) -> bool:
    return bool(app.builder.name == "html")  # the builder with a file named after each page


def _address(app: Sphinx, page: str) -> str:
    """Return the address of a page; relative to the start page if the site's is not known."""
    return str(urljoin(app.config.html_baseurl, app.builder.get_target_uri(page)))


def _write_notebook(app: Sphinx, page: str, doctree: nodes.document) -> bool:
    """Write the notebook of a page; return False if the page has no claims and so no notebook."""
    path = Path(app.outdir, f"{page}.ipynb")
    scanned = claim_domain(app.env).pages[page].scanned
    if scanned.problems or not scanned.claims:
        path.unlink(missing_ok=True)
        return False
    write = partial(markdown, app.builder, doctree, page=_address(app, page))
    data = notebook(doctree, scanned.claims, write, app.config.claimbook_repository)
    write_atomically(path, json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    return True


def write_lists(app: Sphinx, exception: Exception | None) -> None:
    """Write the list of pages for language models, and for search engines, if they changed.

    Their formats: https://llmstxt.org, https://www.sitemaps.org.
    """
    if exception or not _is_site(app):
        return
    env = app.env

    def described(page: str) -> tuple[str, str, str]:
        return page, env.titles[page].astext(), summary(env, page)

    data = {
        "title": app.config.html_title,
        "summary": described(app.config.root_doc)[2],
        "parts": [(part.title or "Start here", map(described, part.pages)) for part in parts(env)],
    }
    write_changed(Path(app.outdir, "llms.txt"), RENDERER.render("llms.txt", data))
    if app.config.html_baseurl:
        pages = [name for name in sorted(env.found_docs) if "orphan" not in env.metadata[name]]
        addresses = [_address(app, page) for page in pages]
        sitemap = RENDERER.render("sitemap.xml", {"addresses": addresses})
        write_changed(Path(app.outdir, "sitemap.xml"), f"{sitemap}\n")
