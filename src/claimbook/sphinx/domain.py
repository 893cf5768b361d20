"""The Sphinx domain `claim`: the data of each page, and references to claims."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property
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

from claimbook.exports import errors
from claimbook.exports.data import anchor
from claimbook.exports.prose import Sentence
from claimbook.exports.sections import Section
from claimbook.model import Claim, Environment, Lane, Page
from claimbook.pages.book import Book, Project
from claimbook.pages.text import curly, first_sentence, near
from claimbook.records.book_runs import BookRun, CudaReleases, Machines, Releases
from claimbook.records.runs import Shown
from claimbook.records.versions import Contents, Version, Versions, contents_of
from claimbook.sphinx import render
from claimbook.sphinx.complaints import warn


def tell_broken(place: str, why: str) -> None:
    """Warn of a broken file, or line of a file, under `docs/records/`."""
    warn(place, f"{why}; it counts as missing", "broken-record")


class Placed(NamedTuple):
    """A view, as placed on a page."""

    kind: str
    lines: tuple[str, ...]
    """The pages or sections listed in its directive."""
    line: int
    """The line of its directive."""
    title: str


ROLE = XRefRole(innernodeclass=nodes.inline, warn_dangling=True)
"""Role that links to a claim by its id; shows the given title, or its first sentence."""


PER_PAGE = (
    *("texts", "pages", "sections", "sentences", "apis", "linked", "mentions"),
    *("views", "cells", "minutes"),
)
"""Names of the data kept for each page, by docname."""
OF_LAST_BUILD = ("seen", "environments")
"""Names of other kept data: a digest of what each page shows; the environment of each lane."""


def _kept(name: str) -> Any:
    """Return a property for data that the domain keeps."""
    return property(lambda domain: domain.data[name])


def _on_record(kind: Any) -> Any:
    """Return a cached property that reads all records of a kind under `docs/records/`."""
    return cached_property(lambda domain: kind.of(Path(domain.env.srcdir)).load_all(tell_broken))


class ClaimDomain(Domain):
    """Holds the data of every page."""

    name = "claim"
    label = "Claims"
    object_types: ClassVar[dict[str, ObjType]] = {"claim": ObjType("claim", "claim")}
    roles: ClassVar[dict[str, Any]] = {"claim": ROLE}
    initial_data: ClassVar[dict[str, Any]] = {name: {} for name in (*PER_PAGE, *OF_LAST_BUILD)}

    texts: dict[str, str] = _kept("texts")
    """Docname → the digest of its file when it was read."""
    pages: dict[str, Page] = _kept("pages")
    """Docname → its scanned page."""
    sections: dict[str, list[Section]] = _kept("sections")
    """Docname → its sections."""
    sentences: dict[str, list[Sentence]] = _kept("sentences")
    """Docname → its sentences."""
    views: dict[str, list[Placed]] = _kept("views")
    """Docname → its views."""
    apis: dict[str, dict[str, list[str]]] = _kept("apis")
    """Docname → claim id → the names of torch that its code may use."""
    linked: dict[str, list[str]] = _kept("linked")
    """Docname → the claims to which it links."""
    mentions: dict[str, list[str]] = _kept("mentions")
    """Docname → the pages to which it links; `""` for links by label."""
    cells: dict[str, list[tuple[str, str, int]]] = _kept("cells")
    """Docname → its cells: statements, the expression that draws, and page line of each."""
    minutes: dict[str, int] = _kept("minutes")
    """Docname → its reading time in minutes."""
    shown: dict[str, dict[Lane, Shown]]
    """Claim id → lane → its status and records in this build."""
    falsified: dict[str, dict[str, Any] | None]
    """Claim id → the results for its mutants, if any."""
    swept: dict[str, dict[str, Any] | None]
    """Claim id → the result of its sweep, if any."""
    labs: dict[str, list[tuple[str, str]]]
    """Claim id → the labs that refer to it: (docname, title)."""
    environments: dict[Lane, Environment] = _kept("environments")
    """Lane → its environment in this build or the last."""

    def __init__(self, env: BuildEnvironment) -> None:
        super().__init__(env)
        self.shown, self.falsified, self.swept, self.labs = {}, {}, {}, {}
        self.viewed: dict[str, list[Any]] = {}
        """Docname → the data of each of its views in this build."""
        self.drawings: dict[str, list[str]] = {}
        """Docname → the pictures of its cells, as HTML."""

    @cached_property
    def project(self) -> Project:
        """The project whose docs are being built."""
        return Project.find(Path(self.env.srcdir))

    @cached_property
    def book(self) -> Book:
        """The book of all pages in docs; use it only after they are read."""
        pages = tuple(self.pages[name] for name in sorted(self.pages))
        return Book(self.project, pages, self.project.register())

    @cached_property
    def places(self) -> dict[str, str]:
        """Claim id → the docname of its page."""
        return {claim.id: claim.docname for claim in self.book.claims}

    @cached_property
    def messages(self) -> list[errors.Message]:
        """All errors and warnings that claims print."""
        return errors.messages(self.book.claims)

    releases: list[BookRun] = _on_record(Releases)
    """The runs of the book on releases of torch, oldest first."""
    cuda_releases: list[BookRun] = _on_record(CudaReleases)
    """The runs of the book on releases of torch on a GPU, oldest first."""
    machines: list[BookRun] = _on_record(Machines)
    """The runs of the book on reference machines."""
    versions: list[Version] = _on_record(Versions)
    """The versions of the book, oldest first."""

    def contents(self) -> Contents:
        """Return the current contents of the book."""
        return contents_of(self.book.claims, self.book.answers)

    def page_with(self, view: str) -> str:
        """Return the docname of the page with a view; empty if there is none."""
        kinds = ((name, each.kind) for name, views in self.views.items() for each in views)
        return next((name for name, kind in kinds if kind == view), "")

    def find_labs(self) -> dict[str, list[tuple[str, str]]]:
        """Return the labs that refer to each claim; see `labs`."""
        found: dict[str, list[tuple[str, str]]] = {claim.id: [] for claim in self.book.claims}
        for docname in sorted(self.linked.keys() - self.pages.keys()):
            for claim_id in self.linked[docname]:
                if claim_id in found:
                    found[claim_id].append((docname, self.env.titles[docname].astext()))
        return found

    def said(self, entries: Iterable[str]) -> dict[str, str]:
        """Return entry id → statement, for those of the given entries in the register."""
        known = self.book.register.entries
        return {entry: known[entry].statement for entry in entries if entry in known}

    def claim_on(self, docname: str, claim_id: str) -> Claim | None:
        """Return the claim with an id on a page; None if there is none."""
        page = self.pages.get(docname, Page(""))
        return next((claim for claim in page.claims if claim.id == claim_id), None)

    def clear_doc(self, docname: str) -> None:
        """Forget a page."""
        for kind in PER_PAGE:
            self.data[kind].pop(docname, None)

    def process_doc(self, env: BuildEnvironment, docname: str, document: nodes.document) -> None:
        """Note to which claims and pages a page links."""
        links = list(document.findall(pending_xref))
        claims = (to for to in links if to.get("refdomain") == self.name)
        self.linked[docname] = sorted({link["reftarget"] for link in claims})
        others = (to for to in links if to.get("refdomain") != self.name)
        known = env.found_docs
        found = (to["reftarget"] if to.get("refdomain") == "doc" else "" for to in others)
        self.mentions[docname] = sorted({name for name in found if name in {"", *known}})

    def merge_domaindata(self, docnames: AbstractSet[str], otherdata: dict[str, Any]) -> None:
        """Merge the pages that another process has read."""
        for docname in docnames:
            for kind in PER_PAGE:
                if docname in otherdata[kind]:
                    self.data[kind][docname] = otherdata[kind][docname]

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
        title = first_sentence(claim.statement)
        if not node.get("refexplicit"):
            contnode = nodes.inline("", "", *render.inline(title.rstrip(".")))
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
    message = f"no claim has the id {name!r}{near(name, domain.places) or '; was it renamed?'}"
    warn(node, message, "claim", kind="ref")
    return True


def claim_domain(env: BuildEnvironment) -> ClaimDomain:
    """Return the claim domain of an environment."""
    domain = env.get_domain(ClaimDomain.name)
    assert isinstance(domain, ClaimDomain)
    return domain
