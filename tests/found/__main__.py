"""Counts what the messages of other libraries say, which says nothing of one of this book.

Without arguments, fetches the libraries, reads what they raise and warn of, and writes
`exports/everyday.json`.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from claimbook.exports import errors, lookup
from helpers import known_errors

LIBRARIES = """
accelerate==1.15.0 dask==2026.8.0 datasets==5.2.0 diffusers==0.42.1 flax==0.12.8 jax==0.10.2
matplotlib==3.11.2 numpy==2.3.5 onnx==1.23.2 pandas==3.1.1 peft==0.21.2 scikit-learn==1.9.1
tf-keras==2.21.0 timm==1.0.31 transformers==5.24.0
"""
LEAST, OF_BOOK = 20, 5
"""A mark that fewer messages have is not everyday; one of the book's messages needs fewer."""
SHORTEST = 8
"""Characters of a message."""
WARNS = {"warnings.warn", "logger.warning"}


def messages(wheel: Path) -> Iterator[str]:
    """Yield what a library raises and warns of, as Python would print it."""
    archive, seen = zipfile.ZipFile(wheel), set()
    for name in archive.namelist():
        if name.endswith(".py") and "test" not in name:
            for kind, text in raised(archive.read(name).decode("utf-8", "replace")):
                if len(text) >= SHORTEST and text not in seen:
                    seen.add(text)
                    yield f"{kind}: {text}"


def raised(source: str) -> Iterator[tuple[str, str]]:
    """Yield type and message of each error and warning in a module."""
    try:
        nodes = [*ast.walk(ast.parse(source))]
    except (SyntaxError, ValueError):  # a template, or a file for another Python
        return
    for node in nodes:
        call, kind = node, "UserWarning"
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            call, kind = node.exc, ast.unparse(node.exc.func)
        elif not (isinstance(node, ast.Call) and ast.unparse(node.func) in WARNS):
            continue
        if call.args and re.fullmatch(r"[\w.]+", kind):
            yield kind, said(call.args[0]).strip()


def said(node: ast.expr) -> str:
    """Return a message as written, a number in the place of each value."""
    match node:
        case ast.Constant():
            text = str(node.value)
        case ast.JoinedStr():
            text = "".join(said(value) for value in node.values)
        case ast.FormattedValue():
            text = "3"
        case ast.BinOp(op=ast.Add()):
            text = said(node.left) + said(node.right)
        case ast.BinOp(op=ast.Mod()):
            text = re.sub(r"%[sdr]", "3", said(node.left))
        case ast.Call(func=ast.Attribute(attr="format", value=template)):
            text = re.sub(r"\{[^}]*\}", "3", said(template))
        case _:
            text = ""
    return text


def count(folder: str) -> dict:
    """Fetch the libraries, and count in how many of their messages each mark is."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
    subprocess.run([*pip, "--dest", folder, *LIBRARIES.split()], check=True)
    found = [
        errors.read(each)
        for wheel in sorted(Path(folder).glob("*.whl"))
        for each in messages(wheel)
    ]
    marks = Counter(mark for message in found for mark in message.marks)
    of_book = {mark for message in known_errors() for mark in message.marks}
    least = {mark: OF_BOOK if mark in of_book else LEAST for mark in marks}
    kept = {mark: number for mark, number in sorted(marks.items()) if number >= least[mark]}
    return {"libraries": LIBRARIES.split(), "messages": len(found), "marks": kept}


def explained(wheel: Path, of_book: lookup.Lookup) -> Iterator[str]:
    """Yield the messages of a library that the book claims to explain, and how many they are."""
    told = [*messages(wheel)]
    answered = [(text, found[0]) for text in told if (found := of_book.search(text, 1))]
    for text, match in answered:
        yield f"{text[:100]!r} -> {match.message.text[:80]!r} ({match.message.place})\n"
    yield f"{wheel.name}: {len(answered)} of {len(told)}\n"


parser = argparse.ArgumentParser(prog="python tests/found", description=__doc__)
parser.add_argument(
    "wheel", nargs="*", type=Path, help="only tell which of its messages the book claims to explain"
)
if wheels := parser.parse_args().wheel:
    book = lookup.Lookup(known_errors())
    for wheel in wheels:
        sys.stdout.writelines(explained(wheel, book))
else:
    with tempfile.TemporaryDirectory() as folder:
        text = json.dumps(count(folder), indent=0, ensure_ascii=False)
    Path(lookup.__file__).with_name("everyday.json").write_text(text + "\n", "utf-8")
