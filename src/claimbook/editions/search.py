"""What the search of the site looks through: the sections of pages, and the errors they show."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from claimbook import errors
from claimbook.editions.sections import Section
from claimbook.model import Claim, Page

WORD = re.compile(r"(?<=\.)[A-Za-z_]\w{2,}|\b[A-Za-z_]\w{2,}(?==[^=])")
"""Attributes and keyword arguments: the names in a claim's code that are not its own."""


def section_data(
    docname: str, title: str, page: Page, section: Section, apis: dict[str, list[str]]
) -> dict[str, Any]:
    """One section as static/search.js looks for it; texts are Markdown.

    Args:
        title: of the page.
        apis: claim id → which of torch's names its code may use.
    """
    claims = section.claims(page)
    return {
        "id": f"{docname}.html#{section.anchor}",
        "page": title,
        "title": section.title,
        "short": section.short,
        "claims": [claim.id for claim in claims],
        "statements": [claim.statement for claim in claims],
        "names": " ".join(_once(name for claim in claims for name in apis.get(claim.id, ()))),
        "words": " ".join(_once(word for claim in claims for word in WORD.findall(claim.code))),
    }


def page_data(docname: str, title: str) -> dict[str, Any]:
    """A page that has no sections, by its title alone."""
    empty = {"page": "", "short": "", "claims": [], "statements": [], "names": "", "words": ""}
    return {"id": f"{docname}.html", "title": title, **empty}


def _once(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))


def error_data(claims: Iterable[Claim], where: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Every error and warning, with the sections whose claims print it.

    Args:
        where: claim id → id of its section.
    """
    for message in errors.messages(claims):
        sections = _once(where[claim.id] for claim in message.claims if claim.id in where)
        yield {"type": message.type, "text": message.text, "sections": sections}
