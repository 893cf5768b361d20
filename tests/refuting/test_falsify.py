"""Mutants of claims: which there are, which count, and what is kept of them."""

import json
import re
import textwrap
from dataclasses import replace

import pytest
import torch
from click.testing import CliRunner

from claimbook.cli import main, refute
from claimbook.engine.environment import describe
from claimbook.engine.pool import Runner
from claimbook.model import Example, Fence, Lane, Outcome, Run
from claimbook.mutation import mutants, operators
from claimbook.mutation.falsify import (
    Results,
    falsified_data,
    falsify,
)
from helpers import TinyBook, claim, claim_text, signed

CPU = Lane.CPU


def sources(source, operator=None, want=""):
    """The mutants of one example, as the texts that run."""
    source = textwrap.dedent(source).strip("\n") + "\n"
    example = Example(source, want, 10)
    one = replace(claim("one", ">>> 1\n1"), fences=(Fence((example,)),))
    return [
        mutant.examples(CPU)[0].source.rstrip("\n")
        for mutant, edit in mutants.mutants(one, CPU)
        if operator in (None, edit.operator)
    ]


@pytest.fixture(scope="module")
def runner():
    with Runner(jobs=2) as running:
        yield running


@pytest.fixture(scope="module")
def falsified(runner):
    """Falsifies one claim."""

    def run(session, name="a-claim"):
        ((_, result),) = falsify(runner, runner.run([claim(name, session)], CPU), CPU)
        return result

    return run


MUTATIONS = {
    "a statement goes": ("leave-out", "x.zero_()", ["pass"]),
    "a statement in a body goes": (
        "leave-out",
        "for i in y:\n    f(i)\n    g(i)",
        ["pass", "for i in y:\n    pass\n    g(i)", "for i in y:\n    f(i)\n    pass"],
    ),
    "a decorated function goes": (
        "leave-out",
        "@f\ndef g():\n    h()",
        ["pass", "@f\ndef g():\n    pass"],
    ),
    "an import goes": ("leave-out", "import math", ["pass"]),
    "a docstring stays": ("leave-out", 'def f():\n    """Hm."""', ["pass"]),
    "a call is dropped from a chain": (
        "drop-call",
        "y = x.detach().sum()",
        ["y = x.detach()", "y = x.sum()"],
    ),
    "a call after brackets is dropped": ("drop-call", "y = (x + 1).clone()", ["y = (x + 1)"]),
    "a call over lines is dropped": (
        "drop-call",
        "y = (x\n     .detach()\n     .f())",
        ["y = (x\n     \n     .f())"],
    ),
    "an attribute is dropped": ("drop-call", "y = x.T", ["y = x"]),
    "a function of torch is no chain": ("drop-call", "y = torch.exp(x)", []),
    "a whole call is left out, not dropped": ("drop-call", "x.backward()", []),
    "a method is swapped": ("swap", "y = x.view(2)", ["y = x.reshape(2)"]),
    "a class is swapped": ("swap", "o = torch.optim.SGD(w)", ["o = torch.optim.Adam(w)"]),
    "a builtin is swapped": ("swap", "y = max(x)", ["y = min(x)"]),
    "a reduction's name is swapped": ("swap", "f(reduction='sum')", ["f(reduction='mean')"]),
    "a method becomes in-place": ("in-place", "y = x.add(z)", ["y = x.add_(z)"]),
    "an in-place method becomes a plain one": ("in-place", "y = x.add_(z)", ["y = x.add(z)"]),
    "nothing sees a temporary change": ("in-place", "y = (x + z).mul(z)", []),
    "torch's functions have no in-place form": ("in-place", "y = torch.add(x, z)", []),
    "a product": ("operator", "y = (a) * (b)", ["y = (a) @ (b)"]),
    "a matrix product": ("operator", "y = a @ b", ["y = a * b"]),
    "a sum and a difference": ("operator", "y = a + b - c", ["y = a + b + c", "y = a - b - c"]),
    "a sum without spaces": ("operator", "y = x[a+b]", ["y = x[a-b]"]),
    "a power is no product": ("operator", "y = a**b", []),
    "an assignment that adds": ("operator", "y += a", ["y -= a"]),
    "a chain of comparisons": ("operator", "y = a == b < c", ["y = a != b < c", "y = a == b <= c"]),
    "identity": ("operator", "y = a is not b", ["y = a is b"]),
    "and": ("operator", "y = a and b and c", ["y = a or b and c", "y = a and b or c"]),
    "a flag": ("flag", "f(x=True)", ["f(x=False)"]),
    "a number": ("number", "y = f(3)", ["y = f(4)"]),
    "a fraction": ("number", "y = f(0.5)", ["y = f(1.5)"]),
    "an index moves both ways": ("number", "y = x[1]", ["y = x[0]", "y = x[2]"]),
    "a flag is no number": ("number", "y = True", []),
    "a number in a text stays": ("number", "y = f'{x[1]:3}'", []),
    "a dtype": ("dtype", "y = x.to(torch.float32)", ["y = x.to(torch.float64)"]),
    "a dtype's method": ("dtype", "y = x.float()", ["y = x.double()"]),
    "the only argument": ("drop-keyword", "f(a=1)", ["f()"]),
    "the first argument": ("drop-keyword", "f(a=1, b=2)", ["f(b=2)", "f(a=1)"]),
    "after a bracketed argument": ("drop-keyword", "f((x), a=(1))", ["f((x))"]),
    "arguments from a dictionary": ("drop-keyword", "f(x, **y)", ["f(x)"]),
    "a decorator": (
        "drop-decorator",
        "@f\n@g\ndef h():\n    i()",
        ["@g\ndef h():\n    i()", "@f\ndef h():\n    i()"],
    ),
    "a with": ("drop-with", "with f(a), g() as b:\n    h()", ["if True:\n    h()"]),
}


