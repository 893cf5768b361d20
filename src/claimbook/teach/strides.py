"""Draw a tensor's storage as a row of boxes, with the indices that read each box."""

from itertools import product
from operator import mul

import torch
from torch import Tensor

from claimbook.teach.figure import BRAND, CELL, CHAR, NARROW, Figure, cell, drawing, number, text

PAD, LINE, MOST = 10, 18, 24
Readers = list[tuple[str, int]]
STEP = "fill:none;stroke:currentColor"


def strides(tensor: Tensor, title: str | None = None) -> Figure:
    """Draw the storage with positions above, values inside, and indices below.

    A box that no index reads is pale; one that several indices read (an expanded tensor) has them
    all below it. For each dimension an arrow shows how far one step goes; a dot, that it goes
    nowhere or beyond the storage.

    Raises ValueError for an empty storage, or one of more than 24 elements.

    >>> print(strides(torch.tensor([[5, 6, 7], [8, 9, 10]])[:, 1:], "Two columns").alt)
    Two columns: shape (2, 2), strides (3, 1), offset 1.
    The storage holds 5, 6, 7, 8, 9, 10.
    A step along dim 0 moves 3 positions, along dim 1 moves 1 position.
    [0,0] reads position 1, [0,1] position 2, [1,0] position 4, [1,1] position 5.
    """
    whole = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    whole.set_(tensor.untyped_storage())
    values = [*map(number, whole.tolist())]
    if not 1 <= len(values) <= MOST:
        raise ValueError(f"strides() draws a storage of 1 to {MOST} elements, not {len(values)}")
    readers, steps, start = _readers(tensor), tensor.stride(), int(tensor.storage_offset())
    heads = [title or "A tensor", f"shape {tuple(tensor.shape)}, strides {steps}, offset {start}"]
    head = ": ".join(heads)
    words = [f"{head}.", f"The storage holds {', '.join(values)}.", *_words(steps, readers)]
    if 2 * PAD + CHAR * len(head) <= NARROW:
        heads = [head]
    return Figure(_draw(heads, values, readers, tensor), "\n".join(words))


def _readers(tensor: Tensor) -> Readers:
    """Return each index, as text, with the storage position that it reads."""
    steps, start = tensor.stride(), tensor.storage_offset()
    return [
        (f"[{','.join(map(str, index))}]", start + sum(map(mul, index, steps)))
        for index in product(*map(range, tensor.shape))
    ]


def _words(steps: tuple[int, ...], readers: Readers) -> list[str]:
    moves = [f"along dim {d} moves {n} position{'s' * (n != 1)}" for d, n in enumerate(steps)]
    reads = [f"{index} position {position}" for index, position in readers]
    walk = ", ".join(reads).replace(" position", " reads position", 1)
    return ([f"A step {', '.join(moves)}."] if moves else []) + [f"{walk or 'No index reads'}."]


def _draw(heads: list[str], values: list[str], readers: Readers, tensor: Tensor) -> str:
    steps, start = tensor.stride(), int(tensor.storage_offset())
    below = [[index for index, place in readers if place == i] for i in range(len(values))]
    letters = max(len(words) for column in [values, *below] for words in column)
    width = max(CELL, CHAR * letters + PAD)
    # One more than values, as an empty slice may start past the end.
    xs = [PAD + width * (i + 0.5) for i in range(len(values) + 1)]
    top = PAD + LINE * (len(heads) + len(steps) + 1)
    parts = [text(PAD, PAD + 12 + LINE * i, words, "head") for i, words in enumerate(heads)]
    for dim, step in enumerate(steps):
        end = start + step if start + step < len(values) else start
        y = PAD + LINE * (dim + len(heads) + 0.5)
        parts.append(_step(xs[start], xs[end], y, f"dim {dim}: +{step}"))
    parts += [_cell(xs[i], top, width, i, values[i], below[i]) for i in range(len(values))]
    whole = max(xs[-1] + CHAR * 12, 2 * PAD + CHAR * max(map(len, heads)))
    height = top + CELL + LINE * max(map(len, below)) + PAD
    return drawing(whole, height, "".join(parts))


def _step(x: float, end: float, y: float, label: str) -> str:
    """Return a labelled arrow, or a dot."""
    head = f"M{end - 5:.1f},{y - 4}l5,4l-5,4" if end > x else f"M{x:.1f},{y}"
    dot = f'<circle cx="{x:.1f}" cy="{y}" r="2.5"/>'
    path = f'<path class="step" d="M{x:.1f},{y}H{end:.1f}{head}" style="{STEP}"/>'
    return dot + path + text(end + 8, y + 4, label, "dim")


def _cell(x: float, top: float, width: float, place: int, value: str, below: list[str]) -> str:
    look = f"stroke:{BRAND};fill:{BRAND};fill-opacity:.15" if below else STEP
    texts = [text(x, top - 4, str(place), "position", "middle")]
    texts += [cell(x - width / 2, top, width, value, look)]
    lines = enumerate(below, 1)
    texts += [text(x, top + CELL + LINE * i - 4, index, "index", "middle") for i, index in lines]
    pale = "" if below else ' opacity=".55"'
    return f"<g{pale}>{''.join(texts)}</g>"
