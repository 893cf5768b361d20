"""Claims and badges as docutils nodes."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Any
from urllib.parse import urlencode

from docutils import nodes
from sphinx.addnodes import pending_xref

from claimbook.checking.compare import HEADER, compare, mismatches
from claimbook.checking.report import PICTURES
from claimbook.exports.data import anchor, spaced
from claimbook.model import (
    Claim,
    Example,
    Fence,
    Lane,
    Measurement,
    Outcome,
    RelationKind,
    Status,
)
from claimbook.pages.text import first_sentence
from claimbook.sphinx import nodes as places

WORDS = {
    RelationKind.CONFIRMS: "right",
    RelationKind.QUALIFIES: "right with a condition",
    RelationKind.CORRECTS: "wrong",
    RelationKind.UPDATES: "outdated",
    "remark": "no run can tell",
    "open": "still open",
}
"""What may become of an entry, and what a reader is told of its statement."""
LANE_NAMES = {Lane.CPU: "CPU", Lane.CUDA: "CUDA"}
STATUS_WORDS = {
    Status.CURRENT: "runs as printed",
    Status.STALE: "stale: changed since it was recorded",
    Status.MISSING: "not run yet",
    Status.FAILING: "prints something else",
    Status.VARIED: "came out otherwise on this machine",
}

ByLane = dict[str, dict[str, Any]]
"""Lane → what it says of a claim."""


@dataclass(frozen=True)
class Link:
    """How the page that is being written links to the rest of the book."""

    to: Callable[[str, str, nodes.Node], nodes.Node]
    """(docname, anchor, content) → a link."""
    ledger: str
    """The docname of the ledger; empty if there is none."""

    def claim(self, docname: str, name: str, text: nodes.Node | None = None) -> nodes.Node:
        """Link a claim's id, or the text in its place; only that where no page has the claim."""
        text = text or nodes.inline("", name)
        return self.to(docname, anchor(name), text) if docname else text

    def in_ledger(self, place: str, text: nodes.Node) -> nodes.Node:
        """Link a text to a place of the ledger; only the text where there is none."""
        return self.to(self.ledger, place, text) if self.ledger else text

    def entry(self, name: str) -> nodes.Node:
        """Link an entry's id to its row of the ledger."""
        return self.in_ledger(f"entry-{name}", nodes.inline("", name))


def card(claim: Claim, body: nodes.Element, page: str) -> nodes.Element:
    """Return a claim: title, prose, code with its outputs, and a place for its badges.

    Args:
        body: the parsed content of the directive; it is taken apart.
        page: its docname; a builder may put all pages into one.
    """
    title, rest = _title(body)
    name = anchor(claim.id)
    title["anchor"] = name
    whole = nodes.container("", ids=[name], names=[name], classes=["claim"])
    sessions, extra, shown = iter(claim.fences), 0, False
    for node in rest:
        if not (isinstance(node, nodes.literal_block) and node.get("language") == "pycon"):
            if shown and isinstance(node, nodes.Element):
                node["classes"].append("claim-shown")
            whole += node
        elif extra:
            extra -= 1
        elif fence := next(sessions, None):
            whole += session(fence, claim.code)
            extra, shown = fence.cuda_examples is not None, True
    whole += places.place(what="status", claim=claim.id, page=page)
    if not claim.detail:
        whole.insert(0, title)
        return whole
    for link in [*title.findall(pending_xref), *title.findall(nodes.reference)]:
        link.replace_self(link.children)
    whole["classes"] = ["claim-body"]
    return places.detail("", title, whole, classes=["claim", "detail"])


def named(card: nodes.Element) -> nodes.Element:
    """Return the part of a card that has the claim's id."""
    return next(part for part in card.findall(nodes.container) if part["names"])


def _title(body: nodes.Element) -> tuple[places.claim_title, list[nodes.Node]]:
    """Take the first sentence from a claim's first paragraph; return it, and what is left."""
    parts = list(body.children)
    if not (parts and isinstance(first := parts[0], nodes.paragraph)):
        return places.claim_title(), parts
    sentence, others = _first_sentence(first.children)
    paragraph = [nodes.paragraph("", "", *others)] if others else []
    return places.claim_title("", "", *sentence), [*paragraph, *parts[1:]]