@pytest.mark.parametrize(
    ("operator", "source", "expected"), MUTATIONS.values(), ids=MUTATIONS.keys()
)
def test_operator(operator, source, expected):
    """Each operator changes its own place and leaves every other character as it is."""
    assert sorted(sources(source, operator)) == sorted(expected)


def test_every_operator_is_tested():
    """The table above names each operator."""
    assert {operator for operator, _, _ in MUTATIONS.values()} == operators.OPERATORS.keys()


def test_named_methods_exist():
    """Each in-place method of the table exists in torch, in both forms."""
    for name in operators.IN_PLACE:
        assert hasattr(torch.Tensor, name), name
        assert hasattr(torch.Tensor, f"{name}_"), name


def test_what_prints_is_not_left_out():
    """To leave out an example that prints would always be caught, and shows nothing."""
    assert sources("x.zero_()", "leave-out", want="tensor(0.)") == []
    assert sources("x.zero_()", "drop-call", want="tensor(0.)") == ["x"]


def test_places_beside_other_alphabets():
    """Columns are counted in UTF-8 bytes, so text before a change does not shift it."""
    assert sources("y = 'größer 🙂', a + b", "operator") == ["y = 'größer 🙂', a - b"]
    assert sources("größe = übel.detach().ä", "drop-call") == ["größe = übel.ä"]


def test_lines_are_those_of_the_code():
    """A change names its line of the claim's code, and where that stands on the page."""
    session = """
        >>> import math
        >>> math.inf
        inf
        >>> def f(x):
        ...     y = x  # größer
        ...     return (y +
        ...             2)
        >>> f(1)
        3
        """
    lines = claim("lines", session)
    found = [edit for _, edit in mutants.mutants(lines, CPU) if edit.operator == "number"]
    assert [(e.line, lines.place(e.line, CPU).line, e.before, e.after) for e in found] == [
        (6, 12, "2)", "3)"),
        (7, 13, "f(1)", "f(2)"),
    ]
    assert lines.place(8, CPU) == lines.location  # the code was longer when it was falsified


