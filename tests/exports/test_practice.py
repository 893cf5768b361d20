"""Cards to practise with: what they ask, how the build writes them, and what Anki makes of them."""

import json
import sqlite3
import zipfile
from contextlib import closing

import pytest

from claimbook.exports import deck
from claimbook.exports.cards import CardKind, card_data, inline, page_cards, said_cards
from claimbook.pages.parser import scan_page
from helpers import REGISTER, TinyBook, claim_text, data_of, whole_book

TWO = claim_text("two-lines", ">>> x = torch.ones(2)\n>>> x.sum()\ntensor(2.)\n>>> y = x")
PAGE = f"""\
---
file_format: mystnb
---
# A page

## What does `sum()` do, and *why*?

**In short.** It {{py:meth}}`adds <torch.Tensor.sum>`
all of it, if 1 < 2.

## No short answer

**Not in short.** No.

{TWO}
"""


def test_cards_of_a_page():
    """A question with a short answer and a claim is a card, and so is each claim."""
    text = PAGE.replace("**Not in short.** No.", "**In short.** Yes.")
    page = scan_page(text, "docs/a/page.md")
    question, output = page_cards(page)
    assert (question.id, question.kind) == ("question-two-lines", CardKind.QUESTION)
    assert (question.ask, question.answer, question.deck) == ("No short answer", "Yes.", "a")
    assert (output.id, output.answer) == ("output-two-lines", "It says so.")
    assert output.session == (("x = torch.ones(2)\nx.sum()\n", "tensor(2.)"), ("y = x\n", ""))


def test_sections_without_claims_are_no_cards():
    """Nothing in the book stands for such an answer."""
    cards = page_cards(scan_page(PAGE, "docs/a/page.md"))
    assert [card.kind for card in cards] == [CardKind.OUTPUT]


def test_texts_of_a_card_are_html():
    """What is text stays text, whatever it holds."""
    text = "# P\n\n## T\n\n" + claim_text("tag", ">>> print('<b>')\n<b>")
    (card,) = page_cards(scan_page(text, "docs/a/p.md"))
    data = card_data(card)
    assert data["session"][0][1] == "&lt;b&gt;"
    assert "<b>" not in data["session"][0][0]
    assert data["link"] == "a/p.html#claim-tag"


@pytest.fixture(scope="module")
def said():
    """The cards of what is often said."""
    return list(said_cards(whole_book().answers.values()))


def test_what_is_said_is_right_or_wrong(said):
    """Every corrected entry is a card, and right ones stand among them."""
    wrong = [card for card in said if card.answer.startswith("**Wrong.**")]
    right = [card for card in said if card.answer.startswith("**Right.**")]
    assert len(wrong) == sum(answer.word == "corrects" for answer in whole_book().answers.values())
    assert len(wrong) / 2 < len(right) <= len(wrong)


def test_names_keep_their_underscores(said):
    """The register's texts are no Markdown, which would take them for emphasis."""
    asked = [inline(f"{card.topic} {card.ask}") for card in said]
    assert [text for text in asked if "<strong>" in text] == []
    assert any("__main__" in text for text in asked)


def test_ids_are_unique_in_the_book(said):
    """A reader's progress is kept by them."""
    ids = [card.id for card in said]
    ids += [card.id for page in whole_book().pages for card in page_cards(page)]
    assert len(ids) == len(set(ids)) > 1500


