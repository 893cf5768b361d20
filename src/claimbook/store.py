"""Files of data: each is replaced whole or not at all, and checked field by field on reading.

Nothing in them is believed: one that is broken is named, and stops nothing else.
"""

import json
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from claimbook.model import Environment, Provenance

T = TypeVar("T")
Data = Mapping[str, Any]
SCHEMA = 1
TEXT = (str,)
SIZE_LIMIT = 10_000_000
"""Bytes of a file that are read; a claim prints far less."""


class RecordError(ValueError):
    """A file that should be a record is not one; names the file and what is wrong."""


class WriteError(OSError):
    """A file cannot be written; names it, and says what to do."""


def write_atomically(path: Path, content: str | bytes) -> None:
    """Puts text or bytes in place of a file, so that nobody ever finds half of it.

    Raises:
        WriteError: the disk is full, or the folder is not to be written in.
    """
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        half.write_bytes(content.encode() if isinstance(content, str) else content)
        half.replace(path)
    except OSError as error:
        cause = error.strerror or error
        advice = "free space there or make it writable, and run this again"
        raise WriteError(f"{path} cannot be written: {cause}; {advice}") from error
    finally:
        with suppress(OSError):
            half.unlink()


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


def check_fields(data: Any, name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The data, if it is an object with just these fields, each of one of its types.

    Args:
        fields: the type of each, as `isinstance` takes it.

    Raises:
        ValueError: it is not; says what is wrong.
    """
    if not isinstance(data, dict) or data.keys() != fields.keys():
        raise ValueError(f"{name} has the fields {', '.join(sorted(fields))}")
    for key, types in fields.items():
        if not isinstance(data[key], types):
            raise ValueError(f"{name}.{key} is a {type(data[key]).__name__}")
    return data


def environment_of(data: Data) -> Environment:
    """In what environment something was recorded."""
    fields = check_fields(data["environment"], "environment", Environment.__annotations__)
    return Environment(**fields)


def provenance_of(data: Data) -> Provenance:
    """When something was recorded, and from which state of the project."""
    fields = check_fields(data["recorded"], "recorded", Provenance.__annotations__)
    return Provenance(**fields)


@dataclass(frozen=True)
class ByVersion(ABC, Generic[T]):
    """The files of a folder, one a release of torch, a machine, or a version of the book."""

    folder: Path
    kind: ClassVar[str]
    """`release`, `machine` or `version`; the field of a file that says of which it is."""
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
        names = sorted(path.stem for path in self.folder.glob("*.json"))
        return sorted(names, key=order)

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


def _field(name: str, value: object) -> str:
    return f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"


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
