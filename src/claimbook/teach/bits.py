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
    rows = [_Row(value, dtype) for dtype in dtypes]
    longest = max(sum(map(len, row.fields.values())) for row in rows)
    width = 2 * PAD + max(CELL * longest + 2 * GAP, CHAR * max(len(row.stored) for row in rows))
    svg = drawing(width, ROW * len(rows), "".join(row.drawn(i) for i, row in enumerate(rows)))
    head = f"The bits of {value} in {', '.join(row.name for row in rows)}."
    return Figure(svg, "\n".join([head, *(row.words() for row in rows)]))


class _Row:
    """A value as one dtype stores it."""

    def __init__(self, value: float, dtype: torch.dtype) -> None:
        self.name = str(dtype).removeprefix("torch.")
        width = dtype.itemsize * 8
        # The float's bytes as a signed integer of the same width.
        pattern = torch.tensor(value, dtype=dtype, device="cpu").view(SAME_WIDTH[width])
        digits = f"{int(pattern) % 2**width:0{width}b}"
        start = width - round(-log2(torch.finfo(dtype).eps))  # start of the fraction
        self.fields = dict(zip(FIELDS, (digits[0], digits[1:start], digits[start:]), strict=True))
        here, further = float(pattern.view(dtype)), float((pattern + 1).view(dtype))
        self.stored = f"Stores {here}"
        if isfinite(here):
            self.stored += f", the next is {abs(further - here):.4g} away"

    def words(self) -> str:
        """Describe the row."""
        fields = ", ".join(f"{field} {digits}" for field, digits in self.fields.items())
        return f"{self.name}: {fields}. {self.stored}."

    def drawn(self, place: int) -> str:
        """Draw the row, the first at ``place`` 0."""
        x, top = PAD, PAD + ROW * place
        widths = " + ".join(str(len(digits)) for digits in self.fields.values())
        parts = [text(x, top + 10, f"{self.name} ({widths} bits)", "name")]
        parts += [text(x, top + 25, self.stored, "name")]
        for field, digits in self.fields.items():
            look = f"stroke:currentColor;stroke-width:.6;fill:{BRAND};fill-opacity:{FIELDS[field]}"
            for digit in digits:
                parts += [box(x, top + HEAD, CELL, HIGH, look)]
                parts += [text(x + CELL / 2, top + HEAD + 15, digit, field, "middle")]
                x += CELL
            x += GAP
        return f'<g class="row">{"".join(parts)}</g>'
