"""The explorers in a browser: torch agrees there too; by keys, by link, without scripts."""

import json
import shutil

import pytest

from browser.test_browser import BEYOND_KEYS, LEFT_OUT, ONE_OF_EACH, serious
from explorers import agreement
from helpers import SITE

PAGES = {
    "broadcasting": "memory/broadcasting",
    "strides": "memory/strides",
    "layers": "modules/layer-shapes",
    "promotion": "tensors/dtypes",
    "bits": "tensors/low-precision",
    "autograd": "autograd/backward",
}
STARTS = {
    "broadcasting": "[4, 3]",
    "strides": "[2, 2]",
    "layers": "[8, 10]",
    "promotion": "a + b is float16",
    "bits": "float32 and float16 store it exactly",
    "autograd": "The value is 10; x.grad is 7 (3 + 4) and y.grad is None",
}
SAMPLE = 40
CUT_OFF = """() => [...document.querySelectorAll(".explorer-wide")]
  .filter((place) => place.scrollWidth > place.clientWidth + 1)
  .map((place) => place.ariaLabel)"""
"""The tables that a reader has to scroll sideways."""


def in_browser(page):
    """Answer by Chromium, all cases in one call."""

    def ask(name, text, drawn):
        source = f"(cases => {{ return eval({json.dumps(agreement.program(name, text))}); }})"
        return json.loads(page.evaluate(source, drawn))

    return ask


def by_the_page(page):
    """Answer by the rule that the page itself has loaded."""

    def ask(name, text, drawn):
        call = agreement.EXPLORERS[name].CALL
        return json.loads(
            page.evaluate(f"cases => JSON.stringify(cases.map(drawn => {call}))", drawn)
        )

    return ask


@pytest.mark.parametrize("name", agreement.EXPLORERS)
def test_the_page_has_the_rule(open_page, name):
    """What the page has loaded answers as torch does."""
    page = open_page(PAGES[name])
    found = list(agreement.compared(name, by_the_page(page), agreement.sampled(name, SAMPLE)))
    assert not found, f"{len(found)} differ, first: {found[0]}"


@pytest.mark.skipif(bool(shutil.which("node")), reason="Node compares all cases, in nox -s tests")
@pytest.mark.parametrize("name", agreement.EXPLORERS)
def test_torch_agrees(browser, name):
    """All that is shown is what torch answers."""
    page = browser.new_page()
    found = agreement.differences(name, in_browser(page))
    page.close()
    assert not found, f"{len(found)} differ, first: {found[0]}"


def said(page, name):
    """The answer in a line, as a screen reader has it."""
    return page.locator(f"#explore-{name}").get_by_role("status").inner_text()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("width", "theme"), [(1440, "light"), (390, "dark")])
def test_starts(open_page, name, width, theme):
    """It shows its first case, in place of the picture, and stays in the width of the page."""
    page = open_page(PAGES[name], width=width, theme=theme)
    assert STARTS[name] in said(page, name)
    assert page.problems == []
    picture = page.locator(f".cell:has(+ #explore-{name})")
    assert (picture.count(), picture.is_visible()) == (1, False)
    for example in page.locator(f"#explore-{name} [data-example]").all():
        example.click()
        assert page.locator(f"#explore-{name} .explorer-shown").inner_text().strip()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CUT_OFF) == []
    assert page.problems == []


ALONE = """(place) => {
  for (let each = place; each !== document.body; each = each.parentElement) {
    [...each.parentElement.children].filter((other) => other !== each).forEach((e) => e.remove());
  }
}"""
"""Leaves of a page one element and those around it: axe-core looks at all that is there."""


COPIED = "() => { window.whole = document.body; document.body = whole.cloneNode(true); }"
BACK = "() => { document.body = whole; }"
"""Puts a copy, of which parts are cut away, in the place of all that is shown; and that again."""


@pytest.mark.parametrize("name", PAGES)
def test_every_example_is_accessible(open_page, name):
    """axe-core finds no serious fault in an explorer, whatever it shows, in either theme."""
    page = open_page(PAGES[name])
    place = page.locator(f"#explore-{name}")
    place.evaluate(ALONE)
    faults, seen = {}, []
    for example in place.locator("[data-example]").all():
        example.click()
        shown = example.inner_text()
        faults[shown] = page.evaluate(BEYOND_KEYS)
        page.evaluate(COPIED)
        seen += (new := page.evaluate(ONE_OF_EACH, seen))
        for theme in ("light", "dark") if new else ():
            page.emulate_media(color_scheme=theme)
            faults[shown] += serious(page, rules=LEFT_OUT)
        page.evaluate(BACK)
    assert len(faults) > 2
    assert not any(faults.values()), faults


IN_SIGHT = """(name) => {
  const { top, bottom } = document.getElementById(`explore-${name}`).getBoundingClientRect();
  return top < innerHeight && bottom > 0;
}"""


