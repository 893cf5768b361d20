"""The store of records: what is kept, what is refused, and what a reader is told."""

import json
import os
import shutil
from dataclasses import asdict, replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimbook.engine import environment
from claimbook.files import write_atomically, write_changed
from claimbook.model import (
    Environment,
    Factor,
    Lane,
    Location,
    Measurement,
    Outcome,
    Provenance,
    Record,
    Run,
    Status,
)
from claimbook.mutation.falsify import Falsified, Results
from claimbook.pages.book import Book
from claimbook.records.book_runs import result_of
from claimbook.records.runs import Records, record_of, shown, status
from helpers import TinyBook, claim, git, signed

CLAIM = claim("sums", ">>> 1\n1")
HERE = Environment("2.13.0+cpu", "3.11.7", "Linux x86_64", "CPU")
RECORD = Record(
    "sums",
    Lane.CPU,
    Outcome.PASSED,
    ("1", "é\n\x1b[0m\u2028"),
    0.25,
    measurements=(Measurement("ratio", 1.5, "times"),),
    digest=CLAIM.digest(Lane.CPU),
    environment=HERE,
    recorded=Provenance("2026-01-02", "abc", clean=True),
)


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_provenance_is_what_git_says(tmp_path, monkeypatch):
    """The commit, and whether a tracked file changed since; neither where there is no history."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    found = environment.provenance(tmp_path)
    assert (found.commit, found.clean) == (None, None)
    (tmp_path / "page.md").write_text("one")
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "one")
    (tmp_path / "untracked.md").write_text("")
    found = environment.provenance(tmp_path)
    assert (len(found.commit or ""), found.clean) == (12, True)
    (tmp_path / "page.md").write_text("two")
    assert environment.provenance(tmp_path) == replace(found, clean=False)


@pytest.mark.parametrize(
    ("printed", "kept"),
    [
        (f'File "{os.__file__}", line 2', 'File "os.py", line 2'),
        (f'File "{environment.__file__}"', 'File "claimbook/engine/environment.py"'),
        (pytest.__file__, "pytest/__init__.py"),
        ('File "/root/a/Python-3.11.7/Objects/call.c"', 'File "Python-3.11.7/Objects/call.c"'),
        ("/tmp/claims-ub_abgcb/tmpe42jq87m/guard.py", "guard.py"),
        ("/var/t/claims-ub_abgcb/torchinductor_me/c.py", "torchinductor_me/c.py"),
        ("in=/tmp/claims-ub_abgcb/tmpe42jq87m/a:/b", "in=a:/b"),
        ("/usr/local/cuda/bin/nvcc, /data/x", "/usr/local/cuda/bin/nvcc, /data/x"),
        ("/" * 100_000, "/" * 100_000),
        (":/" * 50_000, ":/" * 50_000),
    ],
)
def test_no_folder_of_the_machine_is_kept(printed, kept):
    """Tracebacks name files of packages, of Python where it was compiled, and of the run itself."""
    run = Run("sums", Lane.CPU, Outcome.CRASHED, (printed,), message=f"it died: {printed}")
    for saved in (record_of(CLAIM, run, HERE, RECORD.recorded), result_of(CLAIM, run)):
        assert (saved.outputs, saved.message) == ((kept,), f"it died: {kept}")


@pytest.fixture
def store(tmp_path):
    """An empty store of the cpu lane."""
    return Records(tmp_path, Lane.CPU, pytest.fail)


@pytest.fixture
def path(store):
    """The file of a record that was saved."""
    assert store.save(CLAIM, RECORD)
    return store.path(CLAIM)


def test_round_trip(store, path):
    """A record is read as it was saved, under the path of its page."""
    loaded = store.load(CLAIM)
    assert loaded == RECORD
    assert loaded.recorded == RECORD.recorded
    assert path == store.folder / "page.jsonl"
    assert store.folder.name == "cpu"


def test_form_of_the_file(store, path):
    """A line a claim, in order of their ids; above them what they share, once."""
    first = claim("a-first", ">>> 2\n2")
    store.save(first, replace(RECORD, claim="a-first", outputs=("2",)))
    common, *lines = map(json.loads, path.read_text("utf-8").rstrip("\n").split("\n"))
    assert common["environment"] == asdict(RECORD.environment)
    assert common["recorded"] == asdict(RECORD.recorded)
    assert [line["claim"] for line in lines] == ["a-first", "sums"]
    assert {line["common"] for line in lines} == {common["common"]}


def test_other_lines_of_a_page_stay(store, path):
    """To write one claim anew changes no byte of another: a whole number stays one."""
    whole = replace(RECORD, measurements=(Measurement("freed", 16, "bytes"),))
    store.save(CLAIM, replace(whole, outputs=("2",)))
    line = path.read_text("utf-8").splitlines()[-1]
    other = claim("another", ">>> 2\n2")
    Records(store.folder.parent, Lane.CPU, pytest.fail).save(other, replace(RECORD, claim=other.id))
    assert line in path.read_text("utf-8").splitlines()


def test_another_environment_changes_one_line_of_a_page(tmp_path):
    """A new driver is no reason for every record of a lane to change."""
    claims = [claim(f"claim-{n}", ">>> 1\n1") for n in range(20)]
    texts = []
    for driver in ("one", "two"):
        store = Records(tmp_path, Lane.CUDA, pytest.fail)
        where = replace(RECORD.environment, driver=driver)
        for each in claims:
            here = replace(RECORD, claim=each.id, lane=Lane.CUDA, environment=where)
            store.save(each, here)
        texts.append(store.path(claims[0]).read_text("utf-8").rstrip("\n").split("\n"))
    changed_lines = [pair for pair in zip(*texts, strict=True) if len({*pair}) == 2]
    assert len(changed_lines) == 1
    assert all("driver" in line for line in changed_lines[0])


def test_records_of_two_environments_stand_on_one_page(tmp_path):
    """Each says in which it was made."""
    store = Records(tmp_path, Lane.CPU, pytest.fail)
    here, there = (claim(name, ">>> 1\n1") for name in ("here", "there"))
    other = replace(RECORD.environment, device="Another")
    store.save(here, replace(RECORD, claim="here"))
    store.save(there, replace(RECORD, claim="there", environment=other))
    found = Records(tmp_path, Lane.CPU, pytest.fail)
    devices = [found.load(each).environment.device for each in (here, there)]
    assert devices == ["CPU", "Another"]


def test_nothing_there(store):
    """A claim without a record has none; that is no error."""
    assert store.load(CLAIM) is None


@pytest.mark.parametrize(
    "other",
    [
        replace(RECORD, seconds=9.0, measurements=()),
        replace(RECORD, recorded=Provenance("2026-01-15", "def", clean=False)),
    ],
    ids=["time", "provenance"],
)
def test_the_same_is_not_written_again(store, path, other):
    """A run that says the same of the same code leaves the file alone, byte for byte."""
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert not store.save(CLAIM, other)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before


def test_a_record_does_not_age_while_its_lane_runs(store, path):
    """In a lane that runs every night no record gets older than two weeks, changed or not."""
    nights = [date(2026, 1, 2) + timedelta(days) for days in range(40)]
    ages = []
    for night in nights:
        store.save(CLAIM, replace(RECORD, recorded=Provenance(night.isoformat(), None, None)))
        ages.append((night - date.fromisoformat(store.load(CLAIM).recorded.date)).days)
    assert (max(ages), ages.count(0)) == (13, 3)


@pytest.mark.parametrize(
    "other",
    [
        replace(RECORD, outputs=("2",)),
        replace(RECORD, outcome=Outcome.FAILED),
        replace(RECORD, message="why"),
        replace(RECORD, digest="0"),
        replace(RECORD, environment=replace(RECORD.environment, torch="2.14.0")),
    ],
    ids=["outputs", "outcome", "message", "digest", "environment"],
)
def test_what_differs_is_written_whole(store, path, other):
    """A run that says something else replaces the record, its date and times included."""
    new = replace(other, recorded=Provenance("2026-03-04", None, None))
    assert store.save(CLAIM, new)
    assert store.load(CLAIM) == new
    assert store.load(CLAIM).recorded.date == "2026-03-04"


def refused(store) -> str:
    """What is said of the one broken line; the claim has no record then."""
    told = []
    read = Records(store.folder.parent, Lane.CPU, lambda *what: told.append(what))
    assert read.load(CLAIM) is None
    return ": ".join(told[0])


WRONG = {
    "schema": ({"schema": 2}, "not a record: it is not an object of schema 1"),
    "no such outcome": (
        {"outcome": "fine"},
        "not a record: Invalid enum value 'fine' - at `$.outcome`",
    ),
    "seconds": ({"seconds": "1"}, "not a record: Expected `float`, got `str` - at `$.seconds`"),
    "endless seconds": (
        {"seconds": 10**400},
        "not a record: Number out of range - at `$.seconds`",
    ),
    "outputs": ({"outputs": "1"}, "not a record: Expected `array`, got `str` - at `$.outputs`"),
    "an output": ({"outputs": [1]}, "not a record: Expected `str`, got `int` - at `$.outputs[0]`"),
    "a measurement": (
        {"measurements": [{"name": "x", "value": 1}]},
        "not a record: Object missing required field `unit` - at `$.measurements[0]`",
    ),
    "a measurement's value": (
        {"measurements": [{"name": "x", "value": "1", "unit": ""}]},
        "not a record: Expected `int | float`, got `str` - at `$.measurements[0].value`",
    ),
    "a list": (
        {"common": []},
        "not a record: it refers to shared line [], which is missing or broken",
    ),
    "a list as its claim": (
        {"claim": []},
        "not a record: Expected `str`, got `array` - at `$.claim`",
    ),
    "what is shared": (
        {"common": 7},
        "not a record: it refers to shared line 7, which is missing or broken",
    ),
}


def rewritten(path, number, change):
    """Changes the fields of a line, with the checksum that is right for these."""
    lines = path.read_text("utf-8").rstrip("\n").split("\n")
    data = json.loads(lines[number - 1])
    del data["checksum"]
    ran_on = (HERE.torch, HERE.device) if "claim" in data else (None, None)
    lines[number - 1] = signed({**data, **change}, ran_on)
    path.write_text("\n".join(lines) + "\n", "utf-8")


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_field_is_named(store, path, change, said):
    """A line whose fields are not a record's is refused, by file and line and with the reason."""
    rewritten(path, 2, change)
    assert refused(store) == f"{path}:2: {said}"


