"""Which claims reproduce an error: a lookup by what torch printed.

Messages are compared by their words. Numbers, shapes, addresses and devices differ from program to
program, so they are no words here. `static/claimbook.js` does the same in a browser.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import log, sqrt

from claimbook.checking.compare import HEADER
from claimbook.model import Claim, Lane

TYPE = r"[A-Za-z_][\w.]*(?:Error|Exception|Warning)"
MESSAGE = re.compile(rf"(?:^|(?<=[\s\]]))({TYPE})(?:: (.*)|$)", re.ASCII)
WORD = re.compile(r"\b[a-z_][a-z_0-9]*(?:\.[a-z_][a-z_0-9]*)*", re.ASCII)
NO_WORDS = {"cpu", "cuda", "meta", "mps", "xpu"}
STOP = re.compile(r"\.(?=[A-Z])")
"""The end of a sentence where torch leaves out the blank."""
KEYS = re.compile(r"(?<=key\(s\) in state_dict:)[^\n]*|(?<=size mismatch for )\S+", re.ASCII)
"""The names of a model's own weights in an error of `load_state_dict`."""
NAMED = re.compile(rf"`({TYPE}: [^`]+)`", re.ASCII)
"""An error whose words depend on something, and so stand in the statement and not in an output."""
ADVICE = "Search for `cuda|CUDA kernel errors|For debugging consider|Compile with `TORCH_USE"
TRIGGERED = re.compile(rf"\s*\(Triggered internally at .*?\)|\n(?:{ADVICE})[^\n]*")
"""What torch adds to messages of any kind."""

SAME_TYPE = 0.1
"""What a common type adds to the likeness of two messages, which is between 0 and 1."""

LIKE = 0.6
"""Messages that are less like a text than this do not explain it."""

PART, SOME = 2, 3
"""A text of `SOME` words or more may be a part of a message, which then counts as at most `PART`
times as long."""


@dataclass(frozen=True)
class Message:
    """An error or a warning, and the claims that reproduce it."""

    type: str
    text: str
    claims: tuple[Claim, ...] = ()

    @property
    def words(self) -> frozenset[str]:
        """What it is compared by; the type where an error says no more."""
        text = KEYS.sub("", STOP.sub(". ", self.text).lower())
        found = frozenset(WORD.findall(text)) - NO_WORDS
        return found or frozenset(filter(None, [self.type.lower()]))


@dataclass(frozen=True)
class Match:
    """A message like the one that was looked for; `likeness` grows from 0."""

    message: Message
    likeness: float


def read(text: str) -> Message:
    r"""The last error or warning in what a program printed; all of it where none is named.

    >>> read("Traceback (most recent call last):\n  ...\nValueError: too small").type
    'ValueError'
    """
    lines = TRIGGERED.sub("", text.replace("\r", "")).strip().split("\n")
    for number in reversed(range(len(lines))):
        if found := MESSAGE.search(lines[number]):
            text = "\n".join([found[2] or "", *lines[number + 1 :]]).rstrip()
            return Message(found[1].rpartition(".")[2], text)
    return Message("", "\n".join(lines))


def messages(claims: Iterable[Claim]) -> list[Message]:
    """All errors and warnings that claims print, or name in full; those of the same words are one.

    Of the claims that print one, those that say `:explains:` come first, then those that print the
    fewest: they are about this one. An exception of an example's own, such as `Unreadable`, is none
    that anybody would look up.
    """
    printed = [(claim, [m for m in _told(claim) if m.type]) for claim in claims]
    printed.sort(key=lambda pair: (not pair[0].explains, len(pair[1])))
    found: dict[tuple[str, frozenset[str]], list[Message]] = {}
    for claim, printed_here in printed:
        for message in printed_here:
            same = found.setdefault((message.type, message.words), [])
            same.append(Message(message.type, message.text, (claim,)))
    merged = [
        replace(same[0], claims=tuple({m.claims[0].id: m.claims[0] for m in same}.values()))
        for same in found.values()
    ]
    return sorted(merged, key=lambda message: (message.type, message.text.lower()))


def search(among: list[Message], text: str, limit: int = 5) -> list[Match]:
    """The messages most like the one in a text, the likest first.

    The likeness is the weight of the common words over the geometric mean of the weights of both;
    a word that few messages have weighs more, by the logarithm of its rarity. A text may be a part
    of a message, whose weight is bounded then: see `PART`.
    """
    wanted = read(text)
    frequency = Counter(word for message in among for word in message.words)

    def weight(words: frozenset[str]) -> float:
        return sum(log(1 + len(among) / (frequency[word] or 1)) for word in words)

    matches, asked = [], weight(wanted.words)
    for message in among:
        if common := weight(message.words & wanted.words):
            whole = weight(message.words)
            size = min(whole, PART * asked) if len(wanted.words) >= SOME else whole
            likeness = common / sqrt(size * asked)
            likeness += SAME_TYPE * (message.type == wanted.type)
            matches.append(Match(message, likeness))
    return sorted(matches, key=lambda match: -match.likeness)[:limit]


def _told(claim: Claim) -> Iterator[Message]:
    yield from map(read, NAMED.findall(claim.statement))
    for lane in Lane:
        for want in (example.want for example in claim.examples(lane)):
            before, *errors = want.split(HEADER)
            yield from (read(line) for line in before.split("\n") if MESSAGE.match(line))
            yield from map(read, errors)
