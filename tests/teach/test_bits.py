"""What `bits` draws, read back from its SVG and held against torch."""

import math
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
import torch

from claimbook.teach import bits

DTYPES = {
    torch.float16: torch.int16,
    torch.bfloat16: torch.int16,
    torch.float32: torch.int32,
    torch.float64: torch.int64,
}
VALUES = [0.0, -0.0, 0.1, 1.0, -1.5, 3.0, 1e-8, 1e5, 2.0**24 + 1, math.inf, -math.inf, math.nan]


def rows(figure):
    """The heading and the bits of each field, row by row."""
    for row in ET.fromstring(figure.svg).findall("g"):
        head, stored, *cells = row.iter("text")
        fields = {"sign": "", "exponent": "", "fraction": ""}
        for cell in cells:
            fields[cell.get("class")] += cell.text
        yield f"{head.text}. {stored.text}", fields


def joined(fields):
    return "".join(fields.values())


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize(("dtype", "integer"), DTYPES.items(), ids=map(str, DTYPES))
def test_the_drawn_bits_are_the_stored_number(value, dtype, integer):
    """Put together again, the drawn bits are the number that torch stores."""
    ((_, fields),) = rows(bits(value, dtype))
    width = torch.iinfo(integer).bits
    number = int(joined(fields), 2)
    signed = number - 2**width if number >= 2 ** (width - 1) else number
    stored = torch.tensor(value, dtype=dtype)
    again = torch.tensor(signed, dtype=integer).view(dtype)
    torch.testing.assert_close(again, stored, rtol=0, atol=0, equal_nan=True)
    assert torch.signbit(again) == torch.signbit(stored)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_fields_mean_what_their_names_say(dtype):
    """Sign, exponent and fraction give the number by the rule of IEEE 754."""
    for value in (0.1, 1.0, -1.5, 3.0, 1000.0):
        ((_, fields),) = rows(bits(value, dtype))
        bias = 2 ** (len(fields["exponent"]) - 1) - 1
        fraction = 1 + int(fields["fraction"], 2) / 2 ** len(fields["fraction"])
        number = (-1) ** int(fields["sign"]) * fraction * 2.0 ** (int(fields["exponent"], 2) - bias)
        assert number == torch.tensor(value, dtype=dtype).item()


@pytest.mark.parametrize("value", [v for v in VALUES if abs(v) < math.inf])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_step_is_that_of_nextafter(value, dtype):
    """The next number is the one that torch finds, away from zero; an infinity has none."""
    ((head, _),) = rows(bits(value, dtype))
    stored = torch.tensor(value, dtype=dtype)
    if not stored.isfinite():
        assert head.endswith(f"Stores {stored.item()}")
        return
    away = torch.tensor(math.copysign(math.inf, value), dtype=dtype)
    step = abs(torch.nextafter(stored, away).item() - stored.item())
    assert head.endswith(f"Stores {stored.item()}, the next is {step:.4g} away")


def test_words_say_the_same():
    """The text alternative holds each row's bits and heading."""
    figure = bits(-0.1, *DTYPES)
    first, *words = figure.alt.splitlines()
    assert first == "The bits of -0.1 in float16, bfloat16, float32, float64."
    for (head, fields), word in zip(rows(figure), words, strict=True):
        name, _, stored = head.partition(" (")
        digits = ", ".join(f"{field} {text}" for field, text in fields.items())
        assert word == f"{name}: {digits}. {stored.partition('. ')[2]}."


def test_bfloat16_stands_under_the_first_half_of_float32():
    """Equal fields stand below each other, so that one row can be read against the next."""
    root = ET.fromstring(bits(1.0, torch.float32, torch.bfloat16).svg)
    long, short = ([float(r.get("x")) for r in row.iter("rect")] for row in root.findall("g"))
    assert short == long[:16]


def test_the_words_of_32_bits_fit_a_phone():
    """On 358 pixels the letters are 10 pixels high, and none is cut."""
    root = ET.fromstring(bits(0.1, torch.float32, torch.float16, torch.bfloat16).svg)
    assert float(root.get("width")) * 5 / 6 <= 358


def test_rows_stand_apart():
    """Between the boxes of one row and of the next there is room for a heading."""
    rows = ET.fromstring(bits(0.1, *DTYPES).svg).findall("g")
    tops = [float(next(row.iter("rect")).get("y")) for row in rows]
    assert all(lower - upper > 40 for upper, lower in pairwise(tops))


def test_drawn_on_the_cpu_whatever_the_default_device():
    """A page is drawn from values alone, even if tensors are made elsewhere."""
    plain = bits(0.1, torch.float32).svg
    with torch.device("meta"):
        assert bits(0.1, torch.float32).svg == plain


@pytest.mark.parametrize("dtypes", [(), (torch.int32,), (torch.float32, torch.float8_e4m3fn)])
def test_what_is_no_such_float_is_refused(dtypes):
    """Integers and floats of other widths are refused in words."""
    with pytest.raises(ValueError, match="float of 16, 32 or 64 bits"):
        bits(1.0, *dtypes)
