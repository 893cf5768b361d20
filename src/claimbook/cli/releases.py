"""The commands about other releases of torch: `matrix`, `bisect`."""

import re
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import TextIO

import click

from claimbook.checking.compare import mismatches
from claimbook.checking.report import differing
from claimbook.cli import common
from claimbook.matrix.bisect import flip
from claimbook.matrix.install import InstallError, available, installed
from claimbook.matrix.run import run_book
from claimbook.model import Claim, Lane
from claimbook.pages.book import Book, BookError
from claimbook.records.releases import Release, Releases, flipped
from claimbook.records.store import order


@click.command("matrix")
@click.argument("versions", nargs=-1, metavar="[VERSION]...")
@click.option(
    "--report",
    type=click.File("w", encoding="utf-8", lazy=False),
    help="Write no record; write to this file which claims flipped since the newest one.",
)
@click.option("--changed", is_flag=True, help="Run only what is new or edited; keep the rest.")
def run_matrix(versions: tuple[str, ...], report: TextIO | None, changed: bool) -> None:
    """Runs all claims on other releases of torch, and records that.

    Each VERSION, those of pyproject.toml if none is given, is installed into an environment of its
    own, which takes some 5 GB, and is removed afterwards. A release that cannot be installed is
    reported, and the others go on. VERSION may be `newest` or `nightly` too.
    """
    book, failed = common.load(), False
    recorded = _recorded(book)
    if report and not recorded:
        raise BookError("no release is on record to compare with; run this without --report first")
    if not (versions := versions or book.project.releases):
        raise BookError("no release is named, here or in pyproject.toml; claimbook matrix 2.8.0")
    for version in versions:
        try:
            release = _run(book, version, book.claims, recorded if changed else ())
        except InstallError as error:
            common.warn(f"torch {version}: {error}")
            failed = True
            continue
        if report:
            report.writelines(f"{line}\n" for line in _flips(book, recorded[-1], release))
        else:
            Releases.of(book.project.docs).save(release)
        counts = Counter(result.word for result in release.results.values())
        words = ", ".join(f"{count} {word}" for word, count in counts.most_common())
        common.out.print(f"torch {release.version}: {words}", markup=False)
    sys.exit(1 if failed else 0)


def _recorded(book: Book) -> list[Release]:
    return Releases.of(book.project.docs).load_all(common.tell_broken)


def _run(
    book: Book, version: str, claims: Iterable[Claim], recorded: Iterable[Release] = ()
) -> Release:
    version = available()[-1] if version == "newest" else version
    known = next((release for release in recorded if release.version == version), None)
    common.err.print(f"torch {version}: installing", markup=False)
    with installed(version) as python:
        common.err.print(f"torch {version}: running", markup=False)
        return run_book(book, python, claims, known)


def _flips(book: Book, old: Release, new: Release) -> list[str]:
    """Markdown that says which claims hold on just one of two releases."""
    if not (found := flipped(book.claims, old, new)):
        return []
    lines = [f"## torch {new.version}, compared with {old.version}", ""]
    for claim in found:
        was, now = old.results[claim.id].word, new.results[claim.id].word
        lines += [f"- `{claim.id}` ({claim.location}): {was} → {now}"]
        lines += ["", "  ```text", *(f"  {line}" for line in _differences(claim, new)), "  ```", ""]
    return lines


def _differences(claim: Claim, release: Release) -> list[str]:
    result = release.results[claim.id]
    found = mismatches(claim, Lane.CPU, result.outputs)
    return [line for mismatch in found for line in differing(mismatch)] or [result.message]


@click.command("bisect")
@click.argument("claim")
@click.option("--good", metavar="VERSION", help="A release on which it holds.")
@click.option("--bad", metavar="VERSION", help="A release on which it does not.")
def bisect_claim(claim: str, good: str | None, bad: str | None) -> None:
    """Finds the release of torch since which a claim holds, or fails.

    Where the records show it on one side and not on the other, GOOD and BAD need not be given.
    Releases that are recorded are not installed again.
    """
    if (good is None) != (bad is None):
        raise click.UsageError("--good and --bad go together; without them the records tell.")
    book = common.load()
    [chosen, *others] = book.select([claim])
    if others:
        raise BookError(f"{claim}: {1 + len(others)} claims stand there; name one of them")
    known = {r.version: r for r in _recorded(book) if r.of(chosen)}
    named = (_release(good), _release(bad)) if good and bad else None
    ends = named or _neighbours(chosen, list(known.values()))
    low, high = sorted(ends, key=order)

    def holds(version: str) -> bool | None:
        try:
            known[version] = known.get(version) or _run(book, version, [chosen])
        except InstallError as error:
            common.warn(f"torch {version} is left out: {error}")
            return None
        if (result := known[version].of(chosen)) is None:
            common.warn(f"torch {version} is left out: {chosen.id} does not run there")
            return None
        common.out.print(f"torch {version}: {result.word}", markup=False)
        return result.word == "holds"

    between = [v for v in available() if order(low) < order(v) < order(high)]
    try:
        before, after = flip([low, *between, high], holds)
    except ValueError as error:
        raise BookError(f"{chosen.id}: {error}") from error
    began = known[after].results[chosen.id].word == "holds"
    verb, failing = ("began", before) if began else ("ceased", after)
    found = f"{chosen.id} {verb} to hold with torch {after}. On {failing}:"
    common.out.print("", found, *_differences(chosen, known[failing]), sep="\n", markup=False)


def _release(version: str) -> str:
    """The number of a release, also of the newest; a build of last night has none."""
    if version == "newest":
        return available()[-1]
    if not re.fullmatch(r"\d+(\.\d+)+", version):
        raise click.UsageError(f"{version} is no release; name one, such as 2.13.0, or newest")
    return version


def _neighbours(claim: Claim, releases: list[Release]) -> tuple[str, str]:
    for older, newer in pairwise(releases):
        if flipped([claim], older, newer):
            return older.version, newer.version
    raise BookError(f"{claim.id}: the records show no change; name releases: --good and --bad")
