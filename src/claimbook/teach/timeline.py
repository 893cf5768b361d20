"""Draw when things ran: a row per name, a block per span of time, over a common clock."""

from collections.abc import Iterator, Mapping, Sequence

from claimbook.teach.figure import BRAND, CHAR, NARROW, Figure, box, drawing, text

ROW, BAR, PAD = 26, 16, 8
BLOCK = f"rx:2px;stroke:currentColor;fill:{BRAND};fill-opacity:.3"
GRID = "stroke:currentColor;stroke-opacity:.25"

Spans = Sequence[tuple[float, float] | tuple[float, float, object]]
"""Start and end of each block in seconds, and its label; by default its number in the row."""


def timeline(rows: Mapping[str, Spans], *, alt: str) -> Figure:
    """Draw each row's spans as blocks from start to end; the clock starts at 0.

    A block shows its label if it is wide enough. ``alt`` says what the picture shows; number and
    times of each row's blocks are appended.

    Raises ValueError without spans, or for one that starts before 0 or ends before it starts.

    >>> print(timeline({"load": [(0, 0.5), (0.5, 1)], "train": [(0.5, 1.5)]}, alt="Both.").alt)
    Both.
    load: 2 blocks, the first from 0 to 0.5 s, the last to 1 s
    train: 1 block, the first from 0.5 to 1.5 s, the last to 1.5 s
    """
    spans = [span for row in rows.values() for span in row]
    if not spans or not all(0 <= span[0] <= span[1] for span in spans):
        raise ValueError("timeline() draws spans (start, end) with 0 <= start <= end")
    longest = max(span[1] for span in spans)
    left = 2 * PAD + CHAR * max(map(len, rows))
    scale = (NARROW - left - 3 * PAD) / longest if longest else 0.0
    bottom = PAD + ROW * len(rows)
    parts = [*_ticks(longest, left, scale, bottom)]
    parts += [_row(*r, left, PAD + ROW * place, scale) for place, r in enumerate(rows.items())]
    lines = [" ".join(alt.split()), *(_words(name, row) for name, row in rows.items() if row)]
    return Figure(drawing(NARROW, bottom + ROW, "".join(parts)), "\n".join(lines))


def _ticks(longest: float, left: float, scale: float, bottom: float) -> Iterator[str]:
    from matplotlib.ticker import MaxNLocator  # not at the top: the import takes 0.3 s

    ticks = MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(0, longest)
    for tick, x in [(tick, left + tick * scale) for tick in ticks if 0 <= tick <= longest]:
        yield f'<path d="M{x:.1f},{PAD / 2}V{bottom}" style="{GRID}"/>'
        yield text(x, bottom + BAR - 4, f"{tick:.3g}" if tick else "0 s", "tick", "middle")


def _row(name: str, row: Spans, left: float, top: float, scale: float) -> str:
    parts = [text(left - PAD, top + BAR - 4, name, "name", "end")]
    for number, (start, end, *labels) in enumerate(row, 1):
        x, width = left + start * scale, max((end - start) * scale, 1)
        label = str(*labels or (number,))
        parts.append(box(x, top, width, BAR, BLOCK))
        if width > CHAR * len(label):
            parts.append(text(x + width / 2, top + BAR - 4, label, "label", "middle"))
    return "".join(parts)


def _words(name: str, row: Spans) -> str:
    blocks = f"{len(row)} block" + ("s" if len(row) > 1 else "")
    first, last = row[0], row[-1]
    return (
        f"{name}: {blocks}, the first from {first[0]:.2g} to {first[1]:.2g} s, "
        f"the last to {last[1]:.2g} s"
    )
