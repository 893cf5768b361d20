"""Claims and pages under other names: links and records follow, and nothing is lost silently."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from claimbook.cli import main
from claimbook.engine import environment
from claimbook.model import Lane, Outcome, Provenance, Run
from claimbook.pages.book import Book
from claimbook.records.book_runs import BookRun, Releases, result_of
from claimbook.records.kept import orphans, rename
from claimbook.records.runs import Records, record_of
from helpers import TinyBook

HERE = environment.describe(Lane.CPU)
MADE = Provenance("2026-01-02", None, None)


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A small book with records of `sum-adds` and `prod-multiplies`, and what names the first."""
    book = TinyBook(tmp_path)
    book.write("docs/d.md", "# D\n\n[it](a/sums.md#claim-sum-adds), {doc}`a/sums`\n")
    book.write("docs/a/index.md", "# A\n\n```{toctree}\nsums\nAll <sums>\n```\n\nsums\n")
    book.replace("docs/a/shapes.md", "# Shapes\n", "# Shapes\n\n[](sums.md) {doc}`sums`\n")
    book.replace("docs/a/sums.md", "# Sums\n", "# Sums\n\n[](shapes.md) {doc}`shapes`\n")
    book.write(
        "tests/test_it.py", 'ID = "sum-adds"  # not a sum-adds-up\nPAGE = "docs/a/sums.md"\n'
    )
    keep(book)
    monkeypatch.chdir(tmp_path)
    return book


def keep(book):
    """Writes records on CUDA and of a release, without running anything."""
    loaded, here = Book.load(book.root), environment.describe(Lane.CPU)
    records, results = Records.of(book.docs, Lane.CUDA, pytest.fail), {}
    for claim in loaded.select(["sum-adds", "prod-multiplies"]):
        outputs = tuple(example.want for example in claim.examples(Lane.CUDA))
        run = Run(claim.id, Lane.CUDA, Outcome.PASSED, outputs)
        records.save(claim, record_of(claim, run, here, MADE))
        results[claim.id] = result_of(claim, run)
    Releases.of(book.docs).save(BookRun("2.6.0", here, results, recorded=MADE))


def call(*arguments):
    return CliRunner().invoke(main, arguments)


def recorded(book):
    """Claim id → whether its record on CUDA is there and fits, and that of the release."""
    loaded = Book.load(book.root)
    records = Records.of(book.docs, Lane.CUDA, pytest.fail)
    release = Releases.of(book.docs).load("2.6.0")
    return {
        claim.id: (
            getattr(records.load(claim), "digest", None) == claim.digest(Lane.CUDA),
            release.of(claim) is not None,
        )
        for claim in loaded.select(
            ["docs/a/sums.md" if (book.docs / "a/sums.md").exists() else "docs"]
        )
    }


def text(book, path):
    return (book.root / path).read_text("utf-8")


def test_a_claim_is_renamed(book):
    """Its page, the links to it, tests and records have the new id; longer ids are others."""
    book.write("docs/sweeps/sums.py", "def sum_adds(x):\n    pass\n")
    assert call("rename", "sum-adds", "sums-add").exit_code == 0
    assert text(book, "docs/sweeps/sums.py").startswith("def sums_add(x):")
    assert "{claim} sums-add\n" in text(book, "docs/a/sums.md")
    assert "{claim}`sums-add` and {claim}`the sum <sums-add>`" in text(book, "docs/c.md")
    assert "#claim-sums-add" in text(book, "docs/d.md")
    assert text(book, "tests/test_it.py").startswith('ID = "sums-add"  # not a sum-adds-up')
    assert recorded(book) == {
        "sums-add": (True, True),
        "prod-multiplies": (True, True),
        "script-is-text": (False, False),
    }


def test_links_and_records_follow_who_renamed_by_hand(book):
    """The command does the rest."""
    book.replace("docs/a/sums.md", "{claim} sum-adds", "{claim} sums-add")
    assert call("rename", "sum-adds", "sums-add").exit_code == 0
    assert recorded(book)["sums-add"] == (True, True)
    assert "sum-adds" not in text(book, "docs/c.md")


