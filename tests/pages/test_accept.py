"""Outputs taken over into pages: which bytes change, what is refused, what is left."""

import os
import re
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from claimbook.checking.compare import mismatches
from claimbook.checking.difference import SEVERITIES, Kind, Severity
from claimbook.checking.report import explain
from claimbook.cli import accept as accepting
from claimbook.cli import main
from claimbook.model import Lane, Location, Outcome, Problem, ProblemKind, Run
from claimbook.pages.accept import AcceptError, Change, Draft, changes
from claimbook.pages.parser import scan_page
from helpers import TinyBook

CASES = Path(__file__).parent / "cases_accept"
ERROR = "Traceback (most recent call last):\n"
WARNING = "UserWarning: The use of `x.T` on tensors of dimension other than 2 is deprecated."

PRINTED: dict[str, dict[str, tuple[str, ...]]] = {
    "blank-line-inside": {"sum-adds": ("a\n\nb", "\nx")},
    "crlf": {"sum-adds": ("tensor(2.)", "a\n\nb", "1")},
    "cuda-edited": {"sum-adds": ("'cuda'",)},
    "cuda-only": {"sum-adds": ("'cuda'",)},
    "directive": {"sum-adds": ("1",), "two": ("2",)},
    "empty-to-text": {"sum-adds": ("0\n1", "", "1")},
    "error": {
        "sum-adds": (
            f"{ERROR}IndexError: list index out of range",
            f"{ERROR}ValueError: invalid literal for int() with base 10: 'a'",
            f"{ERROR}RuntimeError: shape '[3]' is invalid for input of size 2",
        )
    },
    "four-backticks": {"sum-adds": ("```\nx\n```",)},
    "list": {"sum-adds": ("tensor(2.)", "  a  \n\n b"), "sum-adds-too": ("1",)},
    "nested-fences": {"sum-adds": ("1",)},
    "no-final-newline": {"sum-adds": ("1",)},
    "non-ascii": {"summe": ("é", "∑")},
    "several": {
        "sum-adds": ("1", "", "4", "a\nb"),
        "stays": ("5",),
        "third": ("6", "7"),
    },
    "tabs": {"sum-adds": ("a\tb", "1")},
    "tensor-lines": {
        "sum-adds": (
            "tensor([[1., 0., 0.],\n        [0., 1., 0.],\n        [0., 0., 1.]])",
            "tensor([0, 1])",
        )
    },
    "text-to-empty": {"sum-adds": ("", "")},
    "tilde": {"sum-adds": ("```",)},
    "warning": {"sum-adds": (f"{WARNING}\ntorch.Size([2, 2, 2])",)},
}


def draft_of(raw: bytes) -> Draft:
    return Draft(Path("docs/p.md"), scan_page(raw.decode(), "docs/p.md"), raw)


def changes_of(draft: Draft, printed: dict[str, tuple[str, ...]], lane=Lane.CPU) -> list[Change]:
    """All that may be taken over, of runs made up without torch."""
    found = []
    for claim in draft.page.claims:
        run = Run(claim.id, lane, Outcome.FAILED, printed[claim.id])
        found += changes(claim, run, draft.page.problems)
    return found


def page_of(source: str, fence: str = "```", colons: str = ":::") -> bytes:
    return f"{colons}{{claim}} one\n\nS.\n\n{fence}pycon\n{source}{fence}\n{colons}\n".encode()


def revised(source: str, *printed: str, **options: str) -> str:
    draft = draft_of(page_of(source, **options))
    return draft.revise(changes_of(draft, {"one": printed}))


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_case(name):
    """A page comes out as its `.out.md`, byte for byte."""
    draft = draft_of((CASES / f"{name}.in.md").read_bytes())
    lane = Lane.CUDA if name.startswith("cuda") else Lane.CPU
    text = draft.revise(changes_of(draft, PRINTED[name], lane))
    assert text.encode() == (CASES / f"{name}.out.md").read_bytes()


def test_every_case_has_its_pages():
    """No page lies in the folder that no test reads."""
    names = {f"{name}.{kind}.md" for name in PRINTED for kind in ("in", "out")}
    assert {path.name for path in CASES.iterdir()} == names


def test_crlf_is_kept_by_git():
    """The CRLF page has no bare line feed: neither git nor an editor mended it."""
    raw = (CASES / "crlf.in.md").read_bytes()
    assert raw.count(b"\r\n") == raw.count(b"\n") > 0


