"""Scan pages for claims with MyST's tokenizer, for Sphinx, pytest and the CLI alike.

`scan_page` is the only reader of claims. It never raises on a page's text: it returns what is
wrong as problems, each with its line.
"""

import re
from difflib import get_close_matches
from pathlib import Path

from claimbook.model import Claim, Location, Page, Problem, ProblemKind, Remark
from claimbook.pages.directive import ClaimReader, Reader
from claimbook.pages.myst import Block, Markdown, lines
from claimbook.pages.sections import sections
from claimbook.pages.text import SHORT, strip_markup

PYTHON_LANGUAGES = frozenset(
    {"py", "py3", "python", "python3", "pycon", "python-console", "ipython", "ipython3", "doctest"}
)
CODE_DIRECTIVES = frozenset({"code", "code-block", "sourcecode", "doctest", "testcode"})
RAW_DIRECTIVES = frozenset({"code-cell", "raw-cell", "raw", "math", "literalinclude", "toctree"})

OURS = ["claim", "remark", "asked", "code-cell", "overview", "questions", "route", "toctree"]
"""Directives of a book whose misspelt names are told."""

TO_RUN = "write it as a claim, `:::{claim} an-id`"
"""What to do about code that nothing runs; a claim may be misspelt above it."""

ANSWER_WORDS = 60
"""Most words of a short answer."""

_TITLED = re.compile(r"""(\s|#.*)*[rR]?["']""")
"""The beginning of a lab: the quotes of its text, maybe below comments."""
LAB_WORDS = {
    r"\bsuptitle\(|\bset_title\(": "states its finding: `fig.suptitle(…)`",
    r"\bset_label\(": "describes its picture for readers who cannot see it: `fig.set_label(…)`",
}
"""Pattern that the script of a lab must contain → what it is for, in a message."""

_LIKE_SHORT = re.compile(r"[*_]+in short\b", re.IGNORECASE)
_PROMPT = re.compile(r"(\s|[-*+>]\s|\d+[.)]\s)*>>>(\s|$)")
"""The beginning of a line with a prompt, maybe in a list or quote: `- >>> 1`, `1. > >>> 1`."""
_RST_CODE = re.compile(r"\s*\.\. (code-block|code|sourcecode|doctest|testcode)::(.*)")
"""A code directive in reStructuredText, as in the text of a lab: `.. code-block:: python`."""


def scan_page(text: str, path: str) -> Page:
    """Read one page.

    Args:
        text: the whole Markdown text of the page.
        path: the path for locations, relative to the root of the project.
    """
    reader, text = _PageReader(path), "\n".join(lines(text))
    reader.walk(page := Markdown(text))
    if text.startswith("---\n") and page.tokens[0].type != "front_matter":
        message = "what stands before the title is never closed: end it with a line ---"
        reader.problem(1, ProblemKind.BAD_FORM, message)
    reader.look_for_prompts(text)
    return Page(
        path,
        tuple(reader.claims),
        tuple(reader.remarks),
        tuple(sorted(reader.problems)),
        tuple(sections(page, path, reader.claims)),
    )


def scan_script(text: str, path: str) -> list[Problem]:
    """Return the problems of a lab: prompts in its text, a figure without title or label.

    A lab also needs a title, and a name with which it is drawn.
    """
    reader = _PageReader(path)
    reader.look_for_prompts("\n".join(line.removeprefix("#") for line in lines(text)))
    if Path(path).match("plot_*.py"):
        if not _TITLED.match(text):
            message = "a lab begins with a text in quotes: its title, underlined, and what it shows"
            reader.problem(1, ProblemKind.BAD_FORM, message)
        for pattern, what in LAB_WORDS.items():
            if not re.search(pattern, text):
                reader.problem(1, ProblemKind.BAD_FORM, f"a lab {what}")
    elif not Path(path).match("__*.py"):
        message = f"a lab that would be shown and never run: name it plot_{Path(path).name}"
        reader.problem(1, ProblemKind.UNOWNED_CODE, message)
    return reader.problems


