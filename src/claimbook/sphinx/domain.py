"""The domain `claim`: what each page says, as plain data, and how to refer to it."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from docutils import nodes
from docutils.nodes import Element
from docutils.parsers.rst import directives
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.domains import Domain, ObjType
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import make_refnode

from claimbook.exports.data import anchor
from claimbook.exports.prose import Sentence
from claimbook.exports.sections import Section
from claimbook.model import Claim, Page, Remark
from claimbook.pages.book import Project
from claimbook.pages.register import Answer, Register, answers
from claimbook.pages.text import first_sentence, near
from claimbook.records.book_runs import BookRun, CudaReleases, Machines, Releases
from claimbook.records.versions import Contents, Version, Versions, contents_of
from claimbook.sphinx import render

logger = logging.getLogger(__name__)


def tell_broken(place: str, why: str) -> None:
    """Warn of a file under `docs/records/`, or a line of one, that cannot be used."""
    message = f"{why}; it counts as missing"
    logger.warning(message, location=place, type="claim", subtype="broken-record")


class AnyOption(dict[str, Any]):
    """Accepts every option: the page scan reports unknown ones, once and with their line."""

    def __missing__(self, key: str) -> Any:
        return directives.unchanged


class ClaimDirective(SphinxDirective):
    """Shows a claim that the page scan has read."""

    optional_arguments = 1  # the page scan reports one that has no id
    final_argument_whitespace = True
    has_content = True
    option_spec = AnyOption(lanes=directives.unchanged)

    def run(self) -> list[nodes.Node]:
        """Return the claim as a card; nothing if the scan could not read it, or its id is taken."""
        domain = claim_domain(self.env)
        if self.env.docname not in domain.pages:
            raise self.error("claims stand on Markdown pages; this one would never run")
        claim = domain.claim_on(self.env.docname, "".join(self.arguments))
        if claim is None or anchor(claim.id) in self.state.document.ids:
            return []
        body = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, body)
        card = render.card(claim, body, self.env.docname)
        self.set_source_info(card)
        self.state.document.note_explicit_target(render.named(card))
        return [card]


class Placed(NamedTuple):
    """A view as a page asks for it."""

    kind: str
    lines: tuple[str, ...]
    """The pages or sections to which it leads, as its directive names them."""
    line: int
    """Where its directive stands."""
    title: str


class ClaimRole(XRefRole):
    """Refers to a claim by its id; shows its first sentence, or the title that is given."""

    def process_link(
        self,
        env: BuildEnvironment,
        refnode: Element,
        has_explicit_title: bool,
        title: str,
        target: str,
    ) -> tuple[str, str]:
        """Look in this domain, although the role's name has no domain in it."""
        refnode["refdomain"] = ClaimDomain.name
        self.innernodeclass = nodes.inline
        return title, target


PER_PAGE = (
    *("texts", "pages", "sections", "sentences", "apis", "linked", "mentions"),
    *("views", "cells", "minutes"),
)
"""What is kept of each page, by its docname."""
OF_LAST_BUILD = (
    *("shown", "elsewhere", "falsified", "swept", "drawn"),  # by claim
    *("drawings", "viewed", "named"),  # by docname: pictures, what its views show, what it names
    "seen",  # by docname: the headings of pages into which it links; "" of the contents
    "environments",  # by lane, where it ran
)
"""What pages showed in the last build, to tell which of them show something else in this one."""


def _kept(name: str) -> Any:
    """Return what the domain keeps under that name, as an attribute."""
    return property(lambda domain: domain.data[name])


def _on_record(kind: Any) -> Any:
    """Return what is kept under `docs/records/` of a kind, as an attribute that is read once."""
    return cached_property(lambda domain: kind.of(Path(domain.env.srcdir)).load_all(tell_broken))