def test_mutants_differ():
    """Two operators that write the same give one mutant; no mutant is the original."""
    for source in ("y = x.float().t().T", "with f(1):\n    g(1)\n    pass", "y = x[0][-1]"):
        found = sources(source)
        assert len(found) == len(set(found))
        assert source not in found


def test_what_does_not_parse_is_no_mutant():
    """A change that breaks the syntax is left out, and so is an example about a syntax error."""
    assert sources("f(1 2)") == []
    assert "if a:\n    pass\npass" not in sources("if a:\n    f()\nelif b:\n    g()")


def test_wants_stay():
    """A mutant has an id of its own, and the wants, locations and other examples of its claim."""
    original = claim("two", ">>> x = 1\n>>> x\n1")
    found = [mutant for mutant, _ in mutants.mutants(original, CPU)]
    assert [mutant.id for mutant in found] == ["two~1", "two~2"]
    for mutant in found:
        own, other = mutant.examples(CPU), original.examples(CPU)
        assert [(e.want, e.line) for e in own] == [(e.want, e.line) for e in other]
        assert own[1] == other[1]


def test_wants_are_the_lanes():
    """On CUDA a mutant must print what the CUDA fence says."""
    both = "`\n>>> x = 1\n>>> x\n1\n```\n\n```pycon cuda\n>>> x = 1\n>>> x\n2".removeprefix("`\n")
    (mutant, _), *_ = mutants.mutants(claim("lanes", both), Lane.CUDA)
    assert [e.want for e in mutant.examples(Lane.CUDA)] == ["", "2"]


def test_weak_claim_has_a_survivor(falsified):
    """A claim that detach() changes the gradient, shown with a value alone, lets its loss pass."""
    weak = """
        >>> w = torch.tensor(3.0, requires_grad=True)
        >>> (w * w.detach()).item()
        9.0
        """
    survivors = falsified(weak).survivors
    assert mutants.Edit(2, "drop-call", "(w * w.detach()).item()", "(w * w).item()") in survivors


def test_strong_claim_has_none(falsified):
    """The same claim shown with the gradient catches every mutant."""
    strong = """
        >>> w = torch.tensor(3.0, requires_grad=True)
        >>> torch.autograd.grad(w * w.detach(), w)
        (tensor(3.),)
        """
    result = falsified(strong)
    assert result.survivors == ()
    assert result.killed == result.mutants > 3


def test_unneeded_import_survives(falsified):
    """An import that the example could do without is a survivor."""
    result = falsified(">>> import torch\n>>> torch.ones(1)\ntensor([1.])")
    assert [s.before for s in result.survivors] == ["import torch"]


def test_hanging_and_crashing_are_caught():
    """A mutant that does not end, or takes its process along, is caught."""
    session = """
        >>> import os
        >>> n = 0
        >>> while n == 0:
        ...     n = 1
        >>> 7 == 8 and os._exit(1)
        False
        """
    with Runner(jobs=1) as hasty:
        runs = hasty.run([claim("hangs", session, ":timeout: 1\n")], CPU)
        ((_, result),) = falsify(hasty, runs, CPU)
    survivors = {survivor.after for survivor in result.survivors}
    ends = {f"{test} os._exit(1)" for test in ("7 != 8 and", "8 == 8 and", "7 == 8 or")}
    assert survivors & ends == set()
    assert "7 == 9 and os._exit(1)" in survivors
    assert "n = 1" not in [s.before for s in result.survivors if s.after == "pass"]


def test_mutants_have_the_time_of_their_claim(runner, monkeypatch):
    """A mutant that takes as long as its claim may is not caught for that."""
    slow, plain = claim("slow", ">>> 1 + 1\n2", ":timeout: 50\n"), claim("plain", ">>> 1 + 1\n2")
    for each, lane, seconds in ((slow, CPU, 50), (plain, Lane.CUDA, 60)):
        ran = []

        def run(claims, lane, ran=ran):
            ran.append([*claims])
            return [(c, Run(c.id, lane, Outcome.PASSED, seconds=1)) for c in ran[-1]]

        monkeypatch.setattr(runner, "run", run)
        monkeypatch.setattr(runner, "environments", dict.fromkeys(Lane, describe(CPU)))
        assert [*falsify(runner, run([each], lane), lane)]
        assert {mutant.timeout for mutant in ran[1]} == {seconds}


