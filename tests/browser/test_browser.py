"""What only a browser can tell of the site: it is whole, quiet, narrow enough, and it answers."""

import re
import time

import pytest

from browser.conftest import opener
from claimbook.exports import errors, lookup
from claimbook.sphinx.line_breaks import UNBROKEN
from helpers import SITE, error_lookup, known_errors

ALL = sorted(path.relative_to(SITE).with_suffix("").as_posix() for path in SITE.rglob("*.html"))
READ = [name for name in ALL if not name.startswith(("genindex", "search", "_static"))]
NAMES = [*READ, *(name for name in ALL if name not in READ)]
"""All pages, those first that are read: pytest then finds both tests of a page by its number."""
TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n'


SCREENS = 12
"""How long a chapter may be on a laptop, its details folded."""

CODE = ".claim-code pre, .highlight-Python pre, .in-practice pre"
TOO_WIDE = f"""() => {{
  const folds = [...document.querySelectorAll(":is(.claim-more, .claim-fold):not([open])")];
  folds.forEach((fold) => {{ fold.open = true; }});  // closed, they are as narrow as their titles
  const found = [...document.querySelectorAll("{CODE}")]
    .filter((code) => code.scrollWidth > code.clientWidth)
    .map((code) => code.innerText);
  folds.forEach((fold) => {{ fold.open = false; }});
  return found;
}}"""

CUT = """() => [...document.querySelectorAll("figure.drawn svg")].flatMap((picture) => {
  const edge = picture.getBoundingClientRect();
  return [...picture.querySelectorAll("text")].filter((text) => {
    const box = text.getBoundingClientRect();
    return Math.max(edge.left - box.left, edge.top - box.top,
      box.right - edge.right, box.bottom - edge.bottom) > 1;
  }).map((text) => text.textContent);
})"""

OFF_A_PHONE = """() => [...document.querySelectorAll("figure.drawn")]
  .filter((figure) => figure.checkVisibility())
  .filter((figure) => figure.querySelector(".chart, .title, .tick, .name"))
  .filter((figure) => !figure.querySelector(".fraction"))
  .flatMap((figure) => {
    const picture = figure.querySelector("svg");
    const scale = picture.getBoundingClientRect().width / picture.viewBox.baseVal.width;
    const small = [...picture.querySelectorAll("text")].filter(
      (text) => parseFloat(getComputedStyle(text).fontSize) * scale < 10.5);
    const cut = figure.scrollWidth > figure.clientWidth ? ["cut"] : [];
    return [...cut, ...small.map((text) => text.textContent)];
  })"""
"""What a phone cuts of charts, bars, grids and timelines, or shows in letters under 10.5 pixels."""

SQUEEZED = """() => [...document.querySelectorAll("article td.long")]
  .filter((cell) => cell.checkVisibility() && cell.clientWidth < 95)
  .map((cell) => cell.textContent)"""
"""Sentences in cells of tables that have room for a word a line."""

SHRUNK = """() => [...document.querySelectorAll("img.lab-figure")]
  .filter((image) => image.checkVisibility())
  .filter((image) => image.getBoundingClientRect().width < 0.68 * image.getAttribute("width")
    || image.getBoundingClientRect().right > innerWidth)
  .map((image) => image.alt)"""
"""Pictures of labs that a phone cuts, or whose letters of 14.7 pixels it shrinks to under 10."""

ALONE = """() => [...document.querySelectorAll(".headerlink, .claim-title > .claim-link")]
  .filter((link) => link.getClientRects().length && link.previousSibling)
  .filter((link) => {
    const text = document.createRange();
    text.selectNodeContents(link.previousSibling);
    return link.getBoundingClientRect().top >= text.getBoundingClientRect().bottom;
  })
  .map((link) => link.parentElement.textContent)"""
"""Links to a title, seldom seen, that stand alone in a line beneath it."""

TINY = """() => [...document.querySelectorAll("article :is(pre, code)")]
  .filter((code) => code.checkVisibility() && parseFloat(getComputedStyle(code).fontSize) < 10)
  .map((code) => code.textContent)"""


@pytest.fixture(scope="module")
def tab(browser):
    """One tab for page after page: the next one opens in three quarters of the time."""
    with opener(browser) as opened:
        yield opened("index")


