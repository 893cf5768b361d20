"""The CUDA lane without a GPU: the real commands record it, on a lane that stands in for it."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import jsonschema
import pytest
import yaml

from claimbook.cli.records import SAVED
from claimbook.engine import environment
from claimbook.model import Lane, Outcome
from claimbook.pages.book import Book
from claimbook.records.book_runs import CudaReleases, Result, short_digest
from claimbook.records.runs import Records
from claimbook.sphinx import STATIC
from helpers import ROOT, STAND_IN, TinyBook, claim_text, is_soon, started_with, whole_book

DEVICE = "Stand-in <GPU>"


def two_fences(name, code, cpu, cuda):
    """A claim that prints one thing on the CPU and another on CUDA."""
    text = claim_text(name, f"{code}\n{cpu}")
    return text.replace("```\n:::", f"```\n\n```pycon cuda\n{code}\n{cuda}\n```\n:::")


CLAIMS = [
    claim_text("holds", ">>> torch.ones(2).sum()\ntensor(2.)"),
    claim_text(
        "first-backward-is-quiet",
        ">>> x = torch.ones(1, requires_grad=True)\n>>> x.backward()\n>>> x.grad\ntensor([1.])",
    ),
    two_fences("lanes-differ", ">>> device.type", "'cpu'", "'cuda'"),
    two_fences(
        "devices-differ", ">>> torch.ones(1)", "tensor([1.])", "tensor([1.], device='cuda:0')"
    ),
    claim_text(
        "prints-a-script",
        ">>> print(f'<script>{device.type}</script>')\n<script>cpu</script>",
    ),
    claim_text(
        "dies-on-cuda",
        ">>> import os\n>>> _ = device.type == 'cuda' and os.kill(os.getpid(), 9)\n>>> 1\n1",
    ),
]
PAGES = {"index": "# Lanes\n\n" + "\n".join(CLAIMS)}
NAMES = re.findall("{claim} (.+)", PAGES["index"])


@pytest.fixture(scope="module")
def stand_in():
    """The variables with which a program finds a GPU that is made up."""
    with started_with(**STAND_IN) as found:
        yield found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, stand_in):
    """A book whose CUDA lane was recorded, and what the command said."""
    book = TinyBook(tmp_path_factory.mktemp("recorded"), PAGES)
    return book, book.claimbook("record", "--lane", "cuda", **stand_in)


@pytest.fixture(scope="module")
def page(recorded):
    """Its page, as a machine without a GPU builds it."""
    book, _ = recorded
    done = book.sphinx()
    assert (done.returncode, done.stderr) == (0, "")
    return book.page("index")


def records_of(book):
    """The file of the page's records on CUDA."""
    return book.docs / "records/cuda/index.jsonl"


def test_one_command_records_the_lane(recorded):
    """Each claim has a line with what it printed, and where."""
    book, done = recorded
    assert done.returncode == 3  # as two claims do not hold there
    assert done.stdout == "6 records written under docs/records/cuda\n"
    common, *lines = map(json.loads, records_of(book).read_text("utf-8").rstrip("\n").split("\n"))
    data = {line["claim"]: line for line in lines}
    outcomes = ["passed", "passed", "passed", "passed", "failed", "crashed"]
    assert [data[name]["outcome"] for name in NAMES] == outcomes
    assert data["holds"]["outputs"] == ["tensor(2.)"]
    assert common["environment"] == {
        "torch": environment.torch_version(),
        "python": "3.11.0",
        "os": "Linux x86_64",
        "device": DEVICE,
        "cuda": "13.0",
        "driver": "580.0",
        "capability": "9.0",
    }


def test_what_is_the_same_is_not_written_again(recorded, stand_in):
    """A second run leaves the files alone."""
    book, _ = recorded
    done = book.claimbook("record", "--lane", "cuda", "holds", "lanes-differ", **stand_in)
    said = "0 records written under docs/records/cuda, 2 as before\n"
    assert (done.returncode, done.stdout) == (0, said)