@pytest.mark.parametrize("name", PAGES)
def test_a_link_shows_a_case(open_page, name):
    """The address follows what is typed, and leads back to it."""
    page = open_page(PAGES[name])
    place = page.locator(f"#explore-{name}")
    place.locator("[data-example]").nth(2).click()
    wanted = place.locator(".explorer-shown").inner_text()
    assert page.evaluate("location.hash").startswith(f"#explore-{name}?")
    page.reload()
    page.wait_for_function(IN_SIGHT, arg=name)
    assert place.locator(".explorer-shown").inner_text() == wanted
    place.locator("[data-example]").nth(0).click()
    assert place.locator(".explorer-shown").inner_text() != wanted


def test_back_leads_to_the_case_before(open_page):
    """After links to cases; what was typed or tried is no step of its own."""
    page = open_page("index")
    address = (SITE / f"{PAGES['bits']}.html").as_uri()
    page.goto(f"{address}#explore-bits?number=3")
    page.goto(f"{address}#explore-bits?number=5")
    page.wait_for_function(SAYS, arg="5.0:")
    page.locator("#explore-bits [data-example]").first.click()
    page.go_back()
    page.wait_for_function(SAYS, arg="3.0:")
    page.go_back()
    assert page.url.endswith("/index.html")


SAYS = "start => document.querySelector('.explorer-said').innerText.startsWith(start)"
FORBIDDEN = """() => {
  navigator.clipboard.writeText = () => Promise.reject(new Error("no"));
}"""


@pytest.mark.parametrize("allowed", [True, False])
def test_copies_link_and_code(open_page, allowed):
    """A button says what came of it, and its own name again after a while."""
    page = open_page(PAGES["bits"])
    if allowed:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    else:
        page.evaluate(FORBIDDEN)
    place = page.locator("#explore-bits")
    place.get_by_label("A number").fill("0.75")
    page.clock.install(time=0)
    page.clock.pause_at(1)
    copied = {}
    for name in ("copy the link", "copy"):
        place.get_by_role("button", name=name, exact=True).click()
        button = place.get_by_role("button", name="copied" if allowed else "not allowed")
        button.click()  # once more, before it has its own name again
        button.wait_for()
        copied[name] = page.evaluate("navigator.clipboard.readText()") if allowed else None
        page.clock.run_for(5_000)
        place.get_by_role("button", name=name, exact=True).wait_for()
    if allowed:
        assert copied["copy the link"] == f"{page.url.partition('#')[0]}#explore-bits?number=0.75"
        assert copied["copy"].startswith("x = float(0.75)\n")


def test_without_scripts(browser):
    """The picture stands in its place."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((SITE / f"{PAGES['bits']}.html").as_uri())
    assert page.locator(".cell:has(+ #explore-bits)").is_visible()
    assert not page.locator("#explore-bits").is_visible()
    context.close()


def test_prints_the_picture(open_page):
    """On paper the picture stands in its place too."""
    page = open_page(PAGES["bits"])
    page.emulate_media(media="print")
    assert page.locator(".cell:has(+ #explore-bits)").is_visible()
    assert not page.locator("#explore-bits").is_visible()


def test_typing_broadcasting(open_page):
    """By keys alone; what is no shape is said, and what does not fit shows torch's error."""
    page = open_page(PAGES["broadcasting"])
    field = page.get_by_label("Shape of b")
    field.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("torch.Size([4])")
    assert "[4, 4]" in said(page, "broadcasting")
    field.fill("2, x")
    field.fill("2, 2")
    shown = page.locator("#explore-broadcasting pre.explorer-error").inner_text()
    assert shown.startswith("RuntimeError: The size of tensor a (4) must match")
    field.fill("two")
    assert "whole numbers" in said(page, "broadcasting")
    assert page.problems == []


def test_typing_strides(open_page):
    """Steps as Python has them; an index is typed or clicked; a button adds a step."""
    page = open_page(PAGES["strides"])
    place = page.locator("#explore-strides")
    steps = place.get_by_label("Steps")
    steps.fill("y = 2")
    assert "is not a step" in said(page, "strides")
    steps.fill("x.T")
    assert "strides (1, 4)" in said(page, "strides")
    steps.fill("x.t()")
    assert "strides (1, 4)" in said(page, "strides")
    place.get_by_label("Index").fill("[2, 1]")
    assert "0 + 2 · 1 + 1 · 4 = 6." in place.inner_text()
    place.get_by_label("Index").fill("-2, -1")
    assert "0 + 2 · 1 + 2 · 4 = 10." in place.inner_text()
    place.get_by_label("Index").fill("2")
    assert "no number at index [2]" in place.inner_text()
    place.locator("[data-pick='3, 0']").click()
    assert "reads position 0 + 3 · 1 + 0 · 4 = 3." in place.inner_text()
    for key in ("ArrowUp", "ArrowRight", "Enter", "ArrowRight"):
        page.keyboard.press(key)
    assert "reads position 0 + 2 · 1 + 1 · 4 = 6." in place.inner_text()
    assert page.evaluate("document.activeElement.dataset.pick") == "2, 2"
    place.get_by_role("button", name="view", exact=True).click()
    assert steps.input_value() == "x.t()\n.view(-1)"
    assert "view size is not compatible" in place.inner_text()
    assert "at the positions 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11 of" in place.inner_text()
    assert ".reshape(-1) would copy 96 bytes" in place.inner_text()
    assert place.get_by_role("group", name="before .view(-1)").is_visible()
    page = open_page("memory/view-and-reshape")
    assert "[2, 2, 3]" in said(page, "strides")
    assert page.problems == []


