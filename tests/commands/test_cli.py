"""The command `claimbook`, as authors and operators type it."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from click.testing import CliRunner

from claimbook import __version__
from claimbook.cli import _stop, common, main
from claimbook.cli.explain import HINT
from claimbook.engine import environment
from claimbook.model import Environment, Lane, Outcome, Run
from claimbook.pages.book import Book
from helpers import ROOT, TinyBook, claim, claim_text, python

WRONG = claim_text("two-is-three", ">>> torch.ones(2).sum()\ntensor(3.)")
REPORT = """\
docs/wrong.md:8: two-is-three [cpu] failed

  line 8: value: want 3., got 2.
    >>> torch.ones(2).sum()
  - tensor(3.)
  + tensor(2.)

  - is what the page says, + is what the run printed.
  If torch is right, correct the output on the page and the sentence above it;
  if the page is right, fix its code. Run it alone: claimbook run two-is-three
  To accept what was printed: claimbook accept two-is-three
"""


in_an_ascii_folder = pytest.mark.skipif(
    not str(ROOT).isascii(),
    reason="before 3.13, Python in such a locale reads no .pth file there",
)


@pytest.fixture
def book(tmp_path, monkeypatch):
    """The tiny book, as the current folder."""
    monkeypatch.chdir(tmp_path)
    return TinyBook(tmp_path)


def run(*arguments):
    """Exit status, standard output and standard error of the command."""
    done = CliRunner().invoke(main, arguments)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def test_list(book):
    """Claims come with their places and lanes, and are counted."""
    assert run("list", "docs/a") == (
        0,
        (
            "docs/a/shapes.md:3  ones-have-a-shape  cpu\n"
            "docs/a/sums.md:3  sum-adds  cpu cuda\n"
            "docs/a/sums.md:14  prod-multiplies  cpu cuda\n"
            "docs/a/sums.md:24  script-is-text  cpu cuda\n"
            "4 claims\n"
        ),
        "",
    )


@pytest.mark.parametrize(
    ("name", "claims"),
    [
        ("sum-adds", ["sum-adds"]),
        ("docs/a/shapes.md", ["ones-have-a-shape"]),
        ("docs/a/shapes.md::ones-have-a-shape", ["ones-have-a-shape"]),
        ("docs/a/sums.md::sum-adds[cpu]", ["sum-adds"]),
        ("docs", ["ones-have-a-shape", "sum-adds", "prod-multiplies", "script-is-text"]),
    ],
)
def test_names(book, name, claims):
    """A claim is named by its id, its page, a folder, or as pytest names it."""
    *lines, _ = run("list", name)[1].splitlines()
    assert [line.split()[1] for line in lines] == claims


def test_names_from_another_folder(book, monkeypatch):
    """A page is named from the current folder, or as messages name it."""
    monkeypatch.chdir(book.docs / "a")
    for name in ("shapes.md", "docs/a/shapes.md", "../a/shapes.md"):
        assert run("list", name)[1].endswith("ones-have-a-shape  cpu\n1 claim\n")


def test_help_is_not_cut(book):
    """In the list of commands each has a sentence that fits on its line."""
    assert "..." not in run("--help")[1].partition("Commands:")[2]


@pytest.mark.parametrize("command", ["list", "run", "show", "record"])
def test_unknown_name(book, command):
    """A name that names nothing is answered with what is near to it."""
    status, said, error = run(command, "sum-add")
    assert (status, said) == (2, "")
    unknown = "no claim or page with claims has this name"
    assert error == f"claimbook: sum-add: {unknown}; did you mean sum-adds?\n"
    assert run(command, "sam-adds")[2] == error.replace("sum-add:", "sam-adds:")
    assert run(command, "docs/c.md")[2] == (
        f"claimbook: docs/c.md: {unknown}; did you mean docs/a/sums.md or docs/a/shapes.md?\n"
    )
    assert run(command, "zzz")[2] == (
        "claimbook: zzz: no claim or page with claims has this name; see claimbook list\n"
    )


@pytest.mark.parametrize("command", ["run", "show", "accept", "falsify", "sweep"])
def test_a_claim_that_a_mistake_hides(book, command):
    """A name that names nothing may be that of a claim which is not read: what is wrong is told."""
    page = claim_text("two-is-two", ">>> 2\n2").replace(":::{claim}", "::{claim}")
    book.write("docs/two.md", f"# Two\n\n{page}")
    status, _, error = run(command, "two-is-two")
    assert status == 2
    assert "claimbook: two-is-two: no claim or page with claims has this name" in error
    assert "\nOne of these problems may hide it:\ndocs/two.md:" in error
    book.write("docs/two.md", f"# Two\n\n{claim_text('sum-adds', '>>> 2')}")
    assert "docs/two.md:3: sum-adds: this id is taken" in run(command, "two-is-two")[2]


@pytest.mark.parametrize("command", [["list"], ["run"], ["show", "x"], ["record"]])
def test_outside_a_project(tmp_path, monkeypatch, command):
    """Where there is no book, a command says what it looked for."""
    monkeypatch.chdir(tmp_path)
    wanted = "pyproject.toml with [tool.claimbook] here or above"
    said = f"claimbook: {tmp_path}: no {wanted}; go to the book's folder first\n"
    assert run(*command) == (2, "", said)


@pytest.mark.parametrize(
    "path", ["docs/.#index.md", "docs/register/.#basics.yaml", "gallery/.#x.py"]
)
def test_a_file_that_an_editor_locks(book, path):
    """Emacs marks a file that is not saved yet by a hidden link to nothing."""
    (book.root / path).parent.mkdir(exist_ok=True)
    (book.root / path).symlink_to("somebody@somewhere.1:2")
    assert run("list", "docs/a/shapes.md")[0] == 0


@pytest.mark.parametrize("path", ["docs/.ipynb_checkpoints/x.md", "gallery/.cache/x.py"])
def test_what_an_editor_keeps(book, path):
    """A file in a hidden folder is no page and no lab."""
    problems = Book.load(book.root).problems
    book.write(path, "```python\n>>> 1\n```\n" if path.endswith("md") else "a = [\n")
    assert Book.load(book.root).problems == problems


def test_a_page_with_brackets_in_its_name(book):
    """It is named as it is called: brackets are no marks of a style."""
    raises = ">>> 1 / 0\nTraceback (most recent call last):\nZeroDivisionError: division by zero"
    book.write("docs/a [bold].md", f"# Z\n\n{claim_text('zero-fails', raises)}")
    for command in ("list", "show", "falsify"):
        assert "docs/a [bold].md" in run(command, "zero-fails")[1]
    assert "docs/a [bold].md:3" in run("explain", "division by zero")[1]


def test_settings_in_a_comment(book):
    """The words alone make no book."""
    book.write("pyproject.toml", "# [tool.claimbook]\n[[tool.claimbook]]\n")
    status, _, error = run("list")
    assert (status, "no pyproject.toml with [tool.claimbook]" in error) == (2, True)


def test_settings_of_something_else(book, monkeypatch):
    """Those of a project within the book may be broken, as they are not the book's."""
    book.write("app/pyproject.toml", "[tool.app\n")
    monkeypatch.chdir(book.root / "app")
    assert run("list")[0] == 0


