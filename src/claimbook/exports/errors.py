"""Collect the error messages of the book, and extract the message from a pasted text.

Messages are compared by words and by pairs of adjacent words. Numbers, shapes, addresses and
devices differ between programs, so they are dropped; `noise.toml` lists what else is dropped, and
`forms.toml` the phrases that count as one word.
"""

import re
import tomllib
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from html import unescape
from itertools import chain, pairwise, takewhile
from pathlib import Path
from typing import NamedTuple

from claimbook.checking.compare import HEADER
from claimbook.model import Claim, Lane, Page, Section
from claimbook.pages.sections import is_error

TYPE = r"[A-Za-z_][\w.]*(?:Error|Exception|Warning|SymNode|[a-z.]error|\bexc\.[A-Z]\w+)"
BEFORE = r"(?:^|[*>:\s\]\"'`(])"
"""What may stand before the type of an error: nothing, or the end of a prefix."""
MESSAGE = rf"{BEFORE}({TYPE})(?:'>)?(?::[ \t]*(.*)|\([\"'](.*)|$)"
WORD = r"\b[a-z_][a-z_0-9]*(?:\.[a-z_][a-z_0-9]*)*"
NO_WORDS = ["cpu", "cuda", "meta", "mps", "xpu"]
DTYPES = {
    "float": re.compile(r"\b(?:b?float\d*|double|half)\b"),
    "int": re.compile(r"\b(?:u?int\d*|byte|char|short|long)\b"),
}
"""Interchangeable dtype names in messages: floats, and integers."""
STOP = r"\.(?=[A-Z])"
"""The end of a sentence without a space after it, as some of torch's messages have."""
STARTS = re.compile(rf"(?:{TYPE})(?::|$)|\S+:\d+: {TYPE}:", re.ASCII)
"""The beginning of a line of output that is an error or a warning."""
ASSERTS = r"^[ \t]*assert [^\n]*, ?f?[\"'](.*)"
"""A source line with the message of an assertion, for a traceback that was cut off."""
WRAPS = "\nOriginal "
"""The end of an error that only wraps one from a worker process."""
NAMED = re.compile(rf"`({TYPE}: [^`]+)`", re.ASCII)
"""An error quoted in a statement, because its wording varies too much for an output."""

FORMS = [
    (re.compile(form["pattern"], re.ASCII), form["word"])
    for form in tomllib.loads(Path(__file__).with_name("forms.toml").read_text("utf-8"))["form"]
]
"""Phrases particular to torch or Python, each with the word that replaces it."""

CUT = tomllib.loads(Path(__file__).with_name("noise.toml").read_text("utf-8"))
ECHOES = "|".join(noise["pattern"] for noise in CUT["echo"])
"""What follows the error to explain, and only says that a process ended."""
ENCODED = [(re.compile(noise["pattern"], re.ASCII), noise["meant"]) for noise in CUT["encoded"]]
"""What a terminal, a web page or a log writes, and what it stands for."""
TRACEBACK = "Traceback (most recent call last)"
SIGNAL = r"[Kk]illed|[Ss]egmentation fault|[Bb]us error|Aborted"
UNNAMED = (
    r"\bwhat\(\):[ \t]*([^\n]+)",
    rf"(?:^|[\n\]]|\d +|zsh: )({SIGNAL})(?=$|\n|  | \()",
    r"\b(invoked oom-killer|oom-kill:constraint=|(?:[Tt]erminated|[Kk]illed) by signal \d+)",
)
"""What ends a program where no error of Python is named: an exception of C++, a signal, and the
kernel's words for one."""
READINGS = 5
"""Most errors of a text that are looked up, until one is known."""
ADDED = [re.compile(noise["pattern"], re.ASCII) for noise in CUT["added"]]
"""Additions of torch or Python to any message; not shown."""
PYTHONS = "|".join(noise["pattern"] for noise in CUT["python"])
"""General errors of Python, which no example explains."""
NOISE = [
    re.compile(noise["pattern"], re.ASCII)
    for kind, noises in CUT.items()
    if kind not in {"echo", "encoded"}
    for noise in noises
]
"""Parts of messages that are not compared."""

