"""Read files with errors that name the place, and write them atomically."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


class ReadError(OSError):
    """A file cannot be read; the message says in which line, and what to do."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.line, self.message = line, message


class WriteError(OSError):
    """A file cannot be written; the message names it and says what to do."""


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, a byte-order mark removed and line endings kept.

    Raises:
        ReadError: the file or its name is not UTF-8, or it cannot be read.
    """
    data = b""
    try:
        path.name.encode()
        data = path.read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeEncodeError as error:
        raise ReadError(path, 1, "its name is not UTF-8: rename it") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ReadError(path, line, "it is not UTF-8: save it with this encoding") from error
    except OSError as error:
        raise ReadError(path, 1, f"it cannot be read: {error.strerror}") from error


def walk(folder: Path, skips: Callable[[str], bool] = lambda name: False) -> Iterator[Path]:
    """Yield the files under a folder; links are followed, except those to a folder above.

    Args:
        skips: whether to leave out a folder of a given name.
    """
    for name, folders, files in os.walk(folder, followlinks=True):
        here = Path(name)
        folders[:] = [each for each in folders if not (skips(each) or _is_above(here / each))]
        yield from (here / each for each in files)


def _is_above(path: Path) -> bool:
    """Return whether a path is a link to a folder above it, which would have no end."""
    return path.is_symlink() and path.resolve() in [folder.resolve() for folder in path.parents]


def write_atomically(path: Path, content: str | bytes) -> None:
    """Replace a file's content atomically.

    A symbolic link is followed, and the file keeps its mode.

    Raises:
        WriteError: the disk is full, or the folder is not writable.
    """
    path = path.resolve()
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        half.write_bytes(_encoded(content))
        if path.exists():
            half.chmod(path.stat().st_mode)
        half.replace(path)
    except OSError as error:
        cause = error.strerror or error
        advice = "free space there or make it writable, and run this again"
        raise WriteError(f"{path} cannot be written: {cause}; {advice}") from error
    finally:
        with suppress(OSError):
            half.unlink()


def write_changed(path: Path, text: str) -> None:
    """Write a text if the file differs; otherwise leave its modification time alone."""
    if not path.exists() or path.read_bytes() != _encoded(text):
        write_atomically(path, text)


def _encoded(content: str | bytes) -> bytes:
    """Encode a text as UTF-8; lone surrogates are the bytes that Python read as such."""
    return content.encode("utf-8", "surrogateescape") if isinstance(content, str) else content


@dataclass(frozen=True)
class Stamp:
    """A file that records with what its folder was made."""

    path: Path
    now: str

    def is_current(self) -> bool:
        """Return whether the folder was made with `now`."""
        return self.path.exists() and self.path.read_bytes() == self.now.encode()

    def renew(self) -> None:
        """If the folder is outdated, remove it and start a new one."""
        if not self.is_current():
            shutil.rmtree(self.path.parent, ignore_errors=True)
            write_atomically(self.path, self.now)
