"""Split the prose of a page into sentences, each with its claim."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from claimbook.model import OUTSIDE_CODE
from claimbook.pages.myst import Block, Markdown
from claimbook.pages.text import SHORT, strip_markup

END = re.compile(r"(?<=[.?!:]) (?=[A-Z`*(\d])" + OUTSIDE_CODE)
"""The space before a sentence, after another or a colon: two in `It adds. Twice: (1) Here.`."""
WITH_PROSE = {"claim", "remark", "note", "tip", "warning", "dropdown"}
"""Directives whose content is read; that of others is code, data or drawn."""
POINTERS = "see also"
"""The heading over lists of links, which are left out."""
CODE, WORD = re.compile("`[^`]*`"), re.compile("[A-Za-z]+")
LEAST = 3
"""Fewest words outside of code that make a sentence."""
POINTING = re.compile(
    r"^\W*[\"\u201c]"
    r"|^\W*(?:So|It|Its|That|This|These|Those|They|Their|Both|Each|All of|Here|There|Then|Thus|Now"
    r"|The (?:first|second|third|last|next|other|rest|same|picture|two|three)|Causes and|The causes"
    r"|One of|Neither|But|And|Or|Also|Else|Otherwise|Only then|Instead)\b"
    r"|\b(?:example|picture|in this order|(?:above|below)(?=[.,:;]))\b"
)
"""What a sentence says that is read with others only; so is one that quotes a belief."""


@dataclass(frozen=True)
class Sentence:
    """A sentence of a page, as Markdown on one line."""

    text: str
    line: int
    """The first line of its paragraph or directive, counted from 1."""
    claim: str = ""
    """The id of the claim that it belongs to; empty outside of claims."""

    @property
    def stands_alone(self) -> bool:
        """Whether a hit may quote it: no fragment, no question, and nothing that points elsewhere.

        >>> said = "Views share memory.", "a view", "`x.view(-1)`.", "So does `x.T`.", "Which one?"
        >>> [Sentence(text, 1).stands_alone for text in said]
        [True, False, False, False, False]
        """
        ends = self.text.rstrip("`*)\"'\u201d").endswith((".", "!"))
        spoken = len(WORD.findall(CODE.sub(" ", self.text))) >= LEAST
        return ends and spoken and not POINTING.search(self.text)


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a page, without headings, code, outputs and short answers.

    >>> sentences("Views share memory. Copies raise `Error: No.`")[1]
    Sentence(text='Copies raise `Error: No.`', line=1, claim='')
    """
    return [*_walk(Markdown(text), "")]


def _walk(page: Markdown, claim: str) -> Iterator[Sentence]:
    in_heading = under_pointers = False
    for token in page.tokens:
        if token.type in ("heading_open", "heading_close"):
            in_heading = token.type == "heading_open"
        elif in_heading:
            under_pointers = token.content.lower() == POINTERS
        elif token.type == "inline":
            paragraph = strip_markup(token.content)
            if not (under_pointers or paragraph.startswith(SHORT)):
                line = page.line(token)
                yield from (Sentence(said, line, claim) for said in END.split(paragraph))
        else:
            for block in page.blocks([token]):
                yield from _directive(block, claim)


def _directive(block: Block, claim: str) -> Iterator[Sentence]:
    name, argument = block.directive
    if name in WITH_PROSE:
        inside = argument if name == "claim" else claim
        for sentence in _walk(block.body, inside):
            yield replace(sentence, line=block.line)
