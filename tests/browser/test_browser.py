"""What only a browser can tell of the site: it is whole, quiet, narrow enough, and it answers."""

import re
from pathlib import Path

import pytest

from claimbook import errors
from claimbook.book import Book
from claimbook.errors import LIKE

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs/_build/html"
NAMES = sorted(path.relative_to(SITE).with_suffix("").as_posix() for path in SITE.rglob("*.html"))
READ = [name for name in NAMES if not name.startswith(("genindex", "search", "_static"))]
TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n'


@pytest.mark.parametrize("name", NAMES)
def test_page_is_quiet_and_fits_a_phone(open_page, name):
    """No error, no request to another host, and nothing to scroll sideways."""
    page = open_page(name, width=390)
    assert page.problems == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


SERIOUS = {"serious", "critical"}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", READ)
def test_page_is_accessible(open_page, name, theme):
    """axe-core finds no serious fault, in either theme."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = axe.run(open_page(name, theme=theme)).response["violations"]
    grave = [
        (each["id"], each["nodes"][0]["html"][:200]) for each in found if each["impact"] in SERIOUS
    ]
    assert grave == []


MESSAGES = errors.messages(Book.load(ROOT).claims)


def test_lookup_is_the_same_as_in_python(open_page):
    """For every error of the book, with other numbers, the page answers as `claimbook explain`."""
    page = open_page("errors")
    different = []
    for message in MESSAGES:
        text = re.sub(r"(?<![\w.])\d+", "7", message.text)
        said = f"{message.type}: {text}" if text else message.type
        page.fill("#traceback", TRACEBACK + said)
        shown = page.locator(".error-lookup .error-list .error-text").all_text_contents()
        best = errors.search(MESSAGES, said, 1)[0]
        wanted = [(best.message.text or best.message.type).strip()] * (best.likeness >= LIKE)
        if [text.strip() for text in shown[:1]] != wanted:
            different.append((wanted, shown[:1]))
    assert different == []


def test_lookup_says_that_it_knows_nothing(open_page):
    """An error of another library is not answered with something else."""
    page = open_page("errors")
    page.fill("#traceback", "pandas.errors.ParserError: tokenizing failed")
    assert (
        page.text_content(".error-lookup [role=status]")
        == "No claim prints an error like this one."
    )


def test_prediction_hides_and_stays(open_page):
    """Outputs are hidden until asked for, one by one, and a reload keeps the choice."""
    page = open_page("autograd/gradients-add-up")
    output = page.locator(".claim-output").first
    assert output.is_visible()
    page.get_by_label(re.compile("Predict")).check()
    assert not output.is_visible()
    page.get_by_role("button", name="Show what is printed").first.click()
    assert output.is_visible()
    page.reload()
    assert page.get_by_label(re.compile("Predict")).is_checked()
    assert not page.locator(".claim-output").first.is_visible()


def test_ledger_filter(open_page):
    """The ledger shows the rows that hold a word."""
    page = open_page("ledger")
    page.get_by_label("Words").fill("checkpoint")
    shown = page.locator("table.ledger tbody tr:visible")
    assert 0 < shown.count() < 60
    assert "checkpoint" in shown.first.inner_text().lower()
