"""The command `changes`: compare versions of the book."""

import click

from claimbook.cli import common
from claimbook.cli.keep import keep
from claimbook.cli.review import is_revision, report, review, told
from claimbook.pages.book import BookError
from claimbook.records.version_history import changes
from claimbook.records.versions import Version, Versions, contents_of


@click.command("changes")
@click.option("--since", metavar="VERSION|REVISION", help="Compare with this, not the newest.")
@click.option("--save", is_flag=True, help="Save the book under its version number.")
def print_changes(since: str | None, save: bool) -> None:
    """Print what has changed in the book since its last version.

    With --save, store the book under docs/records/versions/, as the new base for comparison;
    every claim must have run as printed. Compared with a git revision, the old and new text of
    each claim is printed too, for reviewers.
    """
    book = common.load()
    common.tell_problems(book, ())  # claims on an unreadable page look withdrawn
    versions = Versions.of(book.project.docs).load_all(common.tell_broken)
    if since and since not in {each.name for each in versions} and is_revision(book, since):
        click.echo(review(book, since), nl=False)
    elif since or versions or not save:
        older = _chosen(versions, since)
        found = changes(older, contents_of(book.claims, book.answers))
        since = f"{older.name} of {older.recorded.date}"
        click.echo("\n".join(report(since, found, lambda change: [told(change, change.page)])))
    if save:
        common.out.print(f"saved as {book.project.name(keep(book))}", markup=False)


def _chosen(versions: list[Version], since: str | None) -> Version:
    by_name = {each.name: each for each in versions}
    if since and since not in by_name:
        known = f"there are {', '.join(by_name) or 'none'}"
        raise BookError(f"{since}: neither a git revision nor a saved version; {known}")
    if not versions:
        raise BookError("no version is saved yet; --save saves the book as it stands")
    return by_name[since or versions[-1].name]
