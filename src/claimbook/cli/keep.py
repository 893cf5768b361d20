"""Save the book as a version; refuse if it has problems or claims that have not run."""

from pathlib import Path

from claimbook import __version__
from claimbook.cli import common
from claimbook.engine import environment
from claimbook.model import Claim, Lane, Status
from claimbook.pages.book import Book, BookError
from claimbook.records.by_name import order
from claimbook.records.runs import Records, status
from claimbook.records.versions import Version, Versions, contents_of


def keep(book: Book) -> Path:
    """Save the contents of the book under its version number; return the path.

    Raises:
        BookError: the number is not above all saved ones, the book has problems, or a claim has
            not run as printed.
    """
    kept = Versions.of(book.project.docs)
    for version in kept.names():
        if order(version) >= order(__version__):
            advice = "raise __version__ in src/claimbook/__init__.py first"
            raise BookError(f"{version} is kept already, and this is {__version__}; {advice}")
    if book.problems:
        raise BookError(str(book.problems[0]))
    records = Records.of(book.project.docs, Lane.CPU, common.tell_broken)
    if due := [claim.id for claim in book.claims if not _ran(records, claim)]:
        some = ", ".join(due[:5]) + ", …" * (len(due) > 5)
        advice = "build the book or run claimbook record, and fix what fails"
        raise BookError(f"claims that have not run as printed: {len(due)} ({some}); {advice}")
    made = environment.provenance(book.project.root)
    now = contents_of(book.claims, book.answers)
    kept.save(Version(**vars(now), name=__version__, recorded=made))
    return kept.path(__version__)


def _ran(records: Records, claim: Claim) -> bool:
    """Return whether it ran as printed on the CPU; a claim about a machine may differ."""
    said = status(claim, Lane.CPU, records.load(claim), environment.torch_version())
    return said in (Status.CURRENT, Status.VARIED) or Lane.CPU not in claim.lanes
