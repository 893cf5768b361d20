"""Write `claims.json`, the whole book as data, beside the start page."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from claimbook.engine import environment
from claimbook.exports.data import SCHEMA, answer_data, claim_data, lane_data
from claimbook.files import write_changed
from claimbook.model import Claim, Lane
from claimbook.records.book_runs import BookRun, Result
from claimbook.records.versions import ages
from claimbook.sphinx.domain import ClaimDomain


def write_json(domain: ClaimDomain, path: Path) -> None:
    """Write the book as data, if the file differs."""
    known = ages(domain.versions, domain.contents())
    text = _json_text(
        {
            "schema": SCHEMA,
            "environment": asdict(environment.describe(Lane.CPU)),
            "entries": [answer_data(answer) for answer in domain.book.answers.values()],
            "claims": [
                {
                    **claim_data(claim),
                    "lanes": {
                        lane: lane_data(shown) for lane, shown in domain.shown[claim.id].items()
                    },
                    "releases": _words(claim, domain.releases),
                    "cuda_releases": _words(claim, domain.cuda_releases),
                    "machines": _outcomes(claim, domain.machines),
                    "falsified": domain.falsified[claim.id],
                    "swept": domain.swept[claim.id],
                    "since": known[claim.id].since,
                    "changed": known[claim.id].changed,
                }
                for claim in domain.book.claims
            ],
        }
    )
    write_changed(path, text)


def _words(claim: Claim, releases: Iterable[BookRun]) -> dict[str, str]:
    return {run.name: result.word for run, result in _results(claim, releases)}


def _outcomes(claim: Claim, machines: Iterable[BookRun]) -> dict[str, str]:
    return {run.name: result.outcome for run, result in _results(claim, machines)}


def _results(claim: Claim, runs: Iterable[BookRun]) -> Iterator[tuple[BookRun, Result]]:
    return ((run, result) for run in runs if (result := run.of(claim)))


def _json_text(data: dict[str, Any]) -> str:
    """Return JSON with a line for each item of top-level lists, for readable diffs."""

    def value(part: Any) -> str:
        if not isinstance(part, list):
            return json.dumps(part, ensure_ascii=False)
        return "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in part) + "\n]"

    return "{\n" + ",\n".join(f'"{key}": {value(part)}' for key, part in data.items()) + "\n}\n"
