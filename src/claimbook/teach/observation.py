"""State what a picture shows on this machine, where another machine may show something else."""

told = False
"""Whether an observation that fails is printed, and not raised; a build sets it."""


def observe(holds: bool, statement: str) -> None:
    """State an observation that depends on the machine: on its clock, cache, cores, instructions.

    Prints that the statement was not observed if `told`, so that the page of a lab says so.

    Raises AssertionError if it does not hold, unless `told`.
    """
    if holds:
        return
    if not told:
        raise AssertionError(statement)
    print(f"Not observed on this machine: {statement}.")
