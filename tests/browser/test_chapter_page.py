"""A chapter as its reader meets it, with details that open when they are needed."""

import json
import re

import pytest

from helpers import SITE


@pytest.fixture
def chapter(open_page):
    """A chapter with details."""
    return open_page("autograd/backward")


def details(page):
    """How many details there are, and how many are open."""
    return page.locator("details.detail").count(), page.locator("details.detail[open]").count()


def test_all_details_open_at_once(chapter):
    """The button says how many are folded, and folds them again."""
    count, opened = details(chapter)
    assert count > 5
    assert opened == 0
    chapter.get_by_role("button", name=f"Open all details ({count})").click()
    assert details(chapter) == (count, count)
    chapter.get_by_role("button", name="Close all details").click()
    assert details(chapter) == (count, 0)


def test_a_link_opens_a_detail(open_page, chapter):
    """Also without a script: the id stands inside of what is opened."""
    name = chapter.locator("details.detail .claim-body").last.get_attribute("id")
    page = open_page("index")
    page.goto((SITE / "autograd/backward.html").as_uri() + f"#{name}")
    page.locator(f"#{name}").wait_for()
    assert details(page)[1] == 1
    quiet = page.context.browser.new_context(java_script_enabled=False).new_page()
    quiet.goto((SITE / "autograd/backward.html").as_uri() + f"#{name}")
    quiet.locator(f"#{name}").wait_for()
    quiet.context.close()


def test_details_are_printed(chapter):
    """On paper they are open, and folded again afterwards."""
    chapter.evaluate("dispatchEvent(new Event('beforeprint'))")
    count, opened = details(chapter)
    assert opened == count
    chapter.evaluate("dispatchEvent(new Event('afterprint'))")
    assert details(chapter) == (count, 0)


NOT_PRINTED = """.page-tools, .sidebar-drawer, .toc-drawer, .claim-link, .claim-more, .copybtn,
  figure.drawn details"""


def test_details_are_printed_without_a_script(browser):
    """The style alone shows what they hold, and leaves out what only a script can do."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((SITE / "autograd/backward.html").as_uri())
    assert not page.locator(".page-tools button").is_visible()
    page.emulate_media(media="print")
    assert page.locator(NOT_PRINTED).filter(visible=True).count() == 0
    bodies = page.locator("details.detail > .claim-body")
    assert bodies.count() > 5
    assert [each for each in bodies.all() if each.bounding_box()["height"] < 20] == []
    context.close()


def test_the_words_of_a_picture_stay(open_page):
    """On a phone a wide picture is moved sideways, and its words are not."""
    page = open_page("memory/strides", width=390)
    figures = page.locator("figure.drawn").filter(visible=True)
    wide = [each for each in figures.all() if each.evaluate("f => f.scrollWidth > f.clientWidth")]
    assert wide
    for figure in wide:
        figure.locator("summary").click()
        picture, words = figure.locator("svg"), figure.locator("figcaption")
        before, place = picture.bounding_box()["x"], words.bounding_box()["x"]
        figure.evaluate("figure => { figure.scrollLeft = 60; }")
        assert picture.bounding_box()["x"] < before
        assert words.bounding_box()["x"] == place


def test_prediction_hides_what_explains_an_output(chapter):
    """It is shown when all outputs of its card are."""
    card = chapter.locator("div.claim:has(.claim-shown)").first
    said = card.locator(".claim-shown").first
    assert said.is_visible()
    chapter.get_by_label(re.compile("Predict")).check()
    assert not said.is_visible()
    buttons = card.get_by_role("button", name="Show what is printed")
    for _ in range(buttons.count()):
        assert not said.is_visible()
        buttons.first.click()
    assert said.is_visible()


def test_prediction_waits_for_the_chosen_lane_alone(open_page):
    """What explains an output is shown when those of the lane are; another lane has its own."""
    page = open_page("tensors/dtypes")
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.get_by_label(re.compile("Predict")).check()
    card = page.locator(".claim:has(.on-cuda):has(.claim-shown)").first
    said = card.locator(".claim-shown").first
    for lane in ("CPU", "CUDA"):
        card.get_by_role("radio", name=lane).check(force=True)
        assert not said.is_visible()
        buttons = card.locator(".prediction-show:visible")
        while buttons.count():
            buttons.first.click()
        assert said.is_visible()


@pytest.mark.parametrize("name", ["autograd/your-own-backward", "modules/transfer-learning"])
def test_the_contents_show_where_a_page_stands(open_page, name):
    """The place of a page far down in a long book is seen without moving the contents."""
    page = open_page(name)
    page.set_viewport_size({"width": 1440, "height": 700})
    page.reload()
    link = page.locator(".sidebar-tree .current-page > a").bounding_box()
    frame = page.locator(".sidebar-scroll").bounding_box()
    assert frame["y"] <= link["y"]
    assert link["y"] + link["height"] <= frame["y"] + frame["height"]


def test_a_route_leads_on(open_page):
    """Who enters a chapter from a route finds the next one, and sees what was read."""
    page = open_page("index")
    text = (SITE / "_static/routes.js").read_text("utf-8")
    route = json.loads(text.removeprefix("const bookRoutes = ").rstrip(";\n"))[0]
    page.locator("ol.route").first.locator("a").nth(1).click()
    bar = page.locator(".route-bar")
    said = " ".join(bar.inner_text().split())
    assert said.startswith(f"{route['title']} · 2 of {len(route['stops'])}")
    bar.get_by_text(re.compile("→")).click()
    assert f"3 of {len(route['stops'])}" in page.locator(".route-bar").inner_text()
    page.goto((SITE / "index.html").as_uri())
    assert page.locator("ol.route").first.locator(".was-read").count() == 2


def test_a_route_begins_at_the_address_of_a_folder(open_page, address):
    """A server shows the start page without its file's name."""
    page = open_page("index")
    page.goto(f"{address}/")
    page.locator("ol.route").first.locator("a").first.click()
    page.locator(".route-bar").wait_for()
    page.goto(f"{address}/?from=elsewhere")
    assert page.locator("ol.route").first.locator(".was-read").count() == 1