@pytest.fixture(scope="module")
def each_page(tab, request):
    """A page of the site on a phone as for the first time, opened once for all tests of a page."""
    tab.evaluate("localStorage.clear()")
    tab.goto("about:blank")  # no script is left of the page before, of which tests cut parts away
    tab.emulate_media(color_scheme="light")
    tab.set_viewport_size({"width": 390, "height": 900})
    tab.problems.clear()
    tab.goto((SITE / f"{request.param}.html").as_uri())
    tab.name = request.param
    return tab


SHIFTED = """() => new Promise((found) => {
  let sum = 0;
  const add = (list) => list.getEntries().forEach((shift) => { sum += shift.value; });
  new PerformanceObserver(add).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => found(sum), 50);
})"""
"""The cumulative layout shift: how much of the window has moved, times how far."""
STEADY = 0.01


@pytest.mark.parametrize("each_page", NAMES, indirect=True)
def test_nothing_moves_while_a_page_arrives(each_page):
    """What a script adds has its room before."""
    assert each_page.evaluate(SHIFTED) <= STEADY


WITH_SCRIPTS = [
    *("autograd/backward", "devices/mixed-precision", "interview", "ledger", "practice", "errors"),
    *("lessons/the-training-loop", "lessons/when-it-does-not-train", "first-aid/gpu", "index"),
]


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("name", WITH_SCRIPTS)
def test_nothing_moves_when_a_script_is_late(open_page, name, width):
    """The page has been seen long before its scripts come."""
    page = open_page("404", width=width)
    page.route("**/_static/**.js*", late)
    page.goto((SITE / f"{name}.html").as_uri())
    assert page.evaluate(SHIFTED) <= STEADY


@pytest.mark.parametrize("name", ["tensors/dtypes", "devices/mixed-precision"])
def test_nothing_moves_for_who_predicts(open_page, name):
    """Outputs that were to be hidden on the page before are hidden before the scripts come."""
    page = open_page("tensors/sparse", width=1440)
    page.set_viewport_size({"width": 1440, "height": 3000})
    page.get_by_label(re.compile("Predict")).check()
    page.route("**/_static/**.js*", late)
    page.goto((SITE / f"{name}.html").as_uri())
    assert page.evaluate(SHIFTED) <= STEADY
    assert page.locator(".prediction-show").first.is_visible()


def late(route):
    """A script that takes its time; the browser draws meanwhile."""
    time.sleep(0.05)
    route.continue_()


@pytest.mark.parametrize("each_page", NAMES, indirect=True)
def test_page_is_quiet_and_fits(each_page):
    """No error, no request to another host; nothing is cut, too wide or too long."""
    page = each_page
    assert page.problems == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(OFF_A_PHONE) == []
    assert page.evaluate(SQUEEZED) == []
    assert page.evaluate(SHRUNK) == []
    assert page.evaluate(ALONE) == []
    page.set_viewport_size({"width": 768, "height": 900})
    assert page.evaluate(ALONE) == []
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate(CUT) == []
    if (SITE / f"{page.name}.ipynb").exists():
        page.set_viewport_size({"width": 1440, "height": 900})
        assert page.evaluate("document.documentElement.scrollHeight") <= SCREENS * 900


OPENED = "() => document.querySelectorAll('details').forEach((each) => { each.open = true; })"
"""Opens what is folded: axe does not look into it."""

LINES = "(e) => new Set([...e.getClientRects()].map(({ top }) => Math.round(top))).size"
"""The lines on which an element stands: one without a box has a rectangle for each word."""

BROKEN = f"""(short) => [...document.querySelectorAll("article code.literal")]
  .filter((code) => !code.closest("h1, table:not(.ledger)") && code.textContent.length <= short)
  .filter((code) => ({LINES})(code) > 1)
  .map((code) => code.textContent)"""
BROKEN_WORDS = rf"""() => [...document.querySelectorAll("article table code.literal")]
  .filter((code) => !code.closest(".ledger, .verdicts") && !code.querySelector("wbr"))
  .filter((code) => !/[\s-]/.test(code.textContent) && ({LINES})(code) > 1)
  .map((code) => code.textContent)"""


