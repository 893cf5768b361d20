"""Pages for builders that write no HTML: text, man pages, LaTeX, Texinfo."""

from docutils import nodes


def simplify(doctree: nodes.document) -> None:
    """Puts nodes that every builder knows in place of ours; says what a style sheet would show."""
    for node in list(doctree.findall(nodes.Element)):
        classes = node.get("classes", ())
        if node.tagname == "fold":
            node.replace_self([nodes.paragraph("", f"{node['title']}:"), *node.children])
        elif node.tagname == "claim_title":
            node.replace_self(nodes.paragraph("", "", nodes.strong("", "", *node.children)))
        elif node.tagname == "detail":
            node.replace_self(node.children)
        elif node.tagname == "shares" or "claim-prelude" in classes:
            node.parent.remove(node)
        elif "claim-badges" in classes:
            node[:] = [part for badge in node for part in (nodes.Text(" | "), badge)][1:]
