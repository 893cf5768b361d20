"""What a build warned of, kept in `warnings.txt` beside the site."""

import re
from pathlib import Path

HEADLINE = re.compile(r"(.*docs/(?P<page>.+?)\.md(:\d+)?|.*): (WARNING|ERROR): |  line \d+: ")
"""Where a warning begins, or says how an output differs from the page."""


def log_of(site: Path) -> str:
    """Where the builds of a site keep their warnings."""
    return str(site.resolve().parent / "warnings.txt")


def complaints(site: Path) -> list[str]:
    """What the last build warned of, in lines; has the next one read those pages once more.

    Sphinx alone would not, and would not know then what is wrong with them. So this comes before
    each build, whatever became of the last one.
    """
    log = Path(log_of(site))
    text = log.read_text("utf-8") if log.is_file() else ""
    found = [*filter(None, map(HEADLINE.match, text.splitlines(True)))]
    for line in found:
        (site / ".doctrees" / f"{line['page']}.doctree").unlink(missing_ok=True)
    return [line.string for line in found]
