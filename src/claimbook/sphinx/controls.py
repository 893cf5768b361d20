"""The controls of a page, in its HTML from the start, so that nothing moves when it loads.

`static/claimbook.js` makes them work; without JavaScript they are hidden.
"""

import re

from claimbook.sphinx import elements
from claimbook.sphinx.render import VERDICT_WORDS

CARD = re.compile(r'class="(?:claim|answer)[ "]')
PREDICT = (
    '<label><input type="checkbox" name="predict">'
    " Predict: hide what is printed until asked</label>"
)


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


VERDICTS = "".join(
    f'<option value="{word}">{said}</option>' for word, said in VERDICT_WORDS.items()
)
VERDICT = f"""<label>Verdict <select name="verdict" autocomplete="off"><option value="">all</option>
{VERDICTS}</select></label>
"""


def list_filter(rows: int, more: str = "") -> elements.site_html:
    """Return the form that filters a long list.

    Args:
        rows: how many items the list has.
        more: HTML of a further field.
    """
    form = f"""<form class="list-filter" role="search">
<label>Words <input type="search" name="words" autocomplete="off"></label>
{more}<span role="status">{rows} of {rows}</span></form>
"""
    return elements.site_html("", form, format="html")