PAGES = {
    "index": "# Tiny\n\n```{toctree}\n:caption: The part\n\na/sums\npractice\n```\n",
    "a/sums": "# Sums\n\n## What is a sum?\n\n**In short.** An addition.\n\n"
    + claim_text("sum-adds", ">>> torch.ones(2).sum()\ntensor(2.)", ":corrects: basics-01.2\n"),
    "practice": "# Practise\n\n```{practice}\n```\n",
}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A small book with a practice page, built."""
    made = TinyBook(tmp_path_factory.mktemp("book"), PAGES, REGISTER)
    done = made.sphinx()
    assert done.returncode == 0, done.stdout + done.stderr
    return made


def test_page_lists_its_decks(book):
    """Without JavaScript the page says what there is, and where the Anki deck lies."""
    html = (book.site / "practice.html").read_text("utf-8")
    assert "needs JavaScript" in html
    assert "The part" in html
    assert "2 cards" in html
    assert 'href="practice/tiny.apkg"' in html
    assert "practice.js" in html
    assert "practice.js" not in (book.site / "a/sums.html").read_text("utf-8")


def test_data_files(book):
    """A deck is a script, named by the folder of its pages."""
    name, cards = data_of(book.site / "practice/a.js")
    assert name == "a"
    assert [card["id"] for card in cards] == ["question-sum-adds", "output-sum-adds"]
    name, (card,) = data_of(book.site / "practice/said.js")
    assert (name, card["id"]) == ("said", "said-sum-adds-basics-01.2")


def test_only_what_changed_is_written(book):
    """A build without a change writes no card; a changed short answer, its deck and Anki's."""
    files = sorted((book.site / "practice").iterdir())
    before = [path.stat().st_mtime_ns for path in files]
    assert book.sphinx().returncode == 0
    assert [path.stat().st_mtime_ns for path in files] == before
    book.replace("docs/a/sums.md", "An addition", "A long addition")
    assert book.sphinx().returncode == 0
    written = [
        path.name
        for path, then in zip(files, before, strict=True)
        if path.stat().st_mtime_ns != then
    ]
    assert written == ["a.js", "tiny.apkg"]
    told = [answer for (answer,) in rows(book.site / "practice/tiny.apkg", NOTES)]
    assert sum("A long addition" in fields for fields in told) == 1
    assert sum("It says so." in fields for fields in told) == 2


def test_the_file_of_a_deck_that_is_no_more_goes(book):
    """Its cards are in no deck any longer."""
    (book.site / "practice/gone.js").write_text("", "utf-8")
    book.replace("docs/a/sums.md", " addition", " good addition")
    assert book.sphinx().returncode == 0
    assert sorted(path.name for path in (book.site / "practice").glob("*.js")) == [
        "a.js",
        "said.js",
    ]


def test_parts_that_share_a_folder_or_a_title_lose_no_card(tmp_path):
    """A deck is named after the folder of its pages, which may belong to two parts."""
    part = "```{{toctree}}\n:caption: {}\n{}\n```\n\n"
    folders = {"One": "a/x", "Two": "a/y", "Three": "said/z\npractice"}
    index = "".join(part.format(*each) for each in [*folders.items(), ("Three", "b/x")])
    pages = {"index": f"# I\n\n{index}", "practice": PAGES["practice"]}
    for page in ("a/x", "a/y", "said/z", "b/x"):
        text = claim_text(f"is-{page.replace('/', '-')}", ">>> 1\n1")
        pages[page] = f"# P\n\n## Why?\n\n**In short.** So.\n\n{text}"
    made = TinyBook(tmp_path, pages)
    assert made.sphinx().returncode == 0
    decks = [data_of(path) for path in sorted((made.site / "practice").glob("*.js"))]
    assert [(name, len(cards)) for name, cards in decks] == [("a", 4), ("b", 2), ("said", 2)]
    assert len(rows(made.site / "practice/tiny.apkg", NOTES)) == 8


def test_a_page_of_questions_has_a_deck_of_its_own(tmp_path):
    """Its cards are those of the parts, so that progress is shared; Anki gets them once."""
    asked = "# Asked often\n\n```{questions}\na/sums#what-is-a-sum\n```\n"
    made = TinyBook(tmp_path, {**PAGES, "asked": asked}, REGISTER)
    done = made.sphinx("-D", "suppress_warnings=toc.not_included")
    assert done.returncode == 0, done.stderr
    name, (card,) = data_of(made.site / "practice/asked.js")
    assert (name, card["id"]) == ("asked", "question-sum-adds")
    assert card in data_of(made.site / "practice/a.js")[1]
    assert made.page("practice").select_one("#deck-asked").text == "Asked often 1 cards"
    told = [fields for (fields,) in rows(made.site / "practice/tiny.apkg", NOTES)]
    assert sum("An addition" in fields for fields in told) == 1


CARD = {
    "id": "output-sum-adds",
    "kind": "output",
    "topic": "",
    "ask": "What does it print?",
    "session": [["torch.ones(<span>2</span>).sum()", "tensor(2.)"]],
    "answer": "It <em>adds</em>.",
    "link": "a/sums.html#claim-sum-adds",
}
NOTES = "select flds from notes"
OTHER = {**CARD, "id": "question-sum-adds", "session": [], "ask": "What is a sum?"}


