"""What `lines` draws, read back from its SVG."""

import re
import xml.etree.ElementTree as ET

import pytest
import torch
from matplotlib import rc_context

from claimbook.teach import lines
from claimbook.teach.chart import STYLES

PAGES = {"light": "#ffffff", "dark": "#131416"}


def luminance(colour: str) -> float:
    """Relative luminance of ``#rrggbb``, WCAG 2.2."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, WCAG 2.2: 1 (none) to 21."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def draw(**series):
    return lines(series or {"loss": [3.0, 1.0, 2.0]}, x="step", y="loss", alt="What is to be seen.")


def points(svg, colour=STYLES[0][0]):
    """The corners of the line of that colour."""
    style = rf'd="([^"]*)"[^>]*style="fill: none; stroke: {colour}'
    found = re.findall(r"[ML] ([\d.]+) ([\d.]+)", re.search(style, svg)[1])
    return [tuple(map(float, point)) for point in found]


def ticks(svg):
    """The texts below the x axis."""
    axis = next(g for g in ET.fromstring(svg).iter() if "axis_1" in g.get("id", ""))
    return [node.text.strip() for node in axis.iter() if (node.text or "").strip()]


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("colour", [style[0] for style in STYLES])
def test_series_stand_out_on_light_and_dark_pages(colour, page):
    """Each series' colour has a contrast of at least 3:1 to the page."""
    assert contrast(colour, PAGES[page]) >= 3


def test_series_differ_without_colour():
    """No two series share a dash or a marker."""
    _, dashes, markers = zip(*STYLES, strict=True)
    assert len(set(dashes)) == len(set(markers)) == len(STYLES)


def test_text_and_axes_take_the_pages_colour():
    """Apart from the series nothing has a colour of its own, not even black by default."""
    svg = draw(a=[1.0, 2.0], b=[2.0, 1.0]).svg
    allowed = {"currentColor", "none", STYLES[0][0], STYLES[1][0]}
    assert set(re.findall(r"(?:fill|stroke): (#\w+|\w+)", svg)) <= allowed
    texts = re.findall(r'<text [^>]*style="([^"]*)"', svg)
    assert texts
    assert all("fill: currentColor" in style for style in texts)


def test_a_matplotlibrc_changes_nothing():
    """The same numbers give the same picture on every machine."""
    with rc_context({"lines.linewidth": 9.0, "font.size": 30.0, "xtick.direction": "in"}):
        elsewhere = draw().svg
    assert elsewhere == draw().svg


def test_words_come_from_the_data():
    """First, last, least and greatest value follow the author's sentence; a tensor will do."""
    figure = draw(loss=torch.tensor([4.0, 0.5, 1.5]), rate=[0.25, 0.125])
    assert figure.alt.splitlines() == [
        "What is to be seen.",
        "loss: 3 values for x from 0 to 2, first 4, last 1.5, least 0.5, greatest 4.",
        "rate: 2 values for x from 0 to 1, first 0.25, last 0.125, least 0.125, greatest 0.25.",
    ]


def test_values_that_are_not_finite_leave_a_gap():
    """Infinity and not-a-number count as values, but not as the least or the greatest."""
    figure = draw(loss=[1.0, float("inf"), 2.0, float("nan")])
    assert figure.alt.endswith(
        "loss: 4 values for x from 0 to 3, first 1, last nan, least 1, greatest 2."
    )


def test_same_data_gives_the_same_bytes():
    """A page that draws the same again does not change."""
    assert draw() == draw()
    assert "dc:date" not in draw().svg


def test_two_figures_share_no_id_and_each_refers_to_its_own():
    """Figures with other data have other ids, and each reference stays inside its figure."""
    ids = []
    for figure in (draw(), draw(loss=[1.0, 2.0])):
        own = re.findall(r'\bid="([^"]+)"', figure.svg)
        used = re.findall(r'xlink:href="#([^"]+)"|url\(#([^)]+)\)', figure.svg)
        assert {a or b for a, b in used} <= set(own)
        assert len(own) == len(set(own))
        ids.append(set(own))
    assert not ids[0] & ids[1]


def test_svg_is_well_formed_and_leaves_the_page_alone():
    """The SVG holds no style sheet: inside a page its rules would reach every element."""
    svg = draw().svg
    assert ET.fromstring(svg).tag == "{http://www.w3.org/2000/svg}svg"
    assert "<style" not in svg
    assert "<?xml" not in svg


def test_labels_are_text_whatever_they_hold():
    """Markup, dollar signs and a leading underscore are shown as they were written."""
    figure = lines({"<b>": [1.0, 2.0], "_x": [2.0, 1.0]}, x="$a$ & $b$", y="</svg>", alt="<i>")
    texts = [node.text.strip() for node in ET.fromstring(figure.svg).iter() if node.text]
    assert {"<b>", "_x", "$a$ & $b$", "</svg>"} <= set(texts)
    assert "<i>" not in figure._repr_html_()