def test_broken_settings(book):
    """A pyproject.toml that cannot be read is named, with the line."""
    (book.root / "pyproject.toml").write_bytes(b"\n# \xe4")
    assert run("list")[2].startswith(f"claimbook: {book.root}/pyproject.toml:2: it is not UTF-8")


def test_a_book_without_pages(book):
    """One whose pages are missing is not taken for an empty one."""
    book.docs.rename(book.root / "pages")
    said = f"claimbook: {book.docs}: the folder of the book's pages is missing\n"
    assert run("run") == (2, "", said)


def test_closed_streams(book):
    """Where nobody can be told anything, the status still says what it says elsewhere."""
    command = 'exec "$0" -m claimbook run docs/a/shapes.md <&- >&- 2>&-'
    done = subprocess.run(["sh", "-c", command, sys.executable], check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("path", "data", "said"),
    [
        ("docs/x.md", b"# X\n\xe4", "docs/x.md:2: it is not UTF-8"),
        ("docs/x.md", None, "docs/x.md:1: it cannot be read: No such file or directory"),
        ("docs/\udce9.md", b"# X\n", "docs/\udce9.md:1: its name is not UTF-8: rename it"),
        ("docs/register/x.yaml", None, "docs/register/x.yaml:1: it cannot be read: No such file"),
        ("gallery/x.py", b"# \xe4", "gallery/x.py:1: it is not UTF-8"),
        ("gallery/x.py", None, "gallery/x.py:1: it cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_read(book, path, data, said):
    """It is named with its line, and stops nothing else."""
    file = book.root / path
    file.parent.mkdir(exist_ok=True)
    if data is None:
        file.symlink_to("nowhere")
    else:
        file.write_bytes(data)
    assert run("list")[0] == 0
    assert said in [str(problem)[: len(said)] for problem in Book.load(book.root).problems]


@pytest.fixture
def few_calls():
    """Python stops calls within calls at 400 of them, not at 1,000: fewer lines reach that."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    yield
    sys.setrecursionlimit(before)


def test_directives_nested_too_deep(book, few_calls):
    """Their page is named, which stops nothing else."""
    colons = [":" * number for number in range(220, 3, -1)]
    lines = [*(f"{each}{{note}}" for each in colons), *reversed(colons)]
    book.write("docs/x.md", "\n".join(lines))
    assert run("list")[0] == 0
    said = "docs/x.md:1: its directives are nested too deep"
    assert [str(each)[: len(said)] for each in Book.load(book.root).problems] == [said]


def test_links_and_folders_among_the_pages(book):
    """A link to a page is a page of its own name, wherever it leads; what is no file is none."""
    (book.root / "elsewhere").write_text(claim_text("linked-in", ">>> 1\n1"))
    (book.docs / "x.md").symlink_to(book.root / "elsewhere")
    (book.docs / "y.md").symlink_to("a/shapes.md")
    (book.docs / "z.md").mkdir()
    os.mkfifo(book.docs / "pipe.md")
    assert "docs/x.md:1  linked-in  cpu cuda\n" in run("list")[1]
    twice, _ = Book.load(book.root).problems
    assert str(twice).startswith("docs/y.md:3: ones-have-a-shape: this id is taken by the claim at")


@pytest.mark.parametrize("option", [["--fresh"], ["--jobs", "2"], ["--lane", "cuda"]])
def test_options_of_a_run_without_one(book, option):
    """What would be passed over is an error."""
    status, _, error = run("sweep", "--missing", *option)
    assert (status, error.splitlines()[-1]) == (
        2,
        "Error: --missing runs nothing: leave out --fresh, --jobs and --lane.",
    )


@pytest.mark.parametrize(
    ("done", "said"),
    [
        (0, "not run: 7 of 7 claims: c0, c1, c2, c3, c4, …\n"),
        (2, "not run: 5 of 7 claims: c2, c3, c4, c5, c6\n"),
        (7, ""),
    ],
)
def test_what_an_interrupt_leaves_is_named(capsys, done, said):
    """The first of the claims that did not run, and whether there are more."""
    claims = [claim(f"c{number}", ">>> 1\n1") for number in range(7)]

    def run(claims, lane):
        yield from [(each, Run(each.id, lane, Outcome.PASSED)) for each in claims[:done]]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        [*common.progress(SimpleNamespace(run=run), claims, Lane.CPU)]
    assert capsys.readouterr().err == said


def test_an_interrupt_while_the_command_is_imported(tmp_path):
    """It shows nobody the insides of Python's imports."""
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt\n")
    found = os.pathsep.join([str(tmp_path), *sys.path])
    done = python("-m", "claimbook", "list", PYTHONPATH=found)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    [command] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "scripts"
    ].items()
    assert command == ("claimbook", "claimbook.__main__:main")


def test_a_folder_of_pages_that_is_a_link(book, monkeypatch):
    """Commands, pytest and Sphinx find the same claims in it, by the same names."""
    there, page = book.root / "there", "docs/part/x.md"
    book.write("there/x.md", claim_text("linked-in", ">>> 1\n2").replace("It", "# X\n\nIt"))
    (there / "up").symlink_to(there)  # has no end
    (book.root / "docs/part").symlink_to(there)
    claims = [claim for claim in Book.load(book.root).claims if claim.location.path == page]
    assert [claim.id for claim in claims] == ["linked-in"]
    assert f"{page}::linked-in[cpu]\n" in book.pytest(page, "--collect-only", "-q").stdout
    project = Book.load(book.root).project
    assert project.name(there / "x.md") == "there/x.md"
    monkeypatch.chdir((book.root / page).parent)
    assert run("list", "x.md")[1].count(f"{page}:") == 1


def test_a_folder_that_one_comes_to_by_a_link(book, tmp_path_factory):
    """Its files have the names that they have without it."""
    link = tmp_path_factory.mktemp("elsewhere") / "book"
    link.symlink_to(book.root)
    project = Book.load(link).project
    assert project.name(link / "docs/a/sums.md") == "docs/a/sums.md"


@pytest.mark.parametrize("command", ["run", "list", "show", "accept", "record"])
def test_an_empty_name_names_nothing(book, command):
    """It is what a script has of a variable that is not set; it does not stand for the book."""
    status, _, error = run(command, "")
    assert (status, error.split(";")[0]) == (
        2,
        "claimbook: '': no claim or page with claims has this name",
    )


@pytest.mark.parametrize("command", ["record", "release"])
def test_a_book_without_claims_records_nothing(tmp_path, monkeypatch, command):
    """And says so."""
    monkeypatch.chdir(tmp_path)
    TinyBook(tmp_path, {"index": "# I\n"})
    said = "claimbook: nothing to run: no claim of the book runs on cpu\n"
    assert run(command) == (2, "", said)
    assert not (tmp_path / "docs/records").exists()


@pytest.mark.parametrize("name", ["a.py", "a.yaml"])
def test_sweeps_that_cannot_be_read(book, name):
    """They are named, in a line."""
    book.write("docs/sweeps/x", "")
    (book.docs / "sweeps" / name).write_bytes(b"#\n# \xe4\n")
    status, _, error = run("sweep", "--missing")
    assert (status, error.count("\n")) == (2, 1)
    assert error.startswith(f"claimbook: docs/sweeps/{name}:2: it is not UTF-8: save it")


def test_two_sweeps_of_one_claim(book):
    """Neither is passed over in silence."""
    for name in ("a", "b"):
        book.write(f"docs/sweeps/{name}.py", "@sweep(x=1)\ndef sum_adds(x):\n    assert x\n")
    status, _, error = run("sweep", "--missing")
    said = "docs/sweeps/b.py:2: sum-adds has a sweep already, at docs/sweeps/a.py:2"
    assert (status, error) == (2, f"claimbook: {said}; remove one of the two\n")


def test_a_disk_that_is_full(book):
    """What cannot be printed is an error of one line."""
    command = [sys.executable, "-m", "claimbook", "list"]
    buffered = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=buffered
        )
    assert (done.returncode, done.stderr) == (2, "claimbook: [Errno 28] No space left on device\n")


def test_broken_register(book):
    """A wrong line of the register is named, and stops no claim."""
    book.write("docs/register/basics.yaml", "- id: basics-01\n")
    status, _, error = run("run", "docs")
    wrong, counts = error.splitlines()
    assert status == 1
    assert wrong == (
        "docs/register/basics.yaml:1: expected entries, id, question, found id [claim.bad-register]"
    )
    assert counts.startswith("4 passed on cpu")
    status, _, error = run("run", "docs/a")
    assert (status, error.splitlines()[0]) == (
        0,
        "claimbook: 1 problem on other pages; claimbook run lists all",
    )


def test_run(book):
    """Claims that pass are counted, with the time."""
    status, said, error = run("run", "docs/a", "-j", "1")
    assert (status, said) == (0, "")
    assert error.startswith("4 passed on cpu in ")


def test_two_claims_of_one_id(book):
    """Each is run; the one that holds is not blamed for the other."""
    book.write("docs/first.md", "# First\n\n" + claim_text("same", ">>> 1 + 1\n2"))
    book.write("docs/second.md", "# Second\n\n" + claim_text("same", ">>> 1 + 1\n3"))
    status, said, error = run("run", "-j", "1", "docs/first.md", "docs/second.md")
    assert (status, said.count("same failed"), "docs/first.md" in said) == (1, 1, False)
    assert "1 failed, 1 passed on cpu in " in error


def test_run_that_fails(book):
    """A claim that fails is told whole, and the status is 1."""
    book.write("docs/wrong.md", f"# Wrong\n\n{WRONG}")
    status, said, error = run("run", "-j", "1", "docs/wrong.md", "prod-multiplies")
    where = environment.describe(Lane.CPU)
    assert (status, said) == (
        1,
        (
            f"Claims that fail on {where.device} with torch {where.torch}:\n"
            "docs/wrong.md:8: two-is-three failed: value: want 3., got 2.\n"
        ),
    )
    assert error.startswith(REPORT)
    assert error.removeprefix(REPORT).strip().startswith("1 failed, 1 passed on cpu in ")


def test_problems_fail_a_run(book):
    """What is wrong with a page is told, and the status is 1, though all claims pass."""
    book.write("docs/wrong.md", "# Wrong\n\nFine.\n")
    (book.docs / "wrong.md").write_bytes(b"# Wrong\n\nNot UTF-8:\n\xff\n")
    status, _, error = run("run", "-j", "1")
    assert status == 1
    assert error.startswith(
        "docs/wrong.md:4: it is not UTF-8: save it with this encoding [claim.unreadable]\n4 passed"
    )


def test_output_that_a_terminal_would_obey(book):
    """A control character is shown, not sent; and a difference that consists in it is seen."""
    code = r">>> print('a\rb\x1b[2J')"
    book.write("docs/wrong.md", "# Wrong\n\n" + claim_text("obeys", f"{code}\na"))
    error = run("run", "-j", "1", "obeys")[2]
    assert "\n  - a\n  + a␍b␛[2J\n" in error


def test_output_that_floods(book):
    """A difference is told in as many lines as a person reads, and says where the whole is."""
    flood = claim_text("floods", ">>> for i in range(5000): print(i)\n>>> 'x' * 5000\n1")
    book.write("docs/wrong.md", f"# Wrong\n\n{flood}")
    status, _, error = run("run", "-j", "1", "floods")
    assert status == 1
    assert (
        "\n  + 29\n    … 4940 more lines (`claimbook run --json` prints all)\n  + 4970\n" in error
    )
    assert f"'{'x' * 497}… 4504 more characters (`claimbook run --json` prints all)\n" in error
    assert len(error.splitlines()) < 100


def test_run_in_another_order(book):
    """Each seed is an order, and all claims run."""
    orders = set()
    for seed in range(4):
        status, said, _ = run("run", "--json", "-j", "1", "--shuffle", str(seed), "docs/a/sums.md")
        names = tuple(each["claim"] for each in json.loads(said))
        assert (status, sorted(names)) == (0, ["prod-multiplies", "script-is-text", "sum-adds"])
        orders.add(names)
    assert len(orders) > 1


def test_run_as_json(book):
    """A machine is told of each claim what it printed and why it failed."""
    book.write("docs/wrong.md", f"# Wrong\n\n{WRONG}")
    status, said, _ = run("run", "--json", "-j", "1", "docs/wrong.md")
    (found,) = json.loads(said)
    assert status == 1
    assert found.pop("seconds") > 0
    assert found == {
        "claim": "two-is-three",
        "lane": "cpu",
        "outcome": "failed",
        "message": "value: want 3., got 2.",
        "place": "docs/wrong.md:8",
        "outputs": ["tensor(2.)"],
    }


@pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is there")
def test_lane_that_cannot_run(book):
    """Without a GPU the cuda lane is skipped with its reason; where it is required, it fails."""
    reason = f"cuda: no CUDA device (torch {torch.__version__})\n3 skipped on cuda in "
    status, _, error = run("run", "--lane", "cuda", "docs/a/sums.md")
    assert status == 0
    assert error.startswith(reason)
    status, _, error = run("run", "--lane", "cuda", "--require-lane", "docs/a/sums.md")
    assert status == 2
    assert error.startswith(reason)
    assert error.endswith("claimbook: the cuda lane cannot run here, and --require-lane is given\n")
    status, said, error = run("record", "--lane", "cuda", "docs/a/sums.md")
    assert (status, said) == (2, "")
    assert error.startswith(reason)
    assert error.endswith("claimbook: the cuda lane cannot run here; nothing was recorded\n")
    assert not (book.docs / "records/cuda").exists()


def test_record(book):
    """Records are written where the store keeps them, and not again if nothing changed."""
    status, said, _ = run("record", "-j", "1", "docs/a")
    assert status == 0
    assert said.startswith(
        "4 records written under docs/_build/records/cpu\nthis machine's results are in"
    )
    records = book.docs / "_build/records/cpu/a/sums.jsonl"
    _, *lines = map(json.loads, records.read_text("utf-8").rstrip("\n").split("\n"))
    outputs = {line["claim"]: line["outputs"] for line in lines}
    assert outputs["sum-adds"] == ["tensor(2.)"]
    assert run("record", "-j", "1", "sum-adds")[1].startswith("0 records written ")


def test_a_skipped_claim(book, monkeypatch):
    """One that does not run here differs from nothing, and falsifying it says why it does not."""
    book.write("docs/c.md", claim_text("of-the-cpu-build", ">>> 1\n1", ":cpu-build:\n"))
    monkeypatch.setattr(
        "claimbook.engine.workers.Environment",
        lambda **made: Environment(**{**made, "torch": "2.13.0+cu130"}),
    )
    status, said, _ = run("record", "-j", "1", "docs/c.md")
    assert (status, said.splitlines()[0]) == (
        0,
        "0 records written under docs/_build/records/cpu",
    )
    status, _, error = run("falsify", "-j", "1", "docs/c.md")
    said = "of-the-cpu-build is about a build of torch without CUDA"
    assert (status, error.startswith(f"cpu: {said}\n1 skipped on cpu in ")) == (0, True)


def test_show_what_is_open(book):
    """Entries without an answer, with what would answer them; status 1 if there are any."""
    status, said, _ = run("show", "basics", "--open")
    assert (status, said.splitlines()[0]) == (1, "basics-01.3  A sum is fast.")
    assert ": open: nothing answers 'A sum is fast.': write a claim with" in said.splitlines()[1]
    assert len(said.splitlines()) == 2
    assert run("show", "basics-02", "--open") == (0, "", "")
    for name in ("sum-adds", "docs/a/sums.md"):
        said = f"claimbook: {name}: --open is about an entry, a question or a source\n"
        assert run("show", name, "--open") == (2, "", said)


def test_show_a_broken_source(book):
    """Why nothing is known of it is said."""
    book.write("docs/register/talks.yaml", "- id: talks-01\n  question: Is it so: yes?\n")
    status, _, error = run("show", "talks", "--open")
    assert status == 2
    assert error.startswith("docs/register/talks.yaml:2: mapping values are not allowed")
    assert "; put a text with `: ` in it in quotes [" in error


def test_show_claim(book):
    """A claim is shown with its place, as its page has it."""
    assert run("show", "sum-adds") == (
        0,
        (
            "sum-adds  docs/a/sums.md:3  cpu cuda\n:confirms: basics-01.1\n\nIt says so.\n\n"
            "```pycon\n>>> torch.ones(2).sum()\ntensor(2.)\n```\n\n"
        ),
        "",
    )


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (
            "basics-01.1",
            (
                "basics-01.1  A sum adds `all` elements.\nconfirms\n"
                "  sum-adds  docs/a/sums.md:3: It says so.\n"
            ),
        ),
        (
            "basics-02.1",
            "basics-02.1  People made it.\nremark\n  docs/a/shapes.md:15: History: `sum-adds`.\n",
        ),
        (
            "basics-01.3",
            (
                "basics-01.3  A sum is fast.\ndocs/register/basics.yaml:6: open: nothing answers "
                "'A sum is fast.': write a claim with `:confirms: basics-01.3` (or qualifies, "
                "corrects, updates)\n"
            ),
        ),
    ],
)
def test_show_entry(book, entry, said):
    """An entry is shown with what the book says of it."""
    assert run("show", entry) == (0, said, "")


