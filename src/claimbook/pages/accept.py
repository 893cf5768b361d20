"""Takes over into a page what a run printed, where its author agrees.

Only outputs change; every other byte of a page stays. A revised page is scanned before it is put
in place, and goes there only if it says what was agreed to and nothing else.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from claimbook.checking.compare import Mismatch, bare, compare, mismatches
from claimbook.checking.difference import Kind
from claimbook.files import write_atomically
from claimbook.model import Claim, Example, Fence, Lane, Location, Outcome, Page, Problem, Run
from claimbook.pages.parser import scan_page


class AcceptError(ValueError):
    """What was printed cannot be taken over; says why, and what to do."""


OVERTURNED = {Kind.VALUE, Kind.NOT_RAISED, Kind.RAISED, Kind.ERROR_TYPE}
"""What makes an output another one: a value, an error that came or did not, its type."""

_OPENING = re.compile(r"(\s*)(`{3,}|~{3,}|:{3,})\s*pycon\s*")
_CUT = re.compile(r"\[cut here: [\d,]+ bytes were printed\]\Z")
_ADVICE = (
    (r"^>>>", "a printed line begins with `>>>` and would be read as code: print its repr()"),
    (r"\A\.\.\.( |$)", "its first line, `...`, would be read as code: print its repr()"),
    (r"^\s*(```|~~~|:::)", "a printed line ends the fence: lengthen it, or print its repr()"),
    (r"[\r\0]", "it printed a carriage return or a NUL, which no page can hold: print its repr()"),
    ("", "the page would not say just that afterwards: correct it by hand"),
)


@dataclass(frozen=True)
class Change:
    """An output that may be taken over."""

    claim: Claim
    run: Run
    mismatch: Mismatch

    @property
    def location(self) -> Location:
        """Where its example stands."""
        return replace(self.claim.location, line=self.mismatch.example.line)

    @property
    def want(self) -> str:
        """What the page will say: what was printed, without white space at the ends of lines."""
        return bare(self.mismatch.got)

    @property
    def overturns(self) -> bool:
        """Whether the page would say something else, and not the same in other words."""
        emptied = not self.mismatch.example.want or not self.want
        return emptied or any(each.kind in OVERTURNED for each in self.mismatch.differences)

    @property
    def adds_fence(self) -> bool:
        """Whether CUDA prints here what the CPU does not, and no fence says so yet."""
        example, lane = self.mismatch.example, self.run.lane
        return any(
            example in fence.examples and _lacks_fence(self.claim, fence, lane)
            for fence in self.claim.fences
        )


def changes(claim: Claim, run: Run, problems: Iterable[Problem]) -> list[Change]:
    """Return what may be taken over of a run, in the order of the page.

    Args:
        problems: all that is wrong with the book.

    Raises:
        AcceptError: the run tells nothing, or the claim must be mended first.
    """
    if run.outcome is Outcome.PASSED:
        return []
    if run.outcome is not Outcome.FAILED:
        raise AcceptError(f"{run.outcome}: {run.message}")
    for problem in problems:
        here = problem.location.path == claim.location.path
        if here and problem.message.startswith(f"{claim.id}: "):
            raise AcceptError(f"mend this first: {problem}")
    return [Change(claim, run, found) for found in mismatches(claim, run.lane, run.outputs)]


@dataclass(frozen=True)
class Draft:
    """A page as it was scanned, to be revised."""

    path: Path
    page: Page
    raw: bytes

    @classmethod
    def read(cls, root: Path, page: Page) -> "Draft":
        """Return the draft of a page that was just scanned, under the root of the project."""
        path = root / page.path
        return cls(path, page, path.read_bytes())

    def revise(self, changes: Sequence[Change]) -> str:
        """Return the text of the page with these changes of one lane made, and scanned again.

        Raises:
            AcceptError: the page cannot say that, or nobody can tell where it should.
        """
        lane = changes[0].run.lane
        wants = {change.mismatch.example.line: change.want for change in changes}
        lines = re.findall(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+", self.raw.decode("utf-8"))
        _apply(lines, _edits(lines, self.page, wants, lane))
        text = "".join(lines)
        claims = tuple(_rewritten(claim, wants, lane) for claim in self.page.claims)
        as_agreed = _content(scan_page(text, self.page.path)) == _content(
            replace(self.page, claims=claims)
        )
        for change in changes:
            if _CUT.search(change.mismatch.got):
                raise AcceptError("it printed too much, and was cut: print less")
            if not as_agreed or compare(change.want, change.mismatch.got, lane):
                raise AcceptError(_advice(changes))
        return text

    def write(self, changes: Sequence[Change]) -> None:
        """Put the revised page in place of the old one, whole.

        Raises:
            AcceptError: as `revise`, or the file is not the one that was scanned.
        """
        text = self.revise(changes)
        try:
            if self.path.read_bytes() != self.raw:
                raise AcceptError("the page changed since it was scanned: accept once more")
            write_atomically(self.path, text)
        except OSError as error:
            raise AcceptError(f"it cannot be written: {error}") from error


Edit = tuple[slice, list[str]]
"""Lines of a page, counted from 0, and what stands in their place."""


def _apply(lines: list[str], edits: Iterable[Edit]) -> None:
    for place, new in sorted(edits, key=lambda edit: edit[0].start, reverse=True):
        lines[place] = new


def _edits(lines: list[str], page: Page, wants: Mapping[int, str], lane: Lane) -> Iterator[Edit]:
    for claim in page.claims:
        for fence in claim.fences:
            own = [_edit(lines, e, wants[e.line]) for e in fence.on(lane) if e.line in wants]
            if own and _lacks_fence(claim, fence, lane):
                yield _second_fence(lines, fence, own)
            else:
                yield from own


def _edit(lines: list[str], example: Example, want: str) -> Edit:
    place = _place(example)
    indent = lines[example.line - 1].partition(">>>")[0]
    end = _line_end(lines[place.start - 1])
    return place, [(indent + line).rstrip() + end for line in _split(want)]


def _place(example: Example) -> slice:
    start = example.want_line - 1
    return slice(start, start + len(_split(example.want)))


def _split(want: str) -> list[str]:
    return want.split("\n") if want else []


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _lacks_fence(claim: Claim, fence: Fence, lane: Lane) -> bool:
    return lane is Lane.CUDA and fence.cuda_examples is None and Lane.CPU in claim.lanes


def _second_fence(lines: list[str], fence: Fence, edits: list[Edit]) -> Edit:
    """Return the `pycon cuda` fence to stand below a fence: its copy, with the edits made."""
    opening = _OPENING.fullmatch(lines[fence.line - 1])
    if not opening:
        raise AcceptError("its fence stands in a block quote: add one for CUDA by hand")
    close = _place(fence.examples[-1]).stop
    while close < len(lines) and not lines[close].strip():
        close += 1
    end = _line_end(lines[fence.line - 1])
    copy = lines[: close + 1]
    _apply(copy, edits)
    below = [end, f"{opening[1]}{opening[2]}pycon cuda{end}", *copy[fence.line :]]
    return slice(close + 1, close + 1), below


def _rewritten(claim: Claim, wants: Mapping[int, str], lane: Lane) -> Claim:
    """Return the claim as it will be when these outputs are taken over, but for its lines."""
    fences = []
    for fence in claim.fences:
        old = fence.on(lane)
        new = tuple(replace(e, want=wants.get(e.line, e.want)) for e in old)
        if old is fence.cuda_examples or (new != old and _lacks_fence(claim, fence, lane)):
            fences.append(replace(fence, cuda_examples=new))
        else:
            fences.append(replace(fence, examples=new))
    return replace(claim, fences=tuple(fences))


def _content(page: Page) -> object:
    """Return what a page says, without where it says it."""
    return (
        [(problem.kind, problem.message) for problem in page.problems],
        [(remark.entries, remark.text) for remark in page.remarks],
        [_claim_content(claim) for claim in (*page.claims, *page.samples)],
    )


def _claim_content(claim: Claim) -> object:
    fences = [
        [[(e.source, bare(e.want)) for e in side or ()] for side in (f.examples, f.cuda_examples)]
        for f in claim.fences
    ]
    return replace(claim, location=Location("", 0), fences=()), fences


def _advice(changes: Sequence[Change]) -> str:
    gots = [change.mismatch.got for change in changes]
    fitting = (
        text
        for pattern, text in _ADVICE
        if any(re.search(pattern, got, re.MULTILINE) for got in gots)
    )
    return next(fitting)