def test_typing_layers(open_page):
    """A whole nn.Sequential can be pasted; an error says what would fit; a button adds a layer."""
    page = open_page(PAGES["layers"])
    place = page.locator("#explore-layers")
    field = place.get_by_label("Layers")
    field.fill("model = nn.Sequential(\n  nn.Conv2d(1, 4, 3),  # 26\n  nn.ReLU(),\n)")
    assert "[8, 4, 26, 26]" in said(page, "layers")
    place.get_by_role("button", name="Flatten", exact=True).click()
    assert "[8, 2704]" in said(page, "layers")
    field.fill("Conv2d(1, 4, 3)\nFlatten()")
    place.get_by_role("button", name="Linear", exact=True).click()
    assert "[8, 10]" in said(page, "layers")
    field.fill("Conv2d(1, 4, 3)\nLinear(7, 10)")
    assert "mat1 and mat2 shapes cannot be multiplied (832x26 and 7x10)" in place.inner_text()
    assert "Linear(26, 10) would accept [8, 4, 26, 26]" in place.inner_text()
    field.fill("ConvTranspose2d(1, 1, 1, padding=20)")
    assert "nothing is left" in said(page, "layers")
    field.fill("LSTM(1, 2)")
    assert "is not a layer" in said(page, "layers")
    place.get_by_label("Shape of the input").fill("28, 28")
    field.fill("Conv2d(1, 4, 5, dilation=2)\nMaxPool2d(3)")
    assert "[1, 28, 28], with channels in front, would be accepted" in place.inner_text()
    place.get_by_label("Shape of the input").fill("1, 28, 28")
    assert "padding=4 keeps the sizes" in place.inner_text()
    assert "ceil_mode=True: [4, 7, 7]" in place.inner_text()
    field.fill("Conv2d(1, 4, 5, dilation=2)\nMaxPool2d(3, ceil_mode=True)")
    assert "ceil_mode=False: [4, 6, 6]" in place.inner_text()
    field.fill("MaxPool2d(2)")
    assert "ceil_mode" not in place.locator(".explorer-table").inner_text()
    assert page.problems == []


def test_choosing_promotion(open_page):
    """Chosen by keys; an error in torch's words; two numbers are no case."""
    page = open_page(PAGES["promotion"])
    place = page.locator("#explore-promotion")
    left, right = place.get_by_label("a", exact=True), place.get_by_label("b", exact=True)
    left.focus()
    page.keyboard.press("ArrowDown")
    assert "bfloat16" in said(page, "promotion")
    left.select_option("int64[3]")
    right.select_option("2.5")
    place.get_by_label("Operation").select_option("+=")
    wanted = "result type Float can't be cast to the desired output type Long"
    assert wanted in place.locator("pre.explorer-error").first.inner_text()
    left.select_option(label="Python int, as 2")
    assert "Both are Python numbers" in said(page, "promotion")
    left.select_option("int64[3]")
    right.select_option("float16[]")
    place.get_by_label("Operation").select_option("+")
    assert "its kind (float) is above that of a (integer)" in said(page, "promotion")
    assert page.problems == []


def test_typing_bits(open_page):
    """A number is typed, or a bit of it flipped; buttons lead to the numbers beside it."""
    page = open_page(PAGES["bits"])
    place = page.locator("#explore-bits")
    field = place.get_by_label("A number")
    field.fill("1/3")
    assert "none of the five stores it exactly" in said(page, "bits")
    field.fill("1000")
    assert "float8_e4m3fn saturates" in said(page, "bits")
    half = place.get_by_role("region", name="float16", exact=True)
    field.fill("1")
    half.get_by_role("checkbox", name="sign").click()
    assert field.input_value() == "-1.0"
    above = half.get_by_role("button", name="above")
    above.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert field.input_value() == "-0.9990234375"
    field.fill("one")
    assert "is not a number that this explorer can read" in said(page, "bits")
    place.get_by_role("button", name="16777217").click()
    assert "none of the five stores it exactly" in said(page, "bits")
    field.fill("-inf")
    assert said(page, "bits").startswith(
        "-inf: float32, float16, bfloat16 and float8_e5m2 store it"
    )
    assert page.problems == []


