"""Adapt pages to EPUB, which allows no inline figures and has no data files to link to."""

import re
from hashlib import sha256
from html import escape
from pathlib import Path

from claimbook.exports import figures

LINK_TO_DATA = re.compile(
    r'<a\s[^>]*href="[^":]*\.(?:json|txt|md|ipynb|zip|py)"[^>]*>(.*?)</a>', re.DOTALL
)
"""A link to a file of the site that an EPUB does not have: `<a href="claims.json">data</a>`."""


def adapt(html: str, page: str, outdir: Path) -> str:
    """Move each figure of a page into a file; reduce links to missing files to their text.

    Args:
        html: the body of the page.
        page: its docname.
        outdir: the folder of the EPUB's files.
    """
    up = "../" * page.count("/")
    html = figures.FIGURE.sub(lambda figure: _with_file(figure[0], outdir, up), html)
    return LINK_TO_DATA.sub(r"\1", html)


def _with_file(figure: str, outdir: Path, up: str) -> str:
    """Return a figure with its SVG moved to a file, black on white in any theme."""
    svg = figures.standalone(figure)
    name = f"_images/drawn-{sha256(svg.encode()).hexdigest()[:16]}.svg"
    path = outdir / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(svg, "utf-8")
    image = f'<img src="{up}{name}" alt="{escape(figures.label(figure))}" />'
    return figures.SVG.sub(lambda _: image, figure, count=1)
