"""`nox -s bench`: the book's claims against the other ways to run them, growth, and builds.

Everything is run in turns, so that a slow moment of the machine falls on all alike.
"""

import argparse
import csv
import io
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from peers import PEERS, comparable
from rich.console import Console
from rich.table import Table

from claimbook.engine import environment
from claimbook.engine.fork_server import kept
from claimbook.model import Claim, Lane
from claimbook.pages.book import Book

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "docs" / "records" / "bench.json"
OUT = Console(highlight=False)
PARTS = ["book", "many", "growth", "builds"]


def main() -> None:
    """Measures, prints tables, and keeps the figures of each part that was measured."""
    options = _options()
    claims = comparable(Book.load(ROOT).claims)
    quick = [claim for claim in claims if claim.timeout is None and not _measures(claim)]
    measures: dict[str, Callable[[], object]] = {
        "book": lambda: _peers(claims, options.rounds, "the book's examples"),
        "many": lambda: _peers(_many(quick, 500), options.rounds, "500 small examples"),
        "growth": lambda: _growth(quick, options.growth),
        "builds": lambda: _builds(options.rounds),
    }
    file = options.json
    results = json.loads(file.read_text("utf-8")) if file.exists() else {}
    recorded = asdict(environment.provenance(ROOT))  # before the file changes what it asks
    for part in [part for part in PARTS if part in options.parts]:
        results[part] = {
            "environment": asdict(environment.describe(Lane.CPU)),
            "cores": os.cpu_count(),
            "recorded": recorded,
            "figures": measures[part](),
        }
        # After each part: together they take more than an hour.
        file.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        for name, table in shown(results).items():
            file.with_name(f"{file.stem}-{name}.csv").write_text(table, "utf-8")


def shown(results: dict[str, Any]) -> dict[str, str]:
    """What the page `checked` shows, as CSV: a table for each part, and where it was measured."""
    tables = {name: _csv(_rows(name, part["figures"])) for name, part in results.items()}
    return {**tables, "machines": _csv(_machines(results))}


