"""The store of records: one JSON file a claim and lane, in folders that mirror the pages.

Records are data: they are checked field by field on reading, and a file that is not a record is
named and counts as missing. A file is replaced whole or not at all.
"""

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from claimbook.environment import release
from claimbook.model import (
    Claim,
    Environment,
    Lane,
    Measurement,
    Outcome,
    Provenance,
    Record,
    Run,
    Status,
    digest,
)

T = TypeVar("T")
Data = Mapping[str, Any]
SCHEMA = 1
KEPT = 14
"""Days for which a record that says the same is left alone; `--max-age` has to be more."""
SIZE_LIMIT = 10_000_000
"""Bytes of a record file that are read; a claim prints far less."""


class RecordError(ValueError):
    """A file that should be a record is not one; names the file and what is wrong."""


@dataclass(frozen=True)
class Records:
    """The records of one lane, under a folder."""

    folder: Path
    lane: Lane

    def path(self, claim: Claim) -> Path:
        """Where the claim's record stands: the path of its page under docs, then its id."""
        return folder_of(self.folder / self.lane, claim.location.path) / f"{claim.id}.json"

    def load(self, claim: Claim) -> Record | None:
        """The claim's record; None if there is none.

        Raises:
            RecordError: the file is broken, too large, or another claim's.
        """
        path = self.path(claim)
        record = load_file(path, _from_data, "not a record")
        if record and (record.run.claim, record.run.lane) != (claim.id, self.lane):
            raise RecordError(f"{path}: the record of {record.run.claim} on {record.run.lane}")
        return record

    def save(self, claim: Claim, record: Record) -> bool:
        """Writes the record unless the one that stands there says the same of the same code.

        One that is `KEPT` days older is written all the same: its date is when a run last said so.

        Returns:
            Whether the file was written.
        """
        with suppress(ValueError):  # of a broken record, or of what is no date
            if (
                (old := self.load(claim))
                and TOLD(old) == TOLD(record)
                and _days(old, record) < KEPT
            ):
                return False
        write_atomically(self.path(claim), _to_text(record))
        return True


@dataclass(frozen=True)
class ByVersion(ABC, Generic[T]):
    """The files of a folder, one a release of torch or one a version of the book."""

    folder: Path
    kind: ClassVar[str]
    """`release` or `version`; the field of a file that says of which it is."""
    fields: ClassVar[Mapping[str, tuple[type, ...]]]
    """What else a file holds."""

    @classmethod
    def of(cls, docs: Path) -> Self:
        """Those of a book."""
        return cls(docs / "records" / f"{cls.kind}s")

    @abstractmethod
    def parse(self, data: dict[str, Any]) -> T:
        """One of them from its data, of which the fields are checked."""

    def path(self, version: str) -> Path:
        """Where a version stands."""
        return self.folder / f"{version}.json"

    def versions(self) -> list[str]:
        """Those that have a file, from the oldest on."""
        return sorted((path.stem for path in self.folder.glob("*.json")), key=order)

    def load_all(self, tell: Callable[[str, str], None]) -> list[T]:
        """Every one of them, from the oldest on.

        Args:
            tell: is given the path of each file that is broken, and why; the others stand.
        """
        found = []
        for version in self.versions():
            try:
                found.append(self.load(version))
            except RecordError as error:
                tell(str(self.path(version)), f"{error}; it counts as missing")
        return [each for each in found if each is not None]

    def load(self, version: str) -> T | None:
        """One of them; None if there is none.

        Raises:
            RecordError: its file is broken, too large, or another one's.
        """
        fields = {"schema": (int,), self.kind: TEXT, "recorded": (dict,), **self.fields}

        def checked(data: Any) -> T:
            whole = check_fields(data, self.kind, fields)
            if (whole["schema"], whole[self.kind]) != (SCHEMA, version):
                raise ValueError(f"schema {whole['schema']}, {self.kind} {whole[self.kind]}")
            return self.parse(whole)

        return load_file(self.path(version), checked, f"no record of a {self.kind}")

    def write(self, version: str, head: Data, groups: Mapping[str, Data]) -> None:
        """Writes a file: a line an item of each group, so that two can be compared by eye."""
        parts = [_field(*item) for item in {"schema": SCHEMA, self.kind: version, **head}.items()]
        for name, group in groups.items():
            lines = ",\n".join(_field(*item) for item in group.items())
            parts.append(f'"{name}": {{\n{lines}\n}}')
        write_atomically(self.path(version), "{\n" + ",\n".join(parts) + "}\n")


def order(version: str) -> tuple[int, ...]:
    """Sorts versions from the oldest on: 2.8.0 before 2.10.0.

    >>> sorted(["2.10.0", "2.8.0"], key=order)
    ['2.8.0', '2.10.0']
    """
    return tuple(int(part) for part in version.split(".") if part.isdecimal())


@cache
def folder_of(folder: Path, page: str) -> Path:
    """Where under a folder of records those of a page stand."""
    parts = Path(page).with_suffix("").parts
    return folder.joinpath(*parts[1:] or parts)


def status(claim: Claim, lane: Lane, record: Record | None, torch: str) -> Status:
    """What a reader is told of a claim, by what its record says.

    Args:
        torch: the release that the book is pinned to, `2.13.0`.
    """
    if record is None or record.run.outcome is Outcome.SKIPPED:
        return Status.MISSING
    if record.digest != claim.digest(lane) or release(record.environment.torch) != release(torch):
        return Status.STALE
    return Status.CURRENT if record.run.outcome is Outcome.PASSED else Status.FAILING


