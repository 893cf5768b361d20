"""What is kept of claims by their ids: for another id, for another page, for no claim any more."""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from claimbook.files import write_atomically
from claimbook.records.book_runs import CudaReleases, Machines, Releases
from claimbook.records.store import signed_again


def orphans(docs: Path, claims: Collection[str]) -> Iterator[tuple[Path, int, str]]:
    """Yield what is kept, and committed, of an id that no claim has: file, line, id."""
    known = {"", *claims}
    for path in _files(docs / "records"):
        for number, (_, data) in enumerate(_lines(path), start=1):
            if data.get("claim", "") not in known:
                yield path, number, data["claim"]


def rename(docs: Path, names: Mapping[str, str | None]) -> list[Path]:
    """Keep what is kept of ids under others, or no longer; return the files that changed."""
    pages = [*_files(docs / "records"), *_files(docs / "_build" / "records")]
    changed = [path for path in pages if _rename_in(path, names)]
    for kind in (Releases, CudaReleases, Machines):
        runs = kind.of(docs)
        for run in runs.load_all(lambda *_: None):
            if not names.keys().isdisjoint(run.claims):
                old_first = sorted(run.claims, key=lambda id_: id_ not in names)
                new = {names.get(id_, id_): run.claims[id_] for id_ in old_first}
                runs.save(replace(run, claims={id_: r for id_, r in new.items() if id_}))
                changed.append(runs.path(run.name))
    return changed


def move(docs: Path, old: str, new: str) -> list[Path]:
    """Move what is kept of a page, by its name under docs, to another; return where it is now."""
    moved = []
    for folder in (docs / "records", docs / "_build" / "records"):
        for path in _files(folder):
            kind = path.relative_to(folder).parts[0]
            target = folder / kind / f"{new}.jsonl"
            # What is kept of the new page already stays; the rest is found by its ids.
            if path == folder / kind / f"{old}.jsonl" and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                moved.append(path.rename(target))
    return moved


def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.jsonl"))


def _lines(path: Path) -> Iterator[tuple[bytes, dict[str, Any]]]:
    """Yield each line with the fields that it holds; one that is broken is named on reading."""
    for line in path.read_bytes().split(b"\n"):
        data = None
        with suppress(ValueError, RecursionError):
            data = json.loads(line)
        yield line, data if isinstance(data, dict) and _is_named(data) else {}


def _is_named(data: dict[str, Any]) -> bool:
    """Return whether a line names its claim, and what it shares, as lines do."""
    return isinstance(data.get("claim", ""), str) and isinstance(data.get("common", 0), int)


def _device(head: dict[str, Any]) -> str:
    """Return the device of the claims that share a line; empty where it names none."""
    where = head.get("environment")
    return str(where.get("device", "")) if isinstance(where, dict) else ""


def _rename_in(path: Path, names: Mapping[str, str | None]) -> bool:
    lines = [(line, data) for line, data in _lines(path) if line.strip()]
    claims = [data for _, data in lines if "claim" in data]
    if names.keys().isdisjoint(data["claim"] for data in claims):
        return False
    heads = {data.get("common"): data for _, data in lines if "claim" not in data}
    # Of two lines of one claim and one device the last stays: that of the new id.
    old_first = sorted(claims, key=lambda data: data["claim"] not in names)
    own = {
        (new, _device(heads.get(data.get("common"), {}))): data
        for data in old_first
        if (new := names.get(data["claim"], data["claim"]))
    }
    used = {None, *(data.get("common") for data in own.values())}  # None: of a broken line
    others = [
        line + b"\n" for line, data in lines if "claim" not in data and data.get("common") in used
    ]
    kept = [signed_again(own[place], claim=place[0]).encode() for place in sorted(own)]
    write_atomically(path, b"".join([*others, *kept]))
    if not (kept or others):
        path.unlink()
    return True
