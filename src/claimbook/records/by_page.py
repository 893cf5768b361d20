"""Saved data with one file per page or part of the book, and a line per claim and device."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Generic, Self

from claimbook.files import write_changed
from claimbook.model import Claim, digest
from claimbook.records.reading import BROKEN, SCHEMA, Kept, Tell, read, structure

Data = Mapping[str, Any]
"""The fields of a line."""


class ByPage(Generic[Kept]):
    """A folder with one file per page: sorted lines of JSON, one per claim and device.

    Fields that many lines share are in lines of their own at the top. A broken line is reported
    and loses the data of one claim only.
    """

    value_type: ClassVar[type[Any]]
    """The dataclass of a line; it has a field `claim`."""
    shared: ClassVar[tuple[str, ...]]
    """The fields that lines share."""

    def __init__(self, folder: Path, tell: Tell) -> None:
        self.folder = folder
        self.tell = cache(tell)  # once, however often a file is read
        self._pages: dict[Path, dict[str, dict[str, Kept]]] = {}
        """File → claim id → device → value."""

    def parse(self, data: dict[str, Any]) -> Kept:
        """Return the value of a line, from its own and its shared fields.

        Raises:
            ValueError: the data is invalid; the message says what is wrong.
        """
        found: Kept = structure(data, self.value_type)
        return found

    def data(self, value: Kept) -> dict[str, Any]:
        """Return the fields of a value."""
        return asdict(value)

    def device(self, value: Kept) -> str:
        """Return the device of a value; empty if only one value per claim is kept."""
        return ""

    def stands(self, old: Kept, new: Kept) -> bool:
        """Return whether a saved value need not be replaced by a new one."""
        return old == new

    def path(self, claim: Claim) -> Path:
        """Return the file for a claim, named after its page."""
        return self.folder / f"{claim.docname}.jsonl"

    def load(self, claim: Claim) -> Kept | None:
        """Return the value of a claim; None if there is none, or its line is broken."""
        return next(iter(self.load_all(claim)), None)

    def load_all(self, claim: Claim) -> list[Kept]:
        """Return the values of a claim, one per device.

        A claim that has moved to another page is found in the file of the old one.
        """
        path = self._place(claim)
        return list(self._page(path).get(claim.id, {}).values()) if path else []

    def _place(self, claim: Claim) -> Path | None:
        """Return the file that has a claim: its page's, or its old page's; None if none has."""
        own = self.path(claim)
        return own if claim.id in self._page(own) else self._everywhere.get(claim.id)

    @cached_property
    def _everywhere(self) -> dict[str, Path]:
        """Claim id → its file; asked only for a claim that is not in the file of its page."""
        files = sorted(self.folder.rglob("*.jsonl"))
        return {name: path for path in files for name in self._page(path)}

    def save(self, claim: Claim, value: Kept) -> bool:
        """Save the value of a claim on a device, unless the saved one still stands.

        Returns:
            Whether the file of its page was written.

        Raises:
            WriteError: the disk is full, or the folder is not writable.
        """
        if any(self.stands(old, value) for old in self.load_all(claim)):
            return False
        path, was = self.path(claim), self._place(claim)
        self._pages.pop(path)  # another process may have written it since
        page = self._page(path)
        left = was if was != path else None  # the file of its old page
        known = self._page(left).pop(claim.id) if left else {}
        page.setdefault(claim.id, known)[self.device(value)] = value
        write_changed(path, self._text(page))
        if left:
            write_changed(left, self._text(self._page(left)))
            self._everywhere[claim.id] = path
        return True

    def _page(self, path: Path) -> dict[str, dict[str, Kept]]:
        """Return the content of a file: claim id → device → value."""
        if path not in self._pages:
            page = self._pages[path] = {}
            for claim, value in self._lines(path):
                page.setdefault(claim, {})[self.device(value)] = value
        return self._pages[path]

    def _lines(self, path: Path) -> Iterator[tuple[str, Kept]]:
        """Yield claim id and value of each line of a file; report broken lines."""
        try:
            lines = read(path).split(b"\n")
        except FileNotFoundError:
            return
        except BROKEN as error:
            self.tell(f"{path}:1", f"not a record: {error}")
            return
        common: dict[str, dict[str, Any]] = {}
        for number, line in enumerate(lines, start=1):
            try:
                if line.strip():
                    yield from self._parse_line(line, common)
            except BROKEN as error:
                self.tell(f"{path}:{number}", f"not a record: {error}")

    def _parse_line(
        self, line: bytes, common: dict[str, dict[str, Any]]
    ) -> Iterator[tuple[str, Kept]]:
        """Yield the claim and the value of a line; note a line of shared fields in `common`."""
        data = json.loads(line)
        if not isinstance(data, dict) or data.get("schema") != SCHEMA:
            raise ValueError(f"it is not an object of schema {SCHEMA}")
        key, of_claim = str(data.get("common")), "claim" in data
        if of_claim and key not in common:
            raise ValueError(f"it refers to shared line {key}, which is missing or broken")
        shared = common[key] if of_claim else {}
        if data.pop("checksum", None) != _checksum(data, shared):
            raise ValueError("its checksum is wrong after an edit or a merge; run it again")
        fields = {k: v for k, v in data.items() if k not in {"schema", "common"}}
        if of_claim:
            yield data["claim"], self.parse({**fields, **shared})
        elif common.setdefault(key, fields) != fields:  # from two sides of a merge
            del common[key]
            raise ValueError(f"shared line {key} is here twice")

    def _text(self, page: Mapping[str, Mapping[str, Kept]]) -> str:
        """Return the content of a file: shared fields, then a line per claim and device."""
        lines, keys = list[str](), dict[str, int]()
        by_device = (page[claim] for claim in sorted(page))
        for value in (values[device] for values in by_device for device in sorted(values)):
            data = self.data(value)
            shared = {name: data.pop(name) for name in self.shared}
            key = keys.setdefault(json.dumps(shared, sort_keys=True), len(keys) + 1)
            lines.append(line_of({**data, "common": key}, shared))
        heads = [line_of({**json.loads(text), "common": key}) for text, key in keys.items()]
        return "".join([*heads, *lines])


class ByPart(ByPage[Kept]):
    """A folder with one file per part of the book."""

    kind: ClassVar[str]
    """The name of the folder in docs/records."""

    @classmethod
    def of(cls, docs: Path, tell: Tell) -> Self:
        """Return the folder in a book's docs."""
        return cls(docs / "records" / cls.kind, tell)

    def path(self, claim: Claim) -> Path:
        """Return the file for a claim, named after the first folder of its page."""
        return self.folder / f"{claim.docname.partition('/')[0]}.jsonl"


