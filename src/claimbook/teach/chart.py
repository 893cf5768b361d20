"""Turn number series into a Matplotlib chart, as SVG to embed in a page."""

import hashlib
import io
import re
from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any

Numbers = Sequence[float]
Series = Mapping[str, Numbers]
Rules = Mapping[str, float]
INK = "#010203"  # placeholder for the page's text colour
STYLES = (
    ("#0a7fd9", "-", "o"),
    ("#d55e00", "--", "s"),
    ("#0b9467", "-.", "^"),
    ("#b0589b", ":", "D"),
)
"""Colour, dash and marker of each series. Each colour has a contrast of at least 3:1 both on white
and on #131416, furo's dark page (WCAG 2.2, 1.4.11); dash and marker tell them apart without colour.
"""
SIZE = (5.1, 3.25)
"""Inches; scaled to a phone, letters are 10 pixels high."""
BESIDE = 24
"""Longest name, in letters, for a legend with two columns."""
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


def chart(
    lines: Series, at: Numbers, x: str, y: str, log: bool, logx: int, rules: Rules, **options: Any
) -> str:
    """Draw each series over the places ``at``, as an ``<svg>``; see `lines` for the arguments."""
    # Not at the top: the import takes 0.3 s, and machines that only record lack Matplotlib.
    from matplotlib import style
    from matplotlib.figure import Figure as Canvas

    buffer = io.StringIO()
    with style.context(["default", SETTINGS]):  # ignores any matplotlibrc
        canvas = Canvas(figsize=SIZE, layout="constrained")
        axes = canvas.add_subplot(yscale="log" if log else "linear")
        axes.set_xlabel(_plain(x))
        # As the title: horizontal, and with the full width for long names.
        axes.set_title(_plain(y), loc="left", fontsize="medium")
        for (name, values), (colour, dash, marker) in zip(lines.items(), STYLES, strict=False):
            gap = max(1, len(values) // 8)
            text = _plain(f" {name}")  # the space: legends skip labels that start with "_"
            look: dict[str, Any] = {"linestyle": dash, "marker": marker, "markevery": gap}
            axes.plot(at[: len(values)], values, color=colour, label=text, **look | options)
            if values[-1] == inf:
                end = [p for p in zip(at, values, strict=False) if isfinite(p[1])][-1]
                arrow = {"arrowstyle": "<-", "color": colour}
                axes.annotate("inf", end, (-12, 32), textcoords="offset points", arrowprops=arrow)
        for name, place in rules.items():
            axes.axvline(place, color=INK, linestyle=":", label=_plain(f" {name}"))
        if logx:
            axes.set_xscale("log", base=logx)
        elif all(map(float.is_integer, at)):
            axes.locator_params(axis="x", integer=True)
        if len(lines) > 1 or rules:
            columns = 2 if max(map(len, (*lines, *rules))) <= BESIDE else 1
            canvas.legend(loc="outside lower center", ncols=columns, frameon=False)
        canvas.savefig(buffer, format="svg", transparent=True)
    return _inline(buffer.getvalue())


def _plain(text: str) -> str:
    """Keep Matplotlib from parsing ``$…$`` as mathematics."""
    return text.replace("$", r"\$")


def _inline(document: str) -> str:
    """Strip what an inline SVG must not have, and make ids unique among figures."""
    svg = document[document.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>", "", svg, flags=re.DOTALL)
    mark = "c" + hashlib.sha256(svg.encode()).hexdigest()[:8]  # an id begins with a letter
    svg = re.sub(r'<\w+ id="|xlink:href="#|url\(#', rf"\g<0>{mark}-", svg)
    return svg.replace("<svg", '<svg class="chart" stroke-linejoin="round"', 1).strip()
