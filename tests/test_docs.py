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
    "a link": ("docs/index.md", "\n[x](nofile.md)\n", "nofile.md"),
    "a role": ("docs/index.md", "\n{claim}`nowhere`\n", "nowhere"),
    "a claim": ("docs/index.md", f"\n{SUM.replace('2.)', '3.)')}", "want 3., got 2."),
    "a table without its file": (
        "docs/index.md",
        "\n```{csv-table}\n:file: gone.csv\n```\n",
        "gone.csv",
    ),
    "a page of reStructuredText": ("docs/a.rst", "\n:claim:`nowhere`\n", "nowhere"),
}


SOUND = {"docs/index.md": "# I\n\n```{toctree}\na\n```\n", "docs/a.rst": "A\n=\n"}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory):
    """A book with all of them, what three builds say of it, and what two say when it is mended."""
    book = TinyBook(tmp_path_factory.mktemp("faulty"), {})
    for name, sound in SOUND.items():
        book.write(name, sound + "".join(text for path, text, _ in FAULTS.values() if path == name))
    builds = [book.build() for _ in range(3)]
    for name, sound in SOUND.items():
        book.write(name, sound)
    return builds, [book.build() for _ in range(2)]


@pytest.mark.parametrize(("path", "text", "said"), FAULTS.values(), ids=FAULTS)
def test_what_is_wrong_is_told_by_each_build(faulty, path, text, said):
    """Though no page has changed; the end of the log names it once more."""
    for done in faulty[0]:
        assert said in done.stderr
        _, *named = done.stdout.partition("To be mended")[2].split(f"\n{path}:")
        assert [each for each in named if said in each]


def test_what_is_wrong_is_red_until_it_is_mended(faulty):
    """Builds are red for as long, and no longer."""
    wrong, mended = faulty
    assert [done.returncode for done in wrong] == [1, 1, 1]
    assert [done.returncode for done in mended] == [0, 0]
    assert "To be mended" not in mended[0].stdout


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
