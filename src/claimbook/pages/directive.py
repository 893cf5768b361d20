"""Read a `{claim}` directive: its options, statement and examples."""

import re
from collections.abc import Iterator
from dataclasses import replace

from docutils.parsers.rst.states import MarkupError

from claimbook.model import (
    Claim,
    Example,
    Fence,
    Lane,
    Location,
    Problem,
    ProblemKind,
    Relation,
    RelationKind,
)
from claimbook.pages.myst import Block, ClaimSyntax, Markdown, lines, parse_directive
from claimbook.pages.session import is_statement, is_whole, parse_session
from claimbook.pages.text import first_sentence, near, strip_markup

COLUMNS = 90
"""Columns of code, without the prompt, that fit on a card."""

TITLE = 125
"""Most characters of a claim's title."""

CLAIM_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

STAR = "this line begins a list: wrap the sentence elsewhere, or begin lists with `-`"
"""Message for a line that begins with `*` or `+`, such as a wrapped product or sum."""


class Reader:
    """Reads a part of a page; collects its problems, and which of its code is run."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problems: list[Problem] = []
        self.owned: set[int] = set()
        """Page lines of code that is run, or already reported."""
        self.torn = False
        """Whether a fence is never closed; what follows it cannot be trusted."""

    def problem(self, line: int, kind: ProblemKind, message: str) -> None:
        """Note what is wrong with a line of the page."""
        self.problems.append(Problem(Location(self.path, line), kind, message))

    def blocks(self, part: Markdown) -> Iterator[Block]:
        """Yield the fences and directives of a part, and note what is wrong with its form."""
        for line in part.star_lists():
            self.problem(line, ProblemKind.BAD_FORM, STAR)
        for block in part.blocks():
            if not (block.closed or self.torn):
                message = f"this fence is never closed: end it with {block.marks}"
                self.problem(block.line, ProblemKind.BAD_FENCE, message)
                self.torn = True
            yield block


class ClaimReader(Reader):
    """Reads one claim."""

    def __init__(self, path: str, block: Block) -> None:
        super().__init__(path)
        self._block, self._line, self._name = block, block.line, "claim"

    def problem(self, line: int, kind: ProblemKind, message: str) -> None:
        """Note what is wrong with a line of the claim."""
        super().problem(line, kind, f"{self._name}: {message}")

    def read(self) -> Claim | None:
        """Return the claim; None if it has no id."""
        try:
            parsed, body = parse_directive(ClaimSyntax, self._block)
        except MarkupError:
            self.problem(self._line, ProblemKind.MALFORMED_CLAIM, "its id goes after `{claim}`")
            return None
        self._name, options = parsed.arguments[0].strip(), parsed.options
        if not CLAIM_ID.fullmatch(self._name):
            message = "an id is lowercase letters and digits, joined by hyphens"
            self.problem(self._line, ProblemKind.MALFORMED_CLAIM, message)
        for warning in parsed.warnings:
            self.problem(
                warning.lineno or self._line, ProblemKind.BAD_OPTION, _about_option(warning.msg)
            )
        self._check_options()
        lanes, fences = options.get("lanes", tuple(Lane)), self._fences(body)
        if Lane.CUDA not in lanes and any(f.cuda_examples is not None for f in fences):
            message = "its `pycon cuda` fence never runs: take it out, or add cuda to `:lanes:`"
            self.problem(self._line, ProblemKind.BAD_FENCE, message)
            fences = [replace(fence, cuda_examples=None) for fence in fences]
        return Claim(
            id=self._name,
            statement=self._statement(body),
            location=Location(self.path, self._line),
            fences=tuple(fences),
            relations=tuple(
                Relation(kind, entry) for kind in RelationKind for entry in options.get(kind, ())
            ),
            lanes=lanes,
            timeout=options.get("timeout"),
            machine=options.get("machine", ()),
            cpu_build="cpu-build" in options,
            detail="detail" in options,
            explains="explains" in options,
        )

    def _check_options(self) -> None:
        """Report options given twice, and lines that MyST would read as prose."""
        found = set[str]()
        for number, line in enumerate(lines(self._block.content), start=self._line + 1):
            if not line.lstrip().startswith(":"):
                if found and line.strip():
                    message = "an option takes one line, and an empty line ends the options"
                    self.problem(number, ProblemKind.BAD_OPTION, message)
                break
            name = line.lstrip()[1:].partition(":")[0]
            if name in found:
                self.problem(number, ProblemKind.BAD_OPTION, f"{name} is given twice")
            found.add(name)

    def _statement(self, body: Markdown) -> str:
        if [token.type for token in body.tokens[:2]] != ["paragraph_open", "inline"]:
            message = "a claim begins with its statement, in prose"
            self.problem(self._line, ProblemKind.MALFORMED_CLAIM, message)
            return ""
        statement = strip_markup(body.tokens[1].content)
        title = first_sentence(statement)
        wrong = ""
        if title[-1:] not in ".?!":
            wrong = "has no full stop"
        elif len(title) > TITLE:
            wrong = f"has {len(title)} characters; {TITLE} fit"
        if wrong and not self.problems:  # with some, it may hold the rest of a broken option
            message = f"its first sentence, the title, {wrong}"
            self.problem(self._line, ProblemKind.BAD_FORM, message)
        return statement

    def _fences(self, body: Markdown) -> list[Fence]:
        found: list[Fence] = []
        for block in self.blocks(body):
            if block.nested:
                message = "a fence of a claim must not be in a list or quote"
                self.problem(block.line, ProblemKind.BAD_FENCE, message)
            self.owned.update(block.lines)
            if block.info.split() == ["pycon"]:
                found.append(Fence(block.line, self._session(block)))
            elif block.info.split() == ["pycon", "cuda"]:
                self._add_cuda(block, found)
            else:
                message = f"a claim holds `pycon` and `pycon cuda` fences, not `{block.info}`"
                self.problem(block.line, ProblemKind.BAD_FENCE, message)
        if not found:
            message = "it has no `pycon` fence that shows its statement"
            self.problem(self._line, ProblemKind.BAD_FENCE, message)
        return found

    def _add_cuda(self, block: Block, found: list[Fence]) -> None:
        """Add what a `pycon cuda` fence says to the fence before it."""
        examples = self._session(block)
        sources = [example.source for example in examples]
        if not found or [example.source for example in found[-1].examples] != sources:
            message = "a `pycon cuda` fence repeats the code of the `pycon` fence before it"
            self.problem(block.line, ProblemKind.BAD_FENCE, message)
        else:
            found[-1] = replace(found[-1], cuda_examples=examples)

    def _session(self, block: Block) -> tuple[Example, ...]:
        def wrong(line: int, message: str) -> None:
            self.problem(line, ProblemKind.BAD_FENCE, message)

        examples: list[Example] = []
        for example in parse_session(block.content, block.line + 1, wrong):
            if not is_statement(example, wrong):
                return tuple(examples)  # later examples may depend on it
            self._check_form(example)
            examples.append(example)
        if not examples:
            wrong(block.line, "a `pycon` fence without any `>>>`")
        return tuple(examples)

    def _check_form(self, example: Example) -> None:
        for line, code in enumerate(example.source.split("\n"), start=example.line):
            if len(code) > COLUMNS:
                message = f"code of {len(code)} columns; a card shows {COLUMNS}: break the line"
                self.problem(line, ProblemKind.BAD_FORM, message)
        whole = example.source.endswith("\n\n") and is_whole(example.source.rstrip("\n"))
        if whole and example.want:
            message = "`...` after a whole statement is read as code, not as what it prints"
            self.problem(example.want_line - 1, ProblemKind.BAD_FENCE, message)


def _about_option(said: str) -> str:
    """Reword MyST's message about an option for authors.

    >>> _about_option("Invalid option value for 'detail': no: has no value")
    'detail has no value'
    >>> _about_option("Unknown option key: 'lane' (allowed: …)")
    "there is no option 'lane'; did you mean lanes?"
    """
    if wrong := re.match(
        r"Invalid option value for '([^']*)': .*?: ((?:has|is|names) .*)", said, re.DOTALL
    ):
        return f"{wrong[1]} {wrong[2]}"
    if "expected ':' after key" in said:
        return "an option is written `:name:`, or `:name: value`"
    if not (name := re.match(r"Unknown option key: '([^']*)'", said)):
        return said
    known = sorted(ClaimSyntax.option_spec)
    return f"there is no option {name[1]!r}{near(name[1], known) or f'; there are {known}'}"