def test_a_run_ends_with_what_does_not_hold(recorded, stand_in):
    """A reader with a GPU is told which claims do not hold there, and how they differ."""
    book, _ = recorded
    done = book.claimbook("run", "--lane", "cuda", **stand_in)
    title, one, two = done.stdout.splitlines()
    assert title == f"Claims that fail on {DEVICE} with torch {environment.torch_version()}:"
    place = f"docs/index.md:{line_of('{device.type}')}"
    assert one.startswith(f"{place}: prints-a-script failed: ")
    assert " dies-on-cuda crashed: " in two
    assert done.returncode == 1


def line_of(text):
    """The line of the page on which a text stands."""
    (line,) = [n for n, each in enumerate(PAGES["index"].splitlines(), 1) if text in each]
    return line


def test_both_lanes_are_shown_where_they_differ(page):
    """A box for each lane, with its name; where the device alone differs there is one box."""
    boxes = {
        name: [
            ({*box["class"]} & {"on-cpu", "on-cuda"}, box.p.text, box.pre.text.strip())
            for box in page.select(f"#claim-{name} .claim-output")
        ]
        for name in ("lanes-differ", "devices-differ")
    }
    assert boxes == {
        "lanes-differ": [({"on-cpu"}, "on CPU", "'cpu'"), ({"on-cuda"}, "on CUDA", "'cuda'")],
        "devices-differ": [(set(), "Output", "tensor([1.])")],
    }


def test_what_cuda_printed_instead_is_shown(page):
    """A claim that does not hold on CUDA shows what came there, as text, or what ended it."""
    title = f"On CUDA ({DEVICE})"
    folds = {name: page.select(f"#claim-{name} .claim-fold") for name in NAMES}
    shown = {name: [fold.summary.text for fold in found] for name, found in folds.items()}
    assert shown == {name: [title] * (name in NAMES[-2:]) for name in NAMES}
    assert folds["prints-a-script"][0].select_one(".claim-output pre").text.strip() == (
        "<script>cuda</script>"
    )
    assert "the process died of SIGKILL in example 2 of 3" in folds["dies-on-cuda"][0].text
    assert not page.select("div.body script")


def test_badges_say_what_ran_where(page):
    """The page has the device; a lane that prints something else has a badge, its date a fold."""
    assert f"; CUDA ({DEVICE}), " in page.select_one(".provenance").text
    said = {"holds": [], "prints-a-script": ["CUDA prints something else"]}
    for name, badges in said.items():
        card = page.select_one(f"#claim-{name}")
        assert [badge.text for badge in card.select(".claim-badge")] == badges
        made = f"CUDA: torch {environment.torch_version()}, {DEVICE}, "
        assert any(line.text.startswith(made) for line in card.select(".claim-more > p"))


def test_claims_json_holds_the_records(recorded, page):
    """What leaves the build has what CUDA printed, in the form that it promises."""
    book, _ = recorded
    data = json.loads((book.site / "claims.json").read_text("utf-8"))
    jsonschema.validate(data, json.loads((STATIC / "claims.schema.json").read_text("utf-8")))
    lanes = {claim["id"]: claim["lanes"]["cuda"] for claim in data["claims"]}
    assert (lanes["holds"]["status"], lanes["holds"]["outputs"]) == ("current", ["tensor(2.)"])
    assert lanes["dies-on-cuda"]["status"] == "failing"
    assert lanes["dies-on-cuda"]["message"].endswith("died of SIGKILL in example 2 of 3")


def test_failing_records_are_no_current_ones(recorded, page):
    """Where current records are demanded, those that fail are named."""
    book, _ = recorded
    done = book.sphinx("-D", "claimbook_strict_cuda=1")
    assert done.returncode == 1
    assert re.findall(r"(\S+): its record on cuda is (\w+)", done.stderr) == [
        ("prints-a-script", "failing"),
        ("dies-on-cuda", "failing"),
    ]


def test_another_torch_is_said_and_is_stale(tmp_path, stand_in):
    """A record names the torch that made it; of another than the pinned one it is stale."""
    book = TinyBook(tmp_path, {"index": f"# I\n\n{CLAIMS[0]}"})
    done = book.claimbook("record", "--lane", "cuda", **stand_in, STAND_IN_TORCH="2.99.0+cu130")
    assert done.returncode == 0
    assert book.sphinx().returncode == 0
    built = (book.site / "index.html").read_text("utf-8")
    assert "changed since it was run" in built
    assert "CUDA: torch 2.99.0+cu130, " in built