class _PageReader(Reader):
    """Reads a page."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.claims: list[Claim] = []
        self.remarks: list[Remark] = []

    def walk(self, part: Markdown) -> None:
        for token in part.tokens:
            if token.type == "inline" and (wrong := _wrong_short_answer(token.content)):
                self.problem(part.line(token), ProblemKind.BAD_FORM, wrong)
        for block in self.blocks(part):
            if block.closed:
                self.block(block)

    def block(self, block: Block) -> None:
        name, _ = block.directive
        if name == "claim":
            self.claim(block)
        elif name == "remark":
            self.remark(block)
        elif name == "code-cell":
            self.owned.update(block.lines)
        elif block.language in ("markdown", "md") and "{claim}" in block.content:
            self.owned.update(block.lines)  # it shows how a claim is written
        elif what := _never_run(block):
            message = f"{what}: {TO_RUN}, or as a code cell that draws"
            self.problem(block.line, ProblemKind.UNOWNED_CODE, message)
            self.owned.update(block.lines)
        elif name not in OURS and (meant := get_close_matches(name.lower(), OURS, 1, 0.75)):
            message = f"there is no directive `{{{name}}}`; did you mean `{{{meant[0]}}}`?"
            self.problem(block.line, ProblemKind.MALFORMED_CLAIM, message)
            self.owned.update(block.lines)
        elif name and name not in RAW_DIRECTIVES | CODE_DIRECTIVES:
            self.walk(block.body)

    def claim(self, block: Block) -> None:
        reader = ClaimReader(self.path, block)
        if claim := reader.read():
            self.claims.append(claim)
        self.problems += reader.problems
        self.owned |= reader.owned if claim else {*block.lines}

    def remark(self, block: Block) -> None:
        _, entries = block.directive
        text = strip_markup("\n".join(block.body.lines))
        if not entries:
            message = "remark: the entries that it answers go after `{remark}`"
            self.problem(block.line, ProblemKind.MALFORMED_CLAIM, message)
        elif not text:
            self.problem(block.line, ProblemKind.MALFORMED_CLAIM, "a remark must give its reason")
        place = Location(self.path, block.line)
        self.remarks.append(Remark(tuple(entries.split()), text, place))
        self.walk(block.body)

    def look_for_prompts(self, text: str) -> None:
        for number, line in enumerate(lines(text), start=1):
            if self.torn or number in self.owned:
                continue
            code = _RST_CODE.match(line)
            if _PROMPT.match(line) or (code and _is_python(code[1], code[2])):
                message = f"code that nothing runs and compares: {TO_RUN}"
                self.problem(number, ProblemKind.UNOWNED_CODE, message)


def _wrong_short_answer(text: str) -> str:
    """Return what is wrong with a text as a short answer; empty if nothing, or it is none."""
    if not text.startswith(SHORT):
        return f"a short answer begins with `{SHORT}`" if _LIKE_SHORT.match(text) else ""
    count = len(strip_markup(text.removeprefix(SHORT)).split())
    return f"a short answer of {count} words; at most {ANSWER_WORDS}" * (count > ANSWER_WORDS)


def _never_run(block: Block) -> str:
    """Return what of a block is code that nothing runs; empty if there is none."""
    name, argument = block.directive
    if name == "include":
        return "what `{include}` shows is not read for claims or code"
    if name in CODE_DIRECTIVES and _is_python(name, argument):
        return f"the code of a `{{{name}}}` is never run"
    if name == "literalinclude" and _is_python_file(argument, block.content):
        return f"the code of a `{{{name}}}` is never run"
    if block.language in PYTHON_LANGUAGES:
        return f"a plain `{block.language}` fence is never run"
    return ""


def _is_python(directive: str, argument: str) -> bool:
    # The argument of doctest and testcode is a group; code without a language is Python.
    language = (argument.split() or ["python"])[0].lower()
    return directive in ("doctest", "testcode") or language in PYTHON_LANGUAGES


def _is_python_file(argument: str, content: str) -> bool:
    language = re.search(r"^\s*:language:\s*(\w+)", content, re.MULTILINE)
    shown = language[1].lower() if language else Path(argument.strip()).suffix.lstrip(".")
    return shown in PYTHON_LANGUAGES
