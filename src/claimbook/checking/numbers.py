"""Compare printed numbers: the same, or equal up to rounding."""

import re
from decimal import Decimal

NUMBER = re.compile(r"[+-]?(?:\d+\.\d*|\.\d+|\d+)(?:e[+-]?\d{1,3})?")  # short enough for Decimal
_UNSIGNED = r"(?:0|[1-9][0-9]*)\.[0-9]*(?:e[+-](?:[0-9]{2}|[1-9][0-9]{2}))?"
_FLOAT = re.compile(f"-?{_UNSIGNED}")
_COMPLEX = re.compile(f"(-?{_UNSIGNED})([+-])({_UNSIGNED})j")


def type_of(number: str) -> str | None:
    """Return the type of a printed number; None if it is no number, or the type is ambiguous."""
    if number in ("True", "False"):
        return "bool"
    if number.endswith("j"):
        return "complex"
    if re.fullmatch(r"[+-]?\d+", number):
        return "int"
    return "float" if NUMBER.fullmatch(number) else None


def same(want: str, got: str) -> bool:
    """Return whether two printed numbers agree to the digits of the want.

    A want without digits after its point must match exactly.
    """
    if want == got:
        return True
    if (w := _COMPLEX.fullmatch(want)) and (g := _COMPLEX.fullmatch(got)):
        return all(map(same, w.groups(), g.groups()))
    numbers = _FLOAT.fullmatch(want) and _FLOAT.fullmatch(got)
    return bool(numbers) and _form(want) == _form(got) and _agree(Decimal(want), Decimal(got))


def _agree(want: Decimal, got: Decimal) -> bool:
    last, printed = (int(number.as_tuple().exponent) for number in (want, got))
    return last >= printed and abs(want - got) <= (Decimal(10) ** last / 2 if last < 0 else 0)


def _form(number: str) -> tuple[bool, bool, bool]:
    """Return whether it is negative, has an exponent, ends in a point (`2.` is exact)."""
    return number.startswith("-"), "e" in number, number.endswith(".")


def near(want: str, got: str) -> bool:
    """Return whether two numbers may be the same float, rounded differently."""
    floats = type_of(want) == type_of(got) == "float"
    if not floats or want.startswith("-") != got.startswith("-"):
        return False
    w, g = Decimal(want), Decimal(got)
    unit = Decimal(10) ** int(w.as_tuple().exponent)
    digits = 2 * unit if unit < Decimal("0.01") else Decimal(0)
    if w:  # else 0.001, which has one digit, would match 0.003
        digits = min(digits, abs(w) / 20)
    return abs(w - g) <= max(digits, abs(w) / 1000)