def test_show_page(book):
    """Of a page, every claim is shown."""
    said = run("show", "docs/a/sums.md")[1]
    places = [line.split()[1] for line in said.splitlines() if "docs/" in line]
    assert places == ["docs/a/sums.md:3", "docs/a/sums.md:14", "docs/a/sums.md:24"]


def test_show_an_unknown_entry(book):
    """Entries and questions are near too."""
    assert run("show", "basics-01.9")[2].endswith("; did you mean basics-01?\n")
    assert run("show", "basic-02.1")[2].endswith(
        "; did you mean basics-02.1 or basics-01.1 or basics-02?\n"
    )


def test_show_what_looks_like_markup(book):
    """A statement is text, whatever stands in brackets."""
    book.replace("docs/register/basics.yaml", "A sum is fast.", "'x[m] and x[/] are fast.'")
    assert run("show", "basics-01.3")[1].startswith("basics-01.3  x[m] and x[/] are fast.\n")


@pytest.mark.parametrize(
    "environ",
    [
        {"PYTHONIOENCODING": "ascii"},
        pytest.param(
            {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""},
            marks=in_an_ascii_folder,
        ),
    ],
)
def test_a_terminal_without_unicode(book, environ):
    """What it cannot show is shown escaped."""
    book.replace("docs/register/basics.yaml", "A sum is fast.", "Σ x³ is fast.")
    shown = book.claimbook("show", "basics-01.3", **environ)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("basics-01.3  \\u03a3 x\\xb3 is fast.\n")


