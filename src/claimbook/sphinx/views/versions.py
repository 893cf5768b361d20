"""What the site shows of the book's versions: what each changed, and where the others are."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from urllib.parse import urljoin

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

from claimbook.checking.compare import diff
from claimbook.checking.report import prompted
from claimbook.exports.sections import first_sentence
from claimbook.model import digest
from claimbook.records.version_history import Changes, ClaimChange, Kind, VerdictChange, changes
from claimbook.records.versions import Card, Verdict, Versions
from claimbook.sphinx import nodes as places
from claimbook.sphinx import render
from claimbook.sphinx.domain import ClaimDomain
from claimbook.sphinx.render import Link

NEWEST, NOW = "newest", ""
WHOLE, MANY = 2, 100
"""How many steps show what claims were and are, if not more than so many of a step changed alike;
the sites of older versions show theirs."""


def connect(app: Sphinx) -> None:
    """Every page names the versions; all are written anew when there is another one."""
    app.add_config_value("claimbook_version", "", rebuild="html", types=str)
    app.connect("config-inited", _find_sites)


def _find_sites(app: Sphinx, config: Config) -> None:
    # Links to what is beneath an address without a slash at its end leave out its last part.
    url = config.html_baseurl
    config.html_baseurl = address = f"{url.rstrip('/')}/" if url else ""
    this, names = config.claimbook_version, Versions.of(Path(app.srcdir)).versions()
    found = {"book_version": this or NEWEST, "book_sites": sites(names, address, this)}
    config.html_context = {**config.html_context, **found}


def sites(versions: list[str], address: str, this: str) -> list[tuple[str, str]]:
    """Each version with the address of its site, if there is more than one and it is known.

    Args:
        versions: from the oldest on.
        address: that of the newest site.
        this: the version of which the site is made; empty for the newest site.

    >>> sites(["0.1.0", "0.2.0"], "https://example.org/", "")
    [('newest', 'https://example.org/'), ('0.1.0', 'https://example.org/0.1.0/')]
    """
    older = versions if this else versions[:-1]
    there = [(version, urljoin(address, f"{version}/")) for version in reversed(older)]
    return [(NEWEST, address), *there] if address and there else []


def made_of(domain: ClaimDomain) -> str:
    """A digest of what the page shows."""
    kept = [(v.version, v.provenance.date, len(v.contents.claims)) for v in domain.versions]
    steps = [changed for *_, changed in _steps(domain)]
    said = [domain.said(verdict.id for verdict in step.verdicts) for step in steps]
    return digest([kept, said, repr(steps)])


def show(domain: ClaimDomain, link: Link) -> list[nodes.Node]:
    """What changed since the newest version, and what each version changed, the newest first."""
    if not domain.versions:
        return [nodes.paragraph("", "No version of the book has been kept yet.")]
    steps = [_Step(domain, domain.places(), link, *step) for step in _steps(domain)]
    sections = [step.section(whole=step in steps[-WHOLE:]) for step in steps]
    first = domain.versions[0]
    size = f"{len(first.contents.claims)} claims and {len(first.contents.entries)} entries"
    text = f"The first version is {first.version} of {first.provenance.date}, with {size}."
    return [*reversed(sections), nodes.paragraph("", text)]


def _steps(domain: ClaimDomain) -> Iterator[tuple[str, str, Changes]]:
    """From each version to the next one, and from the newest to the book as it stands."""
    known = [(version.version, version.contents) for version in domain.versions]
    for (older, was), (newer, now) in pairwise([*known, (NOW, domain.contents())]):
        yield older, newer, changes(was, now)


@dataclass(frozen=True)
class _Step:
    """What changed from one version to the next, as a section."""

    domain: ClaimDomain
    where: dict[str, str]
    link: Link
    older: str
    newer: str
    changes: Changes

    def section(self, *, whole: bool) -> nodes.section:
        """Counts, verdicts, and claims in the order of what changed.

        Args:
            whole: shows of each claim what it was and what it is.
        """
        since = f"Since {self.older}"
        title = since if self.newer == NOW else f"From {self.older} to {self.newer}"
        section = nodes.section(ids=[f"since-{self.older}"], names=[since])
        counted = [f"{word}: {count}" for word, count in self.changes.counts()]
        section += nodes.title("", title)
        section += nodes.paragraph("", " · ".join(counted) or "Nothing has changed.")
        if verdicts := self.changes.verdicts:
            section += nodes.rubric("", f"Verdicts ({len(verdicts)})")
            section += self._verdicts(verdicts)
        for kind in Kind:
            if found := [change for change in self.changes.claims if change.kinds[0] is kind]:
                section += nodes.rubric("", f"Claims: {kind} ({len(found)})")
                section += self._claims(kind, found) if whole else self._names(found)
        return section

    def _claims(self, kind: Kind, found: list[ClaimChange]) -> list[nodes.Node]:
        if kind is Kind.NEW:
            return [nodes.bullet_list("", *map(self._statement, found))]
        return [self._names(found)] if len(found) > MANY else [*map(self._changed, found)]

    def _names(self, found: list[ClaimChange]) -> nodes.paragraph:
        names = [part for each in found for part in (nodes.Text(", "), self._linked(each.id))]
        return nodes.paragraph("", "", *names[1:])

    def _verdicts(self, found: Iterable[VerdictChange]) -> nodes.table:
        head = ["Entry", "What the source says", f"In {self.older}", self._now()]
        table = render.table(head, map(self._verdict, found), [18, 38, 22, 22])
        table["classes"].append("verdicts")
        return table

    def _verdict(self, change: VerdictChange) -> render.Cells:
        said = self.domain.said([change.id]).get(change.id, "")
        ledger = self.domain.page_with("ledger") if said else ""
        entry = render.entry_link(change.id, ledger, self.link)
        both = ([*self._words(verdict)] for verdict in (change.before, change.after))
        return ([entry], list(render.inline(said)), *both)

    def _words(self, verdict: Verdict) -> Iterator[nodes.Node]:
        yield render.verdict(verdict.relation)
        for claim in verdict.claims:
            yield nodes.Text(" ")
            yield self._linked(claim)

    def _statement(self, change: ClaimChange) -> nodes.list_item:
        text = nodes.inline("", "", *render.inline(change.card.statement))
        return nodes.list_item("", nodes.paragraph("", "", self._linked(change.id, text)))

    def _changed(self, change: ClaimChange) -> nodes.Node:
        """A fold with the lines that a claim lost, kept and got."""
        kinds, title = ", ".join(change.kinds), first_sentence(change.card.statement)
        fold = places.fold(title=title.replace("`", ""), classes=["timeline-change"])
        fold += nodes.paragraph("", "", self._linked(change.id), nodes.Text(f": {kinds}"))
        was, now = change.before, change.after
        if was and now and Kind.PAGE in change.kinds:
            fold += nodes.paragraph("", f"From {was.page} to {now.page}.")
        lost, got = ("\n".join(_lines(card, change.kinds)) for card in (was, now))
        if lost != got:
            text = diff(lost, got).translate(render.PICTURES)
            fold += nodes.literal_block(text, text, language="diff", classes=["version-diff"])
        return fold

    def _now(self) -> str:
        return "Now" if self.newer == NOW else f"In {self.newer}"

    def _linked(self, claim: str, text: nodes.Node | None = None) -> nodes.Node:
        return render.claim_link(claim, self.where, self.link, text)


def _lines(card: Card | None, kinds: tuple[Kind, ...]) -> Iterator[str]:
    """Of a claim its statement, its code with what that prints, or both: what changed of them."""
    if card and {Kind.STATEMENT, Kind.WITHDRAWN} & {*kinds}:
        yield card.statement
    if card and {Kind.CODE, Kind.OUTPUT, Kind.WITHDRAWN} & {*kinds}:
        for source, printed in card.examples:
            yield from prompted(source)
            yield from printed.splitlines()
