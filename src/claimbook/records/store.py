"""Files of data: each is replaced whole or not at all, and checked field by field on reading.

Nothing in them is believed: one that is broken, or a line of it, is named, and stops nothing else.
"""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import msgspec

from claimbook.model import Provenance

T = TypeVar("T")
Tell = Callable[[str, str], None]
"""Is given the place of a file or line that is broken, and why; the others stand."""
SCHEMA = 1
SIZE_LIMIT = 10_000_000
"""Bytes of a file that are read; a claim prints far less."""


class Dataclass(Protocol):
    """What is kept: an instance of any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Kept = TypeVar("Kept", bound=Dataclass)


class RecordError(ValueError):
    """A file that should be a record is not one; names the file and what is wrong."""


def load_file(path: Path, parse: Callable[[Any], T], wrong: str) -> T | None:
    """Return what a file holds; None if there is none.

    Args:
        wrong: what to say of a file that cannot be parsed.

    Raises:
        RecordError: it cannot, or is too large.
    """
    try:
        return parse(json.loads(read(path)))
    except FileNotFoundError:
        return None
    except BROKEN as error:
        raise RecordError(f"{path}: {wrong}: {error}") from error


BROKEN = (OSError, ValueError, OverflowError, RecursionError)
"""What reading a file may raise that is none of ours."""


def read(path: Path) -> bytes:
    """Return the bytes of a file; refuse one that is far longer than any record."""
    if path.stat().st_size > SIZE_LIMIT:
        raise ValueError(f"over {SIZE_LIMIT:,} bytes; no record is that long")
    return path.read_bytes()


def structure(data: Any, kind: type[T]) -> T:
    """Return data as what it should be, each field checked.

    Raises:
        ValueError: it is something else; says where and what is wrong.
    """
    try:
        found = msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    if isinstance(recorded := getattr(found, "recorded", None), Provenance):
        date.fromisoformat(recorded.date)  # what is none is no record
    return found
