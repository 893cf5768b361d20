"""The search: what people type leads to the right section first."""

import html
import json
import re
from pathlib import Path

import pytest

from browser.conftest import opener
from browser.test_browser import OF_COLOURS, serious
from claimbook.exports import errors, lookup, words
from claimbook.pages.sections import is_error
from helpers import ROOT, SITE, error_lookup, read_yaml, whole_book

QUERIES, ASKED = (
    read_yaml(Path(__file__).with_name(name)) for name in ("queries.yaml", "asked.yaml")
)
FOUND = ROOT / "tests/found"
QUESTIONS, APART, ERRORS, ERRORS_APART = (
    read_yaml(FOUND / f"{name}.yaml")
    for name in ("questions", "questions_apart", "errors", "errors_apart")
)
ENOUGH = 0.98
ENOUGH_OF_THREE = 0.97
SEEN, UNSEEN = (0.8, 0.93), (0.72, 0.88)
"""Of questions from forums, so many are answered first and among three at least: of those for which
askers' words were added, and of those that were set aside."""


LOADED = "theErrors && document.querySelector('script[src$=\"searchlines.js\"]')"


def searching(open_page, **how):
    """The search page, with all that it loads."""
    page = open_page("search", **how)
    page.wait_for_function(LOADED)
    return page


@pytest.fixture(scope="module")
def search(browser):
    """One search page for all questions that leave it as it is: it loads four megabytes."""
    with opener(browser) as opened:
        yield searching(opened)


HITS = """([texts, among]) => texts.map((text) => {
  const box = document.querySelector("#query");
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
  const links = [...document.querySelectorAll("ol.search-hits > li > a")].slice(0, among);
  return links.map((link) => link.getAttribute("href").replace(".html", ""));
})"""


def first_hits(page, *texts, among=3):
    """Where the first hits of each question lead, as `page#section`."""
    return page.evaluate(HITS, [texts, among])


@pytest.mark.parametrize(
    ("items", "enough"), [(QUESTIONS, SEEN), (APART, UNSEEN)], ids=["questions", "questions_apart"]
)
def test_questions_of_forums(search, items, enough):
    """As they were asked: the section that answers is the first hit, or among three."""
    answered = [item for item in items if item["found"]]
    hits = first_hits(search, *(item["text"] for item in answered))
    found = [*zip(answered, hits, strict=True)]
    first = [item for item, hits in found if fits(hits[:1], item["found"])]
    three = [item for item, hits in found if fits(hits, item["found"])]
    assert len(first) >= enough[0] * len(answered)
    assert len(three) >= enough[1] * len(answered)


TYPED = """(step) => theSearch.places.flatMap(([, , , , lines], place) => lines.split("\\n")
  .filter((line, number) => line && (place + number) % step === 0)
  .map((line) => theSearch.find(line)[0] === place))"""


def test_what_somebody_types_leads_to_where_it_is_written(search):
    """A line counts as a whole: nine of ten lead there, by single words fewer than 85 of 100."""
    found = search.evaluate(TYPED, 6)
    assert len(found) > 500
    assert sum(found) >= 0.87 * len(found)


STEMS = """(texts) => texts.map((text) => {
  const names = theSearch.names(text);
  return names.map((name) => name.map((word) => theSearch.stem(word)));
})"""


def test_words_are_those_of_python(search):
    """A question falls into the same stems as the book, for which Python made them."""
    texts = [item["text"] for item in (*QUESTIONS, *APART, *ERRORS)]
    wanted = [[[words.stem(word) for word in name] for name in words.words(t)] for t in texts]
    assert search.evaluate(STEMS, texts) == wanted


PASTED = """(box, text) => {
  const clipboardData = new DataTransfer();
  clipboardData.setData("text/plain", text);
  const how = { clipboardData, bubbles: true, cancelable: true };
  box.dispatchEvent(new ClipboardEvent("paste", how));
}"""
LOG = """Traceback (most recent call last):
  File "train.py", line 3, in <module>
    loss = F.cross_entropy(model(x), y)
IndexError: Target 5 is out of bounds.
Exception ignored in: <function Loader.__del__ at 0x7f0c8c0d5f80>
Traceback (most recent call last):
  File "loader.py", line 3, in __del__
AssertionError: can only join a child process
"""


