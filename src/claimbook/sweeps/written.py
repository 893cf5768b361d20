"""Read the sweeps of a book, in `docs/sweeps`.

They are functions in `*.py`, named after their claims; claims that need none are in `*.yaml`.
"""

import ast
import io
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from claimbook.files import ReadError, read_text
from claimbook.model import Claim, Example, Fence, Lane, Location, digest
from claimbook.pages.book import BookError, Project, unknown
from claimbook.pages.register import compose
from claimbook.records.reading import Tell

GENERAL = re.compile(
    r"\b(every|each|all|any|anything|always|never|no|nothing|none|only|exactly|same|equals?"
    r"|whatever|whichever|both|neither)\b",
    re.IGNORECASE,
)
"""Words of a sentence that a single counterexample refutes."""
FOLDER = "sweeps"
"""The folder of sweeps in docs."""
COMPARE = {"same", "close", "assert_close"}
"""Functions that raise if their arguments differ."""
ASSERT = "write `assert`, or `same(…)` of claimbook.sweeps.search, about what is drawn"
LIMIT = 120.0
"""Time limit of a sweep in seconds."""


@dataclass(frozen=True)
class Written:
    """One sweep as written in its file."""

    claim: Claim
    location: Location
    setup: tuple[str, ...]
    """The other statements of its file, such as imports and helpers."""
    rule: str
    """Its function, without the decorator."""
    drawn: str
    """The call of `sweep(...)` above it."""

    @property
    def source(self) -> str:
        """Its source code."""
        return f"@{self.drawn}\n{self.rule}"

    def digest(self) -> str:
        """Return a hash of the sweep, its helpers and its claim's statement, without imports."""
        helpers = [each for each in self.setup if not each.startswith(("import ", "from "))]
        return digest([self.claim.statement, self.source, *helpers])

    def runnable(self) -> Claim:
        """Return a claim, for a runner, that the search prints nothing and reaches all assertions.

        Its examples are `setup`, the rule and the search; then, for each assertion, the rule that
        fails in its place and another search.
        """
        made = f"{self.drawn}({self.claim.id.replace('-', '_')})"
        sources = [*self.setup, self.rule, f"{made}.search()\n"]
        for node in _assertions(ast.parse(self.rule)):
            sources.append(_failing_at(node, _lines(self.rule)))
            place = replace(self.location, line=self.location.line + node.lineno - 1)
            sources.append(f"{made}.reach({str(place)!r})\n")
        fence = Fence(tuple(Example(source, "", self.location.line) for source in sources))
        about = self.claim.id, self.claim.statement, self.location
        return Claim(*about, (fence,), lanes=(Lane.CPU,), timeout=LIMIT)


def read_sweeps(project: Project, claims: Iterable[Claim], tell: Tell) -> dict[str, Written]:
    """Return claim id → sweep for every sweep of a book, in the order of claims.

    Args:
        tell: reports each fault of a file, which hides no other sweep: it cannot be read or has a
            syntax error, a function is not named after a claim or is the second for one, or it
            asserts nothing about what is drawn.
    """
    by_id = {claim.id: claim for claim in claims}
    found: dict[str, Written] = {}
    for path in sorted((project.docs / FOLDER).glob("*.py")):
        name = project.name(path)
        try:
            text = read_text(path)
        except ReadError as error:
            tell(f"{name}:{error.line}", error.message)
            continue
        for each in _in_file(text, name, by_id, tell):
            if (first := found.setdefault(each.claim.id, each)) is not each:
                message = f"{each.claim.id} has a sweep already, at {first.location}"
                tell(str(each.location), f"{message}; remove one of the two")
    for path in sorted((project.docs / FOLDER).glob("*/**/*.py")):
        tell(f"{project.name(path)}:1", f"sweeps are read in docs/{FOLDER} itself: move it there")
    return {claim: found[claim] for claim in by_id if claim in found}


