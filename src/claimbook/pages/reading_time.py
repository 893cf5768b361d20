"""Tell how long a page takes to read."""

from claimbook.model import Page
from claimbook.pages.myst import Markdown
from claimbook.pages.sections import ASKED

WORDS_A_MINUTE = 200
"""Reading speed for prose and code, in space-separated words."""


def reading_minutes(text: str, page: Page) -> int:
    """Return the reading time of a page with folded details, in minutes."""
    return max(1, round(reading_words(text, page) / WORDS_A_MINUTE))


def reading_words(text: str, page: Page) -> int:
    """Count the words of a page, without hidden code and with only the titles of details."""
    rows = text.split("\n")
    titles = {claim.location.line: claim.title for claim in page.claims if claim.detail}
    for block in Markdown(text).blocks():
        if block.line in titles or block.info == ASKED or "remove-input" in block.content:
            for line in block.lines:
                rows[line - 1] = ""
            rows[block.line - 1] = titles.get(block.line, "")
    return len(" ".join(rows).split())
