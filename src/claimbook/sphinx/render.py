"""Build the parts of cards and views as docutils nodes: words, links, code, outputs, tables."""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path

from docutils import nodes

from claimbook.checking.compare import HEADER, mismatches
from claimbook.checking.report import PICTURES
from claimbook.model import Claim, Lane, Measurement, anchor
from claimbook.pages.text import curly
from claimbook.sphinx import elements

WORDING: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("wording.toml").read_text("utf-8")
)
"""Group → value → its wording for readers."""
VERDICT_WORDS, STATUS_WORDS = WORDING["verdicts"], WORDING["status"]
LANE_NAMES = WORDING["lanes"]


def link(page: str, place: str, content: nodes.Node | str) -> elements.link:
    """Link content to a place on a page; without a page, it will stay as it is."""
    shown = content if isinstance(content, nodes.Node) else nodes.inline("", content)
    return elements.link("", "", shown, page=page, place=place)


def claim_link(page: str, name: str, content: nodes.Node | str) -> elements.link:
    """Link content to a claim."""
    return link(page, anchor(name), content)


def ledger_link(place: str, content: nodes.Node | str) -> elements.link:
    """Link content to a place in the ledger, if there is one."""
    made = link("", place, content)
    made["view"] = "ledger"
    return made


def entry_link(name: str) -> elements.link:
    """Link an entry's id to its row of the ledger."""
    return ledger_link(f"entry-{name}", name)


def differing(
    title: str, claim: Claim, lane: Lane, outputs: Iterable[str], message: str
) -> elements.fold:
    """Fold what a run printed that differs from the page, and why it ended early."""
    shown = fold(title, "claim-fold")
    for mismatch in mismatches(claim, lane, tuple(outputs)):
        shown += code(mismatch.example.source)
        shown += output(mismatch.got, "", "differs")
    if message:
        shown += nodes.paragraph("", message)
    return shown


def code(source: str) -> nodes.container:
    """Return code without prompts."""
    return nodes.container("", block(source, "python"), classes=["claim-code"])


LINE = 98
"""Characters of a line that fit in a card; longer ones wrap."""


def output(text: str, label: str = "", *classes: str) -> nodes.container:
    """Return the output of code in a box; a label says where it is from, or what it is."""
    is_error = text.startswith(HEADER) or f"\n{HEADER}" in text
    lines = text.rstrip("\n").split("\n")
    wraps = is_error or "Warning: " in text or len(lines) == 1 or max(map(len, lines)) > LINE
    kinds = ["claim-error"] * is_error + ["claim-message"] * wraps
    # Without a label, it has one for screen readers.
    said = nodes.paragraph(
        "", label or "Output", classes=["claim-lane" if label else "claim-unseen"]
    )
    shown = block(text.translate(PICTURES) or "(nothing)", "text")
    return nodes.container("", said, shown, classes=["claim-output", *kinds, *classes])


def block(text: str, language: str) -> nodes.literal_block:
    """Return a highlighted block of text."""
    text = text.rstrip("\n")
    return nodes.literal_block(text, text, language=language)  # equal, or not highlighted


