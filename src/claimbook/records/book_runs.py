"""What the whole book did in one place: on a release of torch, on a reference machine."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from typing import Any, ClassVar

from claimbook.model import (
    Claim,
    Environment,
    Hardware,
    Lane,
    Measurement,
    Outcome,
    Provenance,
    Run,
)
from claimbook.pages.accept import Severity, changes
from claimbook.records.store import ByVersion, check_fields, environment_of, provenance_of


@dataclass(frozen=True)
class Result:
    """What one claim did there."""

    digest: str
    outcome: Outcome
    severity: Severity | None = None
    """How severe the difference is; None if there is none, or the claim did not come to its end."""
    outputs: tuple[str, ...] = ()
    """What its examples printed; left out where all is as on the page."""
    message: str = ""
    """What ended it before its end, or how it differs where that depends on the machine."""
    measurements: tuple[Measurement, ...] = ()

    @property
    def word(self) -> str:
        """`holds`, or how what it did differs from the page."""
        if self.outcome is Outcome.PASSED:
            return "holds"
        return str(self.severity or self.outcome)


@dataclass(frozen=True)
class BookRun:
    """What every claim did in one place."""

    name: str
    """That of its file: the release of torch, or the machine."""
    environment: Environment
    results: Mapping[str, Result]
    """Claim id → what it did."""
    provenance: Provenance = field(compare=False)
    hardware: Hardware | None = None
    """None of a release, and where nobody noted it."""

    def of(self, claim: Claim) -> Result | None:
        """Return what the claim as it stands did; None if it was not run, or was another then."""
        result = self.results.get(claim.id)
        return result if result and result.digest == short_digest(claim) else None


def short_digest(claim: Claim) -> str:
    """Return enough of the claim's digest to tell it from what it was before."""
    return claim.digest(Lane.CPU)[:16]


def result_of(claim: Claim, run: Run) -> Result:
    """Return what is kept of a run."""
    digest = short_digest(claim)
    if run.outcome is Outcome.PASSED:
        return Result(digest, run.outcome)
    if run.outcome is not Outcome.FAILED:
        return Result(digest, run.outcome, None, run.outputs, run.message)
    worst = max((c.severity for c in changes(claim, run, ())), key=list(Severity).index)
    return Result(digest, run.outcome, worst, run.outputs)


def results_of(claims: Iterable[Claim], runs: Mapping[str, Run]) -> dict[str, Result]:
    """Return what is kept of a machine: figures only of claims that depend on it."""
    return {
        claim.id: replace(result_of(claim, run), measurements=_figures(claim, run))
        for claim in claims
        if (run := runs.get(claim.id)) and run.outcome is not Outcome.SKIPPED
    }


def _figures(claim: Claim, run: Run) -> tuple[Measurement, ...]:
    """Three digits of each number: the next run measures others."""
    found = run.measurements if claim.machine else ()
    return tuple(replace(m, value=float(f"{m.value:.3g}")) for m in found)


def machine_name(environment: Environment, hardware: Hardware) -> str:
    """Return the name of a machine's file, by its processor and number of cores."""
    processor = re.sub(r"\((R|TM|C)\)", "", environment.device)
    words = re.findall(r"[a-z0-9]+", f"{processor} {hardware.model.partition(' ')[2]}".lower())
    return "-".join([*words, f"{hardware.cores}-cores"])


class Releases(ByVersion[BookRun]):
    """The files of a folder, one a release."""

    kind = "release"
    fields: ClassVar = {"environment": (dict,), "claims": (dict,)}

    def save(self, run: BookRun) -> None:
        """Write what the book did there."""
        claims = {id_: data_of(result) for id_, result in sorted(run.results.items())}
        head: dict[str, Any] = {"environment": asdict(run.environment)}
        if "hardware" in self.fields:
            head["hardware"] = run.hardware and asdict(run.hardware)
        self.write(run.name, {**head, "recorded": asdict(run.provenance)}, {"claims": claims})

    def parse(self, data: dict[str, Any]) -> BookRun:
        """Return one of them."""
        results = {id_: result_from(result) for id_, result in data["claims"].items()}
        noted = data.get("hardware")
        hardware = noted and Hardware(**check_fields(noted, "hardware", HARDWARE_FIELDS))
        made = environment_of(data), results, provenance_of(data)
        return BookRun(data[self.kind], *made, hardware)


class Machines(Releases):
    """The files of a folder, one a machine."""

    kind = "machine"
    fields: ClassVar = {**Releases.fields, "hardware": (dict, type(None))}


def flipped(claims: Iterable[Claim], old: BookRun, new: BookRun) -> list[Claim]:
    """Return the claims that held on just one of two releases."""
    pairs = [(claim, old.of(claim), new.of(claim)) for claim in claims]
    return [
        c for c, was, now in pairs if was and now and (was.word == "holds") != (now.word == "holds")
    ]


def data_of(result: Result) -> dict[str, Any]:
    """Return a result as it is kept: what is empty is left out."""
    data = asdict(result) | {"measurements": [astuple(m) for m in result.measurements]}
    return {key: value for key, value in data.items() if value}


def result_from(data: Any) -> Result:
    """Return the result that was kept.

    Raises:
        ValueError: it is none; says what is wrong.
    """
    if not isinstance(data, dict) or not data.keys() <= RESULT_FIELDS.keys():
        raise ValueError(f"a result has the fields {', '.join(RESULT_FIELDS)}")
    whole = check_fields({**NOTHING, **data}, "result", RESULT_FIELDS)
    if not all(isinstance(text, str) for text in whole["outputs"]):
        raise ValueError("outputs are texts")
    outcome, outputs = Outcome(whole["outcome"]), tuple(whole["outputs"])
    severity = Severity(whole["severity"]) if whole["severity"] else None
    measurements = tuple(Measurement(*fields) for fields in whole["measurements"])
    return Result(whole["digest"], outcome, severity, outputs, whole["message"], measurements)


RESULT_FIELDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("digest", "outcome", "severity", "message"), (str,)),
    **dict.fromkeys(("outputs", "measurements"), (list,)),
}
NOTHING: Mapping[str, object] = {"severity": "", "message": "", "outputs": [], "measurements": []}
HARDWARE_FIELDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("model", "instructions"), (str,)),
    **dict.fromkeys(("cores", "memory"), (int,)),
    "cache": (dict,),
}
