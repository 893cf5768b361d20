"""The register: what its files must say, and what claims may say of it."""

import pytest

from claimbook.model import Claim, Location, Relation, RelationKind, Remark
from claimbook.pages.parser import scan_page
from claimbook.pages.register import answers, check_relations, load_register
from helpers import REGISTER, ROOT, claim_text


@pytest.fixture
def register(tmp_path):
    """The register of the tiny book."""
    (tmp_path / "basics.yaml").write_text(REGISTER)
    return load_register(tmp_path)


def test_register_is_read(register):
    """Questions come in the order of the file, each entry with its question."""
    assert [question.id for question in register.questions] == ["basics-01", "basics-02"]
    assert register.questions[0].source == "basics"
    entry = register.entries["basics-01.1"]
    assert (entry.statement, entry.needs, entry.question) == (
        "A sum adds `all` elements.",
        "cpu",
        "What does a sum do?",
    )


def test_the_real_register():
    """The five sources are there, and no id stands twice in the files."""
    register = load_register(ROOT / "docs/register")
    assert {question.source for question in register.questions} == {
        *("basics", "mechanics", "training", "autograd", "gradients"),
    }
    text = "".join(path.read_text("utf-8") for path in (ROOT / "docs/register").glob("*.yaml"))
    assert text.count("\n    - id: ") == len(register.entries) > 500


def test_an_empty_file_is_no_error(tmp_path):
    """A source whose file says nothing yet has no questions."""
    (tmp_path / "basics.yaml").write_text("# later\n")
    assert load_register(tmp_path).questions == ()


ENTRY = "{id: basics-01.1, statement: S., needs: cpu}"
QUESTION = f"- id: basics-01\n  question: Q?\n  entries:\n  - {ENTRY}\n"
BROKEN = {
    "no YAML": ("- id: [\n", "2: did not find expected node content"),
    "a control character": (QUESTION + "# \a\n", "5: control characters are not allowed"),
    "no UTF-8": (QUESTION + "# \udce9\n", "5: it is not UTF-8: save it with this encoding"),
    "no list": ("id: basics-01\n", "1: expected a list"),
    "no mapping": ("\n- basics-01\n", "2: expected a mapping with entries, id, question"),
    "a field too few": (
        "- id: basics-01\n  question: Q?\n",
        "1: expected entries, id, question, found id, question",
    ),
    "a field too many": (
        QUESTION.replace("needs: cpu", "needs: cpu, more: 1"),
        "4: expected id, needs, statement, found id, more, needs, statement",
    ),
    "a field twice": (
        QUESTION.replace("needs: cpu", "needs: cpu, needs: cuda"),
        "4: expected id, needs, statement, found id, needs, needs, statement",
    ),
    "an id of another source": (
        QUESTION.replace("basics-01\n", "training-01\n"),
        "1: 'training-01' does not begin with 'basics-'",
    ),
    "an id of another question": (
        QUESTION.replace("basics-01.1", "basics-02.1"),
        "4: 'basics-02.1' does not begin with 'basics-01.'",
    ),
    "an entry twice": (QUESTION + f"  - {ENTRY}\n", "5: 'basics-01.1' is used twice in this file"),
    "a question twice": (QUESTION + QUESTION, "5: 'basics-01' is used twice in this file"),
    "an unknown need": (
        QUESTION.replace("needs: cpu", "needs: tpu"),
        "4: 'tpu' is none of both, cpu, cuda, world",
    ),
    "no statement": (QUESTION.replace("S.", "''"), "4: expected a text"),
    "a list for a text": (QUESTION.replace("Q?", "[Q]"), "2: expected a text"),
    "entries that are no list": (QUESTION.replace(f"\n  - {ENTRY}", " x"), "3: expected a list"),
}