def test_a_belief_turns_over(open_page):
    """What is true is shown when its card is clicked, with a way to the example."""
    page = open_page("index")
    card = page.locator("details.belief").first
    assert not card.locator("p").is_visible()
    card.locator("summary").click()
    assert card.locator("p a").get_attribute("href").split("#")[1].startswith("claim-")
    assert card.locator("p").is_visible()


@pytest.mark.parametrize(("name", "width"), [("index", 1200), ("404", 390)])
def test_a_question_is_searched(open_page, name, width):
    """The box of the start page leads to the search, and that of a missing page on a phone."""
    page = open_page(name, width=width)
    page.fill("#ask", "what is a leaf tensor")
    page.get_by_role("button", name="Find").click()
    page.wait_for_url("**/search.html?q=*")
    page.locator("ol.search-hits > li").first.wait_for()


def test_a_chapter_is_practised_by_itself(open_page):
    """Its link leads to its own cards."""
    page = open_page("autograd/backward")
    page.get_by_role("link", name="Practise this chapter").click()
    page.locator(".practice-ask:not(:empty)").wait_for()
    assert page.locator("select[name=deck]").input_value() == "autograd"
    assert "autograd/backward.html" in page.locator(".practice-link a").get_attribute("href")


def test_the_interview_is_counted_and_practised(open_page):
    """Each question has its number in the whole interview, and the link leads to their cards."""
    page = open_page("interview")
    lists = page.locator("ol.questions")
    starts = lists.evaluate_all("(all) => all.map((list) => list.start)")
    sizes = lists.evaluate_all("(all) => all.map((list) => list.children.length)")
    assert starts == [1 + sum(sizes[:number]) for number in range(len(sizes))]
    assert sum(sizes) == 60
    page.get_by_role("link", name="Practise these questions").click()
    page.locator(".practice-ask:not(:empty)").wait_for()
    assert page.locator("select[name=deck]").input_value() == "interview"
    assert "60 new" in page.locator(".practice-count").inner_text()


def test_a_line_chart_is_whole_on_a_phone(open_page):
    """Its words are at least half as large as the text's; other pictures are moved sideways."""
    page = open_page("autograd/hooks", width=390)
    chart = page.locator("svg.chart").first
    drawn = chart.bounding_box()
    assert drawn["x"] + drawn["width"] <= 390
    assert 11 * drawn["width"] / float(chart.get_attribute("viewBox").split()[2]) >= 8


@pytest.mark.parametrize("name", ["memory/plot_dtypes", "optimisation/plot_optimisers"])
def test_a_labs_picture_has_a_form_for_a_phone(open_page, name):
    """It is narrower and higher; of its four files the one that is seen is loaded."""
    shown = {}
    for width in (390, 1440):
        page = open_page(f"labs/{name}", width=width)
        pictures = page.locator("img.lab-figure").filter(visible=True).all()
        shown[width] = [picture.bounding_box() for picture in pictures]
        pictures[-1].scroll_into_view_if_needed()
        page.wait_for_function(
            "(e) => e.complete && e.naturalWidth", arg=pictures[-1].element_handle()
        )
        files = page.locator("img.lab-figure").evaluate_all(
            "(all) => all.filter((e) => e.naturalWidth).map((e) => e.checkVisibility())"
        )
        assert files == [True] * len(files)
    both = zip(shown[390], shown[1440], strict=True)
    for narrow, wide in both:
        assert narrow["x"] + narrow["width"] <= 390 - narrow["x"] + 1
        assert narrow["height"] / narrow["width"] > wide["height"] / wide["width"]


