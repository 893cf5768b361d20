"""The command that builds the site: when it starts Sphinx, and with what."""

import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest
from sphinx.cmd import build as sphinx_build

from claimbook import docs
from claimbook.runner import EARLY
from helpers import CONF, SUM, TinyBook, is_soon, processes

PAGES = {"index": f"# Tiny\n\n{SUM}"}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A book that was built."""
    book = TinyBook(tmp_path_factory.mktemp("docs"), PAGES)
    book.write("gallery/plot.py", "")
    book.write("docs/labs/a.svg", "<svg/>")
    assert "claims on cpu: 1 run" in built(book)
    return book


def built(book, *options, **environ):
    """What a build says that has nothing to complain of."""
    done = book.build(*options, **environ)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_build_without_a_change_does_not_start_sphinx(book):
    """It says what was not done; so does the one after it."""
    built(book)
    assert built(book) == built(book) == f"{docs.NOTHING}\n"


@pytest.mark.parametrize(
    "path",
    [
        *("docs/index.md", "docs/conf.py", "docs/new.txt", "gallery/plot.py", "README.md"),
        *("docs/_build/html/index.html", "docs/_build/html/claims.json", "docs/labs/a.svg"),
    ],
)
def test_a_file_that_changed_is_seen(book, path):
    """One that Sphinx reads or has written, whatever is in it."""
    built(book)
    (book.root / path).touch()
    assert "build succeeded" in built(book)
    assert built(book) == f"{docs.NOTHING}\n"


def test_what_a_build_itself_makes_is_no_change(book):
    """A lab that it drew, a record that it wrote: the next build has nothing to do."""
    book.replace("docs/conf.py", 'project = "tiny"', DRAWS)
    assert "build succeeded" in built(book)
    assert (book.docs / "labs/drawn.svg").exists()
    assert built(book) == f"{docs.NOTHING}\n"


DRAWS = """project = "tiny"
from pathlib import Path
Path(__file__).with_name("labs").joinpath("drawn.svg").touch()
"""


def test_a_file_that_is_gone_is_seen(book):
    """A page of the site is written again."""
    built(book)
    (book.site / "index.html").unlink()
    assert "build succeeded" in built(book)
    assert "build succeeded" in built(book, "-E")
    assert (book.site / "index.html").exists()


@pytest.mark.parametrize("path", ["docs/.swap", "docs/_build/x/y", "src/a/__pycache__/b.pyc"])
def test_files_that_no_page_is_made_of_do_not_count(book, path):
    """Those of editors and of Python."""
    book.write("src/a/__init__.py", "")
    built(book)
    book.write(path, "")
    assert built(book) == f"{docs.NOTHING}\n"


@pytest.mark.parametrize("options", [["-E"], ["-a"], ["-D", "claimbook_fresh=1"], ["-n"]])
def test_options_are_obeyed(book, options):
    """Some ask for work though nothing changed; others for another site."""
    built(book)
    assert "build succeeded" in built(book, *options)


def test_a_build_that_failed_fails_again(tmp_path):
    """Until it is mended, whoever had said what is wrong."""
    book = TinyBook(tmp_path, {"index": "# I\n\n[x](nofile.md) {claim}`nowhere`\n"})
    first, second = book.build(), book.build()
    assert first.returncode == second.returncode == 1
    assert "nofile.md" in first.stderr
    assert "nowhere" in first.stderr
    assert first.stderr == second.stderr
    book.write("docs/index.md", "# I\n")
    assert book.build().returncode == 0


def test_a_build_that_is_terminated_leaves_nothing(tmp_path):
    """No cell goes on running, nor the process that reads its page."""
    cell = "```{code-cell} python\nimport time\ntime.sleep(300)\n```\n"
    pages = {f"p{n}": f"{NOTEBOOK}# P\n\n{cell}" for n in range(6)}
    toctree = "```{toctree}\n:glob:\np*\n```\n"
    conf = CONF.replace('nb_execution_mode = "off"', 'nb_execution_mode = "cache"')
    book = TinyBook(tmp_path / "book", {"index": f"# I\n\n{toctree}", **pages}, conf=conf)
    command = [sys.executable, "-m", "claimbook.docs", "-j", "2", "docs", book.site]
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=book.root, env=environ) as build:
        assert is_soon(lambda: processes("kernel", temporary=tmp_path))
        build.terminate()
    assert build.returncode == 2
    assert is_soon(lambda: not processes(temporary=tmp_path))


NOTEBOOK = "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n"


def test_settings_are_seen(book):
    """Where the site is published."""
    built(book)
    assert "build succeeded" in built(book, BOOK_URL="https://example.org")


def test_what_is_installed_is_seen(tmp_path, monkeypatch):
    """Another release of any package."""
    before = docs._made_from(tmp_path, [])
    packages = tmp_path / "packages"
    (packages / "sphinx-1.0.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: packages)
    assert docs._made_from(tmp_path, []) != before


def test_a_build_that_fails_is_not_done(book):
    """It fails as often as it is asked for."""
    book.replace("docs/index.md", "tensor(2.)", "tensor(3.)")
    for _ in range(2):
        done = book.build()
        assert done.returncode == 1
        assert "tensor(3.)" in done.stderr
    book.replace("docs/index.md", "tensor(3.)", "tensor(2.)")
    assert "build succeeded" in built(book)


def test_what_was_wrong_is_said_last(book):
    """Where a reader of a long log looks; the whole of it is in a file."""
    book.replace("docs/index.md", "tensor(2.)", "tensor(3.)")
    *_, place, difference = book.build().stderr.splitlines()
    assert place.endswith("docs/index.md:9: sum-adds [cpu] failed")
    assert difference == "  line 9: value: want 3., got 2."
    assert "To take over what was printed" in (book.site.parent / "warnings.txt").read_text("utf-8")
    book.replace("docs/index.md", "tensor(3.)", "tensor(2.)")


def test_torch_is_imported_early_if_a_page_changed(book, monkeypatch):
    """And then only; nothing of it is left after the build."""
    seen = []
    monkeypatch.setattr(sphinx_build, "build_main", lambda _: seen.append(len(EARLY)) or 0)
    monkeypatch.chdir(book.root)
    built(book)
    later = time.time() + 10
    for path in ("docs/conf.py", "docs/index.md"):
        os.utime(book.root / path, (later, later))
        docs.main(["docs", str(book.site)])
    assert (seen, EARLY) == ([0, 1], [])


def test_without_folders_it_says_how_it_is_called(capsys):
    """As other commands do."""
    with pytest.raises(SystemExit, match=r"python -m claimbook\.docs"):
        docs.main(["-q"])


def test_a_missing_folder_is_sphinx_to_tell(tmp_path, monkeypatch, capsys):
    """The message is Sphinx's own."""
    monkeypatch.chdir(tmp_path)
    assert docs.main(["docs", str(Path("docs/_build/html"))]) != 0
    assert "docs" in capsys.readouterr().err