def test_a_wrong_environment_is_named(store, path):
    """Where it is used: no line says of itself what it is shared for."""
    rewritten(path, 1, {"environment": {"torch": HERE.torch, "device": HERE.device}})
    said = "not a record: Object missing required field `python` - at `$.environment`"
    assert refused(store) == f"{path}:2: {said}"


def test_a_broken_line_costs_one_claim_its_record(store, path):
    """Those above and below it stand."""
    others = [claim(name, ">>> 1\n1") for name in ("above", "tail")]
    for each in others:
        store.save(each, replace(RECORD, claim=each.id))
    text = path.read_text("utf-8")
    path.write_text(text.replace('"claim": "sums"', '"claim": sums'), "utf-8")
    assert refused(store).startswith(f"{path}:3: not a record: ")
    read = Records(store.folder.parent, Lane.CPU, print)
    assert all(read.load(each) for each in others)


@pytest.mark.parametrize("old", ['"1"', "passed", "CPU", "2026-01-02", "2.13.0", "0.25"])
def test_what_was_changed_by_hand_is_named(store, path, old):
    """Whatever a hand changes of what a record tells, it is a record no more."""
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, old[:-1] + ("7" if old[-1].isdigit() else "X" + old[-1])))
    assert "not a record: its checksum is wrong after an edit or a merge; run it again" in refused(
        store
    )