def test_a_wide_table_is_read_row_by_row_on_a_phone(open_page):
    """Each cell follows the name of its column; a wide screen shows the table."""
    page = open_page("devices/compile", width=390)
    cells = page.locator("table.by-row tbody tr").first.locator("td").all()
    tops = [cell.bounding_box()["y"] for cell in cells]
    assert tops == sorted({*tops})
    assert cells[1].inner_text().startswith("what you get: ")
    page.set_viewport_size({"width": 1440, "height": 900})
    assert len({cell.bounding_box()["y"] for cell in cells}) == 1
    assert cells[1].inner_text().startswith("a faster call")


def test_short_cells_of_a_row_share_lines_on_a_phone(open_page):
    """And an empty one takes no room."""
    table = open_page("tensors/dtypes", width=390).locator(".table-wrapper").first
    last = table.locator("tbody tr").last  # complex64, without a largest number
    assert last.locator("td").count() == 7
    tops = last.locator("td").evaluate_all(
        "(cells) => cells.filter((e) => e.checkVisibility()).map((e) => e.offsetTop)"
    )
    assert len({*tops}) < len(tops) < 7


def test_no_line_of_code_is_emptied_by_a_break_on_a_phone(open_page):
    """A word too long for its line breaks at a bracket, not between it and its indentation."""
    page = open_page("data/processes", width=390)
    code = page.locator(".claim-code pre", has_text="queue.put(how(").first
    written = [line for line in code.inner_text().rstrip().splitlines() if not line.strip()]
    assert code.evaluate(LINES) - code.evaluate(FILLED) == len(written)


FILLED = r"""(code) => {
  const texts = document.createTreeWalker(code, 4), text = document.createRange();
  const tops = new Set();
  while (texts.nextNode()) {
    for (const { index, 0: word } of texts.currentNode.data.matchAll(/\S+/g)) {
      text.setStart(texts.currentNode, index);
      text.setEnd(texts.currentNode, index + word.length);
      [...text.getClientRects()].forEach(({ top }) => tops.add(Math.round(top)));
    }
  }
  return tops.size;
}"""
"""The lines in which there is more than blanks."""


def test_folded_cards_are_a_list(open_page):
    """No line is between two of them, until one is opened."""
    page = open_page("data/datasets")
    first = page.locator("details.detail:has(+ .detail + .detail)").first
    edge = "(e) => getComputedStyle(e).borderBottomColor"
    assert first.evaluate(edge) == "rgba(0, 0, 0, 0)"
    first.locator("+ .detail > summary").click()
    assert first.evaluate(edge) != "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize("name", ["ledger", "practice"])
def test_fields_of_a_form_begin_below_each_other_on_a_phone(open_page, name):
    """However long their names."""
    page = open_page(name, width=390)
    fields = page.locator(":is(.list-filter, .practice-choice) label > *").all()
    assert len(fields) > 1
    assert len({field.bounding_box()["x"] for field in fields}) == 1


def test_where_a_page_ran_takes_two_lines_on_a_phone(open_page):
    """Also with a GPU."""
    page = open_page("autograd/jacobian-products", width=390)
    said = page.locator(".provenance").first
    assert "CUDA" in said.inner_text()
    assert said.evaluate(LINES) == 2


def test_advice_beyond_three_points_is_folded_on_a_phone(open_page):
    """A tap opens it; a wide screen shows all points, and no fold."""
    phone = open_page("modules/embeddings", width=390)
    fold = phone.locator(".more-points").first
    last = fold.locator("li").last
    assert fold.locator("summary").inner_text() == f"{fold.locator('li').count()} more points"
    assert not last.is_visible()
    fold.locator("summary").click()
    assert last.is_visible()
    wide = open_page("modules/embeddings", width=1440).locator(".more-points").first
    assert wide.locator("li").last.bounding_box()["height"] > 10
    assert not wide.locator("summary").is_visible()


BROKEN_OPTIONS = r"""() => [...document.querySelectorAll("article code.literal .whole")]
  .filter((option) => option.getClientRects().length > 1)
  .map((option) => option.textContent)"""


