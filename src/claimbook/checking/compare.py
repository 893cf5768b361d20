"""Want against got: whether it is the same, and if not, what kind of difference it is.

Text is compared exactly, but for white space at the ends of lines. `tensor(...)` is compared
by structure, so that a line broken elsewhere is no difference. Nothing is evaluated.
"""

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from itertools import dropwhile, pairwise, zip_longest

from claimbook.model import Claim, Example, Lane

HEADER = "Traceback (most recent call last):"


class Kind(StrEnum):
    """What kind of difference it is; the value is how a message names it."""

    COSMETIC = "cosmetic: only white space differs"
    ROUNDING = "rounding: a last digit differs"
    SHAPE = "shape"
    DTYPE = "dtype"
    DEVICE = "device"
    GRAPH = "requires_grad or grad_fn"
    ERROR_TYPE = "error type"
    ERROR_TEXT = "error text"
    NOT_RAISED = "no error came"
    RAISED = "an error came"
    WARNING = "a warning that the page does not show"
    VALUE = "value"


@dataclass(frozen=True)
class Difference:
    """How what a run printed differs from what the page says."""

    kind: Kind
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else str(self.kind)


@dataclass(frozen=True)
class Mismatch:
    """One example whose output is not what the page says."""

    example: Example
    got: str
    difference: Difference


def mismatches(claim: Claim, lane: Lane, outputs: tuple[str, ...]) -> Iterator[Mismatch]:
    """Yield the examples of a claim whose output differs, in order.

    Args:
        outputs: what each example printed; examples beyond its end were not reached.
    """
    for example, got in zip(claim.examples(lane), outputs, strict=False):
        if difference := compare(example.want, got, lane):
            yield Mismatch(example, got, difference)


def compare(want: str, got: str, lane: Lane = Lane.CPU) -> Difference | None:
    """Return what differs between an example's want and its got; None if nothing does.

    Args:
        want: the output on the page; `...` in it stands for any text within one line, and a
            line that is `...` alone for any number of lines.
        got: what the run printed.
        lane: on `cuda`, `device='cuda:0'` in what is printed is no difference.
    """
    want, got = _normal(want, lane), _normal(got, lane)
    if want == got:
        return None
    (want_text, want_error), (got_text, got_error) = _split_error(want), _split_error(got)
    try:
        return _compare_errors(want_error, got_error) or _compare_printed(want_text, got_text)
    except RecursionError:  # of a tensor that is nested deeper than any is
        return _classify_text(want, got)


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


def _compare_errors(want: str | None, got: str | None) -> Difference | None:
    if want == got:
        return None
    first_line = (want or got or HEADER).partition("\n")[0]
    if want is None:
        return Difference(Kind.RAISED, first_line)
    if got is None:
        return Difference(Kind.NOT_RAISED, f"expected {first_line}")
    want_type, _, want_message = want.partition(":")
    got_type, _, got_message = got.partition(":")
    if want_type != got_type:
        return Difference(Kind.ERROR_TYPE, f"want {want_type or 'none named'}, got {got_type}")
    return _compare_messages(want_message, got_message)


def _compare_messages(want: str, got: str) -> Difference | None:
    if want.strip() and not want.replace("...", "").strip():
        return Difference(Kind.ERROR_TEXT, "the page leaves the whole message open")
    if _fits(want, got):
        return None
    return Difference(Kind.ERROR_TEXT, _first_difference(want, got))


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


def _compare_printed(want: str, got: str) -> Difference | None:
    (want_texts, want_tensors), (got_texts, got_tensors) = map(_split_tensors, (want, got))
    if len(want_texts) == len(got_texts) and all(map(_fits, want_texts, got_texts)):
        return _compare_all_tensors(want_tensors, got_tensors)
    return None if _matches(want, got) else _classify_text(want, got)


def _fits(want: str, got: str) -> bool:
    return want == got or _matches(want, got)


def _compare_all_tensors(wants: list[str], gots: list[str]) -> Difference | None:
    for want, got in zip(wants, gots, strict=True):
        # torch prints `...` for what it leaves out; that one stands for nothing else.
        if want.count("...") > got.count("...") and _matches(want, got):
            continue
        if difference := _compare_tensors(want, got):
            return difference
    return None


_WARNING = re.compile(r"^(?:\w+\.)*\w*Warning: .*", re.MULTILINE)
_NUMBER = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+)(?:e[+-]?\d{1,3})?")  # no Decimal overflows


