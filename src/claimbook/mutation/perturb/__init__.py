"""Claims as another machine would run them, one that rounds otherwise."""

import re
from collections.abc import Iterable
from dataclasses import replace

from claimbook.model import Claim, Example, Factor, Fence, Lane

AS_HERE = 0
"""The seed of the machine that changes nothing."""

NOTICES = re.compile(r"\btime\.\w|\bsettrace\(")
"""Code that notices now and then that something runs beside it, as one that reads a clock does."""

MACHINE = '__import__("claimbook.mutation.perturb.machine").mutation.perturb.machine'


def perturbed(claim: Claim, seed: int) -> Claim:
    """The claim with an example before its first and one after its last, which print nothing."""
    line = claim.location.line
    calls = f"{MACHINE}.begin({seed})\n", f"{MACHINE}.end()\n"
    begin, end = (Fence(line, (Example(call, "", line, line),)) for call in calls)
    return replace(claim, fences=(begin, *claim.fences, end))


def watched(claims: Iterable[Claim], lane: Lane) -> list[Claim]:
    """Those that may be perturbed, as here: what fails now notices that it is looked at."""
    quiet = (c for c in claims if lane in c.lanes and Factor.CLOCK not in c.machine)
    return [perturbed(claim, AS_HERE) for claim in quiet if not NOTICES.search(claim.code)]
