"""The view `practice`: decks of cards, their data files, and the Anki deck."""

import os
import time
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

from claimbook.engine.environment import digest_of_code
from claimbook.exports import cards, markup
from claimbook.exports import deck as anki
from claimbook.exports.cards import SAID, Deck, cards_in, data_file, page_cards, said_cards
from claimbook.files import write_changed
from claimbook.sphinx.contents import parts
from claimbook.sphinx.domain import ClaimDomain, claim_domain

MAKERS = [Path(str(module.__file__)) for module in (cards, anki, markup)]
"""The modules that make cards."""


def decks(domain: ClaimDomain) -> list[Deck]:
    """Return the deck of statements by sources, and one for each part of the book."""
    said = said_cards(domain.book.answers.values())
    found = [Deck(SAID, "Often said: right or wrong?", list(said))]
    for part in parts(domain.env):
        made = [
            card
            for name in part.pages
            for card in page_cards(domain.pages[name].scanned, domain.pages[name].sections)
        ]
        if made and part.title:
            found.append(Deck(made[0].deck, part.title, made))
    return [deck for deck in found if deck.cards]


def show(domain: ClaimDomain) -> list[nodes.Node]:
    """Return the list of decks, which the page's script makes interactive, and the Anki file."""
    honest = nodes.paragraph("", "Practising on this page needs JavaScript, which is off.")
    items = map(_item, decks(domain))
    listed = nodes.bullet_list("", *items, classes=["practice-decks"])
    desk = nodes.container("", honest, listed, classes=["practice"])
    page, name = domain.page_with("practice").rpartition("/")[2], apkg(domain.env.config.project)
    file = nodes.reference("", name, refuri=f"{page}/{name}", classes=["practice-file"])
    return [desk, nodes.paragraph("", "", nodes.Text("The same cards for Anki: "), file)]


def _item(deck: Deck) -> nodes.list_item:
    size = nodes.inline("", f" {len(deck.cards)} cards", classes=["minutes"])
    line = nodes.paragraph("", "", nodes.inline("", deck.title), size)
    return nodes.list_item("", line, ids=[f"deck-{deck.name}"])


def apkg(project: str) -> str:
    """Return the file name of the Anki deck."""
    return f"{nodes.make_id(project)}.apkg"


def write_decks(app: Sphinx, folder: Path) -> None:
    """Write a data file for each deck, and the Anki deck if any has changed.

    Files of decks that no longer exist are removed.
    """
    found, made_with = decks(claim_domain(app.env)), digest_of_code(MAKERS)
    before = {path: path.read_text("utf-8") for path in folder.glob("*.js")}
    paths = {deck.title: folder / f"{deck.name}.js" for deck in found}
    texts = {
        paths[deck.title]: data_file(deck, made_with, before.get(paths[deck.title], ""))
        for deck in found
    }
    title, file = app.config.project, folder / apkg(app.config.project)
    if texts == before and file.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    data = {title: cards_in(texts[path]) for title, path in paths.items()}
    now = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    anki.write_deck(file, title, data, site=app.config.html_baseurl, seconds=now)
    for path, text in texts.items():  # last: if this is interrupted, the Anki deck is written again
        write_changed(path, text)
    for gone in before.keys() - texts.keys():
        gone.unlink()
