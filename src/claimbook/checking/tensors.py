"""Find printed tensors, `tensor(…)`, in a text and compare them by structure."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise

from claimbook.checking import numbers
from claimbook.checking.difference import Difference, Kind


def split(text: str) -> tuple[list[str], list[str]]:
    """Return the texts around the tensors (one more than there are tensors), and the tensors."""
    texts, tensors, position = [], [], 0
    for start, end in sorted(_spans(text)):
        if start >= position:  # else it is nested in the one before
            texts.append(text[position:start])
            tensors.append(text[start:end])
            position = end
    return [*texts, text[position:]], tensors


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each `tensor(` whose parenthesis closes."""
    opened: list[re.Match[str]] = []
    for mark in re.finditer(r"(?:\btensor)?\(|[\[\])]", text):
        if mark[0][-1] in "([":
            opened.append(mark)
        elif opened and (opening := opened.pop())[0] == "tensor(" and mark[0] == ")":
            yield opening.start(), mark.end()


_MARK = re.compile(r"'[^'\n]*'|[()\[\],]")
_DEEPER = {"(": 1, "[": 1, ")": -1, "]": -1}


def _parse(text: str) -> tuple[object, dict[str, str]]:
    """Return the data of `tensor(...)`, and its keyword arguments."""
    data, fields = [], {}
    for part in _split_arguments(text[len("tensor(") : -1]):
        if match := re.fullmatch(r"(\w+)=(.*)", part, re.DOTALL):
            fields[match[1]] = match[2]
        else:
            data.append(part)
    return _parse_data(",".join(data)) if data else None, fields


def _split_arguments(text: str) -> list[str]:
    """Split a text at the commas that are in no brackets and no quotes."""
    depth, ends = 0, [-1]
    for mark in _MARK.finditer(text):
        depth += _DEEPER.get(mark[0], 0)
        if mark[0] == "," and depth == 0:
            ends.append(mark.start())
    return [text[a + 1 : b].strip() for a, b in pairwise([*ends, len(text)])]


def _parse_data(text: str) -> object:
    """Return a number as a string, or a nested list of them; the text itself if it is neither."""
    quoted = re.sub(r"[^\[\],\s]+", lambda word: json.dumps(word[0]), text)
    try:
        (found,) = json.loads(f"[{quoted}]")
    except ValueError:  # not printed by torch
        return text
    return found


def differences(want: str, got: str) -> Iterator[Difference]:
    """Yield how two tensors differ; if shapes or number types differ, nothing else."""
    (want_data, want_fields), (got_data, got_fields) = _parse(want), _parse(got)
    same_shape = _shape(want_data) == _shape(got_data)
    if not same_shape or want_fields.get("size") != got_fields.get("size"):
        yield Difference(Kind.SHAPE, f"want {_collapse(want)}, got {_collapse(got)}")
        return
    want_numbers, got_numbers = list(_numbers(want_data)), list(_numbers(got_data))
    want_type, got_type = _types(want_numbers), _types(got_numbers)
    if want_type and got_type and want_type != got_type:
        yield Difference(Kind.DTYPE, f"want {want_type} ({want}), got {got_type} ({got})")
        return
    yield from _between_fields(want_fields, got_fields)
    yield from _between_numbers(want_numbers, got_numbers)


FIELD_KINDS = {
    "dtype": Kind.DTYPE,
    "device": Kind.DEVICE,
    "requires_grad": Kind.GRAPH,
    "grad_fn": Kind.GRAPH,
}


def _between_fields(want: dict[str, str], got: dict[str, str]) -> Iterator[Difference]:
    for name in sorted(want.keys() | got.keys()):
        w, g = want.get(name), got.get(name)
        if w and g and _is_tensor(w) and _is_tensor(g):
            yield from differences(w, g)
        elif _collapse(w) != _collapse(g):
            kind = FIELD_KINDS.get(name, Kind.VALUE)
            yield Difference(kind, f"{name}: want {w or 'none'}, got {g or 'none'}")


def _is_tensor(text: str) -> bool:
    return split(text)[0] == ["", ""]


def _collapse(text: str | None) -> str | None:
    return text and " ".join(text.split())


def _shape(data: object) -> object:
    return [_shape(item) for item in data] if isinstance(data, list) else data is None


Numbered = tuple[tuple[int, ...], str]
"""The index of an element, and the element as it is written."""


def _numbers(data: object, index: tuple[int, ...] = ()) -> Iterator[Numbered]:
    if isinstance(data, list):
        for position, item in enumerate(data):
            yield from _numbers(item, (*index, position))
    elif data is not None:
        yield index, str(data)


def _between_numbers(wants: list[Numbered], gots: list[Numbered]) -> Iterator[Difference]:
    pairs = list(zip(wants, gots, strict=True))
    if any(want == "..." != got for (_, want), (_, got) in pairs):
        detail = "`...` stands for text: write the numbers beside it as torch prints them"
        yield Difference(Kind.VALUE, detail)
        return
    different = [(i, w, g) for (i, w), (_, g) in pairs if not numbers.same(w, g)]
    if different:
        near = all(numbers.near(w, g) for _, w, g in different)
        index, want, got = different[0]
        where = f"element {list(index)}: " if index else ""
        yield Difference(Kind.ROUNDING if near else Kind.VALUE, f"{where}want {want}, got {got}")


def _types(written: list[Numbered]) -> str | None:
    found = {numbers.type_of(number) for _, number in written} - {None}
    return " and ".join(sorted(map(str, found))) or None
