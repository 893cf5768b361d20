"""Extract the error message from a pasted text, as words to compare.

Messages are compared by words and by pairs of adjacent words. Numbers, shapes, addresses and
devices differ between programs, so they are dropped; `noise.toml` lists what else is dropped, and
`forms.toml` the phrases that count as one word.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from html import unescape
from itertools import pairwise, takewhile
from pathlib import Path

from claimbook.model import Claim

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
ASSERTS = r"^[ \t]*assert [^\n]*, ?f?[\"'](.*)"
"""A source line with the message of an assertion, for a traceback that was cut off."""

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
    r"'[\w.]+' object has no attribute '|^module '[\w.]+' has no attribute '|^No module named \S",
    r"\bError\(s\) in loading state_dict for \w|\(\) received an invalid combination of arguments",
    r"\bsm_\d+ is not compatible",
    r"^(?:\S+:\d+:(?:\d+:)? )?(?:fatal )?error: |\berror [A-Z]+\d+: |^CMake Error\b",
    r"\bundefined reference to |\bcannot find -l\w|\bfailed assertion `",
    r"\[ONNXRuntimeError\]|\[[EWI]:\w+:|\bNo solution found when resolving ",
    r"\[[EWI]\d{3,}|^(?:WARNING|ERROR)\b|\(pid(?:\(s\))? ?\d+\)",
)
"""Signs that a text was printed by a program, not written by a person."""


@dataclass(frozen=True)
class Message:
    """An error, a warning or a line of a log, and the claims that reproduce it."""

    type: str
    text: str
    words: tuple[str, ...]
    """Its words, in order; the type if there is no text."""
    claims: tuple[Claim, ...] = ()
    place: str = ""
    """The section that explains it, as `page#section`."""
    explained: int = 0
    """2 if a section is about nothing else, 1 if a claim has `:explains:`, otherwise 0."""

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
        yield from (_message("", end[1]) for each in UNNAMED if (end := re.search(each, said)))
    if not named:
        yield _message("", text)
    read = set[tuple[str, ...]]()
    for number, kind, first in (failed or named)[: -READINGS - 1 : -1]:
        after = takewhile(lambda line: not _begins_another(line), lines[number + 1 :])
        whole = "\n".join([first, *after])
        for pattern in ADDED:
            whole = pattern.sub("", whole)
        whole = whole.strip()
        begins = whole.split("\n")
        for part in dict.fromkeys((whole, begins[0], "".join(begins[:2]))):
            message = _message(kind, part)
            if message.words not in read:
                read.add(message.words)
                yield message


def _decoded(text: str) -> str:
    text = re.sub(r"&#?\w+;", lambda entity: unescape(entity[0]), text, flags=re.ASCII)
    for pattern, meant in ENCODED:
        text = pattern.sub(meant, text)
    return text.strip()


def _message(kind: str, text: str) -> Message:
    name = kind.rpartition(".")[2]
    return Message(name, text, _words(text) or tuple(filter(None, [name.lower()])))


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