def verdicts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return a line that counts a claim's verdicts on statements of the sources.

    >>> verdicts([("corrects", "basics-01.1"), ("confirms", "basics-01.2")])
    'Sources: 1 wrong, 1 right'
    """
    counted = Counter(VERDICT_WORDS[word] for word, _ in pairs).items()
    return "Sources: " + ", ".join(f"{count} {word}" for word, count in counted)


def verdict(word: str) -> nodes.inline:
    """Return the wording of a verdict, in its colour."""
    return nodes.inline("", VERDICT_WORDS[word], classes=[f"relation-{word}"])


def badge(name: str, status: str, words: str) -> nodes.inline:
    """Return a badge with the status of a claim on a lane or release."""
    text = [nodes.strong("", name), nodes.Text(f" {words}")]
    return nodes.inline("", "", *text, classes=["claim-badge", f"status-{status}"])


def figures(measurements: Iterable[Measurement]) -> str:
    """Return measurements as text, in order; consecutive ones of the same name are joined.

    >>> name = "-x took … times as long as x"
    >>> figures([Measurement(name, 0.98765, "ratio"), Measurement(name, 22346, "ratio")])
    '-x took 0.99, 22,000 times as long as x'
    >>> figures([Measurement("work", 999_600, "bytes")])
    '1 MB'
    """
    groups = groupby(measurements, key=lambda measurement: measurement.name)
    parts = ((name, ", ".join(map(_figure, group))) for name, group in groups)
    texts = [(name if "…" in name else f"{name} …").replace("…", said) for name, said in parts]
    return ", ".join(text.removeprefix("work ") for text in texts)


def _figure(measurement: Measurement) -> str:
    value = measurement.value
    if measurement.unit != "bytes":
        return f"{float(f'{value:.2g}'):,.15g}"
    power = min(3, int(f"{value:.2e}".partition("e")[2]) // 3)  # computed on the rounded number
    return f"{value / 1000**power:.3g} {('bytes', 'kB', 'MB', 'GB')[power]}"


def sources(pairs: Iterable[tuple[str, str]], said: dict[str, str]) -> Iterator[nodes.Node]:
    """Yield a paragraph for each entry: verdict, id and statement.

    Args:
        pairs: (relation word, entry id).
        said: entry id → its statement, if it is in the register.
    """
    for word, entry in pairs:
        name = [nodes.Text(" "), entry_link(entry), nodes.Text(": ")]
        yield nodes.paragraph("", "", verdict(word), *name, *inline(said.get(entry, "")))


def fold(title: str, kind: str, *content: nodes.Node) -> elements.fold:
    """Fold content below a title with inline Markdown; the kinds are classes of CSS."""
    headline = elements.headline("", "", *inline(title))
    return elements.fold("", headline, *content, classes=kind.split())


def inline(text: str) -> Iterator[nodes.Node]:
    """Parse the inline Markdown used in statements: code and emphasis; quotes become curly."""
    for piece in re.findall(r"`+[^`]+`+|\*[^*\s][^*]*\*|[^`*]+|.", curly(text)):
        if piece.startswith("`"):
            yield nodes.literal("", piece.strip("`"))
        elif len(piece) > 1 and piece.startswith("*"):
            yield nodes.emphasis("", piece.strip("*"))
        else:
            yield nodes.Text(piece)


def title_link(claim: Claim) -> nodes.Node:
    """Return the first sentence of a claim, linked to its card."""
    title = nodes.inline("", "", *inline(claim.title))
    return claim_link(claim.docname, claim.id, title)


def title_list(claims: Iterable[Claim], *classes: str) -> nodes.bullet_list:
    """Return a list of claims by title, each linked to its card."""
    return bullets(map(title_link, claims), *classes)


def bullets(lines: Iterable[nodes.Node], *classes: str) -> nodes.bullet_list:
    """Return a list with a paragraph for each line."""
    items = (nodes.list_item("", nodes.paragraph("", "", line)) for line in lines)
    return nodes.bullet_list("", *items, classes=[*classes])


def section(name: str, title: nodes.Node, *content: nodes.Node) -> nodes.section:
    """Return a section with a name as id."""
    return nodes.section("", nodes.title("", "", title), *content, ids=[name])


Cells = tuple[list[nodes.Node], ...]
"""The cells of a table's row."""


def table(head: list[str], rows: Iterable[Cells], widths: list[int]) -> nodes.table:
    """Return a table with a header row; widths are in percent."""
    group = nodes.tgroup(cols=len(widths))
    group += [nodes.colspec(colwidth=width) for width in widths]
    group += nodes.thead("", _row(plain(*head)))
    group += nodes.tbody("", *(_row(cells) for cells in rows))
    return nodes.table("", group, classes=["colwidths-given"])


def scrollable(table: nodes.table) -> nodes.container:
    """Make a table scrollable on small screens, as Furo does for tables not made by views."""
    return nodes.container("", table, classes=["table-wrapper"])


def plain(*each: str) -> Cells:
    """Return a row of plain-text cells."""
    return tuple([nodes.Text(text)] for text in each)


def _row(cells: Iterable[list[nodes.Node]]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells))
