"""Mutation operators: changes to the code of a claim, in one place at a time.

An operator is a function from a node of the syntax tree to changes of the text. Add new ones to
`OPERATORS`.
"""

import ast
import re
import tomllib
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from claimbook.model import Example, digest

VERSION = 1
"""Raise it when a change, other than of the tables, gives different mutants."""


def _pairs(pairs: list[str]) -> dict[str, str]:
    both = [pair.split("/") for pair in pairs]
    return dict(both) | {b: a for a, b in both}


TABLES: dict[str, list[str]] = tomllib.loads(
    Path(__file__).with_name("operators.toml").read_text("utf-8")
)
SWAPS = _pairs(TABLES["swaps"])
DTYPES = _pairs(TABLES["dtypes"])
IN_PLACE = {*TABLES["in-place"]}
ATTRIBUTES = {*TABLES["attributes"]}
DROPPED = {*TABLES["methods"], *ATTRIBUTES}
BUILTINS = {"max", "min", "any", "all"}
"""Names without a dot that `swap` replaces too."""
SIGNS = _pairs(["@/*", "+/-", "+=/-=", "==/!=", "</<=", ">/>=", "and/or"])
SIGNS |= {"/": "*", "is": "is not", "is not": "is", "in": "not in", "not in": "in"}
SIGN = re.compile(rb"is\s+not|not\s+in|[^\s()\\]+")


class Change(NamedTuple):
    """A span of the text, in bytes, and its replacement."""

    start: int
    end: int
    new: str


class Text:
    """The source of an example, edited by the positions of syntax trees: lines and UTF-8 bytes."""

    def __init__(self, example: Example) -> None:
        self.bytes = example.source.encode()
        self.prints = bool(example.want)
        self.tree = ast.parse(example.source)
        self.starts = [0, *accumulate(len(line) + 1 for line in self.bytes.split(b"\n"))]
        kept = self.tree.body if self.prints else []
        expressions = [n for n in ast.walk(self.tree) if isinstance(n, ast.Expr) and n not in kept]
        self.statements = {id(node.value) for node in expressions}
        """Ids of expressions that are whole statements; `leave_out` handles these."""

    def start(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        """Return the offset at which a node begins, its decorators included."""
        if decorators := getattr(node, "decorator_list", None):
            return self.bytes.rfind(b"@", 0, self.start(decorators[0]))
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.keyword) -> int:
        """Return the offset at which a node ends."""
        return self.starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)

    def write(self, node: ast.expr | ast.stmt, new: str) -> Change:
        """Replace a node."""
        return Change(self.start(node), self.end(node), new)

    def rename(self, node: ast.Attribute, new: str) -> Change:
        """Replace the name of an attribute."""
        return Change(self.end(node) - len(node.attr.encode()), self.end(node), new)

    def changed(self, change: Change, start: int = 0, end: int | None = None) -> str:
        """Return the source, or the part of it between two offsets, with a change made."""
        before, after = self.bytes[start : change.start], self.bytes[change.end : end]
        return before.decode() + change.new + after.decode()

    def lines(self, change: Change) -> tuple[str, str]:
        """Return the lines that a change touches, before and after, each joined into one."""
        start = self.bytes.rfind(b"\n", 0, change.start) + 1
        end = (self.bytes + b"\n").find(b"\n", change.end)
        before, after = self.bytes[start:end].decode(), self.changed(change, start, end)
        return " ".join(before.split()), " ".join(after.split())


