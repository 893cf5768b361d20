"""Other releases of torch: what is kept of a run there, and what is shown."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from claimbook.cli import common, main
from claimbook.engine import environment
from claimbook.model import Lane, Outcome, Provenance, Run
from claimbook.pages.book import Book
from claimbook.records.book_runs import BookRun, Releases, changed, result_of, spans
from claimbook.sphinx.views.timeline import title_of
from helpers import PAGES, TinyBook, claim, claim_text

TORCH = environment.release(environment.torch_version())
WRONG = claim_text("two-is-three", ">>> torch.ones(2).sum()\ntensor(3.)")
FILE = claim_text("torch-has-a-file", ">>> print(torch.__file__)\n__init__.py")
GONE = claim_text("it-exits", ">>> import os; os._exit(3)")
ERROR = claim(
    "it-raises",
    ">>> x = 1\n>>> torch.ones(2) @ torch.ones(3)\n"
    "Traceback (most recent call last):\nRuntimeError: sizes",
)


def ran(outcome=Outcome.PASSED, *outputs, message=""):
    """A run of `ERROR`."""
    return Run(ERROR.id, Lane.CPU, outcome, outputs, message=message)


def release(version, run, of=ERROR):
    """A release on which a claim did that."""
    here, day = environment.describe(Lane.CPU), Provenance("2026-01-02", None, None)
    return BookRun(version, here, {of.id: result_of(of, run)}, recorded=day)


OLD = release(
    "2.8.0",
    ran(Outcome.FAILED, "", "Traceback (most recent call last):\nRuntimeError: other sizes\x1b[0m"),
)
NEW = release("2.10.0", ran())
NEWEST = replace(NEW, name="2.13.0")
DEAD = release("2.12.0", ran(Outcome.CRASHED, "", message="it died"))
LINE, WANT = ERROR.examples(Lane.CPU)[1].source, ERROR.examples(Lane.CPU)[1].want
"""The example of `ERROR` that raises, and what it prints."""


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A small book, and the current folder in it."""
    book = TinyBook(tmp_path)
    monkeypatch.chdir(tmp_path)
    return book


def record(book, *options):
    """What the command keeps of the torch that runs this test."""
    done = CliRunner().invoke(main, ["release", *options])
    assert done.exit_code == 0, done.output
    return Releases.of(book.docs).load(TORCH, pytest.fail)


def test_a_release_is_what_ran(book):
    """What does not hold is kept with its outputs, and how severe it is."""
    book.write("docs/wrong.md", f"# Wrong\n\n{WRONG}\n{GONE}")
    release = record(book)
    words = {name: result.word for name, result in release.claims.items()}
    assert words == {
        **dict.fromkeys(("sum-adds", "prod-multiplies", "script-is-text"), "holds"),
        "ones-have-a-shape": "holds",
        "two-is-three": "value",
        "it-exits": "crashed",
    }
    assert release.claims["two-is-three"].outputs == ("tensor(2.)",)
    assert "the process exited with status 3" in release.claims["it-exits"].message


def test_where_a_release_was_installed_is_not_kept(book):
    """The folder is gone by then, and has another name elsewhere."""
    book.write("docs/file.md", f"# File\n\n{FILE}")
    assert record(book).claims["torch-has-a-file"].outputs == ("torch/__init__.py",)


def test_what_was_skipped_is_no_result(book, monkeypatch):
    """A claim of another build of torch says nothing of the release."""
    skipped = Run("sum-adds", Lane.CPU, Outcome.SKIPPED, message="of another build")

    def progress(runner, claims, lane, **options):
        return [(each, skipped) for each in claims]

    monkeypatch.setattr(common, "progress", progress)
    book.write("docs/a/shapes.md", "# S\n")
    book.write("docs/a/sums.md", "# S\n\n" + claim_text("sum-adds", ">>> 1\n1"))
    assert record(book).claims == {}


def test_only_what_changed_is_run(book, monkeypatch):
    """With --changed an edited claim is run; the others keep what they did in this environment."""
    ran, progress = [], common.progress

    def noted(runner, claims, lane, **options):
        ran.append(sorted(claim.id for claim in claims))
        return progress(runner, claims, lane, **options)

    monkeypatch.setattr(common, "progress", noted)
    before = record(book)
    assert ran.pop(0) == sorted(before.claims)
    book.replace("docs/a/sums.md", "torch.ones(2).sum()", "torch.ones(2).norm() ** 2")
    ran.clear()
    after = record(book, "--changed")
    assert ran[0] == ["sum-adds"]
    assert before.claims.items() - after.claims.items() == {("sum-adds", before.claims["sum-adds"])}
    elsewhere = replace(before, environment=replace(before.environment, device="another"))
    Releases.of(book.docs).save(elsewhere)
    ran.clear()
    record(book, "--changed")
    assert ran[0] == sorted(before.claims)