def test_only_what_is_agreed_to_changes():
    """Of three outputs that differ, the one that was chosen is taken over."""
    draft = draft_of(page_of(">>> 1\n7\n>>> 2\n8\n>>> 3\n9\n"))
    text = draft.revise(changes_of(draft, {"one": ("1", "2", "3")})[1:2])
    assert text.encode() == page_of(">>> 1\n7\n>>> 2\n2\n>>> 3\n9\n")


def test_what_cuda_prints_needs_a_fence_of_its_own():
    """What the page says of the CPU is not replaced; an output that is the same needs no fence."""
    draft = draft_of(page_of(">>> 1\n7\n>>> 2\n8\n"))
    with pytest.raises(AcceptError, match="repeat the fence below itself, as `pycon cuda`"):
        changes_of(draft, {"one": ("7", "2")}, Lane.CUDA)
    assert changes_of(draft, {"one": ("7", "8")}, Lane.CUDA) == []


@pytest.mark.parametrize(
    ("printed", "advice"),
    [
        ("a\n>>> 2", "begins with `>>>`"),
        ("... 2", "its first line, `...`,"),
        ("...", "its first line, `...`,"),
        ("a\n```", "ends the fence"),
        ("a\n:::", "ends the fence"),
        ("a\rb", "carriage return"),
        ("a\0b", "NUL"),
        ("a\n[cut here: 2,000,000 bytes were printed]", "print less"),
        ("[cut here: No space left on device]", "free room"),
        ("<object object at 0x7f6c7c7c7c7c>", "with `...` for the address"),
    ],
)
def test_what_no_page_can_hold_is_refused(printed, advice):
    """An output that would be read otherwise on the page is refused, with what to do."""
    with pytest.raises(AcceptError, match=re.escape(advice)):
        revised(">>> f()\nx\n", printed)


def test_longer_fences_hold_fences():
    """What looks like the end of a fence can be written where the fences are longer."""
    text = revised(">>> f()\nx\n", "```\n:::", fence="````", colons="::::")
    assert text.encode() == page_of(">>> f()\n```\n:::\n", fence="````", colons="::::")


def in_quote(page, margin=""):
    """The page in a block quote."""
    return "".join(f"{margin}> {line}\n" for line in page.splitlines())


IN_FENCE = page_of(">>> 1\n2\n").decode()


@pytest.mark.parametrize(
    ("page", "revised"),
    [
        (in_quote(IN_FENCE), in_quote(IN_FENCE.replace("2", "1"))),
        (
            "- a\n\n  > b\n  >\n" + in_quote(IN_FENCE, "  "),
            "- a\n\n  > b\n  >\n" + in_quote(IN_FENCE.replace("2", "1"), "  "),
        ),
        (
            page_of("  >>> 1\n 2\n", fence="  ```").decode(),
            page_of("  >>> 1\n  1\n", fence="  ```").decode(),
        ),
    ],
)
def test_lines_are_indented_as_their_example(page, revised):
    """In a block quote too; the revised page is read again, and must say what was agreed to."""
    draft = draft_of(page.encode())
    assert draft.page.problems == ()
    assert draft.revise(changes_of(draft, {"one": ("1",)})) == revised


@pytest.mark.parametrize("outcome", [Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.SKIPPED])
def test_unfinished_runs_are_refused(outcome):
    """A run that crashed, was ended or was skipped says nothing of outputs."""
    (claim,) = draft_of(page_of(">>> 1\n2\n")).page.claims
    run = Run("one", Lane.CPU, outcome, ("1",), message="why")
    with pytest.raises(AcceptError, match=f"{outcome}: why"):
        changes(claim, run, [])


def test_broken_claims_are_refused():
    """A claim with an author's problem is mended first; another claim's problem is no matter."""
    (claim,) = draft_of(page_of(">>> 1\n2\n")).page.claims
    run = Run("one", Lane.CPU, Outcome.FAILED, ("1",))
    other = Problem(Location("docs/p.md", 1), ProblemKind.BAD_OPTION, "one-more: broken")
    elsewhere = Problem(Location("docs/q.md", 1), ProblemKind.DOUBLE_ID, "one: taken")
    assert len(changes(claim, run, [other, elsewhere])) == 1
    with pytest.raises(AcceptError, match=r"fix this first: docs/p.md:1: one: broken"):
        changes(claim, run, [replace(other, message="one: broken")])