class ClaimDomain(Domain):
    """Holds the scan of every page."""

    name = "claim"
    label = "Claims"
    object_types: ClassVar[dict[str, ObjType]] = {"claim": ObjType("claim", "claim")}
    roles: ClassVar[dict[str, Any]] = {"claim": ClaimRole(warn_dangling=True)}
    initial_data: ClassVar[dict[str, Any]] = {name: {} for name in (*PER_PAGE, *OF_LAST_BUILD)}

    texts: dict[str, str] = _kept("texts")
    """Docname → the digest of its file as it was read."""
    pages: dict[str, Page] = _kept("pages")
    """Docname → what the page scan found there."""
    sections: dict[str, list[Section]] = _kept("sections")
    """Docname → the sections of that page."""
    sentences: dict[str, list[Sentence]] = _kept("sentences")
    """Docname → the sentences of that page."""
    views: dict[str, list[Placed]] = _kept("views")
    """Docname → what that page shows of others."""
    apis: dict[str, dict[str, list[str]]] = _kept("apis")
    """Docname → claim id → which of torch's names its code may use."""
    linked: dict[str, list[str]] = _kept("linked")
    """Docname → the claims to which it links."""
    cells: dict[str, list[tuple[str, str, int]]] = _kept("cells")
    """Docname → its cells: what each does, the expression that draws, its line of the page."""
    minutes: dict[str, int] = _kept("minutes")
    """Docname → how many minutes it takes to read."""
    shown: dict[str, dict[str, Any]] = _kept("shown")
    """Claim id → lane → what the lane said of it in this build."""
    falsified: dict[str, dict[str, Any] | None] = _kept("falsified")
    """Claim id → what became of its mutants."""
    swept: dict[str, dict[str, Any] | None] = _kept("swept")
    """Claim id → what the search for a counterexample came to, if there was one."""

    @cached_property
    def register(self) -> Register:
        """Every entry of the sources."""
        return Project.find(Path(self.env.srcdir)).register()

    releases: list[BookRun] = _on_record(Releases)
    """The releases of torch on which the book was run, from the oldest on."""
    cuda_releases: list[BookRun] = _on_record(CudaReleases)
    """The releases of torch on which the book was run on a GPU, from the oldest on."""
    machines: list[BookRun] = _on_record(Machines)
    """The reference machines on which the book was run."""
    versions: list[Version] = _on_record(Versions)
    """What the versions of the book said, from the oldest on."""

    def contents(self) -> Contents:
        """Return what the book says as it stands."""
        return contents_of(self.claims(), self.answers())

    def answers(self) -> dict[str, Answer]:
        """Return what the book says of each entry, by its id."""
        return answers(self.register, self.claims(), self.remarks())

    def page_with(self, view: str) -> str:
        """Return the docname of the page that shows this of the whole book; empty without one."""
        kinds = ((name, each.kind) for name, views in self.views.items() for each in views)
        return next((name for name, kind in kinds if kind == view), "")

    def changed(self, what: str, now: dict[str, Any]) -> list[str]:
        """Keep what is shown by each name; return the names that showed something else before."""
        before, self.data[what] = self.data[what], now
        return [name for name in now if before.get(name) != now[name]]

    def drawn(self) -> dict[str, list[tuple[str, str]]]:
        """Return the labs that refer to each claim, by its id: (docname, title)."""
        found: dict[str, list[tuple[str, str]]] = {claim.id: [] for claim in self.claims()}
        for docname in sorted(self.linked.keys() - self.pages.keys()):
            for claim_id in self.linked[docname]:
                if claim_id in found:
                    found[claim_id].append((docname, self.env.titles[docname].astext()))
        return found

    def said(self, entries: Iterable[str]) -> dict[str, str]:
        """Return each of these entries with its statement; those that the register has."""
        known = self.register.entries
        return {entry: known[entry].statement for entry in entries if entry in known}

    def located(self) -> Iterator[tuple[str, Claim]]:
        """Yield every claim with the docname of its page, in order of page."""
        for docname in sorted(self.pages):
            for claim in self.pages[docname].claims:
                yield docname, claim

    def places(self) -> dict[str, str]:
        """Return the docname of each claim's page, by the claim's id."""
        return {claim.id: docname for docname, claim in self.located()}

    def claims(self) -> list[Claim]:
        """Return all claims, in order of page."""
        return [claim for _, claim in self.located()]

    def remarks(self) -> list[Remark]:
        """Return all remarks, in order of page."""
        return [remark for name in sorted(self.pages) for remark in self.pages[name].remarks]

    def claim_on(self, docname: str, claim_id: str) -> Claim | None:
        """Return the claim of that id on a page."""
        page = self.pages.get(docname, Page(""))
        return next((claim for claim in page.claims if claim.id == claim_id), None)

    def clear_doc(self, docname: str) -> None:
        """Forget a page."""
        for kind in PER_PAGE:
            self.data[kind].pop(docname, None)

    def process_doc(self, env: BuildEnvironment, docname: str, document: nodes.document) -> None:
        """Keep to which claims and pages a page links, so that it follows them."""
        links = list(document.findall(pending_xref))
        claims = (to for to in links if to.get("refdomain") == self.name)
        self.linked[docname] = sorted({link["reftarget"] for link in claims})
        others = (to for to in links if to.get("refdomain") != self.name)
        known = env.found_docs
        found = (to["reftarget"] if to.get("refdomain") == "doc" else "" for to in others)
        self.data["mentions"][docname] = sorted({name for name in found if name in {"", *known}})

    def merge_domaindata(self, docnames: AbstractSet[str], otherdata: dict[str, Any]) -> None:
        """Take over the pages that another process has read."""
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
        """Return a link to the claim of that id."""
        for docname, claim in self.located():
            if claim.id == target:
                title = first_sentence(claim.statement)
                if not node.get("refexplicit"):
                    contnode = nodes.inline("", "", *render.inline(title.rstrip(".")))
                tip = claim.statement.replace("`", "")  # which knows no Markdown
                return make_refnode(builder, fromdocname, docname, anchor(target), contnode, tip)
        return None

    def resolve_any_xref(
        self,
        env: BuildEnvironment,
        fromdocname: str,
        builder: Builder,
        target: str,
        node: pending_xref,
        contnode: Element,
    ) -> list[tuple[str, nodes.reference]]:
        """Return the same for the role `any`."""
        found = self.resolve_xref(env, fromdocname, builder, "claim", target, node, contnode)
        return [("claim:claim", found)] if found is not None else []

    def get_objects(self) -> Iterator[tuple[str, str, str, str, str, int]]:
        """Yield every claim, for the search and for other projects' intersphinx."""
        for docname, claim in self.located():
            yield claim.id, claim.id, "claim", docname, anchor(claim.id), 1


def tell_missing(app: Sphinx, domain: Domain | None, node: pending_xref) -> bool | None:
    """Warn of a link to a claim that is not there, with those that may be meant."""
    if not isinstance(domain, ClaimDomain):
        return None
    name = node["reftarget"]
    message = f"no claim is called {name!r}{near(name, domain.places()) or '; was it renamed?'}"
    logger.warning(message, location=node, type="ref", subtype="claim")
    return True


def claim_domain(env: BuildEnvironment) -> ClaimDomain:
    """Return this domain, with its type."""
    domain = env.get_domain(ClaimDomain.name)
    assert isinstance(domain, ClaimDomain)
    return domain
