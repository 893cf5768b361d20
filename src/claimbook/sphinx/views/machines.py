"""What cards show of claims about a machine: on which it held, and the figures of each."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from docutils import nodes

from claimbook.engine import environment
from claimbook.model import Claim, Environment, Factor, Hardware, Lane, Measurement, Outcome, Status
from claimbook.records.book_runs import BookRun
from claimbook.sphinx import nodes as places
from claimbook.sphinx import render
from claimbook.sphinx.domain import ClaimDomain

FACTORS = {
    Factor.CLOCK: "time",
    Factor.CACHE: "the caches",
    Factor.CORES: "the number of cores",
    Factor.INSTRUCTIONS: "the processor's instructions",
    Factor.MEMORY: "memory",
    Factor.SYSTEM: "the operating system",
}
"""What a claim depends on, as a reader is told."""


@dataclass(frozen=True)
class _Row:
    """What one machine did."""

    environment: Environment
    hardware: Hardware | None
    date: str
    outcome: Outcome
    measurements: tuple[Measurement, ...]
    here: bool = False


def made_of(claim: Claim, machines: Iterable[BookRun]) -> list[Any]:
    """Return plain data; the claim's page is written anew when it changes."""
    return [(row.environment.device, row.date, row.outcome) for row in _recorded(claim, machines)]


def data(claim: Claim, domain: ClaimDomain) -> dict[str, str]:
    """Return what came of the claim on each reference machine, by its name."""
    found = ((machine.name, machine.of(claim)) for machine in domain.machines)
    return {name: str(result.outcome) for name, result in found if result}


def badges(claim: Claim, domain: ClaimDomain) -> Iterator[nodes.Node]:
    """Yield on how many processors it held, this one among them, and on how many GPUs."""
    if rows := _rows(claim, domain):
        yield _badge([row.outcome for row in rows], "processor")
    if gpus := _gpus(claim, domain):
        yield _badge([Outcome(run["outcome"]) for run in gpus], "GPU")


def _badge(outcomes: list[Outcome], kind: str) -> nodes.Node:
    held, count = outcomes.count(Outcome.PASSED), len(outcomes)
    words = f"held on {held} of {count} {kind}{'s' * (count != 1)}"
    return render.badge("machines", "current" if held == count else "varied", words)


def table(claim: Claim, domain: ClaimDomain) -> Iterator[nodes.Node]:
    """Yield the machines, on demand, each with what it did and measured."""
    rows = [*map(_cells, _rows(claim, domain)), *map(_gpu_cells, _gpus(claim, domain))]
    if rows:
        heads, widths = ["Machine", "Held", "Measured"], [48, 20, 32]
        cells = [render.plain(*row) for row in rows]
        depends = ", ".join(FACTORS[factor] for factor in claim.machine)
        said = nodes.paragraph("", f"It depends on {depends}.")
        shown = render.table(heads, cells, widths)
        shown["classes"].append("machines")
        title = "On which machines it held"
        yield places.fold("", said, shown, title=title, classes=["claim-fold"])


def _rows(claim: Claim, domain: ClaimDomain) -> list[_Row]:
    """Return this machine's run, then the reference machines'; none of a claim about PyTorch."""
    if not claim.machine or Lane.CPU not in claim.lanes:
        return []
    run, here = domain.shown[claim.id][Lane.CPU], environment.describe(Lane.CPU)
    rows = list(_recorded(claim, domain.machines))
    if run["outcome"]:
        measured = tuple(Measurement(**fields) for fields in run["measurements"])
        hardware = next((row.hardware for row in rows if row.environment == here), None)
        this = _Row(here, hardware, run["recorded"], Outcome(run["outcome"]), measured, here=True)
        rows = [this, *(row for row in rows if row.environment != here)]
    return rows


def _gpus(claim: Claim, domain: ClaimDomain) -> list[dict[str, Any]]:
    """Return what each GPU did, as data; none of a claim about PyTorch or one that was edited."""
    lane = domain.shown[claim.id].get(Lane.CUDA)
    known = lane and lane["status"] != Status.STALE
    return render.runs(lane) if lane and known and claim.machine else []


def _recorded(claim: Claim, machines: Iterable[BookRun]) -> Iterator[_Row]:
    for machine in machines:
        if result := machine.of(claim):
            where = machine.environment, machine.hardware, machine.recorded.date
            yield _Row(*where, result.outcome, result.measurements)


def _cells(row: _Row) -> list[str]:
    return [_machine(row), HELD[row.outcome is Outcome.PASSED], render.figures(row.measurements)]


def _gpu_cells(run: dict[str, Any]) -> list[str]:
    measured = (Measurement(**fields) for fields in run["measurements"])
    held = HELD[run["outcome"] == Outcome.PASSED]
    return [f"{run['device']}, torch {run['torch']}", held, render.figures(measured)]


HELD = {True: "yes", False: "no"}


def _machine(row: _Row) -> str:
    where, hardware = row.environment, row.hardware
    words = [where.device + " (this build)" * row.here]
    if hardware:
        caches = [(level, size) for level, size in hardware.cache.items() if level > "L1"]
        words.append(f"{hardware.cores} cores")
        words += [f"{level} {_size(size)}" for level, size in caches]
        words.append(hardware.instructions)
    return ", ".join([*words, f"torch {where.torch}", f"Python {where.python}"])


def _size(size: int) -> str:
    return f"{size >> 20} MiB" if size >> 20 else f"{size >> 10} KiB"
