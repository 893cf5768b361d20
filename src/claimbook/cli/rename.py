"""The command `rename`: change a claim's id in all files of the project."""

import re
from collections.abc import Iterator
from pathlib import Path

import click

from claimbook.cli import common
from claimbook.files import walk, write_atomically
from claimbook.pages.book import Book, BookError, Project, unknown
from claimbook.pages.directive import CLAIM_ID

KINDS = {".md", ".py", ".rst", ".yaml", ".yml", ".toml", ".txt", ".json", ".jsonl"}
"""Suffixes of files that may hold a claim's id."""


@click.command("rename")
@click.argument("old", metavar="CLAIM")
@click.argument("new")
def rename(old: str, new: str) -> None:
    """Rename a claim in all files that hold its id.

    These are pages, sweeps, tests and records; the page may already have the new id.
    """
    book = common.load()
    _check(book, old, new)
    changed = [path for path in _files(book.project) if _replace(path, old, new)]
    if not changed:
        raise BookError(f"{old}: no file has it")
    for path in changed:
        common.say(book.project.name(path))
    common.say(f"{old} is now {new}, in {len(changed)} files; review the diff")


def _check(book: Book, old: str, new: str) -> None:
    ids = {claim.id for claim in book.claims}
    for name in (old, new):
        if not re.fullmatch(CLAIM_ID, name):
            said = "an id is lowercase letters and digits, joined by hyphens"
            raise BookError(f"{name}: {said}")
    if old == new:
        raise BookError(f"{old}: this is its id already")
    if old in ids and new in ids:
        raise BookError(f"{new}: this id is taken by another claim")
    if not {old, new} & ids:
        raise BookError(unknown(old, "claim", ids, "see claimbook list"))
    if "-" not in old:
        raise BookError(f"{old}: an id of one word may occur in sentences; rename it by hand")


def _files(project: Project) -> Iterator[Path]:
    """Yield the files of a project that are neither hidden nor built; links are followed."""
    for path in sorted(walk(project.root, lambda name: name[0] == ".")):
        hidden_or_built = path.name[0] == "." or any(map(path.is_relative_to, project.made))
        if path.suffix in KINDS and path.is_file() and not hidden_or_built:
            yield path


def _replace(path: Path, old: str, new: str) -> bool:
    """Replace an id and the name of its sweep; return whether the file changed."""
    text = path.read_bytes().decode("utf-8", "surrogateescape")  # keeps bytes that are not UTF-8
    renamed = re.sub(rf"(?<![\w-])(claim-)?{old}(?![\w-])", rf"\g<1>{new}", text)
    was, now = (f"\ndef {name.replace('-', '_')}(" for name in (old, new))
    renamed = renamed.replace(was, now)
    if renamed != text:
        write_atomically(path, renamed)
    return renamed != text
