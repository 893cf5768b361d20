"""Checks of the whole book, which every build makes; failures are warnings."""

import re
from collections.abc import Iterator
from datetime import date
from html import unescape
from itertools import chain

from docutils import nodes
from sphinx.application import Sphinx

from claimbook.engine import environment
from claimbook.model import Claim, Lane, Outcome, Problem, ProblemKind, Status
from claimbook.pages.book import read_page
from claimbook.pages.parser import TO_RUN
from claimbook.records.by_page import orphans
from claimbook.sphinx.complaints import warn
from claimbook.sphinx.domain import ClaimDomain, claim_domain

PROMPT = re.compile(r"^\s*>>>(?=\s|$)", re.MULTILINE)
TAG = re.compile(r"<[^<>]*>")


def check_shown(app: Sphinx, document: nodes.document) -> None:
    """Warn of prompts in a file that a page shows, or in its HTML: the page scan reads neither."""
    domain, docname = claim_domain(app.env), app.env.docname
    known = {each.location.line for each in domain.pages[docname].scanned.problems}
    for node in chain(document.findall(nodes.literal_block), document.findall(nodes.raw)):
        text, line = node.astext(), node.line or 1
        if isinstance(node, nodes.raw):
            text = unescape(TAG.sub("", text))
        elif node.get("source") is None:  # it stands on the page
            continue
        if PROMPT.search(text) and known.isdisjoint(range(line, line + text.count("\n") + 2)):
            message = f"what this shows has code that nothing runs and compares: {TO_RUN}"
            warn(node, message, ProblemKind.UNOWNED_CODE)


def check(app: Sphinx, domain: ClaimDomain) -> None:
    """Warn of problems, and of what the build demands and does not find, after claims have run."""
    if problems := _problems(domain):
        for problem in problems:
            warn(problem.location, problem.message, problem.kind)
    else:  # with problems, claims may only seem to be gone
        _report_orphans(domain)
    _demand_runs(domain)
    if app.config.claimbook_whole_register:
        _demand_answers(domain)
    if app.config.claimbook_strict:
        for claim, message in varied(domain):
            warn(claim.location, f"{claim.id}: {message}", Outcome.VARIED)
    if app.config.claimbook_strict_cuda:
        _demand_cuda(domain, app.config.claimbook_max_age)


def _problems(domain: ClaimDomain) -> list[Problem]:
    """Return the problems of the book, and of pages outside docs."""
    project = domain.project
    texts = (read_page(project, text).problems for text in project.texts)
    return sorted(chain(domain.book.problems, *texts))


def _report_orphans(domain: ClaimDomain) -> None:
    """Warn of each record whose claim does not exist."""
    for path, line, name in orphans(domain.project.docs, domain.book.by_id):
        place = f"{domain.project.name(path)}:{line}"
        advice = f"renamed? claimbook rename {name} NEW. Deleted? remove this line"
        warn(place, f"no claim has the id {name!r}; {advice}", "orphan")


def _demand_runs(domain: ClaimDomain) -> None:
    """Warn of each page none of whose claims ran."""
    for docname, page in domain.pages.items():
        claims = page.scanned.claims
        ran = [each.records for claim in claims for each in domain.shown[claim.id].values()]
        if claims and not any(ran):
            warn(docname, "none of this page's claims ran on any lane", "nothing-ran")


def varied(domain: ClaimDomain) -> Iterator[tuple[Claim, str]]:
    """Yield the claims that differ on this machine's processor, and how."""
    for claim in domain.book.claims:
        shown = domain.shown[claim.id].get(Lane.CPU)
        if shown and shown.first and shown.first.outcome is Outcome.VARIED:
            yield claim, shown.first.message


def _demand_answers(domain: ClaimDomain) -> None:
    """Warn of each entry without a claim or remark."""
    for answer in domain.book.answers.values():
        if answer.word is None:
            warn(answer.entry.location, f"{answer.entry.id}: {answer.wanted}", "open-entry")


def _demand_cuda(domain: ClaimDomain, max_age: str | int | None) -> None:
    """Warn of each claim whose record on `cuda` is missing, stale, failing or too old."""
    today = date.fromisoformat(environment.today())
    for claim in domain.book.claims:
        if (seen := domain.shown[claim.id].get(Lane.CUDA)) is None:
            continue
        recorded = date.fromisoformat(seen.first.recorded.date) if seen.first else today
        age = (today - recorded).days
        message = f"{claim.id}: its record on cuda is "
        if seen.status not in (Status.CURRENT, Status.VARIED):  # a clock that differs fails nothing
            warn(claim.location, f"{message}{seen.status}", "cuda-record")
        elif max_age is not None and age > int(max_age):
            warn(claim.location, f"{message}{age} days old", "cuda-record")
