"""Show the code of a claim with its outputs, and what a run printed where that differs."""

import re
from collections.abc import Iterator

from docutils import nodes

from claimbook.checking.compare import compare
from claimbook.exports.listing import listing
from claimbook.model import Claim, Lane, Status
from claimbook.sphinx import render
from claimbook.sphinx.domain import ByLane, ClaimDomain


def show(domain: ClaimDomain, place: nodes.Element) -> list[nodes.Node]:
    """Return a fence as a session: code without prompts, each output in a box below its code."""
    claim, fence = domain.claim_at(place), place["fence"]
    lanes = domain.shown[claim.id]
    cells, gathered = nodes.container(classes=["claim-cells"]), ""
    setup = render.block(prelude(claim.code), "python")
    cells += nodes.container("", setup, classes=["claim-prelude"])
    before = sum(len(each.examples) for each in claim.fences[:fence])
    for number, example in enumerate(claim.fences[fence].examples, before):
        gathered += listing([example])
        if any(claim.examples(lane)[number].want for lane in lanes):
            cells += [render.code(gathered), *_outputs(claim, lanes, number)]
            gathered = ""
    if gathered:
        cells += render.code(gathered)
    return [nodes.container("", cells, classes=["claim-session"])]


def _outputs(claim: Claim, lanes: ByLane, number: int) -> Iterator[nodes.container]:
    """Yield the boxes of an example: for each lane, if their outputs differ."""
    wants = [claim.examples(lane)[number].want for lane in lanes]
    differ = compare(wants[0], wants[-1], Lane.CUDA)
    for lane in lanes if differ else [*lanes][:1]:
        label = f"on {render.LANE_NAMES[lane]}" if differ else ""
        yield from _output(claim, lanes, lane, number, label)


def _output(
    claim: Claim, lanes: ByLane, lane: Lane, number: int, label: str
) -> Iterator[nodes.container]:
    """Yield the output on the page, labelled if no current run has confirmed it.

    What the run printed comes first, if it differs.
    """
    want, shown, doubt = claim.examples(lane)[number].want, lanes[lane], ""
    if shown.first and shown.status in (Status.FAILING, Status.VARIED):
        printed = shown.first.outputs
        if number >= len(printed):
            doubt = "not reached in this run; the page says"
        elif compare(want, printed[number], lane):
            where = f"printed on {shown.first.environment.device}"
            yield render.output(printed[number], where, "differs")
            doubt = "the page says"
    elif shown.status is not Status.CURRENT:
        doubt = render.STATUS_WORDS[shown.status]
    classes = [f"on-{lane}"] * bool(label) + ["unproved"] * bool(doubt)
    yield render.output(want, ", ".join(filter(None, [label, doubt])), *classes)


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
