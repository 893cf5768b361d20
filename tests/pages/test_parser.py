"""Pages as small texts: what is read from them, with lines, and what is reported."""

from unittest.mock import Mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from claimbook.model import Lane, Location, Relation, RelationKind
from claimbook.pages.book import Book
from claimbook.pages.directive import OPTIONS, STAR
from claimbook.pages.parser import scan_page, scan_script
from claimbook.pages.session import parse_session
from helpers import ROOT, TinyBook, claim_text, whole_book

FENCE = "```"
CLAIM = """\
:::{claim} sum-adds
:confirms: basics-01.1 basics-01.2
:corrects: autograd-01.1

`sum()` adds
all elements.

Not in the statement.

```pycon
>>> x = torch.ones(2)
>>> for _ in range(2):
...     print("a")
...
a
a
>>> print("b\\n\\nc")
b

c

>>> x.sum()
tensor(2.)

```
:::
"""


def one_claim(text):
    page = scan_page(text, "docs/p.md")
    assert page.problems == ()
    (claim,) = page.claims
    return claim


def wrapped(prefix, text, opening="", closing=""):
    """A text with each line behind a prefix, between two other lines."""
    lines = "".join(f"{prefix}{line}".rstrip() + "\n" for line in text.splitlines())
    return opening + lines + closing


def test_claim_is_read():
    """Id, statement, relations, lanes and location are what the page says."""
    claim = one_claim(f"# Title\n\n{CLAIM}")
    assert claim.id == "sum-adds"
    assert claim.statement == "`sum()` adds all elements."
    assert claim.location == Location("docs/p.md", 3)
    assert claim.relations == (
        Relation(RelationKind.CONFIRMS, "basics-01.1"),
        Relation(RelationKind.CONFIRMS, "basics-01.2"),
        Relation(RelationKind.CORRECTS, "autograd-01.1"),
    )
    assert claim.lanes == (Lane.CPU, Lane.CUDA)
    assert claim.timeout is None


def test_examples_are_read():
    """Continuation lines belong to the source, blank lines within an output to the want."""
    (fence,) = one_claim(CLAIM).fences
    assert [(e.source, e.want, e.line, e.want_line) for e in fence.examples] == [
        ("x = torch.ones(2)\n", "", 11, 12),
        ('for _ in range(2):\n    print("a")\n\n', "a\na", 12, 15),
        ('print("b\\n\\nc")\n', "b\n\nc", 17, 18),
        ("x.sum()\n", "tensor(2.)", 22, 23),
    ]


@pytest.mark.parametrize(
    ("option", "lanes"),
    [
        ("cpu", (Lane.CPU,)),
        ("cuda", (Lane.CUDA,)),
        ("cuda cpu", (Lane.CPU, Lane.CUDA)),
        ("cpu, cuda", (Lane.CPU, Lane.CUDA)),
    ],
)
def test_lanes(option, lanes):
    """`:lanes:` names the lanes, in any order."""
    assert one_claim(CLAIM.replace(":confirms:", f":lanes: {option}\n:confirms:")).lanes == lanes


def test_timeout():
    """`:timeout:` is in seconds."""
    assert one_claim(CLAIM.replace(":confirms:", ":timeout: 2.5\n:confirms:")).timeout == 2.5


@pytest.mark.parametrize("option", ["cpu-build", "detail", "explains"])
def test_options_without_a_value(option):
    """They stand alone."""
    field = option.replace("-", "_")
    assert getattr(one_claim(CLAIM.replace(":confirms:", f":{option}:\n:confirms:")), field)
    assert not getattr(one_claim(CLAIM), field)


def test_cuda_fence():
    """A `pycon cuda` fence says what the fence before it prints on CUDA."""
    cuda = f"\n{FENCE}pycon cuda\n>>> 1\n2\n{FENCE}\n"
    claim = one_claim(f":::{{claim}} a\n\nS.\n\n{FENCE}pycon\n>>> 1\n1\n{FENCE}\n{cuda}:::\n")
    (on_cpu,), (on_cuda,) = claim.examples(Lane.CPU), claim.examples(Lane.CUDA)
    assert (on_cpu.want, on_cpu.line) == ("1", 6)
    assert (on_cuda.want, on_cuda.line) == ("2", 11)
    assert claim.digest(Lane.CPU) != claim.digest(Lane.CUDA)