def leave_out(text: Text, node: ast.AST) -> Iterator[Change]:
    """Replace a statement by `pass`: an example that prints nothing, or one within a body."""
    for name in ("body", "orelse", "finalbody"):
        statements = getattr(node, name, None)
        if not isinstance(statements, list) or (node is text.tree and text.prints):
            continue
        for statement in statements:
            if not _is_docstring(statement):
                yield text.write(statement, "pass")


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def drop_call(text: Text, node: ast.AST) -> Iterator[Change]:
    """Turn `x.detach()` into `x`."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in DROPPED - ATTRIBUTES:
            pass
        case ast.Attribute(value=value, attr=name) if name in ATTRIBUTES:
            pass
        case _:
            return
    if id(node) not in text.statements and not _is_module(value):
        yield Change(text.bytes.find(b".", text.end(value)), text.end(node), "")


def _is_module(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) and node.id in {"torch", "nn", "F"}


def swap(text: Text, node: ast.AST) -> Iterator[Change]:
    """Replace a name by one that it is confused with."""
    if isinstance(node, ast.Attribute) and node.attr in SWAPS:
        yield text.rename(node, SWAPS[node.attr])
    elif isinstance(node, ast.Name) and node.id in BUILTINS:
        yield text.write(node, SWAPS[node.id])
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in SWAPS:
        written = text.bytes[text.start(node) : text.end(node)].decode()
        yield text.write(node, written.replace(node.value, SWAPS[node.value]))


def in_place(text: Text, node: ast.AST) -> Iterator[Change]:
    """Swap `x.add(1)` and `x.add_(1)`; not for a temporary, whose change nothing would see."""
    if not isinstance(node, ast.Attribute) or _is_module(node.value):
        return
    if node.attr[:-1] in IN_PLACE and node.attr.endswith("_"):
        yield text.rename(node, node.attr[:-1])
    elif node.attr in IN_PLACE and isinstance(node.value, ast.Name | ast.Attribute | ast.Subscript):
        yield text.rename(node, node.attr + "_")


def operator(text: Text, node: ast.AST) -> Iterator[Change]:
    """Replace a binary operator by its counterpart."""
    operands: list[ast.expr] = []
    match node:
        case ast.BinOp(left=left, right=right) | ast.AugAssign(target=left, value=right):
            operands = [left, right]
        case ast.Compare(left=left, comparators=others):
            operands = [left, *others]
        case ast.BoolOp(values=values):
            operands = values
    for left, right in pairwise(operands):
        sign = SIGN.search(text.bytes, text.end(left), text.start(right))
        if sign and sign[0].decode() in SIGNS:
            yield Change(*sign.span(), SIGNS[sign[0].decode()])


def flag(text: Text, node: ast.AST) -> Iterator[Change]:
    """Swap `True` and `False`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield text.write(node, str(not node.value))


def number(text: Text, node: ast.AST) -> Iterator[Change]:
    """Add one to a number; in an index, also subtract one."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield text.write(node, repr(node.value + 1))  # type: ignore[operator]
    if isinstance(node, ast.Subscript):
        for index in ast.walk(node.slice):
            if isinstance(index, ast.Constant) and type(index.value) is int:
                yield text.write(index, repr(index.value - 1))


def dtype(text: Text, node: ast.AST) -> Iterator[Change]:
    """Replace a dtype by another: `torch.float32` by `torch.float64`, `.float()` by `.double()`."""
    if isinstance(node, ast.Attribute) and node.attr in DTYPES:
        yield text.rename(node, DTYPES[node.attr])


def drop_keyword(text: Text, node: ast.AST) -> Iterator[Change]:
    """Remove a keyword argument, with its comma."""
    if not isinstance(node, ast.Call):
        return
    given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    given.sort(key=text.start)
    for before, keyword in pairwise([node.func, *given]):
        if isinstance(keyword, ast.keyword):
            start, end = text.start(keyword), text.end(keyword)
            if before is not node.func:
                start = text.bytes.rfind(b",", 0, start)
            elif len(given) > 1:
                end = text.bytes.find(b",", end) + 1
                end += len(text.bytes[end:]) - len(text.bytes[end:].lstrip())
            yield Change(start, end, "")


def drop_decorator(text: Text, node: ast.AST) -> Iterator[Change]:
    """Remove a decorator, with its line."""
    for decorator in getattr(node, "decorator_list", ()):
        at = text.bytes.rfind(b"\n", 0, text.start(decorator)) + 1
        yield Change(at, text.starts[decorator.end_lineno], "")


def drop_with(text: Text, node: ast.AST) -> Iterator[Change]:
    """Keep the body of a `with`, without it."""
    if isinstance(node, ast.With):
        last = node.items[-1].optional_vars or node.items[-1].context_expr
        yield Change(text.start(node), text.bytes.find(b":", text.end(last)), "if True")


OPERATORS: dict[str, Callable[[Text, ast.AST], Iterator[Change]]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        *(leave_out, drop_call, swap, in_place, operator, flag, number, dtype),
        *(drop_keyword, drop_decorator, drop_with),
    )
}

OPERATORS_DIGEST = digest(
    [VERSION, *OPERATORS, SWAPS, DTYPES, SIGNS, sorted(IN_PLACE), sorted(DROPPED)]
)
"""Changes with the operators, which makes older results stale."""
