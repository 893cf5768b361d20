"""Saved data with one file per release, machine or version."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self

from claimbook.files import write_atomically
from claimbook.records.reading import SCHEMA, Kept, Tell, load_file, structure


@dataclass(frozen=True)
class ByName(Generic[Kept]):
    """A folder with one file per release of torch, machine, or version of the book."""

    folder: Path
    kind: ClassVar[str]
    """`release`, `machine` or `version`; also the field of a file that holds the name."""
    value_type: ClassVar[type[Any]]
    """The dataclass of a file; its `name` is the field `kind`."""

    @classmethod
    def of(cls, docs: Path) -> Self:
        """Return the folder in a book's docs."""
        return cls(docs / "records" / f"{cls.kind}s")

    def path(self, name: str) -> Path:
        """Return the path of a file."""
        return self.folder / f"{name}.json"

    def names(self) -> list[str]:
        """Return the names of all files; releases and versions from oldest to newest."""
        names = sorted(path.stem for path in self.folder.glob("*.json"))
        return sorted(names, key=order)

    def load_all(self, tell: Tell) -> list[Kept]:
        """Return the content of all files that are not broken, oldest first."""
        return [value for name in self.names() if (value := self.load(name, tell)) is not None]

    def load(self, name: str, tell: Tell) -> Kept | None:
        """Return the content of one file; None if it does not exist, or if it is broken."""

        def checked(data: Any) -> Kept:
            named = {"schema": SCHEMA, self.kind: name}
            if not isinstance(data, dict) or not named.items() <= data.items():
                raise ValueError(f"it is not {self.kind} {name} of schema {SCHEMA}")
            found: Kept = structure({**data, "name": name}, self.value_type)
            return found

        return load_file(self.path(name), checked, f"no record of a {self.kind}", tell)

    def save(self, value: Kept) -> None:
        """Write a file with one line per id, for readable diffs.

        Empty fields of an item and top-level fields that are None are left out.
        """
        data: dict[str, Any] = asdict(value)
        name = data.pop("name")
        groups = {group: data.pop(group) for group in GROUPS if group in data}
        head = {name: found for name, found in data.items() if found is not None}
        parts = [_field(*item) for item in {"schema": SCHEMA, self.kind: name, **head}.items()]
        for group, items in groups.items():
            lines = ",\n".join(_field(id_, _filled(item)) for id_, item in items.items())
            parts.append(f'"{group}": {{\n{lines}\n}}')
        write_atomically(self.path(name), "{\n" + ",\n".join(parts) + "}\n")


GROUPS = ("claims", "entries")
"""The fields that map ids."""


def _filled(item: Any) -> Any:
    return {k: v for k, v in item.items() if v} if isinstance(item, dict) else item


def _field(name: str, value: object) -> str:
    return f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"


def order(version: str) -> tuple[int, ...]:
    """Return a sort key for versions, by number: 2.8.0 before 2.10.0.

    >>> sorted(["2.10.0", "2.8.0"], key=order)
    ['2.8.0', '2.10.0']
    """
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
