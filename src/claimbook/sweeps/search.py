"""Run a sweep: draw cases, shrink the first that refutes it, and print that as code."""

import functools
import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any

import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import UnsatisfiedAssumption
from hypothesis.strategies import SearchStrategy
from torch import Tensor

from claimbook.teach.measure import record

Check = Callable[..., None]
Drawn = SearchStrategy[Any] | Callable[..., SearchStrategy[Any]]
CASES = 300


class Sweep:
    """A function that must pass for every drawn case."""

    def __init__(self, check: Check, cases: int, drawn: dict[str, Drawn]) -> None:
        self.check, self.cases, self.drawn = check, cases, drawn

    def search(self) -> None:
        """Print the smallest refuting case found; if there is none, record what was drawn.

        The cases are the same on every run.
        """
        trial = _Trial(self.check)
        if fault := self._fault(trial, Phase.generate, Phase.shrink):
            print(f"{trial.case}\n# {_first_line(fault)}")
        else:
            trial.record()

    def reach(self, place: str) -> None:
        """Print a complaint if the assertion of a place, which always fails, does not."""
        if not isinstance(self._fault(_Trial(self.check), Phase.generate), AssertionError):
            print(f"no drawn case reaches the assertion in {place}, so it tests nothing")

    def _fault(self, trial: "_Trial", *phases: Phase) -> Exception | None:
        """Return what the check raised for a case; None if nothing."""
        search = settings(
            max_examples=self.cases,
            database=None,
            deadline=None,
            phases=phases,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        )
        try:
            with warnings.catch_warnings(action="ignore"):
                search(seed(0)(given(_values(self.drawn))(trial.run)))()
        except Exception as fault:  # any exception of the check refutes the sweep
            if not trial.refuted:  # there is no case: drawing one raised it
                raise
            return fault
        return None


def sweep(*, cases: int = CASES, **drawn: Drawn) -> Callable[[Check], Sweep]:
    """Make a sweep of a function named after its claim, with `_` for `-`.

    Args:
        cases: the number of cases to draw.
        drawn: the strategy for each parameter, or a function that returns it given earlier
            parameters by name: `dim=lambda x: dims(x)`.
    """
    if not drawn:
        raise TypeError("it draws nothing: name the parameters of its function")
    for name, strategy in drawn.items():
        if not (isinstance(strategy, SearchStrategy) or callable(strategy)):
            raise TypeError(
                f"{name}={strategy!r} draws nothing: give a strategy, such as integers(0, 9)"
            )

    def made(check: Check) -> Sweep:
        inspect.signature(check).bind(**drawn)  # raises TypeError if it has other parameters
        return Sweep(check, cases, drawn)

    return made


@st.composite
def _values(draw: st.DrawFn, drawn: dict[str, Drawn]) -> dict[str, Any]:
    """Draw the parameters in order."""
    values: dict[str, Any] = {}
    for name, made in drawn.items():
        if isinstance(made, SearchStrategy):
            values[name] = draw(made)
        else:
            earlier = inspect.signature(made).parameters
            if unknown := [each for each in earlier if each not in values]:
                raise TypeError(f"{name} is drawn from {unknown[0]}, which is not drawn before it")
            values[name] = draw(made(**{each: values[each] for each in earlier}))
    return values