BROKEN_NUMBERS = r"""() => {
  const found = [], texts = document.createTreeWalker(document.querySelector("article"), 4);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.parentElement.closest("pre, code, svg, .ledger, .verdicts")) continue;
    for (const number of node.data.matchAll(/\d(?: × \d)+|\de-\d|(?<!\w)-inf\b/g)) {
      const range = document.createRange();
      range.setStart(node, number.index);
      range.setEnd(node, number.index + number[0].length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => top));
      if (lines.size > 1) found.push(number[0]);
    }
  }
  return found;
}"""


MOVES_SIDEWAYS = """() => [...document.querySelectorAll(".content, .table-wrapper")]
  .filter((box) => box.scrollWidth > box.clientWidth)
  .map((box) => box.innerText)"""


@pytest.mark.parametrize("each_page", READ, indirect=True)
def test_short_code_stays_whole(each_page):
    """No line of a sentence ends within it or a number on a phone; what is long may break."""
    page = each_page
    page.set_viewport_size({"width": 390, "height": 900})
    page.evaluate(OPENED)
    assert page.evaluate(TINY) == []
    assert page.evaluate(BROKEN, UNBROKEN) == []
    assert page.evaluate(BROKEN_WORDS) == []
    assert page.evaluate(BROKEN_NUMBERS) == []
    assert page.evaluate(MOVES_SIDEWAYS) == []


SERIOUS = {"serious", "critical"}
OF_COLOURS = ["color-contrast", "link-in-text-block"]
LEFT_OUT = {rule: {"enabled": False} for rule in ("region", "scrollable-region-focusable")}
"""A rule that takes long and finds nothing serious, and one that only a whole page can answer."""

ONE_OF_EACH = r"""(before) => {
  const seen = new Set(before), known = new Set(before), ids = {};
  const valued = /^(class|style|fill|role|type|tabindex|lang|scope|aria-[aehiloprs](?!abel).*)$/;
  const names = /^(LABEL|DT|DD|TH)$/;
  const refers = /^(headers|aria-labelledby)$/;
  const hash = (text, factor) =>
    [...text].reduce((sum, sign) => Math.imul(sum ^ sign.codePointAt(0), factor), factor);
  const short = (text) => `${hash(text, 16777619)}.${hash(text, 65599)}`;
  const told = ({ name, value }) => name + (valued.test(name) ? value
    : refers.test(name) ? value.split(/\s+/).every((id) => ids[id]) : !value.trim());
  const says = (node) => node.nodeType === Node.TEXT_NODE && node.data.trim();
  const own = (e) => [e.tagName, ids[e.id] > 1, e.labels?.length, [...e.childNodes].some(says),
    ...[...e.attributes].map(told).sort()].join();
  const keep = (e, path) => {
    const here = short(`${path}>${own(e)}`);
    [...e.children].forEach((child) => keep(child, here));
    if (seen.has(here) && !e.children.length && !names.test(e.tagName)) return e.remove();
    seen.add(here);
  };
  document.querySelectorAll("[id]").forEach(({ id }) => { ids[id] = (ids[id] ?? 0) + 1; });
  const style = [...document.styleSheets].map((sheet) => sheet.href?.split("/").pop()).join();
  keep(document.body, style);
  return [...seen].filter((here) => !known.has(here));
}"""
"""Leaves one of all elements that axe-core cannot tell apart, here or on a page before: in the same
place, with the same look and role, each with or without a name. Returns what tells the new ones."""


SHOWN = "() => new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)))"
"""Waits until the page was drawn, and with it has seen which code is wider than its box."""

BEYOND_KEYS = """() => [...document.querySelectorAll("body *")]
  .filter((e) => e.scrollWidth > e.clientWidth && e.clientWidth && e.tabIndex < 0)
  .filter((e) => /auto|scroll/.test(getComputedStyle(e).overflowX))
  .filter((e) => !e.querySelector("a[href], button, input, summary, [tabindex='0']"))
  .map((e) => e.outerHTML.slice(0, 200))"""
"""What can be moved sideways, but not by keys: an element that was left out makes none."""


