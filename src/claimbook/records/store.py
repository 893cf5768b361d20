"""Files of data: each is replaced whole or not at all, and checked field by field on reading.

Nothing in them is believed: one that is broken, or a line of it, is named, and stops nothing else.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Self, TypeVar

import msgspec

from claimbook.files import write_atomically, write_changed
from claimbook.model import Claim, Provenance, digest

T = TypeVar("T")
Data = Mapping[str, Any]
Tell = Callable[[str, str], None]
"""Is given the place of a file or line that is broken, and why; the others stand."""
SCHEMA = 1
SIZE_LIMIT = 10_000_000
"""Bytes of a file that are read; a claim prints far less."""


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
        return parse(json.loads(_read(path)))
    except FileNotFoundError:
        return None
    except BROKEN as error:
        raise RecordError(f"{path}: {wrong}: {error}") from error


BROKEN = (OSError, ValueError, OverflowError, RecursionError)
"""What reading a file may raise that is none of ours."""


def _read(path: Path) -> bytes:
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


@dataclass(frozen=True)
class ByName(Generic[T]):
    """The files of a folder, one a release of torch, a machine, or a version of the book."""

    folder: Path
    kind: ClassVar[str]
    """`release`, `machine` or `version`; the field of a file that says of which it is."""
    holds: ClassVar[type[Any]]
    """What a file holds: a dataclass with the fields of a file, `name` for the one above."""

    @classmethod
    def of(cls, docs: Path) -> Self:
        """Return those of a book."""
        return cls(docs / "records" / f"{cls.kind}s")

    def parse(self, data: dict[str, Any]) -> T:
        """Return what a file holds.

        Raises:
            ValueError: it is not what a file may be; says what is wrong.
        """
        found: T = structure({**data, "name": data[self.kind]}, self.holds)
        return found

    def path(self, name: str) -> Path:
        """Return where one stands."""
        return self.folder / f"{name}.json"

    def names(self) -> list[str]:
        """Return the names of those that have a file, releases and versions from the oldest on."""
        names = sorted(path.stem for path in self.folder.glob("*.json"))
        return sorted(names, key=order)

    def load_all(self, tell: Tell) -> list[T]:
        """Return every one of them that is not broken, from the oldest on."""
        found = []
        for name in self.names():
            try:
                found.append(self.load(name))
            except RecordError as error:
                path = self.path(name)
                tell(f"{path}:1", str(error).removeprefix(f"{path}: "))
        return [each for each in found if each is not None]

    def load(self, name: str) -> T | None:
        """Return one of them; None if there is none.

        Raises:
            RecordError: its file is broken, too large, or another one's.
        """

        def checked(data: Any) -> T:
            named = {"schema": SCHEMA, self.kind: name}
            if not isinstance(data, dict) or not named.items() <= data.items():
                raise ValueError(f"it is no {self.kind} {name} of schema {SCHEMA}")
            return self.parse(data)

        return load_file(self.path(name), checked, f"no record of a {self.kind}")

    def save(self, value: T) -> None:
        """Write a file: of what it holds by ids a line each, so that two can be compared by eye.

        Left out is what is empty of these, and what is None.
        """
        data: dict[str, Any] = asdict(value)  # type: ignore[call-overload]
        name = data.pop("name")
        groups = {group: data.pop(group) for group in GROUPS if group in data}
        head = {name: found for name, found in data.items() if found is not None}
        parts = [_field(*item) for item in {"schema": SCHEMA, self.kind: name, **head}.items()]
        for group, items in groups.items():
            lines = ",\n".join(_field(id_, _filled(item)) for id_, item in items.items())
            parts.append(f'"{group}": {{\n{lines}\n}}')
        write_atomically(self.path(name), "{\n" + ",\n".join(parts) + "}\n")


GROUPS = ("claims", "entries")
"""The fields of what is kept by name that map ids."""


def _filled(item: Any) -> Any:
    return {k: v for k, v in item.items() if v} if isinstance(item, dict) else item


class ByPage(Generic[T]):
    """The files of a folder, one a page: a line of JSON for each claim and device, sorted.

    What many lines of a page have in common stands in lines of its own, before them. A line that is
    broken is named, and costs one claim what was kept of it.
    """

    holds: ClassVar[type[Any]]
    """What a line says: a dataclass with its fields, `claim` among them."""
    shared: ClassVar[tuple[str, ...]]
    """The fields that many lines have in common."""
    wrong: ClassVar[str]
    """What to say of a line that cannot be parsed."""

    def __init__(self, folder: Path, tell: Tell) -> None:
        self.folder, self.tell = folder, tell
        self._pages: dict[Path, dict[str, dict[str, T]]] = {}
        """File → claim id → what is kept of it, by device."""
        self._written: dict[Path, tuple[int, int] | None] = {}
        """File → when it was written that is held."""
        self._elsewhere: dict[str, Path] | None = None
        """Claim id → the file in which it stands; read once a claim is not where it should be."""

    def parse(self, data: dict[str, Any]) -> T:
        """Return what a line says, of its fields and those that it shares.

        Raises:
            ValueError: it is not what a line may be; says what is wrong.
        """
        found: T = structure(data, self.holds)
        return found

    def data(self, value: T) -> dict[str, Any]:
        """Return the fields that hold a value."""
        return asdict(value)  # type: ignore[call-overload, no-any-return]

    def device(self, value: T) -> str:
        """Return of which device a value speaks; empty where one is kept whatever the device."""
        return ""

    def path(self, claim: Claim) -> Path:
        """Return where what is kept of a claim stands: as its page does under docs."""
        return self.folder / f"{claim.docname}.jsonl"

    def load(self, claim: Claim) -> T | None:
        """Return what is kept of a claim; None if there is nothing, or its line is broken."""
        return next(iter(self.load_all(claim)), None)

    def load_all(self, claim: Claim) -> list[T]:
        """Return what is kept of a claim, a value for each device.

        A claim that has moved to another page is found where it was.
        """
        path = self._place(claim)
        return list(self._page(path).get(claim.id, {}).values()) if path else []

    def _place(self, claim: Claim) -> Path | None:
        own = self.path(claim)
        if claim.id in self._page(own):
            return own
        if self._elsewhere is None:
            files = sorted(self.folder.rglob("*.jsonl"))
            self._elsewhere = {name: path for path in files for name in self._page(path)}
        return self._elsewhere.get(claim.id)

    def put(self, claim: Claim, value: T) -> None:
        """Write what is to be kept of a claim on a device, with the rest of its page.

        Raises:
            WriteError: the disk is full, or the folder is not to be written in.
        """
        path, was = self.path(claim), self._place(claim)
        if _written(path) != self._written.get(path):  # by another run, meanwhile
            del self._pages[path]
        page = self._page(path)
        moved = self._page(was).pop(claim.id) if was and was != path else {}
        page[claim.id] = {**page.get(claim.id, moved), self.device(value): value}
        write_changed(path, self._text(page))
        self._written[path] = _written(path)
        if was and was != path:
            write_changed(was, self._text(self._page(was)))
            self._elsewhere = None

    def _page(self, path: Path) -> dict[str, dict[str, T]]:
        if path not in self._pages:
            self._written[path] = _written(path)
            page = self._pages[path] = {}
            for claim, value in self._lines(path):
                page.setdefault(claim, {})[self.device(value)] = value
        return self._pages[path]

    def _lines(self, path: Path) -> Iterator[tuple[str, T]]:
        try:
            lines = _read(path).split(b"\n")
        except FileNotFoundError:
            return
        except BROKEN as error:
            self.tell(f"{path}:1", f"{self.wrong}: {error}")
            return
        common: dict[str, dict[str, Any]] = {}
        for number, line in enumerate(lines, start=1):
            try:
                if line.strip():
                    yield from self._parse_line(line, common)
            except BROKEN as error:
                self.tell(f"{path}:{number}", f"{self.wrong}: {error}")

    def _parse_line(
        self, line: bytes, common: dict[str, dict[str, Any]]
    ) -> Iterator[tuple[str, T]]:
        data = json.loads(line)
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ValueError(f"it is no object of schema {SCHEMA}")
        key = str(data.get("common"))
        if "claim" in data and key not in common:
            raise ValueError(f"it shares line {key}, which is missing or broken")
        shared = common[key] if "claim" in data else {}
        if data.pop("checksum", None) != _checksum(data, shared):
            raise ValueError("it was changed, by hand or a merge, says its checksum; run it again")
        del data["schema"]
        data.pop("common", None)
        if "claim" in data:
            yield data["claim"], self.parse({**data, **shared})
        elif common.setdefault(key, data) != data:  # of two sides of a merge
            del common[key]
            raise ValueError(f"line {key}, which others share, stands here twice")

    def _text(self, page: Mapping[str, Mapping[str, T]]) -> str:
        lines, keys = list[str](), dict[str, int]()
        devices = (kept for _, kept in sorted(page.items()))
        for value in (value for kept in devices for _, value in sorted(kept.items())):
            data = self.data(value)
            shared = {name: data.pop(name) for name in self.shared}
            key = keys.setdefault(json.dumps(shared, sort_keys=True), len(keys) + 1)
            lines.append(line_of({**data, "common": key}, shared))
        heads = [line_of({**json.loads(text), "common": key}) for text, key in keys.items()]
        return "".join([*heads, *lines])


class ByPart(ByPage[T]):
    """The files of a folder, one a part of the book."""

    kind: ClassVar[str]
    """The name of the folder."""
    shared = ("operators", "torch", "date")

    @classmethod
    def of(cls, docs: Path, tell: Tell) -> Self:
        """Return those of a book."""
        return cls(docs / "records" / cls.kind, tell)

    def save(self, claim: Claim, value: T) -> None:
        """Write what came of a claim unless what stands there says the same."""
        if self.load(claim) != value:
            self.put(claim, value)

    def path(self, claim: Claim) -> Path:
        """Return where what is kept of a claim stands: the first folder of its page."""
        return self.folder / f"{claim.docname.partition('/')[0]}.jsonl"


def _written(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from the one that was there before; None if there is none."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_ino, stat.st_mtime_ns


CHECKED = 16
"""Letters of a line's checksum."""


