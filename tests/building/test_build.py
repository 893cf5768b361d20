"""The command that builds the site: what it says again, and what it leaves."""

import os
import re
import subprocess
import sys
from collections.abc import Callable

import pytest
from sphinx.util.console import strip_escape_sequences

from claimbook.engine.fork_server import KEPT
from helpers import CONF, ROOT, SUM, TinyBook, claim_text, is_soon, processes, python

SAME = "nothing has changed since the last build"
VARIED = "it-varies: value: want '2', got '1'"
VARIES = claim_text("it-varies", ">>> 1\n2", ":machine: clock\n")
WITH_ALL = {
    "index": f"# I\n\n{SUM}\n{VARIES}\n```{{ledger}}\n```\n\n{{download}}`notes.txt`\n",
}


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory):
    """A book that was built once, and what the build said when it was built again."""
    book = TinyBook(tmp_path_factory.mktemp("unchanged"), WITH_ALL)
    book.write("README.md", "# A book\n")
    book.write("docs/notes.txt", "Notes.\n")
    book.write("docs/records/releases/2.6.0/index.jsonl", "")
    first = book.build()
    return book, first, book.build()


def test_a_build_without_a_change_does_nothing(unchanged):
    """It runs no claim, writes no page, and says the same at its end."""
    _, first, again = unchanged
    assert first.returncode == again.returncode == 0
    assert SAME not in first.stdout
    assert SAME in again.stdout
    assert "claims on" not in again.stdout
    assert "pages written: genindex.html, search.html\n" in again.stdout  # as Sphinx always does
    ends = [done.stdout.partition("\nentries: ")[2].split("\n") for done in (first, again)]
    ends = [[line for line in end if not line.startswith("pages written")] for end in ends]
    assert ends[0] == ends[1]
    assert any(VARIED in line for line in ends[0])


def deleted(path: str) -> Callable[[TinyBook], None]:
    return lambda book: (book.root / path).unlink()


def edited(path: str) -> Callable[[TinyBook], None]:
    return lambda book: book.write(path, f"{(book.root / path).read_text('utf-8')}\n")