@in_an_ascii_folder
def test_a_folder_that_the_locale_cannot_name(book):
    """Python reads what is not of the locale's alphabet as lone surrogates."""
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    path = os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), "ü"])
    done = book.claimbook("run", "docs/a/sums.md", PYTHONPATH=path, **ascii_only)
    assert (done.returncode, "3 passed" in done.stderr) == (0, True)


def test_a_second_signal_cuts_no_cleanup_short():
    """What ends a command politely, such as nox, may interrupt it first and terminate it then."""
    cleaned = []

    @contextmanager
    def cleaning():
        try:
            yield
        finally:
            _stop(signal.SIGTERM, None)
            cleaned.append(True)

    with pytest.raises(KeyboardInterrupt), cleaning():
        _stop(signal.SIGTERM, None)
    assert cleaned == [True]


def test_as_a_module(tmp_path):
    """`python -m claimbook` is the same command."""
    done = python("-m", "claimbook", "--version", cwd=tmp_path)
    assert done.stdout == f"claimbook, version {__version__}\n"


def test_a_book_without_claims(tmp_path, monkeypatch):
    """A book of prose has nothing to run, which is no error."""
    monkeypatch.chdir(tmp_path)
    TinyBook(tmp_path, {"index": "# Prose\n"})
    status, _, error = run("run")
    assert status == 0
    assert error.startswith("nothing to run on cpu in ")


