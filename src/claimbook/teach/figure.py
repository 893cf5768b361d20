"""A picture for a page: inline SVG that takes the page's colours, and the same in words."""

import re
from dataclasses import dataclass
from html import escape

BRAND = "var(--color-brand-primary, currentColor)"
NARROW = 405
"""How wide a picture may be drawn, in pixels: shrunk to a phone its letters still have 10."""
CELL = 26
CHAR = 7.3
"""How wide a letter of `FONT` is, in pixels."""
FONT = "font-family:var(--font-stack--monospace, monospace);font-size:12px"


def drawing(width: float, height: float, content: str) -> str:
    """Return an ``<svg>`` of that size; what says nothing else has the page's text colour."""
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return f'<svg {size} fill="currentColor">{content}</svg>'


def text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    """Return a ``<text>`` in `FONT` of the class ``kind``; ``anchor`` is where in it ``x`` lies."""
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text class="{kind}" {place} style="{FONT}">{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, style: str) -> str:
    """Return a ``<rect>``."""
    size = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return f'<rect {size} style="{style}"/>'


def cell(x: float, top: float, width: float, words: str, style: str) -> str:
    """Return a box as high as `CELL`, with words in its middle."""
    return box(x, top, width, CELL, style) + text(x + width / 2, top + 17, words, "value", "middle")


def number(value: float) -> str:
    """Write a value as drawings show it."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, repr=False)
class Figure:
    """An SVG picture and its text alternative; a notebook cell that returns one shows it.

    Whoever makes a figure escapes the text inside ``svg``; ``alt`` is plain text and escaped here.

    >>> Figure("<svg></svg>", "One box.")
    <Figure: One box.>
    """

    svg: str
    """One ``<svg …>…</svg>`` element, without XML prolog or ``<style>``."""
    alt: str
    """What the picture shows. The first line names it, each further line states one detail."""

    def __repr__(self) -> str:
        label, _, _ = self.alt.partition("\n")
        return f"<Figure: {label}>"

    def _repr_html_(self) -> str:
        label, _, details = self.alt.partition("\n")
        width = re.match(r'<svg width="(\d+)"', self.svg)
        least = int(width[1]) * 5 // 6 if width else 0  # the letters have 10 pixels
        style = f"max-width:100%;height:auto;--least:{least}px"
        head = f'<svg role="img" aria-label="{escape(label)}" style="{style}"'
        picture = self.svg.replace("<svg", head, 1)
        return f'<figure class="drawn">{picture}{_caption(label, details)}</figure>'


def _caption(label: str, details: str) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in details.splitlines())
    body = f"<p>{escape(label)}</p>" + (f"<ul>{items}</ul>" if items else "")
    return (
        f"<figcaption><details><summary>The picture in words</summary>{body}</details></figcaption>"
    )
