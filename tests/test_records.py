"""The store of records: what is kept, what is refused, and what a reader is told."""

import json
import shutil
import subprocess
import time
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimbook import environment
from claimbook import records as module
from claimbook import store as files
from claimbook.model import (
    Environment,
    Lane,
    Measurement,
    Outcome,
    Provenance,
    Record,
    Run,
    Status,
    digest,
)
from claimbook.records import Records, status
from claimbook.store import RecordError, write_atomically
from helpers import TinyBook, claim

CLAIM = claim("sums", ">>> 1\n1")
RUN = Run(
    "sums",
    Lane.CPU,
    Outcome.PASSED,
    ("1", "é\n\x1b[0m\u2028"),
    0.25,
    measurements=(Measurement("ratio", 1.5, "times"),),
    device_bytes=512,
)
RECORD = Record(
    RUN,
    CLAIM.digest(Lane.CPU),
    Environment("2.13.0+cpu", "3.11.7", "Linux x86_64", "CPU"),
    Provenance("2026-01-02", "abc", clean=True),
)


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_provenance_is_what_git_says(tmp_path, monkeypatch):
    """The commit, and whether a tracked file changed since; neither where there is no history."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    def git(*arguments):
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", tmp_path, *who, *arguments], check=True, capture_output=True)

    found = environment.provenance(tmp_path)
    assert (found.commit, found.clean) == (None, None)
    (tmp_path / "page.md").write_text("one")
    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    (tmp_path / "untracked.md").write_text("")
    found = environment.provenance(tmp_path)
    assert (len(found.commit or ""), found.clean) == (12, True)
    (tmp_path / "page.md").write_text("two")
    assert environment.provenance(tmp_path) == replace(found, clean=False)


@pytest.fixture
def store(tmp_path):
    """An empty store of the cpu lane."""
    return Records(tmp_path, Lane.CPU)


@pytest.fixture
def path(store):
    """The file of a record that was saved."""
    assert store.save(CLAIM, RECORD)
    return store.path(CLAIM)


def test_round_trip(store, path):
    """A record is read as it was saved, under the path of its page."""
    loaded = store.load(CLAIM)
    assert loaded == RECORD
    assert loaded.provenance == RECORD.provenance
    assert path == store.folder / "cpu/page/sums.json"


def test_form_of_the_file(path):
    """A record is sorted, indented JSON, so that a change is a readable diff."""
    text = path.read_text("utf-8")
    assert text == json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def test_nothing_there(store):
    """A claim without a record has none; that is no error."""
    assert store.load(CLAIM) is None


@pytest.mark.parametrize(
    "other",
    [
        replace(RECORD, run=replace(RUN, seconds=9.0, measurements=())),
        replace(RECORD, provenance=Provenance("2026-01-15", "def", clean=False)),
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
        store.save(CLAIM, replace(RECORD, provenance=Provenance(night.isoformat(), None, None)))
        ages.append((night - date.fromisoformat(store.load(CLAIM).provenance.date)).days)
    assert (max(ages), ages.count(0)) == (13, 3)


@pytest.mark.parametrize(
    "other",
    [
        replace(RECORD, run=replace(RUN, outputs=("2",))),
        replace(RECORD, run=replace(RUN, outcome=Outcome.FAILED)),
        replace(RECORD, run=replace(RUN, message="why")),
        replace(RECORD, digest="0"),
        replace(RECORD, environment=replace(RECORD.environment, torch="2.14.0")),
    ],
    ids=["outputs", "outcome", "message", "digest", "environment"],
)
def test_what_differs_is_written_whole(store, path, other):
    """A run that says something else replaces the record, its date and times included."""
    new = replace(other, provenance=Provenance("2026-03-04", None, None))
    assert store.save(CLAIM, new)
    assert store.load(CLAIM) == new
    assert store.load(CLAIM).provenance.date == "2026-03-04"


def refused(store) -> str:
    with pytest.raises(RecordError) as caught:
        store.load(CLAIM)
    return str(caught.value)


FIELDS = (
    "checksum, claim, device_bytes, digest, environment, lane, measurements, message, outcome, "
    "outputs, recorded, schema, seconds"
)
ENVIRONMENT = "capability, cuda, device, driver, os, python, torch"
WRONG = {
    "schema": ({"schema": 2}, "not a record: schema 2, not 1"),
    "claim": ({"claim": "other"}, "the record of other on cpu"),
    "lane": ({"lane": "cuda"}, "the record of sums on cuda"),
    "no such lane": ({"lane": "tpu"}, "not a record: 'tpu' is not a valid Lane"),
    "no such outcome": ({"outcome": "fine"}, "not a record: 'fine' is not a valid Outcome"),
    "seconds": ({"seconds": "1"}, "not a record: record.seconds is a str"),
    "endless seconds": (
        {"seconds": 10**400},
        "not a record: int too large to convert to float",
    ),
    "outputs": ({"outputs": "1"}, "not a record: record.outputs is a str"),
    "an output": ({"outputs": [1]}, "not a record: outputs are texts"),
    "a measurement": (
        {"measurements": [{"name": "x", "value": 1}]},
        "not a record: measurement has the fields name, unit, value",
    ),
    "a measurement's value": (
        {"measurements": [{"name": "x", "value": "1", "unit": ""}]},
        "not a record: measurement.value is a str",
    ),
    "environment": (
        {"environment": {"torch": "2"}},
        f"not a record: environment has the fields {ENVIRONMENT}",
    ),
    "date": (
        {"recorded": {"date": None, "commit": None, "clean": None}},
        "not a record: recorded.date is a NoneType",
    ),
    "a field more": ({"more": 1}, f"not a record: record has the fields {FIELDS}"),
}


def changed(path, change) -> str:
    """A record's text with other fields, and with the checksum that is right for these."""
    data = {**json.loads(path.read_text("utf-8")), **change}
    del data["checksum"]
    return json.dumps({**data, "checksum": digest(data)})