def test_logarithmic_axis_has_powers_of_ten():
    """`log=True` puts equal factors at equal distances: each tenfold drop is the same step down."""
    svg = lines({"a": [1.0, 0.1, 0.01]}, x="x", y="y", alt="A line.", log=True).svg
    heights = [y for _, y in points(svg)]
    assert heights[1] - heights[0] == pytest.approx(heights[2] - heights[1], abs=0.01)


def test_values_stand_at_their_places():
    """Three times as far is three times as far, the axis has those numbers, and so has the text."""
    figure = lines({"a": [1.0, 1.0, 2.0]}, at=[0.0, 0.5, 2.0], x="p", y="y", alt="A line.")
    first, second, third = (x for x, _ in points(figure.svg))
    assert third - first == pytest.approx(4 * (second - first), abs=0.01)
    assert ticks(figure.svg)[-2:] == ["2.00", "p"]
    assert figure.alt.endswith(
        "a: 3 values for x from 0 to 2, first 1, last 2, least 1, greatest 2."
    )


def test_places_may_be_a_range_or_a_tensor():
    """A first place and a step is a range."""
    made = [
        lines({"a": [1.0, 2.0]}, at=at, x="x", y="y", alt="A line.")
        for at in (range(5, 11, 5), torch.tensor([5, 10]))
    ]
    assert made[0] == made[1]


def test_logarithmic_places_have_powers_of_the_base():
    """Equal factors lie at equal distances."""
    figure = lines({"a": [1, 2, 3]}, at=[1, 32, 1024], logx=2, x="x", y="y", alt="A line.")
    first, second, third = (x for x, _ in points(figure.svg))
    assert third - second == pytest.approx(second - first, abs=0.01)


def test_steps_stay_until_the_next_place():
    """Between two values lies a corner, below the next place at the height of the first."""
    (x0, y0), (x1, y1), (x2, y2) = points(
        lines({"a": [1.0, 2.0]}, drawstyle="steps-post", x="x", y="y", alt="A step.").svg
    )
    assert (y1, x1) == (y0, x2)
    assert y2 < y0 < 400
    assert x0 < x1


def test_dots_are_not_joined():
    """No line has the colour of the series; each value has its dot."""
    svg = lines({"a": [1.0] * 20}, linestyle="", markevery=1, x="x", y="y", alt="Dots.").svg
    assert f"fill: none; stroke: {STYLES[0][0]}" not in svg
    dots = [g for g in ET.fromstring(svg).iter() if "line2d" in g.get("id", "")]
    assert max(len([n for n in g.iter() if n.tag.endswith("use")]) for g in dots) == 20


def test_where_a_series_becomes_infinite_is_shown():
    """An arrow and a word in the picture, the place in the text; a gap in the middle has none."""
    figure = draw(loss=[1.0, 2.0, float("inf"), float("inf")], other=[1.0, float("inf"), 2.0, 3.0])
    texts = [node.text.strip() for node in ET.fromstring(figure.svg).iter() if node.text]
    assert texts.count("inf") == 1
    assert "greatest 2, infinite beyond 1." in figure.alt
    assert figure.alt.endswith("greatest 3.")


def test_rules_are_named_in_picture_and_text():
    """A vertical line at its place."""
    figure = lines({"a": [1.0, 2.0]}, x="x", y="y", alt="A line.", rules={"eval()": 0.5})
    assert "eval()" in [node.text.strip() for node in ET.fromstring(figure.svg).iter() if node.text]
    assert figure.alt.endswith("eval(): a line at 0.5.")


def test_a_series_may_end_early_but_not_late():
    """Values without a place cannot be drawn."""
    figure = lines({"a": [1.0, 2.0]}, at=range(3), x="x", y="y", alt="A line.")
    assert "a: 2 values for x from 0 to 1" in figure.alt
    with pytest.raises(ValueError, match="same first dimension"):
        lines({"a": [1.0, 2.0]}, at=[1], x="x", y="y", alt="Nothing.")


@pytest.mark.parametrize(
    ("series", "message"),
    [
        ({}, "1 to 4 series, not 0"),
        ({str(i): [1.0] for i in range(5)}, "1 to 4 series, not 5"),
        ({"loss": []}, "series 'loss' holds no finite number"),
    ],
)
def test_what_cannot_be_read_is_refused(series, message):
    """No series, too many to tell apart, or one without a number: an error that says which."""
    with pytest.raises(ValueError, match=message):
        lines(series, x="x", y="y", alt="Nothing.")