def test_passed_run_has_nothing_to_take_over():
    """What compares equal stays as it is written, wildcards and all."""
    draft = draft_of(page_of(">>> 1\na...c\n"))
    (claim,) = draft.page.claims
    problem = Problem(claim.location, ProblemKind.UNKNOWN_ENTRY, "one: no such entry")
    assert changes(claim, Run("one", Lane.CPU, Outcome.PASSED, ("abc",)), [problem]) == []
    assert changes(claim, Run("one", Lane.CPU, Outcome.FAILED, ("abc",)), []) == []


def on_disk(folder: Path, raw: bytes = page_of(">>> 1\n2\n")) -> Draft:
    """A draft of a page in a folder."""
    (folder / "p.md").write_bytes(raw)
    return Draft.read(folder, scan_page(raw.decode(), "p.md"))


def test_changed_page_is_left_alone(tmp_path):
    """A page that was edited after it was scanned is not written, wherever the edit was."""
    draft = on_disk(tmp_path)
    draft.path.write_bytes(edited := draft.raw + b"\nMore.\n")
    with pytest.raises(AcceptError, match="changed since it was scanned"):
        draft.write(changes_of(draft, {"one": ("1",)}))
    assert draft.path.read_bytes() == edited


def test_refused_page_is_left_alone(tmp_path):
    """Where one output cannot be written, nothing is put in place and no file left behind."""
    draft = on_disk(tmp_path, page_of(">>> 1\n2\n>>> 3\n4\n"))
    with pytest.raises(AcceptError):
        draft.write(changes_of(draft, {"one": ("1", ">>> 3")}))
    assert draft.path.read_bytes() == draft.raw
    assert list(tmp_path.iterdir()) == [draft.path]


def test_removed_page_is_refused(tmp_path):
    """A page that went away is an error of one line."""
    draft = on_disk(tmp_path)
    draft.path.unlink()
    with pytest.raises(AcceptError, match=r"^No such file or directory$"):
        draft.write(changes_of(draft, {"one": ("1",)}))


def test_unwritable_page_is_named_once(tmp_path):
    """So is what to do."""
    draft = on_disk(tmp_path)
    (tmp_path / f".p.md.{os.getpid()}").mkdir()  # in the place of the new page
    said = f"^{draft.path} cannot be written: Is a directory; free space there or make it writable"
    with pytest.raises(AcceptError, match=said):
        draft.write(changes_of(draft, {"one": ("1",)}))


def test_file_mode_and_link_stay(tmp_path):
    """A page that is a link stays one, and its file keeps its mode."""
    path, link = tmp_path / "p.md", tmp_path / "link.md"
    path.write_bytes(page_of(">>> 1\n2\n").replace(b"\n", b"\r\n"))
    path.chmod(0o640)
    link.symlink_to(path)
    draft = Draft.read(tmp_path, scan_page(link.read_bytes().decode(), "link.md"))
    draft.write(changes_of(draft, {"one": ("1",)}))
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert path.read_bytes() == page_of(">>> 1\n1\n").replace(b"\n", b"\r\n")


def test_every_kind_has_its_severity():
    """No kind of difference is forgotten, and only a value is of severity value."""
    assert set(SEVERITIES) == set(Kind)
    assert [kind for kind in Kind if SEVERITIES[kind] is Severity.VALUE] == [Kind.VALUE]


