"""The command that builds the site: what it says again, and what it leaves."""

import os
import subprocess
import sys

import pytest

from claimbook.engine.fork_server import KEPT
from helpers import SUM, TinyBook, is_soon, processes


def test_a_build_without_a_change_runs_nothing(tmp_path):
    """It reads no page, runs no claim and writes no page."""
    book = TinyBook(tmp_path, {"index": f"# I\n\n{SUM}"})
    assert book.build().returncode == 0
    said = book.build().stdout
    assert "claims on cpu: 0 run, 1 from records, 0 never run" in said
    assert "pages written: genindex.html, search.html\n" in said  # as Sphinx always does


FAULTS = {
    "link.md": ("# A\n\n[x](nofile.md)\n", "nofile.md"),
    "role.md": ("# A\n\n{claim}`nowhere`\n", "nowhere"),
    "claim.md": (f"# A\n\n{SUM.replace('2.)', '3.)')}", "want 3., got 2."),
    "table.md": ("# A\n\n```{csv-table}\n:file: gone.csv\n```\n", "gone.csv"),
    "text.rst": ("A\n=\n\n:claim:`nowhere`\n", "nowhere"),
}
"""Each on a page of its own: the next build reads a page again for what was wrong on it."""


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """What three builds say of a book with all of them, and two when it is mended."""
    index = "# I\n\n```{toctree}\n:glob:\n*\n```\n"
    book = TinyBook(tmp_path_factory.mktemp("faulty"), {"index": index})
    for name, (text, _) in FAULTS.items():
        book.write(f"docs/{name}", text)
    builds = [book.build() for _ in range(3)]
    for name in FAULTS:
        book.write(f"docs/{name}", "# A\n" if name.endswith(".md") else "A\n=\n")
    return builds, [book.build() for _ in range(2)]


@pytest.mark.parametrize("name", FAULTS)
def test_what_is_wrong_is_told_by_each_build(faulty, name):
    """Though no page has changed; the end of the log names it once more."""
    _, said = FAULTS[name]
    for done in faulty[0]:
        _, *warned = done.stderr.split(f"docs/{name}:")
        _, *named = done.stdout.partition("To be fixed")[2].split(f"\ndocs/{name}:")
        assert any(said in each for each in warned)
        assert any(said in each for each in named)


def test_what_is_wrong_is_red_until_it_is_mended(faulty):
    """Builds are red for as long, and no longer."""
    wrong, mended = faulty
    assert [done.returncode for done in wrong] == [1, 1, 1]
    assert [done.returncode for done in mended] == [0, 0]
    assert "To be fixed" not in mended[0].stdout


def test_an_older_file_in_place_of_a_page_is_seen(tmp_path):
    """A backup that is moved back keeps its time, which is before the last build."""
    book = TinyBook(tmp_path, {"index": "# New\n"})
    assert book.build().returncode == 0
    book.write("docs/index.md", "# Old\n")
    os.utime(book.docs / "index.md", (10**9, 10**9))
    assert book.build().returncode == 0
    assert book.page("index").h1.text.startswith("Old")


def test_a_build_that_is_terminated_leaves_nothing(tmp_path):
    """No cell goes on running, nor the process that runs it."""
    cell = "```{code-cell} python\nimport time\ntime.sleep(300)\n1\n```\n"
    pages = {f"p{n}": f"# P\n\n{cell}" for n in range(6)}
    toctree = "```{toctree}\n:glob:\np*\n```\n"
    book = TinyBook(tmp_path / "book", {"index": f"# I\n\n{toctree}", **pages})
    command = [sys.executable, "-m", "sphinx", "-j", "2", "docs", book.site]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    del environ[KEPT]
    with subprocess.Popen(command, cwd=book.root, env=environ) as build:
        assert is_soon(lambda: len(processes("engine.fork_server", temporary=tmp_path)) > 1)
        build.terminate()
    assert build.returncode == 2
    assert is_soon(lambda: not processes(temporary=tmp_path))
