"""A claim under another id: pages, links, sweeps, tests and records follow."""

import pytest
from click.testing import CliRunner

from claimbook.cli import main
from claimbook.engine import environment
from claimbook.model import Lane, Outcome, Provenance, Run
from claimbook.pages.book import Book
from claimbook.records.book_runs import BookRun, Releases, result_of
from claimbook.records.by_page import orphans
from claimbook.records.runs import Records, record_of
from helpers import TinyBook


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A small book with records of `sum-adds` and `prod-multiplies`, and what names the first."""
    book = TinyBook(tmp_path)
    book.write("docs/d.md", "# D\n\n[it](a/sums.md#claim-sum-adds)\n")
    book.write("docs/sweeps/sums.py", "import x\n\n\ndef sum_adds(x):\n    sum_adds\n")
    book.write("docs/_parts/e.md", "`sum-adds`\n")
    book.write("docs/_build/f.md", "`sum-adds`\n")
    book.write("tests/test_it.py", 'ID = "sum-adds"  # not a sum-adds-up, nor all-sum-adds\n')
    loaded, here = Book.load(book.root), environment.describe(Lane.CPU)
    records, results = Records.of(book.docs, Lane.CUDA, pytest.fail), {}
    for claim in loaded.select(["sum-adds", "prod-multiplies"]):
        outputs = tuple(example.want for example in claim.examples(Lane.CUDA))
        run = Run(claim.id, Lane.CUDA, Outcome.PASSED, outputs)
        made = Provenance("2026-01-02", None, None)
        records.save(claim, record_of(claim, run, here, made))
        results[claim.id] = result_of(claim, run)
    Releases.of(book.docs).save(BookRun("2.6.0", here, results, recorded=made))
    monkeypatch.chdir(tmp_path)
    return book


def call(*arguments):
    return CliRunner().invoke(main, ["rename", *arguments])


def text(book, path):
    return (book.root / path).read_text("utf-8")


def recorded(book, name, told=pytest.fail):
    """Return whether a claim has a record on CUDA, and one of the release."""
    (claim,) = Book.load(book.root).select([name])
    record = Records.of(book.docs, Lane.CUDA, told).load(claim)
    release = Releases.of(book.docs).load("2.6.0", pytest.fail)
    return record is not None, release.of(claim) is not None


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_claim_is_renamed(book, by_hand):
    """Also one whose page has the new id already; longer ids are others."""
    if by_hand:
        book.replace("docs/a/sums.md", "{claim} sum-adds", "{claim} sums-add")
    assert call("sum-adds", "sums-add").exit_code == 0
    assert text(book, "docs/sweeps/sums.py").endswith("\ndef sums_add(x):\n    sum_adds\n")
    assert "{claim} sums-add\n" in text(book, "docs/a/sums.md")
    assert "{claim}`sums-add` and {claim}`the sum <sums-add>`" in text(book, "docs/c.md")
    assert "#claim-sums-add" in text(book, "docs/d.md")
    assert text(book, "docs/_parts/e.md") == "`sums-add`\n"
    assert text(book, "docs/_build/f.md") == "`sum-adds`\n"
    assert text(book, "tests/test_it.py") == (
        'ID = "sums-add"  # not a sum-adds-up, nor all-sum-adds\n'
    )
    assert recorded(book, "sums-add") == recorded(book, "prod-multiplies") == (True, True)
    assert not [*orphans(book.docs, ["sums-add", "prod-multiplies"])]


def test_broken_records_stay_broken(book):
    """A line that was edited by hand, or cut off, does not become whole under a new name."""
    path = book.docs / "records/cuda/a/sums.jsonl"
    path.write_text(path.read_text().replace("tensor(2.)", "tensor(3.)") + '{"claim": "cu')
    assert call("sum-adds", "sums-add").exit_code == 0
    told = []
    assert recorded(book, "sums-add", lambda *what: told.append(what)) == (False, True)
    assert recorded(book, "prod-multiplies", lambda *what: None)[0]
    assert len(told) == 2


def test_bytes_and_links_of_a_page_stay(book):
    """Only the name changes: not the ends of lines, not a link, not who may read the file."""
    page, there = book.docs / "c.md", book.root / "there"
    there.write_bytes(page.read_bytes().replace(b"\n", b"\r\n") + b"\xff")
    there.chmod(0o640)
    page.unlink()
    page.symlink_to(there)
    before = there.read_bytes()
    assert call("sum-adds", "sums-add").exit_code == 0
    assert there.read_bytes() == before.replace(b"sum-adds", b"sums-add")
    assert (page.is_symlink(), there.stat().st_mode & 0o777) == (True, 0o640)


def test_pages_in_a_linked_folder_follow(book):
    """The book reads them too; a link that leads nowhere is passed over."""
    (book.docs / "0.md").symlink_to("nowhere")
    (book.docs / "a").rename(book.root / "_there")
    (book.docs / "a").symlink_to(book.root / "_there")
    assert call("sum-adds", "sums-add").exit_code == 0
    assert recorded(book, "sums-add") == (True, True)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sum-add", "x-y", "sum-add: no claim has this name; did you mean sum-adds?"),
        ("sum-adds", "prod-multiplies", "prod-multiplies: this id is taken by another claim"),
        ("sum-adds", "sum-adds", "sum-adds: this is its id already"),
        ("sum-adds", "Sum_adds", "an id is lowercase letters and digits"),
        ("sum-ads", "sum-adds", "sum-ads: no file has it"),
        ("s[a-z]+-[a-z-]+", "sum-adds", "s[a-z]+-[a-z-]+: an id is lowercase letters"),
        ("sums", "sum-adds", "an id of one word may occur in sentences"),
    ],
)
def test_what_cannot_be_renamed(book, old, new, said):
    """It is said why, and nothing changes."""
    before = {path: path.read_bytes() for path in book.root.rglob("*.*") if path.is_file()}
    result = call(old, new)
    assert (result.exit_code, said in result.output) == (2, True)
    assert before == {path: path.read_bytes() for path in before}


def test_what_is_kept_of_no_claim_is_named(book):
    """The build names the line; while something is wrong with a page, a claim may be on it."""
    book.replace("docs/a/sums.md", "{claim} sum-adds", "{claim} sums-add")
    (book.docs / "d.md").unlink()
    book.replace("docs/a/shapes.md", "`sum-adds`", "none")
    book.write("docs/c.md", "# C\n\n```python\n```\n")
    unreadable = book.sphinx()
    assert "[claim.unowned-code]" in unreadable.stderr
    assert "[claim.orphan]" not in unreadable.stderr
    book.write("docs/c.md", "# C\n")
    done = book.sphinx()
    assert done.returncode == 1
    (line,) = (line for line in done.stderr.splitlines() if "[claim.orphan]" in line)
    assert line == (
        "docs/records/cuda/a/sums.jsonl:3: WARNING: no claim has the id 'sum-adds'; renamed? "
        "claimbook rename sum-adds NEW. Deleted? remove this line [claim.orphan]"
    )


def test_what_is_kept_of_no_claim_is_found_beside_broken_lines(tmp_path):
    """A line that is no text, or names no claim, hides no other."""
    file = tmp_path / "records/cuda/a.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(b'{"claim": "g\xffne"}\n{"claim": "gone"}\n{"claim": []}\n{"common": {}}\n')
    assert [*orphans(tmp_path, ["here"])] == [(file, 2, "gone")]
