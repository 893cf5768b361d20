"""A thousand claims with faults among them: no result is lost."""

import random
from collections import Counter

from claimbook.engine.pool import Runner
from claimbook.model import Claim, Example, Fence, Lane, Location, Outcome

GOOD = (
    ("x = torch.ones(3, requires_grad=True)\n", ""),
    ("x.sum()\n", "tensor(3., grad_fn=<SumBackward0>)"),
)
FAULTS = {
    "import os; os.kill(os.getpid(), 11)\n": Outcome.CRASHED,
    "import os; os._exit(0)\n": Outcome.CRASHED,
    "import os; os.close(4); os.closerange(3, 64)\n": Outcome.CRASHED,
    "import time; time.sleep(60)\n": Outcome.TIMED_OUT,
    "raise KeyboardInterrupt\n": Outcome.FAILED,
    "raise SystemExit(3)\n": Outcome.FAILED,
    "print('x' * 10_000_000)\n": Outcome.FAILED,
    "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()\n": (
        Outcome.PASSED
    ),
    "torch.inference_mode().__enter__() and None\n": Outcome.PASSED,
    "import subprocess; _ = subprocess.Popen(['sleep', '60'])\n": Outcome.PASSED,
    "torch.set_default_dtype(torch.float64); torch.set_grad_enabled(False) and None\n": (
        Outcome.PASSED
    ),
}
COUNT = 1000


def claim(name, examples):
    made = tuple(Example(source, want, 1) for source, want in examples)
    where = Location("soak.md", 1)
    return Claim(name, "It is so.", where, (Fence(made),), timeout=5)


def test_no_result_is_lost():
    """Of 1,000 claims 22 misbehave; each gets its own outcome, and no other's."""
    faults = dict(zip(random.Random(0).sample(range(COUNT), 22), 2 * [*FAULTS], strict=True))
    claims, expected = [], {}
    for number in range(COUNT):
        fault = faults.get(number)
        name = f"claim-{number}"
        claims.append(claim(name, ((fault, ""),) if fault else GOOD))
        expected[name] = FAULTS[fault] if fault else Outcome.PASSED
    with Runner() as runner:
        runs = [run for _, run in runner.run(claims, Lane.CPU)]
    assert Counter(run.claim for run in runs) == Counter(list(expected))
    assert {run.claim: run.outcome for run in runs if run.outcome != expected[run.claim]} == {}
