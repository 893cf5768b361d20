"""Small claims and books for tests."""

import atexit
import gc
import json
import multiprocessing
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from contextlib import ExitStack, contextmanager
from functools import cache, partialmethod
from pathlib import Path
from unittest.mock import patch

import jinja2
import yaml
from bs4 import BeautifulSoup
from sphinx.application import builtin_extensions

from claimbook.engine.fork_server import KEPT, kept
from claimbook.exports import errors, messages
from claimbook.exports.lookup import Lookup
from claimbook.model import Claim, ProblemKind, digest
from claimbook.pages.book import Book
from claimbook.pages.parser import scan_page
from claimbook.pages.register import LOADER

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs/_build/html"
STAND_IN = {
    "PYTHONPATH": os.pathsep.join(
        [str(ROOT / "tests/cuda/stand_in"), os.environ.get("PYTHONPATH", "")]
    )
}
"""Environment variables that make a stand-in serve as the lane `cuda`."""


def claim_text(name, session, options=""):
    """Return a claim as Markdown; the session may be indented."""
    session = textwrap.dedent(session).strip("\n")
    return f":::{{claim}} {name}\n{options}\nIt says so.\n\n```pycon\n{session}\n```\n:::\n"


def claim(name, session, options="") -> Claim:
    """Return a scanned claim, alone on its page; its lines may be too long for a card."""
    page = scan_page(claim_text(name, session, options), "docs/page.md")
    assert not [each for each in page.problems if each.kind != ProblemKind.BAD_FORM]
    return page.claims[0]


@cache
def whole_book() -> Book:
    """Return the real book, which takes seconds to read; cached per process."""
    return Book.load(ROOT)


@cache
def known_errors() -> list[errors.Message]:
    """Return the messages that the book's lookup of errors compares with."""
    return messages.known([*map(messages.found, whole_book().pages)], whole_book().sections)


@cache
def error_lookup() -> Lookup:
    """Return the book's lookup of errors, as Python has it."""
    return Lookup(known_errors())


@cache
def read_yaml(path):
    """Return what a file says, with the loader in C, if there is one: a tenth of the time."""
    return yaml.load(path.read_text("utf-8"), LOADER)


def processes(*words, temporary=None):
    """Return the ids of running processes whose command line contains all words.

    Args:
        temporary: the folder of their temporary files; None for any.
    """
    found, mark = [], f"TMPDIR={temporary}\0".encode() if temporary else b""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            line = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            fits = all(word in line for word in words) and int(path.name) != os.getpid()
            if fits and mark in (path / "environ").read_bytes():
                found.append(int(path.name))
        except OSError:
            continue
    return found


def is_soon(condition):
    """Return whether a condition becomes true within two minutes."""
    deadline = time.monotonic() + 120
    while not (holds := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return holds


def git(root, *arguments):
    """Run git with a fixed user, whatever is configured on this machine."""
    who = ["user.name=A", "user.email=a@example.com", "commit.gpgsign=false"]
    settings = [word for setting in who for word in ("-c", setting)]
    subprocess.run(["git", *settings, *arguments], cwd=root, check=True, capture_output=True)


def data_of(script):
    """Return the arguments of the call in a data file of the site."""
    arguments = script.read_text("utf-8").partition("(")[2].rpartition(")")[0]
    return json.loads(f"[{arguments}]")


def python(*arguments, cwd=None, **environ):
    """Run Python in a separate process.

    Sphinx and `claimbook` run in a fork of a process that has imported what they need, unless
    environment variables are given, which may change how Python or torch starts. Those that
    `started_with` gives have changed a fork server already.
    """
    if arguments[:2] in {("-m", "sphinx"), ("-m", "claimbook")} and (
        not environ or KEPT in environ
    ):
        return _forked(*map(str, arguments[1:]), cwd=cwd or Path.cwd(), environ=environ)
    own = {k: v for k, v in os.environ.items() if not environ or k != KEPT}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**own, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@contextmanager
def started_with(**environ):
    """Start a fork server with environment variables; yield those with which programs find it."""
    with ExitStack() as until_the_end:
        with patch.dict(os.environ, environ):
            until_the_end.enter_context(kept())
            address = os.environ[KEPT]
        yield {**environ, KEPT: address}


FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    [
        "torch",
        "helpers",
        "claimbook.sphinx",
        "claimbook.cli",
        "sphinx.cmd.build",
        *builtin_extensions,
        *("myst_parser.sphinx_ext.main", "furo", "genanki"),
    ]
)


def _forked(*command, cwd, environ):
    with tempfile.TemporaryDirectory() as folder:
        arguments = (command, cwd, {**os.environ, **environ}, Path(folder), _templates())
        process = FORKS.Process(target=_run_module, args=arguments)
        process.start()
        process.join(600)
        printed = [Path(folder, name).read_text("utf-8") for name in ("out", "err")]
        return subprocess.CompletedProcess(command, process.exitcode, *printed)


