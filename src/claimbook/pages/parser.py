"""Scan pages for claims with MyST's tokenizer, for Sphinx, pytest and the CLI alike.

`scan_page` is the only reader of pages. It never raises on a page's text: it returns what is
wrong as problems, each with its line.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from docutils.parsers.rst.states import MarkupError
from markdown_it.token import Token

from claimbook.model import Claim, Location, Page, Problem, ProblemKind, Remark
from claimbook.pages.directive import ClaimReader
from claimbook.pages.myst import (
    STAR,
    RemarkSyntax,
    fence_lines,
    fences,
    is_closed,
    lines,
    parse_directive,
    star_lists,
    tokenize,
)
from claimbook.pages.text import strip_markup

PYTHON_LANGUAGES = frozenset(
    {"py", "py3", "python", "python3", "pycon", "python-console", "ipython", "ipython3", "doctest"}
)
CODE_DIRECTIVES = frozenset({"code", "code-block", "sourcecode", "doctest", "testcode"})
RAW_DIRECTIVES = frozenset({"code-cell", "raw-cell", "raw", "math", "literalinclude"})

SHORT = 60
"""Most words of a short answer."""

_SHORT = re.compile(r"^\*\*In short\.\*\*(.*?)(?:\n[ \t]*\n|\Z)", re.MULTILINE | re.DOTALL)
_DIRECTIVE = re.compile(r"\{([\w:.-]+)\}\s*(.*)", re.DOTALL)
_PROMPT = re.compile(r"(\s|[-*+>]\s|\d+[.)]\s)*>>>(\s|$)")
_RST_CODE = re.compile(r"\s*\.\. (code-block|code|sourcecode|doctest|testcode)::(.*)")


def scan_page(text: str, path: str) -> Page:
    """Read one page.

    Args:
        text: the whole Markdown text of the page.
        path: the path for locations, relative to the root of the project.
    """
    scan, text = _Scan(path), "\n".join(lines(text))
    scan.walk(text, first_line=1)
    scan.look_for_prompts(text)
    scan.look_for_long_answers(text)
    return Page(
        path,
        tuple(scan.claims),
        tuple(scan.remarks),
        tuple(scan.samples),
        tuple(sorted(scan.problems)),
    )


def scan_script(text: str, path: str) -> list[Problem]:
    """Return the problems of a lab: prompts in its text, a figure without title or label."""
    scan = _Scan(path)
    scan.look_for_prompts("\n".join(line.removeprefix("#") for line in lines(text)))
    for pattern, what in LAB_WORDS.items() if Path(path).match("plot_*.py") else ():
        if not re.search(pattern, text):
            scan.problem(1, ProblemKind.BAD_FORM, f"a lab {what}")
    return scan.problems


LAB_WORDS = {
    r"\bsuptitle\(|\bset_title\(": "states its finding: `fig.suptitle(…)`",
    r"\bset_label\(": "describes its picture for readers who cannot see it: `fig.set_label(…)`",
}
"""Pattern that the script of a lab must contain → what it is for, in a message."""


@dataclass
class _Scan:
    """The state of one walk over a page's tokens."""

    path: str
    claims: list[Claim] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    samples: list[Claim] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    torn: bool = False
    """Whether a fence is never closed; the rest of the page cannot be trusted."""
    owned: set[int] = field(default_factory=set)
    """Page lines of code that is run, or already reported."""

    def walk(self, text: str, first_line: int) -> None:
        tokens, source = tokenize(text), lines(text)
        for line in star_lists(tokens, first_line):
            self.problem(line, ProblemKind.BAD_FORM, STAR)
        for token, line in fences(tokens, first_line):
            if is_closed(token, source):
                self.fence(token, line)
            elif not self.torn:
                message = f"this fence is never closed: end it with {token.markup}"
                self.problem(line, ProblemKind.BAD_FENCE, message)
                self.torn = True

    def fence(self, token: Token, line: int) -> None:
        if directive := _DIRECTIVE.match(token.info.strip()):
            self.directive(directive[1], directive[2], token, line)
        elif _language(token) in PYTHON_LANGUAGES:
            self.unowned(token, line, f"a plain `{_language(token)}` fence is never run")
        elif _language(token) in ("markdown", "md") and "{claim}" in token.content:
            self.sample(token, line)

    def directive(self, name: str, argument: str, token: Token, line: int) -> None:
        if name == "claim":
            self.claim(argument, token, line)
        elif name == "remark":
            self.remark(argument, token, line)
        elif name in CODE_DIRECTIVES and _is_python(name, argument):
            self.unowned(token, line, f"the code of a `{{{name}}}` is never run")
        elif name == "code-cell":
            self.own(token, line)
        elif name == "include":
            self.unowned(token, line, "what `{include}` shows is not read for claims or code")
        elif name == "literalinclude" and _is_python_file(argument, token.content):
            self.unowned(token, line, "the code of a `{literalinclude}` is never run")
        elif name not in RAW_DIRECTIVES | CODE_DIRECTIVES:
            self.walk(token.content, line + 1)

    def claim(self, argument: str, token: Token, line: int) -> None:
        reader = ClaimReader(Location(self.path, line))
        claim = reader.read(argument, token.content)
        self.problems += reader.problems
        if claim:
            self.owned |= reader.owned
            self.claims.append(claim)
        else:
            self.own(token, line)

    def remark(self, argument: str, token: Token, line: int) -> None:
        try:
            parsed = parse_directive(RemarkSyntax, argument, token.content, line)
        except MarkupError as error:
            self.problem(line, ProblemKind.MALFORMED_CLAIM, f"remark: {error}")
            return
        body = "\n".join(lines(token.content)[parsed.body_offset :])
        if not body.strip():
            self.problem(line, ProblemKind.MALFORMED_CLAIM, "a remark must give its reason")
        text = " ".join(body.split())
        self.remarks.append(
            Remark(tuple(parsed.arguments), strip_markup(text), Location(self.path, line))
        )
        self.walk(body, line + 1 + parsed.body_offset)

    def sample(self, token: Token, line: int) -> None:
        inner = _Scan(self.path)
        inner.walk(token.content, line + 1)
        self.samples += inner.claims
        self.problems += inner.problems
        self.own(token, line)

    def own(self, token: Token, line: int) -> None:
        self.owned.update(fence_lines(token, line))

    def unowned(self, token: Token, line: int, what: str) -> None:
        advice = "write it as a claim, or as a code cell that draws"
        self.problem(line, ProblemKind.UNOWNED_CODE, f"{what}: {advice}")
        self.own(token, line)

    def look_for_prompts(self, text: str) -> None:
        for number, line in enumerate(lines(text), start=1):
            if self.torn or number in self.owned:
                continue
            code = _RST_CODE.match(line)
            if _PROMPT.match(line) or (code and _is_python(code[1], code[2])):
                message = "code that nothing runs and compares: write it as a claim"
                self.problem(number, ProblemKind.UNOWNED_CODE, message)

    def look_for_long_answers(self, text: str) -> None:
        for answer in _SHORT.finditer(text):
            line = text.count("\n", 0, answer.start()) + 1
            count = len(strip_markup(answer[1]).split())
            if count > SHORT and line not in self.owned:
                message = f"a short answer of {count} words; at most {SHORT}"
                self.problem(line, ProblemKind.BAD_FORM, message)

    def problem(self, line: int, kind: ProblemKind, message: str) -> None:
        self.problems.append(Problem(Location(self.path, line), kind, message))


def _is_python(directive: str, argument: str) -> bool:
    # The argument of doctest and testcode is a group; code without a language is Python.
    language = (argument.split() or ["python"])[0].lower()
    return directive in ("doctest", "testcode") or language in PYTHON_LANGUAGES


def _is_python_file(argument: str, content: str) -> bool:
    language = re.search(r"^\s*:language:\s*(\w+)", content, re.MULTILINE)
    shown = language[1].lower() if language else Path(argument.strip()).suffix.lstrip(".")
    return shown in PYTHON_LANGUAGES


def _language(token: Token) -> str:
    return (token.info.split() or [""])[0].lower()
