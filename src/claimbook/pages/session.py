"""Split a Python session into examples, and find syntax errors."""

import ast
import re
import warnings
from collections.abc import Callable, Iterator

from claimbook.model import Example
from claimbook.pages.myst import lines

Wrong = Callable[[int, str], None]
"""Takes what is wrong: the page line, counted from 1, and a message."""


def parse_session(text: str, first_line: int, wrong: Wrong) -> Iterator[Example]:
    """Yield the examples of a session.

    Unlike in a doctest, an output runs to the next prompt and may hold blank lines; only
    trailing ones are dropped.

    Args:
        text: the content of a `pycon` fence.
        first_line: the page line of the first line of the text.
        wrong: called for each mistake.
    """
    source: list[str] = []
    want: list[str] = []
    start = first_line
    for number, line in enumerate(lines(text), start=first_line):
        if line.startswith(">>>"):
            if source:
                yield _example(source, want, start)
            source, want, start = [line[3:].removeprefix(" ")], [], number
            if line[3:4] not in ("", " "):
                wrong(number, "a prompt is followed by a space: `>>> `")
        elif source and not want and (line.rstrip() == "..." or line.startswith("... ")):
            source.append(line[4:])
        elif source:
            want.append(line)
        elif line.strip():
            wrong(number, "text before the first `>>>`")
    if source:
        yield _example(source, want, start)


def _example(source: list[str], want: list[str], line: int) -> Example:
    text = "\n".join(want)
    return Example(
        source="\n".join(source) + "\n",
        want=re.sub(r"(\n[ \t]*)*\Z", "", text) if text.strip() else "",
        line=line,
    )


def is_statement(example: Example, wrong: Wrong) -> bool:
    """Return whether an example is a Python statement, and note what is wrong if it is not."""
    try:
        with warnings.catch_warnings(action="ignore"):  # the run shows warnings
            ast.parse(example.source, mode="single")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        parts = filter(None, map(str.strip, example.source.split("\n")))
        if all(part.startswith("#") for part in parts):
            wrong(example.line, "there is only a comment at this prompt; put it beside code")
            return False
        line = example.line + (getattr(error, "lineno", None) or 1) - 1
        said = str(getattr(error, "msg", error))
        hint = "; continuation lines begin with `... `" * isinstance(error, IndentationError)
        hint += "; each begins with `>>> `" * said.startswith("multiple statements")
        wrong(line, f"this is no Python statement: {said}{hint}")
        return False
    return True
