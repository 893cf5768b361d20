"""Convert claims and answers to data, for `claims.json` and other exports."""

from dataclasses import asdict
from typing import Any

from claimbook.model import Claim, Record, RelationKind
from claimbook.pages.register import Answer
from claimbook.records.runs import Shown

SCHEMA = 1


def answer_data(answer: Answer) -> dict[str, Any]:
    """Return an entry for `claims.json`; its relation is null while it is open."""
    return {
        "id": answer.entry.id,
        "question": answer.entry.question,
        "statement": answer.entry.statement,
        "relation": answer.word,
        "claims": [claim.id for claim in answer.claims],
        "remark": answer.remark.text if answer.remark else None,
    }


def claim_data(claim: Claim) -> dict[str, Any]:
    """Return a claim for `claims.json`, without its lanes."""
    relations: dict[str, list[str]] = {str(kind): [] for kind in RelationKind}
    for relation in claim.relations:
        relations[relation.kind].append(relation.entry)
    return {
        "id": claim.id,
        "statement": claim.statement,
        "page": claim.docname,
        "anchor": anchor(claim.id),
        "relations": {kind: entries for kind, entries in relations.items() if entries},
        "code": claim.code,
        "machine": list(claim.machine),
    }


def lane_data(shown: Shown) -> dict[str, Any]:
    """Return a claim's results on a lane; without a record, all but the status is empty."""
    if not shown.records:
        nothing = dict.fromkeys(("outcome", "message", "torch", "device", "recorded", "seconds"))
        return {"status": shown.status, **nothing, "outputs": [], "measurements": [], "others": []}
    first, *others = map(_record_data, shown.records)
    return {"status": shown.status, **first, "others": others}


def _record_data(record: Record) -> dict[str, Any]:
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


def anchor(claim_id: str) -> str:
    """Return the HTML id of a claim on its page."""
    return f"claim-{claim_id}"
