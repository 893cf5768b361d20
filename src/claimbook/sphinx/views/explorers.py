"""The directive `explorer`: an interactive widget, and how its rule compared with torch.

Without JavaScript, a page shows only the code cell before it, which draws one case.
"""

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from claimbook.pages.text import near
from claimbook.records.reading import load_file, structure
from claimbook.sphinx import elements
from claimbook.sphinx.domain import claim_domain

RECORD = Path("records", "explorers.json")
"""The results of `python tests/explorers`, relative to docs."""
SCRIPTS = Path(__file__).parents[1] / "static" / "explorers"


class ExplorerDirective(SphinxDirective):
    """Shows the explorer named by its argument; `start` is the first case."""

    required_arguments = 1
    option_spec: ClassVar[dict[str, Any]] = {"start": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Return the element that the script fills."""
        name = self.arguments[0]
        if not (SCRIPTS / f"{name}.js").exists():
            known = sorted(s.stem.removesuffix("-rule") for s in SCRIPTS.glob("*-rule.js"))
            raise self.error(
                f"there is no explorer `{name}`{near(name, known) or f'; there are {known}'}"
            )
        record = Path(self.env.srcdir, RECORD)
        self.env.note_dependency(str(record))
        kept = load_file(record, _agreements, "no record of explorers", self._fail) or {}
        said = escape(kept[name].said) if name in kept else ""
        start = escape(self.options.get("start", ""))
        claim_domain(self.env).pages[self.env.docname].explorers.append(name)
        text = (
            f'<div class="explorer" id="explore-{name}" data-explorer="{name}" '
            f'data-start="{start}">\n<p class="explorer-agreed">{said}</p></div>\n'
        )
        return [elements.site_html("", text, format="html")]

    def _fail(self, place: str, why: str) -> None:
        raise self.error(f"{place}: {why}")


@dataclass(frozen=True)
class Agreement:
    """The result of comparing an explorer with torch."""

    said: str
    """How many cases agreed, in a sentence."""


def _agreements(data: Any) -> dict[str, Agreement]:
    return structure(data, dict[str, Agreement])