@cache
def _templates():
    """Return a folder for templates that are compiled, until this process ends."""
    folder = tempfile.mkdtemp(prefix="templates-")
    atexit.register(shutil.rmtree, folder)
    return folder


def _run_module(command, cwd, environ, folder, templates):
    gc.freeze()  # what is there already need not be searched
    # Compiling the same templates takes a third of the time of a small build.
    compiled = jinja2.FileSystemBytecodeCache(templates)
    jinja2.Environment.__init__ = partialmethod(
        jinja2.Environment.__init__, bytecode_cache=compiled
    )
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(cwd)
    sys.path.insert(0, str(cwd))
    sys.argv = [*command]
    try:
        runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()  # multiprocessing skips these


REGISTER = """\
- id: basics-01
  question: What does a sum do?
  entries:
    - {id: basics-01.1, statement: A sum adds `all` elements., needs: cpu}
    - {id: basics-01.2, statement: A sum multiplies., needs: cpu}
    - {id: basics-01.3, statement: A sum is fast., needs: cpu}
- id: basics-02
  question: Who made it?
  entries:
    - {id: basics-02.1, statement: People made it., needs: world}
"""

PYPROJECT = """\
[tool.claimbook]

[tool.pytest.ini_options]
filterwarnings = ["error"]
"""

CONF = """\
project = "tiny"
extensions = ["claimbook.sphinx", "myst_parser"]
exclude_patterns = ["_build", "register"]
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
html_theme = "alabaster"
html_copy_source = False
html_last_updated_fmt = None
"""

SUM = claim_text("sum-adds", ">>> torch.ones(2).sum()\ntensor(2.)", ":confirms: basics-01.1\n")
PRODUCT = claim_text("prod-multiplies", ">>> torch.ones(2).prod()\ntensor(1.)")
SCRIPT = claim_text(
    "script-is-text", ">>> print('<script>alert(1)</script>')\n<script>alert(1)</script>"
)
SHAPE = claim_text(
    "ones-have-a-shape",
    ">>> torch.ones(2, 3).shape\ntorch.Size([2, 3])",
    ":corrects: basics-01.2\n:lanes: cpu\n",
)
PAGES = {
    "index": (
        "# Tiny\n\n```{counts}\n```\n\n```{toctree}\nledger\na/sums\na/shapes\nc\nd\ne\nf\n```\n"
    ),
    "ledger": "# Ledger\n\n```{ledger}\n```\n",
    "a/sums": f"# Sums\n\n{SUM}\n{PRODUCT}\n{SCRIPT}",
    "a/shapes": f"# Shapes\n\n{SHAPE}\n:::{{remark}} basics-02.1\nHistory: `sum-adds`.\n:::\n",
    "c": "# C\n\nSee {claim}`sum-adds` and {claim}`the sum <sum-adds>`.\n",
    **{name: f"# {name.upper()}\n\nProse.\n" for name in "de"},
    "f": "# F\n\n```{claim-index}\n```\n",
}


class TinyBook:
    """A book of a few pages in its own folder."""

    def __init__(self, root: Path, pages=PAGES, register=REGISTER, conf=CONF) -> None:
        self.root, self.docs, self.site = root, root / "docs", root / "docs/_build/html"
        self.write("pyproject.toml", PYPROJECT)
        self.write("docs/conf.py", conf)
        self.write("docs/register/basics.yaml", register)
        for name, text in pages.items():
            self.write(f"docs/{name}.md", text)

    def write(self, path, text):
        """Write a file; the path is relative to the root of the project."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, "utf-8")

    def replace(self, path, old, new):
        """Replace a text that occurs once in a file."""
        text = (self.root / path).read_text("utf-8")
        assert text.count(old) == 1
        self.write(path, text.replace(old, new))

    def page(self, name):
        """Return a parsed page of the site."""
        return BeautifulSoup((self.site / f"{name}.html").read_text("utf-8"), "html.parser")

    def sphinx(self, *options, **environ):
        """Build the site in one process, with warnings as errors."""
        command = ["-m", "sphinx", "-W", "--keep-going", "-N", *options]
        return python(*command, "docs", str(self.site), cwd=self.root, **environ)

    def build(self, *options, **environ):
        """Build the site in several processes, as `nox -s docs` does."""
        return self.sphinx("-j", "auto", *options, **environ)

    def claimbook(self, *arguments, **environ):
        """Run `claimbook` at the root."""
        return python("-m", "claimbook", *arguments, cwd=self.root, **environ)

    def pytest(self, *arguments):
        """Run pytest on the docs."""
        return python("-m", "pytest", "docs", "-p", "no:cacheprovider", *arguments, cwd=self.root)


def signed(data, ran_on=(None, None)):
    """Return a line of a record with any fields and a valid checksum.

    Args:
        ran_on: torch and device, if they are in a shared line.
    """
    own = {name: value for name, value in data.items() if name != "claim"}
    return json.dumps({**data, "checksum": digest([own, list(ran_on)])[:16]})