def test_digest_leaves_prose_out():
    """Another statement or place is the same run; another want is not."""
    claim = one_claim(CLAIM)
    moved = one_claim(f"\n\n{CLAIM}".replace("adds", "sums"))
    changed = one_claim(CLAIM.replace("tensor(2.)", "tensor(3.)"))
    assert moved.digest(Lane.CPU) == claim.digest(Lane.CPU) != changed.digest(Lane.CPU)


@pytest.mark.parametrize(
    ("text", "shift"),
    [
        (CLAIM, 0),
        (CLAIM.replace("\n", "\r\n"), 0),
        (f"---\nfile_format: mystnb\n---\n{CLAIM}", 3),
        (wrapped("", CLAIM, "::::{note}\n:class: tip\n\n", "::::\n"), 3),
        (wrapped("", CLAIM, "`````{tab-set}\n````{tab-item} A\n\n", "````\n`````\n"), 3),
        (wrapped("  ", CLAIM, "- item\n\n"), 2),
        (wrapped("> ", CLAIM, "> quoted\n>\n"), 2),
        (f"a\x0cb\u2028c\x1dd\n\n{CLAIM}", 2),
    ],
    ids=["plain", "crlf", "front matter", "admonition", "tabs", "list", "quote", "separators"],
)
def test_lines_wherever_a_claim_stands(text, shift):
    """Claims are found inside other blocks, and their lines are lines of the page."""
    claim = one_claim(text)
    assert claim.location.line == 1 + shift
    assert [e.line for e in claim.examples(Lane.CPU)] == [n + shift for n in (11, 12, 17, 22)]
    assert claim.digest(Lane.CPU) == one_claim(CLAIM).digest(Lane.CPU)


def test_source_of_a_claim():
    """A claim in a `markdown` fence shows how one is written, and is none."""
    page = scan_page(f"# How to\n\n````markdown\n{CLAIM}````\n", "docs/p.md")
    assert (page.claims, page.problems) == ((), ())


def test_remark():
    """A remark gives one reason for several entries."""
    page = scan_page(
        "a\n\n:::{remark} basics-01.1 basics-01.2\nHistory,\n{cite:t}`lee2017a` says X.\n:::\n",
        "p.md",
    )
    (remark,) = page.remarks
    assert remark.entries == ("basics-01.1", "basics-01.2")
    assert (remark.text, remark.location) == ("History, Lee (2017) says X.", Location("p.md", 3))
    assert page.problems == ()


TO_RUN = "write it as a claim, `:::{claim} an-id`"
UNOWNED = f"{TO_RUN}, or as a code cell that draws [claim.unowned-code]"
NOT_RUN = f"code that nothing runs and compares: {TO_RUN} [claim.unowned-code]"
ALLOWED = (
    "['confirms', 'corrects', 'cpu-build', 'detail', 'explains', 'lanes', 'machine', 'qualifies', "
    "'timeout', 'updates']"
)


def claim_with(options="", statement="S.\n", code=">>> 1\n1", language="pycon", name="a-claim"):
    return f":::{{claim}} {name}\n{options}\n{statement}\n{FENCE}{language}\n{code}\n{FENCE}\n:::\n"


