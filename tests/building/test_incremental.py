"""A build after any edit leaves the site that a build from nothing would make."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import CONF, PAGES, PRODUCT, SHAPE, TinyBook, claim_text, python

FURO = CONF.replace("alabaster", "furo") + "myst_heading_anchors = 3\n"
STYLED = FURO + 'html_static_path = ["_static"]\nhtml_css_files = ["own.css"]\n'
INDEX = """\
# Book

```{counts}
```

```{route} All of it
sums/sums
tools/a
```

```{toctree}
sums/index
tools/index
```

```{toctree}
:caption: The whole
ledger
claims
errors
torch
cards
```
"""
PART = "# {}\n\n```{{overview}}\n```\n\n```{{toctree}}\n{}\n```\n"
SUMS = f"""\
# Sums

Of numbers.

## What does a sum do?

**In short.** It adds.

{PAGES["a/sums"].removeprefix("# Sums")}
"""
BOOK = {
    "index": INDEX,
    "sums/index": PART.format("Part one", "sums\nshapes\nlinks"),
    "sums/sums": SUMS,
    "sums/shapes": f"# Shapes\n\n## Which?\n\n**In short.** Two.\n\n{SHAPE}\n"
    ":::{remark} basics-02.1\nHistory: `sum-adds`.\n:::\n",
    "sums/links": "# Links\n\nSee [](sums.md), [](sums.md#what-does-a-sum-do), {claim}`sum-adds`\n"
    "and [](../tools/a.md).\n",
    "tools/index": PART.format("Part two", "a\nb"),
    "tools/a": "# A\n\nProse.\n",
    "tools/b": "# B\n\nProse. {doc}`a`\n",
    **{
        name: f"# {name.title()}\n\n```{{{view}}}\n```\n"
        for name, view in {
            "ledger": "ledger",
            "claims": "claim-index",
            "errors": "errors",
            "torch": "apis",
            "cards": "practice",
        }.items()
    },
}


def replace(path: str, old: str, new: str) -> Callable[[TinyBook], None]:
    return lambda book: book.replace(path, old, new)


def move(book: TinyBook) -> None:
    (book.docs / "tools/b.md").rename(book.docs / "sums/b.md")
    book.replace("docs/tools/index.md", "new\nb", "new")
    book.replace("docs/sums/index.md", "links\n", "links\nb\n")
    book.replace("docs/sums/b.md", "{doc}`a`", "{doc}`/tools/a`")


def add(book: TinyBook) -> None:
    error = "Traceback (most recent call last):\nZeroDivisionError: division by zero"
    text = claim_text("zero", f">>> 1 / 0\n{error}", ":confirms: basics-01.3\n")
    book.write("docs/tools/new.md", f"# New\n\n## Why?\n\n**In short.** So.\n\n{text}")
    book.replace("docs/tools/index.md", "a\nb", "a\nnew\nb")


EDITS: dict[str, Callable[[TinyBook], None]] = {
    "prose": replace("docs/tools/a.md", "Prose.", "Other prose."),
    "the first paragraph": replace("docs/sums/sums.md", "Of numbers.", "Of many numbers."),
    "a title": replace("docs/tools/a.md", "# A\n", "# Alpha\n"),
    "a title that links show": replace("docs/sums/sums.md", "# Sums\n", "# Adding\n"),
    "the title of a part": replace("docs/tools/index.md", "# Part two", "# Tools"),
    "a title of a section": replace(
        "docs/sums/sums.md", "## What does a sum do?", "## What does a sum do? (It adds.)"
    ),
    "a link to it": replace(
        "docs/sums/links.md", "#what-does-a-sum-do", "#what-does-a-sum-do-it-adds"
    ),
    "a short answer": replace("docs/sums/sums.md", "It adds.\n", "It adds them all.\n"),
    "a page added": add,
    "an output": replace("docs/sums/sums.md", "sum()\ntensor(2.)", "sum() + 1\ntensor(3.)"),
    "a statement": replace("docs/sums/shapes.md", "It says so.", "Ones have a shape."),
    "a statement that links show": replace(
        "docs/sums/sums.md",
        ":confirms: basics-01.1\n\nIt says so.",
        ":confirms: basics-01.1\n\nIt says this.",
    ),
    "a claim renamed": replace("docs/sums/sums.md", "{claim} prod-multiplies", "{claim} prod-is"),
    "a claim moved": lambda book: (
        book.replace("docs/sums/sums.md", PRODUCT.replace("prod-multiplies", "prod-is"), ""),
        book.write("docs/tools/a.md", f"# Alpha\n\n{PRODUCT.replace('multiplies', 'is')}"),
    ),
    "a relation": replace("docs/sums/shapes.md", ":corrects:", ":qualifies:"),
    "an entry": replace("docs/register/basics.yaml", "A sum multiplies.", "A sum divides."),
    "a question": replace("docs/register/basics.yaml", "Who made it?", "Who wrote it?"),
    "the order of pages": replace("docs/sums/index.md", "sums\nshapes", "shapes\nsums"),
    "the order of parts": replace(
        "docs/index.md", "sums/index\ntools/index", "tools/index\nsums/index"
    ),
    "a page moved": move,
    "a claim deleted": replace("docs/tools/a.md", PRODUCT.replace("multiplies", "is"), "Gone."),
    "a page deleted that is still listed": lambda book: (book.docs / "tools/new.md").unlink(),
    "a page no longer listed": replace("docs/tools/index.md", "a\nnew\n", "a\n"),
    "a route": replace("docs/index.md", "sums/sums\n", "sums/sums\nsums/shapes\n"),
    "a caption": replace("docs/index.md", "The whole", "Everything"),
    "a stylesheet": replace("docs/_static/own.css", "red", "blue"),
}


def build(book: TinyBook, site: Path) -> int:
    """Builds a site beside its doctrees; gives the status."""
    options = ["-W", "--keep-going", "-d", f"{site}.trees"]
    done = python("-m", "sphinx", *options, "docs", str(site), cwd=book.root)
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return done.returncode


def files(site: Path) -> dict[str, bytes]:
    """All but the Anki decks, which hold the time at which they were made."""
    found = (path for path in sorted(site.rglob("*")) if path.is_file() and path.suffix != ".apkg")
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    """After each edit, in turn: the site that was built upon, and one built from nothing."""
    book = TinyBook(tmp_path_factory.mktemp("edited"), BOOK, conf=STYLED)
    book.write("docs/_static/own.css", "a { color: red }\n")
    upon = book.root / "upon"
    assert build(book, upon) == 0
    found = {}
    for name, edit in EDITS.items():
        edit(book)
        status = build(book, upon)
        anew = book.root / "anew"
        for place in (anew, anew.with_suffix(".trees")):
            shutil.rmtree(place, ignore_errors=True)
        assert (name, build(book, anew)) == (name, status)
        found[name] = files(upon), files(anew)
    return found


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_leaves_what_a_build_from_nothing_makes(sites, edit):
    """Every file of the site, and no other."""
    upon, anew = sites[edit]
    assert upon.keys() == anew.keys()
    assert [name for name in anew if upon[name] != anew[name]] == []


ENDS = """
def setup(app):
    import os
    app.connect("html-page-context", lambda *_: os._exit(1))
