"""Draw cases, ask torch and the JavaScript of an explorer, and compare all that it shows."""

import atexit
import hashlib
import json
import operator
import random
import shutil
import subprocess
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise, repeat
from pathlib import Path
from typing import Any

import torch

import claimbook
from explorers import autograd, bits, broadcasting, layers, promotion, strides
from helpers import ROOT

SCRIPTS = Path(claimbook.__file__).parent / "sphinx/static/explorers"
RECORD = ROOT / "docs/records/explorers.json"
CASES = 6000
FOR_MUTANTS = 30, 100, 300, 600, 1000, 3000
"""So many cases find each change of a rule: the first few most of them."""
PATIENCE = 60_000
"""Milliseconds for one program: a changed rule may never end."""
ANSWERER = """
const vm = require("vm");
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { program, cases, patience } = JSON.parse(line);
  let said;
  try {
    said = `{"answers":${vm.runInNewContext(program, { cases }, { timeout: patience })}}`;
  } catch (error) {
    said = JSON.stringify({ error: String(error) });
  }
  process.stdout.write(`${said}\\n`);
});
"""
EXPLORERS = {
    module.__name__.rpartition(".")[2]: module
    for module in (broadcasting, strides, layers, promotion, bits, autograd)
}
"""Each has `draw(random)` → a case, `torch_says(case)`, `CALL`, and `MUTANTS`; and may have `ALL`,
the cases where they can be counted, and `same(torch, script)`, if not all must be equal."""


@dataclass(frozen=True)
class Difference:
    """A case in which the two say different things."""

    case: Any
    torch: Any
    script: Any


def rule(name):
    """The JavaScript that answers, without what shows it."""
    return "\n".join((SCRIPTS / f"{part}rule.js").read_text("utf-8") for part in ("", f"{name}-"))


def digest(name):
    """Say which rule was compared."""
    return hashlib.sha256(rule(name).encode()).hexdigest()[:16]


@cache
def _drawn(name):
    """Cases as they are drawn, always the same, each with what torch answers, as JSON has it."""
    source, known = random.Random(0), set()
    every = getattr(EXPLORERS[name], "ALL", None)
    shuffled = iter(source.sample(every, len(every))) if every else repeat(None)
    for chosen in shuffled:
        with warnings.catch_warnings(action="ignore"):
            case = chosen or EXPLORERS[name].draw(source)
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
    with one_thread():
        kept.extend(islice(_drawn(name), max(count - len(kept), 0)))
    return kept[:count]


@contextmanager
def one_thread():
    """Keep torch to one thread: for tensors as small as these, more wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def program(name, text):
    """JavaScript whose value is the answers, as JSON, to the cases in the variable `cases`."""
    return f"{text}\nJSON.stringify(cases.map((drawn) => {EXPLORERS[name].CALL}))"


@cache
def _node():
    """A Node that answers line by line; one for all that is asked of it."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    node = subprocess.Popen([shutil.which("node"), "-e", ANSWERER], **pipes)
    atexit.register(node.kill)
    return node


def ask_node(name, text, drawn):
    """Answer by Node."""
    asked = {"program": program(name, text), "cases": drawn, "patience": PATIENCE}
    node = _node()
    node.stdin.write(json.dumps(asked) + "\n")
    node.stdin.flush()
    found = json.loads(node.stdout.readline())
    if "error" in found:
        raise RuntimeError(found["error"])
    return found["answers"]


def count_of(name):
    """How many cases are compared: all there are, or so many of those drawn."""
    return len(getattr(EXPLORERS[name], "ALL", range(CASES)))


def differences(name, ask, text=None, count=None):
    """The cases in which the JavaScript differs from torch.

    Args:
        ask: who runs it: a function of name, JavaScript and cases.
        text: the JavaScript; by default the rule as it stands.
        count: how many of the cases; by default all.
    """
    return list(compared(name, ask, answered(name, count or count_of(name)), text))


def compared(name, ask, cases, text=None):
    """The differences in some cases, each with what torch answers."""
    drawn, said = zip(*cases, strict=True)
    answers = ask(name, text or rule(name), drawn)
    same = getattr(EXPLORERS[name], "same", operator.eq)
    for case, right, answer in zip(drawn, said, answers, strict=True):
        if not same(right, answer):
            yield Difference(case, right, answer)


def sampled(name, count):
    """Some of the cases, always the same, with what torch answers to them alone."""
    source = random.Random(1)
    with warnings.catch_warnings(action="ignore"), one_thread():
        drawn = [EXPLORERS[name].draw(source) for _ in range(count)]
        return [(case, json.loads(json.dumps(EXPLORERS[name].torch_says(case)))) for case in drawn]


def uncaught(name, ask):
    """The changes of the rule that go unnoticed."""
    return [mutant for mutant in EXPLORERS[name].MUTANTS if not cases_to_catch(name, ask, mutant)]


def enough(name, ask):
    """So many cases find each change of the rule."""
    return max(cases_to_catch(name, ask, mutant) or 0 for mutant in EXPLORERS[name].MUTANTS)


@cache
def cases_to_catch(name, ask, mutant):
    """So many cases notice a change of the rule, or that it breaks; None if it goes unnoticed."""
    old, new = mutant
    text = rule(name)
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the rule of {name}"
    changed = text.replace(old, new)
    for tried, count in pairwise((0, *FOR_MUTANTS)):
        cases = answered(name, count)[tried:]
        try:
            if cases and next(compared(name, ask, cases, changed), None):
                return count
        except Exception as error:  # noqa: BLE001 - whatever breaks is noticed
            return count if "Error" in str(error) else None
    return None


def record(name, ask):
    """What the page says of the comparison."""
    cases = count_of(name)
    agreed = cases - len(differences(name, ask))
    errors = any('"error"' in json.dumps(said) for _, said in answered(name, cases))
    return {
        "agreed": agreed,
        "cases": cases,
        "rule": digest(name),
        "said": sentence(name, agreed, cases, errors),
    }


def sentence(name, agreed, cases, errors):
    """How many cases agreed with torch, in words."""
    all_of = "All" if agreed == cases else f"{agreed:,} of"
    kind = "possible cases" if hasattr(EXPLORERS[name], "ALL") else "drawn cases"
    version = torch.__version__.partition("+")[0]
    texts = ", error texts included" if errors else ""
    digits = getattr(EXPLORERS[name], "DIGITS", None)
    exact = f", numbers to {digits} digits" if digits else ""
    return f"{all_of} {cases:,} {kind} agreed with torch {version}{texts}{exact}."
