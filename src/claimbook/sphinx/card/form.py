"""Build the card of a claim: title, prose, code and outputs; results are added later."""

import re
from collections.abc import Iterator
from itertools import zip_longest

from docutils import nodes
from sphinx.addnodes import pending_xref

from claimbook.checking.compare import compare
from claimbook.exports.listing import listing
from claimbook.model import Claim, Example, Fence, Lane, anchor
from claimbook.pages.text import first_sentence
from claimbook.sphinx import elements, render


def card(claim: Claim, body: nodes.Element, page: str) -> nodes.Element:
    """Return a card: title, prose, code with its outputs, and a placeholder for badges.

    Args:
        body: the parsed content of the directive; its nodes are moved.
        page: the docname of the page; a builder may join all pages into one.
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
    whole += elements.place(what="status", claim=claim.id, page=page)
    if not claim.detail:
        whole.insert(0, title)
        return whole
    for link in [*title.findall(pending_xref), *title.findall(nodes.reference)]:
        link.replace_self(link.children)
    whole["classes"] = ["claim-body"]
    return elements.detail("", title, whole, classes=["claim", "detail"])


def named(card: nodes.Element) -> nodes.Element:
    """Return the part of a card with the claim's id."""
    return next(part for part in card.findall(nodes.container) if part["names"])


def _title(body: nodes.Element) -> tuple[elements.claim_title, list[nodes.Node]]:
    """Split off the first sentence of a claim as its title; return it and the other nodes."""
    parts = list(body.children)
    if not (parts and isinstance(first := parts[0], nodes.paragraph)):
        return elements.claim_title(), parts
    sentence, others = _first_sentence(first.children)
    paragraph = [nodes.paragraph("", "", *others)] if others else []
    return elements.claim_title("", "", *sentence), [*paragraph, *parts[1:]]


def _first_sentence(parts: list[nodes.Node]) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Split the content of a paragraph after its first sentence."""
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
    """Return a session: code without prompts, each output in a box below its code."""
    whole = nodes.container(classes=["claim-session"])
    cells = nodes.container(classes=["claim-cells"])
    cells += nodes.container("", render.block(prelude(source), "python"), classes=["claim-prelude"])
    gathered = ""
    for example, on_cuda in zip_longest(fence.examples, fence.cuda_examples or ()):
        gathered += listing([example])
        if example.want or (on_cuda and on_cuda.want):
            cells += render.code(gathered)
            for box in _outputs(example, on_cuda):
                box["line"] = example.line
                cells += box
            gathered = ""
    if gathered:
        cells += render.code(gathered)
    whole += cells
    return whole


def _outputs(example: Example, on_cuda: Example | None) -> Iterator[nodes.container]:
    if on_cuda is None or compare(example.want, on_cuda.want, Lane.CUDA) is None:
        yield render.output(example.want)
        return
    for lane, want in ((Lane.CPU, example.want), (Lane.CUDA, on_cuda.want)):
        box = render.output(want)
        box["classes"].append(f"on-{lane}")
        box[0] = nodes.paragraph("", f"on {render.LANE_NAMES[lane]}", classes=["claim-lane"])
        yield box


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
"""Pattern of code → the set-up that it needs. Only forked workers see names typed at a prompt."""


def prelude(code: str) -> str:
    """Return the set-up that code needs to run when copied.

    >>> prelude("x = x.to(device)").splitlines() == ["import torch", DEVICE]
    True
    >>> prelude("device = x.device; x = x.to(device)").splitlines()
    ['import torch']
    """
    return "".join(f"{line}\n" for sign, line in PRELUDE.items() if re.search(sign, code))
