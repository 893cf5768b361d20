"""Find the messages most similar to a pasted one, here and in the browser.

Marks that many messages share weigh little. `everyday.json` counts marks in the messages of other
libraries, so that common phrases such as *must be greater than zero* weigh little too.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from typing import Any

from claimbook.exports import errors
from claimbook.exports.errors import Message
from claimbook.pages.text import curly

EVERYDAY = json.loads(Path(__file__).with_name("everyday.json").read_text("utf-8"))
"""The number of messages of other libraries, and for each mark how many have it."""

SAME_TYPE = 0.1
"""Added to the likeness (0 to 1) of two messages of the same type."""

EXPLAINS = 0.015
"""Ranking bonus of a message that a claim explains; doubled if a section is about nothing else."""

LIKE, PASSING = 0.55, 0.65
"""Least likeness of a match, and of one that no claim and no section of errors explains."""

ENOUGH, NEARLY_ALL = 4, 0.75
"""A match needs common marks that weigh as much as `ENOUGH` unique marks, or make up `NEARLY_ALL`
of the weight of the book's message."""

SIGN = 7
"""Least weight of the heaviest common mark, which then is in fewer than one of a thousand messages.
Words of everybody's, such as *is not available*, match only the very same message."""

PART, SOME = 2, 4
"""A text of at least `SOME` words may be part of a message, whose weight then counts as at most
`PART` times the text's; and the other way round."""

ABOUT = 0.71
"""Least part of an error's weight in a text that is about another thing (see `_about_another`):
*num_samples should be a positive integer value* says nothing of a *block_size*."""

SAME = 0.9
"""A match is exact if this much of the lighter of the two is in the other."""

LENGTH, SHOWN = 400, 2
"""Characters of a message shown, and number of its claims, those of its section if it has any."""


@dataclass(frozen=True)
class Match:
    """A message similar to the one looked up, by at least `LIKE` or `PASSING`, or containing it."""

    message: Message
    likeness: float
    same: bool
    """Whether one of the two contains the other, word for word."""


class Lookup:
    """Finds the messages most similar to the one in a text."""

    def __init__(self, among: Iterable[Message]) -> None:
        self._among = list(among)
        count = Counter(EVERYDAY["marks"])
        count.update(mark for message in self._among for mark in message.marks)
        all_messages = EVERYDAY["messages"] + len(self._among)
        self._weights = {mark: log(1 + all_messages / n) for mark, n in count.items()}
        self._unknown = log(1 + all_messages)
        self._whole = [self._weight(message.marks) for message in self._among]
        self._having = defaultdict[str, list[int]](list)
        for number, message in enumerate(self._among):
            for mark in message.marks:
                self._having[mark].append(number)

    def _weight(self, marks: Iterable[str]) -> float:
        return sum(self._weights.get(mark, self._unknown) for mark in marks)

    def _common(self, wanted: Message) -> list[tuple[int, float, float]]:
        """Return each message that shares marks with a text: number, their weight, the heaviest."""
        common = defaultdict[int, list[float]](list)
        for mark in sorted(wanted.marks & self._having.keys()):
            for number in self._having[mark]:
                common[number].append(self._weights[mark])
        return sorted((number, sum(each), max(each)) for number, each in common.items())

    def search(self, text: str, limit: int = 5) -> list[Match]:
        """Return the messages similar to the one in a text, most similar first, one per section.

        The likeness is the weight of the common marks over the geometric mean of both weights; a
        mark weighs the logarithm of its rarity. If one of the two may be part of the other, the
        other's weight is bounded (see `PART`). Among similar likenesses, explained messages come
        first. Messages with too little in common do not match (see `ENOUGH` and `SIGN`), unless
        they contain the text as it stands.
        """
        for wanted in errors.readings(text):
            if found := self._like(wanted):
                return found[:limit]
        return self._with(text.strip().lower())[:limit]

    def _with(self, words: str) -> list[Match]:
        """Return the messages that contain two or more words as they stand, shortest first."""
        there = re.compile(rf"(?<!\w){re.escape(words)}(?!\w)", re.ASCII)
        texts = [(each.text[:LENGTH], each) for each in self._among if " " in words]
        having = [(text, each) for text, each in texts if there.search(text.lower())]
        having.sort(key=lambda found: (-found[1].explained, len(found[0])))
        return _one_per_section(Match(message, 0, same=True) for _, message in having)

    def _like(self, wanted: Message) -> list[Match]:
        matches, asked = [], self._weight(wanted.marks)
        part = len(wanted.words) >= SOME
        for number, common, heaviest in self._common(wanted):
            message, whole = self._among[number], self._whole[number]
            if len(message.words) == 1 and message.words != wanted.words:
                continue  # a single word matches only itself
            if common < min(ENOUGH * self._unknown, NEARLY_ALL * whole):
                continue
            if heaviest < SIGN and common < SAME * max(whole, asked):
                continue
            if message.type and common < ABOUT * whole and _about_another(message, wanted):
                continue
            size = min(whole, PART * asked) if part else whole
            text_size = min(asked, PART * whole) if len(message.words) >= SOME else asked
            likeness = common / sqrt(size * text_size)
            likeness += SAME_TYPE * (message.type == wanted.type or (part and not message.type))
            if likeness >= (LIKE if message.explained else PASSING):
                same = common >= SAME * min(whole, asked)
                matches.append(Match(message, likeness, same))
        matches.sort(key=lambda m: -round(m.likeness + EXPLAINS * m.message.explained, 6))
        return _one_per_section(matches)


