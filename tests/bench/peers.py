"""The same claims, as each of the ways to run examples wants to have them."""

import ast
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from textwrap import indent

from claimbook.checking.compare import HEADER
from claimbook.checking.report import prompted
from claimbook.model import Claim, Lane

PRELUDE = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
NAMESPACE = PRELUDE + 'device = torch.device("cpu")\ntorch.set_num_threads(1)\n'
PER_PAGE = 20

Command = list[str]


def comparable(claims: Iterable[Claim]) -> list[Claim]:
    """The claims that every peer can run: with a cpu lane, and no warning among the outputs.

    A process that is not forked would run a bare script once more, from its start.
    """
    return [
        claim
        for claim in claims
        if Lane.CPU in claim.lanes
        and not any("Warning:" in e.want or "..." in e.want for e in claim.examples(Lane.CPU))
        and not re.search("spawn|forkserver", claim.code)
    ]


def pages(claims: list[Claim]) -> list[list[Claim]]:
    """The claims, so many a page."""
    return [claims[start : start + PER_PAGE] for start in range(0, len(claims), PER_PAGE)]


def claimbook(claims: list[Claim], folder: Path) -> Command:
    """This project's own runner."""
    (folder / "pyproject.toml").write_text("[tool.claimbook]\n")
    (folder / "docs/register").mkdir(parents=True)
    for number, page in enumerate(pages(claims)):
        text = "# Page\n\n" + "".join(map(_as_directive, page))
        (folder / f"docs/page{number}.md").write_text(text)
    return [sys.executable, "-m", "claimbook", "run"]


def bare_script(claims: list[Claim], folder: Path) -> Command:
    """One Python script with every statement in it, its output thrown away."""
    parts = [NAMESPACE, "def show(value):\n    if value is not None:\n        print(repr(value))\n"]
    parts += map(_as_block, claims)
    (folder / "script.py").write_text("\n".join(parts))
    return [sys.executable, "script.py"]


def doctest_glob(claims: list[Claim], folder: Path) -> Command:
    """Text files under `pytest --doctest-glob`."""
    for number, page in enumerate(pages(claims)):
        (folder / f"page{number}.txt").write_text("".join(map(_as_doctest, page)))
    options = ["--doctest-glob=*.txt", "--doctest-continue-on-failure"]
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:claimbook", *options, "."]


def sphinx_doctest(claims: list[Claim], folder: Path) -> Command:
    """`sphinx-build -b doctest`, a group a claim."""
    (folder / "conf.py").write_text('extensions = ["sphinx.ext.doctest"]\nroot_doc = "page0"\n')
    for number, page in enumerate(pages(claims)):
        text = "Page\n====\n\n"
        for claim in page:
            body = "".join(f"   {line}\n" for line in _as_doctest(claim).splitlines())
            text += f".. doctest:: {claim.id}\n\n{body}\n"
        (folder / f"page{number}.rst").write_text(text)
    return [sys.executable, "-m", "sphinx", "-q", "-b", "doctest", ".", "out"]


def sybil(claims: list[Claim], folder: Path) -> Command:
    """Sybil under pytest."""
    (folder / "conftest.py").write_text(
        "from sybil import Sybil\nfrom sybil.parsers.rest import DocTestParser\n"
        'pytest_collect_file = Sybil([DocTestParser()], patterns=["*.rst"]).pytest()\n'
    )
    for number, page in enumerate(pages(claims)):
        (folder / f"page{number}.rst").write_text("".join(map(_as_doctest, page)))
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:claimbook", "."]


def myst_nb(claims: list[Claim], folder: Path) -> Command:
    """myst-nb notebooks, a cell a claim; nothing is compared."""
    (folder / "conf.py").write_text(
        'extensions = ["myst_nb"]\nroot_doc = "page0"\nnb_execution_mode = "force"\n'
        "nb_execution_allow_errors = True\n"
    )
    head = "---\nfile_format: mystnb\nkernelspec: {name: python3}\n---\n# Page\n\n"
    for number, page in enumerate(pages(claims)):
        cells = "".join(f"```{{code-cell}} python\n{claim.code}```\n\n" for claim in page)
        first = f"```{{code-cell}} python\n{NAMESPACE}```\n\n"
        (folder / f"page{number}.md").write_text(head + first + cells)
    return [sys.executable, "-m", "sphinx", "-q", "-j", "auto", "-b", "html", ".", "out"]


PEERS: dict[str, Callable[[list[Claim], Path], Command]] = {
    "claimbook": claimbook,
    "bare script": bare_script,
    "pytest --doctest-glob": doctest_glob,
    "sphinx -b doctest": sphinx_doctest,
    "Sybil": sybil,
    "myst-nb": myst_nb,
}


def _as_directive(claim: Claim) -> str:
    session = "".join(
        f"{_prompted(example.source)}{example.want}\n"
        if example.want
        else _prompted(example.source)
        for example in claim.examples(Lane.CPU)
    )
    machine = f":machine: {', '.join(claim.machine)}\n" if claim.machine else ""
    head = f":::{{claim}} {claim.id}\n{machine}\nIt is so.\n\n"
    return f"{head}```pycon\n{session}```\n:::\n\n"


def _as_doctest(claim: Claim) -> str:
    text = "".join(_prompted(line + "\n") for line in NAMESPACE.splitlines())
    for example in claim.examples(Lane.CPU):
        want = "\n".join(line or "<BLANKLINE>" for line in example.want.split("\n"))
        text += _prompted(example.source) + (f"{want}\n" if example.want else "")
    return text + "\n"


def _as_block(claim: Claim) -> str:
    # Without workers of their own, some claims find what others changed, and raise.
    body = "\n".join(_as_statement(e.source, e.want) for e in claim.examples(Lane.CPU))
    return f"try:\n{indent(body, '    ')}\nexcept BaseException as error:\n    print(error)"


def _as_statement(source: str, want: str) -> str:
    tree = ast.parse(source)
    if isinstance(tree.body[-1], ast.Expr):
        tree.body[-1].value = ast.Call(ast.Name("show"), [tree.body[-1].value], [])
    code = ast.unparse(ast.fix_missing_locations(tree))
    if HEADER not in want:
        return code
    return f"try:\n{indent(code, '    ')}\nexcept BaseException as error:\n    print(error)"


def _prompted(source: str) -> str:
    return "".join(f"{line}\n" for line in prompted(source))
