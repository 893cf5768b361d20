"""What is kept of claims by their ids: for another id, for another page, for no claim any more."""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from claimbook.files import write_atomically
from claimbook.records.book_runs import Machines, Releases
from claimbook.records.store import signed_again


def orphans(docs: Path, claims: Collection[str]) -> Iterator[tuple[Path, int, str]]:
    """Yield what is kept, and committed, of an id that no claim has: file, line, id."""
    known = {"", *claims}
    for path in _files(docs / "records"):
        for number, data in _lines(path):
            if data.get("claim", "") not in known:
                yield path, number, data["claim"]


def rename(docs: Path, names: Mapping[str, str | None]) -> list[Path]:
    """Keep what is kept of ids under others, or no longer; return the files that changed."""
    pages = [*_files(docs / "records"), *_files(docs / "_build" / "records")]
    changed = [path for path in pages if _rename_in(path, names)]
    for kind in (Releases, Machines):
        runs = kind.of(docs)
        for run in runs.load_all(lambda *_: None):
            if not names.keys().isdisjoint(run.claims):
                new = {names.get(id_, id_): result for id_, result in run.claims.items()}
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


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines of a file that hold an object; the others are named where they are read."""
    for number, line in enumerate(path.read_bytes().split(b"\n"), start=1):
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            yield number, data


def _rename_in(path: Path, names: Mapping[str, str | None]) -> bool:
    lines = dict(_lines(path))
    data = [*lines.values()]
    if not any(line.get("claim") in names for line in data):
        return False
    raw = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    others = (line for number, line in enumerate(raw, start=1) if number not in lines)
    broken = [f"{line}\n" for line in others if line.strip()]
    heads = [line for line in data if "claim" not in line]
    own = {names.get(line["claim"], line["claim"]): line for line in data if "claim" in line}
    kept = [signed_again(own[id_], claim=id_) for id_ in sorted(filter(None, own))]
    used = {line.get("common") for id_, line in own.items() if id_}
    shared = [signed_again(head) for head in heads if head.get("common") in used]
    write_atomically(path, "".join([*broken, *shared, *kept]))
    if not (kept or broken):
        path.unlink()
    return True
