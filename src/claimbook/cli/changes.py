"""The command `changes`: compare versions of the book, and save one."""

import io
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

import click

from claimbook import __version__
from claimbook.checking.report import prompted, session
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
    store = Versions.of(book.project.docs)
    versions = {each.name: each for each in store.load_all(common.tell_broken)}
    if since and since not in versions:
        click.echo("\n".join(_since_revision(book, since, [*versions])))
    elif versions:
        older = versions[since or [*versions][-1]]
        found = changes(older, contents_of(book))
        click.echo("\n".join(_report(f"{older.name} of {older.recorded.date}", found, {}, {})))
    elif not save:
        raise BookError("no version is saved yet; --save saves the book as it stands")
    if save:
        _check(book, store)
        made = environment.provenance(book.project.root)
        version = book.project.version or __version__
        store.save(Version(**vars(contents_of(book)), name=version, recorded=made))
        common.say(f"saved as {book.project.name(store.path(version))}")


def _check(book: Book, store: Versions) -> None:
    """Check that the book may be saved under its version number.

    Raises:
        BookError: the number is not above all saved ones, the book has problems, or a claim has
            not run as printed.
    """
    now, where = book.project.version, "version under [tool.claimbook] in pyproject.toml"
    if not now:
        now, where = __version__, f"__version__ in src/claimbook/__init__.py, or give a {where},"
    for version in store.names():
        if order(version) >= order(now):
            raise BookError(f"{version} is kept already, and this is {now}; raise {where} first")
    if book.problems:
        raise BookError(str(book.problems[0]))
    records = Records.of(book.project.docs, Lane.CPU, common.tell_broken)
    if due := [claim for claim in book.claims if not _ran(records, claim)]:
        some = common.some(due)
        advice = "build the book or run claimbook record, and fix what fails"
        raise BookError(f"claims that have not run as printed: {len(due)} ({some}); {advice}")


def _ran(records: Records, claim: Claim) -> bool:
    """Return whether it ran as printed on the CPU; a claim about a machine may differ."""
    said = status(claim, Lane.CPU, records.load(claim), environment.torch_version())
    return said in (Status.CURRENT, Status.VARIED) or Lane.CPU not in claim.lanes


def _since_revision(book: Book, revision: str, versions: list[str]) -> Iterator[str]:
    """Yield lines of Markdown that say, for a reviewer, what changed since a git revision.

    Raises:
        BookError: there is no such revision, or no book at it.
    """
    command = ["git", "archive", f"{revision}^{{commit}}"]
    try:
        archived = subprocess.run(command, cwd=book.project.root, capture_output=True, check=True)
    except FileNotFoundError as error:
        raise BookError("comparing revisions needs git, which is not installed") from error
    except subprocess.CalledProcessError as error:
        known = f"there are {', '.join(versions) or 'none'}"
        if (book.project.root / ".git/shallow").exists():
            known += "; this clone has no old revisions: git fetch --unshallow"
        raise BookError(
            f"{revision}: neither a git revision nor a saved version; {known}"
        ) from error
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as archive:
            archive.extractall(folder, filter="data")
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
    difference = [*unified_diff(_text(old), _text(new), lineterm="")][3:]
    if difference:
        yield from ("", "  ````diff", *(f"  {line}" for line in difference), "  ````", "")


def _text(claim: Claim | None) -> list[str]:
    """Return a claim as text, in lines: relations, options, statement, session."""
    if claim is None:
        return []
    relations = [f"{relation.kind} {relation.entry}" for relation in claim.relations]
    return [*relations, *_options(claim), claim.statement, *session(claim), *_on_cuda(claim)]


def _set_for(claim: Claim) -> tuple[list[str], list[str]]:
    """Return what versions do not keep of a claim: how it runs, and what it prints on CUDA."""
    return _options(claim), _on_cuda(claim)


def _options(claim: Claim) -> list[str]:
    """Return the options that say where a claim runs, and whether it can fail there."""
    return [
        *([f":lanes: {' '.join(claim.lanes)}"] if len(claim.lanes) < len(Lane) else ()),
        *([f":machine: {' '.join(claim.machine)}"] if claim.machine else ()),
        *([f":timeout: {claim.timeout:g}"] if claim.timeout else ()),
        *([":cpu-build:"] if claim.cpu_build else ()),
    ]


def _on_cuda(claim: Claim) -> list[str]:
    """Return the examples that print something else on CUDA, as lines of a session."""
    pairs = zip(claim.examples(Lane.CPU), claim.examples(Lane.CUDA), strict=True)
    other = [cuda for cpu, cuda in pairs if Lane.CPU in claim.lanes and cpu.want != cuda.want]
    lines = [line for e in other for line in (*prompted(e.source), *e.want.splitlines())]
    return ["on cuda:", *lines] if lines else []
