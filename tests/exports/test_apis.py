"""Which of torch's names a claim uses."""

import pytest

from claimbook.exports.apis import used


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("torch.ones(2).sum()", {"torch.ones", "torch.Tensor.sum"}),
        ("F.relu(x).sum()", {"torch.nn.functional.relu", "torch.Tensor.sum"}),
        ("x.grad.zero_()", {"torch.Tensor.grad", "torch.Tensor.zero_"}),
        ("layer = nn.Linear(1, 1)\nlayer.eval()", {"torch.nn.Linear", "torch.nn.Module.eval"}),
        ("nn.ReLU().train()", {"torch.nn.ReLU", "torch.nn.Module.train"}),
        (
            "class Net(nn.Module): pass\nNet().train()",
            {"torch.nn.Module", "torch.nn.Module.train"},
        ),
        (
            "from torch.optim import SGD\no = SGD(p)\no.step()",
            {"torch.optim.SGD", "torch.optim.Optimizer.step"},
        ),
        (
            "import torch.utils.data as d\nd.DataLoader",
            {"torch.utils.data", "torch.utils.data.DataLoader"},
        ),
        ("import numpy as np\nnp.ones(2)", set()),
        ("'a b'.split()", set()),
        ("x = (", set()),
    ],
)
def test_names(code, names):
    """Chains from a module are spelt out; methods are a tensor's unless the code says otherwise."""
    assert used(code) == names
