"""The directives `remark` and those of `views`; `claim` stands with its domain."""

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from claimbook.pages.myst import RemarkSyntax
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


class AskedDirective(SphinxDirective):
    """Holds how people ask for what a section says, a line each; the search reads it."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return nothing to show."""
        return []


class ViewDirective(SphinxDirective):
    """Shows something of the whole book; its own name says what."""

    def run(self) -> list[nodes.Node]:
        """A place for it."""
        claim_domain(self.env).views.setdefault(self.env.docname, []).append(self.name)
        return [places.whole_book(kind=self.name)]