def test_a_key_leads_to_the_box_of_the_page(open_page):
    """Not to that of the sidebar, which shows no hits."""
    page = open_page("search")
    page.fill("section.search input", "leaf tensor")
    page.locator("ol.search-hits a").first.focus()
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.closest('section.search') !== null")


@pytest.mark.parametrize("box", ["#ask", ".sidebar-search"])
def test_a_pasted_log_keeps_its_lines(open_page, box):
    """In a box of one line too, so that the error in it is found, and after a reload again."""
    page = open_page("index")
    page.locator(box).evaluate(PASTED, LOG)
    page.locator(box).press("Enter")
    page.wait_for_url("**/search.html?*")
    page.wait_for_function(LOADED)
    for _ in range(2):
        assert page.text_content(".error-hit .error-text").startswith("IndexError: Target")
        page.reload()
        page.wait_for_function(LOADED)


def test_no_section_is_shown_twice(search):
    """Where an error is explained, the sections that only share its words are others."""
    for hits in first_hits(search, *(item["text"] for item in ERRORS[::5]), among=99):
        assert len(hits) == len({*hits})


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        ("nn.BatchNorm2d", ["torch.nn.BatchNorm2d"]),
        ("F.cross_entropy", ["torch.nn.functional.cross_entropy"]),
        ("resize_", ["torch.Tensor.resize_"]),
        ("what does torch.gather do?", ["torch.Tensor.gather"]),
        ("is loss.backward() slow", ["torch.Tensor.backward", "torch.autograd.backward"]),
        ("how do I mask padding", []),
        ("RuntimeError: mat1 and mat2 shapes cannot be multiplied (2x4 and 3x2)", []),
    ],
)
def test_names_of_torch_lead_to_their_examples(search, typed, named):
    """Above the hits, if the question writes them as code; each link has a target."""
    search.fill("#query", typed)
    links = search.locator(".search-names:visible a")
    assert links.all_text_contents() == named
    apis = (SITE / "apis.html").read_text("utf-8")
    for link in links.all():
        page, anchor = link.get_attribute("href").split("#")
        assert page == "apis.html"
        assert f'id="{anchor}"' in apis


LOOKUPS = """(texts) => texts.map((text) => [
  theErrors.looks(text),
  ...theErrors.find(text, 3).map(({ message, likeness, same }) => [message.text, likeness, same]),
])"""


FAILED = "IndexError: Target 5 is out of bounds.\nUserWarning: an old function\n"


def test_errors_are_looked_up_as_in_python(search):
    """The same messages with the same likeness, for all that was pasted, and for questions."""
    texts = [item["text"] for item in (*ERRORS, *ERRORS_APART, *QUESTIONS)]
    texts += [FAILED + noise["example"] for noise in errors.CUT["echo"]]
    texts += [noise["example"] for noise in errors.CUT["encoded"]]
    texts += [code(item["text"]) for item in ERRORS_APART for code in (html.escape, json.dumps)]
    texts += [f"{FAILED}KeyError: 'a'\nit is not there", "what():  Target 5 is out of bounds."]
    texts += [" ".join(text.split("\n")) for text in texts if "\n" in text]
    texts += ["size mismatch", "Not contiguous", "mismatch"]
    for text, (looks, *shown) in zip(texts, search.evaluate(LOOKUPS, texts), strict=True):
        assert looks == errors.looks_like_error(text), text
        found = error_lookup().search(text, 3)
        wanted = [
            [m.message.text[: lookup.LENGTH], pytest.approx(m.likeness), m.same] for m in found
        ]
        assert shown == wanted, text


