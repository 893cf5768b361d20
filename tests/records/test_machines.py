"""Claims about a machine: what comes out otherwise on this one is told, and fails nothing."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from claimbook.engine import environment
from claimbook.engine.pool import Runner
from claimbook.model import Hardware, Lane, Measurement, Outcome, Provenance, Run
from claimbook.records.book_runs import BookRun, Machines, machine_name, results_of
from helpers import SUM, TinyBook, claim, claim_text, python, started_with, whole_book

CLOCK = Path(__file__).with_name("clock")
TIMED = """\
>>> from claimbook.teach import compare
>>> def slow(): pass
>>> def fast(): pass
>>> compare(slow, fast).ratio > 2
True
>>> 1 + 1
2"""
WITH_CLOCK = claim_text("slow-is-slower", TIMED, ":machine: clock, cache\n")
WITHOUT = claim_text("sums-are-sums", ">>> 1 + 1\n3")
OTHERWISE = "value: want 'True', got 'False'"
HARDWARE = Hardware("GenuineIntel 6 207", 2, {"L1": 48 << 10, "L2": 2 << 20}, 1 << 30, "AVX512")
HERE = environment.describe(Lane.CPU)
DAY = Provenance("2026-01-02", None, None)


def book_with(folder, *claims):
    """A book of one page."""
    return TinyBook(folder, {"index": "# I\n\n" + "\n".join([SUM, *claims])})


@pytest.fixture(scope="module")
def clock():
    """Gives the variables that make every `compare` of a process measure a ratio."""
    with started_with(PYTHONPATH=str(CLOCK)) as found:
        yield lambda ratio: {**found, "RATIO": str(ratio)}


@pytest.fixture(scope="module")
def varied(tmp_path_factory, clock):
    """A book whose timed claim comes out otherwise here, built once."""
    book = book_with(tmp_path_factory.mktemp("varied"), WITH_CLOCK)
    done = book.build(**clock(1.0))
    assert (done.returncode, done.stderr) == (0, "")
    return book, done


def test_a_build_is_green_and_names_it(varied):
    """At its end it says which claim, where, what came, and on which processor."""
    _, done = varied
    head = f"Claims about a machine that came out otherwise on this one ({HERE.device}); "
    closing = done.stdout[done.stdout.index(head) :].splitlines()
    assert closing[1] == f"docs/index.md:14: slow-is-slower: {OTHERWISE}"


def test_its_card_shows_what_this_run_printed(varied):
    """The box with the edge of a run holds its output; the page's own is told apart."""
    book, _ = varied
    card = book.page("index").select_one("#claim-slow-is-slower")
    boxes = [
        (box.select_one("pre").text.strip(), box.p.text, {"differs", "unproved"} & {*box["class"]})
        for box in card.select(".claim-cells .claim-output")
    ]
    assert boxes == [
        ("False", f"printed on {HERE.device}", {"differs"}),
        ("True", "the page says", {"unproved"}),
        ("2", "Output", set()),
    ]
    badges = [badge.text for badge in card.select(".claim-badge")]
    assert badges[0] == "CPU other output on a machine that ran it"
    assert "held on 0 of 1 processor" in badges


def test_its_data_say_so(varied):
    """`claims.json` has the outcome, and on what the claim depends."""
    book, _ = varied
    claims = json.loads((book.site / "claims.json").read_text("utf-8"))["claims"]
    found = next(each for each in claims if each["id"] == "slow-is-slower")
    assert (found["machine"], found["machines"]) == (["clock", "cache"], {})
    assert {key: found["lanes"]["cpu"][key] for key in ("status", "outcome", "message")} == {
        "status": "varied",
        "outcome": "varied",
        "message": OTHERWISE,
    }


