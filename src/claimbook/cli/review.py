"""Describe a change of the book in Markdown, for its reviewer."""

import io
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from difflib import unified_diff
from functools import partial
from itertools import chain
from pathlib import Path

from claimbook.checking.report import session
from claimbook.model import Claim
from claimbook.pages.book import Book, BookError
from claimbook.records.version_history import Changes, ClaimChange, Kind, changes
from claimbook.records.versions import contents_of

AROUND = 3
"""Lines of context in a diff."""


def review(book: Book, revision: str) -> str:
    """Return what has changed in a book since a revision of its repository, as Markdown.

    Raises:
        BookError: git knows no such revision, or there was no book at that revision.
    """
    with tempfile.TemporaryDirectory() as folder:
        older = _book_at(book.project.root, revision, Path(folder))
        was = {claim.id: claim for claim in older.claims}
        now = {claim.id: claim for claim in book.claims}
        found = changes(
            contents_of(older.claims, older.answers), contents_of(book.claims, book.answers)
        )
    lines = report(f"`{revision}`", found, partial(_claim, was=was, now=now))
    return "\n".join([*lines, *_records(book.project.root, revision), ""])


def report(
    since: str, found: Changes, tell: Callable[[ClaimChange], Iterable[str]]
) -> Iterator[str]:
    """Yield lines of Markdown that say what changed; `tell` formats one claim."""
    yield from ("## What changed in the book", "", f"Since {since}: {found.told() or 'no claim'}.")
    for kind in Kind:
        if of_kind := [change for change in found.claims if change.kinds[0] is kind]:
            yield from ("", f"### Claims: {kind}", "")
            yield from chain.from_iterable(map(tell, of_kind))
    if found.verdicts:
        yield from ("", "### Verdicts", "", "| entry | before | now |", "| --- | --- | --- |")
        yield from (f"| {each.id} | {each.before} | {each.after} |" for each in found.verdicts)


def is_revision(book: Book, name: str) -> bool:
    """Return whether git knows a revision of that name."""
    try:
        _git(book.project.root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except BookError:
        return False
    return True


def told(change: ClaimChange, place: object) -> str:
    """Return a Markdown list item: where and how a claim changed."""
    return f"- `{change.id}` ({place}): {', '.join(change.kinds)}"


def _claim(change: ClaimChange, was: dict[str, Claim], now: dict[str, Claim]) -> Iterator[str]:
    old, new = was.get(change.id), now.get(change.id)
    yield told(change, (new or old or was[change.id]).location)
    before, after = ([] if claim is None else _text(claim) for claim in (old, new))
    if difference := [*unified_diff(before, after, n=AROUND, lineterm="")][3:]:
        yield from ("", "  ````diff", *(f"  {line}" for line in difference), "  ````", "")


def _text(claim: Claim) -> list[str]:
    """Return a claim as text, in lines: relations, statement, session."""
    relations = [f"{relation.kind} {relation.entry}" for relation in claim.relations]
    return [*relations, claim.statement, *session(claim)]


def _records(root: Path, revision: str) -> Iterator[str]:
    """Yield Markdown with the number of changed lines in each kind of record."""
    counts = Counter[str]()
    told = ["--numstat", "--no-renames", "--relative", revision, "--", "docs/records"]
    for line in _git(root, "diff", *told).decode().splitlines():
        added, removed, path = line.split("\t")
        counts[path.split("/")[2]] += max(int(added), int(removed)) if added != "-" else 1
    if counts:
        yield from ("", "### Records", "")
        for kind, count in sorted(counts.items()):
            yield f"- `docs/records/{kind}`: {count} line{'s' * (count != 1)}"


def _book_at(root: Path, revision: str, folder: Path) -> Book:
    with tarfile.open(fileobj=io.BytesIO(_git(root, "archive", revision))) as archive:
        archive.extractall(folder, filter="data")
    return Book.load(folder)


def _git(root: Path, *arguments: str) -> bytes:
    try:
        return subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=True).stdout
    except FileNotFoundError as error:
        raise BookError("comparing revisions needs git, which is not installed") from error
    except subprocess.CalledProcessError as error:
        raise BookError(error.stderr.decode(errors="replace").strip().split("\n")[0]) from error
