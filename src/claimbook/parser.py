"""Page → claims, with MyST's own tokenizer, for Sphinx, pytest and the CLI alike.

`scan_page` is the only reader of pages. It never raises on a page's text: what is wrong
with a page comes back as problems, each with its line.
"""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar

from docutils.parsers.rst import Directive
from docutils.parsers.rst.directives import unchanged
from docutils.parsers.rst.states import MarkupError
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.directives import parse_directive_text
from myst_parser.parsers.mdit import create_md_parser

from claimbook.model import (
    Claim,
    Example,
    Fence,
    Lane,
    Location,
    Page,
    Problem,
    ProblemKind,
    Relation,
    RelationKind,
    Remark,
)
from claimbook.prose import alone

MYST_EXTENSIONS = ("attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath")
"""What `myst_enable_extensions` must be, so that scan and build tokenize alike."""

PYTHON_LANGUAGES = frozenset(
    {"py", "python", "python3", "pycon", "python-console", "ipython", "ipython3", "doctest"}
)
CODE_DIRECTIVES = frozenset({"code", "code-block", "sourcecode", "doctest", "testcode"})
RAW_DIRECTIVES = frozenset({"code-cell", "raw-cell", "raw", "math", "literalinclude"})

_CLAIM_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_DIRECTIVE = re.compile(r"\{([\w:.-]+)\}\s*(.*)", re.DOTALL)
_PROMPT = re.compile(r"(\s|[-*+>]\s|\d+[.)]\s)*>>>(\s|$)")
_RST_CODE = re.compile(r"\s*\.\. (code-block|code|sourcecode|doctest|testcode)::(.*)")


class ClaimSyntax(Directive):
    """What a `{claim}` accepts; read by MyST's parser of directives, never run."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = dict.fromkeys(
        (*map(str, RelationKind), "lanes", "timeout", "cpu-build", "explains"), unchanged
    )


class RemarkSyntax(Directive):
    """What a `{remark}` accepts: the entries it speaks of."""

    required_arguments = 1
    optional_arguments = 99
    has_content = True


def scan_page(text: str, path: str) -> Page:
    """Reads one page.

    Args:
        text: the whole Markdown text of the page.
        path: how the page is named in locations, relative to the root of the project.
    """
    scan = _Scan(path)
    scan.walk(tokenize(text), first_line=1)
    scan.look_for_prompts(text)
    return Page(
        path,
        tuple(scan.claims),
        tuple(scan.remarks),
        tuple(scan.samples),
        tuple(sorted(scan.problems)),
    )


def scan_script(text: str, path: str) -> list[Problem]:
    """What nothing runs in the text blocks of a lab: prompts and Python code blocks."""
    scan = _Scan(path)
    scan.look_for_prompts("\n".join(line.removeprefix("#") for line in _lines(text)))
    return scan.problems


@cache
def _tokenizer() -> MarkdownIt:
    return create_md_parser(MdParserConfig(enable_extensions=set(MYST_EXTENSIONS)), RendererHTML)


def tokenize(text: str) -> list[Token]:
    """Markdown as MyST reads it; what directives hold is not taken apart."""
    return _tokenizer().parse(text)


def _lines(text: str) -> list[str]:
    # As markdown-it splits: str.splitlines would also split at form feeds and the like.
    return re.split(r"\r\n?|\n", text)


def _parsed(kind: type[Directive], argument: str, content: str, line: int) -> Any:
    # MyST would count what str.splitlines takes for a line more than markdown-it does.
    content = re.sub("[\v\f\x1c-\x1e\x85\u2028\u2029]", " ", content)
    return parse_directive_text(kind, argument, content, line=line)


@dataclass
class _Scan:
    """The state of one walk over a page's tokens."""

    path: str
    claims: list[Claim] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    samples: list[Claim] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    owned: set[int] = field(default_factory=set)
    """Page lines of code that something runs, or that is already reported."""

    def walk(self, tokens: Iterable[Token], first_line: int) -> None:
        for token in tokens:
            if token.type in ("fence", "colon_fence") and token.map:
                self.fence(token, first_line + token.map[0])

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
        elif name not in RAW_DIRECTIVES | CODE_DIRECTIVES:
            self.walk(tokenize(token.content), line + 1)

    def claim(self, argument: str, token: Token, line: int) -> None:
        reader = _ClaimReader(self.path, line)
        claim = reader.read(argument, token.content)
        self.own(token, line)
        self.problems += reader.problems
        if claim:
            self.claims.append(claim)

    def remark(self, argument: str, token: Token, line: int) -> None:
        try:
            parsed = _parsed(RemarkSyntax, argument, token.content, line)
        except MarkupError as error:
            self.problem(line, ProblemKind.MALFORMED_CLAIM, f"remark: {error}")
            return
        body = "\n".join(_lines(token.content)[parsed.body_offset :])
        if not body.strip():
            self.problem(line, ProblemKind.MALFORMED_CLAIM, "a remark must give its reason")
        text = " ".join(body.split())
        self.remarks.append(Remark(tuple(parsed.arguments), alone(text), Location(self.path, line)))
        self.walk(tokenize(body), line + 1 + parsed.body_offset)

    def sample(self, token: Token, line: int) -> None:
        inner = _Scan(self.path)
        inner.walk(tokenize(token.content), line + 1)
        self.samples += inner.claims
        self.problems += inner.problems
        self.own(token, line)

    def own(self, token: Token, line: int) -> None:
        assert token.map
        self.owned.update(range(line, line + token.map[1] - token.map[0]))

    def unowned(self, token: Token, line: int, what: str) -> None:
        advice = "write it as a claim, or as a code cell that draws"
        self.problem(line, ProblemKind.UNOWNED_CODE, f"{what}: {advice}")
        self.own(token, line)

    def look_for_prompts(self, text: str) -> None:
        for number, line in enumerate(_lines(text), start=1):
            if number in self.owned:
                continue
            code = _RST_CODE.match(line)
            if _PROMPT.match(line) or (code and _is_python(code[1], code[2])):
                message = "code that nothing runs and compares: write it as a claim"
                self.problem(number, ProblemKind.UNOWNED_CODE, message)

    def problem(self, line: int, kind: ProblemKind, message: str) -> None:
        self.problems.append(Problem(Location(self.path, line), kind, message))


