"""Write `claims.json`, the whole book as data, beside the start page."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from claimbook.engine import environment
from claimbook.files import write_changed
from claimbook.model import Claim, Lane, Record, RelationKind, anchor
from claimbook.pages.register import Answer
from claimbook.records.book_runs import BookRun
from claimbook.records.runs import Shown
from claimbook.records.versions import Age, ages, contents_of
from claimbook.sphinx.domain import ClaimDomain

SCHEMA = 1


def write_json(domain: ClaimDomain, path: Path) -> None:
    """Write the book as data, if the file differs."""
    known = ages(domain.versions, contents_of(domain.book))
    data = {
        "schema": SCHEMA,
        "environment": asdict(environment.describe(Lane.CPU)),
        "entries": [_entry(answer) for answer in domain.book.answers.values()],
        "claims": [_claim(domain, claim, known[claim.id]) for claim in domain.book.claims],
    }
    write_changed(path, json.dumps(data, ensure_ascii=False) + "\n")


def _entry(answer: Answer) -> dict[str, Any]:
    return {
        "id": answer.entry.id,
        "question": answer.entry.question,
        "statement": answer.entry.statement,
        "relation": answer.word,
        "claims": [claim.id for claim in answer.claims],
        "remark": answer.remark.text if answer.remark else None,
    }


def _claim(domain: ClaimDomain, claim: Claim, age: Age) -> dict[str, Any]:
    related = {
        str(kind): [each.entry for each in claim.relations if each.kind is kind]
        for kind in RelationKind
    }
    return {
        "id": claim.id,
        "statement": claim.statement,
        "page": claim.docname,
        "anchor": anchor(claim.id),
        "relations": {kind: entries for kind, entries in related.items() if entries},
        "code": claim.code,
        "machine": list(claim.machine),
        "lanes": {lane: _lane(shown) for lane, shown in domain.shown[claim.id].items()},
        "releases": _words(claim, domain.releases),
        "cuda_releases": _words(claim, domain.cuda_releases),
        "machines": {m.name: result.outcome for m in domain.machines if (result := m.of(claim))},
        "falsified": domain.falsified[claim.id],
        "swept": domain.swept[claim.id],
        "since": age.since,
        "changed": age.changed,
    }


def _words(claim: Claim, releases: Iterable[BookRun]) -> dict[str, str]:
    """Return release → `holds` or what differs, for each release on which the claim ran."""
    return {each.name: result.word for each in releases if (result := each.of(claim))}


def _lane(shown: Shown) -> dict[str, Any]:
    """Return a claim's results on a lane; without a record, all but the status is empty."""
    if not shown.records:
        nothing = dict.fromkeys(("outcome", "message", "torch", "device", "recorded", "seconds"))
        return {"status": shown.status, **nothing, "outputs": [], "measurements": [], "others": []}
    first, *others = map(_record, shown.records)
    return {"status": shown.status, **first, "others": others}


def _record(record: Record) -> dict[str, Any]:
    return {
        "outcome": record.outcome,
        "message": record.message,
        "torch": record.environment.torch,
        "device": record.environment.device,
        "recorded": record.recorded.date,
        "seconds": round(record.seconds, 6),
        "outputs": list(record.outputs),
        "measurements": list(map(asdict, record.measurements)),
    }
