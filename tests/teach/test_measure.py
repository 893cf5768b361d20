"""What `compare` and `peak_memory` measure, on work whose answer is known."""

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from claimbook.teach import compare, measure, memory, peak_memory, speed
from helpers import python

MB = 1 << 20


@pytest.fixture(autouse=True)
def measurements():
    """The runner's list, empty before and after."""
    measure.measurements.clear()
    yield measure.measurements
    measure.measurements.clear()


def block(megabytes: int) -> torch.Tensor:
    return torch.empty(megabytes * MB, dtype=torch.uint8)


def one_turn():
    sum(range(20_000))


def ten_turns():
    sum(range(200_000))


TRIES = range(3)
"""A busy machine may halt one side in one measurement, hardly in three."""


def test_ten_times_the_work_takes_longer():
    """The ratio tells ten times the work from once; the bound is generous."""
    assert any(compare(ten_turns, one_turn).ratio > 3 for _ in TRIES)
    assert any(compare(one_turn, ten_turns).ratio < 1 / 3 for _ in TRIES)


def test_work_compared_with_itself_is_one():
    """The same function on both sides is no tenfold difference, in either direction."""
    assert any(0.1 < compare(one_turn, one_turn).ratio < 10 for _ in TRIES)


def test_turns_alternate_and_each_timing_is_long_enough(monkeypatch):
    """Rounds go a b, b a, a b, with as many calls in each as fill a millisecond."""
    clock, turns = [0.0], []
    monkeypatch.setattr(speed, "perf_counter", lambda: clock[0])

    def work(name, seconds):
        clock[0] += seconds
        turns.append(name)

    result = compare(lambda: work("a", 0.00025), lambda: work("b", 0.002), rounds=3)
    calibration = ["a"] * (1 + 2 + 4) + ["b"]
    assert turns == [*calibration, *"aaaab", *"baaaa", *"aaaab"]
    assert (result.ratio, result.best) == pytest.approx((0.125, 0.125))


def test_slow_work_stops_after_the_time_limit(monkeypatch):
    """No round starts after ten seconds; the first always runs."""
    clock = [0.0]
    monkeypatch.setattr(speed, "perf_counter", lambda: clock[0])

    def slow():
        clock[0] += 4.0

    assert len(compare(slow, slow).a) == 1
    assert len(compare(slow, lambda: slow() or slow()).a) == 1
    clock[0] = 0.0

    def brisk():
        clock[0] += 1.0

    assert len(compare(brisk, brisk).a) == 4


def test_no_round_is_refused():
    """A comparison of nothing has no ratio."""
    with pytest.raises(ValueError, match="at least one round, not 0"):
        compare(one_turn, ten_turns, rounds=0)


def test_what_is_read_is_recorded(measurements):
    """The runner finds the ratio that the caller took, and no other."""
    result = compare(one_turn, ten_turns, rounds=3)
    assert measurements == []
    name = "one_turn took … times as long as ten_turns"
    assert result.best == measurements[0].value
    assert result.ratio == measurements[1].value
    assert [(m.name, m.unit) for m in measurements] == 2 * [(name, "ratio")]


def test_both_sides_are_named_as_the_call_writes_them(measurements):
    """A function by its own name, a lambda by what it computes, anything else by its text."""

    def named():
        return lambda: None

    class Numbers:
        neg = abs = staticmethod(int)

    works = [lambda: None, one_turn]
    quiet, loud = (torch.no_grad()(one_turn), torch.enable_grad()(one_turn))
    assert compare(quiet, loud, rounds=1).ratio
    for each in (named, lambda: None):
        assert compare(each, Numbers.neg, rounds=1).best
    several_lines = compare(
        named(),
        lambda: "ä" + "b",
        rounds=1,
    )
    assert several_lines.ratio
    assert compare(*works, rounds=1).ratio
    exec("compare(lambda: 1, one_turn, rounds=1).ratio", globals())
    assert [m.name.replace(" took … times as long as ", " : ") for m in measurements] == [
        "quiet : loud",
        "named : Numbers.neg",
        "each : Numbers.neg",
        "named() : 'ä' + 'b'",
        "the first : one_turn",
        "the first : one_turn",
    ]