PROBLEMS = {
    "an included page": (
        "```{include} other.md\n```\n",
        [(f"p.md:1: what `{{include}}` shows is not read for claims or code: {UNOWNED}")],
    ),
    "an included script": (
        "```{literalinclude} train.py\n```\n",
        [f"p.md:1: the code of a `{{literalinclude}}` is never run: {UNOWNED}"],
    ),
    "a script by its language": (
        "```{literalinclude} train.txt\n:language: python\n```\n",
        [f"p.md:1: the code of a `{{literalinclude}}` is never run: {UNOWNED}"],
    ),
    "a comment alone": (
        claim_with(code=">>> # one\n>>> 1\n1"),
        [
            (
                "p.md:6: a-claim: there is only a comment at this prompt; put it beside code "
                "[claim.bad-fence]"
            )
        ],
    ),
    "a tab after a prompt": (
        claim_with(code=">>> if True:\n...\tpass"),
        [
            (
                "p.md:6: a-claim: this is no Python statement: expected an indented block after "
                "'if' statement on line 1; continuation lines begin with `... ` [claim.bad-fence]"
            )
        ],
    ),
    "a machine of no kind": (
        claim_with(options=":machine: clock, wheels\n"),
        [
            (
                "p.md:2: a-claim: machine is one or more of clock, cache, cores, instructions, "
                "memory, system, not wheels [claim.bad-option]"
            )
        ],
    ),
    "no id": (
        claim_with(name=""),
        ["p.md:1: claim: its id goes after `{claim}` [claim.malformed-claim]"],
    ),
    "two ids": (
        claim_with(name="a b"),
        [
            (
                "p.md:1: a b: an id is lowercase letters and digits, joined by hyphens "
                "[claim.malformed-claim]"
            )
        ],
    ),
    "an id in capitals": (
        claim_with(name="A-claim"),
        [
            (
                "p.md:1: A-claim: an id is lowercase letters and digits, joined by hyphens "
                "[claim.malformed-claim]"
            )
        ],
    ),
    "no statement": (
        claim_with(statement=""),
        ["p.md:1: a-claim: a claim begins with its statement, in prose [claim.malformed-claim]"],
    ),
    "an unknown option": (
        claim_with(":confirms: a-1.1\n:lane: cpu\n"),
        [
            ("p.md:3: a-claim: there is no option 'lane'; did you mean lanes? [claim.bad-option]"),
        ],
    ),
    "an option without its second colon": (
        claim_with(":detail\n"),
        [("p.md:2: a-claim: an option is written `:name:`, or `:name: value` [claim.bad-option]")],
    ),
    "an option like no other": (
        claim_with(":zzz: cpu\n"),
        [f"p.md:2: a-claim: there is no option 'zzz'; there are {ALLOWED} [claim.bad-option]"],
    ),
    "a fence that is never closed": (
        f"# P\n\n```text\nA.\n\n{claim_with()}\n>>> 1\n",
        ["p.md:3: this fence is never closed: end it with ``` [claim.bad-fence]"],
    ),
    "a claim that is never closed": (
        claim_with().removesuffix(":::\n"),
        ["p.md:1: this fence is never closed: end it with ::: [claim.bad-fence]"],
    ),
    "a claim that fewer colons close": (
        f":{claim_with()}",
        ["p.md:1: this fence is never closed: end it with :::: [claim.bad-fence]"],
    ),
    "a directive that is misspelt": (
        claim_with().replace("{claim}", "{clam}"),
        ["p.md:1: there is no directive `{clam}`; did you mean `{claim}`? [claim.malformed-claim]"],
    ),
    "front matter that is never closed": (
        "---\nfile_format: mystnb\n\n# P\n",
        [
            (
                "p.md:1: what stands before the title is never closed: end it with a line --- "
                "[claim.bad-form]"
            ),
        ],
    ),
    "an answer that begins otherwise": (
        "**In short** it is.\n\n**in short.** It is.\n\n*In short* is no answer, in short.\n",
        [
            f"p.md:{line}: a short answer begins with `**In short.**` [claim.bad-form]"
            for line in (1, 3, 5)
        ],
    ),
    "a fence of a claim that is never closed": (
        claim_with().replace("```\n:::", ":::"),
        ["p.md:5: a-claim: this fence is never closed: end it with ``` [claim.bad-fence]"],
    ),
    "a claim that swallows the next": (
        claim_with().removesuffix(":::\n") + "\n" + claim_with(name="b-claim"),
        ["p.md:1: this fence is never closed: end it with ::: [claim.bad-fence]"],
    ),
    "code that is too wide": (
        claim_with().replace(">>> 1\n", f">>> {'1 + ' * 22}1,\n>>> {'1 + ' * 22}111\n"),
        [("p.md:7: a-claim: code of 91 columns; a card shows 90: break the line [claim.bad-form]")],
    ),
    "a long answer": (
        f"**In short.** {'word ' * 60}\n\n**In short.** {'word ' * 61}\n",
        ["p.md:3: a short answer of 61 words; at most 60 [claim.bad-form]"],
    ),
    "an option that names nothing": (
        claim_with(":confirms:\n"),
        ["p.md:2: a-claim: confirms names no entry [claim.bad-option]"],
    ),
    "a value that an option does not have": (
        claim_with(":detail: no\n"),
        [
            (
                "p.md:2: a-claim: detail has no value: leave out 'no', or the whole line "
                "[claim.bad-option]"
            )
        ],
    ),
    "a product that becomes a list": (
        claim_with(statement="It is two\n* three.") + "\nFour\n+ five.\n",
        [
            f"p.md:4: a-claim: {STAR} [claim.bad-form]",
            f"p.md:12: {STAR} [claim.bad-form]",
        ],
    ),
    "a statement in a list": (
        claim_with(statement="- It is so."),
        ["p.md:1: a-claim: a claim begins with its statement, in prose [claim.malformed-claim]"],
    ),
    "an option twice": (
        claim_with(":confirms: a-1.1\n:confirms: a-1.2\n"),
        ["p.md:3: a-claim: confirms is given twice [claim.bad-option]"],
    ),
    "an option over two lines": (
        claim_with(":confirms: a-1.1\n  a-1.2\n"),
        [
            (
                "p.md:3: a-claim: an option takes one line, and an empty line ends the options "
                "[claim.bad-option]"
            )
        ],
    ),
    "an option after an empty line": (
        claim_with(statement=":lanes: cpu\nIt adds.\n"),
        [
            (
                "p.md:3: a-claim: options stand directly below the first line, without an empty "
                "line [claim.bad-option]"
            )
        ],
    ),
    "unknown lanes": (
        claim_with(":confirms: a-1.1\n:lanes: cpu gpu tpu\n"),
        ["p.md:3: a-claim: lanes is one or more of cpu, cuda, not gpu tpu [claim.bad-option]"],
    ),
    "no lanes": (
        claim_with(":lanes:\n"),
        ["p.md:2: a-claim: lanes is one or more of cpu, cuda, not none [claim.bad-option]"],
    ),
    "a timeout in words": (
        claim_with(":timeout: soon\n"),
        ["p.md:2: a-claim: timeout is in seconds, not 'soon' [claim.bad-option]"],
    ),
    "an endless timeout": (
        claim_with(":timeout: inf\n"),
        ["p.md:2: a-claim: timeout is in seconds, not 'inf' [claim.bad-option]"],
    ),
    "no fence": (
        ":::{claim} a-claim\n\nS.\n:::\n",
        [("p.md:1: a-claim: it has no `pycon` fence that shows its statement [claim.bad-fence]")],
    ),
    "another fence": (
        claim_with().replace(":::\n", f"{FENCE}python\nx\n{FENCE}\n:::\n").lstrip(),
        [
            (
                "p.md:9: a-claim: a claim holds `pycon` and `pycon cuda` fences, not `python` "
                "[claim.bad-fence]"
            )
        ],
    ),
    "a fence without a language": (
        claim_with().replace(":::\n", f"{FENCE}\nx\n{FENCE}\n:::\n").lstrip(),
        [
            (
                "p.md:9: a-claim: a claim holds `pycon` and `pycon cuda` fences, and this one "
                "names no language [claim.bad-fence]"
            )
        ],
    ),
    "a fence without prompt": (
        claim_with(code="x = 1"),
        [
            "p.md:5: a-claim: a `pycon` fence without any `>>>` [claim.bad-fence]",
            "p.md:6: a-claim: text before the first `>>>` [claim.bad-fence]",
        ],
    ),
    "text before the prompt": (
        claim_with(code="x\n>>> 1\n1"),
        ["p.md:6: a-claim: text before the first `>>>` [claim.bad-fence]"],
    ),
    "no space after the prompt": (
        claim_with(code=">>> 1\n1\n>>>2\n2"),
        ["p.md:8: a-claim: a prompt is followed by a space: `>>> ` [claim.bad-fence]"],
    ),
    "a syntax error": (
        claim_with(code=">>> 1\n1\n>>> for x in y:\n...     a b"),
        ["p.md:9: a-claim: this is no Python statement: invalid syntax [claim.bad-fence]"],
    ),
    "a block that is not continued": (
        claim_with(code=">>> for x in y:\n>>>     x\n>>> z"),
        [
            (
                "p.md:6: a-claim: this is no Python statement: expected an indented block after "
                "'for' statement on line 1; continuation lines begin with `... ` [claim.bad-fence]"
            )
        ],
    ),
    "a title without an end": (
        claim_with(statement="It adds\n\nMore.\n"),
        ["p.md:1: a-claim: its first sentence, the title, has no full stop [claim.bad-form]"],
    ),
    "a title too long": (
        claim_with(statement=f"{'It adds ' * 15}sums it.\n"),
        [
            (
                "p.md:1: a-claim: its first sentence, the title, has 128 characters; 125 fit "
                "[claim.bad-form]"
            )
        ],
    ),
    "half a statement": (
        claim_with(code=">>> x = (1,"),
        ["p.md:6: a-claim: this is no Python statement: '(' was never closed [claim.bad-fence]"],
    ),
    "two statements at one prompt": (
        claim_with(code=">>> x = 1\n... y = 2"),
        [
            (
                "p.md:6: a-claim: this is no Python statement: multiple statements found while "
                "compiling a single statement; each begins with `>>> ` [claim.bad-fence]"
            )
        ],
    ),
    "other code for CUDA": (
        claim_with().replace(":::\n", f"{FENCE}pycon cuda\n>>> 2\n{FENCE}\n:::\n").lstrip(),
        [
            (
                "p.md:9: a-claim: a `pycon cuda` fence repeats the code of the `pycon` fence "
                "before it [claim.bad-fence]"
            )
        ],
    ),
    "code for CUDA of a claim for the CPU": (
        claim_with(":lanes: cpu\n")
        .replace(":::\n", f"{FENCE}pycon cuda\n>>> 1\n{FENCE}\n:::\n")
        .lstrip(),
        [
            (
                "p.md:1: a-claim: its `pycon cuda` fence never runs: take it out, or add cuda to "
                "`:lanes:` [claim.bad-fence]"
            )
        ],
    ),
    "a remark of nothing": (
        "\n:::{remark}\nWhy.\n:::\n",
        ["p.md:2: remark: the entries that it answers go after `{remark}` [claim.malformed-claim]"],
    ),
    "a claim without braces": (
        claim_with().replace("{claim}", "claim"),
        [f"p.md:6: {NOT_RUN}"],
    ),
    "a plain fence after a claim": (
        f"{claim_with()}\n{FENCE}python\nx = 1\n{FENCE}\n",
        [f"p.md:11: a plain `python` fence is never run: {UNOWNED}"],
    ),
    "a remark without reason": (
        "\n:::{remark} a-1.1\n:::\n",
        ["p.md:2: a remark must give its reason [claim.malformed-claim]"],
    ),
    "a python fence": (
        f"\n{FENCE}python\nx = 1\n{FENCE}\n",
        [f"p.md:2: a plain `python` fence is never run: {UNOWNED}"],
    ),
    "a py fence with tildes": (
        "\n~~~Py title=x\nx = 1\n~~~\n",
        [f"p.md:2: a plain `py` fence is never run: {UNOWNED}"],
    ),
    "a py3 fence": (
        "```py3\nx = 1\n```\n",
        [f"p.md:1: a plain `py3` fence is never run: {UNOWNED}"],
    ),
    "a pycon fence": (
        f"\n{FENCE}pycon\n>>> x\n1\n{FENCE}\n",
        [f"p.md:2: a plain `pycon` fence is never run: {UNOWNED}"],
    ),
    "a python fence in a quote": (
        f"> {FENCE}python\n> x = 1\n> {FENCE}\n",
        [f"p.md:1: a plain `python` fence is never run: {UNOWNED}"],
    ),
    "a python fence in an admonition": (
        f"::::{{note}}\n{FENCE}python\nx = 1\n{FENCE}\n::::\n",
        [f"p.md:2: a plain `python` fence is never run: {UNOWNED}"],
    ),
    "a python fence in a remark": (
        f":::{{remark}} a-1.1\nWhy.\n\n{FENCE}python\nx = 1\n{FENCE}\n:::\n",
        [f"p.md:4: a plain `python` fence is never run: {UNOWNED}"],
    ),
    "a python fence in a remark that begins below an empty line": (
        f":::{{remark}} a-1.1\n\nWhy.\n\n{FENCE}python\nx = 1\n{FENCE}\n:::\n",
        [f"p.md:5: a plain `python` fence is never run: {UNOWNED}"],
    ),
    "a code-block": (
        f"{FENCE}{{code-block}} Python\nx = 1\n{FENCE}\n",
        [f"p.md:1: the code of a `{{code-block}}` is never run: {UNOWNED}"],
    ),
    "a code-block in no language": (
        f"{FENCE}{{code-block}}\nx = 1\n{FENCE}\n",
        [f"p.md:1: the code of a `{{code-block}}` is never run: {UNOWNED}"],
    ),
    "a doctest": (
        f"{FENCE}{{doctest}}\n>>> x\n{FENCE}\n",
        [f"p.md:1: the code of a `{{doctest}}` is never run: {UNOWNED}"],
    ),
    "a testcode of a group": (
        f"{FENCE}{{testcode}} group\nx = 1\n{FENCE}\n",
        [f"p.md:1: the code of a `{{testcode}}` is never run: {UNOWNED}"],
    ),
    "indented code": ("a\n\n    >>> x\n    1\n", [f"p.md:3: {NOT_RUN}"]),
    "a prompt in prose": ("a\n>>> x\n1\n", [f"p.md:2: {NOT_RUN}"]),
    "a prompt below a cell": (
        f"a\n\n{FENCE}{{code-cell}}\n'''\n>>> x\n'''\n{FENCE}\na\n>>> x\n",
        [f"p.md:9: {NOT_RUN}"],
    ),
    "a prompt below separators that end no line": (
        "a\x0cb\u2028c\x85d\n\n>>> x\n",
        [f"p.md:3: {NOT_RUN}"],
    ),
    "a prompt in a list": ("- >>> x\n\n1. >>> y\n", [f"p.md:1: {NOT_RUN}", f"p.md:3: {NOT_RUN}"]),
    "a prompt in a text fence": (f"{FENCE}text\n>>> x\n{FENCE}\n", [f"p.md:2: {NOT_RUN}"]),
    "a code-block in reStructuredText": (
        f"{FENCE}{{eval-rst}}\n\n.. code-block:: python\n\n   x = 1\n{FENCE}\n",
        [f"p.md:3: {NOT_RUN}"],
    ),
    "a testcode in reStructuredText": (
        f"{FENCE}{{eval-rst}}\n\n.. testcode:: group\n\n   x = 1\n{FENCE}\n",
        [f"p.md:3: {NOT_RUN}"],
    ),
    "a doctest in reStructuredText": (
        f"{FENCE}{{eval-rst}}\n>>> x\n1\n{FENCE}\n",
        [f"p.md:2: {NOT_RUN}"],
    ),
    "prompts beside the fences of a claim": (
        claim_with(statement="S.\n\n    >>> 2\n    3\n\n> >>> 4\n> 5\n"),
        [f"p.md:5: {NOT_RUN}", f"p.md:8: {NOT_RUN}"],
    ),
    "a fence of a claim in a list": (
        claim_with(statement="S.\n\n- A list.\n\n  ```pycon\n  >>> 2\n  2\n  ```\n"),
        [("p.md:7: a-claim: a fence of a claim must not be in a list or quote [claim.bad-fence]")],
    ),
}