def _is_python(directive: str, argument: str) -> bool:
    # The argument of the last two is a group; code in no language is taken for Python.
    language = (argument.split() or ["python"])[0].lower()
    return directive in ("doctest", "testcode") or language in PYTHON_LANGUAGES


def _language(token: Token) -> str:
    return (token.info.split() or [""])[0].lower()


class _ClaimReader:
    """Reads one claim; collects what is wrong with it."""

    def __init__(self, path: str, line: int) -> None:
        self.location = Location(path, line)
        self.problems: list[Problem] = []
        self.name = "claim"

    def problem(self, kind: ProblemKind, message: str, line: int | None = None) -> None:
        location = replace(self.location, line=line or self.location.line)
        self.problems.append(Problem(location, kind, f"{self.name}: {message}"))

    def read(self, argument: str, content: str) -> Claim | None:
        try:
            parsed = _parsed(ClaimSyntax, argument, content, self.location.line)
        except MarkupError as error:
            self.problem(ProblemKind.MALFORMED_CLAIM, str(error))
            return None
        self.name = parsed.arguments[0]
        if not _CLAIM_ID.fullmatch(self.name):
            message = "an id is words in small letters and digits, joined by hyphens"
            self.problem(ProblemKind.MALFORMED_CLAIM, message)
        for warning in parsed.warnings:
            self.problem(ProblemKind.BAD_OPTION, warning.msg, warning.lineno)
        self.check_options(content)
        tokens = tokenize("\n".join(_lines(content)[parsed.body_offset :]))
        first_line = self.location.line + 1 + parsed.body_offset
        return Claim(
            id=self.name,
            statement=self.statement(tokens),
            location=self.location,
            fences=self.fences(tokens, first_line),
            relations=tuple(self.relations(parsed.options)),
            lanes=self.lanes(parsed.options.get("lanes")),
            timeout=self.timeout(parsed.options.get("timeout")),
            cpu_build="cpu-build" in parsed.options,
            explains="explains" in parsed.options,
        )

    def check_options(self, content: str) -> None:
        """Reports what MyST passes over in silence: an option lost, a line taken for prose."""
        names: list[str] = []
        for number, line in enumerate(_lines(content), start=self.location.line + 1):
            if not line.lstrip().startswith(":"):
                if names and line.strip():
                    message = "an option stands on one line, and an empty line ends them all"
                    self.problem(ProblemKind.BAD_OPTION, message, number)
                break
            names.append(line.lstrip()[1:].partition(":")[0])
            if names[-1] in names[:-1]:
                self.problem(ProblemKind.BAD_OPTION, f"{names[-1]} is given twice", number)

    def statement(self, tokens: list[Token]) -> str:
        for opening, inline in pairwise(tokens):
            if opening.type == "paragraph_open":
                return alone(" ".join(inline.content.split()))
        self.problem(ProblemKind.MALFORMED_CLAIM, "a claim begins with its statement, in prose")
        return ""

    def relations(self, options: dict[str, str]) -> Iterator[Relation]:
        for kind in RelationKind:
            for entry in options.get(kind, "").split():
                yield Relation(kind, entry)

    def lanes(self, option: str | None) -> tuple[Lane, ...]:
        names = tuple(Lane) if option is None else option.replace(",", " ").split()
        unknown = [name for name in names if name not in tuple(Lane)]
        if unknown or not names:
            message = f"lanes are {' and '.join(Lane)}, not {' '.join(unknown) or 'none'}"
            self.problem(ProblemKind.BAD_OPTION, message)
        return tuple(lane for lane in Lane if lane in names) or tuple(Lane)

    def timeout(self, option: str | None) -> float | None:
        try:
            seconds = None if option is None else float(option)
        except ValueError:
            seconds = 0.0
        if seconds is None or 0 < seconds < float("inf"):
            return seconds
        self.problem(ProblemKind.BAD_OPTION, f"timeout is in seconds, not {option!r}")
        return None

    def fences(self, tokens: list[Token], first_line: int) -> tuple[Fence, ...]:
        found: list[Fence] = []
        for token in tokens:
            if token.type in ("fence", "colon_fence") and token.map:
                self.fence(token, first_line + token.map[0], found)
        if not found:
            message = "a claim shows its statement in a `pycon` fence; this one has none"
            self.problem(ProblemKind.BAD_FENCE, message)
        return tuple(found)

    def fence(self, token: Token, line: int, found: list[Fence]) -> None:
        match token.info.split():
            case ["pycon"]:
                found.append(Fence(line, self.session(token, line)))
            case ["pycon", "cuda"]:
                self.cuda_fence(token, line, found)
            case _:
                message = f"a claim holds `pycon` and `pycon cuda` fences, not `{token.info}`"
                self.problem(ProblemKind.BAD_FENCE, message, line)

    def cuda_fence(self, token: Token, line: int, found: list[Fence]) -> None:
        examples = self.session(token, line)
        sources = [example.source for example in examples]
        if not found or [example.source for example in found[-1].examples] != sources:
            message = "a `pycon cuda` fence repeats the code of the `pycon` fence before it"
            self.problem(ProblemKind.BAD_FENCE, message, line)
        else:
            found[-1] = replace(found[-1], cuda_examples=examples)

    def session(self, token: Token, line: int) -> tuple[Example, ...]:
        examples = []
        for example in parse_session(token.content, line + 1):
            if isinstance(example, Example):
                self.check_syntax(example)
                examples.append(example)
            else:
                self.problem(ProblemKind.BAD_FENCE, example[1], example[0])
        if not examples:
            self.problem(ProblemKind.BAD_FENCE, "a `pycon` fence without any `>>>`", line)
        return tuple(examples)

    def check_syntax(self, example: Example) -> None:
        try:
            with warnings.catch_warnings(action="ignore"):  # its run shows them
                ast.parse(example.source, mode="single")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = example.line + (getattr(error, "lineno", None) or 1) - 1
            message = getattr(error, "msg", str(error))
            self.problem(ProblemKind.BAD_FENCE, f"this is no Python statement: {message}", line)


