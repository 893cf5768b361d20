"""The practice page: it asks, shows, plans, and keeps what it knows of the reader."""

import json

import pytest

ASKS_THE_DECK = """
    "autograd" in loaded &&
    document.querySelector(".practice-count").textContent.includes(loaded.autograd.length)
"""
KEPT = "JSON.parse(localStorage.getItem('claimbook.practice')).cards"


@pytest.fixture
def page(open_page):
    """The page, opened from a file."""
    return practised(open_page)


def practised(open_page, **options):
    page = open_page("practice", **options)
    page.get_by_label("Deck").select_option("autograd")
    page.wait_for_function(ASKS_THE_DECK)
    return page


def ask(page):
    """What the card asks."""
    return page.locator(".practice-ask").inner_text()


def known(page, keys="Space 1"):
    """Answers the card by keys."""
    page.locator(".practice-desk").focus()
    for key in keys.split():
        page.keyboard.press(key)


def test_keys_show_and_mark(page):
    """Space shows the answer, 1 and 2 mark it, and marks wait until it is shown; all is heard."""
    first, answer = ask(page), page.locator(".practice-answer")
    known(page, "1 2")
    assert ask(page) == first
    assert not answer.is_visible()
    known(page, "Space")
    assert answer.is_visible()
    assert page.locator(".practice-heard").inner_text().strip()
    known(page, "1")
    assert ask(page) != first
    assert not answer.is_visible()
    assert page.locator(".practice-heard").inner_text() == ask(page)
    assert page.problems == []


def test_keys_are_left_to_other_controls(page):
    """In a list or on a button the keys are that control's own."""
    page.get_by_label("Deck").focus()
    page.keyboard.press("1")
    page.get_by_role("button", name="Export").focus()
    page.keyboard.press("2")
    assert page.evaluate(KEPT) == {}


def test_buttons_do_the_same(page):
    """With a mouse or a finger, and the keys go on from there."""
    first = ask(page)
    page.get_by_role("button", name="Show the answer").click()
    page.get_by_role("button", name="Not yet").click()
    assert ask(page) != first
    page.keyboard.press("Space")
    assert page.locator(".practice-answer").is_visible()


PLACE = """(box => [box.left + scrollX, box.top + scrollY, box.width, box.height])(
    document.querySelector(".practice-buttons").getBoundingClientRect())"""
"""Where the buttons are on the page, wherever it has been scrolled to."""


def test_nothing_moves(page):
    """An answer has its room before it is shown."""
    page.get_by_label("Cards").select_option("output")
    page.wait_for_function("document.querySelector('.practice-output')")
    page.locator(".practice-desk").focus()
    before = page.evaluate("document.documentElement.scrollHeight")
    place = page.evaluate(PLACE)
    known(page, "Space")
    assert page.evaluate("document.documentElement.scrollHeight") == before
    assert page.evaluate(PLACE) == place


def test_buttons_are_where_the_thumb_is(open_page):
    """Beneath the question and the answer, and in the window of a phone though a card is longer."""
    page = practised(open_page, width=390)
    page.get_by_label("Cards").select_option("output")
    page.wait_for_function("document.querySelector('.practice-output')")
    page.evaluate("document.querySelector('.practice-session').style.minHeight = '1500px'")
    page.locator(".practice-ask").scroll_into_view_if_needed()
    for _ in range(2):
        buttons = page.locator(".practice-buttons").bounding_box()
        assert page.locator(".practice-ask").bounding_box()["y"] < buttons["y"]
        assert 900 - 100 < buttons["y"] + buttons["height"] <= 900
        page.get_by_role("button", name="Show the answer").click(force=True)
    page.evaluate("document.querySelector('.practice-session').style.minHeight = ''")
    page.locator(".practice-keep").scroll_into_view_if_needed()
    link = page.locator(".practice-link").bounding_box()
    assert link["y"] + link["height"] <= page.locator(".practice-buttons").bounding_box()["y"]


