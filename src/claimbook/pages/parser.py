"""Scan pages for claims with MyST's tokenizer, for Sphinx, pytest and the CLI alike.

`scan_page` is the only reader of claims. It never raises on a page's text: it returns what is
wrong as problems, each with its line.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from docutils.parsers.rst.states import MarkupError

from claimbook.model import Claim, Location, Page, Problem, ProblemKind, Remark
from claimbook.pages.directive import ClaimReader, Reader
from claimbook.pages.myst import Block, Markdown, RemarkSyntax, lines, parse_directive
from claimbook.pages.text import strip_markup

PYTHON_LANGUAGES = frozenset(
    {"py", "py3", "python", "python3", "pycon", "python-console", "ipython", "ipython3", "doctest"}
)
CODE_DIRECTIVES = frozenset({"code", "code-block", "sourcecode", "doctest", "testcode"})
RAW_DIRECTIVES = frozenset({"code-cell", "raw-cell", "raw", "math", "literalinclude"})

NEAR = 15
"""Most lines between the first line of a claim, misspelt, and its code."""

ANSWER_WORDS = 60
"""Most words of a short answer."""

LAB_WORDS = {
    r"\bsuptitle\(|\bset_title\(": "states its finding: `fig.suptitle(…)`",
    r"\bset_label\(": "describes its picture for readers who cannot see it: `fig.set_label(…)`",
}
"""Pattern that the script of a lab must contain → what it is for, in a message."""

_ANSWER = re.compile(r"^\*\*In short\.\*\*(.*?)(?:\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)
"""A short answer, up to an empty line."""
_PROMPT = re.compile(r"(\s|[-*+>]\s|\d+[.)]\s)*>>>(\s|$)")
"""The beginning of a line with a prompt, maybe in a list or quote: `- >>> 1`, `1. > >>> 1`."""
_CLAIM = re.compile(r"\s*(:{3,}|`{3,}|~{3,})\s*\{claim\}")
_NEARLY_CLAIM = re.compile(r"\s*(:+|\.\.|`{3,}|~{3,})\s*[{(]?\s*claims?\b", re.IGNORECASE)
_RST_CODE = re.compile(r"\s*\.\. (code-block|code|sourcecode|doctest|testcode)::(.*)")
"""A code directive in reStructuredText, as in the text of a lab: `.. code-block:: python`."""


def scan_page(text: str, path: str) -> Page:
    """Read one page.

    Args:
        text: the whole Markdown text of the page.
        path: the path for locations, relative to the root of the project.
    """
    read = lines(text)
    reader, text = _PageReader(path, read), "\n".join(read)
    reader.walk(Markdown(text))
    reader.look_for_prompts(text)
    reader.look_for_long_answers(text)
    return Page(
        path,
        tuple(reader.claims),
        tuple(reader.remarks),
        tuple(reader.samples),
        tuple(sorted(reader.problems)),
    )


def scan_script(text: str, path: str) -> list[Problem]:
    """Return the problems of a lab: prompts in its text, a figure without title or label."""
    reader = _PageReader(path)
    reader.look_for_prompts("\n".join(line.removeprefix("#") for line in lines(text)))
    if Path(path).match("plot_*.py"):
        for pattern, what in LAB_WORDS.items():
            if not re.search(pattern, text):
                reader.problem(1, ProblemKind.BAD_FORM, f"a lab {what}")
    return reader.problems


class _PageReader(Reader):
    """Reads a page."""

    def __init__(self, path: str, page: Sequence[str] = ()) -> None:
        """Begin.

        Args:
            page: all lines of the page; without them, no advice names one.
        """
        super().__init__(path)
        self._page = page
        self.claims: list[Claim] = []
        self.remarks: list[Remark] = []
        self.samples: list[Claim] = []

    def walk(self, part: Markdown) -> None:
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
            self.sample(block)
        elif what := _never_run(block):
            advice = self._advice(block.line, "write it as a claim, or as a code cell that draws")
            self.problem(block.line, ProblemKind.UNOWNED_CODE, f"{what}: {advice}")
            self.owned.update(block.lines)
        elif name and name not in RAW_DIRECTIVES | CODE_DIRECTIVES:
            self.walk(Markdown(block.content, block.line + 1))

    def claim(self, block: Block) -> None:
        reader = ClaimReader(self.path, block)
        if claim := reader.read():
            self.claims.append(claim)
        self.problems += reader.problems
        self.owned |= reader.owned if claim else {*block.lines}

    def remark(self, block: Block) -> None:
        try:
            parsed, body = parse_directive(RemarkSyntax, block)
        except MarkupError:
            message = "remark: the entries that it answers go after `{remark}`"
            self.problem(block.line, ProblemKind.MALFORMED_CLAIM, message)
            return
        text = strip_markup("\n".join(body.lines))
        if not text:
            self.problem(block.line, ProblemKind.MALFORMED_CLAIM, "a remark must give its reason")
        place = Location(self.path, block.line)
        self.remarks.append(Remark(tuple(parsed.arguments), text, place))
        self.walk(body)

    def sample(self, block: Block) -> None:
        inner = _PageReader(self.path)
        inner.walk(Markdown(block.content, block.line + 1))
        self.samples += inner.claims
        self.problems += inner.problems
        self.owned.update(block.lines)

    def look_for_prompts(self, text: str) -> None:
        for number, line in enumerate(lines(text), start=1):
            if self.torn or number in self.owned:
                continue
            code = _RST_CODE.match(line)
            if _PROMPT.match(line) or (code and _is_python(code[1], code[2])):
                advice = self._advice(number, "write it as a claim")
                message = f"code that nothing runs and compares: {advice}"
                self.problem(number, ProblemKind.UNOWNED_CODE, message)

    def _advice(self, line: int, advice: str) -> str:
        """Return what to do about code that nothing runs; a claim may be misspelt above it."""
        for number in range(line - 1, max(0, line - NEAR), -1):
            text = self._page[number - 1] if self._page else ""
            if text.startswith("#") or _CLAIM.match(text):
                break
            if _NEARLY_CLAIM.match(text):
                return f"line {number} begins no claim; write `:::{{claim}} an-id`"
        return advice

    def look_for_long_answers(self, text: str) -> None:
        for answer in _ANSWER.finditer(text):
            line = text.count("\n", 0, answer.start()) + 1
            count = len(strip_markup(answer[1]).split())
            if count > ANSWER_WORDS and line not in self.owned:
                message = f"a short answer of {count} words; at most {ANSWER_WORDS}"
                self.problem(line, ProblemKind.BAD_FORM, message)


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