LOOKS = (
    rf"{BEFORE}{TYPE}(?::|\()|^[ \t]*{TYPE}$",
    r"Traceback \(most recent|File \"[^\"]+\", line \d|\w\.(?:py|cpp|cu):\d+",
    r"Assertion `|CUDA error|ProcessGroupNCCL|WorkNCCL|torch\._dynamo|\[rank ?\d+\]|c10::",
    r"\bCU[A-Z]+_STATUS_[A-Z]",
    r"\bsm_\d+ is not compatible",
    r"\[[EWI]\d{3,}|^(?:WARNING|ERROR)\b|\(pid(?:\(s\))? ?\d+\)",
)
"""Signs that a text was printed by a program, not written by a person."""

WORDINGS = Path(__file__).with_name("wordings.toml")
SAYS_NOTHING = (
    r"(?:Runtime|Value|Type|Key|Index|Attribute|Assertion|Import|OS|EOF|User)?(?:Error|Warning)"
)
"""Types so general that without a text they are no message."""
LEAST = 4
"""Fewest words of a line that counts as a message in a section about an error."""
ASKING = r"(?i)\b(?:pytorch|my|how|why|what|when|fix|difference|vs)\b|\?$"
SAID = r"^[^a-z]|[:'\"\[(]|\b(?:expected|must|not|cannot|invalid|failed)\b"
"""Signs that such a line is a question after all, and signs that it is a message."""


@dataclass(frozen=True)
class Message:
    """An error, a warning or a line of a log, and the claims that reproduce it."""

    type: str
    text: str
    claims: tuple[Claim, ...] = ()
    place: str = ""
    """The section that explains it, as `page#section`."""
    explained: int = 0
    """2 if a section is about nothing else, 1 if a claim has `:explains:`, otherwise 0."""

    @property
    def words(self) -> tuple[str, ...]:
        """Its words, in order; the type if there is no text."""
        return _words(self.text) or tuple(filter(None, [self.type.lower()]))

    @cached_property
    def form(self) -> tuple[str, str]:
        """Its type and words, with one name for all float dtypes and one for all integers."""
        form = " ".join(self.words)
        for name, like in DTYPES.items():
            form = like.sub(name, form)
        return (self.type, form)

    @cached_property
    def marks(self) -> frozenset[str]:
        """What is compared: its words and pairs of adjacent words."""
        return frozenset(self.words) | frozenset(map(" ".join, pairwise(self.words)))


@cache
def _words(text: str) -> tuple[str, ...]:
    for form, word in FORMS:
        text = form.sub(word, text)
    text = re.sub(STOP, ". ", text)
    for pattern in NOISE:
        text = pattern.sub(" ", text)
    return tuple(w for w in re.findall(WORD, text.lower(), re.ASCII) if w not in NO_WORDS)


def looks_like_error(text: str) -> bool:
    """Return whether a text looks printed by a program.

    >>> looks_like_error("RuntimeError: no"), looks_like_error("what is a RuntimeError")
    (True, False)
    """
    said = _decoded(text)
    return any(re.search(pattern, said, re.ASCII | re.MULTILINE) for pattern in LOOKS)


def read(text: str) -> Message:
    r"""Return the error in a program's output that is to be explained; all of it if none is named.

    This is the last error, without what only follows it (see `ECHOES`); if there is no error, the
    last warning.

    >>> read("Traceback (most recent call last):\n  ...\nValueError: too small").type
    'ValueError'
    """
    return next(readings(text))


