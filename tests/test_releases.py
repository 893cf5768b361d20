"""Other releases of torch: what is kept of a run there, what is shown, and how a flip is found."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from claimbook.cli import main
from claimbook.engine import environment
from claimbook.matrix import run as matrix
from claimbook.matrix.bisect import flip
from claimbook.matrix.install import InstallError, installed
from claimbook.matrix.run import run_book
from claimbook.model import Lane, Outcome, Provenance, Run
from claimbook.pages.book import Book
from claimbook.records.release_history import changed, spans
from claimbook.records.releases import Release, Releases, flipped, result_of
from claimbook.records.store import RecordError
from helpers import CONF, PAGES, TinyBook, claim, claim_text, is_soon, processes

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


def release(version, run):
    """A release on which `ERROR` did that."""
    here = environment.describe(Lane.CPU)
    return Release(
        version, here, {ERROR.id: result_of(ERROR, run)}, Provenance("2026-01-02", None, None)
    )


OLD = release(
    "2.8.0",
    ran(Outcome.FAILED, "", "Traceback (most recent call last):\nRuntimeError: other sizes\x1b[0m"),
)
NEW = release("2.10.0", ran())
DEAD = release("2.12.0", ran(Outcome.CRASHED, "", message="it died"))


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A small book, and the current folder in it."""
    book = TinyBook(tmp_path)
    monkeypatch.chdir(tmp_path)
    return book


def test_a_release_is_what_another_python_ran(book):
    """The claims run there; what does not hold is kept with its outputs, and how grave it is."""
    book.write("docs/wrong.md", f"# Wrong\n\n{WRONG}\n{GONE}")
    found = Book.load(book.root)
    release = run_book(found, Path(sys.executable), found.claims)
    words = {name: result.word for name, result in release.results.items()}
    assert release.version == TORCH
    assert words == {
        **dict.fromkeys(("sum-adds", "prod-multiplies", "script-is-text"), "holds"),
        "ones-have-a-shape": "holds",
        "two-is-three": "value",
        "it-exits": "crashed",
    }
    assert release.results["two-is-three"].outputs == ("tensor(2.)",)
    assert "the process exited with status 3" in release.results["it-exits"].message


def test_where_a_release_was_installed_is_not_kept(book):
    """The folder is gone by then, and has another name the next time."""
    book.write("docs/file.md", f"# File\n\n{FILE}")
    found = Book.load(book.root)
    release = run_book(found, Path(sys.executable), found.claims)
    (said,) = release.results["torch-has-a-file"].outputs
    assert not Path(said).is_absolute()
    assert Path(sys.executable).parents[1].joinpath(said).is_file()


def test_what_was_skipped_is_no_result(book, monkeypatch):
    """A claim of another build of torch says nothing of the release."""
    skipped = Run("sum-adds", Lane.CPU, Outcome.SKIPPED, message="of another build")
    monkeypatch.setattr("claimbook.matrix.run._run", lambda *_: {"sum-adds": skipped})
    found = Book.load(book.root)
    assert run_book(found, Path(sys.executable), found.claims).results == {}


def test_only_what_changed_is_run(book, monkeypatch):
    """With what is known, an edited claim is run; the others keep what they did, at any cost."""
    found, names = Book.load(book.root), []
    before = run_book(found, Path(sys.executable), found.claims)
    run = matrix._run
    monkeypatch.setattr(matrix, "_run", lambda *told: names.append(told[2]) or run(*told))
    edited = [replace(c, fences=ERROR.fences) if c.id == "sum-adds" else c for c in found.claims]
    after = run_book(found, Path(sys.executable), edited, before)
    assert names == [["sum-adds"]]
    assert before.results.items() - after.results.items() == {
        ("sum-adds", before.results["sum-adds"])
    }
    assert after.results.keys() == before.results.keys()
    run_book(found, Path(sys.executable), found.claims, before)
    assert len(names) == 1
    elsewhere = replace(before, environment=replace(before.environment, device="another"))
    run_book(found, Path(sys.executable), found.claims, elsewhere)
    assert sorted(names[1]) == sorted(before.results)


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
    with pytest.raises(RecordError):
        kept.load("2.8.0")