@pytest.mark.parametrize(
    ("want", "got", "severity"),
    [
        ("a  b", "a b", Severity.COSMETIC),
        ("tensor([0.3333])", "tensor([0.3334])", Severity.ROUNDING),
        ("torch.Size([2])", "torch.Size([3])", Severity.SHAPE),
        ("torch.float32", "torch.float16", Severity.SHAPE),
        ("tensor([1.])", "tensor([1.], dtype=torch.float64)", Severity.SHAPE),
        ("tensor([1.])", "tensor([1.], device='meta')", Severity.SHAPE),
        ("tensor([1.])", "tensor([1.], requires_grad=True)", Severity.SHAPE),
        ("1", f"{ERROR}ValueError: no", Severity.ERROR),
        (f"{ERROR}ValueError: no", "1", Severity.ERROR),
        (f"{ERROR}ValueError: no", f"{ERROR}TypeError: no", Severity.ERROR),
        (f"{ERROR}ValueError: no", f"{ERROR}ValueError: yes", Severity.ERROR),
        ("1", "UserWarning: old\n1", Severity.ERROR),
        ("1", "2", Severity.VALUE),
        ("", "2", Severity.VALUE),
        ("2", "", Severity.VALUE),
        ("tensor(0.3333) tensor(1.)", "tensor(0.3334) tensor(5.)", Severity.VALUE),
        ("tensor([1.])", "tensor([5.], dtype=torch.float64)", Severity.VALUE),
        ("tensor([1.])", "tensor([5.], grad_fn=<AddBackward0>)", Severity.VALUE),
        ("1", "UserWarning: old\n2", Severity.VALUE),
        ("torch.float32 1", "torch.float16 2", Severity.VALUE),
        ("tensor(1.)", f"{ERROR}ValueError: no", Severity.ERROR),
        (f"1\n{ERROR}ValueError: no", f"2\n{ERROR}ValueError: yes", Severity.VALUE),
    ],
)
def test_severity_is_that_of_the_worst_difference(want, got, severity):
    """A changed value is not hidden by a lesser difference that stands before it."""
    draft = draft_of(page_of(f">>> f()\n{want}\n"))
    (change,) = changes_of(draft, {"one": (got,)})
    assert change.mismatch.severity is severity


# Any claim, whatever it prints.

LINES = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\0") | st.sampled_from(" .>`:-1\t"),
    max_size=6,
)
OUTPUTS = st.lists(LINES, max_size=4).map("\n".join)
SOURCES = st.sampled_from(["x", "for i in y:\n    print(i)\n", "f(\n\n  'é')"])
WANTS = OUTPUTS.map(str.rstrip)
EXAMPLES = st.lists(st.tuples(SOURCES, WANTS, st.integers(0, 2)), min_size=1, max_size=4)
UNWRITABLE = re.compile(r"^>>>|\A\s*\.\.\.|^\s*(`````|:::::)", re.MULTILINE)
HEAD = "# T\t\n\n1. é\n\n   x\n\n@:::::{claim} one\n\n@S.\n\n@`````pycon\n"
TAIL = "@`````\n\n@After.\n@:::::\n\nno end"


def session(examples: list[tuple[str, str, int]]) -> str:
    """The text of a fence, each line behind an `@`."""
    lines = []
    for source, want, blank in examples:
        first, *rest = source.split("\n")
        lines += [f">>> {first}", *(f"... {line}" for line in rest)]
        lines += (want.split("\n") if want else []) + [""] * blank
    return "".join(f"@{line}\n" for line in lines)


def without_wants(text: str) -> list[str]:
    """The lines of a page, with their ends, but for wants."""
    lines = re.findall(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+", text)
    ((fence,),) = [claim.fences for claim in scan_page(text, "docs/p.md").claims]
    for example in reversed(fence.examples):
        start, count = example.want_line - 1, len(example.want.split("\n"))
        del lines[start : start + (count if example.want else 0)]
    return lines


@given(
    EXAMPLES.filter(lambda all_: not any(UNWRITABLE.search(want) for _, want, _ in all_)),
    st.lists(OUTPUTS, min_size=4, max_size=4),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "   "]),
)
def test_whatever_is_printed(examples, printed, end, indent):
    """Accepted, it compares equal on a fresh scan, and the rest of the page stands as it was."""
    text = f"{HEAD.replace('@', indent)}{session(examples).replace('@', indent)}"
    text = (text + TAIL.replace("@", indent)).replace("\n", end)
    draft = draft_of(text.encode())
    (claim,) = draft.page.claims
    outputs = tuple(printed[: len(claim.examples(Lane.CPU))])
    agreed = changes_of(draft, {"one": outputs})
    try:
        new = draft.revise(agreed) if agreed else text
    except AcceptError:
        assert any(UNWRITABLE.search(change.want) for change in agreed)
        return
    (accepted,) = scan_page(new, "docs/p.md").claims
    assert list(mismatches(accepted, Lane.CPU, outputs)) == []
    assert len(outputs) == len(accepted.examples(Lane.CPU)) == len(examples)
    assert without_wants(new) == without_wants(text)


# The command, with runs made up; the last test has real ones.

