"""Run the claims of a build that are due, and give the status of every claim on each lane."""

from collections.abc import Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

import claimbook
from claimbook.checking.report import explain, first_place
from claimbook.engine import environment
from claimbook.engine.pool import Runner
from claimbook.files import Stamp
from claimbook.model import Claim, Environment, Lane, Outcome, Run, Status
from claimbook.pages.book import read_page
from claimbook.records.runs import Records, record_of, shown, status
from claimbook.sphinx.complaints import warn
from claimbook.sphinx.domain import ByLane, claim_domain, tell_broken

logger = logging.getLogger(__name__)

SETTLED = {Status.CURRENT, Status.VARIED}
"""Statuses of claims that are not run again while code and environment stay the same."""

LOGGED = 50
"""Number of claims per line of progress."""

RUN_BY = ("engine", "checking", "teach")
"""The folders of the package with code that runs claims, compares outputs, or is used by claims."""


def run_by(records: Path) -> Stamp:
    """Return a stamp for a folder of records, with a digest of the code that makes them."""
    package = Path(claimbook.__file__).parent
    code = (path for folder in RUN_BY for path in sorted(package.glob(f"{folder}/[!.]*.py")))
    return Stamp(records / ".run-by", environment.digest_of_code(code))


class Lanes:
    """The lanes of one build; workers that are needed import torch while pages are read."""

    def __init__(self, app: Sphinx) -> None:
        self._app = app
        self._runner: Runner | None = None
        self._open = ExitStack()
        app.connect("env-before-read-docs", self._prepare)
        app.connect("build-finished", self.close, priority=100)

    def shown(self) -> dict[str, ByLane]:
        """Run claims without a valid record; return the results of all by claim id."""
        domain = claim_domain(self._app.env)
        found: dict[str, ByLane] = {claim.id: {} for claim in domain.book.claims}
        pinned = environment.torch_version()
        for lane in Lane:
            claims = [claim for claim in domain.book.claims if lane in claim.lanes]
            records = self._records[lane]
            due = [claim for claim in claims if self._is_due(claim, lane, records)]
            ran = self._run(records, due) if _may_run(lane) else 0
            for claim in claims:
                found[claim.id][lane] = shown(claim, lane, records.load_all(claim), pinned)
            missing = sum(not found[claim.id][lane].records for claim in claims)
            message = "claims on %s: %d run, %d from records, %d never run"
            logger.info(message, lane, ran, len(claims) - missing - ran, missing)
        return found

    def close(self, *_: object) -> None:
        """End the workers; to be called before Sphinx forks, as its processes would hold them."""
        self._open.close()
        self._runner = None

    def _prepare(self, app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
        """Start the workers if a page to be read has a claim that must run."""
        project = claim_domain(env).project
        files = (path for path in map(env.doc2path, docnames) if path.suffix == ".md")
        claims = (claim for path in files for claim in read_page(project, path).claims)
        if any(self._is_due(claim, Lane.CPU, self._records[Lane.CPU]) for claim in claims):
            self._start()

    def _is_due(self, claim: Claim, lane: Lane, records: Records) -> bool:
        kept = {Status.CURRENT} if self._app.config.claimbook_strict else SETTLED
        return not any(
            status(claim, lane, record, environment.torch_version()) in kept
            and record.environment == self._environment(lane)
            for record in records.load_all(claim)
        )

    @cached_property
    def _records(self) -> dict[Lane, Records]:
        docs = claim_domain(self._app.env).project.docs
        records = {lane: Records.of(docs, lane, tell_broken) for lane in Lane}
        run_by(records[Lane.CPU].folder).renew()
        return records

    def _environment(self, lane: Lane) -> Environment | None:
        """Return the environment of a lane here; None if no build has found it yet."""
        if lane is Lane.CPU:
            return environment.describe(lane)
        return claim_domain(self._app.env).environments.get(lane)

    def _start(self) -> Runner:
        if self._runner is None:
            self._runner = self._open.enter_context(Runner())
        return self._runner

    def _run(self, records: Records, due: list[Claim]) -> int:
        """Run claims and save their records; return how many ran."""
        if not due:
            return 0
        runner, count, domain = self._start(), 0, claim_domain(self._app.env)
        provenance = environment.provenance(domain.project.root)
        for claim, run in _with_progress(runner, due, records.lane):
            made_in = domain.environments[records.lane] = runner.environments[records.lane]
            record = record_of(claim, run, made_in, provenance)
            records.save(claim, record)
            count += 1
            if run.outcome.is_fault:
                place = first_place(claim, run)
                warn(place, explain(claim, run).removeprefix(f"{place}: "), str(run.outcome))
        return count


def _with_progress(runner: Runner, due: list[Claim], lane: Lane) -> Iterator[tuple[Claim, Run]]:
    """Yield each claim with its run as it ends, if it was not skipped; log the progress."""
    ran = runner.run(due, lane)
    runs = ((claim, run) for claim, run in ran if run.outcome is not Outcome.SKIPPED)
    for number, (claim, run) in enumerate(runs, 1):
        if number % LOGGED == 0:
            logger.info("running claims on %s... %d of %d", lane, number, len(due))
        yield claim, run


def _may_run(lane: Lane) -> bool:
    # A CUDA build may find no GPU; the runner then skips the claims.
    return lane is Lane.CPU or not environment.torch_version().endswith(("+cpu", "none"))