def test_a_later_build_says_it_again(varied, clock):
    """Without running it again; a strict one runs it, and is red."""
    book, _ = varied
    book.replace("docs/index.md", "# I\n", "# Home\n")
    again = book.build(**clock(1.0))
    assert again.returncode == 0
    assert "claims on cpu: 0 run, 2 from records" in again.stdout
    assert f"slow-is-slower: {OTHERWISE}" in again.stdout
    strict = book.build("-D", "claimbook_strict=1", **clock(1.0))
    assert strict.returncode == 1
    assert "claims on cpu: 1 run, 1 from records" in strict.stdout
    assert f"slow-is-slower: {OTHERWISE} [claim.varied]" in strict.stderr.replace("\n", "")


def test_it_is_run_again_when_it_is_about_no_machine_any_more(tmp_path):
    """And fails, as a build from nothing says."""
    book = book_with(tmp_path, claim_text("sums-are-sums", ">>> 1 + 1\n3", ":machine: cores\n"))
    assert book.sphinx().returncode == 0
    book.replace("docs/index.md", ":machine: cores\n", "")
    done = book.sphinx()
    assert (done.returncode, "sums-are-sums [cpu] failed" in done.stderr) == (1, True)


def test_pytest_tells_it(varied, clock):
    """One expected failure, named at the end; an error if asked for."""
    book, _ = varied
    done = python("-m", "pytest", "docs", cwd=book.root, **clock(1.0))
    assert done.returncode == 0
    assert "1 passed, 1 xfailed" in done.stdout
    said = f"came out otherwise on this machine: {OTHERWISE}"
    assert f"XFAIL docs/index.md::slow-is-slower[cpu] - {said}" in done.stdout
    strict = python("-m", "pytest", "docs", "--strict-machine", cwd=book.root, **clock(1.0))
    assert strict.returncode == 1
    assert "1 failed, 1 passed" in strict.stdout
    assert "It depends on the machine: clock, cache." in strict.stdout


def test_run_tells_it(varied, clock):
    """And ends with 1 if asked to be strict."""
    book, _ = varied
    done = book.claimbook("run", **clock(1.0))
    assert done.returncode == 0
    assert "1 passed, 1 varied on cpu" in done.stderr
    assert "came out otherwise on this one" in done.stdout
    assert re.search(rf"docs/index.md:\d+: slow-is-slower varied: {OTHERWISE}", done.stdout)
    assert book.claimbook("run", "--strict", **clock(1.0)).returncode == 1
    alone = book.claimbook("run", "slow-is-slower", **clock(1.0)).stderr
    assert "  - True\n  + False\n\n  - is what the page says, + is what the run printed." in alone


def test_any_other_claim_that_differs_is_red(tmp_path):
    """In the build, in pytest and in run alike; and the card shows what came, as far as it came."""
    session = ">>> 1\n1\n>>> import os\n>>> os._exit(3)\n>>> 2\n2"
    book = book_with(tmp_path, WITHOUT, claim_text("ends-its-process", session))
    assert [book.build().returncode, book.claimbook("run").returncode] == [1, 1]
    assert book.pytest().returncode == 1
    card = book.page("index").select_one("#claim-sums-are-sums")
    boxes = [
        (b.select_one("pre").text.strip(), "differs" in b["class"])
        for b in card.select(".claim-cells .claim-output")
    ]
    assert boxes == [("2", True), ("3", False)]
    card = book.page("index").select_one("#claim-ends-its-process")
    labels = [box.p.text for box in card.select(".claim-cells .claim-output")]
    assert labels == ["Output", "not reached in this run; the page says"]


@pytest.mark.parametrize("ratio", [1.0, 100.0])
def test_the_book_is_green_with_any_clock(ratio, monkeypatch, clock):
    """All its claims that compare times hold or are told; none fails.

    Each is run once: this clock says the same at every try.
    """
    timed = [
        claim
        for claim in whole_book().claims
        if "teach import compare" in claim.code and Lane.CPU in claim.lanes
    ]
    for name, value in clock(ratio).items():
        monkeypatch.setenv(name, value)
    with Runner(tries=1) as runner:
        outcomes = {each.id: run.outcome for each, run in runner.run(timed, Lane.CPU)}
    told = {Outcome.PASSED, Outcome.VARIED}
    assert {name: outcome for name, outcome in outcomes.items() if outcome not in told} == {}
    assert {*outcomes.values()} == told
    assert outcomes.keys() == {claim.id for claim in timed}