def test_spans_and_changes():
    """Neighbours that did the same are one; a change is the first example that prints otherwise."""
    newest = replace(NEW, version="2.13.0")
    found = [(str(span), span.result.word) for span in spans(ERROR, [OLD, NEW, newest])]
    assert found == [("2.8.0", "error"), ("2.10.0 to 2.13.0", "holds")]
    [change] = changed([ERROR], OLD, NEW)
    assert (change.example.source, change.kind) == ("torch.ones(2) @ torch.ones(3)\n", "error text")
    assert ("other sizes" in change.before, change.after) == (
        True,
        ERROR.examples(Lane.CPU)[1].want,
    )
    assert [*changed([ERROR], NEW, newest)] == []
    [death] = changed([ERROR], NEW, DEAD)
    assert (death.after, death.kind) == ("(not reached)", "crashed")
    assert (death.before, death.example.source) == (
        ERROR.examples(Lane.CPU)[1].want,
        "torch.ones(2) @ torch.ones(3)\n",
    )
    late = release("2.13.0", ran(Outcome.TIMED_OUT, "", message="too late"))
    [other_death] = changed([ERROR], DEAD, late)
    assert (other_death.example, other_death.kind) == (death.example, "timed-out")
    [rise] = changed([ERROR], DEAD, NEW)
    assert (rise.before, rise.after) == (death.after, death.before)
    assert (flipped([ERROR], OLD, NEW), flipped([ERROR], NEW, newest)) == ([ERROR], [])


@pytest.mark.parametrize("order", [1, -1])
def test_what_a_page_leaves_open_is_no_change(order):
    """Of two examples, the one whose text has `...` for what came there did not change."""
    open_ = claim("opens", ">>> id(torch)\n...7...\n>>> 1 + 1\n2")
    here = environment.describe(Lane.CPU)
    runs = (
        Run("opens", Lane.CPU, Outcome.FAILED, ("174", "3")),
        Run("opens", Lane.CPU, Outcome.PASSED),
    )
    made = [
        Release(
            str(n), here, {"opens": result_of(open_, run)}, Provenance("2026-01-02", None, None)
        )
        for n, run in enumerate(runs)
    ]
    [change] = changed([open_], *made[::order])
    assert (change.example.source, {change.before, change.after}) == ("1 + 1\n", {"2", "3"})


def test_a_claim_that_was_edited_since_was_not_run():
    """Its result is another claim's."""
    edited = replace(ERROR, fences=ERROR.fences[:0])
    assert (spans(edited, [OLD, NEW]), [*changed([edited], OLD, NEW)]) == ([], [])


@given(st.integers(2, 40), st.data())
def test_flip_is_found_in_few_steps(count, data):
    """Whatever cannot be had, the two neighbours differ, and few were asked."""
    versions = list(range(count))
    first_bad = data.draw(st.integers(1, count - 1))
    away = data.draw(st.sets(st.sampled_from(versions[1:-1] or [None])))
    asked = []

    def ask(version):
        asked.append(version)
        return None if version in away else version < first_bad

    left = [version for version in versions if version not in away]
    place = next(i for i, version in enumerate(left) if version >= first_bad)
    assert flip(versions, ask) == (left[place - 1], left[place])
    assert len(asked) <= 2 + count.bit_length() + len(away)


def test_no_flip_between_two_of_a_kind():
    """It says so, and does not search."""
    with pytest.raises(ValueError, match="nothing to find between"):
        flip("ab", lambda version: True)


def test_a_release_that_cannot_be_installed_is_told(book, monkeypatch):
    """The others go on, and the status is 1."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(book.root))
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    with (
        pytest.raises(InstallError, match=r"No matching distribution found for torch==0\.0\.1"),
        installed("0.0.1"),
    ):
        pass
    done = CliRunner().invoke(main, ["matrix", "0.0.1", "0.0.2"])
    assert done.exit_code == 1
    for version in ("0.0.1", "0.0.2"):
        assert (
            f"torch {version}: No matching distribution found for torch=={version}" in done.output
        )


PIP = """\
import os, subprocess, sys, time
from pathlib import Path

if "index" in sys.argv:
    print("Available versions: 0.0.3, 0.0.2, 0.0.1")
elif "again" not in sys.argv:  # as pip does for --python
    subprocess.run([sys.executable, __file__, "again", *sys.argv])
