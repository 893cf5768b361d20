"""The records of claims, one file a page and lane, a line a claim; their status."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import date
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

from claimbook.engine.environment import release
from claimbook.model import Claim, Lane, Measurement, Outcome, Record, Run, Status
from claimbook.records import store

KEPT = 14
"""Days for which a record that says the same is left alone; `--max-age` has to be more."""


class Records(store.ByPage[Record]):
    """The records of one lane, under a folder."""

    shared: ClassVar = ("environment", "recorded")
    wrong = "not a record"

    def __init__(self, folder: Path, lane: Lane) -> None:
        super().__init__(folder / lane)
        self.lane = lane

    @classmethod
    def of(cls, docs: Path, lane: Lane) -> "Records":
        """Return those of a book: beside the build for `cpu`, committed for the others."""
        return cls(docs / "_build" / "records" if lane is Lane.CPU else docs / "records", lane)

    def save(self, claim: Claim, record: Record) -> bool:
        """Write the record unless the one that stands there says the same of the same code.

        One that is `KEPT` days older is written all the same: its date is when a run last said so.

        Returns:
            Whether the file was written.
        """
        old = self.load(claim)
        with suppress(ValueError):  # of what is no date
            if old and TOLD(old) == TOLD(record) and _days(old, record) < KEPT:
                return False
        self.put(claim, record)
        return True

    def data(self, value: Record) -> dict[str, Any]:
        """Return the fields of a record; what is empty or said by the folder is left out."""
        run = {name: found for name, found in asdict(value.run).items() if found not in EMPTY}
        del run["lane"]
        return {
            **run,
            "digest": value.digest,
            "environment": asdict(value.environment),
            "recorded": asdict(value.provenance),
        }

    def parse(self, data: dict[str, Any]) -> Record:
        """Return the record of a line."""
        record = store.check_fields({**NOTHING, **data}, "record", RECORD_FIELDS)
        if not all(isinstance(text, str) for text in record["outputs"]):
            raise ValueError("outputs are texts")
        measurements = tuple(
            Measurement(**store.check_fields(item, "measurement", MEASUREMENT_FIELDS))
            for item in record["measurements"]
        )
        run = Run(
            record["claim"],
            self.lane,
            Outcome(record["outcome"]),
            tuple(record["outputs"]),
            float(record["seconds"]),
            record["message"],
            measurements,
            record["device_bytes"],
        )
        made = store.environment_of(record), store.provenance_of(record)
        return Record(run, record["digest"], *made)


def status(claim: Claim, lane: Lane, record: Record | None, torch: str) -> Status:
    """What a reader is told of a claim, by what its record says.

    Args:
        torch: the release that the book is pinned to, `2.13.0`.
    """
    if record is None or record.run.outcome is Outcome.SKIPPED:
        return Status.MISSING
    if record.digest != claim.digest(lane) or release(record.environment.torch) != release(torch):
        return Status.STALE
    said = {Outcome.PASSED: Status.CURRENT, Outcome.VARIED: Status.VARIED}
    return said.get(record.run.outcome, Status.FAILING)


TOLD = attrgetter("digest", "environment", "run.outcome", "run.outputs", "run.message")
"""What a record says; the rest is how long that took, and when it was."""


def _days(old: Record, new: Record) -> int:
    then, now = (date.fromisoformat(record.provenance.date) for record in (old, new))
    return (now - then).days


NUMBER = (int, float)
RECORD_FIELDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("claim", "digest", "outcome", "message"), store.TEXT),
    **dict.fromkeys(("outputs", "measurements"), (list,)),
    **dict.fromkeys(("environment", "recorded"), (dict,)),
    "seconds": NUMBER,
    "device_bytes": (int, type(None)),
}
MEASUREMENT_FIELDS = {"name": store.TEXT, "value": NUMBER, "unit": store.TEXT}

EMPTY: tuple[object, ...] = ("", (), [], None)
NOTHING: Mapping[str, object] = {
    "outputs": [],
    "measurements": [],
    "message": "",
    "device_bytes": None,
}
"""The fields of a record that are left out where they are empty, as they are then."""
