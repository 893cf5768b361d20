"""Finds the messages that are most like one that is pasted, here and in the browser.

A mark that many messages have says little. `everyday.json` counts marks in the messages of other
libraries: what they all say, as *must be greater than zero*, is no sign of one of this book.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from pathlib import Path
from typing import Any

from claimbook.exports import errors
from claimbook.exports.errors import Message
from claimbook.pages.text import first_sentence

EVERYDAY = json.loads(Path(__file__).with_name("everyday.json").read_text("utf-8"))
"""How many messages of other libraries there are, and how many of them have a mark."""

SAME_TYPE = 0.1
"""What a common type adds to the likeness of two messages, which is between 0 and 1."""

EXPLAINS = 0.015
"""How much likelier a message may be than one whose section is about it, and still come after it;
twice that where the section is about nothing else."""

LIKE = 0.55
"""Messages that are less like a text than this do not explain it."""

ENOUGH, NEARLY_ALL = 4, 0.75
"""What two messages have in common weighs as much as so many marks that are in no other, or it is
such a part of the one in the book. Otherwise the one does not explain the other."""

PART, SOME = 2, 4
"""A text of `SOME` words or more may be a part of a message, which then counts as at most `PART`
times as long, and a message a part of a text."""

SAME = 0.9
"""A text and a message are the same word for word if so much of the one stands in the other."""

LENGTH, SHOWN = 400, 2
"""How much of a message is shown, and how many of its claims, which are those of its section
where that has any."""


@dataclass(frozen=True)
class Match:
    """A message like the one that was looked for; `likeness` is at least `LIKE`."""

    message: Message
    likeness: float
    same: bool
    """Whether one of the two stands in the other, word for word; it is the nearest otherwise."""


class Lookup:
    """Finds the messages that are most like the one in a text."""

    def __init__(self, among: Iterable[Message]) -> None:
        self._among = list(among)
        count = Counter(EVERYDAY["marks"])
        count.update(mark for message in self._among for mark in message.marks)
        all_messages = EVERYDAY["messages"] + len(self._among)
        self._weights = {mark: log(1 + all_messages / n) for mark, n in count.items()}
        self._unknown = log(1 + all_messages)
        self._whole = [self._weight(message.marks) for message in self._among]

    def _weight(self, marks: Iterable[str]) -> float:
        return sum(self._weights.get(mark, self._unknown) for mark in marks)

    def search(self, text: str, limit: int = 5) -> list[Match]:
        """Return the messages that are like the one in a text, the likest first, one a section.

        The likeness is the weight of the common marks over the geometric mean of the weights of
        both; a mark that few messages have weighs more, by the logarithm of its rarity. One of the
        two may be a part of the other, whose weight is bounded then: see `PART`. Of
        those nearly as like, the one that is explained comes first. What has too little in common
        for any likeness is none: see `ENOUGH`.
        """
        wanted = errors.read(text)
        matches, asked = [], self._weight(wanted.marks)
        part = len(wanted.words) >= SOME
        for message, whole in zip(self._among, self._whole, strict=True):
            if len(message.words) == 1 and message.words != wanted.words:
                continue  # one word says something if it is all that was said
            common = self._weight(message.marks & wanted.marks)
            if common < min(ENOUGH * self._unknown, NEARLY_ALL * whole):
                continue
            size = min(whole, PART * asked) if part else whole
            text_size = min(asked, PART * whole) if len(message.words) >= SOME else asked
            likeness = common / sqrt(size * text_size)
            likeness += SAME_TYPE * (message.type == wanted.type or (part and not message.type))
            if likeness >= LIKE:
                same = common >= SAME * min(whole, asked)
                matches.append(Match(message, likeness, same))
        matches.sort(key=lambda m: -round(m.likeness + EXPLAINS * m.message.explained, 6))
        by_section = dict[str, Match]()
        for match in matches:
            by_section.setdefault(match.message.place or match.message.text, match)
        return [*by_section.values()][:limit]


def data(
    among: Iterable[Message], where: Mapping[str, int], sections: Sequence[list[str]]
) -> dict[str, Any]:
    """Return what `static/errors.js` compares with.

    Args:
        where: claim id, and `page#section` → the number of that section.
        sections: address, title and short answer of each.
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
            "part": PART,
            "some": SOME,
            "enough": ENOUGH,
            "nearlyAll": NEARLY_ALL,
            "same": SAME,
        },
        "everyday": EVERYDAY,
        "messages": told,
        "sections": [sections[number] for number in used],
    }


def _patterns() -> dict[str, Any]:
    """Return how a message is read; JavaScript names a group by another sign."""
    return {
        "message": errors.MESSAGE,
        "echoes": errors.ECHOES,
        "word": errors.WORD,
        "noWords": errors.NO_WORDS,
        "stop": errors.STOP,
        "asserts": errors.ASSERTS,
        "forms": [(form, word.replace("\\", "$")) for form, word in errors.FORMS],
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
        "claims": [(c.id, first_sentence(c.statement), where[c.id]) for c in shown[:SHOWN]],
    }
