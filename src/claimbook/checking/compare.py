"""Want against got: whether it is the same, and if not, what kind of difference it is.

Text is compared exactly, but for white space at the ends of lines. `tensor(...)` is compared
by structure, so that a line broken elsewhere is no difference. Nothing is evaluated.
"""

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile, zip_longest

from claimbook.checking import numbers, tensors
from claimbook.checking.difference import SEVERITIES, Difference, Kind, Severity, worst
from claimbook.model import Claim, Example, Lane

HEADER = "Traceback (most recent call last):"


@dataclass(frozen=True)
class Mismatch:
    """One example whose output is not what the page says."""

    example: Example
    got: str
    differences: tuple[Difference, ...]

    @property
    def difference(self) -> Difference:
        """The first of its differences, by which it is told."""
        return self.differences[0]

    @property
    def severity(self) -> Severity:
        """That of the worst of its differences."""
        return worst(SEVERITIES[each.kind] for each in self.differences)


def mismatches(claim: Claim, lane: Lane, outputs: tuple[str, ...]) -> Iterator[Mismatch]:
    """Yield the examples of a claim whose output differs, in order.

    Args:
        outputs: what each example printed; examples beyond its end were not reached.
    """
    for example, got in zip(claim.examples(lane), outputs, strict=False):
        if found := tuple(differences(example.want, got, lane)):
            yield Mismatch(example, got, found)


def compare(want: str, got: str, lane: Lane = Lane.CPU) -> Difference | None:
    """Return what differs first between an example's want and its got; None if nothing does."""
    return next(differences(want, got, lane), None)


def differences(want: str, got: str, lane: Lane) -> Iterator[Difference]:
    """Yield what differs between an example's want and its got.

    Args:
        want: the output on the page; `...` in it stands for any text within one line, and a
            line that is `...` alone for any number of lines.
        got: what the run printed.
        lane: on `cuda`, `device='cuda:0'` in what is printed is no difference.
    """
    want, got = _normal(want, lane), _normal(got, lane)
    if want == got:
        return
    (want_text, want_error), (got_text, got_error) = _split_error(want), _split_error(got)
    try:
        yield from _between_errors(want_error, got_error)
        if (want_error is None) == (got_error is None):
            yield from _between_printed(want_text, got_text)
    except RecursionError:  # of a tensor that is nested deeper than any is
        yield from _between_texts(want, got)


def diff(want: str, got: str) -> str:
    """Return want and got line by line, wanted lines with `-`, printed lines with `+`."""
    # Not ndiff, which takes minutes over a thousand lines and may show what was printed first.
    sides = [text.split("\n") if text else [] for text in (want, got)]
    lines = difflib.unified_diff(sides[0], sides[1], n=1_000_000, lineterm="")
    return "\n".join(f"{line[0]} {line[1:]}".rstrip() for line in [*lines][3:])


def bare(text: str) -> str:
    """Strip white space at the ends of lines, and empty lines at the end."""
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")


def _normal(text: str, lane: Lane) -> str:
    text = bare(text)
    return re.sub(r",\s+device='cuda:0'", "", text) if lane is Lane.CUDA else text


def _split_error(text: str) -> tuple[str, str | None]:
    """Split what was printed from the error that ended it: its type and message."""
    before, header, after = ("\n" + text).rpartition("\n" + HEADER)
    if not header:
        return text, None
    lines = after.lstrip("\n").split("\n")
    error = dropwhile(lambda line: line.startswith(" ") or line == "...", lines)
    return before.removeprefix("\n"), "\n".join(error)


def _between_errors(want: str | None, got: str | None) -> Iterator[Difference]:
    if want == got:
        return
    first_line = (want or got or HEADER).partition("\n")[0]
    if want is None:
        yield Difference(Kind.RAISED, first_line)
    elif got is None:
        yield Difference(Kind.NOT_RAISED, f"expected {first_line}")
    else:
        (want_type, _, want_said), (got_type, _, got_said) = want.partition(":"), got.partition(":")
        if want_type != got_type:
            wanted = want_type or "none named"
            yield Difference(Kind.ERROR_TYPE, f"want {wanted}, got {got_type}")
        elif want_said.strip() and not want_said.replace("...", "").strip():
            yield Difference(Kind.ERROR_TEXT, "the page leaves the whole message open")
        elif not _fits(want_said, got_said):
            yield Difference(Kind.ERROR_TEXT, _first_difference(want_said, got_said))