def test_a_part_of_labs_without_a_gallery(book):
    """Its pages are read; where there is a gallery, the build makes what is in this folder."""
    book.write("docs/labs/sums.md", "# P\n\n" + claim_text("sum-of-labs", ">>> 1\n1"))
    assert "docs/labs/sums.md:3  sum-of-labs" in run("list")[1]
    (book.root / "gallery").mkdir()
    assert "sum-of-labs" not in run("list")[1]


@pytest.mark.parametrize("command", ["run", "record", "accept", "falsify"])
def test_nothing_of_what_is_named_runs(book, command):
    """Whoever names claims wants them run: that none is of the lane is an error."""
    said = "claimbook: nothing to run: no claim that was named runs on cuda\n"
    assert run(command, "--lane", "cuda", "docs/a/shapes.md") == (2, "", said)


def test_explain(book):
    """A traceback is answered with the claims that print it, wherever it is given."""
    text = "Traceback (most recent call last):\nZeroDivisionError: division by zero\n"
    book.write("docs/zero.md", "# Zero\n\n" + claim_text("zero", ">>> 1 / 0\n" + text))
    done = CliRunner().invoke(main, ["explain"], input="  File x, line 3\n" + text)
    assert (done.exit_code, done.stdout) == (
        0,
        "ZeroDivisionError division by zero\n  docs/zero.md:3  zero\n    It says so.\n\n",
    )
    (book.root / "log.txt").write_text(text)
    assert run("explain", "log.txt")[:2] == (0, done.stdout)
    assert run("explain", "ZeroDivisionError: division by zero")[:2] == (0, done.stdout)
    assert run("explain", *text.split())[:2] == (0, done.stdout)
    assert run("explain", f"{'long ' * 999}\n{text}")[:2] == (0, done.stdout)