def violations(page, **options):
    """The faults that axe-core finds, as it tells them."""
    if page.evaluate("typeof axe") == "undefined":
        axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
        page.evaluate(axe.axe_script)
    run = "async (asked) => (await axe.run(asked)).violations"
    return page.evaluate(run, {"resultTypes": ["violations"], **options})


def serious(page, **options):
    """The serious faults that axe-core finds, each with an element that has it."""
    found = [each for each in violations(page, **options) if each["impact"] in SERIOUS]
    return [(each["id"], each["nodes"][0]["html"][:200]) for each in found]


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory, testrun_uid):
    """A file, of all processes, with what tells the elements apart that were right on some page."""
    file = tmp_path_factory.getbasetemp().parent / f"looked-at-{testrun_uid}"
    file.touch()
    return file


@pytest.mark.parametrize("each_page", READ, indirect=True)
def test_page_is_accessible(each_page, looked_at):
    """axe-core finds no serious fault, and none in the colours of either theme."""
    page = each_page
    opened(page)
    assert page.evaluate(BEYOND_KEYS) == []
    new = page.evaluate(ONE_OF_EACH, looked_at.read_text().split())
    if new and serious(page, rules=LEFT_OUT):
        # An element may lack one that was left out: the whole page says whether it does.
        page.reload()
        opened(page)
        assert serious(page, rules=LEFT_OUT) == []
    if new:
        page.emulate_media(color_scheme="dark")
        assert serious(page, runOnly=OF_COLOURS) == []
    with looked_at.open("a") as file:
        file.write("".join(f"{each}\n" for each in new))


def opened(page):
    """A page on a wide screen, all of it unfolded and drawn."""
    page.set_viewport_size({"width": 1200, "height": 900})
    page.evaluate(OPENED)
    page.evaluate(SHOWN)


@pytest.mark.parametrize("name", ["index", "autograd/gradients-add-up", "ledger", "search"])
def test_parts_of_a_page_are_told_apart(open_page, name):
    """Landmarks have names of their own, and no level of headings is left out."""
    found = violations(open_page(name), runOnly=["best-practice"])
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found] == []


@pytest.fixture(scope="module")
def seen(browser):
    """What tells the elements of a page apart that was right."""
    with opener(browser) as opened:
        return opened("tensors/sparse").evaluate(ONE_OF_EACH, [])


def test_faint_text_is_found(open_page, seen):
    """On the last of many elements that differ in nothing else, in the dark alone."""
    page = open_page("tensors/dtypes")
    page.evaluate("document.body.dataset.theme = 'auto'")
    page.add_style_tag(
        content="@media (prefers-color-scheme: dark) { .faint { color: #444 !important } }"
    )
    page.locator("article p").last.evaluate("element => element.classList.add('faint')")
    page.evaluate(ONE_OF_EACH, seen)
    assert serious(page, runOnly=OF_COLOURS) == []
    page.emulate_media(color_scheme="dark")
    assert [fault for fault, _ in serious(page, runOnly=OF_COLOURS)] == ["color-contrast"]


FAULTS = {
    "button-name": "<button></button>",
    "link-name": "<a href='x'></a>",
    "image-alt": "<img src='x.png'>",
    "select-name": "<select><option>x</option></select>",
    "aria-valid-attr-value": "<p aria-live='loud'>x</p>",
    "label": "<input id='unlabelled'>",
    "aria-hidden-focus": "<p aria-hidden='true'><button>x</button></p>",
}


def test_faults_are_found(open_page, seen):
    """Among many elements that were right on a page before."""
    page = open_page("tensors/dtypes")
    text = "".join(FAULTS.values())
    page.locator("article p").last.evaluate("(e, text) => { e.innerHTML += text; }", text)
    page.evaluate(ONE_OF_EACH, seen)
    assert FAULTS.keys() - {found for found, _ in serious(page, rules=LEFT_OUT)} == set()


def test_code_beyond_the_keys_is_found(open_page):
    """What is wider than its box is reached by the Tab key."""
    page = open_page("tensors/dtypes", width=390)
    page.evaluate(OPENED)
    page.wait_for_function(f"({BEYOND_KEYS})().length === 0")
    page.evaluate("document.querySelectorAll('pre').forEach((pre) => { pre.tabIndex = -1; })")
    assert page.evaluate(BEYOND_KEYS) != []