@pytest.mark.parametrize(("change", "said"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_field_is_named(store, path, change, said):
    """A file whose fields are not a record's is refused, by name and with the reason."""
    path.write_text(changed(path, change))
    assert refused(store) == f"{path}: {said}"


@pytest.mark.parametrize("old", ['"1"', "passed", "CPU", "2026-01-02", "2.13.0", "0.25", "512"])
def test_what_was_changed_by_hand_is_named(store, path, old):
    """Whatever a hand changes of what a record tells, it is a record no more."""
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, old[:-1] + ("7" if old[-1].isdigit() else "X" + old[-1])))
    assert refused(store) == (
        f"{path}: not a record: it was changed by hand, says its checksum; record it again"
    )


@pytest.fixture
def aged(path, monkeypatch):
    """The file of a record as if it had been there for long."""
    monkeypatch.setattr(files, "TICK", -1)
    monkeypatch.setattr(files, "KNOWN", {})
    return path


def test_a_file_is_parsed_once(store, aged, monkeypatch):
    """What is known of a file that has not changed stands; the build hands it on."""
    assert store.load(CLAIM) == RECORD
    monkeypatch.setattr(module, "_from_data", lambda data: pytest.fail("parsed again"))
    assert store.load(CLAIM) == RECORD
    assert list(files.KNOWN) == [str(aged)]


def test_a_file_that_changed_is_parsed_again(store, aged):
    """Also where it is as long as before."""
    assert store.load(CLAIM) == RECORD
    time.sleep(0.02)
    aged.write_text(aged.read_text("utf-8").replace('"passed"', '"failed"'), "utf-8")
    with pytest.raises(RecordError, match="changed by hand"):
        store.load(CLAIM)


def test_a_new_file_is_not_known(store, path, monkeypatch):
    """It may change within the grain of its times."""
    monkeypatch.setattr(files, "KNOWN", {})
    monkeypatch.setattr(files, "TICK", 10**12)
    assert store.load(CLAIM) == RECORD
    assert files.KNOWN == {}


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"\xff", b"{" * 100_000, b"[" * 100_000])
def test_what_is_no_json_object_is_named(store, path, content):
    """Whatever bytes stand in the file, they are refused and named."""
    path.write_bytes(content)
    assert refused(store).startswith(f"{path}: not a record: ")


def test_cut_anywhere(store, path):
    """A file cut at any byte but its last, a line's end, is refused."""
    whole = path.read_bytes()
    for length in range(len(whole) - 1):
        path.write_bytes(whole[:length])
        assert refused(store).startswith(f"{path}: not a record: ")


@given(st.data())
def test_a_byte_changed(tmp_path_factory, data):
    """A file with one other byte is read or refused, and nothing else happens."""
    store = Records(tmp_path_factory.getbasetemp() / "bytes", Lane.CPU)
    store.save(CLAIM, RECORD)
    path = store.path(CLAIM)
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    said = ""
    try:
        store.load(CLAIM)
    except RecordError as error:
        said = str(error)
    assert not said or said.startswith(f"{path}: ")
    path.unlink()


def test_too_large(store, path, monkeypatch):
    """A file beyond the limit is not even read."""
    monkeypatch.setattr(files, "SIZE_LIMIT", 100)
    assert refused(store) == f"{path}: not a record: over 100 bytes; no record is that long"


def test_a_folder_in_the_place_of_a_file(store):
    """What cannot be read is named too."""
    store.path(CLAIM).mkdir(parents=True)
    assert refused(store).startswith(f"{store.path(CLAIM)}: not a record: ")


def test_a_broken_record_is_replaced(store, path):
    """Saving over a file that is no record makes it one."""
    path.write_text("{")
    assert store.save(CLAIM, RECORD)
    assert store.load(CLAIM) == RECORD


FAILED = replace(RECORD, run=replace(RUN, outcome=Outcome.FAILED))


@pytest.mark.parametrize(
    ("record", "torch", "told"),
    [
        (None, "2.13.0", Status.MISSING),
        (replace(RECORD, run=replace(RUN, outcome=Outcome.SKIPPED)), "2.13.0", Status.MISSING),
        (RECORD, "2.13.0", Status.CURRENT),
        (RECORD, "2.13.0+cu130", Status.CURRENT),
        (RECORD, "2.14.0", Status.STALE),
        (replace(RECORD, digest="0"), "2.13.0", Status.STALE),
        (FAILED, "2.13.0", Status.FAILING),
        (replace(RECORD, run=replace(RUN, outcome=Outcome.CRASHED)), "2.13.0", Status.FAILING),
        (replace(RECORD, run=replace(RUN, outcome=Outcome.TIMED_OUT)), "2.13.0", Status.FAILING),
        (FAILED, "2.14.0", Status.STALE),
    ],
)
def test_status(record, torch, told):
    """What a reader is told follows from the record, the claim and the pinned torch."""
    assert status(CLAIM, Lane.CPU, record, torch) is told


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


@pytest.mark.parametrize("command", ["record", "falsify"])
def test_a_record_that_cannot_be_written_is_named(tmp_path, command):
    """One line says which file it is and what to do, as for other errors of a user."""
    book = TinyBook(tmp_path)
    for folder in ("docs/_build", "docs/records"):
        book.write(folder, "in the place of a folder")
    done = book.claimbook(command, "sum-adds")
    folder = {"record": "_build/records/cpu", "falsify": "records/falsified"}[command]
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"claimbook: {book.docs}/{folder}/a/sums/sum-adds.json cannot be written: Not a directory; "
        "free space there or make it writable, and run this again"
    )