def test_what_was_recorded_under_the_new_name_stays(book):
    """Of a page that was renamed by hand and recorded since; the rest is found where it was."""
    (book.docs / "a/sums.md").rename(book.docs / "a/adding.md")
    loaded = Book.load(book.root)
    (changed,) = loaded.select(["sum-adds"])
    new = record_of(changed, Run("sum-adds", Lane.CUDA, Outcome.FAILED, ("new",)), HERE, MADE)
    Records.of(book.docs, Lane.CUDA, pytest.fail).save(changed, new)
    assert call("rename", "docs/a/sums.md", "docs/a/adding.md").exit_code == 0
    records = Records.of(book.docs, Lane.CUDA, pytest.fail)
    assert records.load(changed) == new
    assert records.load(*loaded.select(["prod-multiplies"]))


@pytest.mark.parametrize("new", ["adds", "sums-add"])
def test_what_a_claim_that_was_renamed_by_hand_did_since_stays(book, new):
    """Wherever its new name sorts: what was kept of the old one is older."""
    book.replace("docs/a/sums.md", "{claim} sum-adds", f"{{claim}} {new}")
    (claim,) = Book.load(book.root).select([new])
    run = Run(new, Lane.CUDA, Outcome.FAILED, ("new",))
    records, releases = Records.of(book.docs, Lane.CUDA, pytest.fail), Releases.of(book.docs)
    records.save(claim, record_of(claim, run, HERE, MADE))
    old = releases.load("2.6.0")
    releases.save(replace(old, claims={**old.claims, new: result_of(claim, run)}))
    assert call("rename", "sum-adds", new).exit_code == 0
    (record,) = Records.of(book.docs, Lane.CUDA, pytest.fail).load_all(claim)
    assert record.outcome is Outcome.FAILED
    assert releases.load("2.6.0").claims[new].outcome is Outcome.FAILED


def test_broken_records_stay_broken(book):
    """A line that was edited by hand, or cut off, does not become whole under a new name."""
    path = book.docs / "records/cuda/a/sums.jsonl"
    path.write_text(path.read_text().replace("tensor(2.)", "tensor(3.)") + '{"claim": "cu')
    assert call("rename", "sum-adds", "sums-add").exit_code == 0
    loaded, told = Book.load(book.root), []
    records = Records.of(book.docs, Lane.CUDA, lambda *what: told.append(what))
    assert records.load(*loaded.select(["sums-add"])) is None
    assert records.load(*loaded.select(["prod-multiplies"]))
    assert len(told) == 2


def test_bytes_and_links_of_a_page_stay(book):
    """Only the name changes: not the ends of lines, not a link, not who may read the file."""
    page, there = book.docs / "c.md", book.root / "there"
    there.write_bytes(page.read_bytes().replace(b"\n", b"\r\n") + b"\xff")
    there.chmod(0o640)
    page.unlink()
    page.symlink_to(there)
    before = there.read_bytes()
    assert call("rename", "sum-adds", "sums-add").exit_code == 0
    assert there.read_bytes() == before.replace(b"sum-adds", b"sums-add")
    assert (page.is_symlink(), there.stat().st_mode & 0o777) == (True, 0o640)
    assert call("rename", "docs/c.md", "docs/g.md").exit_code == 0
    assert (book.docs / "g.md").read_bytes() == there.read_bytes()


def test_a_page_named_from_another_folder(book, monkeypatch):
    """Its path begins there, or at the root as messages have it."""
    monkeypatch.chdir(book.docs / "a")
    assert call("rename", "sums.md", "docs/adding.md").exit_code == 0
    assert (book.docs / "adding.md").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sum-add", "x-y", "sum-add: no claim is called so; did you mean sum-adds?"),
        ("sum-adds", "prod-multiplies", "prod-multiplies: this id is taken by another claim"),
        ("sum-adds", "Sum_adds", "an id is words in small letters and digits"),
        ("docs/sums.md", "docs/g.md", "no page is called so; did you mean docs/a/sums.md or"),
        ("docs/d.md", "docs/e.md", "docs/e.md: this page is there already"),
        ("docs/d.md", "e.md", "a page is docs/….md, before and after"),
    ],
)
def test_what_cannot_be_renamed(book, old, new, said):
    """It is said why, and nothing changes."""
    before = {path: path.read_bytes() for path in book.root.rglob("*.*") if path.is_file()}
    result = call("rename", old, new)
    assert (result.exit_code, said in result.output) == (2, True)
    assert before == {path: path.read_bytes() for path in before}