def _matches(want: str, got: str) -> bool:
    """Return whether got is want with its `...` filled in."""
    if "..." not in want:
        return False
    blocks = _OPEN_LINE.split(f"{want}\n")  # between lines that are `...` alone
    lines = ["".join(map(_line_pattern, block.split("\n")[:-1])) for block in blocks]
    return re.fullmatch(_in_order(lines, r"(?:.*\n)*?"), f"{got}\n") is not None


_OPEN_LINE = re.compile(r"^[^\S\n]*\.\.\.[^\S\n]*\n", re.MULTILINE)


def _line_pattern(want: str) -> str:
    return _in_order([*map(re.escape, want.split("..."))], ".*?") + r"\n"


def _in_order(parts: list[str], gap: str) -> str:
    """Return a pattern of parts with gaps between them, the last part at the end.

    Each is found as early as it may stand and nowhere else, so that this takes as long as there is
    to look through.
    """
    first, *others = parts
    inner = "".join(f"(?>{gap}{part})" for part in others[:-1])
    return first + inner + "".join(f"{gap}{part}" for part in others[-1:])


def _between_printed(want: str, got: str) -> Iterator[Difference]:
    (want_texts, wants), (got_texts, gots) = map(tensors.split, (want, got))
    if len(wants) == len(gots) and all(map(_fits, want_texts, got_texts)):
        yield from _between_tensors(wants, gots)
    elif _matches(want, got):
        return
    elif unexpected := [line for line in _WARNING.findall(got) if line not in want]:
        yield Difference(Kind.WARNING, unexpected[0])
        others = [line for line in got.split("\n") if line not in unexpected]
        yield from _between_printed(want, bare("\n".join(others)))
    else:
        yield from _between_texts(want, got)
        if len(wants) == len(gots):
            yield from _between_tensors(wants, gots)


def _fits(want: str, got: str) -> bool:
    return want == got or _matches(want, got)


def _between_tensors(wants: list[str], gots: list[str]) -> Iterator[Difference]:
    for want, got in zip(wants, gots, strict=True):
        # torch prints `...` for what it leaves out; that one stands for nothing else.
        if want.count("...") <= got.count("...") or not _matches(want, got):
            yield from tensors.differences(want, got)


_WARNING = re.compile(r"^(?:\w+\.)*\w*Warning: .*", re.MULTILINE)
_DTYPE = re.compile(r"torch\.[a-z]+\d+")


def _between_texts(want: str, got: str) -> Iterator[Difference]:
    detail = _first_difference(want, got)
    if "".join(want.split()) == "".join(got.split()):
        yield Difference(Kind.COSMETIC)
    elif kind := _between_numbers(want, got):
        yield Difference(kind, detail)
    elif _DTYPE.findall(want) != _DTYPE.findall(got):
        yield Difference(Kind.DTYPE, detail)
        if _DTYPE.split(want) != _DTYPE.split(got):
            yield Difference(Kind.VALUE, detail)
    else:
        yield Difference(Kind.VALUE, detail)


def _between_numbers(want: str, got: str) -> Kind | None:
    """Return how two texts differ that differ in their numbers alone, if that is no value."""
    if numbers.NUMBER.split(want) != numbers.NUMBER.split(got):
        return None
    pairs = zip(*map(numbers.NUMBER.findall, (want, got)), strict=True)
    if all(w == g or numbers.near(w, g) for w, g in pairs):
        return Kind.ROUNDING
    return Kind.SHAPE if "torch.Size(" in want else None


def _first_difference(want: str, got: str) -> str:
    for want_line, got_line in zip_longest(want.split("\n"), got.split("\n")):
        if want_line != got_line:
            return f"want {_shown(want_line)}, got {_shown(got_line)}"
    return ""


def _shown(line: str | None) -> str:
    return "nothing" if not line else repr(line.strip() if len(line) < 120 else line[:117] + "…")
