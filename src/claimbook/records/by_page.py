"""What is kept in a file for each page or part of the book, a line for each claim and device."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Self

from claimbook.files import write_changed
from claimbook.model import Claim, digest
from claimbook.records.store import BROKEN, SCHEMA, Kept, Tell, read, structure

Data = Mapping[str, Any]


class ByPage(Generic[Kept]):
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
        self._pages: dict[Path, dict[str, dict[str, Kept]]] = {}
        """File → claim id → what is kept of it, by device."""
        self._written: dict[Path, tuple[int, int] | None] = {}
        """File → when it was written that is held."""
        self._elsewhere: dict[str, Path] | None = None
        """Claim id → the file in which it stands; read once a claim is not where it should be."""

    def parse(self, data: dict[str, Any]) -> Kept:
        """Return what a line says, of its fields and those that it shares.

        Raises:
            ValueError: it is not what a line may be; says what is wrong.
        """
        found: Kept = structure(data, self.holds)
        return found

    def data(self, value: Kept) -> dict[str, Any]:
        """Return the fields that hold a value."""
        return asdict(value)

    def device(self, value: Kept) -> str:
        """Return of which device a value speaks; empty where one is kept whatever the device."""
        return ""

    def path(self, claim: Claim) -> Path:
        """Return where what is kept of a claim stands: as its page does under docs."""
        return self.folder / f"{claim.docname}.jsonl"

    def load(self, claim: Claim) -> Kept | None:
        """Return what is kept of a claim; None if there is nothing, or its line is broken."""
        return next(iter(self.load_all(claim)), None)

    def load_all(self, claim: Claim) -> list[Kept]:
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

    def put(self, claim: Claim, value: Kept) -> None:
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

    def _page(self, path: Path) -> dict[str, dict[str, Kept]]:
        if path not in self._pages:
            self._written[path] = _written(path)
            page = self._pages[path] = {}
            for claim, value in self._lines(path):
                page.setdefault(claim, {})[self.device(value)] = value
        return self._pages[path]

    def _lines(self, path: Path) -> Iterator[tuple[str, Kept]]:
        try:
            lines = read(path).split(b"\n")
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
    ) -> Iterator[tuple[str, Kept]]:
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

    def _text(self, page: Mapping[str, Mapping[str, Kept]]) -> str:
        lines, keys = list[str](), dict[str, int]()
        devices = (kept for _, kept in sorted(page.items()))
        for value in (value for kept in devices for _, value in sorted(kept.items())):
            data = self.data(value)
            shared = {name: data.pop(name) for name in self.shared}
            key = keys.setdefault(json.dumps(shared, sort_keys=True), len(keys) + 1)
            lines.append(line_of({**data, "common": key}, shared))
        heads = [line_of({**json.loads(text), "common": key}) for text, key in keys.items()]
        return "".join([*heads, *lines])


class ByPart(ByPage[Kept]):
    """The files of a folder, one a part of the book."""

    kind: ClassVar[str]
    """The name of the folder."""
    shared = ("operators", "torch", "date")

    @classmethod
    def of(cls, docs: Path, tell: Tell) -> Self:
        """Return those of a book."""
        return cls(docs / "records" / cls.kind, tell)

    def save(self, claim: Claim, value: Kept) -> None:
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