@pytest.mark.parametrize(
    ("variable", "told"),
    [("STAND_IN_ERROR", "RuntimeError: no room"), ("STAND_IN_FULL", "OutOfMemoryError: no room")],
)
def test_a_device_that_does_not_start_says_why(tmp_path, variable, told):
    """Its error does not go where examples print, and no claim is recorded as failing of it."""
    book = TinyBook(tmp_path, PAGES)
    # Alone: a fork server that is kept says it where that was started.
    done = book.claimbook("record", "--lane", "cuda", **STAND_IN, **{variable: "no room"})
    assert done.returncode == 2
    assert f"{told}\n" in done.stderr
    assert "no worker started on cuda" in done.stderr
    assert not (book.docs / "records/cuda").exists()


OTHER = "Another stand-in"


@pytest.fixture(scope="module")
def on_two(tmp_path_factory, stand_in):
    """A book that two GPUs have run; on the second, one claim of three came out otherwise."""
    slow = claim_text("slow-is-slower", ">>> 1 + 1\n2", ":machine: clock\n")
    claims = [CLAIMS[0], claim_text("sums", ">>> 1 + 2\n3"), slow]
    book = TinyBook(tmp_path_factory.mktemp("on_two"), {"index": "# I\n\n" + "\n".join(claims)})
    for device in (DEVICE, OTHER):
        done = book.claimbook("record", "--lane", "cuda", **stand_in, STAND_IN_DEVICE=device)
        assert (done.returncode, done.stdout) == (0, "3 records written under docs/records/cuda\n")
    store, [claim] = (
        Records.of(book.docs, Lane.CUDA, pytest.fail),
        Book.load(book.root).select(["sums"]),
    )
    [here] = [each for each in store.load_all(claim) if each.environment.device == OTHER]
    failed = replace(here, outcome=Outcome.FAILED, outputs=("4",), message="value")
    assert store.save(claim, failed)
    done = book.sphinx()
    assert (done.returncode, done.stderr) == (0, "")
    return book


def test_cards_name_each_gpu(on_two):
    """Where an example ran; what came otherwise on one; how many hold what a machine decides."""
    page = on_two.page("index")
    assert f"; CUDA ({OTHER}, {DEVICE}), 2 of them." in page.select_one(".provenance").text
    holds, sums, slow = (
        page.select_one(f"#claim-{n}") for n in ("holds", "sums", "slow-is-slower")
    )
    lines = [line.text for line in holds.select(".claim-more > p") if line.text.startswith("CUDA")]
    assert [DEVICE in line for line in lines] == [False, True]
    assert [badge.text for badge in sums.select(".claim-badge")] == ["CUDA prints something else"]
    [fold] = sums.select(".claim-fold")
    assert (fold.summary.text, fold.pre.text) == (f"On CUDA ({OTHER})", "1 + 2\n")
    badges = [badge.text for badge in slow.select(".claim-badge")]
    assert "held on 1 of 1 processor, 2 of 2 GPUs" in badges
    rows = [row.td.text for row in slow.select(".machines tbody tr")]
    assert [row.partition(", ")[0] for row in rows[1:]] == [OTHER, DEVICE]


def test_a_clock_that_differs_on_one_gpu(tmp_path, stand_in):
    """Its card says on which GPU; a build that demands current records does not fail for it."""
    slow = claim_text("slow-is-slower", ">>> 1 + 1\n2", ":machine: clock\n")
    book = TinyBook(tmp_path, {"index": f"# I\n\n{slow}"})
    for device in (DEVICE, OTHER):
        done = book.claimbook("record", "--lane", "cuda", **stand_in, STAND_IN_DEVICE=device)
        assert done.returncode == 0
    store, [claim] = Records.of(book.docs, Lane.CUDA, pytest.fail), Book.load(book.root).claims
    [here] = [each for each in store.load_all(claim) if each.environment.device == OTHER]
    assert store.save(claim, replace(here, outcome=Outcome.VARIED, outputs=("3",), message="value"))
    done = book.sphinx("-D", "claimbook_strict_cuda=1")
    assert (done.returncode, done.stderr) == (0, "")
    card = book.page("index").select_one("#claim-slow-is-slower")
    assert [badge.text for badge in card.select(".claim-badge")] == [
        "CUDA other output on a machine that ran it",
        "held on 1 of 1 processor, 1 of 2 GPUs",
    ]
    assert card.select(".claim-fold")[-1].summary.text == f"On CUDA ({OTHER})"