def test_a_page_is_renamed(book):
    """Links to it and its place in the contents follow; a word that is its name stays."""
    assert call("rename", "docs/a/sums.md", "docs/a/adding.md").exit_code == 0
    assert text(book, "docs/a/index.md") == (
        "# A\n\n```{toctree}\nadding\nAll <adding>\n```\n\nsums\n"
    )
    assert "[it](a/adding.md#claim-sum-adds), {doc}`a/adding`" in text(book, "docs/d.md")
    assert "[](adding.md) {doc}`adding`" in text(book, "docs/a/shapes.md")
    assert "\na/adding\n" in text(book, "docs/index.md")
    assert 'PAGE = "docs/a/adding.md"' in text(book, "tests/test_it.py")
    assert (book.docs / "records/cuda/a/adding.jsonl").exists()
    assert not (book.docs / "records/cuda/a/sums.jsonl").exists()
    assert recorded(book)["sum-adds"] == (True, True)


def test_a_page_moves_to_another_folder(book):
    """Its own links lead where they led, too."""
    book.write("docs/e.md", "# E\n\n```{questions}\na/sums#what basics-01.1\n```\n")
    assert call("rename", "docs/a/sums.md", "docs/b/adding.md").exit_code == 0
    assert "[](../a/shapes.md) {doc}`/a/shapes`" in text(book, "docs/b/adding.md")
    assert "[](../b/adding.md) {doc}`/b/adding`" in text(book, "docs/a/shapes.md")
    assert "```{toctree}\n/b/adding\nAll </b/adding>\n```" in text(book, "docs/a/index.md")
    assert "b/adding#what basics-01.1\n" in text(book, "docs/e.md")
    assert (book.docs / "records/cuda/b/adding.jsonl").exists()


def test_what_no_claim_has_is_named_and_forgotten(book):
    """The build names records of a claim that is gone; `forget` removes them, and no other.

    While something is wrong with a page, a claim may be on it all the same.
    """
    assert call("forget").output == "forgotten: nothing\n"
    book.replace("docs/a/sums.md", "{claim} sum-adds", "{claim} sums-add")
    book.write("docs/c.md", "# C\n")
    book.write("docs/d.md", "# D\n")
    (book.docs / "a/index.md").unlink()
    book.replace("docs/a/shapes.md", "`sum-adds`", "none")
    book.replace("docs/c.md", "# C\n", "# C\n\n```python\n```\n")
    unreadable = book.sphinx()
    assert "[claim.unowned-code]" in unreadable.stderr
    assert "[claim.orphan]" not in unreadable.stderr
    book.write("docs/c.md", "# C\n")
    done = book.sphinx()
    assert done.returncode == 1
    (line,) = (line for line in done.stderr.splitlines() if "[claim.orphan]" in line)
    assert line.endswith(
        "no claim is called 'sum-adds'; renamed? claimbook rename sum-adds NEW. Deleted? claimbook "
        "forget [claim.orphan]"
    )
    assert line.startswith("docs/records/cuda/a/sums.jsonl:3: ")
    assert "forgotten: sum-adds" in call("forget").output
    assert book.sphinx().returncode == 0
    lines = text(book, "docs/records/cuda/a/sums.jsonl").splitlines()
    assert [json.loads(line).get("claim") for line in lines] == [None, "prod-multiplies"]


def test_what_no_claim_has_is_found_beside_broken_lines(tmp_path):
    """A line that is no text, names no claim, or has other blanks, hides no other."""
    file = tmp_path / "records/cuda/a.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(b'{"claim": "g\xffne"}\n{"claim" : "gone"}\n{"claim": []}\n{"common": {}}\n')
    assert [*orphans(tmp_path, ["here"])] == [(file, 2, "gone")]
    assert rename(tmp_path, {"gone": None}) == [file]
    assert file.read_bytes() == b'{"claim": "g\xffne"}\n{"claim": []}\n{"common": {}}\n'
