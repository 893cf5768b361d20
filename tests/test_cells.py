"""The kernels that run the cells of pages: forked where many are needed, and gone afterwards."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from jupyter_cache import get_cache

from helpers import CONF, TinyBook, is_soon, processes

CACHED = CONF.replace(
    'nb_execution_mode = "off"',
    'nb_execution_mode = "cache"\n'
    'nb_execution_cache_path = __file__.replace("conf.py", "_build/cells")\n'
    "nb_execution_raise_on_error = True\n"
    "nb_execution_timeout = 60",
)
WHOSE = (
    "import os\nimport sys\nfrom IPython.display import HTML\n"
    "HTML(f\"parent {os.getppid()}, torch {'torch' in sys.modules}, in {os.getcwd()}\")"
)
ENDS_SLOWLY = """import time
from ipykernel.kernelbase import Kernel
publish = Kernel._publish_status_and_flush
def slowly(self, status, channel, *rest):
    time.sleep(0.3 * (channel == "control"))
    publish(self, status, channel, *rest)
Kernel._publish_status_and_flush = slowly"""
WHERE = (
    "from ipykernel.kernelapp import IPKernelApp\nfrom IPython.display import HTML\n"
    "app = IPKernelApp.instance()\nHTML(f'{app.transport} at {app.ip}.')"
)
HANGS = "import time\ntime.sleep(300)"


def with_cells(tmp_path, cells):
    """A book with a page for each of these cells."""
    names = [f"a/p{number}" for number in range(len(cells))]
    head = "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n# P\n\n"
    pages = {
        name: f"{head}```{{code-cell}}\n{cell}\n```\n"
        for name, cell in zip(names, cells, strict=True)
    }
    index = "# I\n\n```{toctree}\n" + "\n".join(names) + "\n```\n"
    return TinyBook(tmp_path, {"index": index, **pages}, conf=CACHED)


def said(book):
    """What the cells of a book said: (parent, torch is there, folder)."""
    pages = sorted((book.site / "a").glob("p*.html"))
    found = [
        re.search(r"parent (\d+), torch (\w+), in ([^<]+)", p.read_text("utf-8")) for p in pages
    ]
    return [match.groups() for match in found]


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """Temporary files of the test's own, by which its processes are known."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def running(folder):
    """The fork server, the kernels and those who asked for them, of builds in this folder."""
    return processes("kernel.py", temporary=folder)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_many_kernels_have_one_parent(tmp_path, jobs):
    """Each finds torch imported, and its page's folder."""
    book = with_cells(tmp_path, [f"{WHOSE}  # {number}" for number in range(4)])
    done = book.sphinx("-j", jobs)
    assert (done.returncode, done.stderr) == (0, "")
    kernels = said(book)
    assert len(kernels) == 4
    assert set(kernels) == {(kernels[0][0], "True", str(book.docs / "a"))}
    assert not running(tmp_path)


@pytest.mark.parametrize("theme", ["alabaster", "furo"])
def test_one_kernel_is_started_alone(tmp_path, theme):
    """For one page nothing is imported that its cell does not ask for, and nobody talks of it."""
    book = with_cells(tmp_path, [WHOSE])
    book.replace("docs/conf.py", "alabaster", theme)
    done = book.sphinx()
    assert (done.returncode, done.stderr) == (0, "")
    ((_, has_torch, folder),) = said(book)
    assert (has_torch, folder) == ("False", str(book.docs / "a"))


LOADED = """
import atexit, sys
HEAVY = ("nbclient", "sqlalchemy")
atexit.register(lambda: print("imported:", [name for name in HEAVY if name in sys.modules]))
"""


def test_cells_that_have_run_need_no_jupyter(tmp_path):
    """A page whose prose changed shows what its cells drew; one with another cell runs it."""
    book = with_cells(tmp_path, [WHOSE])
    with (book.docs / "conf.py").open("a") as conf:
        conf.write(LOADED)
    both, neither = "imported: ['nbclient', 'sqlalchemy']", "imported: []"
    assert both in book.sphinx().stdout
    first = said(book)
    for old, new, imported in (("# P\n", "# Q\n", neither), (WHOSE, f"{WHOSE}  # too", both)):
        book.replace("docs/a/p0.md", old, new)
        done = book.sphinx()
        assert (done.returncode, done.stderr) == (0, "")
        assert imported in done.stdout
        assert (said(book) == first) == (imported is neither)
    assert "<h1>Q" in (book.site / "a" / "p0.html").read_text("utf-8")


@pytest.mark.parametrize("pages", [1, 4])
def test_a_kernel_that_ends_slowly_complains_of_nothing(tmp_path, pages):
    """It says that it has ended before its sockets are closed."""
    done = with_cells(tmp_path, [f"{ENDS_SLOWLY}  # {number}" for number in range(pages)]).sphinx()
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("pages", [1, 4])
def test_a_kernel_takes_no_port(tmp_path, pages):
    """Nothing else that opens ports can be in its way; its sockets are files, and go with it."""
    book = with_cells(tmp_path, [f"{WHERE}  # {number}" for number in range(pages)])
    assert book.sphinx().returncode == 0
    text = (book.site / "a" / "p0.html").read_text("utf-8")
    ((transport, place),) = re.findall(r"(ipc|tcp) at (.+)\.", text)
    assert (transport, Path(place).parent) == ("ipc", tmp_path)
    assert not [*tmp_path.glob(f"{Path(place).name}*")]


def test_a_cell_that_hangs_is_ended(tmp_path):
    """The build says which page it was, and leaves nothing running."""
    book = with_cells(tmp_path, [WHOSE, WHOSE, HANGS, WHOSE])
    book.replace("docs/conf.py", "timeout = 60", "timeout = 3")
    done = book.sphinx()
    assert done.returncode != 0
    assert "CellTimeoutError" in done.stdout + done.stderr
    assert is_soon(lambda: not running(tmp_path))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_build_that_is_ended_leaves_no_kernel(tmp_path, number):
    """Whatever ends it: ^C, a polite request, or kill -9."""
    book = with_cells(tmp_path, [HANGS, WHOSE, WHOSE])
    command = [sys.executable, "-m", "sphinx", "-q", "docs", str(book.site)]
    with subprocess.Popen(command, cwd=book.root, stderr=subprocess.DEVNULL) as build:
        # The fork server, the one who asks, and the kernel.
        assert is_soon(lambda: len(running(tmp_path)) == 3)
        build.send_signal(number)
    assert is_soon(lambda: not running(tmp_path))


def test_what_was_drawn_is_kept(tmp_path):
    """None is dropped to make room: beside another process jupyter-cache would drop a new one."""
    book = with_cells(tmp_path, [WHOSE, WHERE])
    kept = get_cache(book.docs / "_build/cells")
    kept.change_cache_limit(1)
    assert book.sphinx().returncode == 0
    assert len(kept.list_cache_records()) == 2
    kept.db.dispose()