PAGE = """\
# A page

:::{claim} rounds

Rounded.

```pycon
>>> x
tensor([0.3333])
>>> y
1
```
:::

:::{claim} counts

Counted.

```pycon
>>> z
tensor(2)
```
:::
"""
PRINTS = {"rounds": ("tensor([0.3334])", "2"), "counts": ("tensor(2.)",)}


class MadeUp:
    """Stands for a `Runner`: gives the outputs that it is told, or a run as a whole."""

    def __init__(self, runs):
        self.runs = runs
        self.before = lambda: None
        self.environments = dict.fromkeys(Lane)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def run(self, claims, lane):
        self.before()
        for claim in claims:
            told = self.runs.get((claim.id, lane), self.runs.get(claim.id))
            run = told if isinstance(told, Run) else Run(claim.id, lane, Outcome.PASSED, told)
            if not isinstance(told, Run) and [*mismatches(claim, lane, told)]:
                run = replace(run, outcome=Outcome.FAILED)
            yield claim, run


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with PAGE, whose runs print PRINTS."""
    TinyBook(tmp_path, {"page": PAGE})
    monkeypatch.chdir(tmp_path)
    runner = MadeUp({**PRINTS})
    monkeypatch.setattr(accepting, "Runner", lambda jobs: runner)
    return runner


def accept(*options: str):
    return CliRunner().invoke(main, ["accept", *options])


def page_text() -> str:
    return Path("docs/page.md").read_text()


def test_another_value_is_shown_and_left(project):
    """So are the outputs that are taken over; it is said what would take the value."""
    result = accept()
    assert result.exit_code == 1
    assert page_text() == PAGE.replace("0.3333", "0.3334").replace("tensor(2)", "tensor(2.)")
    assert "docs/page.md:8: rounds [cpu] rounding\n" in result.output
    assert "\n    >>> x\n  - tensor([0.3333])\n  + tensor([0.3334])\n" in result.output
    assert "docs/page.md:10: rounds [cpu] value\n" in result.output
    assert "docs/page.md:20: counts [cpu] shape/dtype/stride\n" in result.output
    left = "  + 2\n  Left as it is: only --values accepts another result.\n"
    assert (result.output.count("only --values"), left in result.output) == (1, True)
    assert "2 accepted on 1 page, 1 left" in result.output


OTHER_RESULTS = {
    "a name is gone": ("1", f"{ERROR}NameError: name 'y' is not defined"),
    "an error is gone": (f"{ERROR}ValueError: no", "1"),
    "another type of error": (f"{ERROR}ValueError: no", f"{ERROR}TypeError: no"),
    "nothing was printed": ("1", ""),
    "something was printed": ("", "1"),
    "an error where nothing was": ("", f"{ERROR}ValueError: no"),
    "a value beside another dtype": ("torch.float32 1", "torch.float16 2"),
}


@pytest.mark.parametrize(("want", "got"), OTHER_RESULTS.values(), ids=OTHER_RESULTS)
def test_no_other_result_is_taken(project, want, got):
    """An error for a value, a value for an error, or any for nothing needs `--values`."""
    page = PAGE.replace(">>> y\n1\n", f">>> y\n{want}\n" if want else ">>> y\n")
    assert page != PAGE or want == "1"
    Path("docs/page.md").write_text(page)
    project.runs["rounds"] = (*PRINTS["rounds"][:1], got)
    result = accept("rounds")
    assert result.exit_code == 1
    assert page_text() == page.replace("0.3333", "0.3334")
    assert accept("rounds", "--values").exit_code == 0
    assert (got or ">>> y\n```") in page_text()


def test_other_words_of_an_error_are_taken(project):
    """A new torch words errors differently: the same type with another text is taken over."""
    Path("docs/page.md").write_text(PAGE.replace(">>> y\n1\n", f">>> y\n{ERROR}ValueError: a\n"))
    project.runs["rounds"] = (*PRINTS["rounds"][:1], f"{ERROR}ValueError: b")
    assert accept("rounds").exit_code == 0
    assert "ValueError: b" in page_text()


def test_values_are_taken(project):
    """`--values` leaves nothing, and that is success."""
    result = accept("--values")
    assert result.exit_code == 0
    assert "\n>>> y\n2\n" in page_text()
    assert "3 accepted on 1 page, 0 left" in result.output


def test_names_choose_claims(project):
    """Only the claims that are named run and change."""
    assert accept("counts").exit_code == 0
    assert page_text() == PAGE.replace("tensor(2)", "tensor(2.)")


def test_crash_stops_no_other_claim(project):
    """A claim that crashed is told of and left; the others are taken over."""
    project.runs["counts"] = Run("counts", Lane.CPU, Outcome.CRASHED, message="it died")
    result = accept("--values")
    assert result.exit_code == 1
    assert "docs/page.md:15: counts: crashed: it died" in result.output
    assert "2 accepted on 1 page, 1 left" in result.output


def test_lane_that_is_not_here(project):
    """Where a lane cannot run, nothing was learnt: that is told, and is an error."""
    project.environments = {}
    for name in PRINTS:
        project.runs[name] = Run(name, Lane.CUDA, Outcome.SKIPPED, message="no GPU")
    result = accept("--lane", "cuda")
    assert result.exit_code == 2
    assert result.output.count("no GPU") == 1
    assert "claimbook: the cuda lane cannot run here; nothing was accepted\n" in result.output


def test_what_each_run_prints_otherwise_is_refused(project, monkeypatch):
    """The next run would fail again; it is said why, and the other claims are taken over."""
    times = iter(["tensor(2.5)", "tensor(3.5)"])

    def run(claims, lane):
        for claim in claims:
            yield from MadeUp(PRINTS | {"counts": (next(times),)}).run([claim], lane)

    monkeypatch.setattr(project, "run", run)
    result = accept("counts", "--values")
    said = "counts: each run prints something different: make the output repeatable"
    assert f"{said}, or write ... for what varies\n" in result.output
    assert (result.exit_code, page_text()) == (1, PAGE)


def test_a_missing_name_is_no_output(project):
    """Who deleted a line is asked whether it was, and not told to take the error over."""
    (one,) = scan_page(page_of(">>> x\n1\n").decode(), "docs/p.md").claims
    got = f"{ERROR}NameError: name 'x' is not defined"
    said = explain(one, Run("one", Lane.CPU, Outcome.FAILED, (got,)))
    assert "The name x is missing: was a line deleted" in said
    assert "claimbook accept" not in said


@pytest.mark.parametrize(
    ("got", "said"),
    [
        (f"{ERROR}AssertionError: Torch not compiled with CUDA enabled", "`:lanes: cuda`"),
        (f"{ERROR}RuntimeError: No CUDA GPUs are available", "`:lanes: cuda`"),
        (f"{ERROR}ModuleNotFoundError: No module named 'pandas'", "that constraints.txt lists"),
        ("<object object at 0x7f6c7c7c7c7c>", "It holds an address"),
    ],
)
def test_what_an_author_may_have_overlooked(got, said):
    """It is said before the advice that holds for every difference."""
    (one,) = scan_page(page_of(">>> x\n1\n").decode(), "docs/p.md").claims
    *_, hint, _, _, _ = explain(one, Run("one", Lane.CPU, Outcome.FAILED, (got,))).split("\n")
    assert said in hint


@pytest.mark.parametrize(
    ("outcome", "advice"),
    [(Outcome.CRASHED, "start a process that crashes"), (Outcome.TIMED_OUT, "`:timeout:`")],
)
def test_what_did_not_finish_is_shown(outcome, advice):
    """With the statement at which it ended, and what to do."""
    (one,) = scan_page(page_of(">>> 1\n1\n>>> f()\n>>> 3\n3\n").decode(), "docs/p.md").claims
    _, why, code, _, todo = explain(one, Run("one", Lane.CPU, outcome, ("1",), 0.0, "W.")).split(
        "\n"
    )
    assert (why, code) == ("  W.", "    >>> f()")
    assert advice in todo


def about_a_machine(session, *printed):
    """Return a claim about a machine, and its run on one where it comes out otherwise."""
    text = page_of(session).replace(b"\n\nS.", b"\n:machine: clock\n\nS.").decode()
    (one,) = scan_page(text, "docs/p.md").claims
    return one, Run("one", Lane.CPU, Outcome.VARIED, printed, 0.0, "value: want 1, got 2")


def test_the_first_output_of_a_claim_about_a_machine_is_offered():
    """Where its page has no output yet, there is nothing that another machine has printed."""
    one, run = about_a_machine(">>> 1\n1\n>>> 2\n", "1", "2")
    assert [change.want for change in changes(one, run, [])] == ["2"]


@pytest.mark.parametrize("printed", [("1", "3"), ("2",)])
def test_a_machine_does_not_overrule_a_page(printed):
    """What a claim about a machine prints on one, or until it halts, stays out of its page."""
    one, run = about_a_machine(">>> 1\n1\n>>> 2\n2\n", *printed)
    with pytest.raises(AcceptError, match=r"want 1, got 2\n  It is about a machine; .* by hand"):
        changes(one, run, [])


def test_a_skipped_claim_is_not_left(project):
    """A claim that does not run with this build of torch has no output to be taken over."""
    project.runs["counts"] = Run("counts", Lane.CPU, Outcome.SKIPPED, message="other build")
    result = accept("--values")
    assert (result.exit_code, "2 accepted on 1 page, 0 left" in result.output) == (0, True)


def test_edit_during_the_run_is_kept(project):
    """A page that its author saved meanwhile is not written over."""
    project.before = lambda: Path("docs/page.md").write_text(PAGE + "\nMore.\n")
    result = accept()
    assert result.exit_code == 1
    assert page_text() == PAGE + "\nMore.\n"
    assert "docs/page.md: nothing is accepted on this page" in result.output
    assert "0 accepted on 0 pages, 3 left" in result.output


def test_unwritable_output_stops_no_other(project):
    """An output that the page cannot hold is told of and left; the others are taken over."""
    project.runs["rounds"] = ("tensor([0.3334])", ">>> 1")
    result = accept("--values")
    assert "Cannot be accepted: the page would not read back as this output" in result.output
    assert "2 accepted on 1 page, 1 left" in result.output


def test_cuda_has_a_fence_of_its_own(project):
    """What CUDA prints goes there alone; who has not written it is asked to."""
    refused = accept("counts", "--lane", "cuda")
    assert "repeat the fence below itself, as `pycon cuda`" in refused.output
    assert page_text() == PAGE
    head, fence = PAGE.removesuffix("```\n:::\n"), "```\n\n```pycon cuda\n>>> z\n"
    Path("docs/page.md").write_text(f"{head}{fence}tensor(2)\n```\n:::\n")
    assert accept("counts", "--lane", "cuda").exit_code == 0
    assert page_text() == f"{head}{fence}tensor(2.)\n```\n:::\n"


def test_report_names_the_command(project):
    """Whoever reads that an output differs is told how to take it over, on that lane."""
    (claim, _) = scan_page(PAGE, "docs/page.md").claims
    run = Run("rounds", Lane.CUDA, Outcome.FAILED, PRINTS["rounds"])
    assert (
        "To accept what was printed: claimbook accept rounds --lane cuda\n"
        in f"{explain(claim, run)}\n"
    )
    on_cpu = explain(claim, replace(run, lane=Lane.CPU))
    assert "To accept what was printed: claimbook accept rounds\n" in f"{on_cpu}\n"


def test_real_runs(tmp_path, monkeypatch):
    """A page of the wrong outputs is right after `accept`, and `run` finds no difference."""
    TinyBook(tmp_path, {})
    examples = (
        ">>> x = torch.arange(3.)\n>>> x\n>>> x.view(2)\nno error\n"
        '>>> import warnings\n>>> warnings.warn("old")\n>>> print("a\\n\\nb")\n'
    )
    (tmp_path / "docs" / "page.md").write_bytes(page_of(examples).replace(b"\n", b"\r\n"))
    monkeypatch.chdir(tmp_path)
    result = accept("--values", "--jobs", "1")
    assert "4 accepted on 1 page, 0 left" in result.output
    expected = page_of(
        ">>> x = torch.arange(3.)\n>>> x\ntensor([0., 1., 2.])\n>>> x.view(2)\n"
        f"{ERROR}RuntimeError: shape '[2]' is invalid for input of size 3\n"
        '>>> import warnings\n>>> warnings.warn("old")\nUserWarning: old\n'
        '>>> print("a\\n\\nb")\na\n\nb\n'
    )
    assert (tmp_path / "docs" / "page.md").read_bytes() == expected.replace(b"\n", b"\r\n")
    assert CliRunner().invoke(main, ["run", "--jobs", "1"]).exit_code == 0