def test_what_a_title_quotes_leads_to_it(search):
    """Pasted alone, a message finds the section of first aid that it heads; also a short one."""
    quoted = {
        message: section.place
        for section in whole_book().sections
        if is_error(section.title) and section.place.startswith("first-aid/")
        for message in re.findall("`([^`]+)`", section.title)
        if "…" not in message and errors.read(message).text  # a bare type may be about anything
    }
    assert len(quoted) > 200
    found = first_hits(search, *quoted, among=1)
    assert [each for each, hits in zip(quoted, found, strict=True) if hits != [quoted[each]]] == []
    bare = ["No module named torch", "Error(s) in loading state_dict for Net:"]
    assert {hit.partition("#")[0] for (hit, *_) in first_hits(search, *bare)} == {
        "first-aid/extensions",
        "first-aid/training-and-loading",
    }
    words = ["rank", "momentum", "torch", "tensor", "forward", "torch.compile", "training_step"]
    assert not [hit for (hit, *_) in first_hits(search, *words) if hit.startswith("first-aid/")]


def test_an_error_comes_first_and_says_so(open_page):
    """What was printed, the short answer beneath it, and the claim that shows it."""
    page = searching(open_page)
    page.fill("#query", "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x784 and 5x1)")
    assert page.locator("[role=status]").last.inner_text().startswith("An error, and what")
    hit = page.locator("ol.search-hits > li").first
    assert hit.evaluate("item => item.className") == "error-hit"
    assert "shapes cannot be multiplied" in hit.locator("pre").inner_text()
    hit.get_by_text("Its example").first.click()
    page.wait_for_url("**#claim-*")
    target = page.locator(":target")
    assert target.count() == 1
    assert target.evaluate("card => !card.closest('details') || card.closest('details').open")


def test_the_nearest_of_the_messages_is_called_so(search):
    """What differs in words is not taken for the same."""
    search.fill("#query", "RuntimeError: mat1 and mat2 shapes cannot be added up (32x784 and 5x1)")
    status = search.locator("section.search [role=status]")
    assert status.inner_text().startswith("An error, and the nearest to it;")
    assert search.locator("ol.search-hits > li").first.locator(".error-near").count() == 1


def test_an_error_that_nobody_knows_is_not_explained(search):
    """It is said what to do next, and the sections are not taken for an answer."""
    search.fill(
        "#query", "pandas.errors.ParserError: Error tokenizing data. C error: EOF in string"
    )
    assert search.locator(".error-hit").count() == 0
    status = search.locator("section.search [role=status]")
    assert status.inner_text().startswith("No example in this book prints this error")
    assert status.locator("a").get_attribute("href") == "errors.html"


@pytest.mark.parametrize(
    "text", ["quantile() input tensor is too large", "Missing key(s) in state_dict: fc.weight"]
)
def test_a_message_needs_no_type(search, text):
    """Pasted without what stands before it, it is an error all the same."""
    search.fill("#query", text)
    status = search.locator("section.search [role=status]")
    assert status.inner_text().startswith("An error, and what explains it")
    assert (
        search.locator("ol.search-hits > li").first.evaluate("item => item.className")
        == "error-hit"
    )


def test_hits_come_before_what_errors_need(open_page):
    """On a phone, the data of the errors must not delay those of the sections."""
    page, requested = open_page("search"), []
    page.on("request", lambda request: requested.append(Path(request.url).name))
    page.route("**/searchdata.js", lambda route: None)
    page.goto(page.url, wait_until="commit")
    page.wait_for_function("typeof Search == 'function'")
    assert "search.js" in str(requested)
    assert "errordata.js" not in requested


def test_a_word_that_no_section_says_is_named(search):
    """The hits are for the other words; a name in small letters is no such word."""
    status = search.locator("section.search [role=status]")
    search.fill("#query", "xylophone learning rate")
    assert status.inner_text() == (
        "No section says xylophone. For the other words: the best 20 sections"
    )
    search.fill("#query", "gradient of imagefolder")
    assert status.inner_text() == "The best 20 sections"


