"""Write what a run printed into its page.

Only outputs change; every other byte stays. A revised page is scanned first, and written only if
the changes that were asked for are the only ones.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from claimbook.checking.compare import Mismatch, bare, mismatches
from claimbook.checking.difference import Kind
from claimbook.checking.report import ADDRESS
from claimbook.files import write_atomically
from claimbook.model import Claim, Example, Lane, Location, Outcome, Page, Problem, Run
from claimbook.pages.parser import scan_page


class AcceptError(ValueError):
    """An output cannot be accepted; the message says why and what to do."""


OVERTURNED = {Kind.VALUE, Kind.NOT_RAISED, Kind.RAISED, Kind.ERROR_TYPE}
"""Kinds of difference that change the result, not just its wording."""

_CUT = re.compile(r"\[cut here: [^\n]+\]\Z")
"""How the worker ends an output that is too long, or has no room."""
_UNREADABLE = (
    "the page would not read back as this output: print its repr() if a line of it begins with "
    "`>>>` or ends the fence, if its first line, `...`, would be read as code, or if it holds a "
    "carriage return or a NUL"
)
"""Why no page can hold an output, and what to do."""


@dataclass(frozen=True)
class Change:
    """An output that may be accepted."""

    claim: Claim
    run: Run
    mismatch: Mismatch

    @property
    def location(self) -> Location:
        """The place of its example."""
        return replace(self.claim.location, line=self.mismatch.example.line)

    @property
    def want(self) -> str:
        """The new text of the page: what was printed, without trailing white space."""
        return bare(self.mismatch.got)

    @property
    def overturns(self) -> bool:
        """Whether the result changes, not just its wording."""
        emptied = not self.mismatch.example.want or not self.want
        return emptied or any(each.kind in OVERTURNED for each in self.mismatch.differences)


def changes(claim: Claim, run: Run, problems: Iterable[Problem]) -> list[Change]:
    """Return the outputs of a run that may be accepted, in page order.

    Args:
        problems: all problems of the book.

    Raises:
        AcceptError: the claim did not run to its end, has a problem, or lacks a fence for CUDA.
    """
    if run.outcome is Outcome.PASSED:
        return []
    found = list(mismatches(claim, run.lane, run.outputs))
    if run.outcome is Outcome.VARIED and not _is_new(claim, run, found):
        why = "what one machine prints does not replace what the page says: edit it by hand"
        raise AcceptError(f"{run.message}\n  It is about a machine; {why}")
    if run.outcome not in (Outcome.FAILED, Outcome.VARIED):
        raise AcceptError(f"{run.outcome}: {run.message}")
    for problem in problems:
        here = problem.location.path == claim.location.path
        if here and problem.message.startswith(f"{claim.id}: "):
            raise AcceptError(f"fix this first: {problem}")
    if run.lane is Lane.CUDA and Lane.CPU in claim.lanes:
        shared = [e for f in claim.fences if f.cuda_examples is None for e in f.examples]
        if any(mismatch.example in shared for mismatch in found):
            advice = "repeat the fence below itself, as `pycon cuda`, and run this again"
            raise AcceptError(f"it prints something else on CUDA: {advice}")
    return [Change(claim, run, mismatch) for mismatch in found]


def _is_new(claim: Claim, run: Run, found: Sequence[Mismatch]) -> bool:
    """Return whether a claim ran to its end, and its page lacks each output that differs."""
    whole = len(run.outputs) == len(claim.examples(run.lane))
    return whole and not any(mismatch.example.want for mismatch in found)


@dataclass(frozen=True)
class Draft:
    """A scanned page, to be revised."""

    path: Path
    page: Page
    raw: bytes

    @classmethod
    def read(cls, root: Path, page: Page) -> "Draft":
        """Return a draft of a page just scanned, in the project at `root`."""
        path = root / page.path
        return cls(path, page, path.read_bytes())

    def revise(self, changes: Sequence[Change]) -> str:
        """Return the text of the page with changes made.

        Raises:
            AcceptError: the revised page would not read back as intended.
        """
        wants = {change.mismatch.example.line: change.want for change in changes}
        lines = re.findall(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+", self.raw.decode("utf-8"))  # with ends
        # The last first, so that the lines of the others stay.
        for change in sorted(changes, key=lambda change: change.location, reverse=True):
            _replace(lines, change.mismatch.example, change.want)
        text = "".join(lines)
        revised = scan_page(text, self.page.path)
        as_agreed = _content(revised) == _content(self.page, wants)
        for change in changes:
            if _CUT.search(change.mismatch.got):
                raise AcceptError("its output was cut: print less, or free room for it")
            if ADDRESS.search(change.want):
                why = "it holds an address, which is another in each run"
                raise AcceptError(f"{why}: write it by hand, with `...` for the address")
            if not as_agreed:
                raise AcceptError(_UNREADABLE)
        return text

    def write(self, changes: Sequence[Change]) -> None:
        """Write the revised page, atomically.

        Raises:
            AcceptError: as in `revise`, or the file changed since it was scanned.
        """
        text = self.revise(changes)
        try:
            if self.path.read_bytes() != self.raw:
                raise AcceptError("the page changed since it was scanned: run this again")
            write_atomically(self.path, text)
        except OSError as error:
            raise AcceptError(error.strerror or str(error)) from error


def _replace(lines: list[str], example: Example, want: str) -> None:
    """Put a want in the place of an example's, in its indentation and with its line ends."""
    start = example.want_line - 1
    before = lines[start - 1]
    indent = lines[example.line - 1].partition(">>>")[0]
    end = before[len(before.rstrip("\r\n")) :]
    new = [(indent + line).rstrip() + end for line in _split(want)]
    lines[start : start + len(_split(example.want))] = new


def _split(want: str) -> list[str]:
    return want.split("\n") if want else []


def _content(page: Page, wants: Mapping[int, str] = {}) -> object:
    """Return the content of a page without locations, once some lines have these wants."""

    def printed(examples: Iterable[Example]) -> object:
        return [(e.source, bare(wants.get(e.line, e.want))) for e in examples]

    return (
        [(problem.kind, problem.message) for problem in page.problems],
        [(remark.entries, remark.text) for remark in page.remarks],
        [
            (
                replace(claim, location=Location("", 0), fences=()),
                [[printed(fence.on(lane)) for lane in Lane] for fence in claim.fences],
            )
            for claim in page.claims
        ],
    )
