"""Lay out the examples of a claim as a reader sees them: code without prompts, in pieces."""

from collections.abc import Iterable, Iterator

from claimbook.model import Example


def pieces(examples: Iterable[Example]) -> Iterator[list[Example]]:
    """Yield runs of examples, each up to one that prints; the last may print nothing."""
    gathered = list[Example]()
    for example in examples:
        gathered.append(example)
        if example.want:
            yield gathered
            gathered = []
    if gathered:
        yield gathered


def listing(examples: Iterable[Example]) -> str:
    r"""Return the code of examples, with an empty line after each compound statement.

    >>> listing([Example("for x in y:\n    x\n", "", 1), Example("z\n", "", 3)])
    'for x in y:\n    x\n\nz\n'
    """
    return "".join(_spaced(example.source) for example in examples)


def _spaced(source: str) -> str:
    first, *rest = source.rstrip("\n").split("\n")
    is_compound = rest and (first.endswith(":") or first.startswith("@"))
    return f"{source}\n" if is_compound else source
