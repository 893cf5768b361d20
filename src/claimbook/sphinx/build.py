"""The build-time run: which claims run, what their pages show, and `claims.json`."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.display import status_iterator
from sphinx.util.nodes import make_refnode

from claimbook import environment
from claimbook.book import Project, read_page, script_problems
from claimbook.export import SCHEMA, answer_data, claim_data, lane_data
from claimbook.falsify import Results, falsified_data, load_all
from claimbook.model import Claim, Lane, Outcome, Problem, Record, Run
from claimbook.records import RecordError, Records, status, write_atomically
from claimbook.register import Register, answers, check_relations, load_register
from claimbook.report import explain, first_place
from claimbook.runner import Runner
from claimbook.sphinx import nodes as places
from claimbook.sphinx import render
from claimbook.sphinx.domain import ClaimDomain, claim_domain

logger = logging.getLogger(__name__)


def connect(app: Sphinx) -> None:
    """Hooks the steps of a build together."""
    app.connect("source-read", scan)
    app.connect("env-updated", run_claims)
    app.connect("env-check-consistency", report_problems)
    app.connect("doctree-resolved", fill_in)
    app.connect("build-finished", write_json)


def project_of(env: BuildEnvironment) -> Project:
    """The project whose docs are being built."""
    return Project.find(Path(env.srcdir))


def warn(path_and_line: str, message: str, subtype: str) -> None:
    """A warning at a place, of type `claim`."""
    logger.warning(message, location=path_and_line, type="claim", subtype=subtype)


def scan(app: Sphinx, docname: str, source: list[str]) -> None:
    """Reads a page's claims before Sphinx parses it."""
    path = app.env.doc2path(docname)
    if path.suffix == ".md":
        claim_domain(app.env).pages[docname] = read_page(project_of(app.env), Path(path))