def _csv(rows: Iterator[tuple[str, ...]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def _machines(results: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    yield "table", "measured on", "date"
    for name, part in results.items():
        where = part["environment"]
        machine = f"{part['cores']} cores of {where['device']}, {where['os']}, "
        machine += f"Python {where['python']}, torch {where['torch']}"
        yield TITLES[name], machine, _whole(part["recorded"]["date"])


def _rows(name: str, figures: Any) -> Iterator[tuple[str, ...]]:
    if name == "growth":
        yield "examples", "time", "memory of a process, at most"
        for row in figures:
            memory = f"{row['bytes'] >> 20} MiB"
            yield tuple(map(_whole, (f"{row['claims']:,}", _seconds(row["seconds"]), memory)))
        return
    compared = name != "builds"
    time = "median time"
    yield ("run by", time, "of a bare script") if compared else ("what was built", time)
    for how, row in figures.items():
        said = f"`{how}`" if " -" in how and "," not in how else how
        said += " (some fail)" * bool(row.get("failed", False))
        took = _whole(_seconds(row["median"]))
        yield (said, took, _whole(f"{row['ratio']:.2f} ×")) if compared else (said, took)


def _seconds(number: float) -> str:
    return f"{number:.1f} s"


def _whole(figure: str) -> str:
    return figure.replace(" ", "\N{NO-BREAK SPACE}").replace("-", "\N{NON-BREAKING HYPHEN}")


TITLES = {
    "book": "All examples of the book at that time",
    "many": "500 small examples",
    "growth": "More and more examples",
    "builds": "A build of the site",
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nox -s bench --", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each is run (5)")
    parser.add_argument("--growth", type=int, nargs="*", default=[100, 1000, 10_000])
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS, help="all of them")
    kept = "where to keep the figures, beside other parts' (docs/records/bench.json)"
    parser.add_argument("--json", type=Path, default=FIGURES, help=kept)
    return parser.parse_args()


def _measures(claim: Claim) -> bool:
    return "claimbook.teach" in claim.code


def _many(claims: list[Claim], count: int) -> list[Claim]:
    copies = islice(cycle(claims), count)
    return [replace(claim, id=f"{claim.id}-{number}") for number, claim in enumerate(copies)]


def _peers(claims: list[Claim], rounds: int, title: str) -> dict[str, dict[str, float]]:
    seconds: dict[str, list[float]] = {name: [] for name in PEERS}
    failed: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as top:
        commands = {}
        for number, (name, prepare) in enumerate(PEERS.items()):
            folder = Path(top, str(number))
            folder.mkdir()
            commands[name] = (prepare(claims, folder), folder)
        for turn in range(rounds):
            for name, (command, folder) in commands.items():
                if name == "myst-nb" and turn:  # a kernel a page: once says enough
                    continue
                OUT.print(f"[dim]{title}, round {turn + 1} of {rounds}: {name}[/]")
                run = _run(command, folder)
                seconds[name].append(run.seconds)
                failed[name] = bool(run.done.returncode)
    figures = {name: _figures(times) for name, times in seconds.items()}
    bare = figures["bare script"]["median"]
    table = Table(
        "", "median s", "fastest", "slowest", "of bare", "", title=f"{len(claims)}: {title}"
    )
    for name, row in figures.items():
        row["ratio"] = row["median"] / bare
        row["failed"] = failed[name]
        cells = [row[key] for key in ("median", "fastest", "slowest", "ratio")]
        table.add_row(name, *(f"{cell:.2f}" for cell in cells), _note(failed[name]))
    OUT.print(table)
    return figures


def _note(failed: int) -> str:
    return "some fail" if failed else ""


def _figures(times: list[float]) -> dict[str, float]:
    return {"median": statistics.median(times), "fastest": min(times), "slowest": max(times)}


class _Run:
    def __init__(self, command: list[str], folder: Path) -> None:
        started = time.perf_counter()
        # Its own parent process, so that its memory is not mixed with that of other runs.
        with ProcessPoolExecutor(1) as apart:
            self.done, self.memory = apart.submit(_apart, command, folder).result()
        self.seconds = time.perf_counter() - started


def _apart(command: list[str], folder: Path) -> tuple[subprocess.CompletedProcess[str], int]:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    # In kilobytes on Linux, of the largest process.
    return done, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def _run(command: list[str], folder: Path) -> _Run:
    run = _Run(command, folder)
    if run.done.returncode and command[1:3] == ["-m", "claimbook"]:
        OUT.print(run.done.stdout[-4000:], markup=False)
    return run


def _growth(claims: list[Claim], sizes: list[int]) -> list[dict[str, float]]:
    rows = []
    table = Table("examples", "s", "ms an example", "peak MiB of a process", "", title="growth")
    for size in sizes:
        with tempfile.TemporaryDirectory() as top:
            command = PEERS["claimbook"](_many(claims, size), Path(top))
            run = _run(command, Path(top))
        rows.append({"claims": size, "seconds": run.seconds, "bytes": run.memory})
        each, note = f"{1000 * run.seconds / size:.2f}", _note(run.done.returncode)
        table.add_row(f"{size:,}", f"{run.seconds:.2f}", each, f"{run.memory / 2**20:.0f}", note)
    OUT.print(table)
    return rows


def _builds(rounds: int) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory() as top:
        root = Path(top, "book")
        for name in _tracked():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
        build = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-j", "auto", "-q"]
        build += ["docs", "docs/_build/html"]
        edits = _edits(root / "docs/autograd/gradients-add-up.md", 2 * rounds + 1)
        runs = {
            "cold": [_run(build, root)],
            "nothing changed": [_run(build, root) for _ in range(rounds)],
            "one example edited": [_run(build, root) for _ in islice(edits, rounds)],
        }
        with kept():
            next(edits)
            _run(build, root)  # which waits for torch
            served = "one example edited, as nox -s serve builds it"
            runs[served] = [_run(build, root) for _ in edits]
        figures = {name: _figures([run.seconds for run in made]) for name, made in runs.items()}
    failed = {name: any(run.done.returncode for run in made) for name, made in runs.items()}
    table = Table("build", "median s", "fastest", "slowest", "", title="the whole site")
    for name, row in figures.items():
        cells = (f"{value:.2f}" for value in row.values())
        table.add_row(name, *cells, _note(failed[name]))
    OUT.print(table)
    return figures


def _tracked() -> list[str]:
    listing = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [name for name in listing.stdout.splitlines() if not name.startswith("src/")]


def _edits(page: Path, count: int) -> Iterator[int]:
    text, line = page.read_text("utf-8"), ">>> x = torch.ones(1, requires_grad=True)\n"
    assert line in text
    for number in range(count):
        page.write_text(text.replace(line, f"{line[:-1]}  # edit {number}\n", 1), "utf-8")
        yield number


if __name__ == "__main__":
    main()