WORDS = "(texts) => texts.map((text) => theErrors.read(text).words)"
FIRST_OF_EACH = """(texts) => texts.map((text) => {
  const box = document.querySelector("#traceback");
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  return document.querySelector(".error-lookup .error-list .error-text")?.textContent ?? "";
})"""


def test_lookup_is_the_same_as_in_python(open_page):
    """Every error of the book, with other numbers, and the beginning of some, has the same words.

    What is found by words is compared in the search, with what was pasted; here, what is shown.
    """
    page = open_page("errors")
    page.wait_for_selector("#traceback")
    asked = [(m.type, re.sub(r"(?<![\w.])\d+", "7", m.text)) for m in known_errors()]
    asked += [(kind, " ".join(text.split()[:6])) for kind, text in asked[::5]]
    texts = [TRACEBACK + ": ".join(filter(None, each)) for each in asked]
    words = zip(texts, page.evaluate(WORDS, texts), strict=True)
    assert [text for text, read in words if tuple(read) != errors.read(text).words] == []
    some = texts[::40]
    shown = page.evaluate(FIRST_OF_EACH, some)
    best = [error_lookup().search(text, 1) for text in some]
    wanted = [
        ": ".join(filter(None, [m.message.type, m.message.text[: lookup.LENGTH]]))
        for found in best
        for m in found or [lookup.Match(errors.Message("", "", ()), 0, same=False)]
    ]
    both = zip(some, shown, wanted, strict=True)
    assert [each for each in both if each[1].strip() != each[2].strip()] == []


def test_lookup_says_that_it_knows_nothing(open_page):
    """An error of another library is not answered with something else."""
    page = open_page("errors")
    page.wait_for_selector("#traceback")
    page.fill("#traceback", "pandas.errors.ParserError: tokenizing failed")
    assert (
        page.text_content(".error-lookup [role=status]")
        == "No example prints an error like this one. Search the book for it."
    )


def test_what_was_pasted_is_there_for_who_comes_back(open_page):
    """With what was found, also in a browser that loads the page again."""
    page = open_page("errors")
    page.fill("#traceback", "RuntimeError: mat1 and mat2 shapes cannot be multiplied")
    first = page.locator(".error-lookup .error-hit a").first
    first.click()
    page.wait_for_url("**/first-aid/**")
    page.go_back()
    first.wait_for()
    assert page.input_value("#traceback").startswith("RuntimeError: mat1")


def test_prediction_hides_and_stays(open_page):
    """Outputs are hidden until asked for, one by one, and a reload keeps the choice."""
    page = open_page("autograd/gradients-add-up")
    output = page.locator(".claim-output").first
    assert output.is_visible()
    page.get_by_label(re.compile("Predict")).check()
    assert not output.is_visible()
    page.get_by_role("button", name="Show what is printed").first.press("Enter")
    assert output.is_visible()
    assert output.evaluate("output => output === document.activeElement")
    page.reload()
    assert page.get_by_label(re.compile("Predict")).is_checked()
    assert not page.locator(".claim-output").first.is_visible()
    kept = page.evaluate("Object.keys(localStorage).filter((key) => key !== 'theme')")
    assert [key for key in kept if not key.startswith("claimbook.")] == []


def test_a_lesson_hides_what_it_asks_to_predict(open_page):
    """Also the title, which tells it; what the lesson explains is shown."""
    page = open_page("lessons/autograd-in-ten-minutes")
    card = page.locator("#predict .claim").first
    assert page.locator(".claim-output").first.is_visible()
    assert not card.locator(".claim-title").is_visible()
    assert not card.locator(".claim-output").first.is_visible()
    for button in card.get_by_role("button", name="Show what is printed").all():
        button.click()
    assert card.locator(".claim-title").is_visible()
    assert card.locator(".claim-output").first.is_visible()


def test_wide_code_can_be_scrolled_by_keyboard(open_page):
    """Also what was hidden or folded at first; on a wide screen nothing needs to be."""
    page = open_page("autograd/graph-and-leaves", width=390)
    page.get_by_label(re.compile("Predict")).check()
    page.reload()
    page.evaluate("document.querySelectorAll('.prediction-show').forEach((all) => all.click())")
    page.evaluate(OPENED)
    page.wait_for_function(WIDE_ARE_STOPS)
    page.set_viewport_size({"width": 2400, "height": 900})
    page.wait_for_function(WIDE_ARE_STOPS)


