"""The lookup of errors: the claim that reproduces one is found, whatever its numbers are."""

import html
import json
import re
import time
import tomllib
from collections import defaultdict
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from claimbook.exports import errors, lookup, messages
from claimbook.exports.lookup import LIKE, Lookup
from claimbook.model import Page
from claimbook.pages.parser import scan_page
from helpers import (
    ROOT,
    claim,
    claim_text,
    error_lookup,
    known_errors,
    read_yaml,
    whole_book,
)

FOUND = ROOT / "tests/found"

EACH_NOISE = [noise for noises in errors.CUT.values() for noise in noises]


@cache
def of_printed():
    """A lookup among the messages that examples print."""
    return Lookup(messages_of(whole_book().claims))


def messages_of(claims):
    """Return the messages that claims print, merged."""
    return messages.merged(messages.found(Page("docs/page.md", claims=(*claims,))).printed)


SIZES = """
    >>> torch.ones(3) + torch.ones(4)
    Traceback (most recent call last):
    RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton \
dimension 0
"""
WARNS = """
    >>> import warnings
    >>> warnings.warn("The old way is 3 times slower. (Triggered internally at /a/b.cpp:3.)")
    UserWarning: The old way is 3 times slower. (Triggered internally at ...)
"""
MANY_LINES = """
    >>> raise ValueError("two lines:\\nthe second")
    Traceback (most recent call last):
    ValueError: two lines:
    the second
"""


@pytest.mark.parametrize("noise", EACH_NOISE, ids=lambda noise: noise["example"].split("\n")[-1])
def test_each_noise_is_cut(noise):
    """The example beside a pattern is one of it, and of no pattern before."""
    first = next(each for each in EACH_NOISE if re.search(each["pattern"], noise["example"]))
    assert first is noise


@pytest.mark.parametrize("noise", errors.CUT["echo"], ids=lambda noise: noise["pattern"][:40])
def test_what_follows_an_error_does_not_hide_it(noise):
    """It is read only where it stands alone, or below a warning."""
    said, follows = errors.read(noise["example"]), noise["example"].partition("\n")[2]
    assert (said.type, said.text.split("\n")[0]) == ("ValueError", "an error")
    alone = {*errors.read(follows).words}
    assert alone
    assert alone <= {*errors.read(f"UserWarning: old\n{follows}").words}


FORM = tomllib.loads(Path(errors.__file__).with_name("forms.toml").read_text("utf-8"))["form"]


@pytest.mark.parametrize("form", FORM, ids=lambda form: form["word"].strip())
def test_each_form_is_a_word(form):
    """The example beside a pattern is of that form, and of none before."""
    first = next(each for each in FORM if re.search(each["pattern"], form["example"], re.ASCII))
    assert first is form
    word = re.sub(form["pattern"], form["word"], form["example"], flags=re.ASCII).strip().lower()
    assert {*word.split()} & {*errors.read(form["example"]).words}


def test_messages_of_claims():
    """Errors and warnings are messages, with all their lines, and without torch's own file."""
    found = messages_of([claim("warns", WARNS), claim("lines", MANY_LINES)])
    assert [(m.type, m.text) for m in found] == [
        ("UserWarning", "The old way is 3 times slower."),
        ("ValueError", "two lines:\nthe second"),
    ]


def test_exceptions_of_an_example_are_no_messages():
    """Nobody else meets a class that an example defines; the error that it causes is one."""
    own = """
    >>> class Unreadable(Exception):
    ...     pass
    >>> raise Unreadable("a")
    Traceback (most recent call last):
    Unreadable: a
"""
    found = messages_of([claim("own", own + MANY_LINES)])
    assert [message.type for message in found] == ["ValueError"]


def test_messages_that_a_statement_names():
    """An error whose words depend on Python stands in the statement, with its type."""
    text = "It is `OSError: no 'x'` or `OSError: 'x' is gone`, never an `EOFError`."
    named = replace(claim("named", MANY_LINES), statement=text)
    found = messages_of([named])
    assert [(m.type, m.text) for m in found] == [
        ("OSError", "'x' is gone"),
        ("OSError", "no 'x'"),
        ("ValueError", "two lines:\nthe second"),
    ]