def test_data_hold_each_gpu(on_two):
    """What speaks for the lane, and beside it the others."""
    data = json.loads((on_two.site / "claims.json").read_text("utf-8"))
    jsonschema.validate(data, json.loads((STATIC / "claims.schema.json").read_text("utf-8")))
    [lane] = [claim["lanes"]["cuda"] for claim in data["claims"] if claim["id"] == "sums"]
    assert (lane["status"], lane["device"], lane["outputs"]) == ("failing", OTHER, ["4"])
    assert [(run["device"], run["outputs"]) for run in lane["others"]] == [(DEVICE, ["3"])]


def test_a_renamed_claim_keeps_what_each_gpu_did(on_two):
    """And a build on one of them runs nothing that it has run."""
    assert on_two.claimbook("rename", "slow-is-slower", "it-is-slower").returncode == 0
    store, [claim] = (
        Records.of(on_two.docs, Lane.CUDA, pytest.fail),
        Book.load(on_two.root).select(["it-is-slower"]),
    )
    assert [each.environment.device for each in store.load_all(claim)] == [OTHER, DEVICE]


def test_another_release_on_a_gpu(tmp_path, stand_in):
    """It is kept apart from those on the CPU; cards say what differs there, the timeline counts."""
    pages = {
        "index": f"# I\n\n{CLAIMS[0]}\n{CLAIMS[4]}\n```{{toctree}}\nt\n```\n",
        "t": "# T\n\n```{timeline}\n```\n",
    }
    book = TinyBook(tmp_path, pages)
    done = book.claimbook("release", "--lane", "cuda", **stand_in, STAND_IN_TORCH="2.99.0+cu130")
    assert (done.returncode, done.stdout) == (0, "torch 2.99.0: 1 holds, 1 value\n")
    assert (book.docs / "records/cuda-releases/2.99.0.json").is_file()
    assert book.sphinx().returncode == 0
    badges = book.page("index").select("#claim-prints-a-script .claim-badge")
    assert "torch with CUDA other output on 2.99.0" in [badge.text for badge in badges]
    [fold] = book.page("index").select("#claim-prints-a-script .claim-fold")
    assert fold.summary.text == "On torch 2.99.0 with CUDA"
    assert "<script>cuda</script>" in fold.text
    rows = [[td.text.strip() for td in tr.select("td")] for tr in book.page("t").select("tbody tr")]
    assert rows == [[f"2.99.0 with CUDA ({DEVICE})", "2", "1", "values: 1"]]
    data = json.loads((book.site / "claims.json").read_text("utf-8"))
    found = {claim["id"]: claim["cuda_releases"] for claim in data["claims"]}
    assert found == {"holds": {"2.99.0": "holds"}, "prints-a-script": {"2.99.0": "value"}}


def test_a_release_needs_the_lane(tmp_path):
    """Without a GPU nothing is kept."""
    book = TinyBook(tmp_path, {"index": f"# I\n\n{CLAIMS[0]}"})
    done = book.claimbook("release", "--lane", "cuda")
    assert done.returncode == 2
    assert done.stderr.count("1 skipped") == 1
    assert done.stderr.endswith("the cuda lane cannot run here; nothing was recorded\n")
    assert not (book.docs / "records/cuda-releases").exists()


def slow(begun):
    """A claim that tells by a file that it has begun, and does not end."""
    code = f">>> import pathlib, time\n>>> pathlib.Path({str(begun)!r}).touch()\n>>> time.sleep(60)"
    return claim_text("slow", code, ":timeout: 90\n")


