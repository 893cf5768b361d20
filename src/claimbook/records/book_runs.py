"""What the whole book did in one place: on a release of torch, on a reference machine."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from claimbook.checking.compare import mismatches
from claimbook.checking.difference import Severity, worst
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
from claimbook.records.by_name import ByName


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
    claims: Mapping[str, Result]
    """Claim id → what it did."""
    hardware: Hardware | None = None
    """None of a release, and where nobody noted it."""
    recorded: Provenance = field(compare=False, kw_only=True)

    @property
    def lane(self) -> Lane:
        """Where its claims ran: a GPU has a compute capability."""
        return Lane.CUDA if self.environment.capability else Lane.CPU

    def of(self, claim: Claim) -> Result | None:
        """Return what the claim as it stands did; None if it was not run, or was another then."""
        result = self.claims.get(claim.id)
        return result if result and result.digest == short_digest(claim, self.lane) else None


def short_digest(claim: Claim, lane: Lane) -> str:
    """Return enough of the claim's digest to tell it from what it was before."""
    return claim.digest(lane)[:16]


def result_of(claim: Claim, run: Run) -> Result:
    """Return what is kept of a run."""
    digest = short_digest(claim, run.lane)
    if run.outcome is Outcome.PASSED:
        return Result(digest, run.outcome)
    if run.outcome is not Outcome.FAILED:
        return Result(digest, run.outcome, None, run.outputs, run.message)
    found = mismatches(claim, run.lane, run.outputs)
    return Result(digest, run.outcome, worst(each.severity for each in found), run.outputs)


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


class Releases(ByName[BookRun]):
    """The files of a folder, one a release."""

    kind = "release"
    holds = BookRun

    def save(self, value: BookRun) -> None:
        """Write what the book did there, claims in order of their ids."""
        super().save(replace(value, claims=dict(sorted(value.claims.items()))))


class CudaReleases(Releases):
    """The same of claims on CUDA."""

    kind = "cuda-release"


class Machines(Releases):
    """The files of a folder, one a machine."""

    kind = "machine"


def flipped(claims: Iterable[Claim], old: BookRun, new: BookRun) -> list[Claim]:
    """Return the claims that held on just one of two releases."""
    pairs = [(claim, old.of(claim), new.of(claim)) for claim in claims]
    return [
        c for c, was, now in pairs if was and now and (was.word == "holds") != (now.word == "holds")
    ]