def test_each_traceback_of_an_output():
    """A worker's error stands before that of the process which lost it, a warning before both."""
    output = "Traceback (most recent call last):\n...\nValueError: in the worker\n"
    second = output.replace("ValueError: in", "RuntimeError: lost")
    both = f">>> f()\nUserWarning: it may be lost\n{output}{second}"
    found = messages_of([claim("both", both)])
    assert [(m.type, m.text) for m in found] == [
        ("RuntimeError", "lost the worker"),
        ("UserWarning", "it may be lost"),
        ("ValueError", "in the worker"),
    ]


def test_the_claim_that_explains_comes_first():
    """Even if it prints more than others."""
    first = claim("first", MANY_LINES + SIZES, ":explains:\n")
    found = messages_of([claim("sizes", SIZES), first])
    assert [c.id for c in found[0].claims] == ["first", "sizes"]


def test_names_of_weights_are_no_words():
    """A model of twelve layers finds what a claim with one layer prints."""
    ours = 'Missing key(s) in state_dict: "fc.weight".\n\tsize mismatch for fc.bias: copying'
    theirs = ours.replace("fc.weight", 'a.b", "c.d", "e.f').replace("fc.bias", "layer4.conv")
    assert errors.read(ours).words == errors.read(theirs).words


def test_one_message_of_several_claims():
    """Numbers make no other message, and the claim that prints nothing else comes first."""
    other = SIZES.replace("3", "5")
    found = messages_of([claim("both", MANY_LINES + other), claim("sizes", SIZES)])
    assert [(m.type, [c.id for c in m.claims]) for m in found] == [
        ("RuntimeError", ["sizes", "both"]),
        ("ValueError", ["both"]),
    ]


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("KeyError: 'a b'", "KeyError", {"a", "b"}),
        ("[rank0]: torch.OutOfMemoryError: no 3 MiB", "OutOfMemoryError", {"no", "mib"}),
        ("x.py:3: UserWarning: on cuda:0 (Triggered internally at /x.)", "UserWarning", {"on"}),
        (
            (
                "torch.AcceleratorError: CUDA error: an illegal access\nSearch for `cudaErrorX'\n"
                "CUDA kernel errors might be asynchronously reported at some other API call\n"
                "For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
                "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions.\n"
            ),
            "AcceleratorError",
            {"error", "an", "illegal", "access"},
        ),
        ("ValueError: first\n\nTypeError: last\r\nof two lines", "TypeError", None),
        ("  raise EOFError\nEOFError", "EOFError", {"eoferror"}),
        ("RuntimeError:\n    no more\n", "RuntimeError", {"no", "more"}),
        ("Traceback (most recent call last): File y RuntimeError: no", "RuntimeError", {"no"}),
        ("    raise ValueError('no good')", "ValueError", {"no", "good"}),
        ("`ValueError: no`", "ValueError", {"no"}),
        ("[rank0]:[E1 02:07:08.4 a/Group.cpp:607] [Rank 0] it hangs", "", {"e1", "it", "hangs"}),
        ('  File "x.py", line 3, in f\n    y = z\nit is bad', "", {"it", "is", "bad"}),
        ('  File "x.py", line 3\n    assert n > 0, "no n"', "AssertionError", {"no", "n"}),
        ("<class 'torch._dynamo.exc.UserError'>: no guard", "UserError", {"no", "guard"}),
        ("UserWarning: old\n  warnings.warn('old')", "UserWarning", {"old"}),
        ("ValueError: bad\nx.py:3: UserWarning: 1 leaked object", "ValueError", {"bad"}),
        ("UserWarning: old\nFutureWarning: newer", "FutureWarning", {"newer"}),
        (
            "ValueError: bad\nTraceback (most recent call last):\n  of another",
            "ValueError",
            {"bad"},
        ),
        ("no type at all", "", {"no", "type", "at", "all"}),
        ("at 0x7f3a torch.float32", "", {"at", "torch.float32"}),
        ("", "", set()),
    ],
)
def test_reading(text, kind, words):
    """The last error of a text counts, else its last warning, by its words."""
    message = errors.read(text)
    assert message.type == kind
    assert {*message.words} == ({"last", "of", "two", "lines"} if words is None else words)


def test_words_that_stand_side_by_side():
    """The same words in another order say something else."""
    lookup = Lookup([replace(errors.read("call to the function failed at once"), explained=1)])
    there, scattered = "a call to the function failed", "the function failed a call to it"
    found = [lookup.search(text)[0].likeness for text in (there, scattered)]
    assert found[0] > found[1]


