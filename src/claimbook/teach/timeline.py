"""Draw when things ran: one row a name, one block a span of time, over a common clock."""

from collections.abc import Mapping, Sequence

from claimbook.teach.figure import BRAND, CHAR, Figure, drawing, text

ROW, BAR, PAD, LENGTH = 26, 16, 8, 420

Spans = Sequence[tuple[float, float]]
"""Start and end of each block, in seconds."""


def timeline(rows: Mapping[str, Spans], *, alt: str) -> Figure:
    """Draw each row's spans as blocks from their start to their end, the clock from 0 on.

    ``alt`` says what is to be seen; how often and until when each row ran is added to it.

    Raises ValueError for no span at all, or one that starts before 0 or ends before it starts.

    >>> print(timeline({"load": [(0, 0.5), (0.5, 1)], "train": [(0.5, 1.5)]}, alt="Both.").alt)
    Both.
    load: 2 blocks, the first from 0 to 0.5 s, the last to 1 s
    train: 1 block, the first from 0.5 to 1.5 s, the last to 1.5 s
    """
    spans = [span for row in rows.values() for span in row]
    if not spans or not all(0 <= start <= end for start, end in spans):
        raise ValueError("timeline() draws spans (start, end) with 0 <= start <= end")
    longest = max(end for _, end in spans)
    left = PAD + CHAR * max(map(len, rows))
    scale = LENGTH / longest if longest else 0.0
    blocks = "".join(
        _row(name, row, left, PAD + ROW * number, scale)
        for number, (name, row) in enumerate(rows.items())
    )
    width, bottom = left + LENGTH + 3 * PAD, PAD + ROW * len(rows)
    clock = text(left + PAD, bottom + BAR - 4, f"0 to {longest:.2f} s", "clock")
    lines = [" ".join(alt.split()), *(_words(name, row) for name, row in rows.items() if row)]
    return Figure(drawing(width, bottom + ROW, blocks + clock), "\n".join(lines))


def _row(name: str, row: Spans, left: float, top: float, scale: float) -> str:
    blocks = "".join(
        f'<rect x="{left + PAD + start * scale:.1f}" y="{top:.0f}" '
        f'width="{max((end - start) * scale, 1):.1f}" height="{BAR}" rx="2" '
        f'style="fill:{BRAND};fill-opacity:{0.55 if number % 2 else 0.95}"/>'
        for number, (start, end) in enumerate(row)
    )
    return text(left, top + BAR - 4, name, "name", "end") + blocks


def _words(name: str, row: Spans) -> str:
    blocks = f"{len(row)} block" + ("s" if len(row) > 1 else "")
    first, last = row[0], row[-1]
    return (
        f"{name}: {blocks}, the first from {first[0]:.2g} to {first[1]:.2g} s, "
        f"the last to {last[1]:.2g} s"
    )