def test_claim_without_mutants(falsified):
    """Code in which nothing can be changed has a result all the same."""
    assert falsified(">>> print('so')\nso").mutants == 0


@pytest.fixture
def kept(falsified):
    return claim("kept", ">>> 1 + 1\n2"), falsified(">>> 1 + 1\n2", "kept")


def test_results_come_back(tmp_path, kept):
    """What is written is read, beside the page's other results, and written once."""
    original, result = kept
    results = Results.of(tmp_path, pytest.fail)
    assert results.load(original) is None
    results.save(original, result)
    assert results.path(original) == tmp_path / "records/falsified/page.jsonl"
    assert results.load(original) == result
    results.save(original, replace(result, date="1999-01-01"))
    assert Results.of(tmp_path, pytest.fail).load(original).date == result.date


def test_result_goes_stale(kept):
    """Other code, other wants or other operators make it stale; prose and place do not."""
    original, result = kept
    assert falsified_data(original, result)["status"] == "current"
    assert result.is_of(replace(original, statement="Otherwise."))
    assert not result.is_of(claim("kept", ">>> 1 + 1\n2\n>>> 3\n3"))
    other = replace(result, operators="others")
    assert falsified_data(original, other)["status"] == "stale"


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000], ids=["no JSON", "a list", "deep"])
def test_broken_result_is_named(tmp_path, kept, text):
    """A line that is no result is named and counts as missing."""
    original, _ = kept
    told = []
    results = Results.of(tmp_path, lambda *what: told.append(what))
    results.path(original).parent.mkdir(parents=True)
    results.path(original).write_text(text)
    assert results.load(original) is None
    ((place, why),) = told
    assert place == f"{results.path(original)}:1"
    assert why.startswith("not a record: ")


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"killed": 99},
        {"lane": "tpu"},
        {"survivors": [{"line": "1"}], "killed": 0, "mutants": 1},
    ],
)
def test_wrong_fields_are_refused(tmp_path, kept, change):
    """A result whose fields cannot be is none."""
    original, result = kept
    results = Results.of(tmp_path, pytest.fail)
    results.save(original, result)
    common, line = results.path(original).read_text().splitlines()
    data = json.loads(line) | change
    del data["checksum"]
    line = signed(data, (json.loads(common)["torch"], None))
    results.path(original).write_text(f"{common}\n{line}\n")
    told = []
    again = Results.of(tmp_path, lambda *what: told.append(what))
    assert again.load(original) is None
    assert told[0][0] == f"{results.path(original)}:2"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A book of a weak and a strong claim, and the folder that commands run in."""
    page = claim_text("weak", ">>> x = torch.ones(2)\n>>> x.sum().shape\ntorch.Size([])")
    page += "\n" + claim_text("strong", ">>> torch.ones(2).sum()\ntensor(2.)")
    TinyBook(tmp_path, {"page": f"# Page\n\n{page}"})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments):
    return CliRunner().invoke(main, ["falsify", *arguments])


def test_command_lists_survivors(project):
    """Each with its line; below them the mutants are counted, or those of each named claim."""
    done = command()
    assert done.exit_code == 0, done.output
    assert "docs/page.md:8: weak: swap: x = torch.ones(2) -> x = torch.zeros(2)\n" in done.stdout
    assert done.stdout.endswith("\nmutants caught: 6 of 9\n")
    assert command("strong").stdout == "strong: 4 of 4 mutants caught\n"
    (kept,) = project.rglob("*.jsonl")
    names = [json.loads(line).get("claim") for line in kept.read_text().splitlines()]
    assert names == [None, "strong", "weak"]


def test_survivors_move_with_their_claim(project):
    """A result that is reused names the line as it is now, though the page grew above it."""
    command()
    page = project / "docs/page.md"
    page.write_text(page.read_text().replace("# Page", "# Page\n\nIt grew."))
    done = command()
    assert "docs/page.md:10: weak: swap: x = torch.ones(2)" in done.stdout
    assert "docs/page.md:11: weak: " in done.stdout


def test_command_reuses_results(project, monkeypatch):
    """What is known is not run again, unless the claim changes or --fresh says so."""
    command()
    ran = []
    monkeypatch.setattr(
        refute.falsify, "falsify", lambda _, runs, *__: ran.append([c.id for c, _ in runs]) or ()
    )
    command()
    assert ran == []
    page = project / "docs/page.md"
    page.write_text(page.read_text().replace(">>> torch.ones(2)", ">>> 1 * torch.ones(2)"))
    command()
    command("weak", "--fresh")
    assert ran == [["strong"], ["weak"]]


def test_command_runs_on_each_lane(project):
    """What was found on one lane is not told of another."""
    command()
    done = command("strong", "--lane", "cuda")
    assert "strong" not in done.stdout or torch.cuda.is_available()
    assert (done.exit_code, "cannot run here" in done.stderr) == (
        (0, False) if torch.cuda.is_available() else (2, True)
    )


def test_command_leaves_to_the_cpu_what_runs_there(project):
    """On a GPU, where none is named, only what that alone can show."""
    done = command("--lane", "cuda")
    assert (done.exit_code, "strong" in done.stdout, done.stderr) == (0, False, "")


def test_command_fails_where_a_claim_does(project):
    """A claim that differs from its page cannot be falsified: it is no success, and no mutant."""
    page = project / "docs/page.md"
    page.write_text(page.read_text().replace("tensor(2.)", "tensor(3.)"))
    done = command()
    assert (done.exit_code, "strong: " in done.stdout, "weak: " in done.stdout) == (1, False, True)
    assert "strong [cpu] failed" in done.stderr
    assert "claimbook: strong: a claim that fails unchanged cannot be falsified\n" in done.stderr


def test_interrupted_run_keeps_what_is_done(project, monkeypatch):
    """Ctrl-C after the first claim leaves that claim's result."""
    whole = refute.falsify.falsify

    def interrupted(*arguments):
        for pair in whole(*arguments):
            yield pair
            raise KeyboardInterrupt

    monkeypatch.setattr(refute.falsify, "falsify", interrupted)
    assert command().exit_code == 130
    assert len(list(project.rglob("*.jsonl"))) == 1


