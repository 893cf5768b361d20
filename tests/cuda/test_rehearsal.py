"""The emulated device: what it finds without a GPU, and that it takes nothing else for CUDA."""

import json
import shutil
import sys

import pytest
import torch
import yaml

from helpers import ROOT, TinyBook, claim_text, whole_book

sys.path.insert(0, str(ROOT / "tests/rehearsal"))
import emulated

pytestmark = [
    pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler"),
    pytest.mark.skipif(bool(torch.version.cuda), reason="a torch that has a CUDA of its own"),
]

MIXED = (
    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
)
HOLD = {
    "sum": """
        >>> torch.ones(2, 2).sum(0)
        tensor([2., 2.])
        """,
    "backward": """
        >>> w = torch.tensor(3.0, requires_grad=True)
        >>> (w * w).backward()
        >>> w.grad.device.type == device.type, w.grad
        (True, tensor(6.))
        """,
    "view": """
        >>> x = torch.zeros(2, 2)
        >>> _ = x[0].add_(1)
        >>> x.tolist()
        [[1.0, 1.0], [0.0, 0.0]]
        """,
    "number": """
        >>> torch.ones(1) + torch.tensor(1.0, device="cpu")
        tensor([2.])
        """,
    "file": """
        >>> torch.save(torch.ones(1), "x.pt")
        >>> torch.load("x.pt").device.type == device.type, torch.load("x.pt", map_location="cpu")
        (True, tensor([1.]))
        """,
}
"""What holds on any device."""

FAIL = {
    "numpy": """
        >>> torch.ones(1).numpy()
        array([1.], dtype=float32)
        """,
    "mixed": """
        >>> torch.ones(1) + torch.ones(1, device="cpu")
        tensor([2.])
        """,
    "streams": """
        >>> _ = torch.manual_seed(0), torch.rand(1)
        >>> second = torch.rand(1, device="cpu")
        >>> _ = torch.manual_seed(0)
        >>> torch.equal(second, torch.rand(1, device="cpu"))
        False
        """,
    "inverse": """
        >>> x = torch.arange(1.0, 100.0)
        >>> torch.equal(x / 3, x / torch.tensor(3.0))
        True
        """,
    "fast-path": """
        >>> torch.overrides.has_torch_function([torch.ones(1)])
        False
        """,
}
"""What holds on the CPU alone."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """What the command says of each claim, by its name."""
    text = "\n".join(claim_text(name, code) for name, code in {**HOLD, **FAIL}.items())
    book = TinyBook(tmp_path_factory.mktemp("rehearsed"), {"index": f"# Rehearsed\n\n{text}"})
    done = book.claimbook("run", "--lane", "cuda", "--json", **emulated.settings())
    return {run["claim"]: run for run in json.loads(done.stdout)}


@pytest.mark.parametrize("name", HOLD)
def test_what_holds_on_any_device_holds(runs, name):
    """It fails for nothing that a GPU would not fail for."""
    assert runs[name]["outcome"] == "passed", runs[name]


@pytest.mark.parametrize("name", FAIL)
def test_what_holds_on_the_cpu_alone_fails(runs, name):
    """It fails as it would on a GPU."""
    assert runs[name]["outcome"] == "failed", runs[name]


def test_a_seed_draws_other_numbers(tmp_path):
    """Each seed has a series of its own, and it is the same in each run."""
    draws = claim_text("draws", ">>> torch.rand(3).tolist()")
    book = TinyBook(tmp_path, {"index": f"# I\n\n{draws}"})

    def drawn(seed):
        settings = {**emulated.settings(), "EMULATED_SEED": seed}
        [run] = json.loads(book.claimbook("run", "--lane", "cuda", "--json", **settings).stdout)
        return run["outputs"]

    assert drawn("0") == drawn("0")
    assert drawn("0") != drawn("1")


def test_errors_of_devices_are_worded_as_on_cuda(runs):
    """The rules of devices are torch's own, and so are their messages."""
    assert MIXED in runs["mixed"]["outputs"][-1]
    assert "can't convert cuda:0 device type tensor to numpy" in runs["numpy"]["outputs"][-1]


def test_claims_that_cannot_be_shown_exist_and_run_on_cuda():
    """The list of what needs a real GPU names claims of the book, each with what it needs."""
    known = yaml.safe_load((emulated.HERE / "cannot_show.yaml").read_text("utf-8"))
    lanes = {claim.id: {*map(str, claim.lanes)} for claim in whole_book().claims}
    assert all("cuda" in lanes.get(claim, ()) for claim in known), known.keys() - lanes.keys()
    assert all(isinstance(reason, str) for reason in known.values())