def test_explain_with_the_nearest(book):
    """A message that differs in words is not taken for the same."""
    said = "ValueError: the first of many rows of this table holds nothing"
    raised = f">>> f()\nTraceback (most recent call last):\n{said}"
    book.write("docs/rows.md", f"# Rows\n\n{claim_text('rows', raised)}")
    status, same, _ = run("explain", said)
    assert (status, same.startswith("ValueError")) == (0, True)
    near = f"Not an exact match, but similar:\n{same}"
    assert run("explain", said.replace("nothing", "gaps"))[:2] == (0, near)


def test_explain_a_message_without_a_type(book):
    """It begins its line."""
    head = "# Limit\n\n## `hit the limit of recompiling`\n\n**In short.** Compile less.\n"
    book.write("docs/limit.md", head)
    status, said, _ = run("explain", "hit the limit of recompiling")
    assert (status, said.splitlines()[0]) == (0, "hit the limit of recompiling")


def test_explain_with_what_helps(book):
    """The short answer of the section that is headed by the error comes before its claims."""
    raised = ">>> 1 / 0\nTraceback (most recent call last):\nZeroDivisionError: division by zero"
    head = "# Zero\n\n## `division by zero`\n\n**In short.** Ask first.\n\n"
    book.write("docs/zero.md", head + claim_text("zero", raised))
    said = "  docs/zero.md:3\n    Ask first.\n  docs/zero.md:7  zero\n    It says so.\n"
    assert run("explain", "ZeroDivisionError: division by zero")[:2] == (
        0,
        f"ZeroDivisionError division by zero\n{said}\n",
    )


