"""Draw cases, ask torch and the JavaScript of an explorer, and compare all that it shows."""

import hashlib
import json
import random
import shutil
import subprocess
import warnings
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import claimbook
from explorers import broadcasting, layers, strides
from helpers import ROOT

SCRIPTS = Path(claimbook.__file__).parent / "sphinx/static/explorers"
RECORD = ROOT / "docs/records/explorers.json"
CASES = 6000
FOR_MUTANTS = 250, 3000
EXPLORERS = {
    module.__name__.rpartition(".")[2]: module for module in (broadcasting, strides, layers)
}
"""Each has `draw(random)` → a case, `torch_says(case)`, `CALL`, and `MUTANTS`."""


@dataclass(frozen=True)
class Difference:
    """A case in which the two say different things."""

    case: Any
    torch: Any
    script: Any


def rule(name):
    """The JavaScript that answers, without what shows it."""
    return (SCRIPTS / f"{name}-rule.js").read_text("utf-8")


def digest(name):
    """Say which rule was compared."""
    return hashlib.sha256(rule(name).encode()).hexdigest()[:16]


@cache
def _drawn(name):
    """Cases as they are drawn, always the same, each with what torch answers, as JSON has it."""
    source, known = random.Random(0), set()
    while True:
        with warnings.catch_warnings(action="ignore"):
            case = EXPLORERS[name].draw(source)
            text = json.dumps(case)
            said = None if text in known else json.dumps(EXPLORERS[name].torch_says(case))
        if said:
            known.add(text)
            yield case, json.loads(said)


@cache
def _kept(name):
    return []


def answered(name, count):
    """The first cases with what torch answers; of those drawn twice the first counts."""
    kept = _kept(name)
    kept.extend(islice(_drawn(name), max(count - len(kept), 0)))
    return kept[:count]


def program(name, text):
    """JavaScript whose value is the answers, as JSON, to the cases in the variable `cases`."""
    return f"{text}\nJSON.stringify(cases.map((drawn) => {EXPLORERS[name].CALL}))"


def ask_node(name, text, drawn):
    """Answer by Node."""
    source = (
        "const cases = JSON.parse(require('fs').readFileSync(0, 'utf8'));\n"
        f"process.stdout.write(eval({json.dumps(program(name, text))}));"
    )
    found = subprocess.run(
        [shutil.which("node"), "-e", source],
        input=json.dumps(drawn),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if found.returncode:
        raise RuntimeError(found.stderr[-2000:])
    return json.loads(found.stdout)


def differences(name, ask, text=None, count=CASES):
    """The cases in which the JavaScript differs from torch.

    Args:
        ask: who runs it: a function of name, JavaScript and cases.
        text: the JavaScript; by default the rule as it stands.
        count: how many of the cases; by default all.
    """
    drawn, said = zip(*answered(name, count), strict=True)
    answers = ask(name, text or rule(name), drawn)
    return [
        Difference(case, right, answer)
        for case, right, answer in zip(drawn, said, answers, strict=True)
        if right != answer
    ]


def caught(name, ask, mutant):
    """Whether a change of the rule is noticed; a rule that breaks is noticed too."""
    old, new = mutant
    text = rule(name)
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the rule of {name}"
    try:
        changed = text.replace(old, new)
        return any(differences(name, ask, changed, count) for count in FOR_MUTANTS)
    except Exception as error:  # noqa: BLE001 - whatever breaks is noticed
        return "Error" in str(error)


def record(name, ask):
    """What the page says of the comparison."""
    import torch

    return {
        "agreed": CASES - len(differences(name, ask)),
        "cases": CASES,
        "rule": digest(name),
        "torch": torch.__version__.partition("+")[0],
    }
