"""Other forms of the site: download links, `llms.txt` and `sitemap.xml`."""

from collections.abc import Iterable
from html import escape
from urllib.parse import urljoin
from xml.etree import ElementTree as ET

COLAB = "https://colab.research.google.com/github/{repository}/blob/notebooks/{page}.ipynb"
"""Colab opens notebooks only from GitHub; the site's workflow keeps them on this branch."""

DATA = "Every statement, claim and output as data: [claims.json](claims.json)."


def llms_txt(
    title: str, summary: str, parts: Iterable[tuple[str, Iterable[tuple[str, str, str]]]]
) -> str:
    """Return the list of pages for language models, in the format of https://llmstxt.org.

    Args:
        parts: headings, each with (docname, title, summary) of its pages.
    """
    lines = [f"# {title}", "", f"> {summary}", "", DATA]
    for heading, pages in parts:
        lines += ["", f"## {heading}", ""]
        for page, name, about in pages:
            line = f"- [{name}]({page}.md)"
            lines.append(f"{line}: {about}" if about else line)
    return "\n".join(lines) + "\n"


def sitemap(base: str, addresses: Iterable[str]) -> str:
    """Return a sitemap of all pages, in the format of https://www.sitemaps.org."""
    root = ET.Element("urlset", xmlns="http://www.sitemaps.org/schemas/sitemap/0.9")
    for address in addresses:
        ET.SubElement(ET.SubElement(root, "url"), "loc").text = urljoin(base, address)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def form_links(page: str, repository: str, practice: str) -> str:
    """Return links to the other forms of a page, as one line of HTML.

    Args:
        page: its docname.
        repository: `owner/name` on GitHub, whose notebooks Colab opens; may be empty.
        practice: the address of the practice page; may be empty.
    """
    name = page.rpartition("/")[2]
    links = [("Notebook", f'href="{name}.ipynb" download')]
    if repository:
        colab = COLAB.format(repository=repository, page=page)
        links.append(("Open in Colab", f'href="{escape(colab)}"'))
    links.append(("Markdown", f'href="{name}.md"'))
    if practice:
        links.append(("Practise this chapter", f'href="{practice}?page={page}"'))
    return _line(links)


def download_links(folder: str, book: str) -> str:
    """Return links to downloads of the whole book, as one line of HTML."""
    where = f'href="{escape(folder.rstrip("/"))}/{book}'
    return _line([("EPUB", f'{where}.epub"'), ("Offline site", f'{where}.zip"')])


def _line(links: Iterable[tuple[str, str]]) -> str:
    items = " · ".join(f"<a {attributes}>{text}</a>" for text, attributes in links)
    return f'<p class="page-forms">{items}</p>'