def other_numbers(text):
    """The same message from another program: other sizes, another device."""
    text = re.sub(r"(?<![\w.'`])\d+", lambda number: str(int(number[0]) + 7), text)
    return re.sub(r"\bcpu\b", "cuda:1", text)


def test_every_message_of_the_book_is_found():
    """With other numbers, at the end of a traceback, each is the first hit."""
    head = 'Traceback (most recent call last):\n  File "x.py", line 9, in <module>\n    y = f(x)\n'
    lost = []
    for message in messages_of(whole_book().claims):
        said = f"library.exc.{message.type}: {other_numbers(message.text)}"
        (first,) = of_printed().search(f"{head}{said}\n", 1) or [None]
        if first is None or first.message.words != message.words:
            lost.append((message.claims[0].id, said, first and first.message.text))
    assert lost == []


@pytest.mark.parametrize(
    ("pasted", "expected"),
    [
        ("The size of tensor a (64) must match the size of tensor b (10)", "must match the size"),
        ("mat1 and mat2 shapes cannot be multiplied (32x784 and 512x10)", "cannot be multiplied"),
        ("element 0 of tensors does not require grad", "does not have a grad_fn"),
        ("Trying to backward through the graph a second time", "Specify retain_graph=True"),
        ("modified by an inplace operation: [torch.cuda.FloatTensor [8, 3]]", "inplace operation:"),
        ("view size is not compatible with input tensor's size and stride", "Use .reshape(...)"),
        ("can't convert cuda:0 device type tensor to numpy", "numpy"),
        ("grad can be implicitly created only for scalar outputs", "implicitly created only"),
        ("a leaf Variable that requires grad is being used in an in-place", "a leaf Variable"),
        ("Boolean value of Tensor with more than one value is ambiguous", "is ambiguous"),
    ],
)
def test_part_of_a_message(pasted, expected):
    """A piece of a line, as people paste it, finds the message too."""
    assert expected in of_printed().search(pasted, 1)[0].message.text


ASKED = """# Page

## `value is bad`

{claim}
:::{asked}
TypeError: value was bad, in release 1
CUBLAS_STATUS_BAD_VALUE when calling cublasSgemm
fix a bad value in my model
this value must be good here
bad values often come later
:::

## What else?

:::{asked}
RuntimeError: it fails here
what is a RuntimeError
:::
"""


def test_what_askers_paste_leads_to_their_section():
    """Beside an error each line that is a message; elsewhere those that a program printed."""
    text = ASKED.replace("{claim}", claim_text("bad", MANY_LINES.replace("    ", "").strip()))
    page = scan_page(text, "docs/a.md")
    found = messages.found(page).asked
    assert [(m.type, m.text, m.place.partition("#")[2], m.explained) for m in found] == [
        ("", "value is bad", "value-is-bad", 2),
        ("TypeError", "value was bad, in release 1", "value-is-bad", 2),
        ("", "CUBLAS_STATUS_BAD_VALUE when calling cublasSgemm", "value-is-bad", 2),
        ("", "this value must be good here", "value-is-bad", 2),
        ("RuntimeError", "it fails here", "what-else", 0),
    ]
    assert [[c.id for c in m.claims] for m in found] == [["bad"]] * 4 + [[]]


@pytest.mark.parametrize(("explaining", "shown"), [(0, []), (1, ["c-0"]), (2, [])])
def test_a_line_of_a_chapter_shows_what_alone_explains_errors_there(explaining, shown):
    """Of several nobody knows which is meant; the short answer of the section is enough."""
    cards = (
        claim_text(f"c-{n}", f">>> {n}\n{n}", ":explains:\n" * (n < explaining)) for n in range(3)
    )
    asked = ":::{asked}\nRuntimeError: it fails here\n:::\n"
    text = "\n".join(["# A", "## Why?", *cards, asked])
    page = scan_page(text, "docs/a.md")
    (found,) = messages.found(page).asked
    assert [claim.id for claim in found.claims] == shown


