"""The directives `claim`, `remark` and `asked`, and those of `views`."""

from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from claimbook.model import anchor
from claimbook.sphinx import elements
from claimbook.sphinx.card.form import card, named
from claimbook.sphinx.domain import Placed, claim_domain


class AnyOption(dict[str, Any]):
    """Accepts any option: the page scan reports unknown ones, with their line."""

    def __missing__(self, key: str) -> Any:
        return directives.unchanged


class ClaimDirective(SphinxDirective):
    """Shows a claim, as read by the page scan."""

    optional_arguments = 1  # the page scan reports a missing id
    final_argument_whitespace = True
    has_content = True
    option_spec = AnyOption(lanes=directives.unchanged)

    def run(self) -> list[nodes.Node]:
        """Return the claim's card; empty if the scan could not read it, or its id is taken."""
        domain = claim_domain(self.env)
        if not domain.pages[self.env.docname].scanned.path:
            raise self.error("a claim must be on a Markdown page; this one would never run")
        claim = domain.claim_on(self.env.docname, "".join(self.arguments))
        if claim is None and not domain.pages[self.env.docname].scanned.problems:
            raise self.error("a claim must be a fence of its own; this one would never run")
        if claim is None or anchor(claim.id) in self.state.document.ids:
            return []
        body = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, body)
        shown = card(claim, body, self.env.docname)
        self.set_source_info(shown)
        self.state.document.note_explicit_target(named(shown))
        return [shown]


class RemarkDirective(SphinxDirective):
    """Shows a remark on entries that no program can decide."""

    optional_arguments = 1  # the page scan reports missing entries
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the reason, with a placeholder for the entries below."""
        body = nodes.container(classes=["remark"])
        body += nodes.paragraph("", "No program can decide this", classes=["claim-title"])
        self.state.nested_parse(self.content, self.content_offset, body)
        body += elements.place(what="remark", entries="".join(self.arguments).split())
        return [body]


class AskedDirective(SphinxDirective):
    """Holds questions in people's own words, one per line, for the search."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return nothing."""
        return []


class ViewDirective(SphinxDirective):
    """Shows a view of the whole book, named by the directive.

    A guide lists pages, or sections as `page#section`, one per line; without lines, the pages of
    its own page's contents. A route has a title, which is shown to readers who follow it. In
    `questions`, an entry to be judged may follow a section.
    """

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return a placeholder."""
        page = self.env.docname
        lines = tuple(line.strip() for line in self.content if line.strip())
        views = claim_domain(self.env).pages[page].views
        views.append(Placed(page, self.name, lines, self.lineno, "".join(self.arguments)))
        return [elements.place(what="view", page=page, number=len(views) - 1)]