def parse_session(text: str, first_line: int) -> Iterator[Example | tuple[int, str]]:
    """Splits a session into its examples.

    Unlike a doctest, an output runs until the next prompt, so it may hold blank lines;
    only those at its end are dropped.

    Args:
        text: the content of a `pycon` fence.
        first_line: the page line of the first line of the text.

    Yields:
        Each example, or the line of an error with what is wrong there.
    """
    source: list[str] = []
    want: list[str] = []
    start = first_line
    for number, line in enumerate(_lines(text), start=first_line):
        if line.startswith(">>>"):
            if source:
                yield _example(source, want, start)
            source, want, start = [line[4:]], [], number
            if line[3:4] not in ("", " "):
                yield number, "a prompt is followed by a space: `>>> `"
        elif source and not want and (line == "..." or line.startswith("... ")):
            source.append(line[4:])
        elif source:
            want.append(line)
        elif line.strip():
            yield number, "text before the first `>>>`"
    if source:
        yield _example(source, want, start)


def _example(source: list[str], want: list[str], line: int) -> Example:
    text = "\n".join(want)
    return Example(
        source="\n".join(source) + "\n",
        want=re.sub(r"(\n[ \t]*)*\Z", "", text) if text.strip() else "",
        line=line,
        want_line=line + len(source),
    )