@pytest.mark.parametrize(("text", "said"), PROBLEMS.values(), ids=PROBLEMS.keys())
def test_problem(text, said):
    """What an author did wrong is said, with its line and kind."""
    assert [str(problem) for problem in scan_page(text, "p.md").problems] == said


@pytest.mark.parametrize(
    "text",
    [
        f"{FENCE}{{code-cell}} python\nx = '''\n>>> x\n'''\n{FENCE}\n",
        f"{FENCE}shell\npython -m x\n{FENCE}\n",
        f"{FENCE}{{code-block}} shell\npython -m x\n{FENCE}\n",
        f"{FENCE}\nplain\n{FENCE}\n",
        "The prompt `>>> ` is three characters, and 3 >>> 1 is no Python.\n",
        f"{FENCE}{{eval-rst}}\n.. code-block:: shell\n\n   ls\n{FENCE}\n",
        f"{FENCE}{{toctree}}\n:glob:\n\n*\n{FENCE}\n",
    ],
)
def test_what_is_no_problem(text):
    """Cells, which run, and what is not Python are left alone."""
    assert scan_page(text, "p.md").problems == ()


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_lines_that_end_otherwise(end):
    """A page of another system says the same."""
    text = f"# P\n\n**In short.** Short.\n\n{'word ' * 61}\n\n{claim_with(name='')}"
    assert scan_page(text.replace("\n", end), "p.md") == scan_page(text, "p.md")


