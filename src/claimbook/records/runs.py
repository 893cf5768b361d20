"""Records of claims, one file per page and lane, and the status they give a claim."""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from operator import attrgetter
from pathlib import Path
from typing import Any

from claimbook.engine.environment import release
from claimbook.model import Claim, Environment, Lane, Outcome, Provenance, Record, Run, Status
from claimbook.records.by_page import ByPage
from claimbook.records.reading import Tell

KEPT = 14
"""Days for which an unchanged record is not rewritten; `--max-age` must be larger."""

SAID = attrgetter("digest", "environment", "outcome", "outputs", "message")
"""The fields that make a record different; the others are times, dates and figures."""

FOLDERS = re.compile(
    r"""(?<![^\s"'=:(])/[^\s"'=:(]*/(?:(?=Python-3[.\d]+/)|claims-\w{8}/(?:tmp\w{8}/)?)"""
)
"""Where Python was compiled, and where a claim ran: its workers' folder, and in that its own.

A path is searched from its beginning alone, so that a flood of slashes takes linear time.
"""

RANKS = [Status.FAILING, Status.VARIED, Status.CURRENT, Status.STALE, Status.MISSING]
"""Statuses by precedence."""
VALID = {Status.FAILING, Status.VARIED, Status.CURRENT}
"""Statuses from records of the current code."""


class Records(ByPage[Record]):
    """The records of one lane."""

    value_type = Record
    shared = ("environment", "recorded")

    def __init__(self, folder: Path, lane: Lane, tell: Tell) -> None:
        super().__init__(folder / lane, tell)
        self.lane = lane

    @classmethod
    def of(cls, docs: Path, lane: Lane, tell: Tell) -> "Records":
        """Return the records of a book: for `cpu` in the build folder, otherwise committed ones."""
        folder = docs / "_build" / "records" if lane is Lane.CPU else docs / "records"
        return cls(folder, lane, tell)

    def stands(self, old: Record, new: Record) -> bool:
        """Return whether a saved record says the same and is less than `KEPT` days older."""
        return SAID(old) == SAID(new) and _days(old, new) < KEPT

    def device(self, value: Record) -> str:
        """Return the GPU; on the CPU only one record per claim is kept."""
        return "" if self.lane is Lane.CPU else value.environment.device

    def last_run(self, claim: Claim) -> str:
        """Return the date of the newest record of a claim's current code; empty if none has it."""
        digest = claim.digest(self.lane)
        known = (record for record in self.load_all(claim) if record.digest == digest)
        return max((record.recorded.date for record in known), default="")

    def data(self, value: Record) -> dict[str, Any]:
        """Return the fields of a record, without empty ones and the lane."""
        fields = super().data(value)
        return {k: v for k, v in fields.items() if k != "lane" and v not in ("", (), None)}

    def parse(self, data: dict[str, Any]) -> Record:
        """Return the record of a line."""
        return super().parse({**data, "lane": self.lane})


def record_of(claim: Claim, run: Run, environment: Environment, recorded: Provenance) -> Record:
    """Return the record of a run."""
    digest, kept = claim.digest(run.lane), lasting(run)
    return Record(**vars(kept), digest=digest, environment=environment, recorded=recorded)


def lasting(run: Run) -> Run:
    """Strip this machine's folders from outputs: tracebacks name files of torch and of others."""
    outputs = tuple(map(_without_folders, run.outputs))
    return replace(run, outputs=outputs, message=_without_folders(run.message))


def _without_folders(text: str) -> str:
    for folder in sorted(sys.path, key=len, reverse=True):  # one may lie in another
        text = text.replace(f"{folder}/", "") if folder else text
    return FOLDERS.sub("", text)


def status(claim: Claim, lane: Lane, record: Record | None, torch: str) -> Status:
    """Return the status of a claim, given its record.

    Args:
        torch: the release that the book is pinned to, such as `2.13.0`.
    """
    if record is None or record.outcome is Outcome.SKIPPED:
        return Status.MISSING
    if record.digest != claim.digest(lane) or release(record.environment.torch) != release(torch):
        return Status.STALE
    if record.outcome is Outcome.VARIED and not claim.machine:  # no longer depends on it
        return Status.STALE
    said = {Outcome.PASSED: Status.CURRENT, Outcome.VARIED: Status.VARIED}
    return said.get(record.outcome, Status.FAILING)


@dataclass(frozen=True)
class Shown:
    """The status and records of a claim on a lane, as shown to a reader."""

    status: Status
    records: tuple[Record, ...] = ()
    """The one that decides the status first, then those of other devices."""

    @property
    def first(self) -> Record | None:
        """The record that decides the status; None if there is none."""
        return next(iter(self.records), None)


def shown(claim: Claim, lane: Lane, records: Iterable[Record], torch: str) -> Shown:
    """Return the status and records to show for a claim on a lane.

    A failing record decides the status, otherwise a varied one, otherwise the newest current one.
    Stale records are shown only if there are no others.

    Args:
        torch: the release that the book is pinned to, such as `2.13.0`.
    """
    newest = sorted(records, key=lambda record: record.recorded.date, reverse=True)
    known = [(status(claim, lane, record, torch), record) for record in newest]
    valid = [(found, record) for found, record in known if found in VALID]
    ranked = sorted(valid or known, key=lambda pair: RANKS.index(pair[0]))
    decisive = ranked[0][0] if ranked else Status.MISSING
    return Shown(decisive, tuple(record for _, record in ranked))


def _days(old: Record, new: Record) -> int:
    then, now = (date.fromisoformat(record.recorded.date) for record in (old, new))
    return (now - then).days
