"""`nox -s rehearse`: the CUDA lane on a CUDA device that is made of the host's memory.

A machine without a GPU finds what a claim would do wrong on one: tensors that meet across devices,
a generator or a file of the other device, a path that torch leaves where a default device is set,
memory that is held. It finds nothing that depends on CUDA's own kernels; what it therefore cannot
show is listed, with reasons, in `cannot_show.yaml`, and is not run. Nothing it prints is kept as a
record.
"""

import argparse
import json
import os
import subprocess
import sys

import emulated
import yaml
from rich.console import Console

from claimbook.model import Lane, Outcome
from claimbook.pages.book import Book

LIST = emulated.HERE / "cannot_show.yaml"


def main() -> None:
    """Runs the claims that can hold here, and fails for what differs."""
    parser = argparse.ArgumentParser(prog="nox -s rehearse --")
    parser.add_argument("names", nargs="*", metavar="CLAIM|PAGE", help="run these only")
    parser.add_argument(
        "--listed", action="store_true", help=f"run what {LIST.name} names, and fail for what holds"
    )
    parser.add_argument("--seed", default="0", help="draw other random numbers")
    options = parser.parse_args()
    listed = yaml.safe_load(LIST.read_text("utf-8"))
    claims = {claim.id for claim in Book.load(emulated.ROOT).claims if Lane.CUDA in claim.lanes}
    names = options.names or sorted(listed if options.listed else claims - {*listed})
    found = run(names, options.seed)
    passed, varied = (
        {each["claim"] for each in found if each["outcome"] == outcome}
        for outcome in (Outcome.PASSED, Outcome.VARIED)
    )
    differing = {each["claim"] for each in found} - passed - varied
    surprises = [f"{c} differs, and is not in {LIST.name}" for c in differing - {*listed}]
    surprises += [f"{c} holds: take it out of {LIST.name}" for c in passed & {*listed}]
    out = Console(highlight=False, soft_wrap=True)
    for line in sorted(surprises):
        out.print(line)
    rest = f"{len(differing)} do not, {len(varied)} depend on the machine and came out otherwise"
    out.print(f"{len(passed)} claims hold on the emulated device, {rest}")
    sys.exit(1 if surprises else 0)


def run(names: list[str], seed: str) -> list[dict[str, str]]:
    """What `claimbook run` says of each claim on the lane."""
    command = ["claimbook", "run", "--lane", "cuda", "--require-lane", "--json", *names]
    environment = {**os.environ, **emulated.settings(), "EMULATED_SEED": seed}
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, cwd=emulated.ROOT, check=False
    )
    if not done.stdout:
        sys.exit(done.returncode or 2)
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