def line_of(data: Data, shared: Data = MappingProxyType({})) -> str:
    """Return the line that holds data, with its checksum.

    Args:
        shared: what it has in common with others, which stands in a line of its own.
    """
    held = {**data, "schema": SCHEMA}
    held["checksum"] = _checksum(held, shared)
    return json.dumps(held, sort_keys=True, ensure_ascii=False) + "\n"


def _checksum(held: Data, shared: Data) -> str:
    """Return the checksum of a line.

    It holds under another id, as a claim may be renamed, and beside another driver or date; not
    beside another torch or device, as a merge may put it.
    """
    own = {name: value for name, value in held.items() if name != "claim"}
    where = shared.get("environment", shared)
    ran_on = [where.get("torch"), where.get("device")] if isinstance(where, Mapping) else []
    return digest([own, ran_on])[:CHECKED]


def orphans(docs: Path, claims: Collection[str]) -> Iterator[tuple[Path, int, str]]:
    """Yield what is kept, and committed, of an id that no claim has: file, line, id."""
    for path in sorted((docs / "records").rglob("*.jsonl")):
        for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
            if (found := _CLAIM.search(line)) and (name := found[1].decode()) not in claims:
                yield path, number, name


_CLAIM = re.compile(rb'"claim": "([a-z0-9-]+)"')


def _field(name: str, value: object) -> str:
    return f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"


def order(version: str) -> tuple[int, ...]:
    """Return what sorts versions from the oldest on: 2.8.0 before 2.10.0.

    >>> sorted(["2.10.0", "2.8.0"], key=order)
    ['2.8.0', '2.10.0']
    """
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
