"""Write cards as an Anki deck; ids are stable, so importing a newer deck keeps progress."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pygments.formatters import HtmlFormatter

FIELDS = ("Id", "Topic", "Ask", "Session", "Answer", "Link")
ASK = "<div class=topic>{{Topic}}</div><div class=ask>{{Ask}}</div>"
FRONT = f"{ASK}<div class=front>{{{{Session}}}}</div>"
BACK = (
    f"{ASK}{{{{Session}}}}<hr id=answer><div>{{{{Answer}}}}</div><div class=link>{{{{Link}}}}</div>"
)
CSS = """\
.card { max-width: 44rem; margin: 1rem auto; padding: 0 0.5rem; font: 18px/1.5 sans-serif; }
.topic, .link { font-size: 80%; opacity: 0.75; }
.ask { margin: 0.3rem 0 0.8rem; font-weight: bold; }
pre { margin: 0; padding: 0.4rem 0.6rem; overflow-x: auto; font-size: 85%; background: #7f7f7f1a; }
pre.output { border-left: 3px solid #1a7f37; background: none; }
.front pre.output span { visibility: hidden; }
"""


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
        templates=[{"name": "Card", "qfmt": FRONT, "afmt": BACK}],
        css=CSS + "\n".join([*light, *dark]),
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
        f"<pre>{code}</pre>" + (f"<pre class=output><span>{out}</span></pre>" if out else "")
        for code, out in card["session"]
    )


def _link(link: str, site: str) -> str:
    place = link.replace(".html", "")
    return f'<a href="{site}{link}">{place}</a>' if site else place
