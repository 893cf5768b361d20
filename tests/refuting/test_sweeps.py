"""Sweeps: what is drawn, how a counterexample is told, what is kept and shown."""

import json
import re
import shutil

import pytest
import torch
from click.testing import CliRunner
from hypothesis import given, settings

from claimbook.cli import main
from claimbook.pages.book import Book
from claimbook.sweeps.results import Results
from claimbook.sweeps.search import code, error, same, sweep
from claimbook.sweeps.strategies import (
    ALL,
    LAYOUTS,
    assume,
    dims,
    integers,
    orders,
    several,
    shapes_like,
    shapes_together,
    tensors,
)
from claimbook.sweeps.written import ASSERT
from claimbook.teach.measure import measurements
from helpers import ROOT, STAND_IN, TinyBook, claim_text, signed, whole_book

ANY = tensors(ALL, layouts=(*LAYOUTS, "expanded"), values="special")


def found(made, capsys):
    """What a sweep prints, and what it says it drew."""
    measurements.clear()
    made.search()
    return capsys.readouterr().out, {m.name: m.value for m in measurements}


@given(ANY)
@settings(max_examples=200, deadline=None)
def test_code_makes_the_tensor(x):
    """What is printed of a case is the case: values, dtype, shape, strides, offset."""
    again = eval(code(x), {"torch": torch})
    assert (again.shape, again.dtype) == (x.shape, x.dtype)
    assert again.stride() == x.stride()
    same(again, x)


def test_drawn_cases_are_counted(capsys):
    """Every kind of tensor is among them; what is left out counts for nothing."""

    @sweep(x=tensors(ALL), dim=lambda x: integers(0, x.dim()))
    def holds(x, dim):
        assume(dim < 4)

    printed, drawn = found(holds, capsys)
    assert printed == ""
    assert drawn["cases"] == 300
    assert drawn["dtypes"] == len(ALL)
    assert (drawn["lowest rank"], drawn["highest rank"]) == (0, 4)
    assert {"empty tensors", "non-contiguous tensors", "values of dim"} <= drawn.keys()


def test_counterexample_is_small_and_runs(capsys):
    """It is made as small as can be, and what is printed refutes the rule when it is pasted."""

    @sweep(x=tensors(ALL, rank=(1, 4)))
    def transposed_is_contiguous(x):
        assert x.transpose(0, -1).is_contiguous(), "not contiguous"

    printed, drawn = found(transposed_is_contiguous, capsys)
    names = {"torch": torch}
    exec(printed, names)
    assert names["x"].shape == (2, 2)
    assert not names["x"].transpose(0, -1).is_contiguous()
    assert printed.endswith("# AssertionError: not contiguous\n")
    assert drawn == {}


def test_tensors_of_a_list_are_counted_and_told(capsys):
    """As those that are drawn alone; the list is Python too."""

    @sweep(xs=several(tensors(torch.int32, rank=(1, 2), size=(1, 2)), max_size=3))
    def holds(xs):
        assert xs is not None

    _, drawn = found(holds, capsys)
    assert (drawn["dtypes"], drawn["lowest rank"], drawn["highest rank"]) == (1, 1, 2)
    assert "values of xs" not in drawn

    @sweep(xs=several(tensors(torch.int32, rank=(1, 1), size=(1, 2)), max_size=3))
    def none_is_there(xs):
        assert not xs

    printed, _ = found(none_is_there, capsys)
    assert re.match(r"xs = \[torch\.tensor\(\[\d\], dtype=torch\.int32\)\]\n", printed)


def test_case_is_told_as_it_was_drawn(capsys):
    """What the rule does to a tensor in place is not in its counterexample."""

    @sweep(x=tensors(rank=(1, 1), size=(1, 3), layouts=("contiguous",)))
    def nothing_is_seven(x):
        x.fill_(7)
        assert x[0] != 7

    printed, _ = found(nothing_is_seven, capsys)
    assert "7.0" not in printed


def test_search_is_the_same_each_time(capsys):
    """Whatever was drawn before."""

    @sweep(x=tensors(values="normal", rank=(1, 3), size=(1, 4)))
    def sum_is_small(x):
        assert x.sum() < 1

    torch.rand(3)
    first = found(sum_is_small, capsys)
    torch.rand(5)
    assert found(sum_is_small, capsys) == first
    assert first[0]


@given(shapes_together(3))
@settings(max_examples=100, deadline=None)
def test_shapes_broadcast(shapes):
    torch.broadcast_shapes(*shapes)


