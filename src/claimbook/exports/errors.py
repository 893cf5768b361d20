"""Which claims reproduce an error: a lookup by what torch printed.

Messages are compared by their words and by which words stand side by side. Numbers, shapes,
addresses and devices differ from program to program, so they are no words here; `noise.toml` says
what else is none. `lookup_data` prepares all that for the browser, patterns included;
`static/errors.js` compares, as `Lookup` does.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import log, sqrt
from pathlib import Path
from typing import Any

from claimbook.checking.compare import HEADER
from claimbook.exports.sections import Section, is_error
from claimbook.model import Claim, Lane, Page
from claimbook.pages.text import first_sentence

TYPE = r"[A-Za-z_][\w.]*(?:Error|Exception|Warning|SymNode|\bexc\.[A-Z]\w+)"
MESSAGE = rf"(?:^|[\s\]\"'`(])({TYPE})(?::[ \t]*(.*)|\([\"'](.*)|$)"
WORD = r"\b[a-z_][a-z_0-9]*(?:\.[a-z_][a-z_0-9]*)*"
FOLLOWS = (
    r"(?<=\S)\s*Traceback [^\n]*\n(?:[ \t][^\n]*\n)*"
    r"[^\n]*load\(from_parent\)\s*EOFError: Ran out of input"
)
"""What a child process says because its parent failed, whose own error stands before."""
NO_WORDS = ["cpu", "cuda", "meta", "mps", "xpu"]
STOP = r"\.(?=[A-Z])"
"""The end of a sentence where torch leaves out the blank."""
STARTS = re.compile(rf"(?:{TYPE})(?::|$)|\S+:\d+: {TYPE}:", re.ASCII)
"""How a line of an output begins that is an error or a warning."""
WRAPS = "\nOriginal "
"""The end of an error that only passes on a worker's."""
NAMED = re.compile(rf"`({TYPE}: [^`]+)`", re.ASCII)
"""An error whose words depend on something, and so stand in the statement and not in an output."""

ONE_DTYPE = (
    r"\(?torch\.(?:cuda\.)?(\w+)Tensor(\W[a-z ]+ \(?)torch\.(?:cuda\.)?\1Tensor\)?",
    "one_dtype",
)
"""Types of two tensors that differ in the device alone, and the word for them."""

CUT = tomllib.loads(Path(__file__).with_name("noise.toml").read_text("utf-8"))
ADDED = [noise["pattern"] for noise in CUT["added"]]
"""What torch adds to messages of any kind, and nobody needs to see."""
PYTHONS = "|".join(noise["pattern"] for noise in CUT["python"])
"""What Python says of anything; no example explains it."""
NOISE = [noise["pattern"] for noises in CUT.values() for noise in noises]
"""What is no word of a message."""
_NOISE = [re.compile(pattern, re.ASCII) for pattern in NOISE]

LOOKS = (
    rf"(?:^|[\s\]\"'`(]){TYPE}(?::|\()|^[ \t]*{TYPE}$",
    r"Traceback \(most recent|File \"[^\"]+\", line \d|\w\.(?:py|cpp|cu):\d+",
    r"Assertion `|CUDA error|ProcessGroupNCCL|WorkNCCL|torch\._dynamo|\[rank ?\d+\]|c10::",
    r"\bCU[A-Z]+_STATUS_[A-Z]",
    r"\bsm_\d+ is not compatible",
    r"\[[EWI]\d{3,}|^(?:WARNING|ERROR)\b|\(pid(?:\(s\))? ?\d+\)",
)
"""What shows that a text was printed by a program, and not written by somebody who asks."""

SAME_TYPE = 0.1
"""What a common type adds to the likeness of two messages, which is between 0 and 1."""

EXPLAINS = 0.015
"""How much likelier a message may be than one whose section is about it, and still come after it;
twice that where the section is about nothing else."""

LIKE = 0.55
"""Messages that are less like a text than this do not explain it."""

PART, SOME = 2, 4
"""A text of `SOME` words or more may be a part of a message, which then counts as at most `PART`
times as long, and a message a part of a text."""

WORDINGS = Path(__file__).with_name("wordings.toml")
LENGTH, SHOWN = 400, 2
"""How much of a message is shown, and how many of its claims."""
LEAST = 4
"""Of so many words a line is that is a message, where a heading says that a section is of one."""
ASKING = r"(?i)\b(?:pytorch|my|how|why|what|when|fix|difference|vs)\b|\?$"
SAID = r"^[^a-z]|[:'\"\[(]|\b(?:expected|must|not|cannot|invalid|failed)\b"
"""What shows that a line beside an error is a question after all, and that it is a message."""


