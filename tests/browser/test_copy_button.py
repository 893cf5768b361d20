"""What a copy button puts into the clipboard runs as it is pasted."""

import os
import random
import subprocess
import sys
from collections import defaultdict

from claimbook.checking.compare import HEADER
from claimbook.engine.fork_server import OURS_TO_SAY
from claimbook.model import Lane
from helpers import SITE, whole_book

PAGES, CLAIMS = 5, 4
"""So many pages are drawn, and so many claims of each."""
PROGRAM = """\
import os, sys, torch
import torch._dynamo  # as torch does at the first use of an optimiser, a second for each process
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
    fit = defaultdict(list)
    for claim in whole_book().claims:
        shows_error = any(HEADER in example.want for example in claim.examples(Lane.CPU))
        if Lane.CPU in claim.lanes and claim.location.path.startswith("docs/") and not shows_error:
            fit[name(claim)].append(claim)
    draw = random.Random(0)
    pages = draw.sample([page for page in fit if len(fit[page]) >= CLAIMS], PAGES)
    return [claim for page in pages for claim in draw.sample(fit[page], CLAIMS)]


def name(claim):
    """The page that it stands on."""
    return claim.location.path.removeprefix("docs/").removesuffix(".md")


def pasted(page, claim):
    """Copies a claim by its button and pastes it into a text box."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.locator(f"#claim-{claim.id} .claim-session button.copybtn").first.click()
    page.evaluate(PASTE_BOX)
    page.keyboard.press("Control+V")
    return page.input_value("#paste-here")


PASTE_BOX = """() => {
  document.querySelector("#paste-here")?.remove();
  const box = document.createElement("textarea");
  box.id = "paste-here";
  document.body.prepend(box);
  box.focus();
}"""


def test_copied_code_runs(open_page, tmp_path):
    """No prompts, outputs or blank lines at its ends, all imports: each runs in its own process."""
    page, codes = open_page("index"), {}
    for claim in sample():
        address = (SITE / f"{name(claim)}.html").as_uri()
        if page.url != address:
            page.goto(address)
        codes[claim.id] = pasted(page, claim)
    wrong = [id for id, code in codes.items() if ">>>" in code or "import torch" not in code]
    assert wrong == []
    assert [id for id, code in codes.items() if code != code.strip() or "\n\n\n\n" in code] == []
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(codes=codes)],
        cwd=tmp_path,
        env=os.environ | OURS_TO_SAY,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
