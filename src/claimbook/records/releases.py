"""What the whole book did on one release of torch, kept as one file a release."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, astuple, dataclass, field
from typing import Any, ClassVar

from claimbook.model import Claim, Environment, Lane, Measurement, Outcome, Provenance, Run
from claimbook.pages.accept import Severity, changes
from claimbook.records.store import ByVersion, check_fields, environment_of, provenance_of


@dataclass(frozen=True)
class Result:
    """What one claim did on a release."""

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
class Release:
    """One release, and what every claim did on it."""

    version: str
    environment: Environment
    results: Mapping[str, Result]
    """Claim id → what it did."""
    provenance: Provenance = field(compare=False)

    def of(self, claim: Claim) -> Result | None:
        """What the claim as it stands did; None if it was not run, or was another claim then."""
        result = self.results.get(claim.id)
        return result if result and result.digest == short_digest(claim) else None


def short_digest(claim: Claim) -> str:
    """Enough of the claim's digest to tell it from what it was before."""
    return claim.digest(Lane.CPU)[:16]


def result_of(claim: Claim, run: Run) -> Result:
    """What is kept of a run."""
    digest = short_digest(claim)
    if run.outcome is Outcome.PASSED:
        return Result(digest, run.outcome)
    if run.outcome is not Outcome.FAILED:
        return Result(digest, run.outcome, None, run.outputs, run.message)
    worst = max((c.severity for c in changes(claim, run, ())), key=list(Severity).index)
    return Result(digest, run.outcome, worst, run.outputs)


class Releases(ByVersion[Release]):
    """The files of a folder, one a release."""

    kind = "release"
    fields: ClassVar = {"environment": (dict,), "claims": (dict,)}

    def save(self, release: Release) -> None:
        """Writes a release."""
        claims = {id_: data_of(result) for id_, result in sorted(release.results.items())}
        recorded = asdict(release.provenance)
        head = {"environment": asdict(release.environment), "recorded": recorded}
        self.write(release.version, head, {"claims": claims})

    def parse(self, data: dict[str, Any]) -> Release:
        """One release."""
        results = {id_: result_from(result) for id_, result in data["claims"].items()}
        return Release(data["release"], environment_of(data), results, provenance_of(data))


def flipped(claims: Iterable[Claim], old: Release, new: Release) -> list[Claim]:
    """The claims that held on just one of two releases."""
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