@given(ANY.flatmap(lambda x: shapes_like(x).map(lambda shape: (x, shape))))
@settings(max_examples=100, deadline=None)
def test_shapes_have_as_many_elements(drawn):
    x, shape = drawn
    assert x.reshape(shape).shape == shape


@given(tensors(rank=(1, 4)).flatmap(lambda x: dims(x).map(lambda dim: (x, dim))))
@settings(max_examples=50, deadline=None)
def test_dims_are_of_the_tensor(drawn):
    x, dim = drawn
    assert x.select(dim, 0).dim() == x.dim() - 1 if x.size(dim) else x.size(dim) == 0


@given(ANY.flatmap(lambda x: orders(x).map(lambda order: (x, order))))
@settings(max_examples=50, deadline=None)
def test_orders_permute(drawn):
    x, order = drawn
    assert x.permute(order).dim() == x.dim()


def test_error_tells_the_first_line():
    assert error(lambda: torch.ones(2) + torch.ones(3)).startswith("RuntimeError: The size of")
    assert error(lambda: torch.ones(2)) == ""


SWEEPS = '''"""Sweeps of the sums."""

from claimbook.sweeps.search import same, sweep
from claimbook.sweeps.strategies import dims, tensors


@sweep(cases=100, x=tensors(rank=(1, 3)))
def sum_adds(x):
    same(x.sum(), x.flatten().sum(0))
'''


