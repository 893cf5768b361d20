"""Collect the messages of the book: those that its examples print, and what people paste.

Each leads to the section and the claims that explain it.
"""

import re
import tomllib
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from claimbook.checking.compare import HEADER
from claimbook.exports.errors import CUT, TYPE, Message, looks_like_error, read
from claimbook.model import Claim, Lane, Page, Section
from claimbook.pages.sections import is_error

STARTS = re.compile(rf"(?:{TYPE})(?::|$)|\S+:\d+: {TYPE}:", re.ASCII)
"""The beginning of a line of output that is an error or a warning."""
WRAPS = "\nOriginal "
"""The end of an error that only wraps one from a worker process."""
NAMED = re.compile(rf"`({TYPE}: [^`]+)`", re.ASCII)
"""An error quoted in a statement, because its wording varies too much for an output."""
PYTHONS = "|".join(noise["pattern"] for noise in CUT["python"])
"""General errors of Python, which no example explains."""
WORDINGS = Path(__file__).with_name("wordings.toml")
"""Other wordings of messages, each with a claim that explains it."""
SAYS_NOTHING = (
    r"(?:Runtime|Value|Type|Key|Index|Attribute|Assertion|Import|NotImplemented|OS|EOF|User)?"
    r"(?:Error|Warning)"
)
"""Types so general that without a word they are no message."""
LEAST = 4
"""Fewest words of a line that counts as a message in a section about an error."""
ASKING = r"(?i)\b(?:pytorch|my|how|why|what|when|fix|difference|vs)\b|\?$"
SAID = r"^[^a-z]|[:'\"\[(]|\b(?:expected|must|not|cannot|invalid|failed)\b"
"""Signs that such a line is a question after all, and signs that it is a message."""


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


def merged(printed: Iterable[Message]) -> list[Message]:
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
    found = [
        replace(
            same[0],
            claims=tuple({m.claims[0].id: m.claims[0] for m in same}.values()),
            explained=int(same[0].claims[0].explains),
        )
        for same in by_words.values()
    ]
    return sorted(found, key=lambda message: (message.type, message.text.lower()))


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
    printed = merged(message for page in pages for message in page.printed)
    printed = [_of_error(message, of_errors) for message in printed]
    printed = [replace(each, place=where.get(each.claims[0].id, "")) for each in printed]
    other = [*(message for page in pages for message in page.asked), *_wordings(by_id)]
    asked = {(m.type, m.words): m for m in sorted(other, key=lambda m: m.explained)}
    both = [_of_section(each, asked.pop((each.type, each.words), each)) for each in printed]
    both += asked.values()
    by_form = {m.form: m for m in sorted(both, key=lambda m: m.explained)}
    led = [_of_section(each, by_form[each.form]) for each in both]
    return [_own_first(each, where) for each in led if _says_something(each)]


def _says_something(message: Message) -> bool:
    """Return whether a message has more words than a general type: `KeyError: 0` has not."""
    general = re.fullmatch(SAYS_NOTHING, message.type)
    return not general or message.words != (message.type.lower(),)


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
