"""The directives `remark`, `ledger` and `counts`; `claim` stands with its domain."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from claimbook.parser import RemarkSyntax
from claimbook.sphinx import nodes as places
from claimbook.sphinx.domain import claim_domain


class RemarkDirective(SphinxDirective):
    """Shows what the book says of entries that no program can decide."""

    required_arguments = RemarkSyntax.required_arguments
    optional_arguments = RemarkSyntax.optional_arguments
    has_content = True

    def run(self) -> list[nodes.Node]:
        """The reason, with the entries it speaks of beneath."""
        body = nodes.container(classes=["remark"])
        body += nodes.paragraph("", "No program can decide this", classes=["claim-title"])
        self.state.nested_parse(self.content, self.content_offset, body)
        body += places.claim_status(remark=list(self.arguments))
        return [body]


class _TotalsDirective(SphinxDirective):
    """A page that shows something of the whole book."""

    kind: str
    place: type[nodes.Element]

    def run(self) -> list[nodes.Node]:
        claim_domain(self.env).totals[self.env.docname] = self.kind
        return [self.place()]


class LedgerDirective(_TotalsDirective):
    """Every entry against its claims and their status."""

    kind = "ledger"
    place = places.claim_ledger


class CountsDirective(_TotalsDirective):
    """How far the book has come."""

    kind = "counts"
    place = places.claim_counts
