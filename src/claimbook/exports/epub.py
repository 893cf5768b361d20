"""Adapt pages to EPUB, which allows no inline figures and has no data files to link to."""

import re
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from claimbook.exports import figures

LINK_TO_DATA = re.compile(
    r'<a\s[^>]*href="[^":]*\.(?:json|txt|md|ipynb|zip|py)"[^>]*>(.*?)</a>', re.DOTALL
)
"""A link to a file of the site that an EPUB does not have: `<a href="claims.json">data</a>`."""


def adapt(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Move each drawn figure into a file; reduce links to missing files to their text."""
    if app.builder.name == "epub" and "body" in context:
        outdir, up = Path(app.outdir), "../" * page.count("/")
        body = figures.FIGURE.sub(lambda figure: _with_file(figure[0], outdir, up), context["body"])
        context["body"] = LINK_TO_DATA.sub(r"\1", body)


def _with_file(figure: str, outdir: Path, up: str) -> str:
    """Return a figure with its SVG moved to a file, black on white in any theme."""
    svg = figures.standalone(figure)
    name = f"_images/drawn-{sha256(svg.encode()).hexdigest()[:16]}.svg"
    path = outdir / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(svg, "utf-8")
    image = f'<img src="{up}{name}" alt="{escape(figures.label(figure))}" />'
    return figures.SVG.sub(lambda _: image, figure, count=1)
