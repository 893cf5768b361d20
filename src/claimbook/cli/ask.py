"""The commands that look things up in the book: `list`, `show`, `coverage`."""

import sys
from collections import Counter

import click
from rich.markup import escape

from claimbook.checking.report import session
from claimbook.cli import common
from claimbook.model import Claim, RelationKind
from claimbook.pages.book import BookError, unknown
from claimbook.pages.register import Answer

WORDS = [*map(str, RelationKind), "remark"]


@click.command("list")
@common.names
def list_claims(names: tuple[str, ...]) -> None:
    """List claims with their page and line."""
    claims = common.load().select(names)
    for claim in claims:
        place, lanes = escape(str(claim.location)), " ".join(claim.lanes)
        common.out.print(f"{place}  [bold]{claim.id}[/]  [dim]{lanes}[/]")
    common.say(common.counted(len(claims), "claim"))


@click.command()
@click.argument("names", nargs=-1, metavar="[SOURCE|QUESTION]...")
@click.option("--require", type=click.FloatRange(0, 100), help="Fail below this percentage.")
def coverage(names: tuple[str, ...], require: float | None) -> None:
    """Count the answered entries of each question.

    For named sources or questions, also print what would answer each open entry.
    """
    book = common.load()
    common.tell_problems(book, ["docs/register"])  # a broken file contributes no entries
    questions = {question.id: question for question in book.register.questions}
    known = {*questions, *(question.source for question in questions.values())}
    for name in sorted({*names} - known):
        raise BookError(unknown(name, "source or question", known, "see claimbook coverage"))
    groups: dict[str, dict[str, tuple[int, ...]]] = {}
    answers: list[Answer] = []
    for name, question in questions.items():
        if not names or {name, question.source} & {*names}:
            found = [book.answers[entry.id] for entry in question.entries]
            groups.setdefault(question.source, {})[name] = _counts(found)
            answers += found
    common.print_counts(groups, "question", *WORDS, "entries", "answered")
    if names:
        for answer in answers:
            if answer.word is None:
                where = f"{answer.entry.location}: {answer.entry.id}"
                common.say(f"{where}: {answer.wanted}")
    share = 100 * sum(answer.word is not None for answer in answers) / max(1, len(answers))
    if require is not None and share < require:
        common.warn(f"{share:.1f} % of the entries are answered, {require:g} % are required")
        sys.exit(1)


@click.command()
@click.argument("name", metavar="CLAIM|PAGE|ENTRY|QUESTION|SOURCE")
def show(name: str) -> None:
    """Show claims, or what the book says of entries and sources."""
    book = common.load()
    common.tell_problems(book, ["docs/register"])
    named: dict[str, list[Answer]] = {}
    for question in book.register.questions:
        for entry in question.entries:
            for known in (entry.id, question.id, question.source):
                named.setdefault(known, []).append(book.answers[entry.id])
    for answer in named.get(name, ()):
        _show_answer(answer)
    for claim in () if name in named else book.select([name], also=named):
        _show_claim(claim)


def _counts(answers: list[Answer]) -> tuple[int, ...]:
    words = Counter(answer.word for answer in answers)
    return (*(words[word] for word in WORDS), len(answers), len(answers) - words[None])


def _show_claim(claim: Claim) -> None:
    place, lanes = escape(str(claim.location)), " ".join(claim.lanes)
    common.out.print(f"[bold]{claim.id}[/]  {place}  [dim]{lanes}[/]")
    common.say(claim.statement + "\n")
    for line in session(claim):
        common.say(f"  {line}")
    for relation in claim.relations:
        common.out.print(f"\n{relation.kind} {relation.entry}", end="")
    common.out.print()


def _show_answer(answer: Answer) -> None:
    common.out.print(f"[bold]{answer.entry.id}[/]", end="  ")
    common.say(answer.entry.statement)
    common.say(answer.word or f"{answer.entry.location}: open: {answer.wanted}")
    for claim in answer.claims:
        common.say(f"  {claim.id}  {claim.location}: {claim.statement}")
    if answer.remark:
        common.say(f"  {answer.remark.location}: {answer.remark.text}")