else:
    folder = Path(sys.argv[sys.argv.index("--python") + 1]).parent
    for _ in range(10_000):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "torch").touch()
        Path("started").touch()
        time.sleep(0.01)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "command", [["matrix", "0.0.1"], ["bisect", "sum-adds", "--good", "0.0.1", "--bad", "0.0.3"]]
)
def test_stopping_leaves_nothing(book, command, number):
    """Whatever signal ends it, and it alone, nothing runs on and no file stays."""
    book.write("stub/pip/__init__.py", "")
    book.write("stub/pip/__main__.py", PIP)
    temporary = book.root / "temporary"
    temporary.mkdir()
    paths = os.pathsep.join([str(book.root / "stub"), *sys.path])
    with subprocess.Popen(
        [sys.executable, "-m", "claimbook", *command],
        cwd=book.root,
        env={**os.environ, "PYTHONPATH": paths, "TMPDIR": str(temporary)},
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert is_soon((book.root / "started").exists)
        running.send_signal(number)
        said = running.communicate()[1]
    assert (running.returncode, said.endswith("claimbook: stopped\n")) == (130, True)
    assert not processes("pip", temporary=temporary)
    assert list(temporary.iterdir()) == []


def test_a_report_is_opened_first(book):
    """Where it cannot be written, that is said before anything is installed."""
    Releases(book.docs / "records/releases").save(NEW)
    done = CliRunner().invoke(main, ["matrix", "--report", "no/flips.md", "0.0.1"])
    assert done.exit_code == 2
    assert "'no/flips.md': No such file or directory" in done.output
    assert "installing" not in done.output


def test_a_report_says_what_flipped(book, monkeypatch):
    """Each claim that holds on one of two releases, with its place and what it prints now."""
    book.write("docs/raises.md", "# R\n\n" + claim_text(ERROR.id, _session(ERROR)))
    Releases(book.docs / "records/releases").save(NEW)
    monkeypatch.setattr("claimbook.cli.releases._run", lambda *_: replace(OLD, version="2.12.0"))
    done = CliRunner().invoke(main, ["matrix", "--report", "flips.md", "2.12.0", "2.12.0"])
    assert done.exit_code == 0, done.output
    once = (book.root / "flips.md").read_text("utf-8").split("## torch 2.12.0, compared")[1:]
    assert len(once) == 2
    assert "- `it-raises` (docs/raises.md:3): holds → error\n" in once[0]
    assert "+ RuntimeError: other sizes" in once[0]


def test_a_report_compares_with_what_is_recorded(book):
    """Without any record it says so, before anything is installed."""
    done = CliRunner().invoke(main, ["matrix", "--report", "flips.md", "0.0.1"])
    assert (done.exit_code, "no release is on record" in done.output) == (2, True)


def test_a_matrix_of_nothing(book):
    """Where no release is named at all, that is said; it is no success."""
    done = CliRunner().invoke(main, ["matrix"])
    assert (done.exit_code, "no release is named" in done.output) == (2, True)


def test_a_broken_release_is_a_warning(tmp_path):
    """The build names the file, and goes on with the other releases."""
    book = TinyBook(tmp_path)
    Releases(book.docs / "records/releases").save(NEW)
    book.write("docs/records/releases/2.8.0.json", "{")
    done = book.sphinx()
    assert done.stderr.count("[claim.broken-record]") == 1
    assert "2.8.0.json:1: WARNING: " in done.stderr
    assert (book.site / "index.html").exists()


def test_bisect_uses_what_is_recorded(book, monkeypatch):
    """Where neighbours of the records differ and nothing lies between, nothing is installed."""
    book.write("docs/raises.md", "# R\n\n" + claim_text(ERROR.id, _session(ERROR)))
    [ours] = Book.load(book.root).select([ERROR.id])
    assert ours.digest(Lane.CPU) == ERROR.digest(Lane.CPU)
    kept = Releases(book.docs / "records/releases")
    kept.save(OLD)
    kept.save(NEW)
    monkeypatch.setattr("claimbook.cli.releases.available", lambda: ["2.8.0", "2.10.0"])
    done = CliRunner().invoke(main, ["bisect", ERROR.id])
    assert done.exit_code == 0, done.output
    assert "torch 2.8.0: error\ntorch 2.10.0: holds\n" in done.output
    assert "it-raises began to hold with torch 2.10.0. On 2.8.0:" in done.output
    assert "+ RuntimeError: other sizes" in done.output
    done = CliRunner().invoke(main, ["bisect", "sum-adds"])
    assert (done.exit_code, "--good and --bad" in done.output) == (2, True)
    done = CliRunner().invoke(main, ["bisect", "docs"])
    assert (done.exit_code, "claims stand there; name one of them" in done.output) == (2, True)


def test_bisect_without_an_index(book, monkeypatch):
    """Where pip cannot ask, that is said in a line."""

    def unavailable():
        raise InstallError("no network")

    monkeypatch.setattr("claimbook.cli.releases.available", unavailable)
    done = CliRunner().invoke(main, ["bisect", "sum-adds", "--good", "0.0.1", "--bad", "0.0.2"])
    assert (done.exit_code, done.output) == (2, "claimbook: no network\n")


def test_bisect_of_what_does_not_run_there(book, monkeypatch):
    """A claim of another lane is asked of no release, and one end alone is a mistake."""
    book.write("docs/raises.md", "# R\n\n" + claim_text("gpu", ">>> 1\n1", ":lanes: cuda\n"))
    monkeypatch.setattr("claimbook.cli.releases.available", lambda: ["2.8.0", "2.10.0"])
    monkeypatch.setattr("claimbook.cli.releases._run", lambda *_: replace(OLD, results={}))
    done = CliRunner().invoke(main, ["bisect", "gpu", "--good", "2.8.0", "--bad", "2.10.0"])
    assert done.exit_code == 2, done.exception
    assert "torch 2.8.0 is left out: gpu does not run there" in done.output
    assert CliRunner().invoke(main, ["bisect", "gpu", "--good", "2.8.0"]).exit_code == 2


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
    conf = CONF.replace('"claimbook.sphinx"', '"claimbook.sphinx", "claimbook.sphinx.page_outputs"')
    book = TinyBook(tmp_path, pages, conf=conf)
    kept = Releases(book.docs / "records/releases")
    kept.save(OLD)
    kept.save(NEW)
    done = book.sphinx()
    assert "none of this page's claims ran" in done.stderr, done.stderr
    page = book.page("raises")
    badges = page.select_one(".claim-badges").get_text()
    assert "torch differs (error) on 2.8.0 · holds on 2.10.0" in badges
    fold = page.select_one("details.claim-fold")
    assert fold.summary.get_text() == "On torch 2.8.0"
    assert "RuntimeError: other sizes␛[0m" in fold.get_text()  # HTML forbids the character itself
    assert "other sizes" not in (book.site / "raises.ipynb").read_text("utf-8")
    timeline = book.page("timeline")
    step = timeline.select_one("#torch-2-10-0, [id='torch-2.10.0']")
    assert "From 2.8.0 to 2.10.0" in step.get_text()
    assert "error text (1)" in step.get_text()
    data = json.loads((book.site / "claims.json").read_text("utf-8"))
    by_id = {item["id"]: item["releases"] for item in data["claims"]}
    assert by_id == {
        **{key: {} for key in by_id},
        ERROR.id: {"2.8.0": "error", "2.10.0": "holds"},
    }
    assert set(by_id) > {"sum-adds"}


def test_the_timeline_counts_no_claim_that_was_edited_since(tmp_path):
    """Also one that did the same on all releases: the page is written anew."""
    one = claim_text("it-adds", ">>> 1 + 1\n2")
    pages = {"index": f"# I\n\n{one}\n```{{toctree}}\nt\n```\n", "t": "# T\n\n```{timeline}\n```\n"}
    book = TinyBook(tmp_path, pages)
    [ours], here = Book.load(book.root).claims, environment.describe(Lane.CPU)
    passed = result_of(ours, Run(ours.id, Lane.CPU, Outcome.PASSED))
    date = Provenance("2026-01-02", None, None)
    Releases(book.docs / "records/releases").save(Release("2.8.0", here, {ours.id: passed}, date))

    def counted():
        assert book.sphinx().returncode == 0
        page = book.page("t")
        return [cell.get_text(strip=True) for cell in page.select("tbody td")]

    assert counted() == ["2.8.0", "1", "1", ""]
    book.replace("docs/index.md", "1 + 1", "0 + 2")
    assert counted() == ["2.8.0", "0", "0", ""]


@pytest.mark.parametrize("version", ["nightly", "latest", "2", "v2.8.0"])
def test_bisect_wants_releases(book, version):
    """What is no release would be sorted before all of them."""
    done = CliRunner().invoke(main, ["bisect", "sum-adds", "--good", "2.8.0", "--bad", version])
    assert done.exit_code == 2
    assert f"{version} is no release; name one, such as 2.13.0, or newest" in done.output
