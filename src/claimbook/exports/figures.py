"""Find the figures that pages draw as HTML, and take them out of it."""

import re
from html import unescape

FIGURE = re.compile(r'<figure class="drawn">.*?</figure>', re.DOTALL)
SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)
_LABEL = re.compile(r'aria-label="([^"]*)"')
_DETAIL = re.compile(r"<li>(.*?)</li>", re.DOTALL)


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
