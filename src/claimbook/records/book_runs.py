"""Results of the whole book on a release of torch or on a reference machine, and their changes."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby

from claimbook.checking.compare import compare, mismatches
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
from claimbook.records.runs import lasting

NOT_REACHED = "(not reached)"


@dataclass(frozen=True)
class Result:
    """The result of one claim."""

    digest: str
    outcome: Outcome
    severity: Severity | None = None
    """The severity of the difference; None if there is none, or the claim did not finish."""
    outputs: tuple[str, ...] = ()
    """The outputs of its examples; empty if they are as on the page."""
    message: str = ""
    """Why it did not finish, or how it differs on this machine."""
    measurements: tuple[Measurement, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the claim ran as printed."""
        return self.outcome is Outcome.PASSED

    @property
    def word(self) -> str:
        """`holds`, or the severity or outcome if it does not."""
        return "holds" if self.holds else str(self.severity or self.outcome)


@dataclass(frozen=True)
class BookRun:
    """The results of all claims on one release or machine."""

    name: str
    """The name of its file: a release of torch, or a machine."""
    environment: Environment
    claims: Mapping[str, Result]
    """Claim id → result."""
    hardware: Hardware | None = None
    """None for a release, and for old records."""
    recorded: Provenance = field(compare=False, kw_only=True)

    @property
    def lane(self) -> Lane:
        """The lane of its claims, told by whether there is a compute capability."""
        return Lane.CUDA if self.environment.capability else Lane.CPU

    def of(self, claim: Claim) -> Result | None:
        """Return the result of a claim; None if it was not run or has changed since."""
        result = self.claims.get(claim.id)
        return result if result and result.digest == short_digest(claim, self.lane) else None


def short_digest(claim: Claim, lane: Lane) -> str:
    """Return the start of a claim's digest, enough to detect a change."""
    return claim.digest(lane)[:16]


def result_of(claim: Claim, run: Run) -> Result:
    """Return the result to save for a run."""
    result, run = Result(short_digest(claim, run.lane), run.outcome), lasting(run)
    if run.outcome is Outcome.PASSED:
        return result
    if run.outcome is not Outcome.FAILED:
        return replace(result, outputs=run.outputs, message=run.message)
    found = mismatches(claim, run.lane, run.outputs)
    return replace(result, severity=worst(each.severity for each in found), outputs=run.outputs)


def results_of(runs: Mapping[Claim, Run]) -> dict[str, Result]:
    """Return a machine's results by claim id; figures only for claims that depend on it."""
    return {
        claim.id: replace(result_of(claim, run), measurements=_figures(claim, run))
        for claim, run in runs.items()
        if run.outcome is not Outcome.SKIPPED
    }


def _figures(claim: Claim, run: Run) -> tuple[Measurement, ...]:
    """Return the measurements, rounded to three digits: they vary between runs."""
    found = run.measurements if claim.machine else ()
    return tuple(replace(m, value=float(f"{m.value:.3g}")) for m in found)


def earlier_results(
    runs: Iterable[BookRun], claims: Iterable[Claim], environment: Environment
) -> dict[str, Result]:
    """Return, by claim id, the results of earlier runs that need not be run again.

    They are from the same environment, and their claims have not changed since.
    """
    here = [run for run in runs if run.environment == environment]
    return {c.id: result for c in claims for run in here if (result := run.of(c))}


def machine_name(environment: Environment, hardware: Hardware) -> str:
    """Return the name of a machine's file: its processor and number of cores."""
    processor = re.sub(r"\((R|TM|C)\)", "", environment.device)
    words = re.findall(r"[a-z0-9]+", f"{processor} {hardware.model.partition(' ')[2]}".lower())
    return "-".join([*words, f"{hardware.cores}-cores"])


class BookRuns(ByName[BookRun]):
    """A folder of runs of the whole book, one file each."""

    value_type = BookRun

    def save(self, value: BookRun) -> None:
        """Write the results of a run, sorted by claim id."""
        super().save(replace(value, claims=dict(sorted(value.claims.items()))))


class Releases(BookRuns):
    """The runs on releases of torch, on the CPU."""

    kind = "release"


class CudaReleases(BookRuns):
    """The runs on releases of torch, on CUDA."""

    kind = "cuda-release"


class Machines(BookRuns):
    """The runs on reference machines."""

    kind = "machine"


@dataclass(frozen=True)
class Change:
    """The first example of a claim that prints something different on the next release."""

    claim: Claim
    source: str
    """The source of the example."""
    before: str
    after: str
    kind: str
    """The kind of difference, in words."""
    new: bool = True
    """Whether the newer release differs from the page; else the older one did."""


@dataclass(frozen=True)
class Span:
    """Consecutive releases on which a claim had the same result."""

    first: str
    last: str
    result: Result

    def __str__(self) -> str:
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


def changed(claims: Iterable[Claim], older: BookRun, newer: BookRun) -> Iterator[Change]:
    """Yield the change of each claim whose result differs between two releases."""
    for claim in claims:
        was, now = older.of(claim), newer.of(claim)
        if was and now and was != now and (change := _change(claim, was, now, newer.lane)):
            yield change


def spans(claim: Claim, releases: Iterable[BookRun]) -> list[Span]:
    """Return the spans of releases with the same result for a claim, oldest first."""
    found = [(release.name, result) for release in releases if (result := release.of(claim))]
    grouped = [list(group) for _, group in groupby(found, key=lambda pair: pair[1])]
    return [Span(group[0][0], group[-1][0], group[0][1]) for group in grouped]


def _printed(claim: Claim, result: Result, lane: Lane) -> list[str]:
    """Return what each example printed; `NOT_REACHED` for those after one that did not finish."""
    examples = claim.examples(lane)
    if result.holds:
        return [example.want for example in examples]
    return [*result.outputs, *[NOT_REACHED] * (len(examples) - len(result.outputs))]


def _change(claim: Claim, was: Result, now: Result, lane: Lane) -> Change | None:
    outputs = _printed(claim, was, lane), _printed(claim, now, lane)
    new = not now.holds
    for example, before, after in zip(claim.examples(lane), *outputs, strict=False):
        if before is NOT_REACHED or after is NOT_REACHED:
            kind = str((now if after is NOT_REACHED else was).outcome)
            return Change(claim, example.source, before, after, kind, after is NOT_REACHED)
        # The want of the page may have `...`, so it goes first.
        want, got = (before, after) if new else (after, before)
        if difference := compare(want, got, lane):
            return Change(claim, example.source, before, after, difference.kind, new)
    return None
