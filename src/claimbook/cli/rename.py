"""The commands `rename` and `forget`: another name for a claim or page; what no claim has."""

import re
from pathlib import Path

import click

from claimbook.cli import common
from claimbook.pages.book import Book, BookError, unknown
from claimbook.pages.directive import CLAIM_ID
from claimbook.pages.rename import rename_claim, rename_page
from claimbook.records import kept


@click.command("rename")
@click.argument("old", metavar="CLAIM|PAGE")
@click.argument("new")
def rename(old: str, new: str) -> None:
    """Rename a claim or a page, with all links to it and its records.

    Also what was renamed by hand: then links and records follow.
    """
    book = common.load()
    paths = _rename_page(book, old, new) if old.endswith(".md") else _rename_claim(book, old, new)
    for path in paths:
        common.out.print(book.project.name(path), markup=False)
    common.out.print(
        f"{old} is {new} now, in {len(paths)} files; read the difference", markup=False
    )


@click.command("forget")
def forget() -> None:
    """Remove the records of ids that no claim of the book has."""
    book = common.load()
    if book.problems:
        raise BookError(f"{book.problems[0]}; mend the pages first, or claims would be missed")
    names = {id_: None for _, _, id_ in kept.orphans(book.project.docs, _ids(book))}
    for path in kept.rename(book.project.docs, names) if names else ():
        common.out.print(book.project.name(path), markup=False)
    common.out.print(f"forgotten: {', '.join(names) or 'nothing'}", markup=False)


def _ids(book: Book) -> set[str]:
    return {claim.id for claim in book.claims}


def _rename_claim(book: Book, old: str, new: str) -> list[Path]:
    ids = _ids(book)
    if not re.fullmatch(CLAIM_ID, new):
        raise BookError(f"{new}: an id is words in small letters and digits, joined by hyphens")
    if old in ids and new in ids:
        raise BookError(f"{new}: this id is taken by another claim")
    if not {old, new} & ids:
        raise BookError(unknown(old, "claim", ids, "see claimbook list"))
    texts = rename_claim(book.project, old, new)
    return [*texts, *kept.rename(book.project.docs, {old: new})]


def _rename_page(book: Book, old: str, new: str) -> list[Path]:
    project = book.project
    # From the current folder, or else from the root.
    places = [
        Path(name if Path(name).parent.is_dir() else project.root / name) for name in (old, new)
    ]
    pages = [place.parent.resolve() / place.name for place in places]
    names = [
        page.relative_to(project.docs).with_suffix("").as_posix()
        for page in pages
        if page.is_relative_to(project.docs) and page.suffix == ".md"
    ]
    if len(names) != len(pages):
        raise BookError(f"a page is docs/….md, before and after: {old} {new}")
    if not any(page.exists() for page in pages):
        raise BookError(unknown(old, "page", (page.path for page in book.pages), "see docs/"))
    if all(page.exists() for page in pages):
        raise BookError(f"{new}: this page is there already")
    return [*rename_page(project, *pages), *kept.move(project.docs, *names)]