def test_a_heading_without_a_word_of_its_own_is_no_message():
    """What quotes a name alone has nothing to compare; a paste beside it was a division by zero."""
    text = "# A\n\n## `'float'`\n\n:::{asked}\nRuntimeError: it fails here\n:::\n"
    page = scan_page(text, "docs/a.md")
    found = messages.found(page).asked
    assert [message.text for message in found] == ["it fails here"]
    assert Lookup(found).search("RuntimeError: it fails here")[0].same


def known_on(pages):
    """All that a lookup on these pages compares with."""
    sections = [section for page in pages for section in page.sections]
    return messages.known([*map(messages.found, pages)], sections)


def test_a_general_error_of_a_number_alone_is_no_message():
    """`KeyError: 0` is everybody's error of a mapping; a bare `NotImplementedError` is too."""
    raised = "Traceback (most recent call last):\n"
    session = f">>> f(0)\n{raised}KeyError: 0\n>>> f(1)\n{raised}KeyError: no such weight\n"
    session += f">>> f(2)\n{raised}NotImplementedError\n"
    page = scan_page(f"# A\n\n## Why?\n\n{claim_text('keys', session)}", "docs/a.md")
    assert [message.text for message in known_on([page])] == ["no such weight"]


def test_the_section_of_a_message_comes_before_others_that_print_it():
    """What its askers paste is the message that a claim elsewhere prints, and leads to it."""
    printed = claim_text(
        "aside", ">>> f()\nTraceback (most recent call last):\nValueError: very bad"
    )
    other = f"# B\n\n## Aside?\n\n{printed}"
    own = "# A\n\n## `ValueError: bad`\n\n:::{asked}\nValueError: very bad\n:::\n"
    pages = [scan_page(t, f"docs/{n}.md") for n, t in (("b", other), ("a", own))]
    (found,) = [each for each in known_on(pages) if each.text == "very bad"]
    assert found.place == "a#valueerror-bad"
    assert [claim.id for claim in found.claims] == ["aside"]
    assert found.explained == 2


def test_of_claims_that_explain_one_comes_first_in_a_section_of_errors():
    """The section that is headed by the error tells more of it than one on something else."""
    raised = ">>> f()\nTraceback (most recent call last):\nValueError: very bad"
    aside, about = (claim_text(name, raised, ":explains:\n") for name in ("aside", "about"))
    texts = {"a": f"# A\n\n## Aside?\n\n{aside}", "b": f"# B\n\n## `ValueError`\n\n{about}"}
    pages = [scan_page(text, f"docs/{n}.md") for n, text in texts.items()]
    (found,) = [each for each in known_on(pages) if each.text == "very bad"]
    assert [claim.id for claim in found.claims] == ["about", "aside"]
    assert (found.place, found.explained) == ("b#valueerror", 2)


@pytest.mark.parametrize(
    ("printed", "place"),
    [
        ("found Double, not Float", "a#valueerror"),
        ("found bfloat16, not Float", "a#valueerror"),
        ("found Half, not Long", "b#aside"),
        ("found ComplexFloat, not Float", "b#aside"),
    ],
)
def test_a_message_leads_where_one_of_its_form_is_explained(printed, place):
    """Printed in passing, it goes where another float or integer stands in the same words."""
    raised = ">>> f()\nTraceback (most recent call last):\nValueError: "
    about = claim_text("about", f"{raised}found Half, not Float", ":explains:\n")
    texts = {
        "a": f"# A\n\n## `ValueError`\n\n{about}",
        "b": f"# B\n\n## Aside?\n\n{claim_text('aside', raised + printed)}",
    }
    pages = [scan_page(text, f"docs/{n}.md") for n, text in texts.items()]
    (found,) = [each for each in known_on(pages) if each.text == printed]
    assert found.place == place


def test_a_type_of_anything_is_no_message():
    """An error of torch's that says no more is one."""
    text = "# A\n\n## Why?\n\n:::{asked}\nRuntimeError\nx: got RuntimeError\nncclRemoteError\n:::\n"
    page = scan_page(text, "docs/a.md")
    assert [m.type for m in known_on([page])] == ["ncclRemoteError"]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("mat1 and mat2 shapes cannot be multiplied (7x8 and 9x10)", True),
        ("mat1 and mat2 shapes cannot be", True),
        ("mat1 and mat2 shapes cannot be added up (7x8 and 9x10)", False),
    ],
)
def test_the_same_message_or_the_nearest(text, same):
    """What stands in the other word for word, whatever its numbers, is the same message."""
    assert error_lookup().search(f"RuntimeError: {text}", 1)[0].same == same


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("torch._dynamo.exc.Unsupported: no", "torch._dynamo.exc.Unsupported"),
        ("ValueError: the exc.value was lost", "ValueError"),
    ],
)
def test_exceptions_without_error_in_their_name(text, found):
    """Those of a module of exceptions are read as such."""
    assert errors.read(text).type == found.rpartition(".")[2]