CHANGES: dict[str, Callable[[TinyBook], None]] = {
    "a page": edited("docs/index.md"),
    "a page outside docs": edited("README.md"),
    "the register": edited("docs/register/basics.yaml"),
    "a committed record": edited("docs/records/releases/2.6.0/index.jsonl"),
    "a new file of sweeps": lambda book: book.write("docs/sweeps/new.py", "\n"),
    "a file to download": edited("docs/notes.txt"),
    "a record of this machine": deleted("docs/_build/records/cpu/index.jsonl"),
    "a page of the site": deleted("docs/_build/html/index.html"),
    "data of the site": deleted("docs/_build/html/claims.json"),
    "the configuration": edited("docs/conf.py"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_build_after_any_change_does_its_work(unchanged, change):
    """It leaves what was deleted, and the next build has nothing to do."""
    book, *_ = unchanged
    CHANGES[change](book)
    assert SAME not in book.build().stdout
    for path in ("index.html", "claims.json"):
        assert (book.site / path).exists()
    assert SAME in book.build().stdout


def test_a_build_that_writes_all_pages_on_demand_has_what_they_show(unchanged):
    """`sphinx-build -a` writes them though nothing has changed."""
    book, *_ = unchanged
    shown = book.page("index").select_one(".ledger").get_text()
    assert book.build("-a").returncode == 0
    assert book.page("index").select_one(".ledger").get_text() == shown


def test_a_build_with_other_demands_checks_again(unchanged):
    """Sphinx does not notice these settings, as no page shows them."""
    book, *_ = unchanged
    done = book.build("-D", "claimbook_strict=1")
    assert done.returncode == 1
    assert VARIED in done.stderr


FAULTS = {
    "link.md": ("# A\n\n[x](nofile.md)\n", "nofile.md"),
    "role.md": ("# A\n\n{claim}`nowhere`\n", "nowhere"),
    "claim.md": (f"# A\n\n{SUM.replace('2.)', '3.)')}", "want 3., got 2."),
    "table.md": ("# A\n\n```{csv-table}\n:file: gone.csv\n```\n", "gone.csv"),
    "file.md": (
        "# A\n\n```{literalinclude} claim.md\n```\n",
        "what this shows has code that nothing",
    ),
    "html.md": ("# A\n\n<pre>&gt;&gt;&gt; 1\n2</pre>\n", "what this shows has code that nothing"),
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
        assert [said in each for each in named] == [True]
        assert "] [" not in done.stderr  # as if Sphinx had told its kind twice


def test_what_is_wrong_is_red_until_it_is_mended(faulty):
    """Builds are red for as long, and no longer."""
    wrong, mended = faulty
    assert [done.returncode for done in wrong] == [1, 1, 1]
    assert [done.returncode for done in mended] == [0, 0]
    assert "To be fixed" not in mended[0].stdout


def test_a_claim_that_fails_is_told_again_where_nothing_else_is_wrong(tmp_path):
    """What is wrong with the book as a whole is on no page that is read again."""
    book = TinyBook(tmp_path, {"index": FAULTS["claim.md"][0]})
    for done in (book.build(), book.build()):
        assert done.returncode == 1
        assert "want 3., got 2." in done.stderr


def test_a_setting_that_does_not_exist(tmp_path):
    """It would be ignored, and the build would demand less than its author thinks."""
    book = TinyBook(tmp_path, {"index": "# I\n"}, conf=f"{CONF}claimbook_whole_regster = True\n")
    done = book.build()
    line = CONF.count("\n") + 1
    said = "claimbook has no setting whole_regster; did you mean whole_register?"
    assert done.returncode == 2
    assert f"{book.docs}/conf.py:{line}: {said}" in strip_escape_sequences(done.stderr)


def test_a_folder_with_a_colon_in_its_name(tmp_path):
    """The place of a warning ends in its line; the page is read again all the same."""
    book = TinyBook(tmp_path / "a:b c", {"index": FAULTS["link.md"][0]})
    assert [book.build().returncode for _ in range(2)] == [1, 1]


DRAWS = "from claimbook.teach import bits\nbits(1.0, torch.float16)"
MADE = (
    "html/.doctrees/last-build.json",
    "html/index/*.js",
    "cells/*/*.json",
    "records/cpu/.run-by",
)
"""Files that a build makes, and the next one reads."""


@pytest.mark.parametrize("text", [b"", b"[", b"\xff", b'{"warned": 1}'])
def test_files_of_builds_that_are_broken_are_made_anew(tmp_path, text):
    """As a machine leaves them whose power fails."""
    practice = "```{toctree}\n:caption: Part\na/sums\n```\n\n```{practice}\n```\n"
    cell = f"```{{code-cell}} python\n{DRAWS}\n```\n"
    pages = {"index": f"# I\n\n{cell}\n{practice}", "a/sums": f"# A\n\n## Q?\n\n{SUM}"}
    book = TinyBook(tmp_path, pages)
    assert book.build().returncode == 0
    files = [path for name in MADE for path in (book.docs / "_build").glob(name)]
    assert len(files) == len(MADE)
    for path in files:
        path.write_bytes(text)
    done = book.build()
    assert (done.returncode, done.stderr) == (0, "")
    assert text not in [path.read_bytes() for path in files]
    assert "<svg" in (book.site / "index.html").read_text("utf-8")


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


def test_a_book_of_ones_own(tmp_path):
    """The page that says how to make one shows all that it needs."""
    text = (ROOT / "docs/contributing/another-book.md").read_text("utf-8")
    fences = re.findall(r"^(`{3,})(\w+)\n(.*?)^\1$", text, re.MULTILINE | re.DOTALL)
    files = [content for _, language, content in fences if language != "shell"]
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")  # of a larger project
    tmp_path /= "mine"
    tmp_path.mkdir()
    for name, content in zip(
        ("pyproject.toml", "docs/conf.py", "docs/index.md"), files, strict=True
    ):
        assert f"`{name}`" in text
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, "utf-8")
    [commands] = [content for _, language, content in fences if language == "shell"]
    for command in commands.splitlines()[3:]:  # below those that install
        module = command.replace("sphinx-build", "sphinx").split()
        done = python("-m", *module, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
    shown = (tmp_path / "docs/_build/html/index.html").read_text("utf-8")
    assert 'id="claim-two-ones-are-two"' in shown
    entries = "  entries:\n  - {id: talks-01.1, statement: It does., needs: cpu}\n"
    (tmp_path / "docs/register").mkdir()
    register = tmp_path / "docs/register/talks.yaml"
    register.write_text(f"- id: talks-01\n  question: Does it?\n{entries}", "utf-8")
    done = python("-m", "sphinx", "-W", "docs", "docs/_build/html", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("[claim.open-entry]")) == (1, 1), done.stderr
