"""Read a `{claim}` directive: its options, statement and examples."""

import re
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
from claimbook.pages.myst import STAR, Block, ClaimSyntax, Markdown, lines, parse_directive
from claimbook.pages.session import is_whole, parse_session, syntax_error
from claimbook.pages.text import first_sentence, near, strip_markup

COLUMNS = 90
"""Columns of code, without the prompt, that fit on a card."""

TITLE = 125
"""Most characters of a claim's title."""

CLAIM_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class ClaimReader:
    """Reads one claim and collects its problems."""

    def __init__(self, path: str, block: Block) -> None:
        self.location = Location(path, block.line)
        self.problems: list[Problem] = []
        self.owned: set[int] = set()
        """Page lines of its fences."""
        self._block = block
        self._name = "claim"

    def _problem(self, kind: ProblemKind, message: str, line: int | None = None) -> None:
        location = replace(self.location, line=line or self.location.line)
        self.problems.append(Problem(location, kind, f"{self._name}: {message}"))

    def read(self) -> Claim | None:
        """Return the claim; None if it has no id."""
        try:
            parsed, body = parse_directive(ClaimSyntax, self._block)
        except MarkupError:
            self._problem(ProblemKind.MALFORMED_CLAIM, "its id goes after `{claim}`")
            return None
        self._name, options = parsed.arguments[0].strip(), parsed.options
        if not CLAIM_ID.fullmatch(self._name):
            message = "an id is lowercase letters and digits, joined by hyphens"
            self._problem(ProblemKind.MALFORMED_CLAIM, message)
        for warning in parsed.warnings:
            self._problem(ProblemKind.BAD_OPTION, _about_option(warning.msg), warning.lineno)
        self._check_options()
        for line in body.star_lists():
            self._problem(ProblemKind.BAD_FORM, STAR, line)
        lanes, fences = options.get("lanes", tuple(Lane)), self._fences(body)
        if Lane.CUDA not in lanes and any(f.cuda_examples is not None for f in fences):
            message = "its `pycon cuda` fence never runs: take it out, or add cuda to `:lanes:`"
            self._problem(ProblemKind.BAD_FENCE, message)
            fences = [replace(fence, cuda_examples=None) for fence in fences]
        return Claim(
            id=self._name,
            statement=self._statement(body),
            location=self.location,
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
        for number, line in enumerate(lines(self._block.content), start=self.location.line + 1):
            if not line.lstrip().startswith(":"):
                if found and line.strip():
                    message = "an option takes one line, and an empty line ends the options"
                    self._problem(ProblemKind.BAD_OPTION, message, number)
                break
            name = line.lstrip()[1:].partition(":")[0]
            if name in found:
                self._problem(ProblemKind.BAD_OPTION, f"{name} is given twice", number)
            found.add(name)

    def _statement(self, body: Markdown) -> str:
        if [token.type for token in body.tokens[:2]] != ["paragraph_open", "inline"]:
            message = "a claim begins with its statement, in prose"
            self._problem(ProblemKind.MALFORMED_CLAIM, message)
            return ""
        statement = strip_markup(" ".join(body.tokens[1].content.split()))
        self._check_title(first_sentence(statement))
        return statement

    def _check_title(self, title: str) -> None:
        if self.problems:  # the title may hold the rest of a broken option
            return
        if title[-1:] not in ".?!":
            self._problem(ProblemKind.BAD_FORM, "its first sentence, the title, has no full stop")
        elif len(title) > TITLE:
            message = f"its first sentence, the title, has {len(title)} characters; {TITLE} fit"
            self._problem(ProblemKind.BAD_FORM, message)

    def _fences(self, body: Markdown) -> list[Fence]:
        found: list[Fence] = []
        for block in body.blocks():
            if not block.closed:
                message = f"this fence is never closed: end it with {block.marks}"
                self._problem(ProblemKind.BAD_FENCE, message, block.line)
            if block.nested:
                message = "a fence of a claim must not be in a list or quote"
                self._problem(ProblemKind.BAD_FENCE, message, block.line)
            self.owned.update(block.lines)
            if block.info.split() == ["pycon"]:
                found.append(Fence(block.line, self._session(block)))
            elif block.info.split() == ["pycon", "cuda"]:
                self._add_cuda(block, found)
            else:
                message = f"a claim holds `pycon` and `pycon cuda` fences, not `{block.info}`"
                self._problem(ProblemKind.BAD_FENCE, message, block.line)
        if not found:
            message = "it has no `pycon` fence that shows its statement"
            self._problem(ProblemKind.BAD_FENCE, message)
        return found

    def _add_cuda(self, block: Block, found: list[Fence]) -> None:
        """Add what a `pycon cuda` fence says to the fence before it."""
        examples = self._session(block)
        sources = [example.source for example in examples]
        if not found or [example.source for example in found[-1].examples] != sources:
            message = "a `pycon cuda` fence repeats the code of the `pycon` fence before it"
            self._problem(ProblemKind.BAD_FENCE, message, block.line)
        else:
            found[-1] = replace(found[-1], cuda_examples=examples)

    def _session(self, block: Block) -> tuple[Example, ...]:
        examples: list[Example] = []
        for example in parse_session(block.content, block.line + 1):
            if not isinstance(example, Example):
                self._problem(ProblemKind.BAD_FENCE, example[1], example[0])
                continue
            if wrong := syntax_error(example):
                self._problem(ProblemKind.BAD_FENCE, wrong[1], wrong[0])
                return tuple(examples)  # later examples may depend on it
            self._check_form(example)
            examples.append(example)
        if not examples:
            self._problem(ProblemKind.BAD_FENCE, "a `pycon` fence without any `>>>`", block.line)
        return tuple(examples)

    def _check_form(self, example: Example) -> None:
        for line, code in enumerate(example.source.split("\n"), start=example.line):
            if len(code) > COLUMNS:
                message = f"code of {len(code)} columns; a card shows {COLUMNS}: break the line"
                self._problem(ProblemKind.BAD_FORM, message, line)
        whole = example.source.endswith("\n\n") and is_whole(example.source.rstrip("\n"))
        if whole and example.want:
            message = "`...` after a whole statement is read as code, not as what it prints"
            self._problem(ProblemKind.BAD_FENCE, message, example.want_line - 1)


def _about_option(said: str) -> str:
    """Reword MyST's message about an option for authors."""
    if wrong := re.match(
        r"Invalid option value for '([^']*)': .*?: ((?:has|is|names) .*)", said, re.DOTALL
    ):
        return f"{wrong[1]} {wrong[2]}"
    if not (name := re.match(r"Unknown option key: '([^']*)'", said)):
        return said
    known = sorted(ClaimSyntax.option_spec)
    return f"there is no option {name[1]!r}{near(name[1], known) or f'; there are {known}'}"