def test_the_examples_beside_an_answer_are_of_its_section():
    """Others that print the message too would tell of something else."""
    where = {
        claim.id: section.place for section in whole_book().sections for claim in section.claims
    }
    told = {place: number for number, place in enumerate(dict.fromkeys(where.values()))}
    numbers = {claim: told[place] for claim, place in where.items()} | told
    names = [[place, "", ""] for place in told]
    data = lookup.data(known_errors(), numbers, names)
    apart = []
    for each in data["messages"]:
        places = [number for _, _, number in each["claims"]]
        if each["sections"] and each["sections"][0] in places:
            apart += [(each["text"], places)] * (len({*places}) > 1)
    assert len(data["messages"]) > 1000
    assert apart == []


def test_a_message_is_asked_for_in_one_section_of_errors():
    """In two, one would silently take the place of the other."""
    places = defaultdict(set)
    for message in (m for page in whole_book().pages for m in messages.found(page).asked):
        if message.explained == 2:
            places[message.type, message.words].add(message.place)
    assert [each for each in places.items() if len(each[1]) > 1] == []


def test_every_wording_leads_to_a_claim():
    """A claim that is renamed or gone takes its wordings with it, unless somebody notices."""
    named = {
        each["claim"] for each in tomllib.loads(messages.WORDINGS.read_text("utf-8"))["wordings"]
    }
    assert named - {claim.id for claim in whole_book().claims} == set()


def first_place(text):
    """The section that is shown first for an error; empty if none is."""
    found = error_lookup().search(text, 1)
    return found[0].message.place if found else ""


def test_two_words_of_a_message_find_it():
    """As somebody types them who has no message to paste; one word says too little."""
    found = error_lookup().search("Size mismatch")
    assert found[0].message.place.startswith("first-aid/")
    assert all("size mismatch" in match.message.text.lower() for match in found)
    assert len({match.message.place for match in found}) == len(found) > 1
    assert error_lookup().search("mismatch") == []


@pytest.mark.parametrize("name", ["errors", "errors_apart"])
def test_errors_of_issues_and_forums(name):
    """Of errors as people pasted them, 95 of 100 lead to cause and cure first, and one astray."""
    items = read_yaml(FOUND / f"{name}.yaml")
    told = {item["text"]: first_place(item["text"]) for item in items}
    right = [i for i in items if {told[i["text"]], told[i["text"]].split("#")[0]} & {*i["found"]}]
    silent = [item for item in items if not told[item["text"]]]
    may_be_silent = [item for item in silent if not item["found"] or item.get("none")]
    wrong = [(i["text"], told[i["text"]]) for i in items if i not in right and i not in silent]
    assert len(items) >= 30
    assert len(right) + len(may_be_silent) >= 0.95 * len(items), wrong
    assert len(wrong) <= 0.01 * len(items), wrong


def test_messages_of_other_libraries_are_none_of_the_book():
    """Of 400 that ten libraries raise, drawn at random, at most four seem to be explained."""
    texts = json.loads((FOUND / "others.json").read_text("utf-8"))
    answered = [text for text in texts if first_place(text)]
    assert len(texts) == 400
    assert len(answered) <= 4, answered


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.yaml")), ids=lambda path: path.stem)
def test_what_is_to_be_found_is_there(path):
    """A section that is renamed is named anew in the lists of what is asked."""
    there = {section.place for section in whole_book().sections}
    there |= {place.partition("#")[0] for place in there}
    wanted = {place for item in read_yaml(path) for place in item["found"]}
    assert wanted - there == set()


