"""Runs claims in an environment with another torch."""

import json
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from claimbook.engine.environment import provenance, release
from claimbook.matrix.install import InstallError, told
from claimbook.model import Claim, Environment, Lane, Outcome, Run
from claimbook.pages.book import Book
from claimbook.records.releases import Release, result_of

DESCRIBE = """\
import dataclasses, json
from claimbook import model
from claimbook.engine import environment
print(json.dumps(dataclasses.asdict(environment.describe(model.Lane.CPU))))
"""


def run_book(
    book: Book, python: Path, claims: Iterable[Claim], known: Release | None = None
) -> Release:
    """Runs claims with the torch of another Python, those that differ a second time.

    What happens on a busy machine to a claim about time is so not taken for a change of torch.

    Args:
        known: what stays where a claim is as it was, if it was run in the same environment.

    Raises:
        InstallError: the torch there cannot be imported.
    """
    root, by_id = book.project.root, {c.id: c for c in claims if Lane.CPU in c.lanes}
    environment = Environment(**json.loads(_said(python, root, "-c", DESCRIBE)))
    same = known if known and known.environment == environment else None
    kept = {id_: r for id_, c in by_id.items() if same and (r := same.of(c))}
    runs = _run(python, root, todo) if (todo := [id_ for id_ in by_id if id_ not in kept]) else {}
    if again := [name for name, run in runs.items() if run.outcome is not Outcome.PASSED]:
        runs |= _run(python, root, again)
    # What came out otherwise on this machine says nothing of the release.
    of_machine = {Outcome.SKIPPED, Outcome.VARIED}
    ran = (run for run in runs.values() if run.outcome not in of_machine)
    results = kept | {run.claim: result_of(by_id[run.claim], run) for run in ran}
    return Release(release(environment.torch), environment, results, provenance(root))


def _run(python: Path, root: Path, names: list[str]) -> dict[str, Run]:
    told = _said(python, root, "-m", "claimbook", "run", "--json", *names)
    lasting = told.replace(f"{python.parents[1]}{os.sep}", "")  # errors may name torch's own files
    return {data["claim"]: _run_of(data) for data in json.loads(lasting)}


def _run_of(data: dict[str, Any]) -> Run:
    outcome, outputs = Outcome(data["outcome"]), tuple(data["outputs"])
    return Run(data["claim"], Lane(data["lane"]), outcome, outputs, message=data["message"])


def _said(python: Path, root: Path, *arguments: str) -> str:
    """What it prints; progress and errors go where ours go."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    out, _, status = told(str(python), *arguments, cwd=root, env=kept, stdout=subprocess.PIPE)
    if not out.startswith(("[", "{")):
        raise InstallError(f"the claims could not be run there (exit status {status})")
    return out