"""
"""Ends a build at the first page that it writes."""


def test_a_build_that_did_not_end_leaves_nothing_to_the_next(tmp_path):
    """It has kept what pages say and not written it; what it warned of, nobody knows."""
    book = TinyBook(tmp_path, BOOK, conf=FURO)
    upon, anew = tmp_path / "upon", tmp_path / "anew"
    assert build(book, upon) == 0
    EDITS["a title of a section"](book)
    book.write("docs/conf.py", FURO + ENDS)
    assert build(book, upon) == 1
    book.write("docs/conf.py", FURO)
    assert build(book, upon) == build(book, anew) == 1  # of a link to that section
    assert files(upon) == files(anew)


@pytest.mark.parametrize("fresh", [False, True])
def test_a_deleted_page_leaves_the_site(tmp_path, fresh):
    """Also where Sphinx forgot what was there, as after an upgrade; other files stay."""
    page = "---\norphan: true\n---\n# Old\n\nProse.\n"
    book = TinyBook(tmp_path, {**PAGES, "old": page})
    book.build()
    assert (book.site / "old.html").exists()
    (book.docs / "old.md").unlink()
    if fresh:
        (book.site / ".doctrees/environment.pickle").unlink()
    book.build()
    assert not [*book.site.glob("old.*")]
    assert (book.site / "index.html").exists()