def test_a_question_of_common_words_alone_is_told_so(search):
    """They are in every section, so that none has more of them."""
    status = search.locator("section.search [role=status]")
    for question, said in {
        "the the the": "Words as common as these are not searched for.",
        "xylophone": "Nothing on this site has these words.",
    }.items():
        search.fill("#query", question)
        assert status.inner_text().startswith(said)


def test_a_corrected_word_is_named(search):
    """What was read for it is said; a name that only lost its number was not misspelled."""
    search.fill("#query", "gradeint of resnet34")
    status = search.locator("section.search [role=status]")
    assert status.inner_text() == "gradeint read as gradient. The best 20 sections"


def test_one_hit_is_one_section(open_page):
    """A number that is one has no plural."""
    page = searching(open_page)
    page.evaluate("theSearch.find = () => [0]")
    page.fill("#query", "x")
    assert page.locator("section.search [role=status]").inner_text() == "1 section"


def test_no_lone_backtick(search):
    """What a cut leaves of code is shown without its mark."""
    parts = "marked('a `b` and `c d').map((part) => part.textContent ?? part)"
    assert search.evaluate(parts) == ["a ", "b", " and c d"]


def test_powers_keep_their_stars(search):
    """Emphasis loses its own, also around code."""
    texts = ["at most 2 ** 24 numbers", "*off*, and *the `x`*", "a *`x` of* `y` * `z`"]
    shown = search.evaluate(
        "(texts) => texts.map((text) => element('p', {}, ...marked(text)).textContent)", texts
    )
    assert shown == ["at most 2 ** 24 numbers", "off, and the x", "a x of y * z"]


def test_a_name_in_small_letters(search):
    """It falls into words that make a name of the book, or into long ones; others stay whole."""
    apart = search.evaluate(
        "['weightedrandomsampler', 'imagefolder', 'subfolders', 'xylophone']"
        ".map((word) => theSearch.apart(word))"
    )
    assert apart == [["weighted", "randomsampler"], ["image", "folder"], None, None]
    ((first, *_),) = first_hits(search, "weightedrandomsampler")
    assert first.startswith("data/datasets#")


@pytest.mark.parametrize(
    ("typed", "root"),
    {
        "radom": "random",
        "randomm": "random",
        "rundom": "random",
        "ranodm": "random",
        "rnadmo": "rnadmo",
        "initilzation": words.stem("initialisation"),
        "regularisaton": words.stem("regularisation"),
        "convultion": "convolution",
        "seperate": words.stem("separate"),
        "xylophone": words.stem("xylophone"),
    }.items(),
)
def test_misspelled_words(search, typed, root):
    """A letter less, more, another or swapped; two of them in long words, also within an ending."""
    assert search.evaluate("(word) => theSearch.root(word)", typed) == root


def test_a_name_with_a_number(search):
    """A model of a size that the book does not name is taken for the model; others stay whole."""
    spelled = search.evaluate(
        "['resnet34', 'vgg19', 'xylophone7'].map((word) => theSearch.root(word))"
    )
    assert spelled == ["resnet", "vgg", "xylophone7"]


def test_a_fault_leads_to_the_section_of_its_message(search):
    """Where a question names one, sections whose title is a message count more."""
    texts = "embedding index out of range error", "embedding index"
    (of_error, *_), (of_layer, *_) = first_hits(search, *texts)
    assert of_error.startswith("first-aid/indexing#")
    assert of_layer.startswith("modules/embeddings#")


def test_a_hit_on_a_detail_opens_it(open_page):
    """The link leads to the claim, which is folded until then."""
    page = searching(open_page)
    page.fill("#query", "ones_like does not copy requires_grad from its argument")
    link = page.locator("a[href$='claim-flag-is-off-unless-asked-or-inherited']").first
    link.click()
    page.wait_for_url("**/backward.html#claim-*")
    assert (
        page.locator("details:has(:target), details:target").first.get_attribute("open") is not None
    )


def fits(hits, wanted):
    """Whether one of the hits is one of the wanted pages or sections."""
    return any(hit in wanted or hit.partition("#")[0] in wanted for hit in hits)