READS_A_CLOCK = re.compile(r"teach import .*\bcompare\b|\b(perf_counter|process_time)\b")


def test_claims_that_read_a_clock_say_so():
    """What a claim depends on stands in its options, for the runner and for readers."""
    reading = [c for c in whole_book().claims if READS_A_CLOCK.search(c.code)]
    assert len(reading) > 40
    assert [str(c.location) for c in reading if "clock" not in c.machine] == []


def kept(folder, processor, outcome, figure, **changed):
    """Keeps a machine that ran the timed claim."""
    timed = claim("slow-is-slower", TIMED, ":machine: clock, cache\n")
    figures = (Measurement("slow took … times as long as fast", figure, "ratio"),)
    run = Run(timed.id, Lane.CPU, outcome, ("True", "2"), measurements=figures)
    where = replace(HERE, device=processor, **changed)
    hardware = replace(HARDWARE, model=f"Any {len(processor)} 7")
    results = results_of({timed: run})
    machine = BookRun(machine_name(where, hardware), where, results, hardware, recorded=DAY)
    Machines(folder).save(machine)
    return machine


def test_machines_are_kept_and_read(tmp_path):
    """What was written is what is read: figures to three digits, one line a claim."""
    machine = kept(tmp_path, "Fast(R) Chip 3", Outcome.PASSED, 3.14159)
    (found,) = Machines(tmp_path).load_all(lambda *told: pytest.fail(str(told)))
    assert found == machine
    assert machine.name == "fast-chip-3-14-7-2-cores"
    assert found.claims["slow-is-slower"].measurements[0].value == 3.14
    lines = (tmp_path / f"{machine.name}.json").read_text("utf-8").splitlines()
    assert sum("slow-is-slower" in line for line in lines) == 1


def test_a_broken_machine_is_named(tmp_path):
    """It counts as missing, and the others stand."""
    kept(tmp_path, "Chip", Outcome.PASSED, 3)
    (tmp_path / "broken.json").write_text("{", "utf-8")
    told = []
    assert len(Machines(tmp_path).load_all(lambda *what: told.append(what))) == 1
    assert told[0][0] == f"{tmp_path / 'broken.json'}:1"


def test_cards_show_the_machines(tmp_path, clock):
    """This build first, then the reference machines, each with its figures."""
    book = book_with(tmp_path, WITH_CLOCK)
    kept(book.docs / "records/machines", "Fast Chip", Outcome.PASSED, 3.14159)
    kept(book.docs / "records/machines", "Even Chip", Outcome.VARIED, 1.0)
    done = book.build("-D", "claimbook_strict=1", **clock(100))
    assert (done.returncode, done.stderr) == (0, "")
    assert "came out otherwise" not in done.stdout  # as all holds here
    card = book.page("index").select_one("#claim-slow-is-slower")
    rows = [[cell.text for cell in row.select("td")] for row in card.select("table.machines tr")]
    versions = f"torch {HERE.torch}, Python {HERE.python}"
    chip = f"2 cores, L2 2 MiB, AVX512, {versions}"
    assert [row for row in rows if row] == [
        [f"{HERE.device} (this build), {versions}", "yes", "slow took 100 times as long as fast"],
        [f"Even Chip, {chip}", "no", "slow took 1 times as long as fast"],
        [f"Fast Chip, {chip}", "yes", "slow took 3.1 times as long as fast"],
    ]
    badges = [badge.text for badge in card.select(".claim-badge")]
    assert "held on 2 of 3 processors" in badges
    plain = book.page("index").select_one("#claim-sum-adds")
    assert not plain.select("table.machines")


