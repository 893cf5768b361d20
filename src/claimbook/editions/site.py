"""What speaks of the whole site to other programs: `llms.txt` and `sitemap.xml`."""

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urljoin
from xml.etree import ElementTree as ET

DATA = "Every statement, claim and output as data: [claims.json](claims.json)."


@dataclass(frozen=True)
class Listed:
    """A page as others list it."""

    address: str
    """Of its Markdown, relative to the start page."""
    title: str
    summary: str = ""


def llms_txt(title: str, summary: str, parts: Iterable[tuple[str, list[Listed]]]) -> str:
    """The site's pages for a language model, in the form of https://llmstxt.org.

    Args:
        parts: (heading, pages).
    """
    lines = [f"# {title}", "", f"> {summary}", "", DATA]
    for heading, pages in parts:
        lines += ["", f"## {heading}", ""]
        for page in pages:
            said = f": {page.summary}" if page.summary else ""
            lines.append(f"- [{page.title}]({page.address}){said}")
    return "\n".join(lines) + "\n"


def sitemap(base: str, addresses: Iterable[str]) -> str:
    """The addresses of all pages, as https://www.sitemaps.org asks for them."""
    root = ET.Element("urlset", xmlns="http://www.sitemaps.org/schemas/sitemap/0.9")
    for address in addresses:
        ET.SubElement(ET.SubElement(root, "url"), "loc").text = urljoin(base, address)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