def test_another_gpu_is_recorded_whole(book):
    """What an older record has of it is not taken over."""
    status, _, error = run("release", "--changed", "--lane", "cuda")
    assert (status, "--changed needs --lane cpu: another GPU prints other" in error) == (2, True)


def test_explain_beside_a_page_that_cannot_be_read(book):
    """The other pages say what they know."""
    text = "Traceback (most recent call last):\nZeroDivisionError: division by zero\n"
    book.write("docs/zero.md", "# Zero\n\n" + claim_text("zero", ">>> 1 / 0\n" + text))
    (book.docs / "bad.md").write_bytes(b"# Bad\n\xff\n")
    status, said, _ = run("explain", text)
    assert (status, "docs/zero.md:3  zero" in said) == (0, True)


def test_explain_what_is_no_text(book):
    """Bytes that are no UTF-8 end nothing, from standard input as from a file."""
    done = subprocess.run(
        [sys.executable, "-m", "claimbook", "explain"],
        input=b"RuntimeError: \xff",
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, b"")


def test_explain_what_is_typed(book):
    """One Ctrl-D on a line of its own ends it, as it says."""
    ours, theirs = os.openpty()
    command = [sys.executable, "-m", "claimbook", "explain"]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, text=True) as process:
        os.write(ours, b"KeyError: 'x'\n\x04")
        try:
            assert process.communicate(timeout=60)[0].startswith("No claim of the book")
        finally:
            process.kill()
            os.close(ours)
            os.close(theirs)


def test_explain_what_nobody_knows(book):
    """Nothing alike is said, with status 1; nothing at all is an error of the user."""
    done = CliRunner().invoke(main, ["explain"], input="KeyError: 'x'")
    assert (done.exit_code, done.stdout) == (
        1,
        "No claim of the book prints an error like this one.\n",
    )
    (book.root / "log.txt").write_text("a/b")
    for name in ("missing.txt", "logs/missing", "docs/", "[b]", "log.txt"):
        none = f"No file {name} can be read.\n" * (name not in {"[b]", "log.txt"})
        assert run("explain", name)[2] == f"{none}{HINT}\n"
    done = CliRunner().invoke(main, ["explain"], input=" ")
    assert (done.exit_code, "give an error in quotes" in done.stderr) == (2, True)
