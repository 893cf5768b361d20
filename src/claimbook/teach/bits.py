"""Draw the bits of a float, one row per dtype: sign, exponent and fraction."""

from math import isfinite, log2

import torch

from claimbook.teach.figure import BRAND, CHAR, Figure, box, drawing, text

CELL, HIGH, GAP, HEAD, ROW, PAD = 10, 20, 6, 32, 72, 8
SAME_WIDTH = {16: torch.int16, 32: torch.int32, 64: torch.int64}
FIELDS = {"sign": "0", "exponent": ".45", "fraction": ".12"}
"""Field of a float → opacity of its boxes."""


def bits(value: float, *dtypes: torch.dtype) -> Figure:
    """Draw how each dtype stores ``value``, with the stored value and the gap to the next one.

    The next one is further from zero; infinities and NaN have none.

    Raises ValueError without dtypes, or for one that is not a float of 16, 32 or 64 bits.

    >>> print(bits(1.5, torch.float16, torch.bfloat16).alt)
    The bits of 1.5 in float16, bfloat16.
    float16: sign 0, exponent 01111, fraction 1000000000. Stores 1.5, the next is 0.0009766 away.
    bfloat16: sign 0, exponent 01111111, fraction 1000000. Stores 1.5, the next is 0.007812 away.
    """
    if not dtypes or not all(d.is_floating_point and d.itemsize > 1 for d in dtypes):
        raise ValueError("bits() draws at least one dtype, each a float of 16, 32 or 64 bits")
    names = [str(dtype).removeprefix("torch.") for dtype in dtypes]
    rows = [_fields(value, dtype) for dtype in dtypes]
    stored = [_stored(value, dtype) for dtype in dtypes]
    drawn = [
        _row(name, fields, words, PAD + ROW * number)
        for number, (name, fields, words) in enumerate(zip(names, rows, stored, strict=True))
    ]
    longest = max(sum(map(len, fields.values())) for fields in rows)
    width = 2 * PAD + max(CELL * longest + 2 * GAP, CHAR * max(map(len, stored)))
    words = [
        f"{name}: {', '.join(f'{field} {digits}' for field, digits in fields.items())}. {text}."
        for name, fields, text in zip(names, rows, stored, strict=True)
    ]
    svg = drawing(width, ROW * len(rows), "".join(drawn))
    return Figure(svg, "\n".join([f"The bits of {value} in {', '.join(names)}.", *words]))


def _pattern(value: float, dtype: torch.dtype) -> torch.Tensor:
    """Reinterpret the float's bytes as a signed integer of the same width."""
    return torch.tensor(value, dtype=dtype, device="cpu").view(SAME_WIDTH[dtype.itemsize * 8])


def _fields(value: float, dtype: torch.dtype) -> dict[str, str]:
    width = dtype.itemsize * 8
    digits = f"{int(_pattern(value, dtype)) % 2**width:0{width}b}"
    start = width - round(-log2(torch.finfo(dtype).eps))  # start of the fraction
    return dict(zip(FIELDS, (digits[0], digits[1:start], digits[start:]), strict=True))


def _stored(value: float, dtype: torch.dtype) -> str:
    pattern = _pattern(value, dtype)
    here = float(pattern.view(dtype))
    if not isfinite(here):
        return f"Stores {here}"
    step = abs(float((pattern + 1).view(dtype)) - here)
    return f"Stores {here}, the next is {step:.4g} away"


def _row(name: str, fields: dict[str, str], stored: str, top: int) -> str:
    widths = " + ".join(str(len(digits)) for digits in fields.values())
    parts = [
        text(PAD, top + 10, f"{name} ({widths} bits)", "name"),
        text(PAD, top + 25, stored, "name"),
    ]
    x = PAD
    for field, digits in fields.items():
        parts += [_cell(field, digit, x + CELL * i, top + HEAD) for i, digit in enumerate(digits)]
        x += CELL * len(digits) + GAP
    return f'<g class="row">{"".join(parts)}</g>'


def _cell(field: str, digit: str, x: int, top: int) -> str:
    look = f"stroke:currentColor;stroke-width:.6;fill:{BRAND};fill-opacity:{FIELDS[field]}"
    return box(x, top, CELL, HIGH, look) + text(x + CELL / 2, top + 15, digit, field, "middle")
