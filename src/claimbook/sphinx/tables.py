"""Prepare tables for a phone: those too wide for it are shown row by row."""

from docutils import nodes

from claimbook.sphinx.line_breaks import unbreakable

WORDY, WORDY_WIDTH = 20, 13
"""Characters of a cell above which it keeps a width on a phone, and characters of this width."""
PHONE, BORDERS = 52, 2
"""Characters of a row on a phone, and those that a column's borders take."""


def fit(table: nodes.table) -> None:
    """Mark wordy cells; if the table is too wide, put the column's name before each cell."""
    names, *rows = ([*row.findall(nodes.entry)] for row in table.findall(nodes.row))
    for cell in (cell for row in rows for cell in row):
        if len(cell.astext()) > WORDY:
            cell["classes"].append("long")
    columns = zip(names, *rows, strict=False)  # spans are rare, and stay as they are
    width = sum(BORDERS + max(map(_least_width, column)) for column in columns)
    if width > PHONE and table.next_node(nodes.thead):
        table["classes"].append("by-row")
        for row in rows:
            for name, cell in zip(names[1:], row[1:], strict=False):
                text = cell.next_node(nodes.paragraph)
                if text and text.astext():
                    text.insert(0, nodes.inline("", f"{name.astext()}: ", classes=["column"]))


def _least_width(cell: nodes.entry) -> int:
    """Return the characters of the longest part of a cell that no line break can part."""
    parts = (part for text in cell.findall(nodes.Text) for part in unbreakable(text.astext()))
    return max([WORDY_WIDTH * ("long" in cell["classes"]), *map(len, parts)])
