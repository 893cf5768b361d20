"""The Sphinx extension that writes a page's other forms along with it."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.typing import ExtensionMetadata

from claimbook import __version__
from claimbook.exports import epub
from claimbook.exports.markdown import markdown
from claimbook.exports.notebook import notebook
from claimbook.exports.site import download_links, form_links, llms_txt, sitemap
from claimbook.files import write_atomically, write_changed
from claimbook.sphinx.contents import parts
from claimbook.sphinx.domain import claim_domain


def setup(app: Sphinx) -> ExtensionMetadata:
    """Connect what writes the forms of each page, and at the end the files of the site."""
    app.setup_extension("sphinx_markdown_builder")
    app.connect("env-get-outdated", remove_gone)
    app.connect("doctree-read", note_summary)
    app.connect("html-page-context", write_forms)
    app.connect("html-page-context", adapt_to_epub)
    app.connect("build-finished", write_lists)
    return {
        "version": __version__,
        "env_version": 1,
        "parallel_read_safe": True,
        "parallel_write_safe": True,
    }


def remove_gone(
    app: Sphinx, env: BuildEnvironment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Remove the files of deleted pages, which Sphinx leaves in the site.

    A new environment, as after an upgrade, does not know what was removed: the files tell.
    """
    if _is_site(app):
        gone = removed if env.all_docs else {*_written(Path(app.outdir))} - env.found_docs
        for page in gone:
            for form in ("html", "md", "ipynb"):
                Path(app.outdir, f"{page}.{form}").unlink(missing_ok=True)
    return []


def _written(site: Path) -> Iterator[str]:
    """Yield the pages of an earlier build that have a Markdown form."""
    for path in site.rglob("*.md"):
        if path.with_suffix(".html").exists():
            yield path.relative_to(site).with_suffix("").as_posix()


def note_summary(app: Sphinx, doctree: nodes.document) -> None:
    """Note the first paragraph of each page as its summary and for social previews."""
    kept = app.env.metadata[app.env.docname]
    prose = (p for p in doctree.findall(nodes.paragraph) if isinstance(p.parent, nodes.section))
    first = next(prose, None)
    kept["summary"] = kept["og:description"] = " ".join(first.astext().split()) if first else ""


def write_forms(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Write a page's Markdown and notebook, and link them on the page."""
    if doctree is None or not _is_site(app):
        return
    folder, name = Path(app.outdir, page).parent, page.rpartition("/")[2]
    write_atomically(folder / f"{name}.md", markdown(app.builder, doctree, doctree))
    context["metatags"] += f'\n<link rel="alternate" type="text/markdown" href="{name}.md">'
    of_start = page == app.config.root_doc
    if links := _editions(app) if of_start else _notebook_and_links(app, page, doctree):
        context["body"] = context["body"].replace("</h1>", f"</h1>\n{links}", 1)


def _editions(app: Sphinx) -> str:
    """Return links to the book's editions; empty if their address is not known."""
    address = app.config.claimbook_downloads
    return download_links(address, app.config.epub_basename) if address else ""


def _notebook_and_links(app: Sphinx, page: str, doctree: nodes.document) -> str:
    """Write a page's notebook; return links to the page's forms, empty if it has no claims."""
    if not _write_notebook(app, page, doctree):
        return ""
    to = claim_domain(app.env).page_with("practice")
    practice = app.builder.get_relative_uri(page, to) if to else ""
    return form_links(page, app.config.claimbook_repository, practice)


def adapt_to_epub(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Leave out of a page what an EPUB cannot hold."""
    if app.builder.name == "epub" and "body" in context:
        context["body"] = epub.adapt(context["body"], page, Path(app.outdir))


def _is_site(app: Sphinx) -> bool:
    return bool(app.builder.name == "html")  # the builder with a file named after each page


def _address(app: Sphinx, page: str) -> str:
    """Return the address of a page; relative to the start page if the site's is not known."""
    return str(urljoin(app.config.html_baseurl, app.builder.get_target_uri(page)))


def _write_notebook(app: Sphinx, page: str, doctree: nodes.document) -> bool:
    """Write the notebook of a page; return False if the page has no claims and so no notebook."""
    path = Path(app.outdir, f"{page}.ipynb")
    scanned = claim_domain(app.env).pages[page].scanned
    claims = () if scanned.problems else scanned.claims
    if claims:
        address = _address(app, page)
        data = notebook(
            doctree,
            claims,
            lambda node: markdown(app.builder, doctree, node, address),
            app.config.claimbook_repository,
        )
        text = json.dumps(data, ensure_ascii=False, indent=1) + "\n"
        write_atomically(path, text)
    else:
        path.unlink(missing_ok=True)
    return bool(claims)


def write_lists(app: Sphinx, exception: Exception | None) -> None:
    """Write `llms.txt` and `sitemap.xml`, if they changed."""
    if exception or not _is_site(app):
        return
    title, env = app.config.html_title, app.env
    start = next(_described(env, [app.config.root_doc]))
    listed = ((part.title or "Start here", _described(env, part.pages)) for part in parts(env))
    write_changed(Path(app.outdir, "llms.txt"), llms_txt(title, start[2], listed))
    if base := app.config.html_baseurl:
        pages = (name for name in sorted(env.found_docs) if "orphan" not in env.metadata[name])
        addresses = map(app.builder.get_target_uri, pages)
        write_changed(Path(app.outdir, "sitemap.xml"), sitemap(base, addresses))


def _described(env: BuildEnvironment, pages: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (docname, title, summary) of each page."""
    for page in pages:
        yield page, env.titles[page].astext(), env.metadata[page].get("summary", "")
