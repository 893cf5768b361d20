"""Write pages as plain Markdown, for programs and for the prose of notebooks."""

import re
from typing import Any
from urllib.parse import urljoin

from docutils import nodes
from sphinx.builders import Builder
from sphinx_markdown_builder.translator import (
    MarkdownTranslator,
    pushing_context,
    pushing_status,
)

from claimbook.exports import figures


def markdown(builder: Builder, document: nodes.document, node: nodes.Node, page: str = "") -> str:
    """Return a part of a page as Markdown.

    Args:
        page: the base address of links; if empty, they stay relative.
    """
    writer = Writer(document, builder, page)
    node.walkabout(writer)
    return str(writer.astext()).strip() + "\n"


def has(node: nodes.Node, kind: str) -> bool:
    """Return whether a node is an element of a class."""
    return isinstance(node, nodes.Element) and kind in node.get("classes", ())


class Writer(MarkdownTranslator):  # type: ignore[misc]
    """Extends the library's translator with claims, drawn figures and the site's addresses."""

    def __init__(self, document: nodes.document, builder: Builder, page: str) -> None:
        super().__init__(document, builder)
        self._site: Any = builder
        self._page = page

    def visit_container(self, node: nodes.Element) -> None:
        if has(node, "claim-prelude"):
            raise nodes.SkipNode
        if has(node, "claim-output"):
            self.add("Output:", prefix_eol=2, suffix_eol=1)

    def visit_note(self, node: nodes.Element) -> None:
        if has(node, "sphx-glr-download-link-note"):
            raise nodes.SkipNode
        super().visit_note(node)

    @pushing_context  # type: ignore[untyped-decorator]
    def visit_paragraph(self, node: nodes.Element) -> None:
        if has(node, "claim-unseen"):
            raise nodes.SkipNode
        super().visit_paragraph(node)

    def visit_headline(self, node: nodes.Element) -> None:
        if has(node.parent, "more-points"):
            raise nodes.SkipNode
        self.ensure_eol(2)
        self.add("**" if "anchor" in node else "")

    def depart_headline(self, node: nodes.Element) -> None:
        if "anchor" in node:
            self.add("**")
        elif not node.astext().endswith((".", "?")):
            self.add(":")
        self.ensure_eol(2)

    def visit_inline(self, node: nodes.Element) -> None:
        if has(node, "column"):  # the name before each cell, for phones
            raise nodes.SkipNode
        if has(node.parent, "claim-badges") and node.parent.index(node):
            self.add(" | ")

    @pushing_context  # type: ignore[untyped-decorator]
    @pushing_status  # type: ignore[untyped-decorator]
    def visit_title(self, node: nodes.Element) -> None:
        level = 0
        above = node.parent
        while above is not None:
            level += isinstance(above, nodes.section)
            above = above.parent
        self._push_status(section_level=max(1, level))
        super().visit_title(node)

    def visit_literal(self, node: nodes.Element) -> None:
        text = node.astext()
        fence = "`" * (_longest_run(text) + 1)
        edge = " " * (text.startswith("`") or text.endswith("`"))
        self.add(f"{fence}{edge}{text}{edge}{fence}")
        raise nodes.SkipNode

    def visit_literal_block(self, node: nodes.Element) -> None:
        text = node.astext().removesuffix("\n")
        fence = "`" * max(3, _longest_run(text) + 1)
        language = node.get("language") or node.get("lang", "")
        self.add(f"{fence}{language.lower()}\n{text}\n{fence}", 2, 2)
        raise nodes.SkipNode

    visit_code_links_block = visit_literal_block
    """The code of a lab, in which names are links."""

    def visit_target(self, node: nodes.Element) -> None:
        raise nodes.SkipNode

    visit_comment = visit_target

    def visit_raw(self, node: nodes.Element) -> None:
        for figure in figures.FIGURE.findall(node.astext()):
            lines = "".join(f"- {line}\n" for line in figures.details(figure))
            self.add(f"*Figure: {figures.label(figure)}*\n\n{lines}", 2, 2)
        raise nodes.SkipNode

    def visit_image(self, node: nodes.Element) -> None:
        name = self._site.images.get(node["uri"])
        address = f"{self._site.imgpath}/{name}" if name else node["uri"]
        self.add(f"![{node.get('alt', '')}]({urljoin(self._page, address)})", 2, 2)
        raise nodes.SkipNode

    def visit_download_reference(self, node: nodes.Element) -> None:
        name = node.get("filename")
        address = f"{self._site.dlpath}/{name}" if name else node.get("reftarget", "")
        self.add(f"[{node.astext()}]({urljoin(self._page, address)})")
        raise nodes.SkipNode

    def _fetch_ref_uri(self, node: nodes.Element) -> str:
        address = node.get("refuri") or ""
        if "refid" in node:
            page = self._site.get_target_uri(self._site.current_docname)
            here = "" if self._page else page.rpartition("/")[2]
            address = f"{here}#{node['refid']}"
        return str(urljoin(self._page, address))

    def unknown_visit(self, node: nodes.Node) -> None:
        """Write only the content of a node without a Markdown form."""

    def unknown_departure(self, node: nodes.Node) -> None:
        """Do nothing."""


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)