def readings(text: str) -> Iterator[Message]:
    """Yield what may be the error to explain, likeliest first.

    A text goes on after its error, with lines of other programs, or was wrapped within words; and
    the last error may only say that another, further up, ended the program. So the first line of
    an error is a reading too, and its first two lines as one, and so are the errors before it, up
    to `READINGS` of them.
    """
    text = _decoded(text)
    for said in (re.sub(ECHOES, "", text), text):
        lines = said.split("\n")
        named = [(n, *found) for n, line in enumerate(lines) if (found := _typed(line))]
        if failed := [each for each in named if not each[1].endswith("Warning")]:
            break
        yield from (Message("", end[1]) for each in UNNAMED if (end := re.search(each, said)))
    if not named:
        yield Message("", text)
    read = set[tuple[str, ...]]()
    for number, kind, first in (failed or named)[: -READINGS - 1 : -1]:
        after = takewhile(lambda line: not _begins_another(line), lines[number + 1 :])
        whole = _message(kind, "\n".join([first, *after]))
        begins = whole.text.split("\n")
        for part in dict.fromkeys((whole.text, begins[0], "".join(begins[:2]))):
            message = replace(whole, text=part)
            if message.words not in read:
                read.add(message.words)
                yield message


def _decoded(text: str) -> str:
    text = re.sub(r"&#?\w+;", lambda entity: unescape(entity[0]), text, flags=re.ASCII)
    for pattern, meant in ENCODED:
        text = pattern.sub(meant, text)
    return text.strip()


def _message(kind: str, said: str) -> Message:
    for pattern in ADDED:
        said = pattern.sub("", said)
    return Message(kind.rpartition(".")[2], said.strip())


def _begins_another(line: str) -> bool:
    return TRACEBACK in line or _typed(line) is not None


def _typed(line: str) -> tuple[str, str] | None:
    """Return type and text of the last error named in a line; None if there is none."""
    found, start = None, 0
    while match := re.compile(MESSAGE, re.ASCII).search(line, start):
        found, start = (match[1], match[2] or match[3] or ""), match.end(1)
    if not found and (asserted := re.match(ASSERTS, line)):
        return "AssertionError", asserted[1]
    return found


class Found(NamedTuple):
    """The messages of a page."""

    printed: list[Message]
    """The errors and warnings that its claims print, or quote in full."""
    asked: list[Message]
    """Other messages that lead to its sections: pasted lines and headings."""


def found(page: Page) -> Found:
    """Return the messages of a page, each with the claims that reproduce or explain it.

    Exceptions that an example defines are left out.
    """
    told = ((claim, message) for claim in page.claims for message in _told(claim))
    printed = [replace(message, claims=(claim,)) for claim, message in told if _is_torchs(message)]
    asked = [message for section in page.sections for message in _asked(section)]
    return Found(printed, asked)


def messages(printed: Iterable[Message]) -> list[Message]:
    """Merge printed messages with the same words.

    Their claims are in order: those with `:explains:` first, then those that print the fewest
    messages.
    """
    by_claim: dict[str, list[Message]] = {}
    for message in printed:
        by_claim.setdefault(message.claims[0].id, []).append(message)
    groups = sorted(by_claim.values(), key=lambda each: (not each[0].claims[0].explains, len(each)))
    by_words: dict[tuple[str, tuple[str, ...]], list[Message]] = {}
    for message in chain.from_iterable(groups):
        by_words.setdefault((message.type, message.words), []).append(message)
    merged = [
        replace(
            same[0],
            claims=tuple({m.claims[0].id: m.claims[0] for m in same}.values()),
            explained=int(same[0].claims[0].explains),
        )
        for same in by_words.values()
    ]
    return sorted(merged, key=lambda message: (message.type, message.text.lower()))


def _wordings(by_id: Mapping[str, tuple[str, Claim]]) -> Iterator[Message]:
    """Yield the messages in `WORDINGS`, given each claim's section and the claim by its id."""
    for wording in tomllib.loads(WORDINGS.read_text("utf-8"))["wordings"]:
        if wording["claim"] in by_id:
            place, claim = by_id[wording["claim"]]
            yield replace(read(wording["said"]), claims=(claim,), place=place)


