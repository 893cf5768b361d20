"""Report a run to an author, in the same words in Sphinx, pytest and the CLI."""

import re
from collections.abc import Iterator
from dataclasses import replace

from claimbook.checking.compare import Mismatch, diff, mismatches
from claimbook.model import Claim, Lane, Outcome, Run

EDGE, WIDTH = 30, 500
"""Most lines shown at either end of a long difference, and most characters of a line."""

PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
"""Control characters → printable stand-ins: terminals obey them, and HTML forbids them."""


def explain(claim: Claim, run: Run) -> str:
    """Return what differs from the page, where and how, and what to do next.

    The first line, with the place, the claim and the lane, is a complete message by itself.
    """
    if run.outcome is Outcome.SKIPPED:
        return f"{claim.location}: {claim.id} [{run.lane}] skipped: {run.message}"
    lines = [f"{first_place(claim, run)}: {claim.id} [{run.lane}] {run.outcome}"]
    if run.outcome is Outcome.VARIED:
        lines += [f"  {run.message}", f"  It depends on the machine: {', '.join(claim.machine)}."]
    elif run.outcome is not Outcome.FAILED:
        stopped = claim.examples(run.lane)[len(run.outputs) :][:1]
        code = [f"    {line}" for example in stopped for line in prompted(example.source)]
        lines += [f"  {run.message}", *code, *_NOT_FINISHED.get(run.outcome, ())]
    found = [*mismatches(claim, run.lane, run.outputs)]
    for mismatch in found:
        lines += ["", *differing(mismatch)]
    if run.outcome is Outcome.FAILED or (run.outcome is Outcome.VARIED and found):
        lines += ["", "  - is what the page says, + is what the run printed."]
    if run.outcome is Outcome.FAILED:
        lines += _advice(found, run)
    return "\n".join(lines)


_NOT_FINISHED = {
    Outcome.CRASHED: (
        "  Other claims are not affected.",
        "  To show a crash, let the example start a process that crashes, and print how it ended.",
    ),
    Outcome.TIMED_OUT: (
        "  Other claims are not affected.",
        "  If it needs longer, give it a `:timeout:` in seconds, and say why on the page.",
    ),
}
"""Outcome of a claim that did not run to its end → what to do next."""


def _advice(found: list[Mismatch], run: Run) -> list[str]:
    """Return what to do next; a NameError is always the page's fault."""
    got = "\n".join(mismatch.got for mismatch in found)
    if missing := _MISSING.search(got):
        return [f"  The name {missing[1]} is missing: was a line deleted, or an import?"]
    hints = [f"  {hint}" for pattern, hint in _HINTS if pattern.search(got)]
    return [*hints, *_next_steps(run)]


def _next_steps(run: Run) -> list[str]:
    options = run.claim if run.lane is Lane.CPU else f"{run.claim} --lane {run.lane}"
    return [
        "  If torch is right, correct the output on the page and the sentence above it;",
        f"  if the page is right, fix its code. Run it alone: claimbook run {options}",
        f"  To accept what was printed: claimbook accept {options}",
    ]


_MISSING = re.compile(r"^NameError: name '(\w+)' is not defined", re.MULTILINE)

ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]{8,}")
"""The address of an object in memory, as Python prints it."""

_NO_GPU = r"Torch not compiled with CUDA enabled|No CUDA GPUs are available|Found no NVIDIA driver"
_HINTS = (
    (ADDRESS, "It holds an address, which is another in each run: write `...` in its place."),
    (re.compile(r"\[cut here: No space"), "Free room for temporary files, and run it again."),
    (re.compile(_NO_GPU), "It asks for a GPU: write `device`, or give the claim `:lanes: cuda`."),
    (
        re.compile(r"^EOFError: EOF when reading a line", re.MULTILINE),
        "It reads what is typed, and nobody types: write the value in the code.",
    ),
    (
        re.compile(r"^ModuleNotFoundError: ", re.MULTILINE),
        "A claim may import Python's own modules and those that constraints.txt lists.",
    ),
)
"""Pattern of what was printed → what an author may have overlooked."""


VARIED = "Claims about a machine that came out otherwise on this one"


def differing(mismatch: Mismatch) -> list[str]:
    """Return the lines that report an example: place, kind of difference, code, diff."""
    return [
        f"  line {mismatch.example.line}: {mismatch.difference}",
        *(f"    {line}" for line in prompted(mismatch.example.source)),
        *(f"  {line}" for line in _readable(diff(mismatch.example.want, mismatch.got))),
    ]


def _readable(text: str) -> Iterator[str]:
    """Yield the lines of a text, cut to the first and last `EDGE` lines and `WIDTH` characters."""
    lines, whole = text.translate(PICTURES).split("\n"), "(`claimbook run --json` prints all)"
    if (left := len(lines) - 2 * EDGE) > 0:
        lines[EDGE:-EDGE] = [f"  … {left} more lines {whole}"]
    for line in lines:
        left = len(line) - WIDTH
        yield f"{line[:WIDTH]}… {left} more characters {whole}" if left > 0 else line


def first_place(claim: Claim, run: Run) -> str:
    """Return the place of the first example that differs or did not finish, or of the claim."""
    found = [mismatch.example for mismatch in mismatches(claim, run.lane, run.outputs)]
    if run.outcome in (Outcome.CRASHED, Outcome.TIMED_OUT):
        found += claim.examples(run.lane)[len(run.outputs) :]
    return str(replace(claim.location, line=found[0].line) if found else claim.location)


def prompted(source: str) -> list[str]:
    """Return the lines of a statement with Python's prompts."""
    first, *rest = source.rstrip("\n").split("\n")
    return [f">>> {first}", *(f"... {line}" for line in rest)]
