"""Versions of the book: what is kept of one, what changed since, and what the site shows."""

import json
from dataclasses import replace

import jsonschema
import pytest
from click.testing import CliRunner

from claimbook.cli import main
from claimbook.model import Provenance
from claimbook.pages.book import Book
from claimbook.records.versions import Card, Contents, Version, Versions, ages, changes, contents_of
from claimbook.sphinx.sidebar import sites
from helpers import CONF, PAGES, ROOT, SHAPE, TinyBook, claim_text, git, python

SUM = Card("a/sums", "it sums", "x + 1", "2")
OTHER = Card("a/other", "it says so", "1", "1")
FIRST = Contents({"sum": SUM, "other": OTHER}, {"basics-01.1": "confirms", "basics-01.2": "open"})
CHANGES = {
    **PAGES,
    "index": PAGES["index"].replace("ledger\n", "ledger\nchanges\n"),
    "changes": "# What changed\n\n```{changes}\n```\n",
}
FURO = CONF.replace("alabaster", "furo")


def kept_as(version, contents=FIRST):
    """A version that says that."""
    made = Provenance("2026-01-02", "0123456789ab", True)
    return Version(contents.claims, contents.entries, version, made)


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A small book, and the current folder in it."""
    monkeypatch.chdir(tmp_path)
    return TinyBook(tmp_path, CHANGES)


def store(book):
    """Where its versions are kept."""
    return Versions.of(book.docs)


def contents(book):
    """What it says."""
    found = Book.load(book.root)
    return contents_of(found)


def keep(book, version):
    """Keeps the book as it stands, whether its claims ran or not."""
    store(book).save(kept_as(version, contents(book)))


def changed(card, **fields):
    """How a claim changed that has other fields now."""
    newer = replace(FIRST, claims={**FIRST.claims, "sum": replace(card, **fields)})
    [change] = changes(FIRST, newer).claims
    return change.id, change.kinds


def run(*arguments):
    """Exit status and output of `claimbook changes`."""
    done = CliRunner().invoke(main, ["changes", *arguments])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def test_what_is_kept_comes_back(book):
    """A file holds what tells changes, a line a claim and a line an entry; 0.9 before 0.10."""
    keep(book, "0.10.0")
    kept = store(book)
    kept.save(kept_as("0.9.0"))
    [old, new] = kept.load_all(pytest.fail)
    assert (old, new.name) == (kept_as("0.9.0"), "0.10.0")
    assert new == kept_as("0.10.0", contents(book))
    assert new.claims["ones-have-a-shape"].page == "a/shapes"
    assert new.entries["basics-02.1"] == "remark"
    lines = kept.path("0.10.0").read_text("utf-8").splitlines()
    names = [line.split('"')[1] for line in lines if line.startswith('"')]
    claims = ["ones-have-a-shape", "prod-multiplies", "script-is-text", "sum-adds"]
    entries = ["basics-01.1", "basics-01.2", "basics-01.3", "basics-02.1"]
    head = ["schema", "version", "recorded"]
    assert names == [*head, "claims", *claims, "entries", *entries]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"schema": 1', '"schema": 2'),
        ('"version": "0.1.0"', '"version": "0.1.1"'),
        ('"statement": "it sums"', '"statement": 7'),
        ('"outputs": "2"', '"output": "2"'),
        ('"basics-01.2": "open"', '"basics-01.2": 7'),
        ('"clean": true', '"clean": "yes"'),
        ("}", ""),
    ],
)
def test_a_broken_file_is_named(book, old, new):
    """What cannot be a version is none, and its file is told; the others stand."""
    kept, told = store(book), []
    for version in ("0.1.0", "0.2.0"):
        kept.save(kept_as(version))
    path = kept.path("0.1.0")
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    assert kept.load_all(lambda *said: told.append(said)) == [kept_as("0.2.0")]
    [(where, why)] = told
    assert (where, "no record of a version" in why) == (f"{path}:1", True)


def test_a_file_of_another_name_is_no_version(book):
    """A version is named by numbers; what is not could lead out of the site."""
    kept = store(book)
    kept.save(kept_as("0.1.0"))
    text = kept.path("0.1.0").read_text("utf-8")
    kept.path("latest").write_text(text.replace("0.1.0", "latest"), "utf-8")
    told = []
    assert kept.load("latest", lambda *said: told.append(said)) is None
    assert "latest is not a version" in told[0][1]


def test_a_huge_file_is_not_read(book):
    """Its size is looked at first."""
    kept = store(book)
    kept.save(kept_as("0.1.0"))
    with kept.path("0.1.0").open("r+b") as file:
        file.truncate(20_000_000)
    told = []
    assert kept.load("0.1.0", lambda *said: told.append(said)) is None
    assert "over 10,000,000 bytes" in told[0][1]


def test_how_claims_change():
    """Each kind is told from the others; output is another only if the code is the same."""
    assert list(changes(FIRST, FIRST).counts()) == []
    assert changed(SUM, outputs="3") == ("sum", ("changed output",))
    assert changed(SUM, code="x + 2", outputs="3") == ("sum", ("changed code",))
    assert changed(SUM, statement="it adds", page="b") == ("sum", ("restated", "moved"))
    fewer = replace(FIRST, claims={"other": OTHER})
    assert [c.kinds for c in changes(FIRST, fewer).claims] == [("withdrawn",)]
    assert [c.kinds for c in changes(fewer, FIRST).claims] == [("new",)]


def test_how_verdicts_change():
    """Another relation is another verdict."""
    entries = {"basics-01.1": "confirms", "basics-01.2": "corrects", "basics-01.3": "remark"}
    found = changes(FIRST, replace(FIRST, entries=entries)).verdicts
    assert [(v.id, v.before, v.after) for v in found] == [
        ("basics-01.2", "open", "corrects"),
        ("basics-01.3", "no entry", "remark"),
    ]


def test_since_when_a_claim_stands():
    """The version that first had it, and the last that changed it; none has what came later."""
    moved = replace(FIRST, claims={"sum": SUM, "other": replace(OTHER, page="b")})
    now = Contents({**moved.claims, "sum": replace(SUM, statement="New."), "third": SUM}, {})
    versions = [kept_as("0.1.0"), kept_as("0.2.0", moved), kept_as("0.3.0", moved)]
    found = {name: (age.since, age.changed) for name, age in ages(versions, now).items()}
    assert found == {
        "sum": ("0.1.0", None),
        "other": ("0.1.0", "0.2.0"),
        "third": (None, None),
    }
    assert "other" in ages(versions, moved)
    gone = [*versions, kept_as("0.4.0", Contents({}, {})), kept_as("0.5.0")]
    assert ages(gone, FIRST)["sum"].since == "0.5.0"


def test_changes_are_printed(book):
    """Counts, then claims and verdicts; since the newest, or another one."""
    heading = "## What changed in the book\n\n"
    keep(book, "0.1.0")
    assert run() == (0, f"{heading}Since 0.1.0 of 2026-01-02: no claim.\n")
    (book.docs / "d.md").write_bytes(b"\xff")
    assert run()[1].startswith("docs/d.md:1: it is not UTF-8")  # its claims may look withdrawn
    book.write("docs/d.md", "# D\n")
    book.replace("docs/a/sums.md", ":confirms: basics-01.1", ":qualifies: basics-01.1")
    book.replace("docs/a/sums.md", ">>> torch.ones(2).prod()", ">>> torch.ones(3).prod()")
    keep(book, "0.2.0")
    assert run() == (0, f"{heading}Since 0.2.0 of 2026-01-02: no claim.\n")
    assert run("--since", "0.1.0")[1] == (
        f"{heading}Since 0.1.0 of 2026-01-02: changed verdict (1), changed code (1).\n\n"
        "### Claims: changed code\n\n- `prod-multiplies` (a/sums): changed code\n\n"
        "### Verdicts\n\n| entry | before | now |\n| --- | --- | --- |\n"
        "| basics-01.1 | confirms | qualifies |\n"
    )


def test_what_cannot_be_compared_is_said(book):
    """No version at all, or none of that name."""
    assert run() == (2, "claimbook: no version is saved yet; --save saves the book as it stands\n")
    none = "claimbook: 0.1: neither a git revision nor a saved version; there are none\n"
    assert run("--since", "0.1") == (2, none)
    keep(book, "0.0.1")
    keep(book, "0.0.2")
    said = "claimbook: 0.1: neither a git revision nor a saved version; there are "
    said += "0.0.1, 0.0.2\n"
    assert run("--since", "0.1") == (2, said)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--save", "'' is not a version such as 1.2.3"),
        ("--since", "'': neither a git revision nor a saved version; there are 0.1.0"),
    ],
)
def test_an_empty_name_is_no_version(book, option, said):
    """As a workflow gives whose variable is not set: nothing would be kept, in silence."""
    keep(book, "0.1.0")
    assert run(option, "") == (2, f"claimbook: {said}\n")


def test_the_book_is_kept_once(book):
    """Under a number, if all claims ran as printed; a second time only under a higher one."""
    status, said = run("--save", "0.9.0")
    assert (status, "claims that have not run as printed: 4 (" in said) == (2, True)
    assert book.claimbook("record").returncode == 0
    assert run("--save", "0.9.0") == (0, "saved as docs/records/versions/0.9.0.json\n")
    assert store(book).load("0.9.0", pytest.fail) == kept_as("0.9.0", contents(book))
    before = store(book).path("0.9.0").read_bytes()
    for version in ("0.9.0", "0.8.1"):
        status, said = run("--save", version)
        assert status == 2
        assert f"0.9.0 is kept already; give a higher number than {version}" in said
    assert [path.read_bytes() for path in store(book).folder.iterdir()] == [before]
    assert run("--save", "0.10.0")[0] == 0
    assert store(book).names() == ["0.9.0", "0.10.0"]

    for name in ("../v0.11", "01.0"):
        assert run("--save", name) == (2, f"claimbook: {name} is not a version such as 1.2.3\n")


@pytest.mark.parametrize(
    ("session", "said"),
    [
        (">>> torch.ones(2).sum()\ntensor(3.)", "not run as printed: 1 (two-is-three);"),
        (">>> 1\n1\n\n```\n\n```python\nx", "[claim.bad-fence]"),
    ],
)
def test_a_book_that_is_not_whole_is_not_kept(book, session, said):
    """A claim that fails, or a problem of a page."""
    book.write("docs/wrong.md", "# Wrong\n\n" + claim_text("two-is-three", session))
    book.claimbook("record")
    status, told = run("--save", "1.0")
    assert (status, said in told) == (2, True), told
    assert store(book).names() == []


def test_a_claim_for_cuda_alone_need_not_have_run(book):
    """Nor does a broken record pass for one that did."""
    book.write("docs/b.md", "# B\n\n" + claim_text("on-cuda", ">>> 1\n1", ":lanes: cuda\n"))
    assert book.claimbook("record").returncode == 0
    record = book.docs / "_build/records/cpu/a/sums.jsonl"
    text = record.read_text("utf-8")
    record.write_text(text.replace('"claim": "sum-adds"', '"claim": sum-adds'), "utf-8")
    assert "not run as printed: 1 (sum-adds);" in run("--save", "1.0")[1]
    record.write_text(text, "utf-8")
    assert run("--save", "1.0")[0] == 0


def folded(section):
    """What a section of the page folds: its title, and where its links lead."""
    return {fold.summary.get_text(): [a["href"] for a in fold("a")] for fold in section("details")}


def test_the_page_shows_what_changed(book):
    """The newest first: verdicts, then claims by how they changed; and the data say it."""
    book.write("docs/old.md", "# Old\n\n" + claim_text("gone", ">>> print('<b>')\n<b>"))
    keep(book, "0.1.0")
    (book.docs / "old.md").unlink()
    book.replace("docs/a/shapes.md", SHAPE, "")
    keep(book, "0.2.0")
    book.replace("docs/a/sums.md", ":confirms: basics-01.1", ":qualifies: basics-01.1")
    book.replace("docs/a/sums.md", ">>> torch.ones(2).sum()\ntensor(2.)", ">>> 7\n7")
    book.write("docs/f.md", f"# F\n\n{SHAPE}")
    done = book.sphinx()
    assert (done.returncode, done.stderr) == (0, "")
    sections = book.page("changes").select("section section")
    assert [section.h2.get_text().rstrip("¶") for section in sections] == [
        "Since 0.2.0",
        "From 0.1.0 to 0.2.0",
    ]
    now, then = sections
    assert "changed verdict: 2\u00a0· changed code: 1\u00a0· new: 1" in now.get_text()
    rows = [[cell.get_text(" ", strip=True) for cell in r("td")] for r in now.select("tbody tr")]
    assert rows == [
        ["basics-01.1", "A sum adds all elements.", "right", "right with a condition"],
        ["basics-01.2", "A sum multiplies.", "still open", "wrong"],
        ["Sums", "1", ""],
        ["F", "", "1"],
    ]
    assert folded(now) == {
        "By page": ["a/sums.html", "f.html"],
        "Statements: changed code (1)": ["a/sums.html", "a/sums.html#claim-sum-adds"],
        "Statements: new (1)": ["f.html", "f.html#claim-ones-have-a-shape"],
    }
    assert [*folded(then)] == ["By page"]  # of earlier steps, new and withdrawn ones are counted
    assert "withdrawn: 2" in then.get_text()
    assert "The first version is 0.1.0 of 2026-01-02, with 5 statements and 4 verdicts." in str(
        book.page("changes")
    )
    data = json.loads((book.site / "claims.json").read_text("utf-8"))
    jsonschema.validate(
        data, json.loads((book.site / "_static/claims.schema.json").read_text("utf-8"))
    )
    assert {c["id"]: (c["since"], c["changed"]) for c in data["claims"]} == {
        "sum-adds": ("0.1.0", None),
        "prod-multiplies": ("0.1.0", "0.1.0"),
        "script-is-text": ("0.1.0", "0.1.0"),
        "ones-have-a-shape": (None, None),
    }


def test_the_page_is_written_when_it_says_something_else(book):
    """Without a version, or without a change since, nothing is written; a change is."""
    assert book.sphinx().returncode == 0
    assert "No version of the book has been saved yet." in book.page("changes").get_text()
    file = book.site / "changes.html"

    def built():
        before = file.stat().st_mtime_ns
        assert book.sphinx().returncode == 0
        return file.stat().st_mtime_ns != before

    assert not built()
    book.replace("docs/a/sums.md", ">>> torch.ones(2).prod()", ">>> torch.ones(3).prod()")
    assert not built()
    keep(book, "0.1.0")
    assert (built(), built()) == (True, False)
    book.replace("docs/a/sums.md", ">>> torch.ones(3).prod()", ">>> torch.ones(4).prod()")
    assert built()
    book.replace("docs/a/sums.md", ":confirms: basics-01.1", ":qualifies: basics-01.1")
    assert built()
    book.replace("docs/register/basics.yaml", "A sum adds", "A sum gathers")
    assert (built(), built()) == (True, False)


def test_a_broken_version_is_a_warning(book):
    """The build names the file, and goes on with the other versions."""
    keep(book, "0.1.0")
    book.write("docs/records/versions/0.2.0.json", "{")
    done = book.sphinx()
    assert done.stderr.count("[claim.broken-record]") == 1
    assert "0.2.0.json:1: WARNING: " in done.stderr
    assert "The first version is 0.1.0" in book.page("changes").get_text()


ADDRESS = "https://example.org/book/"


@pytest.mark.parametrize(
    ("versions", "address", "this", "found"),
    [
        ([], ADDRESS, "", []),
        (["0.1.0"], ADDRESS, "", []),
        (["0.1.0", "0.2.0"], "", "", []),
        (["0.1.0", "0.2.0", "0.3.0"], ADDRESS, "", ["newest", "0.2.0", "0.1.0"]),
        (["0.1.0"], ADDRESS, "0.1.0", ["newest", "0.1.0"]),
    ],
)
def test_which_sites_there_are(versions, address, this, found):
    """The newest, and those of older versions; the site of a version leads to the newest."""
    assert [name for name, _ in sites(versions, address, this)] == found


def test_the_sidebar_leads_to_other_versions(tmp_path):
    """Labelled links in plain HTML, on every page; none where there is one version."""
    book = TinyBook(tmp_path, CHANGES, conf=FURO + f"html_baseurl = {ADDRESS!r}\n")
    keep(book, "0.1.0")
    assert book.sphinx().returncode == 0
    assert book.page("c").select(".book-versions") == []
    keep(book, "0.2.0")
    assert book.sphinx().returncode == 0
    for name in ("c", "a/sums"):
        [places] = book.page(name).select("nav.book-versions")
        assert places["aria-label"] == "Versions of this book"
        links = [(a.get_text(), a["href"], a.get("aria-current")) for a in places.select("a")]
        assert links == [("newest", ADDRESS, "true"), ("0.1.0", f"{ADDRESS}0.1.0/", None)]
    assert book.sphinx("-D", "claimbook_version=0.2.0").returncode == 0
    [places] = book.page("c").select("nav.book-versions")
    assert places.summary.get_text() == "Version: 0.2.0"
    assert [a.get_text() for a in places.select("a[aria-current]")] == ["0.2.0"]


def test_the_books_own_versions_can_be_read():
    """Each is a version, and the page of the built site compares with them."""
    kept = Versions.of(ROOT / "docs")
    versions = kept.load_all(pytest.fail)
    assert [version.name for version in versions] == kept.names()
    assert versions


def test_a_review_shows_before_and_after(tmp_path):
    """Since a revision: claims with what differs, verdicts, and how many records.

    The book may be a folder of its repository.
    """
    book = TinyBook(tmp_path / "book")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    book.replace("docs/a/sums.md", "sum()\ntensor(2.)", "sum()\ntensor(3.)")
    book.replace("docs/a/sums.md", "{claim} prod-multiplies", "{claim} prod-is")
    book.replace("docs/a/shapes.md", ":corrects:", ":qualifies:")
    done = book.claimbook("changes", "--since", "HEAD")
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout
    assert said.startswith(
        "## What changed in the book\n\n"
        "Since `HEAD`: changed verdict (1), changed output (1), new (1), withdrawn (1).\n"
    )
    assert "- `sum-adds` (docs/a/sums.md:3): changed output\n" in said
    assert "   >>> torch.ones(2).sum()\n  -tensor(2.)\n  +tensor(3.)\n" in said
    assert "### Claims: new\n\n- `prod-is` (docs/a/sums.md:14): new\n" in said
    assert "| basics-01.2 | corrects | qualifies |" in said


def test_a_review_shows_where_a_claim_can_fail(tmp_path):
    """An option that lets a claim differ or skips it, and what it must print on CUDA, are told."""
    book = TinyBook(tmp_path)
    book.write("docs/d.md", "# D\n\n" + claim_text("one-is-one", ">>> 1\n1"))
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    options = ":lanes: cpu\n:machine: clock cores\n:timeout: 90\n:cpu-build:\n"
    book.write("docs/d.md", "# D\n\n" + claim_text("one-is-one", ">>> 1\n1", options))
    said = book.claimbook("changes", "--since", "HEAD").stdout
    assert "Since `HEAD`: changed options or output on CUDA (1).\n" in said
    assert "- `one-is-one` (docs/d.md:3): changed options or output on CUDA\n" in said
    added = ":lanes: cpu\n  +:machine: clock cores\n  +:timeout: 90\n  +:cpu-build:\n   \n"
    assert f"  +{added}   It says so." in said
    cuda = claim_text("one-is-one", ">>> 1\n1\n```\n\n```pycon cuda\n>>> 1\n2")
    book.write("docs/d.md", f"# D\n\n{cuda}")
    said = book.claimbook("changes", "--since", "HEAD").stdout
    assert "   ```\n  +\n  +```pycon cuda\n  +>>> 1\n  +2\n  +```\n" in said


def test_a_revision_with_links(tmp_path):
    """One out of the book stops nothing."""
    book = TinyBook(tmp_path / "book")
    (book.docs / "outside.md").symlink_to(tmp_path / "outside.md")
    (tmp_path / "outside.md").write_text("# O\n", "utf-8")
    git(book.root, "init", "-q")
    git(book.root, "add", ".")
    git(book.root, "commit", "-qm", "first")
    book.replace("docs/a/sums.md", "sum()\ntensor(2.)", "sum()\ntensor(3.)")
    done = book.claimbook("changes", "--since", "HEAD")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Since `HEAD`: changed output (1)." in done.stdout


def test_a_revision_that_is_none(tmp_path):
    """It is told as a version that is none is."""
    done = TinyBook(tmp_path).claimbook("changes", "--since", "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nowhere: neither a git revision nor a saved version" in done.stderr


def test_why_a_revision_is_none(tmp_path):
    """There is no git, git refuses, or the clone is as a workflow checks it out."""
    book = TinyBook(tmp_path / "whole/book")
    done = book.claimbook("changes", "--since", "HEAD", PATH=str(tmp_path))
    assert done.stderr.endswith("comparing revisions needs git, which is not installed\n")
    done = book.claimbook("changes", "--since", "HEAD", GIT_DIR="/nowhere")
    assert "; git says: fatal: not a git repository: '/nowhere'" in done.stderr
    git(book.root.parent, "init")
    for message in ("one", "two"):
        git(book.root, "add", "--all")
        git(book.root, "commit", "--allow-empty", "--message", message)
    git(tmp_path, "clone", "--depth", "1", book.root.parent.as_uri(), "clone")
    done = python("-m", "claimbook", "changes", "--since", "HEAD~1", cwd=tmp_path / "clone/book")
    assert done.stderr.endswith("; this clone has no old revisions: git fetch --unshallow\n")
