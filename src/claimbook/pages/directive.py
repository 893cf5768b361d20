"""Read a `{claim}` directive: its options, statement and examples."""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from docutils.parsers.rst.states import MarkupError
from markdown_it.token import Token

from claimbook.model import (
    Claim,
    Example,
    Factor,
    Fence,
    Lane,
    Location,
    Problem,
    ProblemKind,
    Relation,
    RelationKind,
)
from claimbook.pages.myst import (
    STAR,
    ClaimSyntax,
    fence_lines,
    fences,
    is_closed,
    lines,
    parse_directive,
    star_lists,
    tokenize,
)
from claimbook.pages.session import is_whole, parse_session, syntax_error
from claimbook.pages.text import first_sentence, near, strip_markup

COLUMNS = 90
"""Columns of code, without the prompt, that fit on a card."""

TITLE = 125
"""Most characters of a claim's title."""

CLAIM_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


LaneOrFactor = TypeVar("LaneOrFactor", Lane, Factor)


class ClaimReader:
    """Reads one claim and collects its problems."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self.problems: list[Problem] = []
        self.owned: set[int] = set()
        """Page lines of its fences."""
        self.name = "claim"
        self._options: dict[str, int] = {}
        """Page lines of its options, by name."""

    def _problem(self, kind: ProblemKind, message: str, line: int | None = None) -> None:
        location = replace(self.location, line=line or self.location.line)
        self.problems.append(Problem(location, kind, f"{self.name}: {message}"))

    def read(self, argument: str, content: str) -> Claim | None:
        """Return the claim; None if MyST cannot parse its directive.

        Args:
            argument: the text after `{claim}`.
            content: the text inside its fence.
        """
        if (parsed := self._parse(argument, content)) is None:
            return None
        body = lines(content)[parsed.body_offset :]
        tokens = tokenize("\n".join(body))
        first_line = self.location.line + 1 + parsed.body_offset
        for line in star_lists(tokens, first_line):
            self._problem(ProblemKind.BAD_FORM, STAR, line)
        lanes = self._members("lanes", parsed.options, Lane) or tuple(Lane)
        fences = self._fences(tokens, first_line, body)
        if Lane.CUDA not in lanes and any(f.cuda_examples is not None for f in fences):
            message = "its `pycon cuda` fence never runs: take it out, or add cuda to `:lanes:`"
            self._problem(ProblemKind.BAD_FENCE, message)
            fences = tuple(replace(fence, cuda_examples=None) for fence in fences)
        return Claim(
            id=self.name,
            statement=self._statement(tokens),
            location=self.location,
            fences=fences,
            relations=tuple(
                Relation(kind, entry)
                for kind in RelationKind
                for entry in parsed.options.get(kind, "").split()
            ),
            lanes=lanes,
            timeout=self._timeout(parsed.options.get("timeout")),
            machine=self._members("machine", parsed.options, Factor),
            cpu_build="cpu-build" in parsed.options,
            detail="detail" in parsed.options,
            explains="explains" in parsed.options,
        )

    def _parse(self, argument: str, content: str) -> Any:
        """Return the directive as parsed by MyST, or None; set the claim's name."""
        if not argument.strip():
            self._problem(ProblemKind.MALFORMED_CLAIM, "its id goes after `{claim}`")
            return None
        try:
            parsed = parse_directive(ClaimSyntax, argument, content, self.location.line)
        except MarkupError as error:
            self._problem(ProblemKind.MALFORMED_CLAIM, str(error))
            return None
        self.name = parsed.arguments[0].strip()
        if not CLAIM_ID.fullmatch(self.name):
            message = "an id is lowercase letters and digits, joined by hyphens"
            self._problem(ProblemKind.MALFORMED_CLAIM, message)
        for warning in parsed.warnings:
            self._problem(ProblemKind.BAD_OPTION, _about_option(warning.msg), warning.lineno)
        self._check_options(content)
        return parsed

    def _check_options(self, content: str) -> None:
        """Note the lines of options; report duplicates and lines that MyST would read as prose."""
        for number, line in enumerate(lines(content), start=self.location.line + 1):
            if not line.lstrip().startswith(":"):
                if self._options and line.strip():
                    message = "an option takes one line, and an empty line ends the options"
                    self._problem(ProblemKind.BAD_OPTION, message, number)
                break
            name = line.lstrip()[1:].partition(":")[0]
            if name in self._options:
                self._problem(ProblemKind.BAD_OPTION, f"{name} is given twice", number)
            self._options[name] = number

    def _statement(self, tokens: list[Token]) -> str:
        if [token.type for token in tokens[:2]] != ["paragraph_open", "inline"]:
            message = "a claim begins with its statement, in prose"
            self._problem(ProblemKind.MALFORMED_CLAIM, message)
            return ""
        statement = strip_markup(" ".join(tokens[1].content.split()))
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

    def _members(
        self, name: str, options: Mapping[str, str], kind: type[LaneOrFactor]
    ) -> tuple[LaneOrFactor, ...]:
        """Return the members of an enumeration that an option names; empty without the option."""
        named = options.get(name, "").replace(",", " ").split()
        unknown = [each for each in named if each not in tuple(kind)]
        if name in options and (unknown or not named):
            known = f"{name} is one or more of {', '.join(kind)}"
            message = f"{known}, not {' '.join(unknown) or 'none'}"
            self._problem(ProblemKind.BAD_OPTION, message, self._options.get(name))
        return tuple(member for member in kind if member in named)

    def _timeout(self, option: str | None) -> float | None:
        if option is None:
            return None
        with suppress(ValueError):
            if 0 < float(option) < float("inf"):
                return float(option)
        message = f"timeout is in seconds, not {option!r}"
        self._problem(ProblemKind.BAD_OPTION, message, self._options.get("timeout"))
        return None

    def _fences(self, tokens: list[Token], first_line: int, body: list[str]) -> tuple[Fence, ...]:
        found: list[Fence] = []
        for token, line in fences(tokens, first_line):
            if not is_closed(token, body):
                message = f"this fence is never closed: end it with {token.markup}"
                self._problem(ProblemKind.BAD_FENCE, message, line)
            if token.level:
                message = "a fence of a claim must not be in a list or quote"
                self._problem(ProblemKind.BAD_FENCE, message, line)
            self.owned.update(fence_lines(token, line))
            self._fence(token, line, found)
        if not found:
            message = "it has no `pycon` fence that shows its statement"
            self._problem(ProblemKind.BAD_FENCE, message)
        return tuple(found)

    def _fence(self, token: Token, line: int, found: list[Fence]) -> None:
        match token.info.split():
            case ["pycon"]:
                found.append(Fence(line, self._session(token, line)))
            case ["pycon", "cuda"]:
                self._cuda_fence(token, line, found)
            case _:
                message = f"a claim holds `pycon` and `pycon cuda` fences, not `{token.info}`"
                self._problem(ProblemKind.BAD_FENCE, message, line)

    def _cuda_fence(self, token: Token, line: int, found: list[Fence]) -> None:
        examples = self._session(token, line)
        sources = [example.source for example in examples]
        if not found or [example.source for example in found[-1].examples] != sources:
            message = "a `pycon cuda` fence repeats the code of the `pycon` fence before it"
            self._problem(ProblemKind.BAD_FENCE, message, line)
        else:
            found[-1] = replace(found[-1], cuda_examples=examples)

    def _session(self, token: Token, line: int) -> tuple[Example, ...]:
        examples: list[Example] = []
        for example in parse_session(token.content, line + 1):
            if not isinstance(example, Example):
                self._problem(ProblemKind.BAD_FENCE, example[1], example[0])
                continue
            if wrong := syntax_error(example):
                self._problem(ProblemKind.BAD_FENCE, wrong[1], wrong[0])
                return tuple(examples)  # later examples may depend on it
            self._check_form(example)
            examples.append(example)
        if not examples:
            self._problem(ProblemKind.BAD_FENCE, "a `pycon` fence without any `>>>`", line)
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
    if wrong := re.match(r"Invalid option value for '([^']*)': .*?: (.*)", said, re.DOTALL):
        return f"{wrong[1]} {wrong[2]}"
    if not (name := re.match(r"Unknown option key: '([^']*)'", said)):
        return said
    known = sorted(ClaimSyntax.option_spec)
    return f"there is no option {name[1]!r}{near(name[1], known) or f'; there are {known}'}"
