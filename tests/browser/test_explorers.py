"""The explorers in a browser: torch agrees there too; by keys, by link, without scripts."""

import json

import pytest

from explorers import agreement

PAGES = {
    "broadcasting": "memory/broadcasting",
    "strides": "memory/strides",
    "layers": "modules/layer-shapes",
}
STARTS = {"broadcasting": "[4, 3]", "strides": "[2, 2]", "layers": "[8, 10]"}


def in_browser(page):
    """Answer by Chromium, all cases in one call."""

    def ask(name, text, drawn):
        source = f"(cases => {{ return eval({json.dumps(agreement.program(name, text))}); }})"
        return json.loads(page.evaluate(source, drawn))

    return ask


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
    assert not page.locator(f".cell:has(+ #explore-{name})").is_visible()
    for example in page.locator(f"#explore-{name} [data-example]").all():
        example.click()
        assert page.locator(f"#explore-{name} .explorer-shown").inner_text().strip()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.problems == []


@pytest.mark.parametrize("name", PAGES)
def test_a_link_shows_a_case(open_page, name):
    """The address follows what is typed, and leads back to it."""
    page = open_page(PAGES[name])
    place = page.locator(f"#explore-{name}")
    place.locator("[data-example]").nth(2).click()
    wanted = place.locator(".explorer-shown").inner_text()
    assert page.evaluate("location.hash").startswith(f"#explore-{name}?")
    page.reload()
    page.wait_for_function("scrollY > 0")
    assert place.locator(".explorer-shown").inner_text() == wanted
    place.locator("[data-example]").nth(0).click()
    assert place.locator(".explorer-shown").inner_text() != wanted


@pytest.mark.parametrize("name", PAGES)
def test_without_scripts(browser, name):
    """The picture stands in its place."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((agreement.ROOT / f"docs/_build/html/{PAGES[name]}.html").as_uri())
    assert page.locator(f".cell:has(+ #explore-{name})").is_visible()
    assert not page.locator(f"#explore-{name}").is_visible()
    context.close()


@pytest.mark.parametrize("name", PAGES)
def test_prints_the_picture(open_page, name):
    """On paper the picture stands in its place too."""
    page = open_page(PAGES[name])
    page.emulate_media(media="print")
    assert page.locator(f".cell:has(+ #explore-{name})").is_visible()
    assert not page.locator(f"#explore-{name}").is_visible()


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
    assert "none of the steps" in said(page, "strides")
    steps.fill("x.t()")
    assert "strides (1, 4)" in said(page, "strides")
    place.get_by_label("An index").fill("[2, 1]")
    assert "0 + 2 · 1 + 1 · 4 = 6." in place.inner_text()
    place.locator("td[data-pick='3, 0']").click()
    assert "reads position 0 + 3 · 1 + 0 · 4 = 3." in place.inner_text()
    place.get_by_role("button", name="view", exact=True).click()
    assert steps.input_value() == "x.t()\n.view(-1)"
    assert "view size is not compatible" in place.inner_text()
    assert ".reshape(-1) would copy 96 bytes" in place.inner_text()
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
    assert "none of the layers" in said(page, "layers")
    assert page.problems == []
