"""The command about versions of the book: `changes`."""

from collections.abc import Sequence

import click
from rich.markup import escape

from claimbook.cli import common
from claimbook.cli.keep import keep
from claimbook.cli.review import is_revision, review
from claimbook.pages.book import BookError
from claimbook.records.version_history import changes
from claimbook.records.versions import Contents, Version, Versions, contents_of


@click.command("changes")
@click.option("--since", metavar="VERSION|REVISION", help="Compare with that, not the newest.")
@click.option("--save", is_flag=True, help="Keep the book as it stands, under its version.")
def print_changes(since: str | None, save: bool) -> None:
    """Print what has changed in the book since its last version.

    With --save the book is kept under docs/records/versions/, and what changes from then on is
    compared with it. A book with a claim that has not run as printed is not kept. Since a revision
    of git, each change is printed as Markdown, before and after, for who reviews it.
    """
    book = common.load()
    common.tell_problems(book, ())  # what cannot be read looks withdrawn
    versions = Versions.of(book.project.docs).load_all(common.tell_broken)
    if since and since not in {each.name for each in versions} and is_revision(book, since):
        click.echo(review(book, since), nl=False)
    elif since or versions or not save:
        _print(_chosen(versions, since), contents_of(book.claims, book.answers))
    if save:
        common.out.print(f"kept as {book.project.name(keep(book))}", markup=False)


def _chosen(versions: list[Version], since: str | None) -> Version:
    by_name = {each.name: each for each in versions}
    if since and since not in by_name:
        known = f"there are {', '.join(by_name) or 'none'}"
        raise BookError(f"{since}: no revision of git and no version is called so; {known}")
    if not versions:
        raise BookError("no version is kept yet; --save keeps the book as it stands")
    return by_name[since or versions[-1].name]


def _print(older: Version, now: Contents) -> None:
    found = changes(older, now)
    since = f"since {older.name} of {older.recorded.date}"
    common.out.print(f"{since}: {found.told() or 'nothing changed'}")
    verdicts = [(v.id, v.before, v.after) for v in found.verdicts]
    _table(("entry", "before", "now"), verdicts)
    claims = [(c.id, c.page, ", ".join(c.kinds)) for c in found.claims]
    _table(("claim", "page", "what changed"), claims)


def _table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    if rows:
        table = common.plain_table(*titles, justify="left")
        for row in rows:
            table.add_row(*map(escape, row))
        common.out.print("", table, sep="\n")