@pytest.mark.parametrize("content", [b"[]", b"null", b"\xff", b"{" * 100_000, b"[" * 100_000])
def test_what_is_no_json_object_is_named(store, path, content):
    """Whatever bytes stand in the file, they are refused and named."""
    path.write_bytes(content)
    assert refused(store).startswith(f"{path}:1: not a record: ")


def test_cut_anywhere(store, path):
    """A file cut at any byte holds the record whole or not at all."""
    whole = path.read_bytes()
    for length in range(len(whole) - 1):
        path.write_bytes(whole[:length])
        assert Records(store.folder.parent, Lane.CPU, print).load(CLAIM) is None


@given(st.data())
def test_a_byte_changed(tmp_path_factory, data):
    """A file with one other byte is read or refused, and nothing else happens."""
    folder = tmp_path_factory.getbasetemp() / "bytes"
    store = Records(folder, Lane.CPU, pytest.fail)
    store.save(CLAIM, RECORD)
    path = store.path(CLAIM)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    told = []
    read = Records(folder, Lane.CPU, lambda place, _: told.append(place))
    assert read.load(CLAIM) in (None, RECORD)
    assert all(place.startswith(f"{path}:") for place in told)
    path.unlink()


def test_too_large(store, path, monkeypatch):
    """A file beyond the limit is not even read."""
    monkeypatch.setattr("claimbook.records.reading.SIZE_LIMIT", 100)
    assert refused(store) == f"{path}:1: not a record: over 100 bytes; no record is that long"


