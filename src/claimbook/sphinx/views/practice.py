"""The view `practice`: decks of cards, their data files, and the Anki deck."""

import os
import time
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from claimbook.exports import deck as anki
from claimbook.exports.cards import SAID, Deck, card_data, page_cards, said_cards
from claimbook.sphinx.contents import parts
from claimbook.sphinx.data_files import is_made_of, made_of, read_script, write_script
from claimbook.sphinx.domain import ClaimDomain, claim_domain


def decks(domain: ClaimDomain) -> list[Deck]:
    """Return the deck of statements by sources, one for each part, one for each page of questions.

    Parts whose pages are in one folder share a deck.
    """
    said = said_cards(domain.book.answers.values())
    found = {SAID: Deck(SAID, "Often said: right or wrong?", list(said))}
    for part in parts(domain.env):
        made = [card for name in part.pages for card in page_cards(domain.pages[name].scanned)]
        if made and part.title:
            name = made[0].deck
            found.setdefault(name, Deck(name, part.title, [])).cards.extend(made)
    questions = {card.link: card for deck in found.values() for card in deck.cards}
    for docname, page in domain.pages.items():
        lines = [line for view in page.views if view.kind == "questions" for line in view.lines]
        addresses = (line.partition(" ")[0].replace("#", ".html#") for line in lines)
        if asked := [questions[each] for each in addresses if each in questions]:
            found[docname] = Deck(docname, domain.env.titles[docname].astext(), asked)
    return [deck for deck in found.values() if deck.cards]


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
    """Write the data files of decks whose cards have changed, and then the Anki deck.

    Highlighting takes most of the time, so cards that have not changed come from the last files.
    """
    title, site = app.config.project, app.config.html_baseurl
    found = {folder / f"{deck.name}.js": deck for deck in decks(claim_domain(app.env))}
    comments = {path: made_of(app, title, site, repr(deck)) for path, deck in found.items()}
    due = [path for path, comment in comments.items() if not is_made_of(path, comment)]
    gone = {*folder.glob("*.js")} - {*found}
    if not (due or gone):
        return
    folder.mkdir(parents=True, exist_ok=True)
    cards = {
        path: [*map(card_data, deck.cards)] if path in due else read_script(path)[1]
        for path, deck in found.items()
    }
    subdecks = dict[str, list[dict[str, Any]]]()
    noted = set[str]()
    for path, deck in found.items():  # two may have one title, and a card
        new = [card for card in cards[path] if card["id"] not in noted]
        noted.update(card["id"] for card in new)
        subdecks.setdefault(deck.title, []).extend(new)
    now = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    anki.write_deck(folder / apkg(title), title, subdecks, site=site, seconds=now)
    for path in gone:
        path.unlink()
    for path in due:  # last: what is interrupted is done again
        name, comment = found[path].name, comments[path]
        write_script(path, "practiceCards", name, cards[path], comment=comment)