@pytest.fixture
def book(tmp_path):
    """A book with one sweep."""
    made = TinyBook(tmp_path)
    (tmp_path / "docs/sweeps").mkdir()
    (tmp_path / "docs/sweeps/a.py").write_text(SWEEPS)
    return made


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A book whose sweep was run, and what the command said."""
    made = TinyBook(tmp_path_factory.mktemp("swept"))
    made.write("docs/sweeps/a.py", SWEEPS)
    return made, made.claimbook("sweep", "sum-adds")


def test_command_keeps_what_it_found(swept, tmp_path):
    """A sweep runs once, again when it or its statement is edited, and always with `--fresh`."""
    (before, first), book = swept, TinyBook(tmp_path)
    shutil.copytree(before.root, book.root, dirs_exist_ok=True)
    assert (first.returncode, first.stderr) == (0, "")
    assert (
        first.stdout
        == "sum-adds: 100 cases: ranks 1 to 3, 2 dtypes, empty tensors, non-contiguous tensors\n"
    )
    kept = book.root / "docs/records/sweeps/a.jsonl"
    lines = kept.read_text()
    again = book.claimbook("sweep").stdout
    assert again == "statements without a counterexample: 1, in 100 cases\n"
    assert kept.read_text() == lines
    book.replace("docs/sweeps/a.py", "rank=(1, 3)", "rank=(1, 2)")
    assert book.claimbook("sweep").returncode == 0
    assert kept.read_text() != lines


def test_a_sweep_uses_all_that_its_file_does(book):
    """Functions keep their decorators, and calls are made."""
    helper = "from functools import cache\n\nRANKS = []\nRANKS.append((1, 3))\n\n\n"
    helper += "@cache\ndef rank():\n    return RANKS[0]\n\n\n"
    book.replace("docs/sweeps/a.py", "@sweep", f"{helper}@sweep")
    book.replace("docs/sweeps/a.py", "tensors(rank=(1, 3))", "tensors(rank=rank())")
    book.replace("docs/sweeps/a.py", "    same(x", "    rank.cache_clear()\n    same(x")
    done = book.claimbook("sweep")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["cases", "lowest rank", "highest rank"])
def test_a_record_of_other_form_is_broken(swept, tmp_path, name):
    """As of another release of the package: it is named, and ends no build."""
    (before, _), folder = swept, tmp_path / "sweeps"
    [shared, line] = map(
        json.loads, (before.docs / "records/sweeps/a.jsonl").read_text().splitlines()
    )
    del line["checksum"], line["drawn"][name]
    folder.mkdir()
    kept = [json.dumps(shared), signed(line, (shared["torch"], None))]
    (folder / "a.jsonl").write_text("\n".join(kept))
    told = []
    results = Results(folder, lambda *said: told.append(said))
    assert results.load(Book.load(before.root).by_id["sum-adds"]) is None
    assert [why for _, why in told] == [
        "not a record: it lacks the number of cases, or one of the two ranks"
    ]


def test_command_tells_a_counterexample(book):
    """With its place, as code, and what to do; nothing of it is kept."""
    book.replace("docs/sweeps/a.py", "x.flatten().sum(0)", "x.sum(0)")
    done = book.claimbook("sweep", "sum-adds")
    assert done.returncode == 1
    assert done.stderr.startswith("docs/sweeps/a.py:8: sum-adds: a counterexample\n\nx = torch.")
    assert "narrow the statement (docs/a/sums.md:" in done.stderr
    assert not (book.root / "docs/records/sweeps").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (", sweep\n", "\n", "NameError: name 'sweep' is not defined"),
        ("rank=(1, 3)", "ranks=(1, 3)", "unexpected keyword argument 'ranks'"),
        ("tensors(rank=(1, 3))", "lambda y: tensors()", "from y, which is not drawn before it"),
        ("def sum_adds(x)", "def sum_adds(x, y)", "missing a required argument: 'y'"),
        ("x=tensors", "y=tensors", "missing a required argument: 'x'"),
        (", x=tensors(rank=(1, 3))", "", "it draws nothing: name the parameters of its function"),
    ],
)
def test_a_sweep_that_does_not_run_has_no_counterexample(book, old, new, said):
    """What its file or its drawing lacks refutes no claim."""
    book.replace("docs/sweeps/a.py", old, new)
    done = book.claimbook("sweep")
    assert done.returncode == 1
    assert done.stderr.startswith("docs/sweeps/a.py:8: sum-adds: it does not run\n\nTraceback")
    assert said in done.stderr
    assert "\n\nCorrect the sweep, or what its file imports" in done.stderr
    assert "torch is right" not in done.stderr


def test_a_sweep_that_crashes_is_told(book):
    """Of its process nothing is left that could print a case."""
    book.replace("docs/sweeps/a.py", "    same(x", "    import os; os.abort()\n    same(x")
    done = book.claimbook("sweep")
    said = "docs/sweeps/a.py:8: sum-adds: the process died of SIGABRT in example "
    assert (done.returncode, done.stderr[: len(said)]) == (1, said)


def test_a_claim_without_a_sweep_is_told(book):
    """Asked for by name, it is no sweep that has passed."""
    done = book.claimbook("sweep", "prod-multiplies")
    assert (done.returncode, done.stdout) == (2, "")
    advice = "write one in docs/sweeps/, as `def prod_multiplies(…)`"
    assert done.stderr == f"claimbook: nothing to run: no named claim has a sweep; {advice}\n"


def test_what_to_do_about_a_general_title(book):
    """Without a sweep or a reason, its title is listed, with the three ways out."""
    book.write("docs/d.md", "# D\n\n" + claim_text("all-ones", ">>> 1\n1").replace("It", "Each"))
    done = book.claimbook("sweep", "--missing")
    assert "docs/d.md:3: all-ones: Each says so." in done.stdout
    assert done.stderr.endswith(
        "missing, 0 left with a reason\n"
        "Narrow the title, write a sweep, or give a reason in docs/sweeps/<part>.yaml.\n"
        "without a current result: sum-adds; run claimbook sweep\n"
    )


def test_a_sweep_that_was_edited_is_due(book):
    """So is one whose title was; once run, it is not."""
    due = "without a current result: sum-adds; run claimbook sweep\n"
    assert book.claimbook("sweep").returncode == 0
    assert due not in book.claimbook("sweep", "--missing").stderr
    book.replace("docs/sweeps/a.py", "x.flatten()", "x.ravel()")
    done = book.claimbook("sweep", "--missing")
    assert (done.returncode, done.stderr.endswith(due)) == (1, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("A clock:\n  - prod-multiples\n", "2: prod-multiples: no claim has this name; did you"),
        ("A clock: b: c\n", "1: mapping values are not allowed in this context; put a text with"),
        ("# none yet\n- prod-multiplies\n", "2: a reason must be followed by a list of claims"),
        ("A clock:\nNo:\n  - sum-adds\n", "1: a reason must be followed by a list of claims"),
    ],
)
def test_faults_of_reasons_are_named(book, text, said):
    """By their line, as those of sweeps."""
    book.write("docs/sweeps/a.yaml", text)
    done = book.claimbook("sweep", "--missing")
    assert done.returncode == 2
    assert done.stderr.startswith(f"claimbook: docs/sweeps/a.yaml:{said}")


def test_command_searches_on_a_gpu(book):
    """It tells what refutes a sweep there, and keeps nothing; without a GPU it says so."""
    done = book.claimbook("sweep", "--lane", "cuda", **STAND_IN)
    said = "statements without a counterexample: 1, in 100 cases\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")
    book.replace("docs/sweeps/a.py", "x.flatten().sum(0)", "x.sum(0)")
    done = book.claimbook("sweep", "--lane", "cuda", **STAND_IN)
    assert done.returncode == 1
    assert "docs/sweeps/a.py:8: sum-adds: a counterexample\n\nx = torch." in done.stderr
    assert not (book.root / "docs/records/sweeps").exists()
    done = book.claimbook("sweep", "--lane", "cuda")
    said = f"the cuda lane cannot run here: no CUDA device (torch {torch.__version__})"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"claimbook: {said}\n")
    book.replace("docs/a/sums.md", "{claim} sum-adds\n", "{claim} sum-adds\n:lanes: cpu\n")
    done = book.claimbook("sweep", "sum-adds", "--lane", "cuda")
    said = "claimbook: nothing to run: no claim with one of these sweeps runs on cuda\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_an_assertion_that_no_case_reaches_is_named(book):
    """It would pass whatever it says; nothing of the sweep is kept."""
    book.replace("docs/sweeps/a.py", "x.sum(),", "x.sum(0),")
    book.replace(
        "docs/sweeps/a.py", "    same(", "    x = x[x > 4]\n    if x.numel():\n        same("
    )
    done = book.claimbook("sweep")
    assert done.returncode == 1
    place = "docs/sweeps/a.py:11"
    assert f"sum-adds: no drawn case reaches the assertion in {place}, so" in done.stderr
    assert not (book.root / "docs/records/sweeps").exists()


def test_an_assertion_on_the_line_of_its_condition_is_reached_only_under_it(book):
    """The line keeps what stands beside the assertion."""
    book.replace("docs/sweeps/a.py", "    same(", "    if x.dim() > 9: same(")
    done = book.claimbook("sweep")
    assert done.returncode == 1
    assert "no drawn case reaches the assertion in docs/sweeps/a.py:9, so" in done.stderr


FORMS = {
    "beside its condition": "    if x.dim() == 2: same(x, x.clone())\n    assert x.dim() >= 0\n",
    "two on a line": "    assert x.dim() >= 0; assert x.dim() < 100\n",
    "under a pattern": "    match x.dim():\n        case _: assert x.dim() >= 0\n",
    "on several lines": "    same(\n        x,\n        x.clone(),\n    )\n",
    "behind other alphabets": "    é = x.clone(); same(x, é)\n",
    "behind tabs": "\tif x.dim():\n\t\tsame(x, x.clone())\n",
}


@pytest.mark.parametrize("body", FORMS.values(), ids=FORMS.keys())
def test_an_assertion_in_any_form_is_reached(book, body):
    """Also below a form feed, at which Python begins no line."""
    book.replace("docs/sweeps/a.py", "    same(x.sum(), x.flatten().sum(0))\n", body)
    book.replace("docs/sweeps/a.py", "\n\n@sweep", "\x0c\nONE = 1\n\n@sweep")
    done = book.claimbook("sweep")
    assert (done.returncode, done.stderr) == (0, "")


def test_what_a_sweep_uses_keeps_its_decorators(book):
    """It would be something else without them."""
    helper = "import torch\n\n@torch.no_grad()\ndef double(x):\n    return x * 2\n\n\n@sweep(cases"
    book.replace("docs/sweeps/a.py", "@sweep(cases", helper)
    book.replace(
        "docs/sweeps/a.py",
        "same(x.sum(), x.flatten().sum(0))",
        "assert not double(x.float().requires_grad_()).requires_grad",
    )
    done = book.claimbook("sweep")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "def sum_adds(x)",
            "async def sum_adds(x)",
            "docs/sweeps/a.py:8: a sweep is a `def` under `@sweep(…)` alone",
        ),
        (
            "@sweep(cases=100, x=tensors(rank=(1, 3)))",
            "@sweep",
            "docs/sweeps/a.py:8: a sweep is a `def` under `@sweep(…)` alone",
        ),
        (
            "def sum_adds(x)",
            "def sum_ads(x)",
            "docs/sweeps/a.py:8: sum-ads: no claim has this name; did",
        ),
        ("def sum_adds(x)", "def sum_adds(x", "docs/sweeps/a.py:8: '(' was never closed"),
        (
            "same(x.sum(), x.flatten().sum(0))",
            "assert True",
            f"docs/sweeps/a.py:9: `assert True` uses nothing that is drawn; {ASSERT}",
        ),
        (
            "same(x.sum(), x.flatten().sum(0))",
            "same(x, x)",
            f"docs/sweeps/a.py:8: sum_adds asserts nothing; {ASSERT}",
        ),
    ],
)
def test_faults_of_a_file_are_named(book, old, new, said):
    """By its line."""
    book.replace("docs/sweeps/a.py", old, new)
    done = book.claimbook("sweep")
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    ("drawn", "said"),
    [
        ("3", "x=3 draws nothing: give a strategy"),
        ("lambda z: z", "x is drawn from z, which is not"),
    ],
)
def test_what_cannot_be_drawn_is_told(book, drawn, said):
    """In the words of a sweep, not of the library beneath."""
    book.replace("docs/sweeps/a.py", "tensors(rank=(1, 3))", drawn)
    done = book.claimbook("sweep")
    assert done.returncode == 1
    assert f"TypeError: {said}" in done.stderr


def test_a_file_in_a_folder_of_sweeps_is_told(book):
    """Nothing reads it."""
    book.write("docs/sweeps/part/b.py", "")
    done = book.claimbook("sweep")
    said = (
        "claimbook: docs/sweeps/part/b.py:1: sweeps are read in docs/sweeps itself: move it there\n"
    )
    assert (done.returncode, done.stderr) == (2, said)


@pytest.mark.parametrize("fault", ["def (", "\0", "\xff", "@sweep(x=1)\ndef no(x):\n    assert x"])
def test_a_fault_hides_no_other_sweep(book, fault):
    """The command fails all the same, unless what was named has run."""
    (book.docs / "sweeps/0.py").write_bytes(fault.encode("latin-1"))
    done = book.claimbook("sweep", "sum-adds")
    assert (done.returncode, done.stdout.partition(":")[0]) == (0, "sum-adds")
    assert done.stderr.startswith("claimbook: docs/sweeps/0.py:")
    done = book.claimbook("sweep")
    assert (done.returncode, done.stdout.partition(",")[0]) == (
        2,
        "statements without a counterexample: 1",
    )
    built = book.sphinx()
    assert (built.returncode, built.stderr.count("WARNING")) == (1, 1)
    assert "claim-swept" in (book.site / "a/sums.html").read_text("utf-8")


def test_a_build_with_a_fault_goes_on(book):
    """It names the fault as the command does."""
    book.replace("docs/sweeps/a.py", "def sum_adds(x)", "def sum_adds(x")
    built = book.sphinx()
    said = "docs/sweeps/a.py:8: WARNING: '(' was never closed"
    assert said in built.stderr
    assert "Traceback" not in built.stderr
    assert (book.site / "a/sums.html").exists()


def test_pages_show_sweeps(swept):
    """How many cases of which kinds, and the sweep; it is stale once the statement is edited."""
    book, _ = swept
    assert book.sphinx().returncode == 0
    html = (book.site / "a/sums.html").read_text("utf-8")
    said = re.search(r'claim-swept">(.*?)</p>', html)[1]
    assert said == (
        "No counterexample among 100 drawn cases: ranks 1 to 3, 2 dtypes, empty tensors, "
        "non-contiguous tensors."
    )
    data = {c["id"]: c for c in json.loads((book.site / "claims.json").read_text())["claims"]}
    assert data["sum-adds"]["swept"]["cases"] == 100
    assert "1 statements also hold in 100 randomly drawn cases" in (
        book.site / "index.html"
    ).read_text("utf-8")


def test_page_shows_a_sweep_as_it_stands():
    """The example for authors is one of the book's."""
    page = (ROOT / "docs/contributing/add-a-claim.md").read_text("utf-8")
    shown = re.search(r"```text\n(@sweep.*?)```", page, re.DOTALL)[1]
    assert shown in (ROOT / "docs/sweeps/memory.py").read_text("utf-8")


def test_general_titles_are_swept_or_left_with_a_reason(monkeypatch):
    """What speaks of all is searched, as it stands now, or a person says why not."""
    monkeypatch.setattr("claimbook.cli.common.load", whole_book)
    monkeypatch.chdir(ROOT)
    done = CliRunner().invoke(main, ["sweep", "--missing"])
    assert done.stdout == ""
    assert done.exit_code == 0


def test_page_shows_what_a_file_of_sweeps_begins_with(tmp_path):
    """With these lines alone above it, the sweep that is shown runs."""
    page = (ROOT / "docs/contributing/add-a-claim.md").read_text("utf-8")
    sweep, head = re.findall(r"```text\n(@sweep.*?|from claimbook\.sweeps.*?)```", page, re.DOTALL)
    claim = claim_text("contiguous-makes-view-possible", ">>> 1\n1")
    book = TinyBook(tmp_path, {"index": f"# I\n\n{claim}"})
    book.write("docs/sweeps/index.py", f"{head}\n\n{sweep}")
    done = book.claimbook("sweep")
    assert (done.returncode, done.stderr) == (0, "")
