"""Kinds of difference between a page and what a run printed, and their severity."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """A kind of difference; the value is its wording in messages."""

    COSMETIC = "cosmetic: only white space differs"
    ROUNDING = "rounding: a last digit differs"
    SHAPE = "shape"
    DTYPE = "dtype"
    DEVICE = "device"
    GRAPH = "requires_grad or grad_fn"
    ERROR_TYPE = "error type"
    ERROR_TEXT = "error text"
    NOT_RAISED = "no error was raised"
    RAISED = "an error was raised"
    WARNING = "a warning that the page does not show"
    VALUE = "value"


class Severity(StrEnum):
    """How severe a difference is, from the least to the most."""

    COSMETIC = "cosmetic"
    ROUNDING = "rounding"
    SHAPE = "shape/dtype/stride"
    """Device, `requires_grad` and `grad_fn` too; records and `claims.json` hold this value."""
    ERROR = "error"
    VALUE = "value"


SEVERITIES = {
    Kind.COSMETIC: Severity.COSMETIC,
    Kind.ROUNDING: Severity.ROUNDING,
    **dict.fromkeys((Kind.SHAPE, Kind.DTYPE, Kind.DEVICE, Kind.GRAPH), Severity.SHAPE),
    **dict.fromkeys((Kind.ERROR_TYPE, Kind.ERROR_TEXT), Severity.ERROR),
    **dict.fromkeys((Kind.NOT_RAISED, Kind.RAISED, Kind.WARNING), Severity.ERROR),
    Kind.VALUE: Severity.VALUE,
}


def worst(severities: Iterable[Severity]) -> Severity:
    """Return the most severe one."""
    return max(severities, key=list(Severity).index)


@dataclass(frozen=True)
class Difference:
    """One difference between what a run printed and what the page says."""

    kind: Kind
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else str(self.kind)