def test_a_folder_in_the_place_of_a_file(store):
    """What cannot be read is named too."""
    store.path(CLAIM).mkdir(parents=True)
    assert refused(store).startswith(f"{store.path(CLAIM)}:1: not a record: ")


def test_a_broken_record_is_replaced(store, path):
    """Saving over a line that is no record makes it one."""
    path.write_text("{")
    again = Records(store.folder.parent, Lane.CPU, print)
    assert again.save(CLAIM, RECORD)
    assert Records(store.folder.parent, Lane.CPU, pytest.fail).load(CLAIM) == RECORD


FAILED = replace(RECORD, outcome=Outcome.FAILED)
VARIED = replace(RECORD, outcome=Outcome.VARIED)


@pytest.mark.parametrize(
    ("record", "torch", "told"),
    [
        (None, "2.13.0", Status.MISSING),
        (replace(RECORD, outcome=Outcome.SKIPPED), "2.13.0", Status.MISSING),
        (RECORD, "2.13.0", Status.CURRENT),
        (RECORD, "2.13.0+cu130", Status.CURRENT),
        (RECORD, "2.14.0", Status.STALE),
        (replace(RECORD, digest="0"), "2.13.0", Status.STALE),
        (FAILED, "2.13.0", Status.FAILING),
        (replace(RECORD, outcome=Outcome.CRASHED), "2.13.0", Status.FAILING),
        (replace(RECORD, outcome=Outcome.TIMED_OUT), "2.13.0", Status.FAILING),
        (FAILED, "2.14.0", Status.STALE),
    ],
)
def test_status(record, torch, told):
    """What a reader is told follows from the record, the claim and the pinned torch."""
    assert status(CLAIM, Lane.CPU, record, torch) is told


def test_status_of_a_claim_about_a_machine():
    """Once it is about a machine no more, a run in which it varied says nothing of it."""
    claim = replace(CLAIM, machine=(Factor.CLOCK,))
    assert status(claim, Lane.CPU, VARIED, "2.13.0") is Status.VARIED
    assert status(CLAIM, Lane.CPU, VARIED, "2.13.0") is Status.STALE


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_writing_that_fails_leaves_the_old(tmp_path, monkeypatch, step):
    """Whatever goes wrong on the way, the old text stands whole and nothing else is there."""
    path = tmp_path / "file"
    write_atomically(path, "old")

    def half(self, *_, **__):
        if step == "write_bytes":
            with self.open("wb") as file:
                file.write(b"ne")
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(Path, step, half)
        with pytest.raises(OSError, match=f"^{path} cannot be written: disk full; free space"):
            write_atomically(path, "new")
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("file", "old")]
    write_atomically(path, "new")
    assert path.read_text() == "new"


