"""What a copy button puts into the clipboard runs as it is pasted."""

import random
import subprocess
import sys

import pytest

from claimbook.book import Book
from claimbook.checker import HEADER
from claimbook.model import Lane
from helpers import ROOT

SAMPLE = 40
PROGRAM = """\
import os, sys, torch
for name, code in {codes!r}.items():
    if child := os.fork():
        if os.waitpid(child, 0)[1]:
            print(name)
    else:
        sys.stdin = sys.stderr = open(os.devnull, "w")
        os.dup2(sys.stderr.fileno(), 1)
        exec(compile(code, name, "exec"), {{"__name__": "__main__"}})
        os._exit(0)
"""


def sample():
    """Some claims that run on any machine, the same in every run of the tests."""
    claims = Book.load(ROOT).claims
    fit = [
        claim
        for claim in claims
        if Lane.CPU in claim.lanes
        and claim.location.path.startswith("docs/")
        and not any(HEADER in example.want for example in claim.examples(Lane.CPU))
    ]
    return random.Random(0).sample(fit, SAMPLE)


@pytest.fixture
def pasted(open_page):
    """Copies a claim by its button and pastes it into a text box."""
    pages = {}

    def copy(claim):
        name = claim.location.path.removeprefix("docs/").removesuffix(".md")
        if name not in pages:
            pages[name] = open_page(name)
        page = pages[name]
        page.bring_to_front()
        page.locator(f"#claim-{claim.id} .claim-session button.copybtn").first.click()
        page.evaluate(PASTE_BOX)
        page.keyboard.press("Control+V")
        return page.input_value("#paste-here")

    return copy


PASTE_BOX = """() => {
  document.querySelector("#paste-here")?.remove();
  const box = document.createElement("textarea");
  box.id = "paste-here";
  document.body.prepend(box);
  box.focus();
}"""


def test_copied_code_runs(pasted, tmp_path):
    """Neither prompts nor outputs, and all imports: each runs in a process of its own."""
    codes = {claim.id: pasted(claim) for claim in sample()}
    assert [
        name for name, code in codes.items() if ">>>" in code or "import torch" not in code
    ] == []
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(codes=codes)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
