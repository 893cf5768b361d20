"""The directives of pages: `claim`, `remark`, `asked` and those of `views`."""

from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from claimbook.exports.data import anchor
from claimbook.pages.myst import RemarkSyntax
from claimbook.sphinx import elements
from claimbook.sphinx.card import card, named
from claimbook.sphinx.domain import Placed, claim_domain


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
        shown = card(claim, body, self.env.docname)
        self.set_source_info(shown)
        self.state.document.note_explicit_target(named(shown))
        return [shown]


class RemarkDirective(RemarkSyntax, SphinxDirective):
    """Shows what the book says of entries that no program can decide."""

    def run(self) -> list[nodes.Node]:
        """Return the reason, with the entries it speaks of beneath."""
        body = nodes.container(classes=["remark"])
        body += nodes.paragraph("", "No program can decide this", classes=["claim-title"])
        self.state.nested_parse(self.content, self.content_offset, body)
        body += elements.place(what="remark", entries=list(self.arguments))
        return [body]


class AskedDirective(SphinxDirective):
    """Holds how people ask for what a section says, a line each; the search reads it."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return nothing to show."""
        return []


class ViewDirective(SphinxDirective):
    """Shows something of the whole book; its own name says what."""

    def run(self) -> list[nodes.Node]:
        """Return a place for it."""
        lines = tuple(line.strip() for line in self.content if line.strip())
        placed = Placed(self.name, lines, self.lineno, "".join(self.arguments))
        views = claim_domain(self.env).views.setdefault(self.env.docname, [])
        views.append(placed)
        return [elements.place(what="view", page=self.env.docname, number=len(views) - 1)]


class GuideDirective(ViewDirective):
    """Leads to pages, or to sections as `page#section`, a line each; its own name says how.

    Without a line it leads to the pages of its own page's contents. A route has a title, by which
    those know it who follow it. After a question's section may stand the entry to be judged.
    """

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
