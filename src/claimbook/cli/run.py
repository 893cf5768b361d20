"""The command `run`."""

import json
import random
import sys

import click

from claimbook.checking.report import VARIED, first_place
from claimbook.cli import common
from claimbook.engine.pool import Runner
from claimbook.model import Claim, Lane, Outcome, Run

FIELDS = ("claim", "lane", "outcome", "message", "seconds", "outputs")
"""The fields of a run in the output of `--json`, beside its place."""


@click.command()
@common.to_run
@click.option("--require-lane", is_flag=True, help="Fail if the lane cannot run on this machine.")
@click.option("--strict", is_flag=True, help="Fail if a claim about a machine differs on this one.")
@click.option("--shuffle", type=int, metavar="SEED", help="Run in a random order with this seed.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for other programs.")
def run(
    names: tuple[str, ...],
    lane: Lane,
    jobs: int | None,
    require_lane: bool,
    strict: bool,
    shuffle: int | None,
    as_json: bool,
) -> None:
    """Run claims and compare what they print with their pages.

    Exit status 1 if an output differs or a page has a problem, 2 if no named claim runs on the
    lane. A claim about a machine that differs on this one is reported; it fails only with
    --strict.
    """
    with Runner(jobs) as runner:
        book = common.load()
        claims = common.chosen(book, names, lane)
        problems = common.tell_problems(book, names)
        if shuffle is not None:
            random.Random(shuffle).shuffle(claims)
        runs = dict(common.progress(runner, claims, lane))
    ran = [(claim, runs[claim]) for claim in claims]
    differing = [(claim, run) for claim, run in ran if run.outcome.is_fault]
    varied = [(claim, run) for claim, run in ran if run.outcome is Outcome.VARIED]
    if as_json:
        data = [
            {**{field: getattr(run, field) for field in FIELDS}, "place": first_place(claim, run)}
            for claim, run in ran
        ]
        print(json.dumps(data, indent=1))  # ASCII, whatever the locale
    elif lane in runner.environments and len(ran) > 1:  # a single one was reported in full
        where = runner.environments[lane]
        _list(f"Claims that fail on {where.device} with torch {where.torch}:", differing)
        _list(f"{VARIED} ({where.device}, torch {where.torch}):", varied)
    if require_lane:
        common.check_lane(runner, claims, lane, ", and --require-lane is given")
    sys.exit(1 if problems or differing or (strict and varied) else 0)


def _list(title: str, told: list[tuple[Claim, Run]]) -> None:
    """Print claims under a title, if there are any, each with what came of it."""
    if told:
        common.say(title)
    for claim, run in told:
        common.say(f"{first_place(claim, run)}: {claim.id} {run.outcome}: {run.message}")