def run_claims(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Runs what has no valid record, and says which pages show something else than before."""
    domain, project = claim_domain(env), project_of(env)
    shown: dict[str, dict[str, Any]] = {claim.id: {} for claim in domain.claims()}
    for lane in Lane:
        for claim, data in _lane(app, project, domain, lane):
            shown[claim.id][lane] = data
    now: dict[str, dict[str, Any]] = {
        "shown": shown,
        "falsified": _falsified(project, domain),
    }
    before = {key: domain.data[key] for key in now}
    domain.data.update(now)
    changed = {
        name
        for name, claim in domain.located()
        if any(before[key].get(claim.id) != now[key][claim.id] for key in now)
    }
    register = load_register(project.docs / "register")
    totals = _totals(register, domain, now)
    if domain.data.get("digest") != totals:
        domain.data["digest"] = totals
        changed |= domain.totals.keys()
    return sorted(changed)


def _totals(register: Register, domain: ClaimDomain, now: dict[str, Any]) -> str:
    found = answers(register, domain.claims(), domain.remarks()).values()
    return json.dumps([[answer_data(answer) for answer in found], now], sort_keys=True)


def _falsified(project: Project, domain: ClaimDomain) -> dict[str, dict[str, Any] | None]:
    results, claims = Results(project.docs), domain.claims()
    found = load_all(results, claims, lambda path, why: warn(f"{path}:1", why, "broken-record"))
    return {c.id: falsified_data(c, r) if (r := found[c.id]) else None for c in claims}


def _lane(
    app: Sphinx, project: Project, domain: ClaimDomain, lane: Lane
) -> Iterator[tuple[Claim, dict[str, Any]]]:
    records = project.records(lane)
    claims = [claim for claim in domain.claims() if lane in claim.lanes]
    found = {claim.id: _load(records, claim) for claim in claims}
    due = [c for c in claims if app.config.claimbook_fresh or not _reusable(found[c.id], c, lane)]
    ran = dict(_run(app, project, records, due)) if _may_run(lane) else {}
    found.update(ran)
    missing = sum(found[claim.id] is None for claim in claims)
    kept = len(claims) - missing - len(ran)
    message = "claims on %s: %d run, %d from records, %d never run"
    logger.info(message, lane, len(ran), kept, missing)
    for claim in claims:
        record = found[claim.id]
        yield claim, lane_data(status(claim, lane, record, environment.torch_version()), record)


def _may_run(lane: Lane) -> bool:
    # A torch that was built with CUDA may still find no GPU; the runner then skips the claims.
    return lane is Lane.CPU or not environment.torch_version().endswith(("+cpu", "none"))


def _load(records: Records, claim: Claim) -> Record | None:
    try:
        return records.load(claim)
    except RecordError as error:
        warn(f"{records.path(claim)}:1", f"{error}; it counts as missing", "broken-record")
        return None


def _reusable(record: Record | None, claim: Claim, lane: Lane) -> bool:
    return (
        record is not None
        and record.run.outcome is Outcome.PASSED
        and record.digest == claim.digest(lane)
        and record.environment == environment.describe(Lane.CPU)
    )


def _run(
    app: Sphinx, project: Project, records: Records, due: list[Claim]
) -> Iterator[tuple[str, Record]]:
    if not due:
        return
    claims = {claim.id: claim for claim in due}
    provenance = environment.provenance(project.root)
    with Runner(app.config.claimbook_jobs) as runner:
        every = runner.run(claims.values(), records.lane)
        runs = (run for run in every if run.outcome is not Outcome.SKIPPED)
        title = f"running claims on {records.lane}... "
        for run in status_iterator(runs, title, "green", len(claims), stringify_func=_name):
            claim = claims[run.claim]
            digest = claim.digest(records.lane)
            record = Record(run, digest, runner.environments[records.lane], provenance)
            records.save(claim, record)
            yield claim.id, record
            if run.outcome is not Outcome.PASSED:
                warn(first_place(claim, run), explain(claim, run), str(run.outcome))


def _name(run: Run) -> str:
    return run.claim


def report_problems(app: Sphinx, env: BuildEnvironment) -> None:
    """Says on every build what is wrong with pages, alone and together."""
    domain, project = claim_domain(env), project_of(env)
    register = load_register(project.docs / "register")
    problems: list[Problem] = [p for page in domain.pages.values() for p in page.problems]
    problems += check_relations(register, domain.claims(), domain.remarks())
    problems += script_problems(project)
    for text in project.texts:
        problems += read_page(project, project.root / text).problems
    for problem in sorted(problems):
        warn(str(problem.location), problem.message, str(problem.kind))
    for docname, page in domain.pages.items():
        ran = [data["outcome"] for c in page.claims for data in _shown(domain, c).values()]
        if page.claims and not any(ran):
            warn(docname, "none of this page's claims ran on any lane", "nothing-ran")


def _shown(domain: ClaimDomain, claim: Claim) -> dict[str, Any]:
    return domain.data["shown"].get(claim.id, {})  # type: ignore[no-any-return]


def fill_in(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Puts badges, relations, ledger and counts where the page left a place for them."""
    domain = claim_domain(app.env)

    def link(target: str, anchor: str, content: nodes.Node) -> nodes.Node:
        return make_refnode(app.builder, docname, target, anchor, content)

    for place in list(doctree.findall(places.claim_status)):
        place.replace_self(_status(domain, docname, place, link))
    if docname not in domain.totals:
        return
    project = project_of(app.env)
    register = load_register(project.docs / "register")
    found = answers(register, domain.claims(), domain.remarks())
    shown, falsified = domain.data["shown"], domain.data["falsified"].values()
    for counts in list(doctree.findall(places.claim_counts)):
        counts.replace_self(render.counts(found.values(), shown.values(), falsified))
    for ledger in list(doctree.findall(places.claim_ledger)):
        where = {claim.id: name for name, claim in domain.located()}
        ledger.replace_self(render.ledger(register, found, where, shown, link))


def _status(
    domain: ClaimDomain, docname: str, place: nodes.Element, link: render.Link
) -> list[nodes.Node]:
    if entries := place.get("remark"):
        pairs = [("remark", entry) for entry in entries]
        return [render.relation_line(pairs, domain.ledger, link)]
    claim = domain.claim_on(docname, place["claim"])
    assert claim
    pairs = [(str(relation.kind), relation.entry) for relation in claim.relations]
    lines = [render.relation_line(pairs, domain.ledger, link)] if pairs else []
    return [*lines, render.badges(_shown(domain, claim), domain.data["falsified"].get(claim.id))]


def write_json(app: Sphinx, exception: Exception | None) -> None:
    """Writes `claims.json` beside the start page, and tells the counts."""
    if exception or app.builder.format != "html":
        return
    domain, project = claim_domain(app.env), project_of(app.env)
    register = load_register(project.docs / "register")
    found = answers(register, domain.claims(), domain.remarks()).values()
    data = {
        "schema": SCHEMA,
        "environment": asdict(environment.describe(Lane.CPU)),
        "entries": [answer_data(answer) for answer in found],
        "claims": [
            {
                **claim_data(claim),
                "lanes": _shown(domain, claim),
                "falsified": domain.data["falsified"].get(claim.id),
            }
            for claim in domain.claims()
        ],
    }
    text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    path = Path(app.outdir) / "claims.json"
    if not path.exists() or path.read_text("utf-8") != text:
        write_atomically(path, text)
    words = Counter(answer.word or "open" for answer in found)
    logger.info("entries: %s", ", ".join(f"{words[word]} {word}" for word in render.WORDS))
