"""Show on the cards of claims about a machine where they held, and the figures measured."""

from collections.abc import Iterator

from docutils import nodes

from claimbook.engine import environment
from claimbook.model import Claim, Environment, Hardware, Lane, Outcome, Record, Status
from claimbook.records.book_runs import Result
from claimbook.sphinx import render
from claimbook.sphinx.domain import ClaimDomain

Row = tuple[str, Record | Result]
"""A description of a machine, and its result."""


def badges(claim: Claim, domain: ClaimDomain) -> Iterator[nodes.Node]:
    """Yield a badge with the number of processors, this one included, and GPUs on which it held."""
    words, everywhere = list[str](), True
    for kind, rows in ("processor", _processors(claim, domain)), ("GPU", _gpus(claim, domain)):
        if count := len(rows):
            held = sum(did.outcome is Outcome.PASSED for _, did in rows)
            words.append(f"{held} of {count} {kind}{'s' * (count != 1)}")
            everywhere = everywhere and held == count
    if words:
        yield render.badge("held", "current" if everywhere else "varied", f"on {', '.join(words)}")


def table(claim: Claim, domain: ClaimDomain) -> Iterator[nodes.Node]:
    """Yield a folded table of machines with results and figures."""
    rows = [*_processors(claim, domain), *_gpus(claim, domain)]
    if rows:
        heads, widths = ["Machine", "Held", "Measured"], [48, 20, 32]
        came: list[tuple[str, ...]] = [(name, *_came(did)) for name, did in rows]
        if not any(measured for *_, measured in came):
            heads, widths, came = heads[:2], [80, 20], [row[:2] for row in came]
        cells = (render.plain(*row) for row in came)
        depends = ", ".join(render.WORDING["factors"][factor] for factor in claim.machine)
        said = nodes.paragraph("", f"It depends on {depends}.")
        shown = render.table(heads, cells, widths)
        shown["classes"].append("machines")
        yield render.fold("On which machines it held", "claim-fold", said, shown)


def _processors(claim: Claim, domain: ClaimDomain) -> list[Row]:
    """Return the results of this and the reference machines; none unless it depends on them."""
    if not claim.machine or Lane.CPU not in claim.lanes:
        return []
    shown, here = domain.shown[claim.id][Lane.CPU], environment.describe(Lane.CPU)
    found = [(machine, result) for machine in domain.machines if (result := machine.of(claim))]
    others = [
        (_machine(machine.environment, machine.hardware), result)
        for machine, result in found
        if not shown.first or machine.environment != here
    ]
    hardware = next((m.hardware for m, _ in found if m.environment == here), None)
    own = [(_machine(here, hardware, " (this build)"), shown.first)] if shown.first else []
    return [*own, *others]


def _gpus(claim: Claim, domain: ClaimDomain) -> list[Row]:
    """Return the results of GPUs; none if they are stale or it does not depend on the machine."""
    shown = domain.shown[claim.id].get(Lane.CUDA)
    if not (shown and claim.machine and shown.status is not Status.STALE):
        return []
    return [(f"{r.environment.device}, torch {r.environment.torch}", r) for r in shown.records]


def _came(did: Record | Result) -> tuple[str, str]:
    held = "yes" if did.outcome is Outcome.PASSED else "no"
    return held, render.figures(did.measurements)


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
