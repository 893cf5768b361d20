"""Claims on a machine that rounds otherwise: what changes there, and what must not."""

import pytest
import torch
from click.testing import CliRunner

from claimbook.cli import main
from claimbook.engine.pool import Runner
from claimbook.model import Lane, Outcome
from claimbook.mutation.perturb import AS_HERE, perturbed
from claimbook.mutation.perturb.machine import ARITHMETIC, FARTHEST, FUNCTIONS, Machine, begin, end
from helpers import TinyBook, claim, claim_text

MACHINES = range(1, 9)
THIRDS = torch.arange(1, 8) / 3


@pytest.fixture(scope="module")
def runner():
    with Runner(jobs=1) as running:
        yield running


def outcomes(runner, session):
    """What a claim gives here, watched, and on some machines."""
    one = claim("one", session)
    machines = [perturbed(one, seed) for seed in MACHINES]
    runs = [
        next(runner.run([each], Lane.CPU)) for each in (one, perturbed(one, AS_HERE), *machines)
    ]
    here, watched, *there = (run.outcome for run in runs)
    assert (here, watched) == (Outcome.PASSED, Outcome.PASSED), runs
    return set(there)


NOTICED = {
    "all digits of a sum": "x.sum().item()",
    "all digits of a function": "x.exp().tolist()",
    "all digits in float64": "x.double().exp().tolist()",
    "a gradient": "torch.autograd.grad(y.tanh().sum(), y)[0].tolist()",
    "what happens in place": "x.clone().exp_().tolist()",
    "what happens to many": "torch._foreach_exp([x])[0].tolist()",
    "many in place": "[z := x.clone(), torch._foreach_exp_([z]), z.tolist()][2]",
    "few bits by luck": "(x.new_tensor(0.5).log()).exp().item()",
    "complex numbers": "(x * 1j).exp().real.tolist()",
    "an equality that holds by luck": "torch.equal(x.sum(), x.flip(0).unsqueeze(0).sum())",
}
UNNOTICED = {
    "whole numbers": "torch.arange(1000.0).sum()",
    "few bits": "torch.full((3,), 0.125).sum(), torch.zeros(2).softmax(0)",
    "what a function has of itself": "torch.zeros(2).exp(), torch.ones(2).log()",
    "what IEEE 754 settles": "(x * x - x / 7).sqrt()[3].item()",
    "the same computation twice": "torch.equal(x.exp(), x.exp())",
    "four digits": "x.exp().sum()",
    "sixteen bits": "x.half().exp().tolist()",
    "the smallest numbers": "torch.full((3,), 1e-45).pow(1).isfinite()",
    "the largest number": "torch.full((3,), torch.finfo().max).mean(0, True).exp().isnan()",
    "infinities": "(1000 * x).exp()",
    "a copy": "x.t().contiguous().view(7)[2].item()",
    "random numbers": "torch.rand(2)[0].item()",
}
SETUP = ">>> x = torch.arange(1, 8) / 3\n>>> y = x.clone().requires_grad_()\n"


def printed(expression):
    """What an expression prints here."""
    names = {"torch": torch, "x": THIRDS, "y": THIRDS.clone().requires_grad_()}
    torch.manual_seed(0)
    return f"{SETUP}>>> {expression}\n{eval(expression, names)!r}"


@pytest.mark.parametrize("what", NOTICED)
def test_noticed(runner, what):
    """A claim that hangs on a last bit fails on some machine, though not when merely watched."""
    assert Outcome.FAILED in outcomes(runner, printed(NOTICED[what]))


@pytest.mark.parametrize("what", UNNOTICED)
def test_unnoticed(runner, what):
    """What is the same on every machine passes on each."""
    assert outcomes(runner, printed(UNNOTICED[what])) == {Outcome.PASSED}


def test_the_next_claim_is_here_again(runner):
    """Also after an example that raised."""
    mode = claim(
        "next",
        """
        >>> from torch.utils import _python_dispatch
        >>> print(_python_dispatch._get_current_dispatch_mode())
        None
        """,
    )
    raising = perturbed(claim("raising", ">>> 1 / 0"), 1)
    done = {run.claim: run for run in runner.run([raising, mode], Lane.CPU)}
    assert done["raising"].outcome is Outcome.FAILED
    assert done["next"].outcome is Outcome.PASSED, done["next"]


def test_steps():
    """Numbers move up and down by some units in the last place, or not at all."""
    x = torch.linspace(1, 2, 1001)[1:-1]
    here = x.exp()
    with Machine(1):
        there = x.exp()
    steps = there.view(torch.int32) - here.view(torch.int32)
    assert set(steps.tolist()) == {*range(-FARTHEST, FARTHEST + 1)}


def test_every_operator_is_torchs():
    """A name that torch does not have would never be met."""
    known = torch._C._dispatch_get_all_op_names()
    bare = {name.partition("::")[2].partition(".")[0].strip("_") for name in known}
    assert bare | {name.partition("_backward")[0] for name in bare} >= {
        *ARITHMETIC.split(),
        *FUNCTIONS.split(),
    }


def test_the_command(tmp_path, monkeypatch):
    """It names what notices, leaves out what cannot be looked at, and fails."""
    monkeypatch.chdir(tmp_path)
    digits = f">>> (torch.arange(1, 8) / 3).exp().tolist()\n{THIRDS.exp().tolist()}"
    clock = ">>> import time\n>>> time.sleep(0)"
    depth = ">>> torch._C._len_torch_dispatch_stack()\n0"
    pages = {
        "notices": claim_text("hangs-on-digits", digits) + claim_text("stays", ">>> 1\n1"),
        "left-out": claim_text("reads-a-clock", clock) + claim_text("sees-the-mode", depth),
    }
    TinyBook(tmp_path, {name: f"# Page\n\n{text}" for name, text in pages.items()})
    done = CliRunner().invoke(main, ["run", "-j", "1", "--perturb", "1"])
    assert done.exit_code == 1
    assert "hangs-on-digits failed: rounding:" in done.stdout
    assert not {"stays", "reads-a-clock", "sees-the-mode"} & set(done.stdout.split())
    said, counts = done.stderr.splitlines()
    assert said == "2 of 4 claims read no clock, and hold watched"
    assert counts.startswith("1 failed, 1 passed on cpu")
    assert CliRunner().invoke(main, ["run", "stays", "--perturb", "1"]).exit_code == 0


@pytest.mark.parametrize("fence", ["", "```pycon\n```\n"])
def test_a_claim_without_examples(tmp_path, monkeypatch, fence):
    """The page's fault is told, as ever."""
    monkeypatch.chdir(tmp_path)
    text = f"# Page\n\n:::{{claim}} shows-nothing\n\nIt says so.\n\n{fence}\n:::\n"
    TinyBook(tmp_path, {"page": text})
    done = CliRunner().invoke(main, ["run", "-j", "1", "--perturb", "1"])
    assert (done.exit_code, "[claim.bad-fence]" in done.stderr) == (1, True)


def test_machines_nest():
    """An end ends the last beginning."""
    begin(1)
    inner = THIRDS.exp()
    begin(AS_HERE)
    end()
    assert torch.equal(THIRDS.exp(), inner)
    end()
