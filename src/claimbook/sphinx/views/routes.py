"""The directive `route`: pages in the order in which to read them, and the minutes they take."""

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from claimbook.sphinx import nodes as places
from claimbook.sphinx.domain import claim_domain

WORDS_A_MINUTE = 200
"""How fast prose and code are read, in words between blanks."""


def connect(app: Sphinx) -> None:
    """A page is read anew when it changes; those that lead to it only if its minutes do."""
    app.add_directive("route", RouteDirective)
    app.add_node(places.minutes)
    app.connect("source-read", _time)
    app.connect("env-updated", _changed)
    app.connect("doctree-resolved", _fill_in)


class RouteDirective(SphinxDirective):
    """Pages in the order in which to read them, each with the minutes that it takes."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """A numbered list; each line of the content is the name of a page."""
        claim_domain(self.env).routes.setdefault(self.env.docname, []).extend(self.content)
        return [nodes.enumerated_list("", *map(self._stop, self.content), enumtype="arabic")]

    def _stop(self, name: str) -> nodes.list_item:
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
        return nodes.list_item("", nodes.paragraph("", "", link, places.minutes(page=name)))


def _time(app: Sphinx, docname: str, source: list[str]) -> None:
    words = len(source[0].split())
    claim_domain(app.env).minutes[docname] = max(1, round(words / WORDS_A_MINUTE))


def _changed(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The pages whose routes say other titles or minutes than in the last build."""
    domain = claim_domain(env)
    said = {
        docname: [
            (env.titles[name].astext(), domain.minutes[name])
            for name in route
            if name in env.titles
        ]
        for docname, route in domain.routes.items()
    }
    before, domain.data["routes_said"] = domain.data["routes_said"], said
    return sorted(docname for docname in said if said[docname] != before.get(docname))


def _fill_in(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    known = claim_domain(app.env).minutes
    for place in list(doctree.findall(places.minutes)):
        text = f" {known.get(place['page'], 1)} min"
        place.replace_self(nodes.inline("", text, classes=["minutes"]))