def _first_sentence(parts: list[nodes.Node]) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Split the content of a paragraph where its first sentence ends."""
    texts = [part.astext() if isinstance(part, nodes.Text) else "`" for part in parts]
    length = len(first_sentence(" ".join("".join(texts).split("\n"))))
    for number, (part, text) in enumerate(zip(parts, texts, strict=True)):
        if length < len(text) or (length == len(text) and isinstance(part, nodes.Text)):
            head, tail = nodes.Text(text[:length]), nodes.Text(text[length:].lstrip())
            after = [tail] if tail.astext() else []
            return [*parts[:number], head], [*after, *parts[number + 1 :]]
        length -= len(text)
    return parts, []


def session(fence: Fence, source: str) -> nodes.container:
    """Return a fence: code without prompts, each output in a box of its own beneath its code."""
    whole = nodes.container(classes=["claim-session"])
    cells = nodes.container(classes=["claim-cells"])
    cells += nodes.container("", _block(prelude(source), "python"), classes=["claim-prelude"])
    gathered = ""
    for example, on_cuda in zip_longest(fence.examples, fence.cuda_examples or ()):
        gathered += spaced(example.source)
        if example.want or (on_cuda and on_cuda.want):
            cells += code(gathered)
            for box in _outputs(example, on_cuda):
                box["line"] = example.line
                cells += box
            gathered = ""
    if gathered:
        cells += code(gathered)
    whole += cells
    return whole


def _outputs(example: Example, on_cuda: Example | None) -> Iterator[nodes.container]:
    if on_cuda is None or compare(example.want, on_cuda.want, Lane.CUDA) is None:
        yield output(example.want)
        return
    for lane, want in ((Lane.CPU, example.want), (Lane.CUDA, on_cuda.want)):
        box = output(want)
        box["classes"].append(f"on-{lane}")
        box[0] = nodes.paragraph("", f"on {LANE_NAMES[lane]}", classes=["claim-lane"])
        yield box


def show_run(card: nodes.Element, claim: Claim, lanes: ByLane) -> None:
    """Put what the run printed in place of what the page says, where these differ.

    An output that no current run has shown says so.
    """
    for box in list(card.findall(nodes.container)):
        if "claim-output" in box["classes"] and "line" in box:
            lane = _lane_of(box, lanes)
            data = lanes[lane]
            if data["outcome"] and data["status"] in (Status.FAILING, Status.VARIED):
                _show_got(box, claim, lane, data)
            elif data["status"] != Status.CURRENT:
                _mark_unproved(box, STATUS_WORDS[data["status"]])


def _lane_of(box: nodes.Element, lanes: ByLane) -> Lane:
    """Return the lane that an output stands for; where it stands for both, the CPU."""
    of_cuda = f"on-{Lane.CUDA}" in box["classes"] or Lane.CPU not in lanes
    return Lane.CUDA if of_cuda else Lane.CPU


def _show_got(box: nodes.Element, claim: Claim, lane: Lane, data: dict[str, Any]) -> None:
    lines = [example.line for fence in claim.fences for example in fence.examples]
    number = lines.index(box["line"])
    example, outputs = claim.examples(lane)[number], data["outputs"]
    if number >= len(outputs):
        _mark_unproved(box, "not reached in this run; the page says")
    elif compare(example.want, outputs[number], lane):
        got = _got(outputs[number])
        got[0] = nodes.paragraph("", f"printed on {data['device']}", classes=["claim-lane"])
        box.parent.insert(box.parent.index(box), got)
        _mark_unproved(box, "the page says")


def _mark_unproved(box: nodes.Element, words: str) -> None:
    box["classes"].append("unproved")
    label = next(box.findall(nodes.paragraph))
    if "claim-lane" in label["classes"]:
        label.append(nodes.Text(f", {words}"))
    else:
        box[0] = nodes.paragraph("", words, classes=["claim-lane"])


def differing(
    title: str, claim: Claim, lane: Lane, outputs: Iterable[str], message: str
) -> places.fold:
    """Fold what a run printed that is not on the page, and what cut it short."""
    fold = places.fold(title=title, classes=["claim-fold"])
    for mismatch in mismatches(claim, lane, tuple(outputs)):
        fold += code(mismatch.example.source)
        fold += _got(mismatch.got)
    if message:
        fold += nodes.paragraph("", message)
    return fold


def _got(text: str) -> nodes.container:
    """Return what a run printed where the page says something else."""
    box = output(text)
    box["classes"].append("differs")
    return box


def code(source: str) -> nodes.container:
    """Return code without prompts."""
    return nodes.container("", _block(source, "python"), classes=["claim-code"])


WIDE = 98
"""Characters of a line that fit into a card; what is longer wraps."""


def output(want: str) -> nodes.container:
    """Return what code prints, in a box of its own."""
    is_error = want.startswith(HEADER) or f"\n{HEADER}" in want
    classes = ["claim-output"]
    if is_error:
        classes.append("claim-error")
    if is_error or "Warning: " in want or max(map(len, want.split("\n"))) > WIDE:
        classes.append("claim-message")
    shown = want.translate(PICTURES) or "(nothing)"
    label = nodes.paragraph("", "Output", classes=["claim-unseen"])  # for those who hear the page
    return nodes.container("", label, _block(shown, "text"), classes=classes)


def _block(text: str, language: str) -> nodes.literal_block:
    text = text.rstrip("\n")
    return nodes.literal_block(text, text, language=language)  # unequal texts are not highlighted


DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'
PRELUDE = {
    "": "import torch",
    r"(?<!\.)\bnn\b": "from torch import nn",
    r"\bF\.": "import torch.nn.functional as F",
    r"(?ms)\A(?!.*^device =).*\bdevice\b(?!\s*=)": DEVICE,
    r"\bnn\.|rand|dropout|shuffle|multinomial|bernoulli": "_ = torch.manual_seed(0)",
    "num_workers": "from torch import multiprocessing as _mp\n"
    "_mp.set_start_method(min(_mp.get_all_start_methods()), force=True)  # fork, if there is one",
}
"""What code that matches wants to find. Unless forked, workers know nothing typed at a prompt."""


def prelude(code: str) -> str:
    """Return what a claim finds in its namespace, as code, so that what is copied runs.

    >>> prelude("x = x.to(device)").splitlines() == ["import torch", DEVICE]
    True
    >>> prelude("device = x.device; x = x.to(device)").splitlines()
    ['import torch']
    """
    return "".join(f"{line}\n" for sign, line in PRELUDE.items() if re.search(sign, code))


def badges(
    claim: Claim, lanes: ByLane, ran: Container[str], *others: nodes.Node
) -> nodes.paragraph:
    """Return where a claim is an exception on its page, and what one of a machine measured.

    Args:
        ran: the lanes on which any claim of the page ran.
        others: further badges.
    """
    line = nodes.paragraph(classes=["claim-badges"])
    if len(claim.lanes) == 1:
        line += nodes.inline("", f"{LANE_NAMES[claim.lanes[0]]} only")
    for lane, data in lanes.items():
        if data["status"] != Status.CURRENT and (data["status"] != Status.MISSING or lane in ran):
            line += badge(LANE_NAMES[Lane(lane)], data["status"], STATUS_WORDS[data["status"]])
    line += [*others]
    for lane, data in lanes.items() if claim.machine else ():
        if measured := figures(Measurement(**fields) for fields in data["measurements"]):
            text = f"measured on {LANE_NAMES[Lane(lane)]}: {measured}"
            line += nodes.inline("", text)
    return line


def verdicts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return what a claim says of statements of the sources, in a line.

    >>> verdicts([("corrects", "basics-01.1"), ("confirms", "basics-01.2")])
    'Sources: 1 wrong, 1 right'
    """
    counted = Counter(WORDS[word] for word, _ in pairs).items()
    return "Sources: " + ", ".join(f"{count} {word}" for word, count in counted)


