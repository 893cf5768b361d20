"""Make practice cards from the book's questions, its claims and its sources."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from itertools import groupby
from typing import Any

from markdown_it import MarkdownIt
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from claimbook.exports.listing import listing, pieces
from claimbook.model import Claim, Page, RelationKind, anchor
from claimbook.pages.register import Answer
from claimbook.pages.text import curly

MARKDOWN = MarkdownIt("commonmark", {"html": False})
HTML = HtmlFormatter(nowrap=True)
SAID = "said"
"""The deck of statements by sources, right or wrong."""


class CardKind(StrEnum):
    """What a card asks."""

    QUESTION = "question"
    OUTPUT = "output"
    BELIEF = "belief"


@dataclass(frozen=True)
class Card:
    """A flash card; every text is Markdown on one line."""

    id: str
    """Made from a claim's id, so that it survives rewording."""
    kind: CardKind
    deck: str
    """The folder of its page, or `SAID`."""
    ask: str
    answer: str
    link: str
    """The address of the answer: `page.html#anchor`."""
    topic: str = ""
    """The subject of the question, if it does not name it."""
    session: tuple[tuple[str, str], ...] = ()
    """Pieces of code, each with its output, which is part of the answer."""


@dataclass(frozen=True)
class Deck:
    """A named set of cards."""

    name: str
    title: str
    cards: list[Card]


def page_cards(page: Page) -> Iterator[Card]:
    """Yield a card for each question of a page and for each claim's output, in page order."""
    deck = page.docname.partition("/")[0]
    for section in page.sections:
        if section.short and section.claims:
            yield Card(
                f"question-{section.claims[0].id}",
                CardKind.QUESTION,
                deck,
                ask=section.title,
                answer=section.short,
                link=section.address,
            )
        for claim in section.claims:
            yield Card(
                f"output-{claim.id}",
                CardKind.OUTPUT,
                deck,
                ask="What does it print?",
                answer=claim.statement,
                link=_link(claim),
                session=tuple(
                    (listing(piece), piece[-1].want)
                    for piece in pieces(claim.examples(claim.lanes[0]))
                ),
            )


def said_cards(answers: Iterable[Answer]) -> Iterator[Card]:
    """Yield true-or-false cards of statements by sources.

    They are all the wrong ones and, for each question, at most as many right ones.

    Args:
        answers: in the order of the register.
    """
    for _, group in groupby(answers, key=lambda answer: answer.entry.id.rpartition(".")[0]):
        of_question = list(group)
        wrong = [answer for answer in of_question if answer.kind is RelationKind.CORRECTS]
        right = [answer for answer in of_question if answer.kind is RelationKind.CONFIRMS]
        asked = [*wrong, *right[: len(wrong)]]
        for answer in (each for each in of_question if each in asked):
            entry, claim = answer.entry, answer.claims[0]
            verdict = "Wrong" if answer in wrong else "Right"
            yield Card(
                f"said-{claim.id}-{entry.id}",
                CardKind.BELIEF,
                SAID,
                ask=_escaped(entry.statement),
                answer=f"**{verdict}.** {claim.statement}",
                link=_link(claim),
                topic=f"True or false? Said in answer to: *{_escaped(entry.question)}*",
            )


def _link(claim: Claim) -> str:
    return f"{claim.docname}.html#{anchor(claim.id)}"


def _escaped(text: str) -> str:
    """Escape plain text of the register for Markdown."""
    return re.sub(r"([\\`*_<\[])", r"\\\1", text)


def card_data(card: Card) -> dict[str, Any]:
    """Return a card as data for the practice page and the Anki deck; texts and code are HTML."""
    return {
        "id": card.id,
        "kind": card.kind,
        "topic": inline(card.topic),
        "ask": inline(card.ask),
        "session": [[highlighted(code), escape(want, quote=False)] for code, want in card.session],
        "answer": inline(card.answer),
        "link": card.link,
    }


def inline(text: str) -> str:
    """Return inline Markdown as HTML; HTML in it is escaped, and quotes become curly."""
    return str(MARKDOWN.renderInline(curly(text)))


def highlighted(text: str) -> str:
    """Return Python code as HTML with Pygments' classes, without a wrapping element."""
    return str(highlight(text, PythonLexer(), HTML)).rstrip("\n")
