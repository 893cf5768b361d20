"""A picture for a page: inline SVG in the page's colours, with a text alternative."""

import re
from dataclasses import dataclass
from html import escape

BRAND = "var(--color-brand-primary, currentColor)"
NARROW = 405
"""Greatest width of a picture in pixels; scaled to a phone, letters are 11 pixels high."""
TEXT, SCREEN = 338, 459
"""Pixels of a picture that fits beside a phone's margins, and across its screen, scaled by 5/6."""
CELL = 26
CHAR = 7.3
"""Width of a letter of `FONT`, in pixels."""
FONT = "font-family:var(--font-stack--monospace, monospace);font-size:12px"


def drawing(width: float, height: float, content: str) -> str:
    """Return an ``<svg>`` of a size, filled by default with the page's text colour."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return f'<svg {size} fill="currentColor">{content}</svg>'


def text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    """Return a ``<text>`` in `FONT` with class ``kind``; ``anchor`` is its ``text-anchor``."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place} style="{FONT}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, style: str) -> str:
    """Return a ``<rect>``."""
    size = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {size} style="{style}"/>'


def cell(x: float, top: float, width: float, words: str, style: str) -> str:
    """Return a box of height `CELL` with centred text."""
    return box(x, top, width, CELL, style) + text(x + width / 2, top + 17, words, "value", "middle")


def number(value: float) -> str:
    """Format a value for drawings."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, repr=False)
class Figure:
    """An SVG picture with its text alternative; a notebook cell that returns one shows it.

    Text inside ``svg`` must already be escaped; ``alt`` is plain text, escaped here.

    >>> Figure("<svg></svg>", "One box.")
    <Figure: One box.>
    """

    svg: str
    """One ``<svg …>…</svg>`` element, without XML prolog or ``<style>``."""
    alt: str
    """What the picture shows: a first line that names it, then one detail per line."""

    def __repr__(self) -> str:
        label, _, _ = self.alt.partition("\n")
        return f"<Figure: {label}>"

    def _repr_html_(self) -> str:
        label, _, details = self.alt.partition("\n")
        width = re.match(r'<svg width="(\d+)"', self.svg)
        least = int(width[1]) * 5 // 6 if width else 0  # keeps letters at 10 pixels
        fit = " wide" * (not width or TEXT < int(width[1]) <= SCREEN)
        style = f"max-width:100%;height:auto;--least:{least}px"
        head = f'<svg role="img" aria-label="{escape(label)}" style="{style}"'
        picture = self.svg.replace("<svg", head, 1)
        items = "".join(f"<li>{escape(line)}</li>" for line in details.splitlines())
        words = f"<p>{escape(label)}</p>" + (f"<ul>{items}</ul>" if items else "")
        caption = f"<details><summary>The picture in words</summary>{words}</details>"
        return f'<figure class="drawn{fit}">{picture}<figcaption>{caption}</figcaption></figure>'