def test_what_did_not_change_is_not_written(tmp_path):
    """The file keeps its time; bytes that are no UTF-8 are compared as they are written."""
    path, text = tmp_path / "file", "a\udce9b\n"
    write_changed(path, text)
    assert path.read_bytes() == b"a\xe9b\n"
    os.utime(path, (1, 1))
    write_changed(path, text)
    assert path.stat().st_mtime == 1
    write_changed(path, "b\n")
    assert path.read_text() == "b\n"


def test_two_runs_at_once_keep_what_both_have_found(tmp_path):
    """Of one page, each some of its claims."""
    claims = [replace(CLAIM, id=name) for name in "abc"]
    one, other = Records(tmp_path, Lane.CPU, pytest.fail), Records(tmp_path, Lane.CPU, pytest.fail)
    for records, each in zip((one, other, one), claims, strict=True):
        records.save(each, replace(RECORD, claim=each.id))
    fresh = Records(tmp_path, Lane.CPU, pytest.fail)
    assert [record.claim for record in map(fresh.load, claims)] == ["a", "b", "c"]


def test_shared_lines_of_two_sides_of_a_merge(tmp_path):
    """Which of them a line means nobody can tell: it is named, and what shares it is missing."""
    records = Records(tmp_path, Lane.CPU, pytest.fail)
    records.save(CLAIM, RECORD)
    path = records.path(CLAIM)
    ours, line, _ = path.read_text().split("\n")
    theirs = {**json.loads(ours), "recorded": None}
    del theirs["checksum"]
    path.write_text(f"{ours}\n{signed(theirs)}\n{line}\n")
    told = []
    records = Records(tmp_path, Lane.CPU, lambda place, _: told.append(place))
    assert records.load(CLAIM) is None
    assert told == [f"{path}:2", f"{path}:3"]


@pytest.mark.parametrize("other", [{"torch": "2.14.0"}, {"device": "another"}])
def test_a_line_beside_what_others_share(tmp_path, other):
    """A merge may take the shared line of one side and the lines of both: none ran on that."""
    records = Records(tmp_path, Lane.CPU, pytest.fail)
    records.save(CLAIM, RECORD)
    path = records.path(CLAIM)
    lines = path.read_text().split("\n")[1]
    records.save(CLAIM, replace(RECORD, environment=replace(HERE, **other)))
    theirs = path.read_text().split("\n")[0]
    path.write_text(f"{theirs}\n{lines}\n")
    records = Records(tmp_path, Lane.CPU, lambda place, _: None)
    assert records.load(CLAIM) is None


@pytest.mark.parametrize("command", ["record", "falsify"])
def test_a_record_that_cannot_be_written_is_named(tmp_path, command):
    """One line says which file it is and what to do, as for other errors of a user."""
    book = TinyBook(tmp_path)
    for folder in ("docs/_build", "docs/records"):
        book.write(folder, "in the place of a folder")
    done = book.claimbook(command, "sum-adds")
    file = {"record": "_build/records/cpu/a/sums", "falsify": "records/falsified/a"}[command]
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"claimbook: {book.docs}/{file}.jsonl cannot be written: Not a directory; "
        "free space there or make it writable, and run this again"
    )


H100, H200 = (
    Environment("2.13.0", "3.12.3", "Linux x86_64", name, "13.0", "580.0", "9.0")
    for name in ("NVIDIA H100", "NVIDIA H200")
)


def on_gpu(where, day, outcome=Outcome.PASSED):
    """What a GPU did with the claim on a day of January."""
    made = Provenance(f"2026-01-{day:02}", None, None)
    run = replace(RECORD, lane=Lane.CUDA, outcome=outcome, digest=CLAIM.digest(Lane.CUDA))
    return replace(run, environment=where, recorded=made)