def _classify_text(want: str, got: str) -> Difference:
    warnings = [line for line in _WARNING.findall(got) if line not in want]
    if warnings:
        return Difference(Kind.WARNING, warnings[0])
    if "".join(want.split()) == "".join(got.split()):
        return Difference(Kind.COSMETIC)
    detail = _first_difference(want, got)
    if _NUMBER.split(want) == _NUMBER.split(got):
        pairs = list(zip(_NUMBER.findall(want), _NUMBER.findall(got), strict=True))
        if all(w == g or _near(w, g) for w, g in pairs):
            return Difference(Kind.ROUNDING, detail)
        if "torch.Size(" in want:
            return Difference(Kind.SHAPE, detail)
    if re.findall(r"torch\.[a-z]+\d+", want) != re.findall(r"torch\.[a-z]+\d+", got):
        return Difference(Kind.DTYPE, detail)
    return Difference(Kind.VALUE, detail)


def _first_difference(want: str, got: str) -> str:
    for want_line, got_line in zip_longest(want.split("\n"), got.split("\n")):
        if want_line != got_line:
            return f"want {_shown(want_line)}, got {_shown(got_line)}"
    return ""


def _shown(line: str | None) -> str:
    return "nothing" if not line else repr(line.strip() if len(line) < 120 else line[:117] + "…")


# The printed form of a tensor.


def _split_tensors(text: str) -> tuple[list[str], list[str]]:
    """Return the texts between tensors, one more than these, and the tensors."""
    texts, tensors, position = [], [], 0
    for match in re.finditer(r"\btensor\(", text):
        end = _closing(text, match.end())
        if match.start() >= position and end is not None:
            texts.append(text[position : match.start()])
            tensors.append(text[match.start() : end])
            position = end
    return [*texts, text[position:]], tensors


def _closing(text: str, position: int) -> int | None:
    """Return where the parenthesis opened before the position closes; None if it never does."""
    mark = next((mark for mark, depth in _marks(text, position) if depth < 0), None)
    return mark.end() if mark and mark[0] == ")" else None


_MARK = re.compile(r"'[^'\n]*'|[()\[\],]")
_DEEPER = {"(": 1, "[": 1, ")": -1, "]": -1}


def _marks(text: str, position: int = 0) -> Iterator[tuple[re.Match[str], int]]:
    """Yield quoted text, brackets and commas, each with how many brackets are open after it."""
    depth = 0
    for mark in _MARK.finditer(text, position):
        depth += _DEEPER.get(mark[0], 0)
        yield mark, depth


def _parse_tensor(text: str) -> tuple[object, dict[str, str]]:
    """Return the data of `tensor(...)`, and its other arguments by their names."""
    data, fields = [], {}
    for part in _split_arguments(text[len("tensor(") : -1]):
        if match := re.fullmatch(r"(\w+)=(.*)", part, re.DOTALL):
            fields[match[1]] = match[2]
        else:
            data.append(part)
    return _parse_data(",".join(data)) if data else None, fields


def _split_arguments(text: str) -> list[str]:
    commas = [mark.start() for mark, depth in _marks(text) if mark[0] == "," and depth == 0]
    return [text[a + 1 : b].strip() for a, b in pairwise([-1, *commas, len(text)])]


def _parse_data(text: str) -> object:
    """Return a number as it was written, or a nested list of such."""
    quoted = re.sub(r"[^\[\],\s]+", lambda word: json.dumps(word[0]), text)
    try:
        (found,) = json.loads(f"[{quoted}]")
    except ValueError:  # torch prints no such thing
        return text
    return found


def _compare_tensors(want: str, got: str) -> Difference | None:
    (want_data, want_fields), (got_data, got_fields) = _parse_tensor(want), _parse_tensor(got)
    same_shape = _shape(want_data) == _shape(got_data)
    if not same_shape or want_fields.get("size") != got_fields.get("size"):
        return Difference(Kind.SHAPE, f"want {_collapse(want)}, got {_collapse(got)}")
    want_numbers, got_numbers = list(_numbers(want_data)), list(_numbers(got_data))
    want_type, got_type = _number_types(want_numbers), _number_types(got_numbers)
    if want_type and got_type and want_type != got_type:
        return Difference(Kind.DTYPE, f"want {want_type} ({want}), got {got_type} ({got})")
    return _compare_fields(want_fields, got_fields) or _compare_numbers(want_numbers, got_numbers)


