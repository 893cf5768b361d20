"""The command `changes`: compare versions of the book, and save one."""

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import click

from claimbook.cli import common
from claimbook.engine import environment
from claimbook.model import Claim, Lane, Status
from claimbook.pages.book import Book, BookError
from claimbook.records.by_name import order
from claimbook.records.runs import Records, status
from claimbook.records.versions import (
    Changes,
    ClaimChange,
    Kind,
    Version,
    Versions,
    changes,
    contents_of,
)

UNKNOWN = ("not a valid object name", "not a git repository (or any")
"""What git says of a revision that it does not know, and without a repository."""


@click.command("changes")
@click.option("--since", metavar="VERSION|REVISION", help="Compare with this, not the newest.")
@click.option("--save", metavar="NUMBER", help="Save the book as a version, such as 1.2.0.")
def print_changes(since: str | None, save: str | None) -> None:
    """Print what has changed in the book since its last version.

    With --save, store the book under docs/records/versions/, as the new base for comparison;
    every claim must have run as printed. Compared with a git revision, the old and new text of
    each claim is printed too, for reviewers.
    """
    book = common.load()
    common.tell_problems(book, ())  # claims on an unreadable page look withdrawn
    store = Versions.of(book.project.docs)
    versions = {each.name: each for each in store.load_all(common.tell_broken)}
    # First: what is refused prints nothing else.
    version = None if save is None else _version(book, store, save)
    if since is not None and since not in versions:
        common.say("\n".join(_since_revision(book, since, [*versions])))
    elif versions:
        older = versions[since or [*versions][-1]]
        found = changes(older, contents_of(book))
        common.say("\n".join(_report(f"{older.name} of {older.recorded.date}", found, {}, {})))
    elif save is None:
        raise BookError("no version is saved yet; --save saves the book as it stands")
    if version:
        store.save(version)
        common.say(f"saved as {book.project.name(store.path(version.name))}")


def _version(book: Book, store: Versions, name: str) -> Version:
    """Return the book as a version to save.

    Raises:
        BookError: its name is no number above all saved ones, the book has problems, or a claim
            has not run as printed.
    """
    made = environment.provenance(book.project.root)
    try:
        version = Version(**vars(contents_of(book)), name=name, recorded=made)
    except ValueError as error:
        raise BookError(str(error)) from error
    for kept in store.names():
        if order(kept) >= order(name):
            raise BookError(f"{kept} is kept already; give a higher number than {name}")
    if book.problems:
        raise BookError(str(book.problems[0]))
    records = Records.of(book.project.docs, Lane.CPU, common.tell_broken)
    if due := [claim for claim in book.claims if not _ran(records, claim)]:
        some = common.some(due)
        advice = "build the book or run claimbook record, and fix what fails"
        raise BookError(f"claims that have not run as printed: {len(due)} ({some}); {advice}")
    return version


def _ran(records: Records, claim: Claim) -> bool:
    """Return whether it ran as printed on the CPU; a claim about a machine may differ."""
    said = status(claim, Lane.CPU, records.load(claim), environment.torch_version())
    return said in (Status.CURRENT, Status.VARIED) or Lane.CPU not in claim.lanes


def _since_revision(book: Book, revision: str, versions: list[str]) -> Iterator[str]:
    """Yield lines of Markdown that say, for a reviewer, what changed since a git revision.

    Raises:
        BookError: there is no such revision, or no book at it.
    """
    archived = _archived(book.project.root, revision, versions)
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archived)) as archive:
            # git made it; Python 3.14 would refuse a link that leads out of the folder.
            archive.extraction_filter = lambda member, _: member
            archive.extractall(folder)  # noqa: S202
        older = Book.load(Path(folder))
        found = changes(contents_of(older), contents_of(book))
    changed = {change.id for change in found.claims}
    reset = [
        ClaimChange(new.id, new.docname, (Kind.RESET,))
        for new in book.claims
        if new.id not in changed and _set_for(new) != _set_for(older.by_id[new.id])
    ]
    found = Changes(found.verdicts, [*found.claims, *reset])
    yield from _report(f"`{revision}`", found, older.by_id, book.by_id)


def _archived(root: Path, revision: str, versions: list[str]) -> bytes:
    """Return the files of a git revision as a tar archive.

    Raises:
        BookError: there is no such revision; the message has the versions that there are.
    """
    command = ["git", "archive", f"{revision}^{{commit}}"]
    try:
        return subprocess.run(command, cwd=root, capture_output=True, check=True).stdout
    except FileNotFoundError as error:
        raise BookError("comparing revisions needs git, which is not installed") from error
    except subprocess.CalledProcessError as error:
        known = f"there are {', '.join(versions) or 'none'}"
        said = error.stderr.decode("utf-8", "replace").partition("\n")[0]
        if environment.git(root, "rev-parse", "--is-shallow-repository") == "true":
            known += "; this clone has no old revisions: git fetch --unshallow"
        elif not any(each in said for each in UNKNOWN):  # another user may own the repository
            known += f"; git says: {said}"
        wrong = f"{revision or repr(revision)}: neither a git revision nor a saved version"
        raise BookError(f"{wrong}; {known}") from error


def _report(
    since: str, found: Changes, was: dict[str, Claim], now: dict[str, Claim]
) -> Iterator[str]:
    """Yield lines of Markdown that say what changed.

    Args:
        was: the claims before, by id; with these and those of `now`, the texts are compared.
        now: the claims after.
    """
    yield from ("## What changed in the book", "", f"Since {since}: {found.told() or 'no claim'}.")
    for kind in Kind:
        if of_kind := [change for change in found.claims if change.kinds[0] is kind]:
            yield from ("", f"### Claims: {kind}", "")
            for change in of_kind:
                old, new = was.get(change.id), now.get(change.id)
                place = claim.location if (claim := new or old) else change.page
                yield f"- `{change.id}` ({place}): {', '.join(change.kinds)}"
                yield from _difference(old, new)
    if found.verdicts:
        yield from ("", "### Verdicts", "", "| entry | before | now |", "| --- | --- | --- |")
        yield from (f"| {each.id} | {each.before} | {each.after} |" for each in found.verdicts)


def _difference(old: Claim | None, new: Claim | None) -> Iterator[str]:
    """Yield what differs in the Markdown of a claim."""
    before, after = (each.markdown.splitlines() if each else [] for each in (old, new))
    difference = [*unified_diff(before, after, lineterm="")][3:]
    if difference:
        yield from ("", "  `````diff", *(f"  {line}" for line in difference), "  `````", "")


def _set_for(claim: Claim) -> tuple[object, ...]:
    """Return what versions do not keep of a claim: how it runs, and what it prints on CUDA."""
    how = claim.lanes, claim.machine, claim.timeout, claim.cpu_build
    return *how, claim.digest(Lane.CUDA)