def write_atomically(path: Path, content: str | bytes) -> None:
    """Puts text or bytes in place of a file, so that nobody ever finds half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        half.write_bytes(content.encode() if isinstance(content, str) else content)
        half.replace(path)
    finally:
        half.unlink(missing_ok=True)


def write_changed(path: Path, text: str) -> None:
    """Writes a text, unless it is what the file holds; the file then keeps its time."""
    if not path.exists() or path.read_text("utf-8") != text:
        write_atomically(path, text)


def load_file(path: Path, parse: Callable[[Any], T], wrong: str) -> T | None:
    """What a file holds; None if there is none.

    Args:
        wrong: what to say of a file that cannot be parsed.

    Raises:
        RecordError: it cannot, or is too large.
    """
    try:
        stamp = _stamp(path)
        known, value = KNOWN.get(str(path), (None, None))
        if known != stamp:
            value = parse(json.loads(path.read_bytes()))
            if time.time_ns() - max(stamp[-2:]) > TICK:
                KNOWN[str(path)] = stamp, value
    except FileNotFoundError:
        return None
    except (OSError, ValueError, OverflowError, RecursionError) as error:
        raise RecordError(f"{path}: {wrong}: {error}") from error
    return value


def _stamp(path: Path) -> tuple[int, ...]:
    """What tells a file from what it was; refuses one that is far longer than any record."""
    found = path.stat()
    if found.st_size > SIZE_LIMIT:
        raise ValueError(f"over {SIZE_LIMIT:,} bytes; no record is that long")
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


KNOWN: dict[str, tuple[tuple[int, ...], Any]] = {}
"""Path → what the file was when it was read, and what it held. A build hands it on to the next."""

TICK = 100_000_000
"""Nanoseconds within which a file can change and keep its times; what is that new is not known."""


TOLD = attrgetter("digest", "environment", "run.outcome", "run.outputs", "run.message")
"""What a record says; the rest is how long that took, and when it was."""


def _days(old: Record, new: Record) -> int:
    then, now = (date.fromisoformat(record.provenance.date) for record in (old, new))
    return (now - then).days


def _field(name: str, value: object) -> str:
    return f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"


def _to_text(record: Record) -> str:
    data = {
        "schema": SCHEMA,
        "digest": record.digest,
        "environment": asdict(record.environment),
        "recorded": asdict(record.provenance),
        **asdict(record.run),
    }
    data["checksum"] = digest(data)
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _from_data(data: Any) -> Record:
    record = check_fields(data, "record", RECORD_FIELDS)
    if record["schema"] != SCHEMA:
        raise ValueError(f"schema {record['schema']}, not {SCHEMA}")
    if record["checksum"] != digest({k: v for k, v in record.items() if k != "checksum"}):
        raise ValueError("it was changed by hand, says its checksum; record it again")
    if not all(isinstance(text, str) for text in record["outputs"]):
        raise ValueError("outputs are texts")
    measured = (check_fields(m, "measurement", MEASUREMENT_FIELDS) for m in record["measurements"])
    run = Run(
        record["claim"],
        Lane(record["lane"]),
        Outcome(record["outcome"]),
        tuple(record["outputs"]),
        float(record["seconds"]),
        record["message"],
        tuple(Measurement(**fields) for fields in measured),
        record["device_bytes"],
    )
    made_in = Environment(**check_fields(record["environment"], "environment", ENVIRONMENT_FIELDS))
    return Record(run, record["digest"], made_in, provenance_of(record))


def provenance_of(record: Data) -> Provenance:
    """When something was recorded, and from which state of the project."""
    return Provenance(**check_fields(record["recorded"], "recorded", PROVENANCE_FIELDS))


TEXT, OPTIONAL_TEXT, NUMBER = (str,), (str, type(None)), (int, float)
RECORD_FIELDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("claim", "lane", "digest", "outcome", "message", "checksum"), TEXT),
    **dict.fromkeys(("outputs", "measurements"), (list,)),
    **dict.fromkeys(("environment", "recorded"), (dict,)),
    "schema": (int,),
    "seconds": NUMBER,
    "device_bytes": (int, type(None)),
}
MEASUREMENT_FIELDS = {"name": TEXT, "value": NUMBER, "unit": TEXT}
ENVIRONMENT_FIELDS = {
    **dict.fromkeys(("torch", "python", "os", "device"), TEXT),
    **dict.fromkeys(("cuda", "driver", "capability"), OPTIONAL_TEXT),
}
PROVENANCE_FIELDS = {"date": TEXT, "commit": OPTIONAL_TEXT, "clean": (bool, type(None))}


def check_fields(data: Any, name: str, fields: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    """The data, if it is an object with just these fields, each of one of its types.

    Raises:
        ValueError: it is not; says what is wrong.
    """
    if not isinstance(data, dict) or data.keys() != fields.keys():
        raise ValueError(f"{name} has the fields {', '.join(sorted(fields))}")
    for key, types in fields.items():
        if not isinstance(data[key], types):
            raise ValueError(f"{name}.{key} is a {type(data[key]).__name__}")
    return data
