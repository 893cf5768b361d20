"""Turn number series into a Matplotlib chart, as SVG that belongs inside a page."""

import hashlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

INK = "#010203"  # stands for the page's text colour until the SVG is made
STYLES = (
    ("#0a7fd9", "-", "o"),
    ("#d55e00", "--", "s"),
    ("#0b9467", "-.", "^"),
    ("#b0589b", ":", "D"),
)
"""Colour, dash and marker of each series. Each colour has a contrast of at least 3:1 both on white
and on #131416, furo's dark page (WCAG 2.2, 1.4.11); dash and marker tell them apart without colour.
"""
KINDS: dict[str, Callable[[str, int], dict[str, Any]]] = {
    "line": lambda dash, gap: {"linestyle": dash, "markevery": gap},
    "steps": lambda dash, gap: {"linestyle": dash, "markevery": gap, "drawstyle": "steps-post"},
    "dots": lambda dash, gap: {"linestyle": "none"},
}
SIZE = (5.1, 3.25)
"""Inches. Shrunk to a phone, its words have 10 pixels."""
BESIDE = 24
"""Of so many letters the names of two series stand side by side."""
SETTINGS: dict[Any, object] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "claimbook",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
}


@dataclass(frozen=True)
class Look:
    """How a chart looks, beside its numbers."""

    x: str
    y: str
    kind: str
    log: bool
    logx: int
    """The base of a logarithmic x axis; 0 for a linear one."""
    rules: Mapping[str, float]
    """Vertical lines, by their names."""


def chart(numbers: Mapping[str, Sequence[float]], places: Sequence[float], look: Look) -> str:
    """Draw each series over the places, as one ``<svg>``."""
    # A machine that only records claims has no Matplotlib, and to import it takes 0.3 s.
    from matplotlib import style
    from matplotlib.figure import Figure as Canvas

    buffer = io.StringIO()
    with style.context(["default", SETTINGS]):  # and nothing of a matplotlibrc
        canvas = Canvas(figsize=SIZE, layout="constrained")
        axes = canvas.add_subplot(yscale="log" if look.log else "linear")
        axes.set_xlabel(_plain(look.x))
        # Read without tilting the head, and a long name has the picture's width.
        axes.set_title(_plain(look.y), loc="left", fontsize="medium")
        for (name, values), (colour, dash, marker) in zip(numbers.items(), STYLES, strict=False):
            gap = max(1, len(values) // 8)
            text = _plain(f" {name}")  # the blank: a legend leaves out what starts with "_"
            drawn = {**KINDS[look.kind](dash, gap), "color": colour, "marker": marker}
            axes.plot(places[: len(values)], values, label=text, **drawn)
            if values[-1] == inf:
                last = values.index(inf) - 1
                arrow = {"arrowstyle": "<-", "color": colour, "linewidth": 1.5, "shrinkB": 0}
                where = {"xytext": (0, 32), "textcoords": "offset points", "ha": "center"}
                axes.annotate("inf", (places[last], values[last]), arrowprops=arrow, **where)
        for name, place in look.rules.items():
            axes.axvline(place, color=INK, linewidth=0.8, linestyle=":")
            where = {"xytext": (4, 4), "textcoords": "offset points"}
            axes.annotate(_plain(name), (place, 0), xycoords=("data", "axes fraction"), **where)
        _ticks(axes, places, look.logx)
        if len(numbers) > 1:
            columns = 2 if max(map(len, numbers)) <= BESIDE else 1
            canvas.legend(loc="outside lower center", ncols=columns, frameon=False)
        canvas.savefig(buffer, format="svg", transparent=True)
    return _inline(buffer.getvalue())


def _ticks(axes: Any, places: Sequence[float], base: int) -> None:
    """Mark whole numbers where all places are whole, and powers of the base on a log axis."""
    if base:
        axes.set_xscale("log", base=base)
        if 1 <= min(places) <= max(places) < 10**4:
            axes.xaxis.set_major_formatter("{x:,g}")
    elif all(place == int(place) for place in places):
        axes.locator_params(axis="x", integer=True)


def _plain(text: str) -> str:
    """Keep Matplotlib from reading ``$…$`` as mathematics."""
    return text.replace("$", r"\$")


def _inline(document: str) -> str:
    """Cut what is meant for a file of its own, and make ids differ from other figures' ids."""
    svg = document[document.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    mark = "c" + hashlib.sha256(svg.encode()).hexdigest()[:8]  # an id begins with a letter
    svg = re.sub(r'<\w+ id="|xlink:href="#|url\(#', rf"\g<0>{mark}-", svg)
    return svg.replace("<svg", '<svg class="chart" stroke-linejoin="round"', 1).strip()
