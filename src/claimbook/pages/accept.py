"""Write what a run printed into its page, if the author agrees.

Only outputs change; every other byte stays. A revised page is scanned first, and written only if
the agreed changes are the only ones.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from claimbook.checking.compare import Mismatch, bare, compare, mismatches
from claimbook.checking.difference import Kind
from claimbook.checking.report import ADDRESS
from claimbook.files import write_atomically
from claimbook.model import Claim, Example, Fence, Lane, Location, Outcome, Page, Problem, Run
from claimbook.pages.parser import scan_page


class AcceptError(ValueError):
    """An output cannot be accepted; the message says why and what to do."""


OVERTURNED = {Kind.VALUE, Kind.NOT_RAISED, Kind.RAISED, Kind.ERROR_TYPE}
"""Kinds of difference that change the result, not just its wording."""

_OPENING = re.compile(r"(\s*)(`{3,}|~{3,}|:{3,})\s*pycon\s*")
"""The first line of a fence, with its indentation and its marks."""
_CUT = re.compile(r"\[cut here: [\d,]+ bytes were printed\]\Z")
"""How the worker ends an output that is too long."""
_ADVICE = (
    (r"^>>>", "a printed line begins with `>>>` and would be read as code: print its repr()"),
    (r"\A\.\.\.( |$)", "its first line, `...`, would be read as code: print its repr()"),
    (r"^\s*(```|~~~|:::)", "a printed line ends the fence: lengthen it, or print its repr()"),
    (r"[\r\0]", "it printed a carriage return or a NUL, which no page can hold: print its repr()"),
    ("", "the page would not read back as this output: edit it by hand"),
)
"""What an output holds → why no page can hold it, and what to do; the last fits every output."""


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

    @property
    def adds_fence(self) -> bool:
        """Whether it needs a new `pycon cuda` fence."""
        example, lane = self.mismatch.example, self.run.lane
        return any(
            example in fence.examples and _needs_fence(self.claim, fence, lane)
            for fence in self.claim.fences
        )


def changes(claim: Claim, run: Run, problems: Iterable[Problem]) -> list[Change]:
    """Return the outputs of a run that may be accepted, in page order.

    Args:
        problems: all problems of the book.

    Raises:
        AcceptError: the claim did not run to its end, or has a problem.
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
        """Return the text of the page with changes, all of one lane, made.

        Raises:
            AcceptError: the revised page would not read back as intended.
        """
        lane = changes[0].run.lane
        wants = {change.mismatch.example.line: change.want for change in changes}
        lines = re.findall(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+", self.raw.decode("utf-8"))  # with ends
        _revise(lines, self.page, wants, lane)
        text = "".join(lines)
        revised = scan_page(text, self.page.path)
        as_agreed = _content(revised) == _content(self.page, wants, lane)
        for change in changes:
            if _CUT.search(change.mismatch.got):
                raise AcceptError("its output was too long and was cut: print less")
            if ADDRESS.search(change.want):
                why = "it holds an address, which is another in each run"
                raise AcceptError(f"{why}: write it by hand, with `...` for the address")
            if not as_agreed or compare(change.want, change.mismatch.got, lane):
                raise AcceptError(_advice(changes))
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


def _revise(lines: list[str], page: Page, wants: Mapping[int, str], lane: Lane) -> None:
    """Put wants into the lines of a page, the last first, so that the numbers of others stay.

    What CUDA prints goes into a copy of the fence, below it, if the fence is also the CPU's.
    """
    for claim in reversed(page.claims):
        for fence in reversed(claim.fences):
            due = [example for example in reversed(fence.on(lane)) if example.line in wants]
            if due and _needs_fence(claim, fence, lane):
                close, opening = _ends(lines, fence)
                copy = lines[: close + 1]
                _replace(copy, due, wants)
                lines[close + 1 : close + 1] = [*opening, *copy[fence.line :]]
            else:
                _replace(lines, due, wants)


def _replace(lines: list[str], due: Iterable[Example], wants: Mapping[int, str]) -> None:
    for example in due:
        indent = lines[example.line - 1].partition(">>>")[0]
        end = _line_end(lines[example.want_line - 2])
        new = [(indent + line).rstrip() + end for line in _split(wants[example.line])]
        lines[_place(example)] = new


def _ends(lines: list[str], fence: Fence) -> tuple[int, list[str]]:
    """Return the number of a fence's last line, and how a `pycon cuda` fence below it begins."""
    opening = _OPENING.fullmatch(lines[fence.line - 1])
    if not opening:
        raise AcceptError("its fence is in a block quote: add one for CUDA by hand")
    close = _place(fence.examples[-1]).stop
    while close < len(lines) and not lines[close].strip():
        close += 1
    end = _line_end(lines[fence.line - 1])
    return close, [end, f"{opening[1]}{opening[2]}pycon cuda{end}"]


def _place(example: Example) -> slice:
    start = example.want_line - 1
    return slice(start, start + len(_split(example.want)))


def _split(want: str) -> list[str]:
    return want.split("\n") if want else []


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _needs_fence(claim: Claim, fence: Fence, lane: Lane) -> bool:
    return lane is Lane.CUDA and fence.cuda_examples is None and Lane.CPU in claim.lanes


def _content(page: Page, wants: Mapping[int, str] = {}, lane: Lane = Lane.CPU) -> object:
    """Return the content of a page without locations, once it has these wants on a lane."""

    def printed(claim: Claim, fence: Fence, on: Lane) -> object:
        changed = wants if on is lane or not _needs_fence(claim, fence, lane) else {}
        return [(e.source, bare(changed.get(e.line, e.want))) for e in fence.on(on)]

    return (
        [(problem.kind, problem.message) for problem in page.problems],
        [(remark.entries, remark.text) for remark in page.remarks],
        [
            (
                replace(claim, location=Location("", 0), fences=()),
                [[printed(claim, fence, on) for on in Lane] for fence in claim.fences],
            )
            for claim in (*page.claims, *page.samples)
        ],
    )


def _advice(changes: Sequence[Change]) -> str:
    gots = [change.mismatch.got for change in changes]
    return next(
        advice
        for pattern, advice in _ADVICE
        if any(re.search(pattern, got, re.MULTILINE) for got in gots)
    )
