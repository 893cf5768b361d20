"""A browser that looks at the built site."""

import shutil
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from helpers import SITE

PROGRAMS = ["chromium-headless-shell", "chromium"]
"""Either will do; the first is the faster one."""
PATIENCE = 180_000
"""Milliseconds for what a browser is asked to do: a machine may halt."""


def pytest_collection_modifyitems(items):
    """Puts the tests of each page last, which are short: no process then waits for another."""
    items.sort(key=lambda item: "each_page" in getattr(item, "fixturenames", ()))


@pytest.fixture(scope="session")
def browser():
    """A browser; where there is none, these tests are skipped and say so."""
    playwright = pytest.importorskip("playwright.sync_api", reason="nox -s browser installs it")
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"there is no Chromium here; on Debian: apt-get install {PROGRAMS[0]}")
    if not (SITE / "index.html").exists():
        pytest.skip("the site is not built; nox -s docs builds it")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def open_page(browser):
    """Opens a page of the site by its name; `problems` of what is returned must stay empty."""
    with opener(browser) as opened:
        yield opened


@contextmanager
def opener(browser):
    """While it lasts, what it yields opens a page of the site; at its end all are closed."""
    contexts = []

    def opened(name, width=1200, theme="light"):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
        )
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.problems = []
        page.on("console", lambda said: said.type == "error" and page.problems.append(said.text))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("request", lambda request: _note_foreign(page, request.url))
        page.goto((SITE / f"{name}.html").as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()


def _note_foreign(page, url):
    if not url.startswith(("file:", "data:", "blob:")):
        page.problems.append(f"a request to {url}")


@pytest.fixture
def address():
    """The site, served on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without a word on stderr."""

    def log_message(self, *args):
        """Says nothing."""
