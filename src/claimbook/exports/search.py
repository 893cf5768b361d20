"""What the search of the site looks through: the sections of pages, and the errors they show."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from claimbook.exports import errors
from claimbook.exports.sections import Section, first_sentence
from claimbook.model import Claim, Page

WORD = re.compile(r"(?<=\.)[A-Za-z_]\w{2,}|\b[A-Za-z_]\w{2,}(?==[^=])")
"""Attributes and keyword arguments: the names in a claim's code that are not its own."""
PROSE = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
RARE = 16
"""In how many sections a word may stand to be looked for in all of a statement."""
TEXTS = ("title", "short", "names", "words")
"""What of a section is text, beside its statements."""

T = TypeVar("T")


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


def thinned(sections: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leaves of each statement its first sentence, and of the others the words that are `RARE`.

    A hit shows no more of a statement, and words that many sections hold lead to none of them.
    """
    texts = [" ".join([*s["statements"], *(s[key] for key in TEXTS)]) for s in sections]
    held = Counter(word for text in texts for word in {*_plain(text)})
    return [{**section, **_thin(section, held)} for section in sections]


def _thin(section: dict[str, Any], held: Mapping[str, int]) -> dict[str, Any]:
    said = section["statements"]
    first = [*map(first_sentence, said)]
    pairs = zip(said, first, strict=True)
    return {"statements": first, "rest": [_rare(whole, short, held) for whole, short in pairs]}


def _rare(whole: str, short: str, held: Mapping[str, int]) -> str:
    shown = {*_plain(short)}
    words = PROSE.findall(whole)
    return " ".join(_once(w for w in words if w.lower() not in shown and held[w.lower()] <= RARE))


def _plain(text: str) -> list[str]:
    return PROSE.findall(text.lower())


def _once(words: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(words))


def error_data(claims: Iterable[Claim], where: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Every error and warning, with the sections whose claims print it.

    Args:
        where: claim id → the number of its section.
    """
    for message in errors.messages(claims):
        sections = _once(where[claim.id] for claim in message.claims if claim.id in where)
        yield {"type": message.type, "text": message.text, "sections": sections}