def interrupt(book, stand_in, command, begun):
    """Interrupt a command on the stand-in when the claim `slow` has begun; return its stderr."""
    begun.unlink(missing_ok=True)
    running = subprocess.Popen(
        [sys.executable, "-m", "claimbook", command, "--lane", "cuda"],
        cwd=book.root,
        env={**os.environ, **stand_in},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert is_soon(begun.exists)
    os.killpg(running.pid, signal.SIGINT)
    _, told = running.communicate(timeout=120)
    assert running.returncode != 0
    return told


def test_an_interrupted_record_keeps_what_was_done(tmp_path, stand_in):
    """What had run is kept whole, and the next run adds the rest."""
    begun = tmp_path / "begun"
    book = TinyBook(tmp_path, {"index": f"# I\n\n{CLAIMS[0]}\n{slow(begun)}"})
    interrupt(book, stand_in, "record", begun)
    store, claims = Records.of(book.docs, Lane.CUDA, pytest.fail), Book.load(book.root).claims
    assert [store.load(claim) is not None for claim in claims] == [True, False]
    book.replace("docs/index.md", "time.sleep(60)", "time.sleep(0)")
    done = book.claimbook("record", "--lane", "cuda", **stand_in)
    assert done.stdout == "1 record written under docs/records/cuda, 1 as before\n"


def test_an_interrupted_release_keeps_what_was_done(tmp_path, stand_in):
    """The next run begins with the rest; the whole of another GPU stays until a run has ended."""
    quick = [claim_text(f"quick-{number}", ">>> 1 + 1\n2") for number in range(SAVED)]
    begun = tmp_path / "begun"
    book = TinyBook(tmp_path, {"index": "# I\n\n" + "\n".join([*quick, slow(begun)])})
    releases = CudaReleases.of(book.docs)

    def kept():
        [release] = releases.load_all(pytest.fail)
        return release

    count = SAVED + 1
    assert f"not run: 1 of {count} claims" in interrupt(book, stand_in, "release", begun)
    assert {*kept().claims} == {f"quick-{number}" for number in range(SAVED)}
    assert f"not run: {count} of {count} claims" in interrupt(book, stand_in, "release", begun)
    last = Result(short_digest(Book.load(book.root).claims[-1], Lane.CUDA), Outcome.PASSED)
    elsewhere = replace(kept().environment, device=OTHER)
    releases.save(replace(kept(), environment=elsewhere, claims={**kept().claims, "slow": last}))
    assert f"not run: 1 of {count} claims" in interrupt(book, stand_in, "release", begun)
    assert kept().environment.device == OTHER
    book.replace("docs/index.md", "time.sleep(60)", "time.sleep(0)")
    done = book.claimbook("release", "--lane", "cuda", **stand_in)
    assert done.stdout.endswith(f": {count} holds\n")
    assert kept().environment.device == DEVICE
    assert len(kept().claims) == count


def test_what_is_due_is_recorded_first(tmp_path, stand_in):
    """A run that is cut off has done the claims that had no record of their current code."""
    claims = [claim_text(name, f">>> {n}\n{n}") for n, name in enumerate(("a", "b", "c", "d"))]
    book = TinyBook(tmp_path, {"index": "# I\n\n" + "\n".join(claims)})
    assert book.claimbook("record", "--lane", "cuda", "a", "b", "d", **stand_in).returncode == 0
    store = Records.of(book.docs, Lane.CUDA, pytest.fail)
    [claim] = Book.load(book.root).select(["a"])
    old = store.load(claim)
    assert store.save(claim, replace(old, recorded=replace(old.recorded, date="2999-01-31")))
    book.replace("docs/index.md", ">>> 1\n1", ">>> 1 + 0\n1")
    store, claims = Records.of(book.docs, Lane.CUDA, pytest.fail), Book.load(book.root).claims
    assert [c.id for c in sorted(claims, key=store.last_run)] == ["b", "c", "d", "a"]


SPOILT = {
    "it breaks off": (lambda line: line[:-100], "not a record: "),
    "another output": (
        lambda line: line.replace("tensor(2.)", "<script>alert(1)</script>"),
        "checksum is wrong after an edit or a merge",
    ),
}


def test_spoilt_records_are_named_and_count_as_missing(tmp_path, stand_in):
    """Whatever became of a record, its line is told, its claim was not run, nothing gets in."""
    claims = [
        claim_text(f"claim-{n}", ">>> torch.ones(2).sum()\ntensor(2.)")
        for n in range(len(SPOILT) + 1)
    ]
    book = TinyBook(tmp_path, {"index": "# I\n\n" + "\n".join(claims)})
    assert book.claimbook("record", "--lane", "cuda", **stand_in).returncode == 0
    path = records_of(book)
    lines = path.read_text("utf-8").rstrip("\n").split("\n")
    for number, (spoil, _) in enumerate(SPOILT.values(), 2):
        lines[number] = spoil(lines[number])
    path.write_text("\n".join(lines), "utf-8")
    done = book.sphinx()
    told = [line for line in done.stderr.splitlines() if "[claim.broken-record]" in line]
    assert done.returncode == 1
    for number, (_, said) in enumerate(SPOILT.values(), 3):
        assert told[number - 3].startswith(f"{path}:{number}: ")
        assert said in told[number - 3]
        assert told[number - 3].count("it counts as missing") == 1
    assert len(told) == len(SPOILT)
    built = (book.site / "index.html").read_text("utf-8")
    assert built.count("<strong>CUDA</strong> not run yet") == len(SPOILT)
    ran = book.page("index").select_one(".provenance").text
    assert ran.endswith(f"; CUDA ({DEVICE}), 1 of them.")
    assert "alert(1)" not in built


def test_no_stranger_reaches_our_gpus():
    """A job on a GPU of the project's own runs for no pull request, and no workflow has a token."""
    found = []
    for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
        workflow = yaml.load(path.read_text("utf-8"), yaml.BaseLoader)
        assert "pull_request_target" not in workflow["on"]
        assert workflow["permissions"] == {}
        for job in workflow["jobs"].values():
            if "cuda" in job.get("runs-on", ""):  # one that calls a workflow names no machine
                asked = "github.event_name != 'pull_request'" in job.get("if", "").split(" && ")
                found.append((path.name, asked or "pull_request" not in workflow["on"]))
    assert {*found} == {("ci.yml", True), ("cuda.yml", True)}


def test_a_fork_without_a_gpu_waits_for_none():
    """Jobs on one, and those that use what they made, do not run where the settings say so."""
    for name in ("ci", "cuda"):
        workflow = yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text("utf-8"))
        jobs = workflow["jobs"]
        on_gpu = {each for each, job in jobs.items() if "cuda" in job["runs-on"]}
        after = {each for each, job in jobs.items() if on_gpu & {*job.get("needs", ())}}
        assert on_gpu
        for each in on_gpu | after:
            assert "vars.CUDA_RUNNER != 'none'" in jobs[each]["if"]
        for page in ("cuda", "publish"):
            assert "`CUDA_RUNNER`" in (ROOT / f"docs/contributing/{page}.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("name", "site"),
    [
        ("book", "https://ada.github.io/book/"),
        ("ada.github.io", "https://ada.github.io/"),
    ],
)
def test_the_address_of_the_site(name, site):
    """GitHub Pages gives each repository a folder, except the one that is named as the site is."""
    text = (ROOT / ".github/workflows/docs.yml").read_text("utf-8")
    address = yaml.safe_load(text)["env"]["BOOK_URL"]
    about = SimpleNamespace(
        repository_owner="ada", event=SimpleNamespace(repository=SimpleNamespace(name=name))
    )
    names = {"github": about, "format": str.format}

    def said(expression):
        code = expression[1].replace("&&", "and").replace("||", "or")
        return eval(code, names)

    assert re.sub(r"\${{ (.*?) }}", said, address) == site
    assert text.count(".github.io") == address.count(".github.io")  # nothing else spells it out


def test_the_nightly_run_leaves_no_part_out():
    """Each folder of pages with claims for a GPU has a job, and no job has nothing to run."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/cuda.yml").read_text("utf-8"))
    parts = workflow["jobs"]["record"]["strategy"]["matrix"]["part"]
    claims = [claim for claim in whole_book().claims if Lane.CUDA in claim.lanes]
    first = {claim.location.path.split("/")[1] for claim in claims}
    assert {*parts} == first


def test_what_a_job_recorded_before_it_failed_is_proposed():
    """The steps after the run take place however it ends, and so does the job after all."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/cuda.yml").read_text("utf-8"))["jobs"]
    *_, run, pack, upload = jobs["record"]["steps"]
    assert "nox -s record" in run["run"]
    assert (pack["if"], upload["if"]) == ("always()", "always()")
    packed = upload["with"]["path"].replace("${{ matrix.part }}", "$PART")
    assert f'tar -czf "{packed}" ' in pack["run"]
    assert jobs["propose"]["if"].startswith("${{ !cancelled() && ")
