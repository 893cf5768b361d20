"""The command `explain`: an error is pasted, and the claims that reproduce it come back."""

import sys
from typing import TextIO

import click

from claimbook.cli import common
from claimbook.exports import errors
from claimbook.pages.book import BookError


@click.command("explain")
@click.argument("file", type=click.File(encoding="utf-8", errors="replace"), default="-")
@click.option("--limit", "-n", type=click.IntRange(min=1), default=3, show_default=True)
@common.as_json
def explain_error(file: TextIO, limit: int, as_json: bool) -> None:
    """Names the claims that reproduce an error.

    Reads a traceback, or any part of one, from FILE or from standard input.
    """
    if file.isatty():
        common.err.print("Paste an error here, and end it with Ctrl-D on a line of its own.")
    text = file.read()
    if not text.strip():
        raise BookError("there is nothing to explain: pipe a traceback in, or name a file")
    found = errors.search(errors.messages(common.load().claims), text, limit)
    matches = [match for match in found if match.likeness >= errors.LIKE]
    if as_json:
        common.print_json([_data(match) for match in matches])
        return
    for match in matches:
        _show(match)
    if not matches:
        common.out.print("No claim of the book prints an error like this one.")
        sys.exit(1)


def _show(match: errors.Match) -> None:
    message = match.message
    common.out.print(f"[bold]{message.type}[/]", end=" ")
    common.out.print(message.text, markup=False)
    for claim in message.claims:
        common.out.print(f"  {claim.location}  [bold]{claim.id}[/]")
        common.out.print(f"    {claim.statement}", markup=False)
    common.out.print()


def _data(match: errors.Match) -> dict[str, object]:
    return {
        "type": match.message.type,
        "text": match.message.text,
        "likeness": round(match.likeness, 3),
        "claims": [claim.id for claim in match.message.claims],
    }
