"""The server for those who write: builds at each save, by a process that has the imports made."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from threading import Timer

import pytest

from helpers import ROOT, TinyBook, is_soon, processes

BY_SPARE = re.compile(r"Built in \d+\.\d s\. Serving on http")
AFRESH = re.compile(r"python -m sphinx build")


class Served:
    """A book with its server, and what that says."""

    def __init__(self, book, server, port):
        self.book, self.server, self.port = book, server, port

    def until(self, sign):
        """What the server says, down to a line with the sign; it is ended if that does not come."""
        said, patience = [], Timer(90, self.server.kill)
        patience.start()
        try:
            for line in self.server.stdout:
                said.append(line)
                if re.search(sign, line):
                    return "".join(said)
        finally:
            patience.cancel()
        raise AssertionError("".join(said))

    def save(self, old, new):
        """Changes a page, and returns what the server says of the build that follows."""
        time.sleep(0.5)  # for the watcher to be there, or to be back
        self.book.replace("docs/a/sums.md", old, new)
        return self.until(r"Serving on http")

    def answers(self):
        """Whether pages can be had; from then on they are watched."""
        with socket.socket() as line:
            return line.connect_ex(("127.0.0.1", self.port)) == 0

    def page(self):
        """The page as it is served."""
        return (self.book.site / "a/sums.html").read_text("utf-8")


@contextmanager
def serving(book, *options, **environ):
    """Serves a book until the test is over; begins when it watches."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "claimbook.serve", "--port", str(port), *options, "docs"]
    with subprocess.Popen(
        [*command, str(book.site)],
        cwd=book.root,
        env={**os.environ, "PYTHONUNBUFFERED": "1", "TMPDIR": str(book.root.parent), **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as server:
        try:
            served = Served(book, server, port)
            served.until("Waiting to detect changes")
            assert is_soon(served.answers)
            yield served
        finally:
            server.terminate()
            server.wait(30)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A small book and its server, which has built it."""
    with serving(TinyBook(tmp_path_factory.mktemp("served") / "book"), "-W") as found:
        yield found


@pytest.fixture
def unbuilt(tmp_path):
    """A small book and its server, which has built nothing yet."""
    with serving(TinyBook(tmp_path / "book"), "--no-initial") as found:
        yield found


def spares(served):
    """The process ids of the spare of a server."""
    return processes("claimbook.serve.spare", temporary=served.book.root.parent)


def the_spare(served):
    """Its one spare; a process that this starts is called so too until it runs its own program."""
    assert is_soon(lambda: len(spares(served)) == 1)
    return spares(served)[0]


def test_each_save_is_built_by_a_spare(served):
    """The claim that was changed is run, and no other; the page shows it."""
    spare = the_spare(served)
    for old, new in [("# Sums", "# Totals"), ("# Totals", "# Sums")]:
        said = served.save(old, new)
        assert BY_SPARE.search(said), said
        assert not AFRESH.search(said)
        assert new[2:] in served.page()
    said = served.save("ones(2).sum()\ntensor(2.)", "ones(4).sum()\ntensor(4.)")
    assert "claims on cpu: 1 run" in said
    assert the_spare(served) == spare


def test_a_build_that_fails_says_so(served):
    """And the next save is built."""
    said = served.save("ones(2).prod()", "zeros(2).prod()")
    assert "Failed with status 1 after " in said
    assert BY_SPARE.search(served.save("zeros(2).prod()", "ones(2).prod()"))


def test_what_a_build_warned_of_the_next_one_warns_of_too(tmp_path):
    """Whichever command makes it: nothing that is wrong with a page is taken for mended."""
    book = TinyBook(tmp_path / "book")
    with serving(book) as served:
        assert "nofile.md" in served.save("# Sums", "# Sums\n\n[x](nofile.md)")
        time.sleep(0.5)
        book.replace("docs/c.md", "See {claim}", "Look at {claim}")
        assert "nofile.md" in served.until("Serving on http")
    for _ in range(2):
        done = book.build()
        assert done.returncode == 1
        assert "nofile.md" in done.stderr
    book.replace("docs/a/sums.md", "# Sums\n\n[x](nofile.md)", "# Sums")
    assert book.build().returncode == 0


def test_without_a_spare_sphinx_is_started(unbuilt):
    """As sphinx-autobuild would."""
    os.kill(the_spare(unbuilt), signal.SIGKILL)
    assert AFRESH.search(unbuilt.save("# Sums", "# Totals"))
    assert "Totals" in unbuilt.page()


def test_a_spare_does_not_build_with_old_code(tmp_path):
    """What the package's own code is when a page is saved is what builds it."""
    package = tmp_path / "src/claimbook"
    shutil.copytree(ROOT / "src/claimbook", package)
    with serving(TinyBook(tmp_path / "book"), PYTHONPATH=str(package.parent)) as served:
        assert "runs as printed" in served.page()
        code = package / "sphinx/render.py"
        text = code.read_text("utf-8")
        code.write_text(text.replace('"runs as printed"', '"does what it says"'), "utf-8")
        later = time.time() + 1000  # than the spare has started, whenever that was
        os.utime(code, (later, later))
        assert AFRESH.search(served.save("# Sums", "# Totals"))
        assert "does what it says" in served.page()
        os.utime(code, (0, 0))
        said = served.save("# Totals", "# Additions")
        assert BY_SPARE.search(said), said
        assert "does what it says" in served.page()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_ends_leaves_no_spare(unbuilt, number):
    """Whatever ends it."""
    assert spares(unbuilt)
    unbuilt.server.send_signal(number)
    unbuilt.server.wait()
    assert is_soon(lambda: not spares(unbuilt))


def test_a_server_that_is_killed_while_it_builds_leaves_nothing(unbuilt):
    """No process goes on with the build, or waits for another one."""
    folder = unbuilt.book.root.parent
    slow = "torch.ones(2).sum()\n>>> import time\n>>> time.sleep(300)\n>>> torch.ones(2).sum()"
    time.sleep(0.5)
    unbuilt.book.replace("docs/a/sums.md", "torch.ones(2).sum()", slow)
    unbuilt.until("running claims on cpu")
    unbuilt.server.kill()
    unbuilt.server.wait()
    assert is_soon(lambda: not processes(temporary=folder))
