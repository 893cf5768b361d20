"""The directive `bench`: what the last benchmark measured, on which machine."""

import json
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from claimbook.sphinx import render

WHAT = {"book": "the claims that the book had then", "many": "500 small claims"}


class BenchDirective(SphinxDirective):
    """Shows docs/records/bench.json; a sentence in its place while there is none."""

    def run(self) -> list[nodes.Node]:
        """Bars for each set of claims, and tables for growth and builds."""
        name, path = self.env.relfn2path("/records/bench.json")
        try:
            with open(path, encoding="utf-8") as file:  # noqa: PTH123 (relfn2path gives a text)
                data = json.load(file)
        except FileNotFoundError:
            return [nodes.paragraph("", "No benchmark has been recorded yet.")]
        self.env.note_dependency(name)
        return [_machine(data), *_bars(data), _growth(data), _builds(data)]


def _machine(data: dict[str, Any]) -> nodes.paragraph:
    environment, recorded = data["environment"], data["recorded"]
    text = (
        f"Measured on {data['cores']} cores of {environment['device']}, {environment['os']}, "
        f"Python {environment['python']}, torch {environment['torch']}, on {recorded['date']}."
    )
    return nodes.paragraph("", text)


def _bars(data: dict[str, Any]) -> list[nodes.Node]:
    from claimbook.teach import bars

    found: list[nodes.Node] = []
    for key, title in WHAT.items():
        seconds = {_label(name, row): row["median"] for name, row in data[key].items()}
        figure = bars(seconds, unit="s", alt=f"Seconds to run {title}; shorter is better.")
        found += [
            nodes.paragraph("", f"Seconds to run {title}, start of Python and of torch included:"),
            nodes.raw("", figure._repr_html_(), format="html"),
        ]
    return found


def _label(name: str, row: dict[str, Any]) -> str:
    return f"{name} (some fail)" if row["failed"] else name


def _growth(data: dict[str, Any]) -> nodes.table:
    rows = [
        _cells(f"{row['claims']:,} claims", f"{row['seconds']:.1f} s", f"{row['bytes'] >> 20} MiB")
        for row in data["growth"]
    ]
    return render.table(["Growth", "Time", "Largest process"], rows, [40, 30, 30])


def _builds(data: dict[str, Any]) -> nodes.table:
    rows = [_cells(name, f"{row['median']:.1f} s") for name, row in data["builds"].items()]
    return render.table(["Build of the site", "Time"], rows, [60, 40])


def _cells(*texts: str) -> render.Cells:
    return tuple([nodes.Text(text)] for text in texts)
