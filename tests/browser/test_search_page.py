"""The search: what people type leads to the right section first."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from browser.test_browser import serious
from helpers import SITE

QUERIES, ASKED = (
    yaml.safe_load(Path(__file__).with_name(name).read_text("utf-8"))
    for name in ("queries.yaml", "asked.yaml")
)
ENOUGH = 0.95
ENOUGH_OF_THREE = 0.9


def first_hit(page, query):
    """Where the first hit leads, as `page#section`."""
    page.fill("#query", query)
    links = page.locator("ol.search-hits a")
    return (links.first.get_attribute("href") if links.count() else "").replace(".html", "")


def fits(hit, wanted):
    """Whether a hit is one of the wanted pages or sections."""
    return hit in wanted or hit.partition("#")[0] in wanted


def test_first_hits(open_page):
    """At least 95 of 100 queries lead to the right place first, opened from a file."""
    page = open_page("search")
    pairs = [pair for group in QUERIES.values() for pair in group.items()]
    wrong = [
        (query, hit) for query, wanted in pairs if not fits(hit := first_hit(page, query), wanted)
    ]
    assert len(pairs) >= 90
    assert len(wrong) <= (1 - ENOUGH) * len(pairs), wrong
    assert page.problems == []


def test_first_three_hits(open_page):
    """Of questions in the words of those who ask, nine of ten are answered by one of three hits."""
    page = open_page("search")

    def hits(query):
        page.fill("#query", query)
        links = page.locator("ol.search-hits > li > a").all()[:3]
        return [link.get_attribute("href").replace(".html", "") for link in links]

    found = {query: hits(query) for query in ASKED}
    wrong = [q for q, wanted in ASKED.items() if not any(fits(hit, wanted) for hit in found[q])]
    assert len(ASKED) >= 60
    assert len(wrong) <= (1 - ENOUGH_OF_THREE) * len(ASKED), wrong


def test_hits_lead_to_examples(open_page):
    """The statement that holds the words is followed by a link to its claim."""
    page = open_page("search")
    page.fill("#query", "torch.gather")
    page.locator("ol.search-hits p a").first.click()
    page.wait_for_url("**/memory/indexing.html#claim-*")
    assert page.locator(".claim:target").count() == 1


def test_hits_name_their_section(open_page):
    """A hit says page and section, its short answer, and a statement; its claim has the words."""
    page = open_page("search")
    page.fill("#query", "retain_graph")
    hit = page.locator("ol.search-hits > li").first
    assert "Saved tensors" in hit.locator("> a").inner_text()
    assert "retain_graph or create_graph?" in hit.locator("> a").inner_text()
    short, statement = hit.locator("p").all()
    assert "retain_graph" in short.inner_text()
    statement.locator("a").click()
    page.wait_for_url("**/saved-and-freed.html#claim-*")
    assert "retain_graph" in page.locator(".claim:target > p").nth(1).inner_text()


def test_nothing_found(open_page):
    """The page says so, aloud too."""
    page = open_page("search")
    page.fill("#query", "xylophone")
    assert page.locator("section.search [role=status]").inner_text().startswith("Nothing")
    assert page.locator("ol.search-hits a").count() == 0


def test_by_keyboard(open_page):
    """The box beside every page leads here, and the next tab stop is the first hit."""
    page = open_page("autograd/backward")
    page.locator(".sidebar-search").fill("torch.cat")
    page.keyboard.press("Enter")
    page.wait_for_selector("ol.search-hits a")
    assert page.input_value("#query") == "torch.cat"
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/stack-and-cat.html#*")
    page.go_back()
    page.wait_for_selector("ol.search-hits a")
    assert page.input_value("#query") == "torch.cat"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_hits_are_accessible(open_page, theme):
    """axe-core finds no serious fault in a list of hits."""
    page = open_page("search", theme=theme)
    page.fill("#query", "backward")
    assert serious(page) == []


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


def test_over_http(open_page, address):
    """It works from a server as from a file, and asks for nothing of another host."""
    page = open_page("index")
    page.goto(f"{address}/search.html?q=no_grad")
    page.wait_for_selector("ol.search-hits a")
    assert "no_grad()" in page.locator("ol.search-hits a").first.inner_text()
    asked = [said for said in page.problems if said.startswith("a request to")]
    assert [said for said in asked if address not in said] == []
