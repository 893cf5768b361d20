"""Lay out a chapter when it is read: boxes for short answers and advice, and their order."""

import ast
import warnings
from contextlib import suppress

from docutils import nodes
from sphinx.application import Sphinx

from claimbook.pages.text import SHORT
from claimbook.sphinx import elements, render, tables
from claimbook.sphinx.domain import claim_domain
from claimbook.sphinx.elements import MORE_POINTS

PRACTICE = "In practice"
OPEN_POINTS = 3
"""Points of a long list under *In practice* that a phone shows unfolded."""
SUBSECTIONS = {
    "Often said, and wrong": "often-wrong",
    PRACTICE: "in-practice",
    "See also": "see-also",
}
"""Title of a standard subsection → its class."""


def connect(app: Sphinx) -> None:
    """Lay out each page after it is read."""
    app.connect("doctree-read", _lay_out)


def _lay_out(app: Sphinx, doctree: nodes.document) -> None:
    _mark_short_answers(doctree)
    for table in doctree.findall(nodes.table):
        tables.fit(table)
    _colour_code(doctree)
    for section in [*doctree.findall(nodes.section)]:
        title = section[0].astext()
        if title in SUBSECTIONS:
            section["classes"].append(SUBSECTIONS[title])
        if title == PRACTICE:
            _fold_points(section)
            _move_up(section)
    docname = app.env.docname
    if len(claim_domain(app.env).pages[docname].scanned.claims) > 1:
        _add_provenance(doctree, docname)


def _mark_short_answers(doctree: nodes.document) -> None:
    for paragraph in doctree.findall(nodes.paragraph):
        first = next((part for part in paragraph.children if part.astext()), None)
        if isinstance(first, nodes.strong) and first.astext() == SHORT.strip("*"):
            paragraph["classes"].append("short-answer")


def _colour_code(doctree: nodes.document) -> None:
    """Colour Python that nobody runs: a fence of `text`, as one of `python` would need an owner."""
    for block in doctree.findall(nodes.literal_block):
        if block.get("language") == "text" and not _has_class(block.parent, "claim-output"):
            # Python warns of escapes such as `"\d"`: they are for the reader, and may be meant.
            with suppress(SyntaxError), warnings.catch_warnings(action="ignore"):
                ast.parse(block.astext())
                block["language"] = "python"


def _fold_points(practice: nodes.section) -> None:
    """Fold the points of a long list after the first ones; only a narrow screen shows the fold."""
    for points in [part for part in practice if isinstance(part, nodes.bullet_list)]:
        if len(points) > OPEN_POINTS + 2:
            rest = nodes.bullet_list("", *points[OPEN_POINTS:], **points.attributes)
            points[OPEN_POINTS:] = []
            fold = render.fold(f"{len(rest)} more points", MORE_POINTS, rest)
            practice.insert(practice.index(points) + 1, fold)


def _move_up(practice: nodes.section) -> None:
    """Move *In practice* up to the short answer, before the examples."""
    section = practice.parent
    short = next((part for part in section if _has_class(part, "short-answer")), None)
    if short is not None:
        section.remove(practice)
        section.insert(section.index(short) + 1, practice)


def _add_provenance(doctree: nodes.document, docname: str) -> None:
    """Add a placeholder below the first paragraphs, where the tools of the page stand too."""
    if chapter := next(iter(doctree.findall(nodes.section)), None):
        place = next((n for n, part in enumerate(chapter) if _begins(part)), len(chapter) - 1)
        chapter.insert(place, elements.place(what="provenance", page=docname))


def _begins(part: nodes.Node) -> bool:
    plain = isinstance(part, nodes.title | nodes.paragraph | nodes.Invisible)
    return not plain or _has_class(part, "short-answer")


def _has_class(part: nodes.Node, name: str) -> bool:
    return isinstance(part, nodes.Element) and name in part["classes"]