def test_options_of_commands_stay_whole(open_page):
    """A line does not end within `--gpus`, after its dashes."""
    page = open_page("first-aid/gpu", width=390)
    options = page.locator("article code.literal .whole").all_inner_texts()
    assert "--gpus" in options
    for width in range(320, 420, 20):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(BROKEN_OPTIONS) == []


LAST_LINE = """(selector) => {
  const text = document.createRange();
  text.selectNodeContents(document.querySelector(selector));
  const lines = new Map();
  for (const { top, width } of text.getClientRects()) {
    lines.set(Math.round(top), (lines.get(Math.round(top)) ?? 0) + width);
  }
  return [...lines.values()].at(-1);
}"""


def test_no_message_ends_in_a_line_of_one_digit(open_page):
    """A message that is longer than its card by a word takes more than that word along."""
    page = open_page("memory/broadcasting", width=1440)
    assert page.evaluate(LAST_LINE, ".claim-error pre") > 40


def test_code_wraps_on_a_phone(open_page):
    """All of it is seen at once; what follows in a line of its own begins where no code does."""
    page = open_page("memory/vectorization", width=390)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    codes = page.locator(".claim-code pre, .in-practice pre").filter(visible=True)
    assert [each for each in codes.all() if each.evaluate(IS_CUT)] == []
    first = codes.first
    assert first.inner_text().count("\n") < first.evaluate(LINES) - 1
    assert first.evaluate(BEGINNINGS) == [0, 6]


IS_CUT = "(code) => code.scrollWidth > code.clientWidth"
LINES = """(code) => {
  const { height } = code.getBoundingClientRect(), style = getComputedStyle(code);
  return Math.round((height - 2 * parseFloat(style.paddingTop)) / parseFloat(style.lineHeight));
}"""
BEGINNINGS = """(code) => {
  const text = document.createRange(), left = new Map();
  text.selectNodeContents(code);
  for (const { top, left: x, width } of text.getClientRects()) {
    if (width) left.set(Math.round(top), Math.min(left.get(Math.round(top)) ?? x, x));
  }
  const sign = document.createElement("span"), style = getComputedStyle(code);
  sign.textContent = "0".repeat(100);
  sign.style.cssText = "position: absolute; white-space: pre; text-indent: 0";
  code.append(sign);
  const width = sign.getBoundingClientRect().width / 100;
  sign.remove();
  const start = code.getBoundingClientRect().left + parseFloat(style.paddingLeft);
  return [...new Set([...left.values()].map((x) => Math.round((x - start) / width)))].sort();
}"""
"""The columns in which lines of code without indentation begin, and those that continue them."""


@pytest.mark.parametrize("name", ["memory/vectorization", "interview"])
def test_a_page_says_what_it_is_for_before_its_tools(open_page, name):
    """They stand between its first lines and its first section."""
    page = open_page(name)
    tools = page.locator(".page-tools").bounding_box()
    aim = page.locator("h1 + p").bounding_box()
    assert aim["y"] + aim["height"] < tools["y"] < page.locator("h2").first.bounding_box()["y"]


def test_an_overview_opens_its_answers_where_they_begin(open_page):
    """Nothing comes between a picture at its top and the sentence that leads to it."""
    page = open_page("autograd/index")
    tools = page.locator(".page-tools").bounding_box()
    assert page.locator("h2").first.bounding_box()["y"] < tools["y"]
    answers = page.locator(".overview").bounding_box()
    assert 0 <= answers["y"] - (tools["y"] + tools["height"]) < 40


def test_lines_of_text_are_short(open_page):
    """At most 90 characters on a wide screen, however wide the boxes and their code."""
    page = open_page("memory/strides", width=1440)
    assert max(page.evaluate(CHARACTERS)) <= 90


CHARACTERS = """() => [...document.querySelectorAll("article p:not([class]), .short-answer")]
  .filter((text) => text.getClientRects().length && text.textContent.length > 200)
  .map((text) => text.textContent.length
    / Math.round(text.clientHeight / parseFloat(getComputedStyle(text).lineHeight)))"""
"""The characters in a line of each long paragraph, roughly: also its last line counts."""


def test_the_foot_of_a_card_is_one_line(open_page):
    """What is said of its run, and what unfolds the rest."""
    page = open_page("data/processes", width=390)
    card = page.locator("div.claim:has(> .claim-badges:not(:empty) + .claim-more)").first
    said, more = (card.locator(f"> {part}") for part in (".claim-badges", ".claim-more"))
    assert abs(said.bounding_box()["y"] - more.bounding_box()["y"]) < 4
    more.locator("> summary").click()
    above = said.bounding_box()
    assert more.bounding_box()["y"] >= above["y"] + above["height"]
