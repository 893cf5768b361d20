"""Name the two functions passed to a call, from its source code."""

import ast
import inspect
import linecache
from types import FrameType

from claimbook.teach.measure import Work, label


def said(frame: FrameType | None, a: Work, b: Work) -> tuple[str, str]:
    """Return names for two functions passed to the function that runs in ``frame``.

    They are the functions' own names if these differ, the bodies of lambdas, or else the arguments
    as written. Without source code, as at a prompt, they are "the first" and "the second".
    """
    written = _arguments(frame.f_back) if frame and frame.f_back else []
    if len(written) < 2 or any(isinstance(each, ast.Starred) for each in written):
        return label(a, "the first"), label(b, "the second")
    found = _said(a, written[0]), _said(b, written[1])
    return found if len({*found}) == 2 else (ast.unparse(written[0]), ast.unparse(written[1]))


def _arguments(caller: FrameType) -> list[ast.expr]:
    tree = ast.parse("".join(linecache.getlines(caller.f_code.co_filename)))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    places = [(n.lineno, n.end_lineno, n.col_offset, n.end_col_offset) for n in calls]
    at = inspect.getframeinfo(caller).positions
    return next((call.args for call, place in zip(calls, places, strict=True) if place == at), [])


def _said(work: Work, argument: ast.expr) -> str:
    written = ast.unparse(argument.body if isinstance(argument, ast.Lambda) else argument)
    return label(work, written) if isinstance(argument, ast.Name | ast.Lambda) else written
