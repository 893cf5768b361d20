"""The command `explain`: an error is pasted, and what explains it comes back."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import click

from claimbook.cli import common
from claimbook.exports import errors, lookup
from claimbook.exports.sections import Section, sections
from claimbook.files import read_text
from claimbook.model import ProblemKind
from claimbook.pages.book import BookError

AT_MOST = 2**23
"""Bytes that are read of a file."""


@click.command("explain")
@click.argument("given", nargs=-1, metavar="[ERROR|FILE]")
@click.option("--limit", "-n", type=click.IntRange(min=1), default=3, show_default=True)
def explain_error(given: tuple[str, ...], limit: int) -> None:
    """Name the claims that reproduce an error.

    The error is a message, a traceback or a part of one: given in quotes, in a file, or, without
    either, on standard input.
    """
    text = _text(" ".join(given))
    if not text.strip():
        raise BookError("there is nothing to explain: give an error in quotes, or pipe one in")
    book = common.load()
    root = book.project.root
    unread = {p.location.path for p in book.problems if p.kind is ProblemKind.UNREADABLE}
    read = [page for page in book.pages if page.path not in unread]
    pages = [(page, sections(read_text(root / page.path))) for page in read]
    matches = lookup.Lookup(errors.known(errors.messages(book.claims), pages)).search(text, limit)
    shorts = {errors.place(page, section): section for page, there in pages for section in there}
    for match in matches:
        _show(match, shorts.get(match.message.place))
    if not matches:
        _tell_of_nothing(text)
        sys.exit(1)


def _text(given: str) -> str:
    """Return what is to be explained: what was given, a file of that name, or what is piped."""
    if given not in {"", "-"}:
        # No message names a file, and some are too long to.
        with suppress(OSError, ValueError), Path(given).open("rb") as file:
            return _start(file)
        return given
    if sys.stdin.isatty():
        common.err.print("Paste an error here, and end it with Ctrl-D on a line of its own.")
    return _start(sys.stdin.buffer)


def _start(file: BinaryIO) -> str:
    """Read as much of a file as a log may hold; a device has no end."""
    data = file.read(AT_MOST + 1)  # at once: a terminal that is read again after its end waits
    if len(data) > AT_MOST:
        common.warn(f"only the first {AT_MOST // 2**20} MiB are read")
    return data[:AT_MOST].decode("utf-8", "replace")


def _tell_of_nothing(text: str) -> None:
    common.out.print("No claim of the book prints an error like this one.")
    if not errors.looks_like_error(text):
        hint = "Give the line that names a type, such as ValueError, with its message, or a file."
        common.err.print(hint)


def _show(match: lookup.Match, section: Section | None) -> None:
    message = match.message
    if not match.same:
        common.out.print("Not word for word, but near:")
    common.out.print(f"[bold]{message.type}[/]", end=" " * bool(message.type))
    common.out.print(message.text, markup=False)
    if section and section.short:
        common.out.print(f"  {message.place}", markup=False)
        common.out.print(f"    {section.short}", markup=False)
    for claim in message.claims:
        common.out.print(f"  {claim.location}  [bold]{claim.id}[/]")
        common.out.print(f"    {claim.statement}", markup=False)
    common.out.print()