def write(path, *cards, seconds=1_800_000_000):
    """Writes a deck of cards."""
    parts = {"The part": cards}
    deck.write_deck(path, "Tiny", parts, site="https://book/", seconds=seconds)


def rows(path, query):
    """The rows of a query in the database of a deck."""
    with zipfile.ZipFile(path) as packed, closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(packed.read("collection.anki2"))
        return database.execute(query).fetchall()


def test_names_keep_their_numbers(tmp_path):
    """Whoever imported a deck once must get its next edition into the same one."""
    path = tmp_path / "a.apkg"
    deck.write_deck(path, "PyTorch Under Test", {"Tensors": [CARD]}, site="", seconds=1)
    ((decks, models),) = rows(path, "select decks, models from col")
    numbers = {each["name"]: number for number, each in json.loads(decks).items()}
    assert numbers["PyTorch Under Test::Tensors"] == "1217147936"
    assert [*json.loads(models)] == ["1293698807"]


def test_messages_wrap_and_tensors_do_not(tmp_path):
    """A phone shows a message whole; columns of numbers stay beneath each other."""
    warning = "UserWarning: very long\ntensor(2.)"
    write(tmp_path / "a.apkg", CARD, {**OTHER, "session": [["x", warning]]})
    said = "".join(fields for (fields,) in rows(tmp_path / "a.apkg", NOTES))
    assert '<pre class="output"><span>tensor(2.)</span></pre>' in said
    assert f'<pre class="output message"><span>{warning}</span></pre>' in said


@pytest.fixture
def collection(tmp_path):
    """An empty collection of Anki's own."""
    anki = pytest.importorskip("anki.collection", reason="Anki's library is not installed")
    opened = anki.Collection(str(tmp_path / "collection.anki2"))
    yield opened
    opened.close()


def imported(collection, path):
    """Imports a deck as Anki's window does; the numbers of new and of updated notes."""
    from anki.collection import ImportAnkiPackageOptions, ImportAnkiPackageRequest

    options = ImportAnkiPackageOptions(merge_notetypes=True)
    request = ImportAnkiPackageRequest(package_path=str(path), options=options)
    log = collection.import_anki_package(request).log
    return len(log.new), len(log.updated)


def test_anki_reads_the_deck(collection, tmp_path):
    """Notes have their fields; the output is on the back, hidden on the front."""
    write(tmp_path / "a.apkg", CARD, OTHER)
    assert imported(collection, tmp_path / "a.apkg") == (2, 0)
    assert "Tiny::The part" in [each.name for each in collection.decks.all_names_and_ids()]
    (number,) = collection.find_notes("Id:output-sum-adds")
    note = collection.get_note(number)
    assert note["Answer"] == "It <em>adds</em>."
    assert 'href="https://book/a/sums.html#claim-sum-adds"' in note["Link"]
    assert note.tags == ["output"]
    (card,) = note.cards()
    assert "<span>tensor(2.)</span>" in card.answer()
    assert "class=front" in card.question()
    assert ".front pre.output span { visibility: hidden; }" in card.render_output().css
    assert card.question().count("adds</em>") == 0 < card.answer().count("adds</em>")


def test_a_newer_deck_updates_notes_in_place(collection, tmp_path):
    """The text changes, the note and what Anki knows of it stay, and new cards come."""
    write(tmp_path / "a.apkg", CARD)
    imported(collection, tmp_path / "a.apkg")
    (number,) = collection.find_cards("")
    collection.sched.set_due_date([number], "9")
    due = collection.get_card(number).due
    changed = {**CARD, "answer": "It sums."}
    write(tmp_path / "b.apkg", changed, OTHER, seconds=1_800_000_100)
    assert imported(collection, tmp_path / "b.apkg") == (1, 1)
    card = collection.get_card(number)
    assert card.note()["Answer"] == "It sums."
    assert card.due == due
    assert collection.card_count() == 2


def test_deck_of_the_small_book(book):
    """The build's own deck holds a note for each card of the data files."""
    ids = {fields.split("\x1f")[0] for (fields,) in rows(book.site / "practice/tiny.apkg", NOTES)}
    decks = [data_of(path)[1] for path in (book.site / "practice").glob("*.js")]
    assert ids == {card["id"] for cards in decks for card in cards} != set()
