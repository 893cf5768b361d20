"""Make mutants: a claim with one thing changed in its code and with the same wants."""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from claimbook.model import Claim, Example, Fence, Lane
from claimbook.mutation.operators import OPERATORS, Change, Text


@dataclass(frozen=True)
class Edit:
    """The change that a mutant makes."""

    line: int
    """The line of the claim's code, counted from 1."""
    operator: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.operator}: {self.before} -> {self.after or '(nothing)'}"


def mutants(claim: Claim, lane: Lane) -> Iterator[tuple[Claim, Edit]]:
    """Yield every distinct mutant of a claim that compiles, with its change.

    A mutant has the wants of the lane; its id is the claim's, `~` and a number.
    """
    examples = claim.examples(lane)
    ids = count(1)
    for position, example in enumerate(examples):
        earlier = sum(e.source.count("\n") for e in examples[:position])
        for name, text, change in _distinct(example):
            mutated = replace(example, source=text.changed(change))
            session = (*examples[:position], mutated, *examples[position + 1 :])
            line = 1 + earlier + text.bytes.count(b"\n", 0, change.start)
            mutant = replace(claim, id=f"{claim.id}~{next(ids)}", fences=(Fence(session),))
            yield mutant, Edit(line, name, *text.lines(change))


def _distinct(example: Example) -> Iterator[tuple[str, Text, Change]]:
    """Yield the changes whose syntax trees differ from the original's and from each other."""
    if not _compiles(example.source):  # an example of a syntax error
        return
    text = Text(example)
    seen = {ast.dump(text.tree)}
    for node in _nodes(text.tree):
        for name, changes in OPERATORS.items():
            for change in changes(text, node):
                source = text.changed(change)
                if _compiles(source) and (tree := ast.dump(ast.parse(source))) not in seen:
                    seen.add(tree)
                    yield name, text, change


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    if not isinstance(node, ast.JoinedStr):  # its parts have no positions before Python 3.12
        yield node
        for child in ast.iter_child_nodes(node):
            yield from _nodes(child)


def _compiles(text: str) -> bool:
    with warnings.catch_warnings(action="ignore"):
        try:
            compile(text, "<mutant>", "single", dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
    return True