def test_each_option_is_explained():
    """Who writes a claim reads of it on the page about claims."""
    explained = (ROOT / "docs/contributing/add-a-claim.md").read_text("utf-8")
    assert [name for name in OPTIONS if f"`:{name}:`" not in explained] == []


def test_problems_leave_the_other_claims():
    """A broken claim does not hide the ones around it."""
    text = CLAIM + claim_with(name="") + CLAIM.replace("sum-adds", "other")
    assert [claim.id for claim in scan_page(text, "p.md").claims] == ["sum-adds", "other"]


def test_escapes_are_no_problem():
    """What Python merely warns of is shown by the run, not by the scan."""
    assert scan_page(claim_with(code=r">>> '\d'"), "p.md").problems == ()


def test_a_lab_is_in_words_too():
    """One that lacks its title, or whose figure has none or no description, is named."""
    text, title, label = "'''T.'''\n", "fig.suptitle('It falls')\n", "fig.set_label('A line.')\n"
    assert [problem.message for problem in scan_script(title + label, "a/plot_x.py")] == [
        "a lab begins with a text in quotes: its title, underlined, and what it shows"
    ]
    assert [problem.message for problem in scan_script(text + title, "a/plot_x.py")] == [
        "a lab describes its picture for readers who cannot see it: `fig.set_label(…)`"
    ]
    assert [problem.message for problem in scan_script(text + label, "a/plot_x.py")] == [
        "a lab states its finding: `fig.suptitle(…)`"
    ]
    assert (
        scan_script(text + title + label, "a/plot_x.py") == scan_script("", "a/__init__.py") == []
    )


