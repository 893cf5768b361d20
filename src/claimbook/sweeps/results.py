"""The results of sweeps, saved in one file per part of the book."""

from dataclasses import dataclass, field
from typing import Any

from claimbook.engine.environment import today
from claimbook.model import Run, Status
from claimbook.records.by_page import ByPart
from claimbook.sweeps.written import Written

RANKS = {"lowest rank", "highest rank"}
"""What it says of the ranks of tensors, unless none were drawn."""


@dataclass(frozen=True)
class Swept:
    """The result of a search that found no counterexample."""

    claim: str
    digest: str
    """The digest of the sweep and the claim's statement."""
    drawn: dict[str, int]
    """The number of cases, and what they covered, by the names that `search` gives."""
    torch: str
    date: str = field(compare=False)

    def __post_init__(self) -> None:
        if "cases" not in self.drawn or len(RANKS & self.drawn.keys()) == 1:
            raise ValueError("it lacks the number of cases, or one of the two ranks")

    def is_of(self, written: Written) -> bool:
        """Return whether it is current for a sweep."""
        return self.digest == written.digest()

    @property
    def cases(self) -> int:
        """The number of cases tried."""
        return self.drawn["cases"]

    def domain(self) -> str:
        """Return what the cases covered, such as `ranks 0 to 4, 12 dtypes, empty tensors`."""
        left = {name: n for name, n in self.drawn.items() if name != "cases"}
        parts = []
        if "lowest rank" in left:
            low, high = left.pop("lowest rank"), left.pop("highest rank")
            parts.append(f"ranks {low} to {high}" if low < high else f"rank {low}")
        if count := left.pop("dtypes", 0):
            parts.append(f"{count} dtype{'s' * (count > 1)}")
        parts += [n if n.endswith("tensors") else f"{count} {n}" for n, count in left.items()]
        return ", ".join(parts)


class Results(ByPart[Swept]):
    """The saved results of a book's sweeps."""

    kind = "sweeps"
    shared = ("torch", "date")
    value_type = Swept


def swept_data(written: Written, result: Swept) -> dict[str, Any]:
    """Return the result of a sweep for `claims.json`."""
    return {
        "cases": result.cases,
        "drawn": result.domain(),
        "source": written.source,
        "status": Status.CURRENT if result.is_of(written) else Status.STALE,
    }


def result_of(written: Written, run: Run, torch: str) -> Swept:
    """Return the result of a sweep whose run found no counterexample."""
    drawn = {measured.name: int(measured.value) for measured in run.measurements}
    return Swept(written.claim.id, written.digest(), drawn, torch, today())