def test_two_gpus_stand_side_by_side(tmp_path):
    """Each keeps its own record, in an order that does not depend on which ran last."""
    first, second = on_gpu(H200, 3), on_gpu(H100, 4)
    texts = []
    for records in ([first, second], [second, first]):
        folder = tmp_path / str(len(texts))
        store = Records(folder, Lane.CUDA, pytest.fail)
        for record in records:
            assert store.save(CLAIM, record)
        assert Records(folder, Lane.CUDA, pytest.fail).load_all(CLAIM) == [second, first]
        texts.append(store.path(CLAIM).read_text("utf-8"))
    assert texts[0] == texts[1]
    assert not store.save(CLAIM, on_gpu(H100, 5))
    assert store.save(CLAIM, on_gpu(H100, 5, Outcome.FAILED))
    assert [record.outcome for record in store.load_all(CLAIM)] == ["failed", "passed"]


def test_a_moved_claim_takes_the_records_of_all_gpus_along(tmp_path):
    """Also when only one of them has run it since."""
    store = Records(tmp_path, Lane.CUDA, pytest.fail)
    moved = replace(CLAIM, location=Location("docs/new.md", 1))
    store.save(CLAIM, on_gpu(H100, 3))
    store.save(CLAIM, on_gpu(H200, 3))
    Records(tmp_path, Lane.CUDA, pytest.fail).save(moved, on_gpu(H200, 4, Outcome.FAILED))
    found = Records(tmp_path, Lane.CUDA, pytest.fail).load_all(moved)
    assert [record.outcome for record in found] == ["passed", "failed"]
    assert store.path(CLAIM).read_text("utf-8") == ""


def test_what_is_kept_follows_a_claim_to_another_page(tmp_path):
    """It is found where it was, and moves when it is written again."""
    book = TinyBook(tmp_path)
    (ours,) = Book.load(book.root).select(["sum-adds"])
    results = Results.of(book.docs, pytest.fail)
    kept = Falsified(ours.id, Lane.CPU, "d", "o", 3, 3, (), "2.13.0", "2026-01-01")
    results.save(ours, kept)
    was = results.path(ours)
    text = (book.docs / "a/sums.md").read_text("utf-8")
    book.write("docs/e.md", text.replace("# Sums", "# E"))
    (book.docs / "a/sums.md").unlink()
    (moved,) = Book.load(book.root).select(["sum-adds"])
    anew = Results.of(book.docs, pytest.fail)
    assert anew.load(moved) == kept
    another = replace(kept, mutants=4, killed=4)
    assert anew.save(moved, another)
    assert was.read_text("utf-8") == ""
    assert Results.of(book.docs, pytest.fail).load(moved) == another


@pytest.mark.parametrize(
    ("records", "order"),
    [
        ([on_gpu(H100, 3), on_gpu(H200, 4)], [1, 0]),
        ([on_gpu(H100, 3, Outcome.FAILED), on_gpu(H200, 4)], [0, 1]),
        ([on_gpu(H100, 3, Outcome.VARIED), on_gpu(H200, 4, Outcome.CRASHED)], [1, 0]),
        ([on_gpu(H100, 3), replace(on_gpu(H200, 4), digest="0")], [0]),
        ([on_gpu(replace(H100, torch="2.14.0"), 3), replace(on_gpu(H200, 4), digest="0")], [1, 0]),
        ([], []),
    ],
    ids=["newest first", "a fault first", "the worst first", "none stale", "all stale", "none"],
)
def test_which_record_speaks_for_a_lane(records, order):
    """One that does not hold, else the newest; a stale one where there is no other."""
    claim = replace(CLAIM, machine=(Factor.CLOCK,))
    seen = shown(claim, Lane.CUDA, records, "2.13.0")
    assert list(seen.records) == [records[n] for n in order]
    assert seen.status == status(claim, Lane.CUDA, seen.first, "2.13.0")
