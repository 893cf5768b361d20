"""The commands that look things up in the book: `list`, `show`."""

import sys

import click

from claimbook.cli import common
from claimbook.model import Claim
from claimbook.pages.book import BookError
from claimbook.pages.register import Answer


@click.command("list")
@common.names
def list_claims(names: tuple[str, ...]) -> None:
    """List claims with their page and line."""
    claims = common.load().select(names)
    for claim in claims:
        common.say(f"{claim.location}  {click.style(claim.id, bold=True)}  {_lanes(claim)}")
    common.say(common.counted(len(claims), "claim"))


@click.command()
@click.argument("name", metavar="CLAIM|PAGE|ENTRY|QUESTION|SOURCE")
@click.option("--open", "open_only", is_flag=True, help="Show only the entries without an answer.")
def show(name: str, open_only: bool) -> None:
    """Show claims, or what the book says of entries and sources.

    With --open, exit status 1 if there are such entries.
    """
    book = common.load()
    common.tell_problems(book, ["docs/register"])
    named: dict[str, list[Answer]] = {}
    for question in book.register.questions:
        for entry in question.entries:
            for known in (entry.id, question.id, question.source):
                named.setdefault(known, []).append(book.answers[entry.id])
    shown = [each for each in named.get(name, ()) if not (open_only and each.word)]
    for answer in shown:
        _show_answer(answer)
    claims = [] if name in named else book.select([name], also=named)
    if open_only and claims:
        raise BookError(f"{name}: --open is about an entry, a question or a source")
    for claim in claims:
        _show_claim(claim)
    sys.exit(1 if open_only and shown else 0)


def _show_claim(claim: Claim) -> None:
    common.say(f"{click.style(claim.id, bold=True)}  {claim.location}  {_lanes(claim)}")
    common.say(claim.markdown)


def _lanes(claim: Claim) -> str:
    return click.style(" ".join(claim.lanes), dim=True)


def _show_answer(answer: Answer) -> None:
    common.say(f"{click.style(answer.entry.id, bold=True)}  {answer.entry.statement}")
    common.say(answer.word or f"{answer.entry.location}: open: {answer.wanted}")
    for claim in answer.claims:
        common.say(f"  {claim.id}  {claim.location}: {claim.statement}")
    if answer.remark:
        common.say(f"  {answer.remark.location}: {answer.remark.text}")
