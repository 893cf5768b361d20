"""What is kept in a file for each release, machine and version."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self

from claimbook.files import write_atomically
from claimbook.records.store import SCHEMA, Kept, RecordError, Tell, load_file, structure


@dataclass(frozen=True)
class ByName(Generic[Kept]):
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

    def parse(self, data: dict[str, Any]) -> Kept:
        """Return what a file holds.

        Raises:
            ValueError: it is not what a file may be; says what is wrong.
        """
        found: Kept = structure({**data, "name": data[self.kind]}, self.holds)
        return found

    def path(self, name: str) -> Path:
        """Return where one stands."""
        return self.folder / f"{name}.json"

    def names(self) -> list[str]:
        """Return the names of those that have a file, releases and versions from the oldest on."""
        names = sorted(path.stem for path in self.folder.glob("*.json"))
        return sorted(names, key=order)

    def load_all(self, tell: Tell) -> list[Kept]:
        """Return every one of them that is not broken, from the oldest on."""
        found = []
        for name in self.names():
            try:
                found.append(self.load(name))
            except RecordError as error:
                path = self.path(name)
                tell(f"{path}:1", str(error).removeprefix(f"{path}: "))
        return [each for each in found if each is not None]

    def load(self, name: str) -> Kept | None:
        """Return one of them; None if there is none.

        Raises:
            RecordError: its file is broken, too large, or another one's.
        """

        def checked(data: Any) -> Kept:
            named = {"schema": SCHEMA, self.kind: name}
            if not isinstance(data, dict) or not named.items() <= data.items():
                raise ValueError(f"it is no {self.kind} {name} of schema {SCHEMA}")
            return self.parse(data)

        return load_file(self.path(name), checked, f"no record of a {self.kind}")

    def save(self, value: Kept) -> None:
        """Write a file: of what it holds by ids a line each, so that two can be compared by eye.

        Left out is what is empty of these, and what is None.
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
"""The fields of what is kept by name that map ids."""


def _filled(item: Any) -> Any:
    return {k: v for k, v in item.items() if v} if isinstance(item, dict) else item


def _field(name: str, value: object) -> str:
    return f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"


def order(version: str) -> tuple[int, ...]:
    """Return what sorts versions from the oldest on: 2.8.0 before 2.10.0.

    >>> sorted(["2.10.0", "2.8.0"], key=order)
    ['2.8.0', '2.10.0']
    """
    return tuple(int(part) for part in version.split(".") if part.isdecimal())