def test_memory_that_was_freed_is_not_counted_again():
    """1 MB freed and then 2 MB is a peak of 2 MB; both at once would be 3 MB."""

    def one_after_the_other():
        first = block(1)
        del first
        second = block(2)  # noqa: F841

    def both():
        first, second = block(1), block(2)  # noqa: F841

    assert peak_memory(one_after_the_other) == 2 * MB
    assert peak_memory(both) == 3 * MB


def test_peak_is_what_was_live_at_once_not_at_the_end():
    """What is freed before the end counts while it lives."""

    def up_and_down():
        block(5)
        block(1)

    assert peak_memory(up_and_down) == 5 * MB


def test_memory_from_before_is_not_counted():
    """A tensor that was there, and views of it, cost nothing."""
    kept = block(4)
    assert peak_memory(lambda: kept.view(2, -1)) == 0
    assert peak_memory(lambda: kept[:MB].clone()) == MB


def test_result_that_outlives_the_work_is_counted():
    """Memory that the work leaves behind was live too."""
    kept = []
    assert peak_memory(lambda: kept.append(block(3))) == 3 * MB


def test_activations_saved_for_backward_are_counted():
    """Four steps that each save their result keep four results alive; under no_grad, two."""
    x = torch.ones(MB // 4, requires_grad=True)  # 1 MB

    def forward():
        return x.exp().exp().exp().exp()

    def without_graph():
        with torch.no_grad():
            return forward()

    assert peak_memory(forward) == 4 * MB
    assert peak_memory(without_graph) == 2 * MB


def test_temporaries_and_gradients_of_backward_are_counted():
    """The saved result and the gradient made from it live at once; the sum's gradient is a view."""
    x = torch.ones(MB // 4, requires_grad=True)  # 1 MB

    def train():
        x.exp().sum().backward()

    loss_and_its_gradient = 2 * 4
    assert peak_memory(train) == 2 * MB + loss_and_its_gradient


def test_checkpointing_lowers_the_peak():
    """Recomputing instead of saving needs less at once: what the number is for."""
    x = torch.ones(MB, requires_grad=True)

    def deep(t):
        for _ in range(8):
            t = t.exp().sin()
        return t

    def plain():
        deep(deep(x)).sum().backward()

    def recomputed():
        h = checkpoint(deep, x, use_reentrant=False)
        checkpoint(deep, h, use_reentrant=False).sum().backward()

    assert peak_memory(recomputed) < 0.7 * peak_memory(plain)


def test_kernels_scratch_memory_is_counted():
    """`sort` without its result still needs the sorted values and their positions."""
    x = torch.rand(MB // 4)
    assert peak_memory(lambda: x.sort()) >= MB + 2 * MB


def test_bytes_are_recorded_under_the_functions_name(measurements):
    """The runner finds the number of bytes; a lambda is called work."""

    def step():
        block(1)

    peak_memory(step)
    peak_memory(lambda: block(2))
    assert [(m.name, m.value, m.unit) for m in measurements] == [
        ("step", MB, "bytes"),
        ("work", 2 * MB, "bytes"),
    ]


def test_error_of_the_work_comes_through_and_the_next_is_measured(measurements):
    """A work that raises raises to the caller, records nothing and spoils nothing."""
    with pytest.raises(ZeroDivisionError):
        peak_memory(lambda: 1 / 0)
    assert measurements == []
    assert peak_memory(lambda: block(1)) == MB


def test_nothing_is_said_of_a_measurement(monkeypatch):
    """The profiler is silent, unless somebody has set how much it says."""
    monkeypatch.delenv("KINETO_LOG_LEVEL", raising=False)
    code = "from claimbook.teach import peak_memory; print(peak_memory(lambda: None))"
    done = python("-c", code)
    assert (done.stdout, done.stderr) == ("0\n", "")


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_what_precedes_a_measurement_on_cuda_needs_no_grad_mode(mode):
    """The backward pass that makes cuBLAS start is taken under `no_grad` too, and leaves it on."""
    with mode():
        memory._make_cublas_workspaces(torch.device("cpu"))
        assert not torch.is_grad_enabled()


def test_best_compares_the_fastest_rounds():
    """The slow rounds of a busy machine leave `best` alone, and move `ratio`."""
    times = speed.Comparison("", a=(4.0, 9.0, 9.0), b=(2.0, 1.0, 3.0))
    assert (times.best, times.ratio) == (4.0, 4.5)
