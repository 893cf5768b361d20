"""Find the figures that pages draw as HTML, and take them out of it: for notebooks and EPUB.

An EPUB allows no inline figures.
"""

import re
from hashlib import sha256
from html import escape, unescape
from pathlib import Path

FIGURE = re.compile(r'<figure class="drawn[ "].*?</figure>', re.DOTALL)
SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)
_LABEL = re.compile(r'aria-label="([^"]*)"')
_DETAIL = re.compile(r"<li>(.*?)</li>", re.DOTALL)
LINK_TO_DATA = re.compile(
    r'<a\s[^>]*href="[^":]*\.(?:json|txt|md|ipynb|zip|py)"[^>]*>(.*?)</a>', re.DOTALL
)
"""A link to a file of the site that an EPUB does not have: `<a href="claims.json">data</a>`."""
LINK_TO_PAGE = re.compile(r'(<a\s[^>]*href="[^":]*)\.html(?=["#])')
"""A link written by hand, which names the page of the site: `<a href="interview.html">`."""


def label(figure: str) -> str:
    """Return what a figure shows, in words; empty if it does not say.

    >>> label('<figure class="drawn"><svg aria-label="a &lt; b"></svg></figure>')
    'a < b'
    """
    found = _LABEL.search(figure)
    return unescape(found[1]) if found else ""


def details(figure: str) -> list[str]:
    """Return the lines of the list under a figure, as text."""
    return [unescape(line) for line in _DETAIL.findall(figure)]


def standalone(figure: str) -> str:
    """Return the SVG of a figure as a file of its own, black on white.

    >>> standalone('<figure class="drawn"><svg style="width:1em"></svg></figure>')
    '<svg xmlns="http://www.w3.org/2000/svg" style="background:#fff;color:#000;width:1em"></svg>'
    """
    svg = str(SVG.findall(figure)[0])
    if "xmlns=" not in svg:
        svg = svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return svg.replace('style="', 'style="background:#fff;color:#000;', 1)


def adapt_to_epub(html: str, page: str, outdir: Path) -> str:
    """Move each figure of a page into a file; mend links by hand, or reduce them to their text.

    Args:
        html: the body of the page.
        page: its docname.
        outdir: the folder of the EPUB's files.
    """
    up = "../" * page.count("/")
    html = FIGURE.sub(lambda figure: _with_file(figure[0], outdir, up), html)
    return LINK_TO_PAGE.sub(r"\1.xhtml", LINK_TO_DATA.sub(r"\1", html))


def _with_file(figure: str, outdir: Path, up: str) -> str:
    """Return a figure with its SVG moved to a file, black on white in any theme."""
    svg = standalone(figure)
    name = f"_images/drawn-{sha256(svg.encode()).hexdigest()[:16]}.svg"
    path = outdir / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(svg, "utf-8")
    image = f'<img src="{up}{name}" alt="{escape(label(figure))}" />'
    return SVG.sub(lambda _: image, figure, count=1)