WIDE_ARE_STOPS = """() => [...document.querySelectorAll(".claim-session pre")].every(
  (code) => (code.scrollWidth > code.clientWidth) === (code.tabIndex === 0))"""


def test_lane_is_chosen_once(open_page):
    """Arrow keys choose whose outputs every claim shows; a reload and paper know of it."""
    page = open_page("devices/mixed-precision")
    on_cpu, on_cuda = page.locator(".on-cpu"), page.locator(".on-cuda")
    switches = page.get_by_role("group", name="Printed on")
    shown = lambda boxes: {box.is_visible() for box in boxes.all()}  # noqa: E731
    page.evaluate(OPENED)
    assert switches.count() > 1
    assert (shown(on_cpu), shown(on_cuda)) == ({True}, {False})
    switches.first.get_by_role("radio", name="CPU").focus()
    page.keyboard.press("ArrowRight")
    assert (shown(on_cpu), shown(on_cuda)) == ({False}, {True})
    page.get_by_label(re.compile("Predict")).check()
    hidden = page.locator(".prediction-show:visible + .on-cpu, .prediction-show:visible + .on-cuda")
    assert hidden.count() == on_cuda.count()
    page.get_by_label(re.compile("Predict")).uncheck()
    page.reload()
    page.evaluate(OPENED)
    assert (shown(on_cpu), shown(on_cuda)) == ({False}, {True})
    assert switches.last.get_by_role("radio", name="CUDA").is_checked()
    page.emulate_media(media="print")
    assert (shown(on_cpu), shown(on_cuda)) == ({True}, {True})


def test_the_lane_is_seen_where_the_reader_chooses_all_colours(open_page):
    """A line in a colour of its own would look like any other."""
    page = open_page("devices/mixed-precision")
    box = page.get_by_role("group", name="Printed on").first.get_by_role("radio", name="CPU")
    seen = "box => getComputedStyle(box).opacity"
    assert box.evaluate(seen) == "0"
    page.emulate_media(forced_colors="active")
    assert box.evaluate(seen) == "1"


@pytest.mark.parametrize("width", [390, 1200])
def test_the_keyboard_is_followed_by_the_eye(open_page, width):
    """Whatever the Tab key leads to is in sight and marked, on a narrow screen the contents too."""
    page = open_page("tensors/one-hot", width=width)
    page.add_style_tag(content="* { transition: none !important; }")
    passed = []
    while True:
        page.keyboard.press("Tab")
        here = page.evaluate(FOCUSED)
        if here["tag"] == "BODY":
            break
        passed.append(here)
    assert len(passed) > 50
    assert [here for here in passed if not (here["marked"] and here["in_sight"])] == []


FOCUSED = """() => {
  const focused = document.activeElement, box = focused.getBoundingClientRect();
  const outlined = (part) => getComputedStyle(part).outlineStyle !== "none";
  const beside = box.right <= 0 || box.left >= innerWidth;
  return {
    tag: focused.tagName,
    html: focused.outerHTML.slice(0, 80),
    marked: outlined(focused) || outlined(focused.parentElement),
    in_sight: !beside && box.bottom > 0 && box.top < innerHeight,
  };
}"""
"""What has the focus, whether an outline says so, and whether some of it is in the window."""


FOLDED = "claim-alternating-batches-pump-the-swing"


@pytest.mark.parametrize("place", ["claim-uses-in-one-graph-add-up", "see-also", FOLDED])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_link_leads_beneath_the_header(open_page, place, elsewhere):
    """On a phone no part of what it leads to is covered; a reader who wants no motion sees none."""
    page = open_page("reading" if elsewhere else "autograd/gradients-add-up", width=390)
    if elsewhere:
        page.goto((SITE / "autograd/gradients-add-up.html").as_uri() + f"#{place}")
    else:
        page.evaluate("place => { location.hash = place; }", place)
    page.wait_for_function("scrollY > 0")
    header = page.locator(".mobile-header").bounding_box()
    target = page.locator(f"#{place}, details:has(> #{place})").first
    assert header["y"] + header["height"] <= target.bounding_box()["y"] < 200


