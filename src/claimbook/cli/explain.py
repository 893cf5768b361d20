"""The command `explain`: an error is pasted, and what explains it comes back."""

import sys
from typing import TextIO

import click

from claimbook.cli import common
from claimbook.exports import errors
from claimbook.exports.sections import Section, sections
from claimbook.pages.book import BookError


@click.command("explain")
@click.argument("file", type=click.File(encoding="utf-8", errors="replace"), default="-")
@click.option("--limit", "-n", type=click.IntRange(min=1), default=3, show_default=True)
def explain_error(file: TextIO, limit: int) -> None:
    """Names the claims that reproduce an error.

    Reads a traceback, or any part of one, from FILE or from standard input.
    """
    if file.isatty():
        common.err.print("Paste an error here, and end it with Ctrl-D on a line of its own.")
    text = file.read()
    if not text.strip():
        raise BookError("there is nothing to explain: pipe a traceback in, or name a file")
    book = common.load()
    root = book.project.root
    pages = [(page, sections((root / page.path).read_text("utf-8"))) for page in book.pages]
    found = errors.search(errors.known(pages), text, limit)
    matches = [match for match in found if match.likeness >= errors.LIKE]
    shorts = {errors.place(page, section): section for page, there in pages for section in there}
    for match in matches:
        _show(match, shorts.get(match.message.place))
    if not matches:
        _tell_of_nothing(text)
        sys.exit(1)


def _tell_of_nothing(text: str) -> None:
    common.out.print("No claim of the book prints an error like this one.")
    if not errors.looks_like_error(text):
        common.err.print("Paste the line that names a type, such as ValueError, with its message.")


def _show(match: errors.Match, section: Section | None) -> None:
    message = match.message
    common.out.print(f"[bold]{message.type}[/]", end=" " * bool(message.type))
    common.out.print(message.text, markup=False)
    if section and section.short:
        common.out.print(f"  {message.place}", markup=False)
        common.out.print(f"    {section.short}", markup=False)
    for claim in message.claims:
        common.out.print(f"  {claim.location}  [bold]{claim.id}[/]")
        common.out.print(f"    {claim.statement}", markup=False)
    common.out.print()