def _about_all(section: Section) -> Sequence[Claim]:
    """Return the claim for any message pasted there; none if several claims explain errors."""
    claims = sorted(section.claims, key=lambda c: (not c.explains, c.detail))
    if is_error(section.title):
        return claims[:1]
    explaining = [claim for claim in claims if claim.explains]
    return explaining if len(explaining) == 1 else []


def _asked(section: Section) -> Iterator[Message]:
    of_error, claims = is_error(section.title), (*_about_all(section),)
    headings = re.findall(r"`([^`]+)`", section.title) if of_error else []
    for line in [*headings, *section.asked]:
        if line in headings or looks_like_error(line) or (of_error and _is_said(line)):
            message = read(line)
            if message.words:
                explained = 2 * of_error
                yield replace(message, claims=claims, place=section.place, explained=explained)


def _is_said(line: str) -> bool:
    asks = re.search(ASKING, line) or not re.search(SAID, line)
    return not asks and len(read(line).words) >= LEAST


def known(pages: Collection[Found], sections: Iterable[Section]) -> list[Message]:
    """Return everything that a lookup compares with: printed messages and other wordings.

    Args:
        pages: the messages of each page.
        sections: the sections of all pages.
    """
    placed = [(claim, section) for section in sections for claim in section.claims]
    by_id = {claim.id: (section.place, claim) for claim, section in placed}
    where = {name: place for name, (place, _) in by_id.items()}
    of_errors = {claim.id for claim, section in placed if is_error(section.title)}
    printed = messages(message for page in pages for message in page.printed)
    printed = [_of_error(message, of_errors) for message in printed]
    printed = [replace(each, place=where.get(each.claims[0].id, "")) for each in printed]
    other = [*(message for page in pages for message in page.asked), *_wordings(by_id)]
    asked = {(m.type, m.words): m for m in sorted(other, key=lambda m: m.explained)}
    merged = [_of_section(each, asked.pop((each.type, each.words), each)) for each in printed]
    merged += asked.values()
    by_form = {m.form: m for m in sorted(merged, key=lambda m: m.explained)}
    led = [_of_section(each, by_form[each.form]) for each in merged]
    said = [m for m in led if m.text or not re.fullmatch(SAYS_NOTHING, m.type)]
    return [_own_first(each, where) for each in said]


def _own_first(message: Message, where: Mapping[str, str]) -> Message:
    """Return a message with the claims of its own section first."""
    claims = sorted(message.claims, key=lambda claim: where.get(claim.id) != message.place)
    return replace(message, claims=(*claims,))


def _of_error(printed: Message, of_errors: Container[str]) -> Message:
    """Return a message with a claim first that explains it in a section about nothing else."""
    claims = sorted(printed.claims, key=lambda c: not (c.explains and c.id in of_errors))
    nothing_else = claims[0].explains and claims[0].id in of_errors
    explained = 2 if nothing_else else printed.explained
    return replace(printed, claims=(*claims,), explained=explained)


def _of_section(printed: Message, said: Message) -> Message:
    """Return a printed message, moved to the section that is more about it, if any."""
    if said.explained <= printed.explained:
        return printed
    claims = {claim.id: claim for claim in (*said.claims, *printed.claims)}
    return replace(printed, claims=(*claims.values(),), place=said.place, explained=said.explained)


def _is_torchs(message: Message) -> bool:
    return bool(message.type) and not re.match(PYTHONS, message.text)


def _told(claim: Claim) -> Iterator[Message]:
    yield from map(read, NAMED.findall(claim.statement))
    for want in dict.fromkeys(each.want for lane in Lane for each in claim.examples(lane)):
        before, *errors = want.split(HEADER)
        yield from (read(line) for line in before.split("\n") if STARTS.match(line))
        yield from (read(error) for error in errors if not error.endswith(WRAPS))
