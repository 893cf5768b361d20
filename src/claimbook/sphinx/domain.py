"""The Sphinx domain `claim`: the data of each page, and references to claims."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from docutils import nodes
from docutils.nodes import Element
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.domains import Domain, ObjType
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole
from sphinx.util.nodes import make_refnode

from claimbook.exports.errors import Message
from claimbook.exports.messages import Found, merged
from claimbook.model import Claim, Environment, Example, Lane, Page, anchor
from claimbook.mutation import falsify
from claimbook.pages.book import Book, Project
from claimbook.pages.myst import MYST_EXTENSIONS
from claimbook.pages.prose import Sentence
from claimbook.pages.text import curly, near
from claimbook.records.book_runs import BookRun, CudaReleases, Machines, Releases
from claimbook.records.runs import Shown
from claimbook.records.versions import Version, Versions
from claimbook.sphinx import render
from claimbook.sphinx.complaints import warn
from claimbook.sweeps import results as sweeps
from claimbook.sweeps.written import read_sweeps


def tell_broken(place: str, why: str) -> None:
    """Warn of a broken file, or line of a file, under `docs/records/`."""
    warn(place, f"{why}; it counts as missing", "broken-record")


class Placed(NamedTuple):
    """A view, as placed on a page."""

    page: str
    kind: str
    lines: tuple[str, ...]
    """The pages or sections listed in its directive."""
    line: int
    """The line of its directive."""
    title: str


ByLane = dict[Lane, Shown]
"""Lane → the status and records of a claim."""

UNLIKE = f"; is each of {', '.join(MYST_EXTENSIONS)} in `myst_enable_extensions`?"
"""Why Sphinx may read a page in another way than the page scan does."""

ROLE = XRefRole(innernodeclass=nodes.inline, warn_dangling=True)
"""Role that links to a claim by its id; shows the given title, or its first sentence."""


@dataclass
class PageData:
    """What is known of a page since it was read."""

    digest: str
    """The digest of its file."""
    minutes: int
    """Its reading time."""
    scanned: Page
    """Its claims, remarks and sections; empty if it is not Markdown."""
    sentences: list[Sentence] = field(default_factory=list)
    apis: dict[str, list[str]] = field(default_factory=dict)
    """Claim id → the names of torch that its code may use."""
    found: Found | None = None
    """Its messages; None if it is not Markdown."""
    views: list[Placed] = field(default_factory=list)
    cells: list[Example] = field(default_factory=list)
    """Two for each code cell: its statements but the last, and what prints the picture."""
    explorers: list[str] = field(default_factory=list)
    claims_linked: list[str] = field(default_factory=list)
    """The ids of the claims to which it links."""
    pages_linked: list[str] = field(default_factory=list)
    """The docnames of the pages to which it links; `""` for links by label."""


class ClaimDomain(Domain):
    """Holds the data of every page, and what this build knows of every claim."""

    name = "claim"
    label = "Claims"
    object_types: ClassVar[dict[str, ObjType]] = {"claim": ObjType("claim", "claim")}
    roles: ClassVar[dict[str, Any]] = {"claim": ROLE}
    initial_data: ClassVar[dict[str, Any]] = {"pages": {}, "seen": {}, "environments": {}}

    def __init__(self, env: BuildEnvironment) -> None:
        super().__init__(env)
        self.pages: dict[str, PageData] = self.data["pages"]
        """By docname."""
        self.environments: dict[Lane, Environment] = self.data["environments"]
        """Lane → its environment in this build or the last."""
        self.shown = dict[str, ByLane]()
        """Claim id → its results in this build."""
        self.viewed = dict[str, list[list[nodes.Node]]]()
        """Docname → the nodes of each of its views in this build."""
        self.has_read = False
        """Whether this build has read or removed a page."""
        self.drawings = dict[str, list[str]]()
        """Docname → the pictures of its cells, as HTML."""
        self.releases = list[BookRun]()
        """The runs of the book on releases of torch, oldest first."""
        self.cuda_releases = list[BookRun]()
        """The runs of the book on releases of torch on a GPU, oldest first."""
        self.machines = list[BookRun]()
        """The runs of the book on reference machines."""
        self.versions = list[Version]()
        """The versions of the book, oldest first."""
        self.falsified = dict[str, dict[str, Any] | None]()
        """Claim id → the results for its mutants, if any."""
        self.swept = dict[str, dict[str, Any] | None]()
        """Claim id → the result of its sweep, if any."""

    @cached_property
    def project(self) -> Project:
        """The project whose docs are being built."""
        return Project.find(Path(self.env.srcdir))

    @cached_property
    def book(self) -> Book:
        """The book of all pages in docs; use it only after they are read."""
        scanned = (self.pages[name].scanned for name in sorted(self.pages))
        pages = tuple(page for page in scanned if page.path)
        return Book(self.project, pages, self.project.register())

    @cached_property
    def messages(self) -> list[Message]:
        """All errors and warnings that claims print."""
        return merged(message for page in self.found for message in page.printed)

    @property
    def found(self) -> list[Found]:
        """The messages of each page."""
        return [page.found for _, page in sorted(self.pages.items()) if page.found]

    def read_records(self) -> None:
        """Read what is kept under `docs/records/`; warn of what is broken, and of broken sweeps."""
        docs, claims = self.project.docs, self.book.claims
        self.releases = Releases.of(docs).load_all(tell_broken)
        self.cuda_releases = CudaReleases.of(docs).load_all(tell_broken)
        self.machines = Machines.of(docs).load_all(tell_broken)
        self.versions = Versions.of(docs).load_all(tell_broken)
        mutants = falsify.Results.of(docs, tell_broken)
        self.falsified = dict.fromkeys(claim.id for claim in claims)
        for claim in claims:
            if killed := mutants.load(claim):
                self.falsified[claim.id] = falsify.falsified_data(claim, killed)
        self.swept = dict.fromkeys(claim.id for claim in claims)
        searched = sweeps.Results.of(docs, tell_broken)
        tell = partial(warn, subtype="bad-sweep")
        for name, sweep in read_sweeps(self.project, claims, tell).items():
            if result := searched.load(sweep.claim):
                self.swept[name] = sweeps.swept_data(sweep, result)

    @cached_property
    def labs(self) -> dict[str, list[tuple[str, str]]]:
        """Claim id → the labs that refer to it: (docname, title)."""
        found: dict[str, list[tuple[str, str]]] = {claim.id: [] for claim in self.book.claims}
        labs = (name for name in sorted(self.pages) if not self.pages[name].scanned.path)
        for docname in labs:
            for claim_id in self.pages[docname].claims_linked:
                if claim_id in found:
                    found[claim_id].append((docname, self.env.titles[docname].astext()))
        return found

    def page_with(self, view: str) -> str:
        """Return the docname of the page with a view; empty if there is none."""
        kinds = ((name, each.kind) for name, page in self.pages.items() for each in page.views)
        return next((name for name, kind in kinds if kind == view), "")

    def said(self, entries: Iterable[str]) -> dict[str, str]:
        """Return entry id → statement, for those of the given entries in the register."""
        known = self.book.register.entries
        return {entry: known[entry].statement for entry in entries if entry in known}

    def claim_on(self, docname: str, claim_id: str) -> Claim | None:
        """Return the claim with an id on a page; None if there is none."""
        claims = self.pages[docname].scanned.claims
        return next((claim for claim in claims if claim.id == claim_id), None)

    def claim_at(self, place: nodes.Element) -> Claim:
        """Return the claim of a placeholder."""
        claim = self.claim_on(place["page"], place["claim"])
        assert claim
        return claim

    def clear_doc(self, docname: str) -> None:
        """Forget a page."""
        self.pages.pop(docname, None)
        self.has_read = True

    def process_doc(self, env: BuildEnvironment, docname: str, document: nodes.document) -> None:
        """Note to which claims and pages a page links; warn of claims that it does not show."""
        claims, pages = set[str](), set[str]()
        for link in document.findall(pending_xref):
            target = link["reftarget"]
            if link.get("refdomain") == self.name:
                claims.add(target)
            elif link.get("refdomain") != "doc":
                pages.add("")
            elif not target or target in env.found_docs:
                pages.add(target)
        page = self.pages[docname]
        page.claims_linked, page.pages_linked = sorted(claims), sorted(pages)
        for claim in page.scanned.claims:
            if anchor(claim.id) not in document.ids:
                warn(claim.location, f"{claim.id} is not shown as a card{UNLIKE}", "not-shown")

    def merge_domaindata(self, docnames: AbstractSet[str], otherdata: dict[str, Any]) -> None:
        """Merge the pages that another process has read."""
        self.pages.update({name: otherdata["pages"][name] for name in docnames})

    def resolve_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        typ: str,
        target: str,
        node: pending_xref,
        contnode: Element,
    ) -> nodes.reference | None:
        """Return a link to the claim with an id; None if there is none."""
        claim = self.book.by_id.get(target)
        if claim is None:
            return None
        if not node.get("refexplicit"):
            contnode = nodes.inline("", "", *render.inline(claim.title.rstrip(".")))
        tip = curly(claim.statement).replace("`", "")  # tooltips are plain text
        place = anchor(target)
        return make_refnode(builder, fromdocname, claim.docname, place, contnode, tip)

    def resolve_any_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        target: str,
        node: pending_xref,
        contnode: Element,
    ) -> list[tuple[str, nodes.reference]]:
        """Return the link for the role `any`."""
        found = self.resolve_xref(env, fromdocname, builder, "claim", target, node, contnode)
        return [("claim:claim", found)] if found is not None else []

    def get_objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        """Yield every claim, for the search and for other projects' intersphinx."""
        for claim in self.book.claims:
            yield claim.id, claim.id, "claim", claim.docname, anchor(claim.id), 1


def tell_missing(app: Sphinx, domain: Domain | None, node: pending_xref) -> bool | None:
    """Warn of a link to a missing claim, with suggestions."""
    if not isinstance(domain, ClaimDomain):
        return None
    name = node["reftarget"]
    message = f"no claim has the id {name!r}{near(name, domain.book.by_id) or '; was it renamed?'}"
    warn(node, message, "claim", kind="ref")
    return True


def claim_domain(env: BuildEnvironment) -> ClaimDomain:
    """Return the claim domain of an environment."""
    domain = env.get_domain(ClaimDomain.name)
    assert isinstance(domain, ClaimDomain)
    return domain
