"""Read a `{claim}` directive: its options, statement and examples."""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from math import inf
from typing import Any

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
    first_sentence,
)
from claimbook.pages.myst import Block, Markdown
from claimbook.pages.session import is_statement, parse_session
from claimbook.pages.text import near, strip_markup

COLUMNS = 90
"""Columns of code, without the prompt, that fit on a card."""

TITLE = 125
"""Most characters of a claim's title."""

CLAIM_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")

STAR = "this line begins a list: wrap the sentence elsewhere, or begin lists with `-`"
"""Message for a line that begins with `*` or `+`, such as a wrapped product or sum."""


def _entries(value: str) -> list[str]:
    if not value:
        raise ValueError("names no entry")
    return value.replace(",", " ").split()


def _alone(value: str) -> bool:
    if value:
        raise ValueError(f"has no value: leave out {value!r}, or the whole line")
    return True


def _seconds(value: str) -> float:
    with suppress(ValueError):
        seconds = float(value)
        if 0 < seconds < inf:
            return seconds
    raise ValueError(f"is in seconds, not {value!r}")


def _members(kind: type[StrEnum]) -> Callable[[str], tuple[StrEnum, ...]]:
    """Return the function that reads an option which names members of an enumeration."""

    def read(value: str) -> tuple[StrEnum, ...]:
        named = value.replace(",", " ").split()
        unknown = [each for each in named if each not in tuple(kind)]
        if unknown or not named:
            members = ", ".join(kind)
            raise ValueError(f"is one or more of {members}, not {' '.join(unknown) or 'none'}")
        return tuple(member for member in kind if member in named)

    return read


OPTIONS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys(map(str, RelationKind), _entries),
    "lanes": _members(Lane),
    "timeout": _seconds,
    "machine": _members(Factor),
    **dict.fromkeys(("cpu-build", "detail", "explains"), _alone),
}
"""Option of a claim → how its value is read; those after the relations are fields of `Claim`."""

OPTION = re.compile(r"\s*:([^:\s]+):(?:\s+(.*?))?\s*")


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
        _, name = self._block.directive
        if not name:
            self.problem(self._line, ProblemKind.MALFORMED_CLAIM, "its id goes after `{claim}`")
            return None
        self._name, body = name, self._block.body
        if not CLAIM_ID.fullmatch(name):
            message = "an id is lowercase letters and digits, joined by hyphens"
            self.problem(self._line, ProblemKind.MALFORMED_CLAIM, message)
        options = self._options(body)
        relations = [Relation(kind, e) for kind in RelationKind for e in options.pop(kind, ())]
        claim = Claim(
            id=name,
            location=Location(self.path, self._line),
            fences=tuple(self._fences(body)),
            statement=self._statement(body),
            relations=tuple(relations),
            markdown=self._block.content,
            **{option.replace("-", "_"): value for option, value in options.items()},
        )
        if Lane.CUDA not in claim.lanes and any(f.cuda_examples is not None for f in claim.fences):
            message = "its `pycon cuda` fence never runs: take it out, or add cuda to `:lanes:`"
            self.problem(self._line, ProblemKind.BAD_FENCE, message)
        return claim

    def _options(self, body: Markdown) -> dict[str, Any]:
        """Return the values of its options, and note what is wrong with them."""
        found = dict[str, Any]()
        for number, line in enumerate(self._block.options, start=self._line + 1):
            try:
                _add_option(found, line)
            except ValueError as error:
                self.problem(number, ProblemKind.BAD_OPTION, str(error))
        if self._block.options and body.lines[0].strip():
            message = "an option takes one line, and an empty line ends the options"
            self.problem(body.first_line, ProblemKind.BAD_OPTION, message)
        first = next((n for n, line in enumerate(body.lines) if line.strip()), 0)
        if not self._block.options and re.match(r":[\w-]+:(\s|$)", "".join(body.lines[first:])):
            message = "options stand directly below the first line, without an empty line"
            self.problem(body.first_line + first, ProblemKind.BAD_OPTION, message)
        return found

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
                found.append(Fence(self._session(block)))
            elif block.info.split() == ["pycon", "cuda"]:
                self._add_cuda(block, found)
            else:
                other = f"not `{block.info}`" if block.info else "and this one names no language"
                message = f"a claim holds `pycon` and `pycon cuda` fences, {other}"
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


def _add_option(found: dict[str, Any], line: str) -> None:
    """Add the value of an option to those found above its line.

    Raises:
        ValueError: the message says what is wrong with it.
    """
    written = OPTION.fullmatch(line)
    if not written:
        raise ValueError("an option is written `:name:`, or `:name: value`")
    name, value = written[1], written[2] or ""
    if name in found:
        raise ValueError(f"{name} is given twice")
    if name not in OPTIONS:
        known = sorted(OPTIONS)
        meant = near(name, known) or f"; there are {known}"
        raise ValueError(f"there is no option {name!r}{meant}")
    try:
        found[name] = OPTIONS[name](value)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from error
