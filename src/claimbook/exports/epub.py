"""What an EPUB cannot hold as the site does: pictures inside of pages, and links to data."""

import re
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from claimbook.exports.markdown import DRAWN, figure_label, standalone

SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)
DATA = re.compile(r'<a\s[^>]*href="[^":]*\.(?:json|txt|md|ipynb|zip|py)"[^>]*>(.*?)</a>', re.DOTALL)


def adapt(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Give each drawn figure a file; leave the text of links to files that are not there."""
    if app.builder.name != "epub":
        return
    if "body" in context:
        up = "../" * page.count("/")
        body = DRAWN.sub(
            lambda figure: _with_file(figure[0], Path(app.outdir), up), context["body"]
        )
        context["body"] = DATA.sub(r"\1", body)


def _with_file(figure: str, outdir: Path, up: str) -> str:
    """Return the figure with its SVG in a file, black on white whatever the reader's theme."""
    svg = standalone(figure)
    name = f"_images/drawn-{sha256(svg.encode()).hexdigest()[:16]}.svg"
    path = outdir / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(svg, "utf-8")
    image = f'<img src="{up}{name}" alt="{escape(figure_label(figure))}" />'
    return SVG.sub(lambda _: image, figure, count=1)
