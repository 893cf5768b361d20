"""The directives `remark`, `route` and those of `views`; `claim` stands with its domain."""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util.docutils import SphinxDirective

from claimbook.parser import RemarkSyntax
from claimbook.sphinx import nodes as places
from claimbook.sphinx.domain import claim_domain

WORDS_A_MINUTE = 200
"""How fast prose and code are read, in words between blanks."""


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


class RouteDirective(SphinxDirective):
    """Pages in the order in which to read them, each with the minutes that it takes."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """A numbered list; each line of the content is the name of a page."""
        return [nodes.enumerated_list("", *map(self._stop, self.content), enumtype="arabic")]

    def _stop(self, name: str) -> nodes.list_item:
        path = self.env.doc2path(name)
        self.env.note_dependency(str(path))
        words = len(Path(path).read_text("utf-8").split())
        link = addnodes.pending_xref(
            "",
            nodes.inline("", name),
            refdomain="std",
            reftype="doc",
            reftarget=f"/{name}",
            refdoc=self.env.docname,
            refexplicit=False,
            refwarn=True,
        )
        minutes = nodes.inline(
            "", f" {max(1, round(words / WORDS_A_MINUTE))} min", classes=["minutes"]
        )
        return nodes.list_item("", nodes.paragraph("", "", link, minutes))


class ViewDirective(SphinxDirective):
    """Shows something of the whole book; its own name says what."""

    def run(self) -> list[nodes.Node]:
        """A place for it."""
        claim_domain(self.env).views[self.env.docname] = self.name
        return [places.whole_book(kind=self.name)]