def _in_file(text: str, name: str, claims: dict[str, Claim], tell: Tell) -> Iterator[Written]:
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        return tell(f"{name}:{error.lineno or 1}", error.msg)
    except ValueError as error:  # of a null byte
        return tell(f"{name}:1", str(error))
    lines = _lines(text)
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef) and _is_sweep(n)]
    others = [n for n in tree.body if n not in functions and not _is_text(n)]
    setup = tuple(_source(lines, n, *getattr(n, "decorator_list", ())) for n in others)
    for node in others:
        if any("sweep" in ast.unparse(each) for each in getattr(node, "decorator_list", ())):
            tell(f"{name}:{node.lineno}", "a sweep is a `def` under `@sweep(…)` alone")
    for function in functions:
        claim = function.name.replace("_", "-")
        if claim not in claims:
            hint = "a sweep is named after its claim, with _ for -"
            tell(f"{name}:{function.lineno}", unknown(claim, "claim", claims, hint))
        elif fault := _fault(function):
            tell(f"{name}:{fault[0]}", fault[1])
        else:
            drawn = _source(lines, function.decorator_list[0]).removeprefix("@").rstrip()
            place = Location(name, function.lineno)
            yield Written(claims[claim], place, setup, _source(lines, function), drawn)


def _fault(function: ast.FunctionDef) -> tuple[int, str] | None:
    """Return line and fault of a function's assertions, which must depend on what is drawn."""
    if not (assertions := _assertions(function)):
        return function.lineno, f"{function.name} asserts nothing; {ASSERT}"
    for node in assertions:
        if isinstance(node, ast.Assert) and not _names_something(node.test):
            return node.lineno, f"`{ast.unparse(node)}` uses nothing that is drawn; {ASSERT}"
    return None


def _names_something(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Name) for part in ast.walk(node))


def _assertions(tree: ast.AST) -> list[ast.Assert | ast.Expr]:
    """Return the assertions of a rule: `assert` statements and calls that compare."""
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Assert | ast.Expr))
    return [node for node in nodes if isinstance(node, ast.Assert) or _compares(node.value)]


def _failing_at(node: ast.stmt, lines: list[str]) -> str:
    """Return a rule, given by its lines, with `assert False` in the place of a statement."""
    first, last = lines[node.lineno - 1].encode(), lines[(node.end_lineno or 1) - 1].encode()
    changed = first[: node.col_offset] + b"assert False" + last[node.end_col_offset :]
    return "".join([*lines[: node.lineno - 1], changed.decode(), *lines[node.end_lineno :]])


def _compares(node: ast.expr) -> bool:
    """Return whether an expression is a comparing call with two different arguments."""
    match node:
        case ast.Call(
            func=ast.Name(id=name) | ast.Attribute(attr=name), args=[first, second, *_]
        ) if name in COMPARE:
            return ast.dump(first) != ast.dump(second)
    return False


def _is_text(node: ast.stmt) -> bool:
    """Return whether a statement is only a text, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_sweep(function: ast.FunctionDef) -> bool:
    """Return whether a function is decorated with `@sweep(...)` alone."""
    match function.decorator_list:
        case [ast.Call(func=ast.Name(id="sweep"))]:
            return True
    return False


def _lines(text: str) -> list[str]:
    """Return the lines of code with their ends, as Python counts them."""
    return [*io.StringIO(text, newline="")]  # splitlines would also split at form feeds


def _source(lines: list[str], node: ast.stmt | ast.expr, *decorators: ast.expr) -> str:
    """Return the lines of a node, from the first of the given decorators on."""
    start = min(each.lineno for each in (node, *decorators))
    return "".join(lines[start - 1 : node.end_lineno]).rstrip("\n") + "\n"


def left_out(project: Project, claims: Collection[str]) -> set[str]:
    """Return the claims that are exempt from a sweep.

    They are listed in `docs/sweeps/*.yaml`, which map reasons to lists of claims.

    Raises:
        BookError: a file cannot be read, has another form, or names an unknown claim; the message
            says where.
    """
    found: set[str] = set()
    for path in sorted((project.docs / FOLDER).glob("*.yaml")):
        try:
            found.update(_listed(path, claims))
        except ReadError as error:
            place = Location(project.name(path), error.line)
            raise BookError(f"{place}: {error.message}") from error
    return found


def _listed(path: Path, claims: Collection[str]) -> Iterator[str]:
    """Yield each claim of the lists that a YAML file maps reasons to."""
    if (root := compose(path)) is None:
        return
    reasons = root.value if isinstance(root, yaml.MappingNode) else [(root, root)]
    for reason, ids in reasons:
        if ids is reason or not isinstance(ids, yaml.SequenceNode):
            line = reason.start_mark.line + 1
            raise ReadError(path, line, "a reason must be followed by a list of claims")
        for node in ids.value:
            if node.value not in claims:
                what = unknown(str(node.value), "claim", claims, "see claimbook list")
                raise ReadError(path, node.start_mark.line + 1, what)
            yield node.value