def test_a_lab_with_another_name_is_told():
    """sphinx-gallery would show its code, and never run it."""
    (problem,) = scan_script("", "a/tool.py")
    said = "a lab that would be shown and never run: name it plot_tool.py [claim.unowned-code]"
    assert str(problem) == f"a/tool.py:1: {said}"


def test_a_folder_of_labs_needs_its_header(tmp_path):
    """sphinx-gallery would pass over it, and say nothing."""
    book = TinyBook(tmp_path)
    book.write(
        "gallery/new/plot_x.py", "'T.'\nfig.suptitle('It falls')\nfig.set_label('A line.')\n"
    )
    (problem,) = Book.load(tmp_path).problems
    assert str(problem) == (
        "gallery/new/plot_x.py:1: its labs are not shown: gallery/new needs a GALLERY_HEADER.rst "
        "with a title [claim.bad-form]"
    )


def test_script():
    """The text of a lab is looked at for code that nothing runs."""
    text = 'x = 1\n# text\n# >>> y\n"""\n.. code-block:: python\n"""\n'
    assert [str(problem) for problem in scan_script(text, "__g.py")] == [
        f"__g.py:3: {NOT_RUN}",
        f"__g.py:5: {NOT_RUN}",
    ]


def test_session_in_parts():
    """A session is split at its prompts; what cannot stand there comes with its line."""
    wrong = Mock()
    (found,) = parse_session("x\n>>> 1\n... 2\n... \n...3\n", 10, wrong)
    wrong.assert_called_once_with(10, "text before the first `>>>`")
    assert (found.source, found.want, found.line, found.want_line) == (
        "1\n2\n\n",
        "...3",
        11,
        14,
    )


