"""The records of claims, one file a claim and lane, in folders that mirror the pages; their status.

A file that is not a record is named, and counts as missing.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from operator import attrgetter
from pathlib import Path
from typing import Any

from claimbook import store
from claimbook.environment import release
from claimbook.model import Claim, Lane, Measurement, Outcome, Record, Run, Status, digest

KEPT = 14
"""Days for which a record that says the same is left alone; `--max-age` has to be more."""


@dataclass(frozen=True)
class Records:
    """The records of one lane, under a folder."""

    folder: Path
    lane: Lane

    def path(self, claim: Claim) -> Path:
        """Where the claim's record stands: the path of its page under docs, then its id."""
        return store.folder_of(self.folder / self.lane, claim.location.path) / f"{claim.id}.json"

    def load(self, claim: Claim) -> Record | None:
        """The claim's record; None if there is none.

        Raises:
            RecordError: the file is broken, too large, or another claim's.
        """
        path = self.path(claim)
        record = store.load_file(path, _from_data, "not a record")
        if record and (record.run.claim, record.run.lane) != (claim.id, self.lane):
            found = f"the record of {record.run.claim} on {record.run.lane}"
            raise store.RecordError(f"{path}: {found}")
        return record

    def save(self, claim: Claim, record: Record) -> bool:
        """Writes the record unless the one that stands there says the same of the same code.

        One that is `KEPT` days older is written all the same: its date is when a run last said so.

        Returns:
            Whether the file was written.
        """
        with suppress(ValueError):  # of a broken record, or of what is no date
            old = self.load(claim)
            if old and TOLD(old) == TOLD(record) and _days(old, record) < KEPT:
                return False
        store.write_atomically(self.path(claim), _to_text(record))
        return True


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


def _to_text(record: Record) -> str:
    data = {
        "schema": store.SCHEMA,
        "digest": record.digest,
        "environment": asdict(record.environment),
        "recorded": asdict(record.provenance),
        **asdict(record.run),
    }
    data["checksum"] = digest(data)
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _from_data(data: Any) -> Record:
    record = store.check_fields(data, "record", RECORD_FIELDS)
    if record["schema"] != store.SCHEMA:
        raise ValueError(f"schema {record['schema']}, not {store.SCHEMA}")
    if record["checksum"] != digest({k: v for k, v in record.items() if k != "checksum"}):
        raise ValueError("it was changed by hand, says its checksum; record it again")
    if not all(isinstance(text, str) for text in record["outputs"]):
        raise ValueError("outputs are texts")
    measurements = tuple(
        Measurement(**store.check_fields(item, "measurement", MEASUREMENT_FIELDS))
        for item in record["measurements"]
    )
    run = Run(
        record["claim"],
        Lane(record["lane"]),
        Outcome(record["outcome"]),
        tuple(record["outputs"]),
        float(record["seconds"]),
        record["message"],
        measurements,
        record["device_bytes"],
    )
    return Record(run, record["digest"], store.environment_of(record), store.provenance_of(record))


NUMBER = (int, float)
RECORD_FIELDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("claim", "lane", "digest", "outcome", "message", "checksum"), store.TEXT),
    **dict.fromkeys(("outputs", "measurements"), (list,)),
    **dict.fromkeys(("environment", "recorded"), (dict,)),
    "schema": (int,),
    "seconds": NUMBER,
    "device_bytes": (int, type(None)),
}
MEASUREMENT_FIELDS = {"name": store.TEXT, "value": NUMBER, "unit": store.TEXT}