FIELD_KINDS = {
    "dtype": Kind.DTYPE,
    "device": Kind.DEVICE,
    "requires_grad": Kind.GRAPH,
    "grad_fn": Kind.GRAPH,
}


def _compare_fields(want: dict[str, str], got: dict[str, str]) -> Difference | None:
    for name in sorted(want.keys() | got.keys()):
        w, g = want.get(name), got.get(name)
        if w and g and _is_tensor(w) and _is_tensor(g):
            if difference := _compare_tensors(w, g):
                return difference
        elif _collapse(w) != _collapse(g):
            kind = FIELD_KINDS.get(name, Kind.VALUE)
            return Difference(kind, f"{name}: want {w or 'none'}, got {g or 'none'}")
    return None


def _is_tensor(text: str) -> bool:
    return _split_tensors(text)[0] == ["", ""]


def _collapse(text: str | None) -> str | None:
    return text and " ".join(text.split())


def _shape(data: object) -> object:
    return [_shape(item) for item in data] if isinstance(data, list) else data is None


Numbered = tuple[tuple[int, ...], str]
"""A number of a tensor: its index, and how it is written."""


def _numbers(data: object, index: tuple[int, ...] = ()) -> Iterator[Numbered]:
    if isinstance(data, list):
        for position, item in enumerate(data):
            yield from _numbers(item, (*index, position))
    elif data is not None:
        yield index, str(data)


def _compare_numbers(wants: list[Numbered], gots: list[Numbered]) -> Difference | None:
    pairs = list(zip(wants, gots, strict=True))
    if any(want == "..." != got for (_, want), (_, got) in pairs):
        detail = "`...` stands for text: write the numbers beside it as torch prints them"
        return Difference(Kind.VALUE, detail)
    different = [(i, w, g) for (i, w), (_, g) in pairs if not _same_number(w, g)]
    if not different:
        return None
    near = all(_near(w, g) for _, w, g in different)
    index, want, got = different[0]
    where = f"element {list(index)}: " if index else ""
    return Difference(Kind.ROUNDING if near else Kind.VALUE, f"{where}want {want}, got {got}")


def _number_type(number: str) -> str | None:
    """Return of which type a number is, as printed; None if it is none, or may be of two."""
    if number in ("True", "False"):
        return "bool"
    if number.endswith("j"):
        return "complex"
    if re.fullmatch(r"[+-]?\d+", number):
        return "int"
    return "float" if re.fullmatch(_NUMBER, number) else None


def _number_types(numbers: list[Numbered]) -> str | None:
    found = {_number_type(number) for _, number in numbers} - {None}
    return " and ".join(sorted(map(str, found))) or None


def _same_number(want: str, got: str) -> bool:
    """Return whether two printed numbers agree to the digits that the want writes.

    A want without digits after its point stands for that very number.
    """
    if want == got:
        return True
    if (w := _COMPLEX.fullmatch(want)) and (g := _COMPLEX.fullmatch(got)):
        return all(map(_same_number, w.groups(), g.groups()))
    numbers = _FLOAT.fullmatch(want) and _FLOAT.fullmatch(got)
    return bool(numbers) and _form(want) == _form(got) and _agree(Decimal(want), Decimal(got))


_UNSIGNED = r"(?:0|[1-9][0-9]*)\.[0-9]*(?:e[+-](?:[0-9]{2}|[1-9][0-9]{2}))?"
_FLOAT = re.compile(f"-?{_UNSIGNED}")
_COMPLEX = re.compile(f"(-?{_UNSIGNED})([+-])({_UNSIGNED})j")


def _agree(want: Decimal, got: Decimal) -> bool:
    last, printed = (int(number.as_tuple().exponent) for number in (want, got))
    return last >= printed and abs(want - got) <= (Decimal(10) ** last / 2 if last < 0 else 0)


def _form(number: str) -> tuple[bool, bool, bool]:
    """Return sign, exponent, no digit after the point: `2.0000` may be rounded, `2.` is not."""
    return number.startswith("-"), "e" in number, number.endswith(".")


def _near(want: str, got: str) -> bool:
    """Return whether two numbers may be one float rounded differently."""
    floats = _number_type(want) == _number_type(got) == "float"
    if not floats or want.startswith("-") != got.startswith("-"):
        return False
    w, g = Decimal(want), Decimal(got)
    unit = Decimal(10) ** int(w.as_tuple().exponent)
    return abs(w - g) <= max(2 * unit if unit < Decimal("0.01") else Decimal(0), abs(w) / 1000)
