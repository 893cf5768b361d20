"""Read data files, with every field checked.

A broken file, or a broken line, is reported and does not affect others.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import msgspec

T = TypeVar("T")
Tell = Callable[[str, str], None]
"""Reports a broken file or line: its place, and the reason."""
SCHEMA = 1
SIZE_LIMIT = 10_000_000
"""Most bytes of a file; real ones are far smaller."""


class Dataclass(Protocol):
    """Any dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Kept = TypeVar("Kept", bound=Dataclass)

structure = msgspec.convert
"""Converts data to a dataclass, with every field checked; `BROKEN` has what it raises."""


def load_file(path: Path, parse: Callable[[Any], T], wrong: str, tell: Tell) -> T | None:
    """Return the parsed content of a JSON file; None if it does not exist or is broken.

    Args:
        wrong: the message for a file that cannot be parsed.
    """
    try:
        return parse(json.loads(read(path)))
    except FileNotFoundError:
        pass
    except BROKEN as error:
        tell(f"{path}:1", f"{wrong}: {error}")
    return None


BROKEN = (OSError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError)
"""Exceptions of reading and parsing a broken file."""


def read(path: Path) -> bytes:
    """Return the bytes of a file.

    Raises:
        ValueError: it is far longer than any record.
    """
    if path.stat().st_size > SIZE_LIMIT:
        raise ValueError(f"over {SIZE_LIMIT:,} bytes; no record is that long")
    return path.read_bytes()
