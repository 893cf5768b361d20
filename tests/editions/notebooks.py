"""Runs notebooks as a reader does, and compares what their cells print with what they show."""

import re

import nbformat
from nbclient import NotebookClient

from claimbook.checking.compare import compare

OTHERWISE = (
    *("Warning: ", "Traceback", " at 0x", "/tmp/", "W...", "[E...", "E...\n", 'File "<example'),
    "Exception ignored",
)
"""What Jupyter itself prints in another way than a prompt, or elsewhere, as it does logs; such
outputs are not compared."""


def printed(outputs) -> str:
    """What the outputs of a cell say, as text."""
    said = ""
    for output in outputs:
        if output.output_type == "stream":
            said += output.text if output.name == "stdout" else ""
        elif output.output_type == "error":
            said += f"{output.ename}: {output.evalue}\n"
        else:
            said += output.data.get("text/plain", "") + "\n"
    return said.rstrip("\n")


def _squeezed(text):
    """Jupyter breaks lines in other places than a prompt, and shows a class by its name."""
    text = re.sub(r"<class '([\w.]+)'>", r"\1", text).replace("collections.", "")
    text = re.sub(r"\w+\.<locals>\.(?=\w+: )", "", text)
    return " ".join(text.split()).removesuffix(":")


def differences(path):
    """The cells of a notebook that fail, or print something else than they show."""
    book = nbformat.read(path, 4)
    nbformat.validate(book)
    wanted = [printed(cell.get("outputs", [])) for cell in book.cells]
    NotebookClient(book, timeout=120, kernel_name="python3", allow_errors=True).execute()
    for cell, want in zip(book.cells, wanted, strict=True):
        if cell.cell_type != "code":
            continue
        got = printed(cell.outputs)
        failed = [o for o in cell.outputs if o.output_type == "error"]
        compared = not any(word in want for word in OTHERWISE)
        if failed or (compared and compare(_squeezed(want), _squeezed(got))):
            yield "FAILED" if failed else "differs", cell.source, want, got