def test_record_keeps_this_machine(tmp_path, clock):
    """With all that ran on it; a claim that changed since is left out of it."""
    book = book_with(tmp_path, WITH_CLOCK)
    done = book.claimbook("record", **clock(100))
    assert done.returncode == 0, done.stderr
    (file,) = (book.docs / "records/machines").glob("*.json")
    assert f"this machine's results are in docs/records/machines/{file.name}" in done.stdout
    machine = Machines(file.parent).load(file.stem, pytest.fail)
    assert machine.environment == HERE
    assert machine.hardware == environment.hardware()
    assert {*machine.claims} == {"sum-adds", "slow-is-slower"}
    book.replace("docs/index.md", ">>> 1 + 1\n2", ">>> 1 + 2\n3")
    assert book.claimbook("record", "sum-adds", **clock(100)).returncode == 0
    assert {*Machines(file.parent).load(file.stem, pytest.fail).claims} == {"sum-adds"}
    assert book.claimbook("record", "slow-is-slower", **clock(1.0)).returncode == 0
    found = Machines(file.parent).load(file.stem, pytest.fail).claims["slow-is-slower"]
    assert (found.outcome, found.outputs[3]) == (Outcome.VARIED, "False")


def test_some_claims_do_not_replace_what_another_build_recorded(tmp_path, clock):
    """A machine's file is of one build of torch: only a run of the whole book replaces it."""
    book = book_with(tmp_path, WITH_CLOCK)
    assert book.claimbook("record", **clock(100)).returncode == 0
    machines = Machines.of(book.docs)
    (file,) = machines.folder.glob("*.json")
    before = machines.load(file.stem, pytest.fail)
    machines.save(replace(before, environment=replace(HERE, torch="2.12.0+cpu")))
    done = book.claimbook("record", "sum-adds")
    assert done.returncode == 0
    assert done.stdout.endswith(
        f"docs/records/machines/{file.name} is as before: its results are of torch 2.12.0+cpu on"
        f" Python {HERE.python}; to replace them, run claimbook record without names\n"
    )
    assert {*machines.load(file.stem, pytest.fail).claims} == {"sum-adds", "slow-is-slower"}
    assert book.claimbook("record", **clock(100)).returncode == 0
    assert machines.load(file.stem, pytest.fail) == before


def test_hardware_is_told():
    """As Linux tells it: cores, caches, memory, and what torch uses of the processor."""
    found = environment.hardware()
    assert found.cores >= 1
    assert found.memory > 1 << 28
    assert found.instructions
    assert all(re.fullmatch(r"L\d", level) and size > 0 for level, size in found.cache.items())


def test_an_arm_processor_has_a_name(tmp_path, monkeypatch):
    """Linux tells only its numbers there, and lscpu the name."""
    told, tools = tmp_path / "cpuinfo", tmp_path / "bin"
    told.write_text("CPU implementer\t: 0x41\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\n\n")
    tools.mkdir()
    (tools / "lscpu").write_text("#!/bin/sh\necho 'Model name:   Neoverse-N1'\n")
    (tools / "lscpu").chmod(0o755)
    monkeypatch.setattr(environment, "CPUINFO", told)
    monkeypatch.setenv("PATH", str(tools), prepend=":")
    for name in ("_processor", "_cpuinfo"):
        monkeypatch.setattr(environment, name, getattr(environment, name).__wrapped__)
    assert environment.describe(Lane.CPU).device == "Neoverse-N1"
    assert environment.hardware().model == "0x41 0x3 0xd0c"


def test_caches_that_are_not_told_are_left_out(tmp_path, monkeypatch):
    """A virtual machine may name a cache without its size, or none at all."""
    monkeypatch.setattr(environment, "CACHES", tmp_path)
    assert environment.hardware().cache == {}
    for number, files in enumerate(
        [{"level": "1", "type": "Data", "size": "48K"}, {"level": "2", "type": "Unified"}]
    ):
        (folder := tmp_path / f"index{number}").mkdir()
        for name, text in files.items():
            (folder / name).write_text(text)
    assert environment.hardware().cache == {"L1": 48 << 10}