CHECKED = 16
"""Characters of a checksum."""


def line_of(data: Data, shared: Data = MappingProxyType({})) -> str:
    """Return a line with data and its checksum.

    Args:
        shared: the fields that it shares with others, which are in a line of their own.
    """
    held = {**data, "schema": SCHEMA}
    held["checksum"] = _checksum(held, shared)
    return json.dumps(held, sort_keys=True, ensure_ascii=False) + "\n"


def _checksum(held: Data, shared: Data) -> str:
    """Return the checksum of a line.

    It ignores the id, so that a claim can be renamed, and the shared fields except torch and
    device, which a merge may mix up.
    """
    own = {name: value for name, value in held.items() if name != "claim"}
    where = shared.get("environment", shared)
    ran_on = [where.get("torch"), where.get("device")] if isinstance(where, Mapping) else []
    return digest([own, ran_on])[:CHECKED]


def orphans(docs: Path, claims: Collection[str]) -> Iterator[tuple[Path, int, str]]:
    """Yield file, line and id of each committed record whose claim does not exist."""
    for path in sorted((docs / "records").rglob("*.jsonl")):
        for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
            if (found := _CLAIM.search(line)) and (name := found[1].decode()) not in claims:
                yield path, number, name


_CLAIM = re.compile(rb'"claim": "([a-z0-9-]+)"')
"""The id in a line: a broken line names its claim too."""
