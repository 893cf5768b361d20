"""Change the HTML of pages: add their files and controls, and mend what others wrote."""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from claimbook.sphinx.controls import page_tools
from claimbook.sphinx.domain import claim_domain
from claimbook.sphinx.line_breaks import breakable, whole
from claimbook.sphinx.views import guides

MENDED = {
    "furo_navigation_tree": {
        'role="heading"': 'role="heading" aria-level="2"',  # screen readers need a level
    },
    "body": {
        r"(sphx-glr-thumbnail-title\">[^<]*\w)'(?=\w)": "\\1\u2019",  # its quotes are straight
        " id='sg-tag-list'": "",  # sphinx-gallery repeats this id
        r'<img(?= [^>]*class="lab-figure)': '<img loading="lazy"',  # one of four versions is seen
        ' tooltip="': ' title="',  # not an HTML attribute
        ' role="list" class="citation-list"': ' class="citation-list"',  # has no list items
        r'(<div class="table-wrapper[^>]*) id="[^"]*"': r"\1",  # furo repeats the table's id
    },
    "toc": {  # these subsections repeat in every section
        r'<li><a class="reference internal" href="[^"]*">'
        r"(In practice|Often said, and wrong|See also)</a></li>\n": "",
        r"<ul>\n</ul>\n": "",
    },
}
"""Part of a page → pattern of wrong HTML → its replacement."""


HEAD = re.compile(r'</h1>\n(?:<p(?: class="provenance")?>(?:(?!</p>).)*</p>\n)*', re.DOTALL)
"""The end of a page's title, the page's aim, and where it ran."""


def connect(app: Sphinx) -> None:
    """Change pages after the theme has added its parts, and their other forms are known."""
    app.connect("html-page-context", add_files)
    app.connect("html-page-context", mend, priority=900)


def add_files(app: Sphinx, name: str, *_: object) -> None:
    """Add the scripts and styles that a page needs, beside those of all pages."""
    if app.builder.name != "html":
        return
    files = list[str]()
    page = claim_domain(app.env).pages.get(name)
    if page and any(view.kind == "practice" for view in page.views):
        files += ["practice.css", "practice.js"]
    if page and page.explorers:
        parts = [f"{each}{part}" for each in page.explorers for part in ("-rule", "")]
        files += ["explorers/explorers.css"]
        files += [f"explorers/{part}.js" for part in ("rule", "explorer", *parts)]
    if any(guides.routes(app.env)):
        files += [guides.ROUTES]
    for file in files:
        if file.endswith(".css"):
            app.add_css_file(file)
        else:
            app.add_js_file(file, loading_method="defer")


def mend(
    app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Fix the HTML of a page, and add its controls."""
    for part in MENDED.keys() & context.keys():
        for written, right in MENDED[part].items():
            context[part] = re.sub(written, right, context[part] or "")
    if app.builder.name == "html" and "body" in context:
        body = breakable(whole(context["body"]))
        if tools := page_tools(body, context.get("page_forms", ())) if doctree else "":
            above, overview, below = body.partition('<div class="overview')
            if overview:
                body = f"{above}{tools}\n{overview}{below}"
            else:
                body = HEAD.sub(lambda head: f"{head[0]}{tools}\n", body, count=1)
        context["body"] = body