def test_flipping_bits_by_keys(open_page):
    """The Tab key leads into the bits of a dtype, arrow keys from one to the next."""
    page = open_page(PAGES["bits"])
    place = page.locator("#explore-bits")
    field = place.get_by_label("A number")
    field.fill("1")
    field.focus()
    page.keyboard.press("Tab")
    for key in ("End", "Home", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    bit = place.get_by_role("toolbar", name="Bits of float32").get_by_role(
        "checkbox", name="exponent 2^7", checked=False
    )
    assert bit.evaluate("bit => bit === document.activeElement")
    page.keyboard.press("Space")
    assert field.input_value() == "inf"
    assert page.evaluate("document.activeElement.ariaChecked") == "true"
    page.keyboard.press("Space")
    assert field.input_value() == "1.0"
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == "exponent 2^7"
    names = place.get_by_role("toolbar", name="Bits of float8_e4m3fn").get_by_role("checkbox")
    assert [each.get_attribute("aria-label") for each in names.all()] == [
        "sign",
        *("exponent 2^3", "exponent 2^2", "exponent 2^1", "exponent 2^0"),
        *("fraction 2^-1", "fraction 2^-2", "fraction 2^-3"),
    ]


def test_stepping_autograd(open_page):
    """A slider goes through the passes; a link keeps the step; errors are torch's."""
    page = open_page(PAGES["autograd"])
    place = page.locator("#explore-autograd")
    place.get_by_label("Expression").fill("h = x * y\nh**2 + h")
    place.get_by_label("Requires grad").select_option(label="x and y")
    slider = place.get_by_role("slider", name="Step")
    slider.focus()
    page.keyboard.press("Home")
    assert "Nothing is computed yet" in said(page, "autograd")
    page.keyboard.press("ArrowRight")
    assert "Forward 1 of 3: x * y is 2; its node MulBackward0 saves" in said(page, "autograd")
    assert slider.get_attribute("aria-valuetext") == "forward 1 of 3"
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert "Backward 1 of 5: AddBackward0" in said(page, "autograd")
    assert "step=4" in page.evaluate("location.hash")
    page.keyboard.press("End")
    assert "x.grad is 5 and y.grad is 10" in said(page, "autograd")
    place.get_by_role("button", name="One step back").click()
    assert "Backward 5 of 5: y.grad is 10" in said(page, "autograd")
    place.get_by_role("button", name="To the first step").click()
    assert "Nothing is computed yet" in said(page, "autograd")
    place.get_by_label("Requires grad").select_option("none")
    assert "does not require grad and does not have a grad_fn" in place.inner_text()
    place.get_by_label("Expression").fill("x^2")
    assert "A power is written x**2" in said(page, "autograd")
    assert page.problems == []


ENDS = """svg => {
  const arrows = [...svg.querySelectorAll("path")].map((path) => {
    const numbers = path.getAttribute("d").match(/-?[\\d.]+/g).map(Number);
    return { from: numbers[0], to: numbers.at(-2), y: numbers.at(-1) };
  });
  return arrows.flatMap((one) => arrows.filter((other) => (
    one.y === other.y && one.from < other.from && one.to > other.to)));
}"""
"""Arrows that cross where they lead into the same row."""
READABLE = 0.85
"""How much smaller than on a wide screen a graph may be drawn."""
WIDE = "h = sigmoid(x*y) + tanh(x) * exp(y)\ng = h * x + y * sin(h)\ng * h / x + relu(x*g)"


@pytest.mark.parametrize("width", [1440, 390])
def test_graph_fits_and_is_readable(open_page, width):
    """A wide graph is drawn with one node a row where it would be small; arrows do not cross."""
    page = open_page(PAGES["autograd"], width=width)
    place = page.locator("#explore-autograd")
    graph = place.locator(".explorer-graph")
    place.get_by_label("Requires grad").select_option(label="x and y")
    place.get_by_label("Expression").fill("x*y + sin(x)")
    assert graph.evaluate(ENDS) == []
    place.get_by_label("Expression").fill(WIDE)
    room = place.locator(".explorer-shown").bounding_box()["width"]
    drawn = graph.bounding_box()["width"]
    assert drawn <= room
    assert drawn / float(graph.get_attribute("width")) >= READABLE
    before = graph.get_attribute("height")
    page.set_viewport_size({"width": 1440 + 390 - width, "height": 900})
    page.wait_for_function(
        "before => document.querySelector('.explorer-graph').getAttribute('height') !== before",
        arg=before,
    )
    assert page.problems == []