def test_a_chosen_theme_outweighs_the_systems(open_page):
    """The light theme has its own colours on a system that prefers the dark one."""
    page = open_page("autograd/gradients-add-up", theme="dark")
    page.evaluate("document.body.dataset.theme = 'light'")
    page.evaluate(ONE_OF_EACH, [])
    assert serious(page, runOnly=["color-contrast"]) == []


def test_paper_is_white(open_page):
    """What is printed in the dark theme has the colours of the light one."""
    page = open_page("autograd/gradients-add-up", theme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate(ONE_OF_EACH, [])
    assert serious(page, runOnly=["color-contrast"]) == []


def test_ledger_filter(open_page):
    """The ledger shows the rows that hold a word."""
    page = open_page("ledger")
    page.get_by_label("Words").fill("checkpoint")
    shown = page.locator("table.ledger tbody tr:visible")
    tables = page.locator("table.ledger:visible")
    assert 0 < tables.count() <= shown.count()
    assert 0 < shown.count() < 60
    assert "checkpoint" in shown.first.inner_text().lower()


@pytest.mark.parametrize(("name", "words"), [("claim-index", "checkpoint"), ("apis", "allclose")])
def test_a_long_list_is_filtered(open_page, name, words):
    """It shows the lines that hold the words, and no title of a part that has none."""
    page = open_page(name)
    page.get_by_label("Words").fill(words)
    shown = page.locator(":is(.claim-index, .api-list) > li:visible")
    assert 0 < shown.count() < 60
    assert all(words in text.lower() for text in shown.all_inner_texts())
    assert page.locator("article h2:visible").count() < 8


def test_a_source_without_rows_is_not_shown(open_page):
    """Its title would stand over nothing."""
    page = open_page("ledger")
    page.get_by_label("Words").fill("no such words")
    assert page.locator("article h2:visible").count() == 0
    page.get_by_label("Words").fill("")
    assert page.locator("article h2:visible").count() > 1


def test_a_thumb_meets_one_thing(browser):
    """On a phone no two buttons of the header touch, and none hides the end of a line of code.

    The header's words lead to the part to which the page belongs.
    """
    context = browser.new_context(viewport={"width": 390, "height": 844}, **FINGER)
    page = context.new_page()
    page.goto((SITE / "autograd/gradients-add-up.html").as_uri())
    theme, contents = (page.locator(f".header-right {name}") for name in (".theme-toggle", "label"))
    right = theme.bounding_box()["x"] + theme.bounding_box()["width"]
    assert contents.bounding_box()["x"] - right >= 8
    up = page.locator(".mobile-header a")
    assert up.inner_text() == "III · Autograd"
    assert up.get_attribute("href") == "index.html"
    assert page.evaluate(COVERED) == []
    context.close()
    context = browser.new_context(viewport={"width": 390, "height": 844})  # a window, with a mouse
    page = context.new_page()
    page.goto((SITE / "first-aid/training-and-loading.html").as_uri())
    assert page.evaluate(COVERED) == []
    context.close()


FINGER = {"is_mobile": True, "has_touch": True}
COVERED = """() => [...document.querySelectorAll(".claim-session")].flatMap((session) => {
  const code = session.querySelector(".claim-prelude + .claim-code pre");
  const button = session.querySelector(".copybtn").getBoundingClientRect();
  const text = document.createRange();
  text.selectNodeContents(code);
  code.scrollLeft = code.scrollWidth;
  return [...text.getClientRects()]
    .filter((part) => part.top < button.bottom && part.right > button.left && part.width)
    .map(() => code.textContent.split("\\n")[0]);
})"""
"""First lines of code of which a part is under the copy button, moved as far as it goes."""


def test_a_verdict_leads_to_its_rows(open_page):
    """The start page counts verdicts; each count leads to as many rows of the ledger."""
    page = open_page("index")
    legend = page.locator("ul.verdicts a")
    for number in range(legend.count()):
        count = int(legend.nth(number).locator("strong").inner_text())
        legend.nth(number).click()
        page.locator(".list-filter", has_text=f" {count} of ").wait_for()
        assert page.locator("table.ledger tbody tr:visible").count() == count
        page.go_back()
