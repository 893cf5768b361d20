"""Write `claims.json`, the whole book as data, beside the start page."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from claimbook.engine import environment
from claimbook.exports.data import SCHEMA, answer_data, claim_data, lane_data
from claimbook.files import write_changed
from claimbook.model import Lane
from claimbook.records.version_history import ages
from claimbook.sphinx.domain import ClaimDomain
from claimbook.sphinx.views import machines, releases


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
                    "releases": releases.data(claim, domain.releases),
                    "cuda_releases": releases.data(claim, domain.cuda_releases),
                    "machines": machines.data(claim, domain),
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


def _json_text(data: dict[str, Any]) -> str:
    """Return JSON with a line for each item of top-level lists, for readable diffs."""

    def value(part: Any) -> str:
        if not isinstance(part, list):
            return json.dumps(part, ensure_ascii=False)
        return "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False) for item in part) + "\n]"

    return "{\n" + ",\n".join(f'"{key}": {value(part)}' for key, part in data.items()) + "\n}\n"
