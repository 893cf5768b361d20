"""The controls of pages and lists, from the templates beside this file."""

import re
from collections.abc import Iterable
from pathlib import Path

from sphinx.util.template import SphinxRenderer

from claimbook.sphinx import elements
from claimbook.sphinx.render import VERDICT_WORDS

TEMPLATES = Path(__file__).with_name("templates")
RENDERER = SphinxRenderer([TEMPLATES])


def page_tools(body: str, forms: Iterable[tuple[str, str]] = ()) -> str:
    """Return the HTML under a page's title: controls if it has several cards, and other forms.

    Args:
        forms: (text, address) of each.

    >>> page_tools('<div class="claim"><div class="claim-output">')
    ''
    >>> page_tools('<details class="answer"></details>' * 2)
    '<div class="page-tools"><button type="button">Open all answers (2)</button></div>'
    """
    found = {
        "cards": len(re.findall('class="(?:claim|answer)[ "]', body)),
        "predict": 'class="claim-output' in body,
        "details": body.count('<details class="claim detail"'),
        "answers": len(re.findall('<details class="answer[ "]', body)),
    }
    return RENDERER.render("page-tools.html", {**found, "forms": forms})


def list_filter(rows: int, *, by_verdict: bool = False) -> elements.site_html:
    """Return the form that filters a list of so many rows."""
    verdicts = VERDICT_WORDS if by_verdict else None
    form = RENDERER.render("list-filter.html", {"rows": rows, "verdicts": verdicts})
    return elements.site_html("", f"{form}\n", format="html")