PYTHONS = """
AttributeError: 'list' object has no attribute 'lower'
AttributeError: 'NoneType' object has no attribute 'lower'
AttributeError: 'UserModel' object has no attribute 'items'
AttributeError: module 'cv2' has no attribute 'xfeatures2d'
AttributeError: 'Namespace' object has no attribute 'device'
AttributeError: 'Sequential' object has no attribute 'predict_classes'
AttributeError: 'Tensor' object has no attribute '_keras_history'
ConnectionRefusedError: [Errno 111] Connection refused
EOFError
ERROR: No matching distribution found for mmcv-full==1.3.9
Process finished with exit code 1
UserWarning: 'torch_geometric.compile' is deprecated in favor of 'torch.compile'
ValueError: NVIDIA_API_KEY environment variable is not set
AttributeError: partially initialized module 'cv2' has no attribute 'gapi' (circular import)
TypeError: clamp(): argument 'min' must be Number, not Tensor
UserWarning: Requested device 'cuda' is not available, falling back to CPU
ValueError: Requested device 'cuda' but CUDA is not available.
ValueError: Sample probability has to be between 0 and 1 (got 2
ValueError: `block_size` should be a positive integer value (got 0)
ValueError: `q` must be in the range [0, 1].
AttributeError: module 'torchvision.models' has no attribute 'vit_b_16'
FileNotFoundError: [Errno 2] No such file or directory: 'data/train.csv'
ImportError: libGL.so.1: cannot open shared object file: No such file or directory
ImportError: _mod.so: undefined symbol: PyUnicodeUCS4_FromStringAndSize
IndexError: list index out of range
KeyError: 'image'
ImportError: cannot import name 'move_to_cuda' from 'library.utils'
ImportError: cannot import name 'x' from partially initialized module 'cv2' (/a/cv2.py)
ModuleNotFoundError: No module named 'cv2'
TypeError: 'NoneType' object is not subscriptable
TypeError: load() missing 1 required positional argument: 'path'
TypeError: object of type 'int' has no len()
TypeError: unhashable type: 'list'
TypeError: unsupported operand type(s) for +: 'int' and 'str'
ValueError: not enough values to unpack (expected 3, got 0)
ValueError: too many values to unpack (expected 2)
ValueError: not enough values to unpack (expected 3, got 2)
bash: ./train.sh: No such file or directory
formats: can't open input file `a.wav': No such file or directory
tensorflow 2.3.0 requires numpy<1.19.0, but you have numpy 1.20.0 which is incompatible.
"""


@pytest.mark.parametrize("text", PYTHONS.strip().split("\n"))
def test_what_python_says_of_anything_is_not_explained(text):
    """The names are the message: an example with other names is about something else."""
    assert first_place(text) == ""


CHILD = """
TypeError: cannot pickle 'Environment' object
Traceback (most recent call last):
  File "spawn.py", line 126, in _main
    self = reduction.pickle.load(from_parent)
EOFError: Ran out of input
"""
"""The error of a process that starts a worker, and that of the worker, which only follows."""
OPERATOR = "first-aid/types-and-devices"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("'DataParallel' object has no attribute 'fc'", "modules/transfer-learning"),
        ("object of type 'MyDataset' has no len()", "data/datasets"),
        ("KeyError: 'layer4.0.conv1.weight'", "first-aid/training-and-loading"),
        ("'collections.OrderedDict' object has no attribute 'half'", "data/saving"),
        ("step() missing 1 required positional argument: 'metrics'", "optimisation/schedulers"),
        ("dropout(): argument 'input' must be Tensor, not tuple", "first-aid/python"),
        ("forward() missing 2 required positional arguments: 'a' and 'b'", "first-aid/python"),
        ("'MyNet' object has no attribute 'conv7'", "first-aid/attributes-and-arguments"),
        ("'MyNet' object has no attribute 'device'", "first-aid/attributes-and-arguments"),
        ("'NoneType' object has no attribute 'mean'", "first-aid/attributes-and-arguments"),
        ("'NoneType' object has no attribute 'device'", "first-aid/attributes-and-arguments"),
        ("KeyError: 'LOCAL_RANK'", "first-aid/several-processes"),
        ("module 'torch' has no attribute 'no_such_name'", "first-aid/installation"),
        ("'Tensor' object has no attribute 'no_such_name'", "first-aid/installation"),
        ("x.so: undefined symbol: _ZN3c104warnE", "first-aid/installation"),
        ("cannot pickle 'h5py.File' object", "data/worker-errors"),
        (CHILD, "data/worker-errors"),
        ("MPS backend out of memory. Tried to allocate 2 GB", "devices/other-devices"),
        ("No module named 'my_ops._C'", "first-aid/extensions"),
        ("cannot import name '_C' from 'my_ops' (/a/my_ops/__init__.py)", "first-aid/extensions"),
        ("Could not run 'o::f' with arguments from the 'CUDA' backend", OPERATOR),
    ],
)
def test_names_that_agree(text, place):
    """A wrapper and torch lack any attribute, a dataset of any name its length."""
    assert first_place(text).split("#")[0] == place


