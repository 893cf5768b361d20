"""The records of claims, one file a page and lane, a line a claim and device; their status."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from claimbook.engine.environment import release
from claimbook.model import Claim, Environment, Lane, Outcome, Provenance, Record, Run, Status
from claimbook.records.by_page import ByPage
from claimbook.records.store import Tell

KEPT = 14
"""Days for which a record that says the same is left alone; `--max-age` has to be more."""


class Records(ByPage[Record]):
    """The records of one lane, under a folder."""

    holds = Record
    shared = ("environment", "recorded")
    wrong = "not a record"

    def __init__(self, folder: Path, lane: Lane, tell: Tell) -> None:
        super().__init__(folder / lane, tell)
        self.lane = lane

    @classmethod
    def of(cls, docs: Path, lane: Lane, tell: Tell) -> "Records":
        """Return those of a book: beside the build for `cpu`, committed for the others."""
        folder = docs / "_build" / "records" if lane is Lane.CPU else docs / "records"
        return cls(folder, lane, tell)

    def save(self, claim: Claim, record: Record) -> bool:
        """Write the record unless the one that stands there says the same of the same code.

        One that is `KEPT` days older is written all the same: its date is when a run last said so.

        Returns:
            Whether the file was written.
        """
        known = {self.device(each): each for each in self.load_all(claim)}
        old = known.get(self.device(record))
        if old and TOLD(old) == TOLD(record) and _days(old, record) < KEPT:
            return False
        self.put(claim, record)
        return True

    def device(self, value: Record) -> str:
        """Return the GPU; a build keeps what its own processor did, and no other."""
        return "" if self.lane is Lane.CPU else value.environment.device

    def data(self, value: Record) -> dict[str, Any]:
        """Return the fields of a record; what is empty or said by the folder is left out."""
        fields = super().data(value)
        return {k: v for k, v in fields.items() if k != "lane" and v not in ("", (), None)}

    def parse(self, data: dict[str, Any]) -> Record:
        """Return the record of a line."""
        return super().parse({**data, "lane": self.lane})


def record_of(claim: Claim, run: Run, environment: Environment, recorded: Provenance) -> Record:
    """Return what is kept of a run of a claim as it stands."""
    digest = claim.digest(run.lane)
    return Record(**vars(run), digest=digest, environment=environment, recorded=recorded)


def status(claim: Claim, lane: Lane, record: Record | None, torch: str) -> Status:
    """Return what a reader is told of a claim, by what its record says.

    Args:
        torch: the release that the book is pinned to, `2.13.0`.
    """
    if record is None or record.outcome is Outcome.SKIPPED:
        return Status.MISSING
    if record.digest != claim.digest(lane) or release(record.environment.torch) != release(torch):
        return Status.STALE
    if record.outcome is Outcome.VARIED and not claim.machine:  # it was about a machine then
        return Status.STALE
    said = {Outcome.PASSED: Status.CURRENT, Outcome.VARIED: Status.VARIED}
    return said.get(record.outcome, Status.FAILING)


@dataclass(frozen=True)
class Shown:
    """What a reader sees of a claim on a lane."""

    status: Status
    records: tuple[Record, ...] = ()
    """First the one that speaks for the lane, then those of its other devices."""

    @property
    def first(self) -> Record | None:
        """The record that speaks for the lane; None if there is none."""
        return next(iter(self.records), None)


def shown(claim: Claim, lane: Lane, records: Iterable[Record], torch: str) -> Shown:
    """Return what a reader sees of records.

    The one that speaks for the lane is one that does not hold, else the newest that does. One that
    is stale is seen where there is no other.

    Args:
        torch: the release that the book is pinned to, `2.13.0`.
    """
    newest = sorted(records, key=lambda record: record.recorded.date, reverse=True)
    ranked = [(RANKS.index(status(claim, lane, each, torch)), each) for each in newest]
    valid = [pair for pair in ranked if RANKS[pair[0]] in VALID]
    seen = sorted(valid or ranked, key=itemgetter(0))
    first = RANKS[seen[0][0]] if seen else Status.MISSING
    return Shown(first, tuple(record for _, record in seen))


RANKS = [Status.FAILING, Status.VARIED, Status.CURRENT, Status.STALE, Status.MISSING]
"""What is said of a lane before what."""
VALID = {Status.FAILING, Status.VARIED, Status.CURRENT}
"""What is said of a claim as it stands."""

TOLD = attrgetter("digest", "environment", "outcome", "outputs", "message")
"""What a record says; the rest is how long that took, and when it was."""


def _days(old: Record, new: Record) -> int:
    then, now = (date.fromisoformat(record.recorded.date) for record in (old, new))
    return (now - then).days