def test_progress_is_seen(page):
    """The bar grows by a card that was known, and by none that was not."""
    bar, count = page.locator(".practice progress"), page.evaluate("loaded.autograd.length")
    known(page, "Space 2")
    assert bar.evaluate("bar => bar.value") == 0
    known(page)
    assert bar.evaluate("bar => [bar.value, bar.max]") == [1, count]


def test_outputs_are_hidden_until_shown(page):
    """Neither seen nor read aloud."""
    page.get_by_label("Cards").select_option("output")
    output = page.locator(".practice-output pre").first
    output.wait_for(state="attached")
    assert not output.is_visible()
    known(page, "Space")
    assert output.is_visible()


def test_boxes(page):
    """Known: tomorrow, then three days later. Not known: today, and in the first box again."""
    card = ask(page)
    known(page)
    (box, due), day = next(iter(page.evaluate(KEPT).values())), page.evaluate("today()")
    assert (box, due) == (1, day + 1)
    (name,) = page.evaluate(KEPT)
    for then, key, wanted in [(day, "1", [2, day + 3]), (day, "2", [0, day])]:
        page.evaluate(
            "([id, then]) => writeProgress((p) => { p.cards[id][1] = then; })", [name, then]
        )
        page.reload()
        page.wait_for_function("document.querySelector('.practice-count').textContent !== ''")
        assert ask(page) == card
        known(page, f"Space {key}")
        assert page.evaluate(KEPT)[name] == wanted


def test_progress_outlives_a_reload(page):
    """The deck is chosen as before, and what was known is not asked again."""
    first = ask(page)
    known(page)
    second = ask(page)
    page.reload()
    page.wait_for_function("document.querySelector('.practice-count').textContent !== ''")
    assert page.get_by_label("Deck").input_value() == "autograd"
    assert ask(page) == second != first
    assert "1 later" in page.locator(".practice-count").inner_text()


def test_export_and_import(page, open_page, tmp_path):
    """What one browser writes another reads; its own progress on other cards stays."""
    known(page)
    known(page)
    kept = page.evaluate(KEPT)
    assert exported(page, tmp_path)["cards"] == kept

    other = practised(open_page)
    assert other.evaluate(KEPT) == {}
    other.evaluate("writeProgress((progress) => { progress.cards.mine = [1, 1]; })")
    other.get_by_label("Import").set_input_files(tmp_path / "practice-progress.json")
    other.wait_for_function("document.querySelector('.practice-said').textContent !== ''")
    assert other.locator(".practice-said").inner_text() == "2 cards imported."
    assert other.evaluate(KEPT) == {**kept, "mine": [1, 1]}
    assert "2 later" in other.locator(".practice-count").inner_text()


def exported(page, folder):
    """What the page exports, into a folder."""
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return json.loads(file.read_text("utf-8"))


@pytest.mark.parametrize("text", ["", "{}", '{"cards": {"a": [99, 1]}}', '{"cards": {"a": 1}}'])
def test_a_wrong_file_changes_nothing(page, tmp_path, text):
    """It is refused, and the page says so."""
    known(page)
    kept = page.evaluate(KEPT)
    file = tmp_path / "wrong.json"
    file.write_text(text)
    page.get_by_label("Import").set_input_files(file)
    page.wait_for_function("document.querySelector('.practice-said').textContent !== ''")
    assert "not exported" in page.locator(".practice-said").inner_text()
    assert page.evaluate(KEPT) == kept


def test_broken_progress_is_forgotten(page):
    """The page works on whatever the browser has kept."""
    page.evaluate("localStorage.setItem('claimbook.practice', '{')")
    page.reload()
    page.wait_for_function("document.querySelector('.practice-count').textContent !== ''")
    known(page)
    assert len(page.evaluate(KEPT)) == 1
    assert page.problems == []


def test_a_browser_that_keeps_nothing(page, tmp_path):
    """The page goes on without, and says what to do."""
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error('full'); }; }")
    first = ask(page)
    known(page)
    known(page)
    assert ask(page) != first
    assert "export" in page.locator(".practice-said").inner_text()
    assert len(exported(page, tmp_path)["cards"]) == 2
    assert "2 later" in page.locator(".practice-count").inner_text()
    assert page.problems == []
