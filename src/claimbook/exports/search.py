"""Build the search index of the site, for static/search.js.

Words of sections are weighted here (BM25F), so that the browser only adds weights.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from claimbook.exports import words
from claimbook.exports.prose import Sentence
from claimbook.exports.sections import OF_ERRORS, Section, is_error
from claimbook.model import Page
from claimbook.pages.text import curly, first_sentence

FIELDS = {
    "title": (4.0, 0.2),
    "page": (2.0, 0.0),
    "asked": (2.5, 0.25),
    "short": (1.8, 0.3),
    "statements": (1.0, 0.6),
    "prose": (0.8, 0.75),
    "names": (1.0, 0.6),
}
"""Field of a section → weight of its words, and strength of the length normalisation."""

SATURATION = 5.5
"""BM25's k1: how slowly repetitions of a word saturate."""

STEPS, LEAST, RARE = 30, 0.2, 12
"""Number of steps to which weights are rounded. For a word in more than `RARE` places, weights
below `LEAST` of the greatest are left out."""

ERROR, BARE, LESSON = 0.5, 0.35, 0.75
"""Factors for sections with an error as title, without claims, and of lessons: these are short
and full of common words, but questions are more often about other sections."""


@dataclass(frozen=True)
class Place:
    """A section, or a page without sections, with its texts."""

    address: str
    """`page.html#section`."""
    page: str
    """The title of its page; empty if it is a page itself."""
    title: str
    texts: Mapping[str, str]
    """Field → text; see `FIELDS`."""
    short: str = ""
    claims: tuple[str, ...] = ()
    lines: tuple[Sentence, ...] = ()
    """Its sentences; a claim's title may be several of them, divided at its colons."""

    def quoted(self) -> Iterator[tuple[str, str]]:
        """Yield claim and text of what a hit may quote: titles, then sentences that stand alone."""
        titles = dict(zip(self.claims, self.texts.get("statements", "").split("\n"), strict=False))
        yield from titles.items()
        for line in self.lines:
            if line.stands_alone and line.text not in titles.get(line.claim, ""):
                yield line.claim, line.text


def place(
    docname: str,
    title: str,
    page: Page,
    section: Section,
    said: Iterable[Sentence],
    apis: Mapping[str, Iterable[str]],
) -> Place:
    """Return the place for a section.

    Args:
        title: of the page.
        said: the sentences of the page.
        apis: claim id → the names of torch that its code may use.
    """
    claims = section.claims(page)
    lines = tuple(each for each in said if each.line in section.lines)
    first = [first_sentence(claim.statement) for claim in claims]
    shown = {*first}
    texts = {
        "title": section.title,
        "page": title,
        "asked": "\n".join(section.asked),
        "short": section.short,
        "statements": "\n".join(first),
        "prose": "\n".join(each.text for each in lines if each.text not in shown),
        "names": "\n".join({name: 0 for claim in claims for name in apis.get(claim.id, ())}),
    }
    address = f"{docname}.html#{section.anchor}"
    return Place(
        address, title, section.title, texts, section.short, tuple(c.id for c in claims), lines
    )


def data(places: list[Place], apis: Mapping[str, str]) -> dict[str, Any]:
    """Return the data for `static/search.js`: places, index, word rules and names of torch.

    Each place includes the lines that people type, which help to rank hits.

    Args:
        apis: name of torch → address of the list of its examples.
    """
    return {
        "places": [
            [p.address, curly(p.page), curly(p.title), curly(p.short), p.texts.get("asked", "")]
            for p in places
        ],
        "terms": index(places),
        "synonyms": words.synonyms(),
        "words": words.RULES,
        "ofErrors": OF_ERRORS,
        "apis": apis,
    }


def index(places: list[Place]) -> dict[str, list[int]]:
    """Return word → its places, each as a delta to the previous number and a weight.

    Pairs of adjacent words are indexed as words if they occur in a title, an asked line or a name
    of torch, except those only in asked lines of a single place: these lines are compared whole.
    """
    told, asked = _pairs(places, "title", "names"), _pairs(places, "asked")
    counts = [_counts(each, told | asked) for each in places]
    mean = {
        field: sum(sum(each[field].values()) for each in counts) / max(1, len(counts))
        for field in FIELDS
    }
    found: dict[str, list[tuple[int, float]]] = {}
    for number, each in enumerate(counts):
        share = _share(places[number])
        for term, weight in _weights(each, mean).items():
            worth = weight / (weight + SATURATION)
            found.setdefault(term, []).append((number, worth * share))
    lone = asked - told
    return {
        term: _told(weights)
        for term, weights in sorted(found.items())
        if len(weights) > 1 or term not in lone
    }


def _pairs(places: Iterable[Place], *fields: str) -> set[str]:
    texts = (each.texts.get(field, "") for each in places for field in fields)
    return {pair for text in texts for pair in words.joined(text)}


def _share(each: Place) -> float:
    if is_error(each.title):
        return ERROR
    if each.address.startswith("lessons/"):
        return LESSON
    return 1 if each.claims else BARE


def _counts(each: Place, pairs: Container[str]) -> dict[str, Counter[str]]:
    texts = {field: each.texts.get(field, "") for field in FIELDS}
    return {
        field: Counter([*words.single(text), *(p for p in words.joined(text) if p in pairs)])
        for field, text in texts.items()
    }


def _weights(counts: Mapping[str, Counter[str]], mean: Mapping[str, float]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for field, (weight, slope) in FIELDS.items():
        length = sum(counts[field].values()) / (mean[field] or 1)
        for term, count in counts[field].items():
            worth = weight * count / (1 - slope + slope * length)
            weights[term] = weights.get(term, 0) + worth
    return weights


def _told(weights: list[tuple[int, float]]) -> list[int]:
    told, last = list[int](), 0
    least = LEAST * max(weight for _, weight in weights) if len(weights) > RARE else 0
    for number, weight in weights:
        if weight >= least:
            told += [number - last, max(1, round(STEPS * weight))]
            last = number
    return told
