"""The view `claim-index`: the claims of each page."""

from docutils import nodes

from claimbook.sphinx import render
from claimbook.sphinx.contents import parts
from claimbook.sphinx.controls import list_filter
from claimbook.sphinx.domain import ClaimDomain


def show(domain: ClaimDomain) -> list[nodes.Node]:
    """Return a section for each part with claims, with one for each page, in book order."""
    sections = list[nodes.Node]()
    count = 0
    for part in parts(domain.env):
        with_claims = [name for name in part.pages if domain.pages[name].scanned.claims]
        if with_claims:
            title = nodes.Text(part.title or "Other pages")
            pages = [_section(domain, name) for name in with_claims]
            sections.append(render.section(f"part-{nodes.make_id(part.title)}", title, *pages))
            count += sum(len(domain.pages[name].scanned.claims) for name in with_claims)
    return [list_filter(count), *sections]


def _section(domain: ClaimDomain, docname: str) -> nodes.section:
    heading = render.link(docname, "", domain.env.titles[docname].astext())
    listed = render.title_list(domain.pages[docname].scanned.claims, "claim-index")
    return render.section(f"page-{nodes.make_id(docname)}", heading, listed)
