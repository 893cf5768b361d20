"""`nox -s rehearse`: the CUDA lane on a CUDA device that is made of the host's memory.

A machine without a GPU finds what a claim would do wrong on one: tensors that meet across devices,
a generator or a file of the other device, a path that torch leaves where a default device is set,
memory that is held. It finds nothing that depends on CUDA's own kernels; what it therefore cannot
show is listed, with reasons, in `cannot_show.yaml`. Nothing it prints is kept as a record.
"""

import argparse
import json
import os
import subprocess
import sys

import emulated
import yaml
from rich.console import Console

KNOWN = emulated.HERE / "cannot_show.yaml"


def main() -> None:
    """Runs the claims, and fails for what differs without a reason."""
    parser = argparse.ArgumentParser(prog="nox -s rehearse --")
    parser.add_argument("names", nargs="*", metavar="CLAIM|PAGE", help="run these only")
    options = parser.parse_args()
    found = run(options.names)
    known = yaml.safe_load(KNOWN.read_text("utf-8"))
    differing = {each["claim"] for each in found if each["outcome"] not in ("passed", "skipped")}
    holding = {each["claim"] for each in found if each["outcome"] == "passed"}
    lines = [f"{claim} differs, and {KNOWN.name} has no reason" for claim in differing - {*known}]
    lines += [f"{claim} holds: take it out of {KNOWN.name}" for claim in holding & {*known}]
    out = Console(highlight=False)
    out.print(*sorted(lines), sep="\n")
    out.print(f"{len(holding)} claims hold on the emulated device, {len(differing)} do not")
    sys.exit(1 if lines else 0)


def run(names: list[str]) -> list[dict[str, str]]:
    """What `claimbook run` says of each claim on the lane."""
    command = ["claimbook", "run", "--lane", "cuda", "--require-lane", "--json", *names]
    environment = {**os.environ, **emulated.settings()}
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, cwd=emulated.ROOT, check=False
    )
    if not done.stdout:
        sys.exit(done.returncode or 2)
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