def test_first_hits(search):
    """Nearly all queries lead to the right place first, opened from a file."""
    wanted = {query: places for group in QUERIES.values() for query, places in group.items()}
    found = zip(wanted, first_hits(search, *wanted), strict=True)
    wrong = [(query, hits) for query, hits in found if not fits(hits[:1], wanted[query])]
    assert len(wanted) >= 90
    assert len(wrong) <= (1 - ENOUGH) * len(wanted), wrong
    assert search.problems == []


def test_first_three_hits(search):
    """Of questions in the words of those who ask, nearly all are answered by one of three hits."""
    found = zip(ASKED, first_hits(search, *ASKED), strict=True)
    wrong = [query for query, hits in found if not fits(hits, ASKED[query])]
    assert len(ASKED) >= 60
    assert len(wrong) <= (1 - ENOUGH_OF_THREE) * len(ASKED), wrong


def test_hits_lead_to_examples(open_page):
    """The statement that holds the words is followed by a link to its claim."""
    page = searching(open_page)
    page.fill("#query", "torch.gather")
    page.locator("ol.search-hits p a").first.click()
    page.wait_for_url("**/memory/indexing.html#claim-*")
    assert page.locator(".claim:target").count() == 1


def test_hits_name_their_section(open_page):
    """A hit says page and section, its short answer, and a statement; its claim has the words."""
    page = searching(open_page)
    page.fill("#query", "retain_graph")
    hit = page.locator("ol.search-hits > li").first
    assert hit.locator("> a").inner_text() == "retain_graph or create_graph?"
    assert hit.locator("> small").inner_text().startswith("Saved tensors")
    short, statement = hit.locator("p").all()
    assert "retain_graph" in short.inner_text()
    statement.locator("a").click()
    page.wait_for_url("**/saved-and-freed.html#claim-*")
    assert "retain_graph" in page.locator(".claim:target").inner_text()


def test_nothing_found(search):
    """The page says so, aloud too."""
    search.fill("#query", "xylophone")
    assert search.locator("section.search [role=status]").inner_text().startswith("Nothing")
    assert search.locator("ol.search-hits a").count() == 0


AGAIN = "document.querySelector('#query').dispatchEvent(new Event('input', { bubbles: true }))"
"""Shows the hits again."""


def test_by_keyboard(open_page):
    """The box beside every page leads here, and the next tab stop is the first hit."""
    page = open_page("autograd/backward")
    page.locator(".sidebar-search").fill("stack or concatenate")
    page.keyboard.press("Enter")
    page.wait_for_selector("ol.search-hits a")
    assert page.input_value("#query") == "stack or concatenate"
    assert page.evaluate("document.activeElement.id") == "query"
    page.keyboard.press("Tab")
    page.wait_for_function(LOADED)
    page.evaluate(AGAIN)  # as on a slow connection, where errors come late
    page.keyboard.press("Enter")
    page.wait_for_url("**/stack-and-cat.html#*")
    page.go_back()
    page.wait_for_selector("ol.search-hits a")
    assert page.input_value("#query") == "stack or concatenate"


@pytest.mark.parametrize("text", ["backward", ERRORS[0]["text"]], ids=["question", "error"])
def test_hits_are_accessible(open_page, text):
    """axe-core finds no serious fault in a list of hits, and none in the colours of the dark."""
    page = searching(open_page)
    page.fill("#query", text)
    assert serious(page) == []
    page.emulate_media(color_scheme="dark")
    assert serious(page, runOnly=OF_COLOURS) == []


def test_over_http(open_page, address):
    """It works from a server as from a file, and asks for nothing of another host."""
    page = open_page("index")
    page.goto(f"{address}/search.html?q=no_grad")
    page.wait_for_selector("ol.search-hits a")
    assert "no_grad()" in page.locator("ol.search-hits a").first.inner_text()
    asked = [said for said in page.problems if said.startswith("a request to")]
    assert [said for said in asked if address not in said] == []