def test_what_is_kept_comes_back(tmp_path):
    """A file holds the whole release, and two releases come in their order, not in that of text."""
    kept = Releases(tmp_path)
    for one in (NEW, OLD, DEAD):
        kept.save(one)
    assert kept.load_all(pytest.fail) == [OLD, NEW, DEAD]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "2.10.0.json",
        "2.12.0.json",
        "2.8.0.json",
    ]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"outcome": "failed"', '"outcome": "fine"'),
        ('"severity": "error"', '"severity": "grave"'),
        ('"release": "2.8.0"', '"release": "2.9.0"'),
        ('"schema": 1', '"schema": 2'),
        ('"outputs": [""', '"outputs": [7'),
        ('"digest"', '"digger"'),
        ("}", ""),
    ],
)
def test_a_broken_file_is_named(tmp_path, old, new):
    """What cannot be a release is no release, and its file is told; the others stand."""
    kept, told = Releases(tmp_path), []
    kept.save(OLD)
    kept.save(NEW)
    path = kept.path("2.8.0")
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")
    assert kept.load_all(lambda path, why: told.append((path, why))) == [NEW]
    [(where, why)] = told
    assert where == f"{path}:1"
    assert why.startswith("no record of a release: ")


def test_spans():
    """Neighbours that did the same are one."""
    found = [(str(span), span.result.word) for span in spans(ERROR, [OLD, NEW, NEWEST])]
    assert found == [("2.8.0", "error"), ("2.10.0 to 2.13.0", "holds")]


def test_a_change_is_the_first_example_that_prints_otherwise():
    """With what each release printed; where nothing changed there is none."""
    [change] = changed([ERROR], OLD, NEW)
    assert (change.source, change.kind, change.after) == (LINE, "error text", WANT)
    assert "other sizes" in change.before
    assert [*changed([ERROR], NEW, NEWEST)] == []


def test_a_change_to_or_from_a_crash():
    """Is at the example that was not reached."""
    late = release("2.13.0", ran(Outcome.TIMED_OUT, "", message="too late"))
    pairs = {"death": (NEW, DEAD), "another death": (DEAD, late), "rise": (DEAD, NEW)}
    found = {name: [*changed([ERROR], *pair)] for name, pair in pairs.items()}
    told = {name: (c.source, c.before, c.after, c.kind) for name, [c] in found.items()}
    assert told == {
        "death": (LINE, WANT, "(not reached)", "crashed"),
        "another death": (LINE, "(not reached)", "(not reached)", "timed-out"),
        "rise": (LINE, "(not reached)", WANT, "crashed"),
    }


@pytest.mark.parametrize("order", [1, -1])
def test_what_a_page_leaves_open_is_no_change(order):
    """Of two examples, the one whose text has `...` for what came there did not change."""
    open_ = claim("opens", ">>> id(torch)\n...7...\n>>> 1 + 1\n2")
    failed = Run("opens", Lane.CPU, Outcome.FAILED, ("174", "3"))
    passed = Run("opens", Lane.CPU, Outcome.PASSED)
    made = [release(str(n), run, of=open_) for n, run in enumerate([failed, passed])]
    [change] = changed([open_], *made[::order])
    assert (change.source, {change.before, change.after}) == ("1 + 1\n", {"2", "3"})


def test_a_claim_that_was_edited_since_was_not_run():
    """Its result is another claim's."""
    edited = replace(ERROR, fences=ERROR.fences[:0])
    assert (spans(edited, [OLD, NEW]), [*changed([edited], OLD, NEW)]) == ([], [])


def test_a_report_is_opened_first(book):
    """Where it cannot be written, that is said before anything is run."""
    Releases.of(book.docs).save(NEW)
    done = CliRunner().invoke(main, ["release", "--report", "no/flips.md"])
    assert done.exit_code == 2
    assert "'no/flips.md': No such file or directory" in done.output
    assert " on cpu in " not in done.output


def test_a_report_says_what_flipped(book, monkeypatch):
    """Each claim that prints something else on one of two releases, with its place and both."""
    book.write("docs/raises.md", "# R\n\n" + claim_text(ERROR.id, _session(ERROR)))
    Releases.of(book.docs).save(NEW)
    monkeypatch.setattr("claimbook.cli.records._run", lambda *_: replace(OLD, name="2.12.0"))
    for _ in range(2):  # two sessions write into one report
        done = CliRunner().invoke(main, ["release", "--report", "flips.md"])
        assert done.exit_code == 0, done.output
    once = (book.root / "flips.md").read_text("utf-8").split("## torch 2.12.0, compared")[1:]
    assert len(once) == 2
    assert "- `it-raises` (docs/raises.md:3): holds → error\n" in once[0]
    assert "+ RuntimeError: other sizes" in once[0]
    assert f"  >>> {LINE}" in once[0]


