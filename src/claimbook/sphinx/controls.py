"""Add the controls of a page to its HTML, so that nothing moves when it loads.

`static/claimbook.js` makes them work; without JavaScript they are hidden.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from claimbook.sphinx.domain import claim_domain
from claimbook.sphinx.render import WORDS

CARD = re.compile(r'class="(?:claim|answer)[ "]')
TITLE = re.compile(r'</h1>\n?(<p class="page-forms">.*?</p>|)')
"""The end of a page's title, with the links to its other forms."""
PREDICT = (
    '<label><input type="checkbox" name="predict">'
    " Predict: hide what is printed until asked</label>"
)
VERDICTS = "".join(f'<option value="{word}">{said}</option>' for word, said in WORDS.items())
LISTS = {
    "ledger": ('<section id="source-', ' id="entry-'),
    "claim-index": ('<section id="part-', "#claim-"),
    "apis": ('<section id="apis-', ' id="api-'),
}
"""View with a long list → start of its first section, and text that occurs once per row."""
FILTER = """<form class="list-filter" role="search">
<label>Words <input type="search" name="words" autocomplete="off"></label>
{verdict}<span role="status">{count} of {count}</span></form>
"""
VERDICT = f"""<label>Verdict <select name="verdict" autocomplete="off"><option value="">all</option>
{VERDICTS}</select></label>
"""


def connect(app: Sphinx) -> None:
    """Add the controls, after the links to other forms have been added under the title."""
    app.connect("html-page-context", _add, priority=600)


def _add(
    app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    if doctree is None or app.builder.name != "html":
        return
    body = context["body"]
    if tools := page_tools(body):
        body = TITLE.sub(rf'</h1>\n<div class="page-tools">{tools}\1</div>', body, count=1)
    for view, (section, row) in LISTS.items():
        if name == claim_domain(app.env).page_with(view):
            verdict = VERDICT if view == "ledger" else ""
            form = FILTER.format(verdict=verdict, count=body.count(row))
            body = body.replace(section, form + section, 1)
    context["body"] = body


def page_tools(body: str) -> str:
    """Return the HTML of the controls for a page; empty if it has fewer than two cards.

    >>> page_tools('<div class="claim"><div class="claim-output">')
    ''
    >>> page_tools('<details class="answer"></details>' * 2)
    '<button type="button">Open all answers (2)</button>'
    """
    if len(CARD.findall(body)) < 2:
        return ""
    parts = [PREDICT] if 'class="claim-output' in body else []
    folded = {
        "details": body.count('<details class="claim detail"'),
        "answers": len(re.findall('<details class="answer[ "]', body)),
    }
    if count := sum(folded.values()):
        kind = next(kind for kind in folded if folded[kind])
        parts.append(f'<button type="button">Open all {kind} ({count})</button>')
    return "".join(parts)
