"""The directive `bench`: what the last benchmark measured, on which machine."""

import json
from collections.abc import Callable
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from claimbook.sphinx import render


class BenchDirective(SphinxDirective):
    """Shows docs/records/bench.json; a sentence in its place while there is none."""

    def run(self) -> list[nodes.Node]:
        """Bars for each set of claims, and tables for growth and builds, each with its machine."""
        name, path = self.env.relfn2path("/records/bench.json")
        if not Path(path).exists():
            return [nodes.paragraph("", "No benchmark has been recorded yet.")]
        data = json.loads(Path(path).read_text("utf-8"))
        self.env.note_dependency(name)
        shown: list[nodes.Node] = []
        for machine, parts in groupby(data, lambda part: _machine(data[part])):
            shown += [node for part in parts for node in PARTS[part](data[part]["figures"])]
            shown.append(nodes.paragraph("", machine))
        return shown


def _machine(part: dict[str, Any]) -> str:
    environment, recorded = part["environment"], part["recorded"]
    return (
        f"Measured on {part['cores']} cores of {environment['device']}, {environment['os']}, "
        f"Python {environment['python']}, torch {environment['torch']}, on {recorded['date']}."
    )


def _bars(title: str, figures: dict[str, Any]) -> list[nodes.Node]:
    from claimbook.teach import bars

    seconds = {n + " (some fail)" * row["failed"]: row["median"] for n, row in figures.items()}
    figure = bars(seconds, unit="s", alt=f"Seconds to run {title}; shorter is better.")
    says = f"Seconds to run {title}, start of Python and of torch included:"
    return [nodes.paragraph("", says), nodes.raw("", figure._repr_html_(), format="html")]


def _growth(figures: list[dict[str, Any]]) -> list[nodes.Node]:
    rows = [
        render.plain(
            f"{row['claims']:,} claims", f"{row['seconds']:.1f} s", f"{row['bytes'] >> 20} MiB"
        )
        for row in figures
    ]
    return [render.table(["Growth", "Time", "Largest process"], rows, [40, 30, 30])]


def _builds(figures: dict[str, Any]) -> list[nodes.Node]:
    rows = [render.plain(name, f"{row['median']:.1f} s") for name, row in figures.items()]
    return [render.table(["Build of the site", "Time"], rows, [60, 40])]


PARTS: dict[str, Callable[[Any], list[nodes.Node]]] = {
    "book": partial(_bars, "the claims that the book had then"),
    "many": partial(_bars, "500 small claims"),
    "growth": _growth,
    "builds": _builds,
}