def test_a_report_compares_with_what_is_recorded(book):
    """Without any record it says so, before anything is run."""
    done = CliRunner().invoke(main, ["release", "--report", "flips.md"])
    assert (done.exit_code, "no release is on record" in done.output) == (2, True)


def test_a_broken_release_is_a_warning(tmp_path):
    """The build names the file, and goes on with the other releases."""
    book = TinyBook(tmp_path)
    Releases.of(book.docs).save(NEW)
    book.write("docs/records/releases/2.8.0.json", "{")
    done = book.sphinx()
    assert done.stderr.count("[claim.broken-record]") == 1
    assert "2.8.0.json:1: WARNING: " in done.stderr
    assert (book.site / "index.html").exists()


def _session(claim):
    lines = [f">>> {e.source}{e.want}".rstrip() for e in claim.examples(Lane.CPU)]
    return "\n".join(lines)


def test_pages_say_where_claims_hold(tmp_path):
    """The badge, what another release prints, the timeline, and the data say the same."""
    pages = {
        **PAGES,
        "index": PAGES["index"].replace("ledger\n", "ledger\ntimeline\nraises\n"),
        "raises": "# R\n\n" + claim_text(ERROR.id, _session(ERROR), ":lanes: cuda\n"),
        "timeline": "# T\n\n```{timeline}\n```\n",
    }
    book = TinyBook(tmp_path, pages)
    kept = Releases.of(book.docs)
    kept.save(OLD)
    kept.save(NEW)
    done = book.sphinx()
    assert "none of this page's claims ran" in done.stderr, done.stderr
    page = book.page("raises")
    badges = " ".join(page.select_one(".claim-badges").get_text().split())
    assert "torch other output on 2.8.0 · as shown on 2.10.0" in badges
    fold = page.select_one("details.claim-fold")
    assert fold.summary.get_text() == "On torch 2.8.0"
    assert "RuntimeError: other sizes␛[0m" in fold.get_text()  # HTML forbids the character itself
    assert "other sizes" not in (book.site / "raises.ipynb").read_text("utf-8")
    timeline = book.page("timeline")
    step = timeline.select_one("#torch-2-10-0, [id='torch-2.10.0']")
    assert "From 2.8.0 to 2.10.0" in step.get_text()
    assert "Errors worded differently (1)" in step.get_text()
    data = json.loads((book.site / "claims.json").read_text("utf-8"))
    by_id = {item["id"]: item["releases"] for item in data["claims"]}
    assert by_id == {
        **{key: {} for key in by_id},
        ERROR.id: {"2.8.0": "error", "2.10.0": "holds"},
    }
    assert set(by_id) > {"sum-adds"}


def test_a_title_says_which_release_raises():
    """The page may show what the older release prints, or what the newer one does."""
    quiet = release("2.9.0", ran(Outcome.FAILED, "", ""))
    [risen] = changed([ERROR], quiet, NEW)
    [gone] = changed([ERROR], NEW, quiet)
    assert (risen.kind, gone.kind) == ("no error was raised", "no error was raised")
    assert (title_of(risen), title_of(gone)) == ("New errors", "Errors no longer raised")
    [death] = changed([ERROR], NEW, DEAD)
    assert title_of(death) == "Crashed"


def test_the_timeline_counts_no_claim_that_was_edited_since(tmp_path):
    """Also one that did the same on all releases: the page is written anew."""
    one = claim_text("it-adds", ">>> 1 + 1\n2")
    pages = {"index": f"# I\n\n{one}\n```{{toctree}}\nt\n```\n", "t": "# T\n\n```{timeline}\n```\n"}
    book = TinyBook(tmp_path, pages)
    [ours] = Book.load(book.root).claims
    passed = Run(ours.id, Lane.CPU, Outcome.PASSED)
    Releases.of(book.docs).save(release("2.8.0", passed, of=ours))

    def counted():
        assert book.sphinx().returncode == 0
        page = book.page("t")
        return [cell.get_text(strip=True) for cell in page.select("tbody td")]

    assert counted() == ["2.8.0", "1", "1", ""]
    book.replace("docs/index.md", "1 + 1", "0 + 2")
    assert counted() == ["2.8.0", "0", "0", ""]


def test_a_card_follows_what_another_release_printed(tmp_path):
    """Also where that differs from the page as it did before: it is written anew."""
    book = TinyBook(tmp_path, {"index": "# I\n\n" + claim_text("it-adds", ">>> 1 + 1\n2")})
    [ours] = Book.load(book.root).claims

    def shown(printed):
        failed = Run(ours.id, Lane.CPU, Outcome.FAILED, (printed,))
        Releases.of(book.docs).save(release("2.8.0", failed, of=ours))
        assert book.sphinx().returncode == 0
        return book.page("index").select_one(".claim-fold .differs pre").get_text()

    assert [shown(printed) for printed in "34"] == ["3\n", "4\n"]