@pytest.mark.parametrize(("text", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_named(tmp_path, text, said):
    """What is wrong is said with file and line."""
    path = tmp_path / "basics.yaml"
    path.write_text(text, "utf-8", "surrogateescape")
    place = "/".join(path.parts[-3:])
    assert [*map(str, load_register(tmp_path).problems)] == [f"{place}:{said} [claim.bad-register]"]


def test_a_broken_line_stops_nothing_else(tmp_path):
    """The other entries of a file are there, and claims of what cannot be read are not blamed."""
    (tmp_path / "basics.yaml").write_text(
        REGISTER.replace("fast., needs: cpu", "fast., needs: tpu")
    )
    (tmp_path / "talks.yml").write_text(QUESTION)
    register = load_register(tmp_path)
    assert [*register.entries] == ["basics-01.1", "basics-01.2", "basics-02.1"]
    lost, yml = said(register, claim("first", 1, confirms="basics-01.3"))
    assert "basics.yaml:6: 'tpu' is none of" in lost
    assert "talks.yml:1: source files end in .yaml: rename it to talks.yaml" in yml


def test_an_entry_knows_its_line(register):
    """Who has to answer it is led there."""
    assert register.entries["basics-01.3"].location.line == 6
    open_entry = answers(register, (), ())["basics-02.1"]
    assert open_entry.wanted == (
        "nothing answers 'People made it.': write a claim with `:confirms: basics-02.1` (or "
        "qualifies, corrects, updates), or `{remark} basics-02.1`"
    )


def claim(name, line, **relations):
    pairs = tuple(Relation(RelationKind(kind), entry) for kind, entry in relations.items())
    return Claim(name, "S.", Location("docs/p.md", line), (), pairs)


def said(register, *claims, remarks=()):
    return [str(problem) for problem in check_relations(register, claims, remarks)]


def test_relations_that_agree(register):
    """Several claims may confirm one entry, and one claim several entries."""
    first = claim("first", 1, confirms="basics-01.1", corrects="basics-01.2")
    assert said(register, first, claim("second", 9, confirms="basics-01.1")) == []


def test_unknown_entry(register):
    """A relation to an entry that the register has not is named."""
    assert said(register, claim("first", 1, confirms="basics-09.1")) == [
        (
            "docs/p.md:1: first: the register has no entry 'basics-09.1'; did you mean "
            "basics-02.1 or basics-01.1 or basics-01.3? "
            "[claim.unknown-entry]"
        )
    ]


def test_double_id(register):
    """The second claim of an id is named, with the place of the first."""
    assert said(register, claim("same", 1), claim("same", 9)) == [
        "docs/p.md:9: same: this id is taken by the claim at docs/p.md:1 [claim.double-id]"
    ]


def test_conflicting_relations(register):
    """One entry has one relation; a claim that says otherwise is named, even against itself."""
    first = claim("first", 1, confirms="basics-01.1")
    second = claim("second", 9, corrects="basics-01.1")
    assert said(register, first, second) == [
        (
            "docs/p.md:9: second: corrects basics-01.1, which first (docs/p.md:1) confirms; one "
            "entry has one relation [claim.conflicting-relations]"
        )
    ]
    assert len(said(register, claim("both", 1, confirms="basics-01.1", updates="basics-01.1"))) == 1


def test_remark_against_relation(register):
    """What a claim decides needs no remark; an unknown entry cannot have one."""
    remark = Remark(("basics-01.1", "basics-09.1"), "Why.", Location("docs/p.md", 20))
    first = claim("first", 1, confirms="basics-01.1")
    assert said(register, first, remarks=[remark]) == [
        (
            "docs/p.md:20: remark: basics-01.1 is decided by first (docs/p.md:1), confirms "
            "[claim.conflicting-relations]"
        ),
        (
            "docs/p.md:20: remark: the register has no entry 'basics-09.1'; did you mean "
            "basics-02.1 or basics-01.1 or basics-01.3? "
            "[claim.unknown-entry]"
        ),
    ]


def test_two_remarks_on_one_entry(register):
    """The second is named, with the place of the first; the book would show only one of them."""
    remarks = [Remark(("basics-02.1",), "Why.", Location("docs/p.md", n)) for n in (20, 30)]
    assert said(register, remarks=remarks) == [
        (
            "docs/p.md:30: remark: basics-02.1 has a remark already, at docs/p.md:20 "
            "[claim.conflicting-relations]"
        )
    ]


def test_answers(register):
    """Each entry has its relation with the claims, or its remark, or nothing yet."""
    text = claim_text("sums", ">>> 1\n1", ":confirms: basics-01.1\n")
    page = scan_page(f"{text}\n:::{{remark}} basics-02.1\nWhy.\n:::\n", "docs/p.md")
    found = answers(register, page.claims, page.remarks)
    assert {name: answer.word for name, answer in found.items()} == {
        "basics-01.1": "confirms",
        "basics-01.2": None,
        "basics-01.3": None,
        "basics-02.1": "remark",
    }
    assert [claim.id for claim in found["basics-01.1"].claims] == ["sums"]
