"""State what a picture shows on this machine, when it may differ on another."""

told = False
"""Whether to print a failed observation instead of raising; set by a build."""


def observe(holds: bool, statement: str) -> None:
    """State an observation that depends on the machine: its clock, cache, cores or instructions.

    Raises AssertionError if it does not hold; if `told`, prints so instead, for the lab's page.
    """
    if holds:
        return
    if not told:
        raise AssertionError(statement)
    print(f"Not observed on this machine: {statement}.")
