"""Writing files so that nobody ever finds half of one."""

import os
from contextlib import suppress
from pathlib import Path


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