@pytest.mark.parametrize("end", ["", " ", "\t", " \t"])
def test_white_space_after_a_lone_continuation_prompt(end):
    """Nobody sees it: the line ends a compound statement, and is not an output of any text."""
    (example,) = parse_session(f">>> if True:\n...     1\n...{end}\n1\n", 1, pytest.fail)
    assert (example.source.rstrip(), example.want) == ("if True:\n    1", "1")


PIECES = [
    *(CLAIM, claim_with(), claim_with(code=">>> 1\n... \n\n2\n\n>>> 3"), ":::{claim} b\n\nS.\n\n"),
    *(":::{claim} a\n", ":::{claim}\n", ":::\n", "::::{note}\n", "::::\n", ":::{remark} x-1.1\n"),
    *("```pycon\n", "```pycon cuda\n", "```\n", "````markdown\n", "````\n", "```python\n"),
    *("```{code-cell} python\n", "```{eval-rst}\n", ".. code-block:: python\n", "```{x} y\n"),
    *(">>> 1\n", ">>> for x in y:\n", "...     x\n", "...\n", ">>>\n", ">>>1\n", "1\n", "\n"),
    *(":confirms: a-1.1\n", ":lanes: cpu\n", ":lanes: x\n", ":timeout: 0\n", ":x\n", ":x: [\n"),
    *("---\n", "S.\n", "- ", "> ", "    ", "\t", "\r", "\x0c", '>>> """\n', ">>> (\n", "\x00"),
    *("| a |\n|--|\n", "(x)=\n", "[x]: y\n", "% z\n", "+++\n", "$$\n", "{#i .c}\n", "a\n: b\n"),
]


