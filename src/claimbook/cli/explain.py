"""The command `explain`: find the claims that explain a pasted error."""

import re
import sys
from contextlib import suppress
from pathlib import Path

import click

from claimbook.cli import common
from claimbook.exports import errors, lookup, messages
from claimbook.model import Section
from claimbook.pages.book import BookError

HINT = "Give the line that names a type, such as ValueError, with its message, or a file."

SHOWN = 3
"""Most messages that are shown."""


@click.command("explain")
@click.argument("given", nargs=-1, metavar="[ERROR|FILE]")
def explain_error(given: tuple[str, ...]) -> None:
    """Name the claims that reproduce an error.

    Give a message, a traceback or part of one: in quotes, as a file, or on standard input.
    """
    text = _text(" ".join(given))
    if not text.strip():
        raise BookError("there is nothing to explain: give an error in quotes, or pipe one in")
    book = common.load()
    known = messages.known([*map(messages.found, book.pages)], book.sections)
    matches = lookup.Lookup(known).search(text, SHOWN)
    by_place = {section.place: section for section in book.sections}
    for match in matches:
        _show(match, by_place.get(match.message.place))
    if not matches:
        common.say("No claim of the book prints an error like this one.")
        if text == " ".join(given) and re.fullmatch(r"\S*(/\S*|\.\w+)", text):
            common.err.print(f"No file {text} can be read.")
        if not errors.looks_like_error(text):
            common.err.print(HINT)
        sys.exit(1)


def _text(given: str) -> str:
    """Return the text to explain: of the named file, as given, or from standard input."""
    if given not in {"", "-"}:
        with suppress(OSError, ValueError):  # it is a message, not a file name
            return Path(given).read_text("utf-8", "replace")
        return given
    if sys.stdin.isatty():
        common.err.print("Paste an error here, and end it with Ctrl-D on a line of its own.")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def _show(match: lookup.Match, section: Section | None) -> None:
    message = match.message
    if not match.same:
        common.say("Not an exact match, but similar:")
    named = f"{click.style(message.type, bold=True)} " * bool(message.type)
    common.say(f"{named}{message.text}")
    if section and section.short:
        common.say(f"  {section.path}:{section.lines.start}")
        common.say(f"    {section.short}")
    for claim in message.claims:
        common.say(f"  {claim.location}  {click.style(claim.id, bold=True)}")
        common.say(f"    {claim.statement}")
    common.say("")
