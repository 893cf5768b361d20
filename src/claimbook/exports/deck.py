"""Write cards as an Anki deck; ids are stable, so importing a newer deck keeps progress."""

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pygments.formatters import HtmlFormatter

from claimbook.checking.compare import HEADER

FIELDS = ("Id", "Topic", "Ask", "Session", "Answer", "Link")
"""Those of a note; `deck.toml` shows all but the first."""
LOOK = tomllib.loads(Path(__file__).with_name("deck.toml").read_text("utf-8"))


def write_deck(
    path: Path,
    title: str,
    decks: Mapping[str, Iterable[dict[str, Any]]],
    *,
    site: str,
    seconds: int,
) -> None:
    """Write an `.apkg`.

    Args:
        title: of the whole deck; do not change it, as it identifies the note type in Anki.
        decks: title of a subdeck → its cards, as returned by `cards.card_data`.
        site: the base address of links, ending in a slash; if empty, pages are only named.
        seconds: creation time of the cards, in seconds since 1970; Anki updates older notes.
    """
    import genanki

    light = HtmlFormatter(style="friendly").get_token_style_defs("pre")
    dark = HtmlFormatter(style="native").get_token_style_defs(".nightMode pre")
    model = genanki.Model(
        _number(title),
        title,
        fields=[{"name": name} for name in FIELDS],
        templates=[{"name": "Card", "qfmt": LOOK["front"], "afmt": LOOK["back"]}],
        css=LOOK["css"] + "\n".join([*light, *dark]),
    )
    package = genanki.Package([])
    for part, cards in decks.items():
        name = f"{title}::{part}"
        deck = genanki.Deck(_number(name), name)
        for card in cards:
            fields = [card["id"], card["topic"], card["ask"], _session(card), card["answer"]]
            fields.append(_link(card["link"], site))
            guid = genanki.guid_for(card["id"])
            deck.add_note(genanki.Note(model, fields, guid=guid, tags=[card["kind"]]))
        package.decks.append(deck)
    new = path.with_suffix(".new")  # genanki writes into the file itself
    package.write_to_file(str(new), timestamp=float(seconds))
    new.replace(path)


def _number(name: str) -> int:
    """Return the stable id of a deck or model in Anki."""
    return (1 << 30) + int(hashlib.sha256(name.encode()).hexdigest()[:7], 16)


def _session(card: dict[str, Any]) -> str:
    """Return a card's code and outputs as HTML; empty for a card without code."""
    return "".join(
        f"<pre>{code}</pre>" + (_output(out) if out else "") for code, out in card["session"]
    )


def _output(text: str) -> str:
    """Return an output as HTML; messages wrap, while the columns of a tensor would break."""
    message = " message" if HEADER in text or "Warning: " in text else ""
    return f'<pre class="output{message}"><span>{text}</span></pre>'


def _link(link: str, site: str) -> str:
    place = link.replace(".html", "")
    return f'<a href="{site}{link}">{place}</a>' if site else place