COPY = "AttributeError: 'DataParallel' object has no attribute 'copy'"
WRAPPED = "ImportError: lib/python2.7/torch/lib/libtorch.so.1: unde\nfined symbol: _ZTIN2at4TypeE"
TRACE = (
    'Traceback (most recent call last):\n  File "C:\\new\\train.py", line 3, in <module>\n    f()'
)
TRACED = """Only tensors or tuples of tensors can be output from traced functions
frame #0: torch::jit::tracer::TracingState::getOutput(c10::IValue const&) + 0x3e8 (0x7febb09)
> frame #1: _PyMethodDef_RawFastCallKeywords + 0x264 (0x7febd410aea4 in /opt/bin/python)
"""
NCCL = """[rank1]:[E1 a/ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation \
timeout: WorkNCCL(SeqNum=1, OpType=BROADCAST, Timeout(ms)=600000) ran for 600015 milliseconds
n3:81239 [3] NCCL INFO Plugin load returned 2 : libnccl-net.so: cannot open shared object file
n3:81239 [3] NCCL INFO Using network IB
"""
TIMED_OUT = """W06 run.py:793] Setting OMP_NUM_THREADS environment variable for each process
terminate called after throwing an instance of 'c10::DistBackendError'
  what():  [PG 1 Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8)
E06 api.py:869] failed (exitcode: 1) local_rank: 0 (pid: 31)
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
"""


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            f"{COPY}\nwandb: View run fuzzy-sky at https://wandb.ai/u\nwandb: Find logs at ./run",
            None,
        ),
        (f"{COPY}\n\nI tried to reinstall everything, and it did not help. Any idea?", None),
        (f"{COPY}\nOSError: Unable to load weights from checkpoint file for 'm'", None),
        (f"{COPY}\nRuntimeError: Engine core initialization failed. See root cause above.", None),
        (f"{COPY}\n[rank1]: x.DistBackendError: NCCL communicator was aborted on rank 1.", None),
        (f"E  {COPY}\n\nx.py:3: AttributeError\n== short test summary info ==\nFAILED", None),
        (COPY.replace("Error", "Error\x1b[0m").replace("Attr", "\x1b[0;31mAttr"), None),
        (COPY.replace("Error", "Error[0m").replace("Attr", "[0;31mAttr"), None),
        (COPY.replace("Error", "Error\\u001b[0m").replace("Attr", "\\u001b[0;31mAttr"), None),
        (COPY.replace("'", "&#39;").replace(" ", "\xa0"), None),
        (json.dumps({"log": f'{TRACE}\nstderr: {COPY}\nstderr: of "a"', "ts": "12:40"}), None),
        (json.dumps(json.dumps({"message": f"{TRACE}\nx.{COPY}"})), None),
        (html.escape(f"{TRACE}\n{COPY}"), None),
        (f"[1,0]<stderr>:{COPY}", None),
        (COPY.replace("Error", "\nError"), None),
        (COPY.replace("Error", "Err\nor"), None),
        (COPY.replace("Attribute", "Attribu\nte"), None),
        (f"I get **{COPY}**", None),
        (f"ERROR:root:{COPY}", None),
        (TIMED_OUT, "first-aid/several-processes"),
        (NCCL, "first-aid/several-processes"),
        (TRACED, "devices/export"),
        (
            f"{WRAPPED}\n\nI reinstalled everything, and searched for hours.",
            "first-aid/installation",
        ),
        (f"{COPY}\n['/usr/bin/python3', '-u', 'x.py'] exits with return code = 1", None),
    ],
)
def test_what_a_log_adds_does_not_hide_its_error(text, place):
    """Lines after it, an error that only points up, a colour, a code or a prefix of the line."""
    assert first_place(text).split("#")[0] == (place or "data/saving")
    if text == TIMED_OUT:
        assert "watchdog" in first_place(text)


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("Epoch 3: loss 0.5\nKilled\n(env) me@node:~$", "killed"),
        (" 6%|###   | 37/625 [04:47<1:10:53, 13.8it/s]Killed", "killed"),
        ("x.py:3: UserWarning: old\njob.sh: line 3:  815 Killed       python x.py", "killed"),
        ("zsh: killed     python train.py", "killed"),
        ("command terminated with exit code 137", "killed"),
        ("trainer-1 exited with code 137", "killed"),
        ("run.sh: line 9: 77 Bus error           (core dumped) python x.py", "bus-error"),
        ("Loading the weights\nSegmentation fault", "segmentation-fault"),
        ("Process finished with exit code 139 (signal 11: SIGSEGV)", "segmentation-fault"),
        ("return code -11", "segmentation-fault"),
        ("rank 1 died, exitcode : -11", "segmentation-fault"),
        ("exited with code -11", "segmentation-fault"),
        ("signal 11", "segmentation-fault"),
        ("exit code 139", "segmentation-fault"),
        ("the worker died with returncode=-11", "segmentation-fault"),
        ("returned non-zero exit status 139", "segmentation-fault"),
        ("SIGSEGV", "segmentation-fault"),
        ("signal 9", "killed"),
        ("return code -9", "killed"),
        ("process exited with code -6", "killed"),
        ("12:00:01 [9.7] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),pid=7", "killed"),
        ("Dec 11 node kernel: thrash invoked oom-killer: order=0\nnode kernel: CPU: 2", "killed"),
        ("srun: job 7 terminated by signal 9", "killed"),
        ("srun: job 7 terminated by signal 11 (core dumped)", "segmentation-fault"),
    ],
)
def test_what_ends_without_an_error_of_python(text, section):
    """A line of the shell, anywhere in the output, or a number tells the signal."""
    assert first_place(text).startswith(f"first-aid/crashes#{section}")


