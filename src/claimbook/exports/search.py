"""Build the search index of the site, for static/search.js.

Words of sections are weighted here (BM25F), so that the browser only adds weights.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from claimbook.exports import words
from claimbook.model import Section
from claimbook.pages.prose import Sentence
from claimbook.pages.sections import OF_ERRORS, is_error
from claimbook.pages.text import curly

FIELDS = {
    "title": (4.0, 0.2),
    "page": (2.0, 0.0),
    "asked": (3.0, 0.1),
    "short": (1.8, 0.3),
    "statements": (1.0, 0.6),
    "prose": (0.8, 0.75),
    "names": (1.0, 0.6),
}
"""Field of a section → weight of its words, and strength of the length normalisation."""

SATURATION = 5.5
"""BM25's k1: how slowly repetitions of a word saturate."""

STEPS = 30
"""Number of steps to which weights are rounded."""

RARE = 12
"""Most places of a word all of whose weights are kept."""

LEAST = 0.2
"""Fraction of a word's greatest weight below which weights are left out, if it is not rare."""

ERROR = 0.5
"""Factor for sections with an error as title: these are short and full of common words, but
questions are more often about other sections."""

BARE = 0.35
"""Factor for sections without claims."""

LESSON = 0.75
"""Factor for sections of lessons."""


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
    titles: Mapping[str, str] = field(default_factory=dict)
    """Claim id → the title of its card."""
    lines: tuple[Sentence, ...] = ()
    """Its sentences; a claim's title may be several of them, divided at its colons."""

    def quoted(self) -> Iterator[tuple[str, str]]:
        """Yield claim and text of what a hit may quote: titles, then sentences that stand alone."""
        yield from self.titles.items()
        for line in self.lines:
            if line.stands_alone and line.text not in self.titles.get(line.claim, ""):
                yield line.claim, line.text


def place(
    section: Section, title: str, said: Iterable[Sentence], apis: Mapping[str, Iterable[str]]
) -> Place:
    """Return the place for a section of a page.

    Args:
        title: of the page.
        said: the sentences of the page.
        apis: claim id → the names of torch that its code may use.
    """
    titles = {claim.id: claim.title for claim in section.claims}
    lines = tuple(each for each in said if each.line in section.lines)
    names = dict.fromkeys(name for claim in titles for name in apis.get(claim, ()))
    texts = {
        "title": section.title,
        "page": title,
        "asked": "\n".join(section.asked),
        "short": section.short,
        "statements": "\n".join(titles.values()),
        "prose": "\n".join(each.text for each in lines if each.text not in titles.values()),
        "names": "\n".join(names),
    }
    return Place(section.address, title, section.title, texts, section.short, titles, lines)


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
    pairs = [_by_field(each, words.joined) for each in places]
    named = {pair for each in pairs for pair in (*each["title"], *each["names"])}
    asked = {pair for each in pairs for pair in each["asked"]}
    kept = named | asked
    counts = list[dict[str, Counter[str]]]()
    for each, here in zip(places, pairs, strict=True):
        single = _by_field(each, words.single)
        counts.append(
            {n: Counter([*single[n], *filter(kept.__contains__, here[n])]) for n in FIELDS}
        )
    mean = {
        name: sum(each[name].total() for each in counts) / max(1, len(counts)) for name in FIELDS
    }
    found: dict[str, list[tuple[int, float]]] = {}
    for number, (each, words_here) in enumerate(zip(places, counts, strict=True)):
        factor = _factor(each)
        for term, weight in _weights(words_here, mean).items():
            worth = weight / (weight + SATURATION) * factor
            found.setdefault(term, []).append((number, worth))
    only_asked = asked - named
    return {
        term: _steps(weights)
        for term, weights in sorted(found.items())
        if len(weights) > 1 or term not in only_asked
    }


def _factor(each: Place) -> float:
    if is_error(each.title):
        return ERROR
    if each.address.startswith("lessons/"):
        return LESSON
    return 1 if each.titles else BARE


def _by_field(each: Place, split: Callable[[str], Iterable[str]]) -> dict[str, list[str]]:
    """Return field → what a function finds in its text."""
    return {name: [*split(each.texts.get(name, ""))] for name in FIELDS}


def _weights(counts: Mapping[str, Counter[str]], mean: Mapping[str, float]) -> dict[str, float]:
    """Return term → its weight in all fields of a place, whose mean lengths are given."""
    weights: dict[str, float] = {}
    for name, (weight, slope) in FIELDS.items():
        length = counts[name].total() / (mean[name] or 1)
        for term, count in counts[name].items():
            worth = weight * count / (1 - slope + slope * length)
            weights[term] = weights.get(term, 0) + worth
    return weights


def _steps(weights: list[tuple[int, float]]) -> list[int]:
    """Return the places of a word as the browser gets them: a delta and a weight of each."""
    steps, last = list[int](), 0
    least = LEAST * max(weight for _, weight in weights) if len(weights) > RARE else 0
    for number, weight in weights:
        if weight >= least:
            steps += [number - last, max(1, round(STEPS * weight))]
            last = number
    return steps
