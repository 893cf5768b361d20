"""Compare expected output (want) with actual output (got), and classify differences.

Text is compared exactly, except for trailing white space. `tensor(...)` is compared by
structure, so line breaks inside it do not matter. Nothing is evaluated.
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
        """The first of its differences, the one that is reported."""
        return self.differences[0]

    @property
    def severity(self) -> Severity:
        """The severity of the worst difference."""
        return worst(SEVERITIES[each.kind] for each in self.differences)


def mismatches(claim: Claim, lane: Lane, outputs: tuple[str, ...]) -> Iterator[Mismatch]:
    """Yield the examples of a claim whose output differs, in order.

    Args:
        outputs: what each example printed; examples without one were not reached.
    """
    for example, got in zip(claim.examples(lane), outputs, strict=False):
        if found := tuple(differences(example.want, got, lane)):
            yield Mismatch(example, got, found)


def compare(want: str, got: str, lane: Lane = Lane.CPU) -> Difference | None:
    """Return the first difference between a want and a got; None if there is none."""
    return next(differences(want, got, lane), None)


def differences(want: str, got: str, lane: Lane) -> Iterator[Difference]:
    """Yield the differences between an example's want and its got.

    Args:
        want: the output on the page; `...` in it matches any text within one line, and a
            line of just `...` matches any number of lines.
        got: what the run printed.
        lane: on `cuda`, `device='cuda:0'` in the output is ignored.
    """
    want, got = _normal(want, lane), _normal(got, lane)
    if want == got:
        return
    (want_text, want_error), (got_text, got_error) = _split_error(want), _split_error(got)
    if not (want_error or got_error):  # maybe a header, but nothing below it names an error
        want_text, got_text = want, got
    try:
        yield from _between_errors(want_error, got_error)
        if (want_error is None) == (got_error is None):
            yield from _between_printed(want_text, got_text)
    except RecursionError:  # brackets nested absurdly deep
        yield from _between_texts(want, got)


def diff(want: str, got: str) -> str:
    """Return a line diff: `-` for lines of the want, `+` for lines of the got."""
    # Not ndiff: it takes minutes on a thousand lines, and may put `+` lines before `-` lines.
    sides = [text.split("\n") if text else [] for text in (want, got)]
    lines = difflib.unified_diff(sides[0], sides[1], n=1_000_000, lineterm="")
    return "\n".join(f"{line[0]} {line[1:]}".rstrip() for line in [*lines][3:])


def bare(text: str) -> str:
    """Strip trailing white space from each line, and trailing empty lines."""
    return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")


def _normal(text: str, lane: Lane) -> str:
    text = bare(text)
    return re.sub(r",\s+device='cuda:0'", "", text) if lane is Lane.CUDA else text


def _split_error(text: str) -> tuple[str, str | None]:
    """Split output into what was printed and the error (type and message) that ended it."""
    before, header, after = f"\n{text}\n".rpartition(f"\n{HEADER}\n")
    if not header:
        return text, None
    lines = after.strip("\n").split("\n")
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
    """Return a pattern that matches the parts in order, the last one at the end.

    Each part matches at its earliest position and is not retried (atomic groups), so matching
    takes linear time.
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
        # torch prints `...` for elements it leaves out; that `...` is no wildcard.
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
    """Return the kind if only numbers differ and it is rounding or a shape; else None."""
    if numbers.NUMBER.split(want) != numbers.NUMBER.split(got):
        return None
    pairs = zip(*map(numbers.NUMBER.findall, (want, got)), strict=True)
    if all(w == g or numbers.near(w, g) for w, g in pairs):
        return Kind.ROUNDING
    return Kind.SHAPE if "torch.Size(" in want else None


def _first_difference(want: str, got: str) -> str:
    pairs = zip_longest(want.split("\n"), got.split("\n"))
    want_line, got_line = next(pair for pair in pairs if pair[0] != pair[1])
    return f"want {_shown(want_line)}, got {_shown(got_line)}"


def _shown(line: str | None) -> str:
    return "nothing" if not line else repr(line.strip() if len(line) < 120 else line[:117] + "…")
