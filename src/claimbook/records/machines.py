"""What the whole book did on each reference machine, kept as one file a machine."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar

from claimbook.model import Claim, Environment, Hardware, Measurement, Outcome, Provenance, Run
from claimbook.records.releases import Result, data_of, result_from, result_of, short_digest
from claimbook.records.store import ByVersion, check_fields, environment_of, provenance_of


@dataclass(frozen=True)
class Machine:
    """One machine, and what every claim did on it."""

    name: str
    """That of its file."""
    environment: Environment
    hardware: Hardware | None
    """None where nobody noted it."""
    results: Mapping[str, Result]
    """Claim id → what it did."""
    provenance: Provenance = field(compare=False)

    def of(self, claim: Claim) -> Result | None:
        """Return what the claim as it stands did; None if it was not run, or was another then."""
        result = self.results.get(claim.id)
        return result if result and result.digest == short_digest(claim) else None


def name_of(environment: Environment, hardware: Hardware) -> str:
    """Return the name of a machine's file, by its processor and number of cores."""
    processor = re.sub(r"\((R|TM|C)\)", "", environment.device)
    words = re.findall(r"[a-z0-9]+", f"{processor} {hardware.model.partition(' ')[2]}".lower())
    return "-".join([*words, f"{hardware.cores}-cores"])


def results_of(claims: Iterable[Claim], runs: Mapping[str, Run]) -> dict[str, Result]:
    """Return what is kept of runs: figures only of claims that depend on the machine."""
    return {
        claim.id: replace(result_of(claim, run), measurements=_figures(claim, run))
        for claim in claims
        if (run := runs.get(claim.id)) and run.outcome is not Outcome.SKIPPED
    }


def _figures(claim: Claim, run: Run) -> tuple[Measurement, ...]:
    """Three digits of each number: the next run measures others."""
    found = run.measurements if claim.machine else ()
    return tuple(replace(m, value=float(f"{m.value:.3g}")) for m in found)


class Machines(ByVersion[Machine]):
    """The files of a folder, one a machine."""

    kind = "machine"
    fields: ClassVar = {
        "environment": (dict,),
        "hardware": (dict, type(None)),
        "claims": (dict,),
    }

    def save(self, machine: Machine) -> None:
        """Write what a machine did."""
        claims = {id_: data_of(result) for id_, result in sorted(machine.results.items())}
        head = {
            "environment": asdict(machine.environment),
            "hardware": asdict(machine.hardware) if machine.hardware else None,
            "recorded": asdict(machine.provenance),
        }
        self.write(machine.name, head, {"claims": claims})

    def parse(self, data: dict[str, Any]) -> Machine:
        """Return one machine."""
        results = {id_: result_from(result) for id_, result in data["claims"].items()}
        noted = data["hardware"]
        hardware = noted and Hardware(**check_fields(noted, "hardware", HARDWARE_FIELDS))
        where = environment_of(data), hardware
        return Machine(data["machine"], *where, results, provenance_of(data))


HARDWARE_FIELDS: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("model", "instructions"), (str,)),
    **dict.fromkeys(("cores", "memory"), (int,)),
    "cache": (dict,),
}
