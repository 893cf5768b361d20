"""Nothing on a page is there on trust: a code cell may draw, but not print."""

from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx

from claimbook.sphinx.execute.lanes import warn


def connect(app: Sphinx) -> None:
    """Looks at every page after it was read."""
    app.connect("doctree-read", no_text_from_cells)


def no_text_from_cells(app: Sphinx, doctree: nodes.document) -> None:
    """A cell whose output is text is reported: nobody compares that text."""
    for cell in doctree.findall(nodes.container):
        if cell.get("nb_element") != "cell_code_output":
            continue
        for text in _texts(cell):
            place = f"{app.env.doc2path(app.env.docname)}:{_line(cell)}"
            first = text.strip().partition("\n")[0][:60]
            message = f"a code cell printed {first!r}, which nobody compares; state it as a claim"
            warn(place, message, "uncompared-output")


def _texts(cell: nodes.Element) -> Iterator[str]:
    """What was printed, and each result that has no form but text."""
    for output in cell.children:
        if isinstance(output, nodes.literal_block):
            yield output.astext()
        elif isinstance(output, nodes.Element) and output.get("nb_element") == "mime_bundle":
            kinds = {c["mime_type"] for c in output.children if isinstance(c, nodes.Element)}
            if kinds <= {"text/plain"}:
                yield output.astext()


def _line(node: nodes.Node) -> int:
    while node is not None:
        if node.line:
            return max(1, int(node.line) - 2)  # myst-nb names the line two below the fence's
        node = node.parent
    return 1