def verdict(word: str) -> nodes.inline:
    """Return what becomes of an entry, in its colour."""
    return nodes.inline("", WORDS[word], classes=[f"relation-{word}"])


def badge(name: str, status: str, words: str) -> nodes.inline:
    """Return what holds of a claim in one place where it ran."""
    text = [nodes.strong("", name), nodes.Text(f" {words}")]
    return nodes.inline("", "", *text, classes=["claim-badge", f"status-{status}"])


def runs(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what a lane ran, first what speaks for it, then its other devices."""
    return [data, *data["others"]] if data["outcome"] else []


def failing(claim: Claim, lanes: ByLane) -> Iterator[nodes.Node]:
    """Yield what lanes printed on which the claim does not hold, if no output shows it."""
    for name, data in lanes.items():
        lane = Lane(name)
        if data["status"] not in (Status.FAILING, Status.VARIED):
            continue
        for run in runs(data):
            if run["outcome"] == Outcome.PASSED:
                continue
            title = f"On {LANE_NAMES[lane]} ({run['device']})"
            ended = run["outcome"] in (Outcome.FAILED, Outcome.VARIED)
            found = mismatches(claim, lane, tuple(run["outputs"]))
            shown = run is data and all(_is_shown(each.example, lane, lanes) for each in found)
            if not (ended and shown):
                message = "" if ended else run["message"]
                yield differing(title, claim, lane, run["outputs"], message)


def _is_shown(example: Example, lane: Lane, lanes: ByLane) -> bool:
    """Return whether the example has a box of its own that says what the lane printed."""
    return bool(example.want) and lane == next(iter(lanes))


def figures(measurements: Iterable[Measurement]) -> str:
    """Return what was measured, in order; a name that returns at once is said once.

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
    power = min(3, int(f"{value:.2e}".partition("e")[2]) // 3)  # of the rounded number
    return f"{value / 1000**power:.3g} {('bytes', 'kB', 'MB', 'GB')[power]}"


def lab_line(labs: Iterable[tuple[str, str]], link: Link) -> Iterator[nodes.Node]:
    """Yield the labs that draw what a claim states.

    Args:
        labs: (docname, title).
    """
    if links := [link.to(docname, "", nodes.inline("", title)) for docname, title in labs]:
        parts = [part for each in links for part in (nodes.Text(", "), each)]
        parts[0] = nodes.Text("Drawn in a lab: ")
        yield nodes.paragraph("", "", *parts, classes=["claim-labs"])


def sources(
    pairs: Iterable[tuple[str, str]], said: dict[str, str], link: Link
) -> Iterator[nodes.Node]:
    """Yield the statements of the sources that are spoken of.

    Args:
        pairs: (relation word, entry id).
        said: entry id → its statement, as far as the register has it.
    """
    for word, entry in pairs:
        name = [nodes.Text(" "), link.entry(entry), nodes.Text(": ")]
        yield nodes.paragraph("", "", verdict(word), *name, *inline(said.get(entry, "")))


def how_it_ran(
    claim: Claim,
    lanes: ByLane,
    falsified: dict[str, Any] | None,
    swept: dict[str, Any] | None,
    repository: str,
) -> Iterator[nodes.Node]:
    """Yield where a claim ran, with which torch and when; how to run and to correct it.

    Args:
        repository: `owner/name` on GitHub; may be empty.
    """
    for lane, data in lanes.items():
        for run in runs(data):
            words = [f"torch {run['torch']}", run["device"], run["recorded"]]
            if run["outcome"] == Outcome.PASSED and run["message"]:
                words.append(run["message"])
            yield nodes.paragraph("", f"{LANE_NAMES[Lane(lane)]}: {', '.join(words)}")
    if falsified:
        text = "{killed} of {mutants} altered copies of it print something else".format(**falsified)
        text += " (stale: changed since)" * (falsified["status"] == "stale")
        yield nodes.paragraph("", text, classes=["claim-falsified"])
    if swept:
        yield from _searched(swept)
    command = nodes.literal("", f"claimbook run {claim.id}")
    yield nodes.paragraph("", "", nodes.Text("Run it: "), command)
    if repository:
        address = f"https://github.com/{repository}/issues/new?{urlencode({'title': claim.id})}"
        suggest = nodes.reference("", "Suggest a correction", refuri=address)
        yield nodes.paragraph("", "", suggest)


def _searched(swept: dict[str, Any]) -> Iterator[nodes.Node]:
    """Yield among which cases no counterexample was found, and how they were searched."""
    text = "No counterexample among {cases} drawn cases: {drawn}.".format(**swept)
    text += " The statement, or the search, has changed since." * (swept["status"] == "stale")
    yield nodes.paragraph("", text, classes=["claim-swept"])
    yield nodes.literal_block(swept["source"], swept["source"], language="python")


def more(title: str, *parts: nodes.Node) -> nodes.Node:
    """Fold what a card says on demand."""
    return places.fold("", *parts, title=title, classes=["claim-more"])


def inline(text: str) -> Iterator[nodes.Node]:
    """Yield Markdown of one line, as far as statements use it: code and emphasis."""
    for piece in re.findall(r"`+[^`]+`+|\*[^*\s][^*]*\*|[^`*]+|.", text):
        if piece.startswith("`"):
            yield nodes.literal("", piece.strip("`"))
        elif len(piece) > 1 and piece.startswith("*"):
            yield nodes.emphasis("", piece.strip("*"))
        else:
            yield nodes.Text(piece)


Sentence = tuple[str, str, str]
"""The page of a claim, its id and its first sentence."""


def sentence(docname: str, name: str, said: str, link: Link) -> nodes.list_item:
    """Return a claim by its first sentence."""
    text = link.claim(docname, name, nodes.inline("", "", *inline(said)))
    return nodes.list_item("", nodes.paragraph("", "", text))


def section(name: str, title: nodes.Node, *content: nodes.Node) -> nodes.section:
    """Return a section with an id of that name."""
    return nodes.section("", nodes.title("", "", title), *content, ids=[name])


Cells = tuple[list[nodes.Node], ...]


def table(head: list[str], rows: Iterable[Cells], widths: list[int]) -> nodes.table:
    """Return a table with a row of titles; widths are in percent."""
    group = nodes.tgroup(cols=len(widths))
    group += [nodes.colspec(colwidth=width) for width in widths]
    group += nodes.thead("", _row(plain(*head)))
    group += nodes.tbody("", *(_row(cells) for cells in rows))
    return nodes.table("", group, classes=["colwidths-given"])


def plain(*each: str) -> Cells:
    """Return the cells of a row of plain text."""
    return tuple([nodes.Text(text)] for text in each)


def _row(cells: Iterable[list[nodes.Node]]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", *cell)) for cell in cells))
