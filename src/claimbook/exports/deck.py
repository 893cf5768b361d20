"""Cards as an Anki deck, whose notes keep their ids: importing a newer one keeps the progress."""

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

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
        title: of the whole; Anki knows its notes' type by it, so it stays as it is.
        decks: title of a part → its cards, as `cards.card_data` gives them.
        site: the address that links begin with, ending in a slash; without one, pages are named.
        seconds: when the cards were made, since 1970; Anki updates notes that are older.
    """
    import genanki

    packed = [_deck(title, part, cards, site) for part, cards in decks.items()]
    new = path.with_suffix(".new")
    genanki.Package(packed).write_to_file(str(new), timestamp=float(seconds))
    new.replace(path)


def _deck(title: str, part: str, cards: Iterable[dict[str, Any]], site: str) -> Any:
    import genanki

    name = f"{title}::{part}"
    deck = genanki.Deck(_number(name), name)
    for card in cards:
        fields = [card["id"], card["topic"], card["ask"], _session(card), card["answer"]]
        fields.append(_link(card["link"], site))
        guid = genanki.guid_for(card["id"])
        deck.add_note(genanki.Note(_model(title), fields, guid=guid, tags=[card["kind"]]))
    return deck


@cache
def _model(title: str) -> Any:
    import genanki
    from pygments.formatters import HtmlFormatter

    light = HtmlFormatter(style="friendly").get_token_style_defs("pre")
    dark = HtmlFormatter(style="native").get_token_style_defs(".nightMode pre")
    return genanki.Model(
        _number(title),
        title,
        fields=[{"name": name} for name in FIELDS],
        templates=[{"name": "Card", "qfmt": FRONT, "afmt": BACK}],
        css=CSS + "\n".join([*light, *dark]),
    )


def _number(name: str) -> int:
    """Return the id by which Anki knows a deck or a model, for ever the same."""
    return (1 << 30) + int(hashlib.sha256(name.encode()).hexdigest()[:7], 16)


def _session(card: dict[str, Any]) -> str:
    """Return code and outputs, one beneath the other; a card without code has neither."""
    return "".join(
        f"<pre>{code}</pre>" + (f"<pre class=output><span>{out}</span></pre>" if out else "")
        for code, out in card["session"]
    )


def _link(link: str, site: str) -> str:
    place = link.replace(".html", "")
    return f'<a href="{site}{link}">{place}</a>' if site else place
