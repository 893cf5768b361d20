"""The command about versions of the book: `changes`."""

import click

from claimbook.cli import common
from claimbook.cli.keep import keep
from claimbook.cli.review import is_revision, report, review, told
from claimbook.pages.book import BookError
from claimbook.records.version_history import changes
from claimbook.records.versions import Version, Versions, contents_of


@click.command("changes")
@click.option("--since", metavar="VERSION|REVISION", help="Compare with that, not the newest.")
@click.option("--save", is_flag=True, help="Keep the book as it stands, under its version.")
def print_changes(since: str | None, save: bool) -> None:
    """Print what has changed in the book since its last version.

    With --save the book is kept under docs/records/versions/, and what changes from then on is
    compared with it. A book with a claim that has not run as printed is not kept. Since a revision
    of git, what a claim said before and says now is printed too, for who reviews it.
    """
    book = common.load()
    common.tell_problems(book, ())  # what cannot be read looks withdrawn
    versions = Versions.of(book.project.docs).load_all(common.tell_broken)
    if since and since not in {each.name for each in versions} and is_revision(book, since):
        click.echo(review(book, since), nl=False)
    elif since or versions or not save:
        older = _chosen(versions, since)
        found = changes(older, contents_of(book.claims, book.answers))
        since = f"{older.name} of {older.recorded.date}"
        click.echo("\n".join(report(since, found, lambda change: [told(change, change.page)])))
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