@dataclass(frozen=True)
class Message:
    """An error, a warning or a line of a log, and the claims that reproduce it."""

    type: str
    text: str
    claims: tuple[Claim, ...] = ()
    place: str = ""
    """The section that explains it, as `page#section`."""
    explained: int = 0
    """How far that is about it: a section that is about nothing else 2, a claim that explains 1."""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Its words, in their order; the type where an error says no more."""
        text = re.sub(STOP, ". ", re.sub(*ONE_DTYPE, self.text, flags=re.ASCII))
        for pattern in _NOISE:
            text = pattern.sub(" ", text)
        found = [word for word in re.findall(WORD, text.lower(), re.ASCII) if word not in NO_WORDS]
        return tuple(found or filter(None, [self.type.lower()]))

    @cached_property
    def marks(self) -> frozenset[str]:
        """What it is compared by: its words, and pairs that stand side by side."""
        return frozenset(self.words) | frozenset(map(" ".join, pairwise(self.words)))


@dataclass(frozen=True)
class Match:
    """A message like the one that was looked for; `likeness` grows from 0."""

    message: Message
    likeness: float


def looks_like_error(text: str) -> bool:
    """Say whether a text was printed by a program.

    >>> looks_like_error("RuntimeError: no"), looks_like_error("what is a RuntimeError")
    (True, False)
    """
    return any(re.search(pattern, text, re.ASCII | re.MULTILINE) for pattern in LOOKS)


def read(text: str) -> Message:
    r"""Return the last error or warning in what a program printed; all of it where none is named.

    >>> read("Traceback (most recent call last):\n  ...\nValueError: too small").type
    'ValueError'
    """
    lines = re.sub(FOLLOWS, "", text.replace("\r", "")).strip().split("\n")
    for number in reversed(range(len(lines))):
        if found := _typed(lines[number]):
            said = "\n".join([found[1], *lines[number + 1 :]])
            for pattern in ADDED:
                said = re.sub(pattern, "", said, flags=re.ASCII)
            return Message(found[0].rpartition(".")[2], said.strip())
    return Message("", "\n".join(lines))


def _typed(line: str) -> tuple[str, str] | None:
    """Return the last error in a line; one may name others, or be a whole traceback."""
    found, start = None, 0
    while match := re.compile(MESSAGE, re.ASCII).search(line, start):
        found, start = (match[1], match[2] or match[3] or ""), match.end(1)
    return found


def messages(claims: Iterable[Claim]) -> list[Message]:
    """Return all errors and warnings that claims print, or name in full.

    Those of the same words are one. Of the claims that print one, those that say `:explains:` come
    first, then those that print the fewest: they are about this one. An exception of an example's
    own, such as `Unreadable`, is none that anybody would look up.
    """
    printed = [(claim, [m for m in _told(claim) if _is_torchs(m)]) for claim in claims]
    printed.sort(key=lambda pair: (not pair[0].explains, len(pair[1])))
    found: dict[tuple[str, tuple[str, ...]], list[Message]] = {}
    for claim, printed_here in printed:
        for message in printed_here:
            same = found.setdefault((message.type, message.words), [])
            same.append(Message(message.type, message.text, (claim,)))
    merged = [
        replace(
            same[0],
            claims=tuple({m.claims[0].id: m.claims[0] for m in same}.values()),
            explained=int(same[0].claims[0].explains),
        )
        for same in found.values()
    ]
    return sorted(merged, key=lambda message: (message.type, message.text.lower()))


def place(page: Page, section: Section) -> str:
    """Return how a section is named here: `page#section`."""
    return f"{page.path.partition('/')[2].removesuffix('.md')}#{section.anchor}"


def wordings(pages: Iterable[tuple[Page, Iterable[Section]]]) -> Iterator[Message]:
    """Yield what else leads to a section: what askers paste, its heading, `WORDINGS`."""
    by_id = dict[str, tuple[str, Claim]]()
    for page, sections in pages:
        for section in sections:
            here = place(page, section)
            claims = sorted(section.claims(page), key=lambda c: (not c.explains, c.detail))
            by_id |= {claim.id: (here, claim) for claim in claims}
            yield from (replace(m, claims=(*claims[:1],), place=here) for m in _asked(section))
    for wording in tomllib.loads(WORDINGS.read_text("utf-8"))["wordings"]:
        if wording["claim"] in by_id:
            here, claim = by_id[wording["claim"]]
            yield replace(read(wording["said"]), claims=(claim,), place=here)


def _asked(section: Section) -> Iterator[Message]:
    of_error = is_error(section.title)
    headings = re.findall(r"`([^`]+)`", section.title) if of_error else []
    for line in [*headings, *section.asked]:
        message = replace(read(line), explained=2 * of_error)
        said = of_error and len(message.words) >= LEAST and _is_said(line)
        if line in headings or looks_like_error(line) or said:
            yield message


def _is_said(line: str) -> bool:
    return not re.search(ASKING, line) and re.search(SAID, line) is not None


def known(pages: Iterable[tuple[Page, Iterable[Section]]]) -> list[Message]:
    """Return all that a lookup compares with: messages, and wordings that are no message."""
    pages = [(page, [*sections]) for page, sections in pages]
    found = messages(claim for page, _ in pages for claim in page.claims)
    placed = [(c.id, place(p, s), s) for p, held in pages for s in held for c in s.claims(p)]
    where = {claim: here for claim, here, _ in placed}
    of_errors = {claim for claim, _, section in placed if is_error(section.title)}
    found = [_of_error(message, of_errors) for message in found]
    found = [replace(each, place=where.get(each.claims[0].id, "")) for each in found]
    said = {(m.type, m.words): m for m in sorted(wordings(pages), key=lambda m: m.explained)}
    merged = [_of_section(each, said.pop((each.type, each.words), each)) for each in found]
    return [*merged, *said.values()]


def _of_error(printed: Message, of_errors: Container[str]) -> Message:
    """Return a message, a claim first that explains it in a section that is about nothing else."""
    claims = sorted(printed.claims, key=lambda c: not (c.explains and c.id in of_errors))
    nothing_else = claims[0].explains and claims[0].id in of_errors
    explained = 2 if nothing_else else printed.explained
    return replace(printed, claims=(*claims,), explained=explained)


def _of_section(printed: Message, said: Message) -> Message:
    """Return a message that claims print; the section that is about nothing else comes first."""
    if said.explained <= printed.explained:
        return printed
    claims = {claim.id: claim for claim in (*said.claims, *printed.claims)}
    return replace(printed, claims=(*claims.values(),), place=said.place, explained=said.explained)


class Lookup:
    """Finds the messages that are most like the one in a text."""

    def __init__(self, among: Iterable[Message]) -> None:
        self._among = list(among)
        count = Counter(mark for message in self._among for mark in message.marks)
        self._weights = {mark: log(1 + len(self._among) / n) for mark, n in count.items()}
        self._unknown = log(1 + len(self._among))
        self._whole = [self._weight(message.marks) for message in self._among]

    def _weight(self, marks: Iterable[str]) -> float:
        return sum(self._weights.get(mark, self._unknown) for mark in marks)

    def search(self, text: str, limit: int = 5) -> list[Match]:
        """Return the messages most like the one in a text, the likest first.

        The likeness is the weight of the common marks over the geometric mean of the weights of
        both; a mark that few messages have weighs more, by the logarithm of its rarity. One of the
        two may be a part of the other, whose weight is bounded then: see `PART`. Of
        those nearly as like, the one that is explained comes first.
        """
        wanted = read(text)
        matches, asked = [], self._weight(wanted.marks)
        part = len(wanted.words) >= SOME
        for message, whole in zip(self._among, self._whole, strict=True):
            if common := message.marks & wanted.marks:
                size = min(whole, PART * asked) if part else whole
                text_size = min(asked, PART * whole) if len(message.words) >= SOME else asked
                likeness = self._weight(common) / sqrt(size * text_size)
                likeness += SAME_TYPE * (message.type == wanted.type or (part and not message.type))
                matches.append(Match(message, likeness))
        matches.sort(key=lambda m: -round(m.likeness + EXPLAINS * m.message.explained, 6))
        return matches[:limit]


def _is_torchs(message: Message) -> bool:
    return bool(message.type) and not re.match(PYTHONS, message.text)


def _told(claim: Claim) -> Iterator[Message]:
    yield from map(read, NAMED.findall(claim.statement))
    for want in dict.fromkeys(each.want for lane in Lane for each in claim.examples(lane)):
        before, *errors = want.split(HEADER)
        yield from (read(line) for line in before.split("\n") if STARTS.match(line))
        yield from (read(error) for error in errors if not error.endswith(WRAPS))


def lookup_data(
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
        "patterns": {
            "message": MESSAGE,
            "follows": FOLLOWS,
            "word": WORD,
            "noWords": NO_WORDS,
            "stop": STOP,
            "oneDtype": ONE_DTYPE,
            "noise": NOISE,
            "looks": LOOKS,
        },
        "numbers": {
            "sameType": SAME_TYPE,
            "explains": EXPLAINS,
            "like": LIKE,
            "part": PART,
            "some": SOME,
        },
        "messages": told,
        "sections": [sections[number] for number in used],
    }


def _message_data(message: Message, where: Mapping[str, int]) -> dict[str, Any]:
    claims = [claim for claim in message.claims if claim.id in where]
    places = [where[message.place]] if message.place in where else []
    return {
        "type": message.type,
        "text": message.text[:LENGTH],
        "words": " ".join(message.words),
        "explained": message.explained,
        "sections": [*dict.fromkeys([*places, *(where[claim.id] for claim in claims)])],
        "claims": [(c.id, first_sentence(c.statement), where[c.id]) for c in claims[:SHOWN]],
    }