class _Trial:
    """Runs the cases of a sweep, and keeps track of what was drawn."""

    def __init__(self, check: Check) -> None:
        self.check = check
        self.refuted = False
        self.case = ""
        """The last case run after a failure, as code."""
        self.cases = 0
        self.tensors: set[tuple[int, torch.dtype, bool, bool]] = set()
        """Rank, dtype, whether empty and whether contiguous of each tensor."""
        self.values: dict[str, set[str]] = {}
        """Parameter → its values other than tensors, as code."""

    def run(self, values: dict[str, Any]) -> None:
        """Run one case; after a failure, first write it as code, as the check may modify it."""
        if self.refuted:
            self.case = "\n".join(f"{name} = {code(value)}" for name, value in values.items())
        else:
            self._note(values)
        torch.manual_seed(0)
        try:
            self.check(**values)
        except UnsatisfiedAssumption:
            self.cases -= 1
            raise
        except Exception:
            self.refuted = True
            raise

    def _note(self, values: dict[str, Any]) -> None:
        self.cases += 1
        for name, value in values.items():
            drawn = value if isinstance(value, list) else [value]
            tensors = [each for each in drawn if isinstance(each, Tensor)]
            self.tensors |= {(t.dim(), t.dtype, not t.numel(), t.is_contiguous()) for t in tensors}
            if not tensors and value != []:  # [] may be a list of tensors
                self.values.setdefault(name, set()).add(code(value))

    def record(self) -> None:
        """Record what was drawn as measurements."""
        found = {"cases": self.cases, "dtypes": len({dtype for _, dtype, *_ in self.tensors})}
        if ranks := {rank for rank, *_ in self.tensors}:
            found |= {"lowest rank": min(ranks), "highest rank": max(ranks)}
        if any(empty for *_, empty, _ in self.tensors):
            found["empty tensors"] = 1
        if not all(contiguous for *_, contiguous in self.tensors):
            found["non-contiguous tensors"] = 1
        found |= {f"values of {name}": len(each) for name, each in self.values.items()}
        for name, value in found.items():
            record(name, value, "count")


def code(value: object) -> str:
    """Return Python code for a drawn value.

    >>> code(torch.arange(4.0).view(2, 2).t())
    'torch.tensor([0.0, 1.0, 2.0, 3.0]).as_strided((2, 2), (1, 2), 0)'
    """
    if isinstance(value, Tensor):
        return _tensor_code(value)
    if isinstance(value, list):
        return f"[{', '.join(map(code, value))}]"
    if isinstance(value, functools.partial):
        given_too = "".join(f", {name}={code(each)}" for name, each in value.keywords.items())
        return f"partial({code(value.func)}{given_too})"
    return getattr(value, "__qualname__", None) or repr(value)


def _tensor_code(tensor: Tensor) -> str:
    grad = ".requires_grad_()" if tensor.requires_grad else ""
    shape, strides = tuple(tensor.shape), tensor.stride()
    if not tensor.numel():
        return f"torch.empty_strided({shape}, {strides}, dtype={tensor.dtype}){grad}"
    values = tensor.detach()
    if strides == torch.empty(shape).stride():  # is_contiguous() ignores strides of size 1
        return _values_code(values) + grad
    count = values.untyped_storage().nbytes() // values.element_size()
    whole = _values_code(values.as_strided((count,), (1,), 0))
    return f"{whole}.as_strided({shape}, {strides}, {tensor.storage_offset()}){grad}"


def _values_code(values: Tensor) -> str:
    """Return Python code for a contiguous, non-empty tensor."""
    if values.is_complex():  # Python has no literal for complex nan and inf
        return f"torch.complex({_values_code(values.real)}, {_values_code(values.imag)})"
    inferred = torch.get_default_dtype(), torch.int64, torch.bool
    dtype = "" if values.dtype in inferred else f", dtype={values.dtype}"
    listed = re.sub("nan|inf", r"float('\g<0>')", repr(values.tolist()))
    return f"torch.tensor({listed}{dtype})"


def same(a: object, b: object) -> None:
    """Assert that two values, or sequences of values, have equal dtype, shape and elements."""
    torch.testing.assert_close(a, b, rtol=0, atol=0, equal_nan=True, check_stride=False)


def error(work: Callable[[], object]) -> str:
    """Return type and first line of the error that a call raises; `""` if it raises none."""
    try:
        work()
    except Exception as raised:
        return _first_line(raised)
    return ""


def _first_line(error: Exception) -> str:
    text = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {text}".rstrip(": ")