def badge(book):
    """What the page says of the mutants of `sum-adds`."""
    html = (book.site / "a/sums.html").read_text("utf-8")
    return re.findall(r'claim-falsified">(.*?)</p>', html)


def test_pages_show_results(tmp_path):
    """A new result writes its page anew, runs no claim, and goes stale with the claim's code."""
    book = TinyBook(tmp_path)
    assert book.sphinx().returncode == 0
    assert badge(book) == []
    unchanged = (book.site / "a/shapes.html").stat().st_mtime_ns
    assert book.claimbook("falsify", "sum-adds").returncode == 0
    done = book.sphinx()
    assert (done.returncode, done.stderr) == (0, "")
    assert "claims on cpu: 0 run" in done.stdout
    assert badge(book) == ["4 of 4 altered copies of it print something else"]
    assert "100 % of 4" in (book.site / "index.html").read_text("utf-8")
    assert (book.site / "a/shapes.html").stat().st_mtime_ns == unchanged
    data = {c["id"]: c for c in json.loads((book.site / "claims.json").read_text())["claims"]}
    caught = {"mutants": 4, "killed": 4, "survivors": [], "status": "current"}
    assert data["sum-adds"]["falsified"] == caught
    assert data["prod-multiplies"]["falsified"] is None
    book.replace("docs/a/sums.md", ">>> torch.ones(2).sum()", ">>> torch.ones(2).sum(0)")
    assert book.sphinx().returncode == 0
    assert badge(book) == [
        "4 of 4 altered copies of it print something else (stale: changed since)"
    ]
    assert "altered copies" not in (book.site / "index.html").read_text("utf-8")