def _one_per_section(matches: Iterable[Match]) -> list[Match]:
    """Return the first match of each section, in order."""
    by_section = dict[str, Match]()
    for match in matches:
        by_section.setdefault(match.message.place or match.message.text, match)
    return [*by_section.values()]


def _about_another(message: Message, wanted: Message) -> bool:
    """Return whether a text lacks the first word of an error, and begins or is typed otherwise."""
    typed = wanted.type not in ("", message.type)
    begins = wanted.words[0] not in message.marks
    return message.words[0] not in wanted.marks and (typed or begins)


def data(
    among: Iterable[Message], where: Mapping[str, int], sections: Sequence[list[str]]
) -> dict[str, Any]:
    """Return the data for `static/errors.js`.

    Args:
        where: claim id or `page#section` → the number of the section.
        sections: address, page, title and short answer of each.
    """
    told = [_message_data(message, where) for message in among]
    used = sorted({number for each in told for number in each["sections"]})
    new = {number: place for place, number in enumerate(used)}
    for each in told:
        each["sections"] = [new[number] for number in each["sections"]]
        each["claims"] = [(claim, said, new[number]) for claim, said, number in each["claims"]]
    return {
        "patterns": _patterns(),
        "numbers": {
            "sameType": SAME_TYPE,
            "explains": EXPLAINS,
            "like": LIKE,
            "passing": PASSING,
            "part": PART,
            "some": SOME,
            "enough": ENOUGH,
            "sign": SIGN,
            "nearlyAll": NEARLY_ALL,
            "about": ABOUT,
            "same": SAME,
        },
        "everyday": EVERYDAY,
        "messages": told,
        "sections": [sections[number] for number in used],
    }


def _patterns() -> dict[str, Any]:
    """Return the patterns that read a message, with JavaScript's `$1` for groups."""
    return {
        "message": errors.MESSAGE,
        "encoded": [(each.pattern, meant.replace("\\", "$")) for each, meant in errors.ENCODED],
        "echoes": errors.ECHOES,
        "unnamed": errors.UNNAMED,
        "added": [each.pattern for each in errors.ADDED],
        "readings": errors.READINGS,
        "traceback": errors.TRACEBACK,
        "word": errors.WORD,
        "noWords": errors.NO_WORDS,
        "stop": errors.STOP,
        "asserts": errors.ASSERTS,
        "forms": [(form.pattern, word.replace("\\", "$")) for form, word in errors.FORMS],
        "noise": [noise.pattern for noise in errors.NOISE],
        "looks": errors.LOOKS,
    }


def _message_data(message: Message, where: Mapping[str, int]) -> dict[str, Any]:
    claims = [claim for claim in message.claims if claim.id in where]
    places = [where[message.place]] if message.place in where else []
    shown = [claim for claim in claims if where[claim.id] in places] or claims
    return {
        "type": message.type,
        "text": message.text[:LENGTH],
        "words": " ".join(message.words),
        "explained": message.explained,
        "sections": [*dict.fromkeys([*places, *(where[claim.id] for claim in claims)])],
        "claims": [(c.id, curly(c.title), where[c.id]) for c in shown[:SHOWN]],
    }