def as_markdown_reads(text):
    """CommonMark takes every line ending for a newline, and puts U+FFFD for a zero character."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")


@settings(max_examples=max(600, settings.default.max_examples))
@given(st.text() | st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
@example(":::{claim} a\n\nS.\n\n```pycon\n>>> 1\n\0\n```\n:::")
@example(":::{remark} a-1.1\n\x0c:::{claim} a\n```pycon\n>>> 0")
@example(":::{claim} a\n\u2028\n\x0cS.\n\n```pycon\n>>> 0\n0\n```\n:::")
@example(":::{claim} a\n\nS.\n\n```pycon\n>>> (" + "-" * 20_000 + "1)\n```\n:::")
def test_any_page(text):
    """No text makes the scan raise; claims, problems and examples have lines of the page."""
    page = scan_page(text, "p.md")
    lines = as_markdown_reads(text).split("\n")
    for found in (*page.claims, *page.remarks, *page.problems):
        assert 1 <= found.location.line <= len(lines)
    for claim in page.claims:
        for fence in claim.fences:
            for each in (*fence.examples, *(fence.cuda_examples or ())):
                assert ">>>" in lines[each.line - 1]
                assert each.want.split("\n")[0] in lines[each.want_line - 1 : each.want_line] or (
                    not each.want
                )


def test_the_books_own_pages_have_examples_on_their_lines():
    """Each example of the book stands on the page line that it names."""
    for page in whole_book().pages:
        lines = (ROOT / page.path).read_text("utf-8").split("\n")
        for claim in page.claims:
            for each in claim.examples(Lane.CPU):
                wanted = f">>> {each.source.splitlines()[0]}"
                assert lines[each.line - 1].strip() == wanted.strip()


@pytest.mark.parametrize(
    ("written", "alone"),
    [
        ("See {claim}`sum-adds`.", "See `sum-adds`."),
        ("See {claim}`the sum <sum-adds>`.", "See the sum."),
        ("{py:func}`torch.sum` adds.", "`torch.sum` adds."),
        ("It helps {cite:p}`a2020b`, says {cite:t}`c2021d`.", "It helps (A 2020), says C (2021)."),
        ("A [tutorial](https://pytorch.org/x) of *two* `[a](b)`.", "A tutorial of *two* `[a](b)`."),
        ("From `x[0](1 < 2)` on.", "From `x[0](1 < 2)` on."),
    ],
)
def test_statement_alone(written, alone):
    """In lists and data a statement stands without the links that only a page can follow."""
    text = claim_text("links", ">>> 1\n1").replace("It says so.", written)
    (found,) = scan_page(text, "docs/page.md").claims
    assert found.statement == alone
