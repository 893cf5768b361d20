"""What cards show of claims about a machine: on which it held, and the figures of each."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from docutils import nodes

from claimbook.engine import environment
from claimbook.model import Claim, Environment, Factor, Hardware, Lane, Measurement, Outcome, Status
from claimbook.records.book_runs import BookRun, Result
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


class _Row(NamedTuple):
    """What one machine did."""

    machine: str
    outcome: Outcome
    measurements: Iterable[Measurement]


def data(claim: Claim, domain: ClaimDomain) -> dict[str, str]:
    """Return what came of the claim on each reference machine, by its name."""
    found = ((machine.name, machine.of(claim)) for machine in domain.machines)
    return {name: str(result.outcome) for name, result in found if result}


def badges(claim: Claim, domain: ClaimDomain) -> Iterator[nodes.Node]:
    """Yield on how many processors it held, this one among them, and on how many GPUs."""
    for kind, rows in ("processor", _processors(claim, domain)), ("GPU", _gpus(claim, domain)):
        if count := len(rows):
            held = sum(row.outcome is Outcome.PASSED for row in rows)
            words = f"held on {held} of {count} {kind}{'s' * (count != 1)}"
            yield render.badge("machines", "current" if held == count else "varied", words)


def table(claim: Claim, domain: ClaimDomain) -> Iterator[nodes.Node]:
    """Yield the machines, on demand, each with what it did and measured."""
    rows = [*_processors(claim, domain), *_gpus(claim, domain)]
    if rows:
        heads, widths = ["Machine", "Held", "Measured"], [48, 20, 32]
        cells = (
            render.plain(row.machine, HELD[row.outcome is Outcome.PASSED], render.figures(row[2]))
            for row in rows
        )
        depends = ", ".join(FACTORS[factor] for factor in claim.machine)
        said = nodes.paragraph("", f"It depends on {depends}.")
        shown = render.table(heads, cells, widths)
        shown["classes"].append("machines")
        title = "On which machines it held"
        yield places.fold("", said, shown, title=title, classes=["claim-fold"])


def _processors(claim: Claim, domain: ClaimDomain) -> list[_Row]:
    """Return this machine's run, then the reference machines'; none of a claim about PyTorch."""
    if not claim.machine or Lane.CPU not in claim.lanes:
        return []
    run, here = domain.shown[claim.id][Lane.CPU], environment.describe(Lane.CPU)
    found = [(machine, result) for machine in domain.machines if (result := machine.of(claim))]
    if not run["outcome"]:
        return [_recorded(*pair) for pair in found]
    others = [_recorded(*pair) for pair in found if pair[0].environment != here]
    hardware = next((m.hardware for m, _ in found if m.environment == here), None)
    return [_ran(_machine(here, hardware, " (this build)"), run), *others]


def _gpus(claim: Claim, domain: ClaimDomain) -> list[_Row]:
    """Return what each GPU did; none of a claim about PyTorch or one that was edited."""
    lane = domain.shown[claim.id].get(Lane.CUDA)
    if not (lane and claim.machine and lane["status"] != Status.STALE):
        return []
    return [_ran(f"{run['device']}, torch {run['torch']}", run) for run in render.runs(lane)]


def _recorded(machine: BookRun, result: Result) -> _Row:
    name = _machine(machine.environment, machine.hardware)
    return _Row(name, result.outcome, result.measurements)


def _ran(machine: str, run: dict[str, Any]) -> _Row:
    measured = (Measurement(**fields) for fields in run["measurements"])
    return _Row(machine, Outcome(run["outcome"]), measured)


HELD = {True: "yes", False: "no"}


def _machine(where: Environment, hardware: Hardware | None, here: str = "") -> str:
    words = [where.device + here]
    if hardware:
        caches = [(level, size) for level, size in hardware.cache.items() if level > "L1"]
        words.append(f"{hardware.cores} cores")
        words += [f"{level} {_size(size)}" for level, size in caches]
        words.append(hardware.instructions)
    return ", ".join([*words, f"torch {where.torch}", f"Python {where.python}"])


def _size(size: int) -> str:
    return f"{size >> 20} MiB" if size >> 20 else f"{size >> 10} KiB"