def test_paths_with_a_backslash_are_no_new_lines():
    """An `n` after a backslash begins a name, too."""
    assert "new" in errors.read("ValueError: no 'D:' in \\new worlds").text


def test_the_wrapper_of_a_compilers_error_is_none():
    """An error that nobody explains is not taken for the other errors in the same wrapper."""
    text = "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nTypeError: odd"
    assert first_place(text) == ""


QUERIES = read_yaml(Path(__file__).with_name("error_queries.yaml"))


def test_errors_of_other_programs():
    """Of 100 errors as people paste them, at least 95 find what reproduces them, and first."""
    first = {query: [m.message.text for m in of_printed().search(query, 1)] for query in QUERIES}
    wrong = [q for q, part in QUERIES.items() if not any(part in text for text in first[q])]
    assert len(QUERIES) >= 40
    assert len(wrong) <= 0.05 * len(QUERIES), wrong


@pytest.mark.parametrize(
    "unit", ["a", "A", "_", "1", ".", "-", "/", "'", "(", " ", "\t", "\n", " \n", "\\", "&"]
)
def test_a_hundred_kilobytes_of_anything_are_read_in_a_moment(unit):
    """No pattern starts anew at each letter of a word, or at each of many blanks."""
    text = f"RuntimeError: x{unit * (100_000 // len(unit))}x"
    started = time.process_time()
    for pasted in (text, text.removeprefix("RuntimeError: ")):
        errors.looks_like_error(pasted)
        message = errors.read(pasted)
        assert len(message.marks) < 5
    assert time.process_time() - started < 2  # if each letter begins anew, it takes ten


def test_likeness_falls_with_the_words():
    """Equal messages are 1, and 0.1 more with their type; others are less; strangers are none."""
    known = messages_of([claim("sizes", SIZES), claim("lines", MANY_LINES)])
    text, lookup = known[0].text, Lookup([replace(each, explained=1) for each in known])
    assert lookup.search(f"RuntimeError: {text}")[0].likeness == pytest.approx(1.1)
    assert lookup.search(text)[0].likeness == pytest.approx(1)
    part = lookup.search("The size of tensor a (3) must match the size of something else")
    assert LIKE < part[0].likeness < 0.9
    assert lookup.search("The size of something else entirely") == []
    assert lookup.search("quite unheard") == []
