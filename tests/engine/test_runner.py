"""Claims that misbehave: each costs one outcome, and the next finds everything as new."""

import os
import shutil
import signal
import sys
import tempfile
import textwrap
import time
from functools import partial
from itertools import permutations
from pathlib import Path

import pytest

from claimbook.engine.environment import release
from claimbook.engine.fork_server import KEPT, kept
from claimbook.engine.pool import TRIES, Runner
from claimbook.engine.worker import EMPTIED, receive
from claimbook.engine.workers import SLOW_IMPORTS, RunnerError
from claimbook.model import Environment, Lane, Measurement, Outcome, Run
from helpers import ROOT, claim, is_soon, processes, python

CANNOT_PICKLE = "TypeError: cannot pickle '_thread.lock' object"
SUM = claim("sum", ">>> torch.ones(2).sum()\ntensor(2.)")


def run(runner, *claims, lane=Lane.CPU) -> dict[str, Run]:
    return {each.id: run for each, run in runner.run(claims, lane)}


def between(runner, session, options="") -> Run:
    """The run of a claim between two others, which it must not touch."""
    simple = ">>> import gc\n>>> found = gc.collect()\n>>> print(3)\n3"
    before, after = (claim(name, simple) for name in ("before", "after"))
    runs = run(runner, before, claim("bad", session, options), after)
    assert [runs[name].outcome for name in ("before", "after")] == [Outcome.PASSED] * 2
    return runs["bad"]


def printed(runner, session) -> str:
    """What the last example printed, whatever was wanted."""
    return between(runner, session).outputs[-1]


def test_passes(runner):
    """A claim that prints what its page says has passed, with outputs and time."""
    started = time.perf_counter()
    done = run(runner, SUM)["sum"]
    assert (done.outcome, done.outputs, done.message) == (Outcome.PASSED, ("tensor(2.)",), "")
    assert 0 < done.seconds < time.perf_counter() - started
    assert runner.environments[Lane.CPU].python == sys.version.split()[0]


def test_fails(runner):
    """A claim that prints something else has failed, and says on which line."""
    done = between(runner, ">>> 1\n1\n>>> torch.ones(2).sum()\ntensor(3.)")
    assert (done.outcome, done.outputs) == (Outcome.FAILED, ("1", "tensor(2.)"))
    assert done.message == "value: want 3., got 2."


def test_a_forked_process_makes_its_thread_pool_at_once(runner):
    """Before it has threads, two of which may end it when they make the pool at the same time."""
    session = """
    >>> import os
    >>> torch.set_num_threads = lambda count: print("a pool of", count)
    >>> if (child := os.fork()) == 0:
    ...     os._exit(0)
    >>> _ = os.waitpid(child, 0)
    """
    run = between(runner, session)
    assert "a pool of 1" in "".join(run.outputs)


ENDS = {
    "hang": (
        "import time\n>>> time.sleep(60)",
        Outcome.TIMED_OUT,
        "stopped after 2 seconds in example 2 of 2",
    ),
    "endless loop that catches everything": (
        (
            "def f():\n...     while True:\n...         try:\n...             while True: pass\n"
            "...         except BaseException: pass\n>>> f()"
        ),
        Outcome.TIMED_OUT,
        "stopped after 2 seconds in example 2 of 2",
    ),
    "endless loop in another group": (
        "import os\n>>> os.setpgid(0, os.getppid())\n>>> while True: pass",
        Outcome.TIMED_OUT,
        "stopped after 2 seconds in example 3 of 3",
    ),
    "segmentation fault": (
        "import ctypes\n>>> ctypes.string_at(0)",
        Outcome.CRASHED,
        "the process died of SIGSEGV in example 2 of 2",
    ),
    "kill": (
        "import os\n>>> os.kill(os.getpid(), 9)",
        Outcome.CRASHED,
        "the process died of SIGKILL in example 2 of 2",
    ),
    "a signal without a name": (
        "import os, signal\n>>> os.kill(os.getpid(), signal.SIGRTMIN + 1)",
        Outcome.CRASHED,
        f"the process died of signal {signal.SIGRTMIN + 1} in example 2 of 2",
    ),
    "exit with 0": (
        "import os\n>>> os._exit(0)",
        Outcome.CRASHED,
        "the process exited with status 0 in example 2 of 2",
    ),
    "exit with 3": (
        "import os\n>>> os._exit(3)",
        Outcome.CRASHED,
        "the process exited with status 3 in example 2 of 2",
    ),
}


@pytest.mark.parametrize(("session", "outcome", "said"), ENDS.values(), ids=ENDS.keys())
def test_the_end_of_a_worker(runner, session, outcome, said):
    """A claim that hangs or ends its process loses its own run, with the cause and the line."""
    limit = ":timeout: 2\n" if outcome is Outcome.TIMED_OUT else ":timeout: 20\n"
    done = between(runner, f">>> {session}", limit)
    assert (done.outcome, done.message) == (outcome, said)


@pytest.mark.parametrize(
    ("session", "said"),
    [
        (">>> raise SystemExit(3)", "SystemExit: 3"),
        (">>> import sys\n>>> sys.exit()", "SystemExit"),
        (">>> raise KeyboardInterrupt", "KeyboardInterrupt"),
        (">>> raise ValueError('a\\nb')", "ValueError: a\nb"),
        (">>> def f(): f()\n>>> f()", "RecursionError: maximum recursion depth exceeded"),
        (">>> print('x')\n... \n>>> 1/0", "ZeroDivisionError: division by zero"),
        (">>> import sys\n>>> sys.stdout = None\n>>> 1/0", "ZeroDivisionError: division by zero"),
        (">>> raise ValueError('\\ud800')", "ValueError: \\ud800"),
        (">>> e = ValueError(1)\n>>> e.add_note('of mine')\n>>> raise e", "ValueError: 1\nof mine"),
        (
            ">>> e = ValueError(1)\n>>> e.add_note('when serializing x')\n>>> raise e",
            "ValueError: 1",
        ),
        (">>> import pickle, threading\n>>> pickle.dumps([threading.Lock()])", CANNOT_PICKLE),
    ],
)
def test_exceptions(runner, session, said):
    """Whatever is raised is output, type and message, and ends nothing."""
    assert printed(runner, session) == f"Traceback (most recent call last):\n{said}"


@pytest.mark.parametrize(
    ("session", "said"),
    [
        (">>> print('out')", "out"),
        (">>> import sys\n>>> print('err', file=sys.stderr)", "err"),
        (">>> import sys\n>>> _ = sys.__stdout__.write('a'), sys.__stdout__.flush()", "a"),
        (">>> import os\n>>> _ = os.write(1, b'a'), os.write(2, b'b')", "ab"),
        (">>> import os\n>>> _ = os.system('echo shell; echo err >&2')", "shell\nerr"),
        (
            ">>> import subprocess\n>>> print(subprocess.run(['echo', 'child']).returncode)",
            "child\n0",
        ),
        (
            ">>> import ctypes\n>>> _ = ctypes.CDLL(None).puts(b'C'), ctypes.CDLL(None).fflush(0)",
            "C",
        ),
        (">>> import os\n>>> print('long'); _ = os.lseek(1, 0, 0); print('b')", "long\nb"),
        (">>> import os\n>>> _ = os.system('echo b >&2'), print(3)", "b\n3"),
        (">>> import builtins as b\n>>> b.print = b.repr = lambda *_: ''\n>>> 5", "5"),
        (">>> import unittest.mock as m\n>>> with m.patch('builtins.print'): 5", "5"),
        (">>> print('\\ud800 \\x1b[31m é')", "\\ud800 \x1b[31m é"),
        (">>> import os\n>>> _ = os.write(1, b'\\xff')", "\ufffd"),
        (">>> import warnings\n>>> warnings.warn('mind')", "UserWarning: mind"),
        (
            ">>> import warnings\n>>> warnings.warn('old', DeprecationWarning)",
            "DeprecationWarning: old",
        ),
    ],
)
def test_everything_printed_is_output(runner, session, said):
    """Both streams, child processes, C code and warnings are compared alike."""
    assert printed(runner, session) == said


def test_a_warning_shows_in_each_claim(runner):
    """What a worker has warned of once is shown again in the next claim."""
    session = ">>> torch.ones(2).T.shape\ntorch.Size([2])"
    runs = run(runner, claim("first", session), claim("second", session))
    assert runs["first"].outputs == runs["second"].outputs
    assert runs["first"].outputs[0].startswith("UserWarning: The use of `x.T` on tensors of dim")


def test_a_flood_that_ends_at_the_limit_of_a_file(runner):
    """What was printed until then is its output; the error has no room, and loses nothing else."""
    session = """
        >>> import resource as r
        >>> r.setrlimit(r.RLIMIT_FSIZE, (200_000, r.getrlimit(r.RLIMIT_FSIZE)[1]))
        >>> while True: print("x" * 99)
        >>> 1
        1
    """
    flooded = run(runner, claim("flood", session))["flood"]
    assert flooded.outcome is Outcome.FAILED
    assert flooded.outputs[2].endswith("[cut here: 199,999 bytes were printed]")
    assert flooded.outputs[3] == "1"


@pytest.mark.parametrize(
    "code", ["1 / 0", "print(1)", "os.system('echo 1')", "torch.testing.assert_close(1, 2)"]
)
def test_an_output_for_which_there_is_no_room(runner, code):
    """As on a full disk: an error that could not be written has not passed."""
    session = f"""
        >>> import os, resource as r
        >>> r.setrlimit(r.RLIMIT_FSIZE, (0, r.getrlimit(r.RLIMIT_FSIZE)[1]))
        >>> try: _ = {code}
        ... except OSError: pass
    """
    done = between(runner, session)
    assert done.outcome is Outcome.FAILED
    assert done.outputs[-1] == "[cut here: File too large]"


@pytest.mark.parametrize(
    "code", ["os.system('echo 2 > /dev/stdout')", "print(2, file=open('/dev/stderr', 'w'))"]
)
def test_an_output_that_an_example_empties(runner, code):
    """What is lost was not seen: a page that leaves it out does not pass, and learns why."""
    done = between(runner, f">>> import os\n>>> print(1); _ = {code}\n2\n>>> print(3)\n3")
    assert done.outcome is Outcome.FAILED
    assert done.outputs[1:] == (f"{EMPTIED}\n2", "3")
    appended = code.replace("> /", ">> /").replace("'w'", "'a'")
    passes = f">>> import os\n>>> print(1); _ = {appended}\n1\n2\n>>> print(3)\n3"
    assert between(runner, passes).outcome is Outcome.PASSED


def test_a_flood_is_cut(runner):
    """Output beyond the limit is cut, and says so."""
    done = between(runner, ">>> print('x' * 3_000_000)")
    assert done.outcome is Outcome.FAILED
    assert done.outputs[0][99_990:] == "x" * 10 + "\n[cut here: 3,000,001 bytes were printed]"
    wide = between(runner, ">>> print('\U0001f600' * 100_001)")
    assert wide.outputs[0][99_999:] == "\U0001f600\n[cut here: 400,005 bytes were printed]"


@pytest.mark.parametrize(
    "session",
    [
        ">>> import sys\n>>> sys.stdout.close()",
        ">>> import sys\n>>> sys.stdout = None",
        ">>> import os\n>>> os.close(1)",
        ">>> import os\n>>> os.close(2)",
        ">>> import sys\n>>> sys.displayhook = None",
        ">>> import os\n>>> os.rmdir(os.getcwd())",
        ">>> import os\n>>> os.symlink('/', 'root')",
        ">>> import sys\n>>> sys.modules.clear()",
        ">>> import builtins\n>>> del builtins.print",
    ],
)
def test_what_a_claim_takes_away(runner, session):
    """Streams, folders and names that a claim closes or removes are there for the next."""
    assert between(runner, session).outcome in (Outcome.PASSED, Outcome.CRASHED)


LATE = {
    "an object": """
        >>> class Late:
        ...     def __del__(self):
        ...         print("late")
        >>> late = Late()
    """,
    "a cycle of objects": """
        >>> class Late:
        ...     def __del__(self):
        ...         print("late")
        >>> late = Late()
        >>> late.itself = late
    """,
    "a thread that dies as its names go": """
        >>> import threading
        >>> gone = threading.Event()
        >>> def follow(wait=gone.wait):
        ...     wait()
        ...     print(gone)
        >>> thread = threading.Thread(target=follow)
        >>> thread.start()
        >>> class Gone:
        ...     def __del__(self, gone=gone, thread=thread):
        ...         gone.set()
        ...         thread.join()
        >>> last = Gone()
    """,
}


@pytest.mark.parametrize("session", LATE.values(), ids=LATE.keys())
def test_what_is_printed_after_the_last_example(runner, session):
    """What a claim prints while its names are deleted is no output, of it or of the next."""
    assert printed(runner, session) == ""


@pytest.mark.parametrize(
    "start",
    [
        "threading.Thread(target=chatter, daemon=True).start()",
        "import _thread; _ = _thread.start_new_thread(chatter, ())",
    ],
)
def test_a_thread_left_behind(runner, start):
    """A thread that goes on does not print into the claims after it."""
    session = f"""
        >>> import threading, time
        >>> begun = threading.Event()
        >>> def chatter(begun=begun, time=time):
        ...     while True:
        ...         print("chatter")
        ...         begun.set()
        ...         time.sleep(0.001)
        >>> {start}
        >>> _ = begun.wait()
    """
    assert "chatter" in "".join(between(runner, session).outputs)


def test_a_child_left_behind(runner):
    """A child process that goes on is ended with its claim."""
    marker = "3141.592"
    between(runner, f">>> import subprocess\n>>> _ = subprocess.Popen(['sleep', '{marker}'])")
    assert is_soon(lambda: not processes("sleep", marker))


def test_a_daemon_left_behind(runner):
    """A process that left its group and its parent is ended too."""
    marker = "2718.281"
    session = f"""
        >>> import subprocess
        >>> shell = "setsid sleep {marker} > /dev/null 2>&1 &"
        >>> _ = subprocess.run(shell, shell=True, start_new_session=True)
    """
    between(runner, session)
    assert is_soon(lambda: not processes("sleep", marker))


def test_a_daemon_that_prints(runner):
    """A process that nobody waits for does not print into the claims after its own."""
    session = """
        >>> import os, subprocess, time
        >>> shell = "setsid sh -c 'while echo chatter; do sleep 0.001; done' &"
        >>> _ = subprocess.run(shell, shell=True)
        >>> while os.fstat(1).st_size < 2:
        ...     time.sleep(0.01)
    """
    later = claim("later", ">>> sum(range(10**7))\n49999995000000")
    runs = run(runner, claim("daemon", session), later)
    assert "chatter" in runs["daemon"].outputs[-1]
    assert runs["later"].outcome is Outcome.PASSED


def test_a_loader_left_behind(runner):
    """A loader whose worker raised costs no time: torch waits for it to be deleted."""
    session = """
        >>> from torch.utils.data import DataLoader, _utils
        >>> _utils.MP_STATUS_CHECK_INTERVAL = 100.0  # five seconds, were it not set
        >>> list(DataLoader(["no number"], collate_fn=sum, num_workers=1))
    """
    started = time.perf_counter()
    assert "TypeError: Caught TypeError in DataLoader worker" in printed(runner, session)
    assert time.perf_counter() - started < 25


def test_a_dirty_worker_begins_no_other_claim(runner, tmp_path):
    """The next one would be ended half way, and leave what it made."""
    begun = tmp_path / "begun"
    spoils = ">>> import sys\n>>> sys.excepthook = print" + 99 * "\n>>> torch.ones(1)\ntensor([1.])"
    notes = f">>> with open({str(begun)!r}, 'a') as file:\n...     _ = file.write('.')"
    claims = [claim(f"c-{n}", notes if n % 2 else spoils) for n in range(18)]
    assert {each.outcome for _, each in runner.run(claims, Lane.CPU)} == {Outcome.PASSED}
    assert begun.read_text() == "." * 9


@pytest.mark.parametrize("message", ["mere text", "7", "{}", '{"output": 7}', '{"seconds": 1}'])
def test_an_example_that_writes_into_the_channel(runner, message):
    """It costs its own claim an outcome."""
    session = f"""
    >>> import os, stat
    >>> for descriptor in map(int, os.listdir("/proc/self/fd")):
    ...     try:
    ...         if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
    ...             _ = os.write(descriptor, {len(message).to_bytes(4)} + {message.encode()})
    ...     except OSError:
    ...         pass
    """
    done = between(runner, session)
    assert (done.outcome, done.message) == (
        Outcome.CRASHED,
        "the process died of SIGKILL in example 2 of 2",
    )


def test_descriptors_closed_by_two_claims(runner):
    """A worker's own file does not take the number of one that a claim closed."""
    session = ">>> import os\n>>> os.closerange(1, 3)"
    first, second = claim("first", session), claim("second", session)
    outcomes = {each.outcome for each in run(runner, first, second, SUM).values()}
    assert outcomes == {Outcome.PASSED}


def test_memory_has_a_limit(runner):
    """A claim that asks for more memory than a worker may hold gets an error, not the machine's."""
    assert printed(runner, ">>> x = bytearray(9 << 30)") == (
        "Traceback (most recent call last):\nMemoryError"
    )


def test_order_does_not_matter(runner):
    """A claim prints the same after any other."""
    claims = [
        claim("draws", ">>> torch.rand(2)"),
        claim("initialises", ">>> nn.Linear(1, 1).weight.item()"),
        claim("changes", ">>> torch.set_default_dtype(torch.float64)\n>>> torch.tensor(1 / 3)"),
    ]
    first, *others = (
        {name: each.outputs for name, each in run(runner, *order).items()}
        for order in permutations(claims)
    )
    assert all(other == first for other in others)


def test_namespace(runner):
    """A claim finds torch, nn, F and device, and nothing of the claims before it."""
    runs = run(runner, claim("first", ">>> x = 1"), claim("second", ">>> device, F, nn, x"))
    (said,) = runs["second"].outputs
    assert said == "Traceback (most recent call last):\nNameError: name 'x' is not defined"
    assert printed(runner, ">>> device") == "device(type='cpu')"


def test_what_an_example_defines_can_be_pickled(runner):
    """Functions and classes of an example have a module that pickle finds."""
    session = """
        >>> import pickle
        >>> def double(x):
        ...     return 2 * x
        >>> class Net(nn.Linear):
        ...     pass
        >>> pickle.loads(pickle.dumps(double))(3), type(pickle.loads(pickle.dumps(Net(1, 1))))
        (6, <class '__main__.Net'>)
    """
    assert between(runner, session).outcome is Outcome.PASSED


def test_source_of_an_example_can_be_had(runner):
    """Module inspect finds the source of what an example defines."""
    session = ">>> import inspect\n>>> def f():\n...     return 1\n>>> inspect.getsource(f)"
    assert printed(runner, session) == r"'def f():\n    return 1\n'"


def test_input_is_at_its_end(runner):
    """An example that asks for input gets none, at once."""
    said = "Traceback (most recent call last):\nEOFError: EOF when reading a line"
    assert printed(runner, ">>> input()") == said


def test_measurements_are_kept(runner):
    """What a claim measured comes with its own run alone."""
    session = """
        >>> from claimbook.teach.measure import record
        >>> _ = record("freed", 16, "bytes")
    """
    runs = run(runner, claim("measures", session), SUM)
    assert runs["measures"].measurements == (Measurement("freed", 16, "bytes"),)
    assert runs["sum"].measurements == ()


def test_cuda_lane_is_skipped_where_it_cannot_run(runner):
    """Without a GPU every claim of the lane is skipped, and says why."""
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    runs = run(runner, SUM, claim("other", ">>> 1\n1"), lane=Lane.CUDA)
    reason = f"no CUDA device (torch {torch.__version__})"
    assert runs == {
        name: Run(name, Lane.CUDA, Outcome.SKIPPED, message=reason) for name in ("sum", "other")
    }
    assert run(runner, SUM)["sum"].outcome is Outcome.PASSED


@pytest.mark.parametrize("build", ["+cpu", "+cu130", ""])
def test_a_claim_of_cpu_builds(runner, monkeypatch, build):
    """It runs where torch was built without CUDA; elsewhere it is skipped, and says why."""
    monkeypatch.setattr("claimbook.engine.workers.Environment", partial(_built, build))
    runs = run(runner, SUM, claim("cpu-build", ">>> 1\n1", ":cpu-build:\n"))
    assert runs["sum"].outcome is Outcome.PASSED
    if build == "+cpu":
        assert runs["cpu-build"].outcome is Outcome.PASSED
    else:
        reason = "cpu-build is about a build of torch without CUDA"
        assert runs["cpu-build"] == Run("cpu-build", Lane.CPU, Outcome.SKIPPED, message=reason)


def _built(build, torch, **others):
    return Environment(torch=release(torch) + build, **others)


def test_no_gpu_is_seen_from_the_cpu_lane(runner):
    """Also where there is one; so the lane prints the same on every machine."""
    session = ">>> import os\n>>> os.environ['CUDA_VISIBLE_DEVICES'], torch.cuda.is_available()"
    assert printed(runner, session) == "('', False)"


def test_each_claim_has_one_outcome():
    """With several workers, crashes and hangs among them, no claim is lost or run twice."""
    sessions = {
        "crash": ">>> import os\n>>> os._exit(1)",
        "hang": ">>> import time\n>>> time.sleep(60)",
        "child": ">>> import subprocess\n>>> _ = subprocess.Popen(['sleep', '60'])",
        "good": ">>> 1\n1",
        "bad": ">>> 1\n2",
    }
    claims = [
        claim(f"{name}-{n}", session, ":timeout: 0.3\n" if name == "hang" else "")
        for n in range(4)
        for name, session in sessions.items()
    ]
    with Runner(jobs=2) as runner:
        runs = [run for _, run in runner.run(claims, Lane.CPU)]
    wanted = {
        "crash": Outcome.CRASHED,
        "hang": Outcome.TIMED_OUT,
        "child": Outcome.PASSED,
        "good": Outcome.PASSED,
        "bad": Outcome.FAILED,
    }
    assert sorted(each.claim for each in runs) == sorted(each.id for each in claims)
    assert all(each.outcome is wanted[each.claim[:-2]] for each in runs)


def test_long_code_behind_long_output(monkeypatch):
    """Runner and worker do not wait for each other, each with more to say than the other reads."""
    prints = claim("prints", ">>> print('x' * 99_000)\n" * 9)
    long = [claim(f"long-{n}", f">>> len('{'x' * 300_000}')\n300000") for n in range(5)]

    def stuck(*_):
        raise AssertionError("they wait for each other")

    before = signal.signal(signal.SIGALRM, stuck)
    signal.alarm(60)
    try:
        with Runner(jobs=1) as runner:
            runs = run(runner, prints, *long)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    assert [runs[one.id].outcome for one in long] == [Outcome.PASSED] * 5


def test_a_worker_that_dies_idle():
    """What an earlier claim left to happen ends a worker, and no run."""
    timer = ">>> import faulthandler\n>>> faulthandler.dump_traceback_later(3, exit=True)"
    waits = ">>> import time\n>>> time.sleep(5)"
    with Runner(jobs=2) as runner:
        runs = run(runner, claim("timer", timer), claim("waits", waits))
    assert [runs[name].outcome for name in ("timer", "waits")] == [Outcome.PASSED] * 2


def test_a_caller_may_take_its_time():
    """A claim that ended in time is not late because its run was asked for late."""
    session = ">>> import time\n>>> time.sleep(0.2)"
    claims = [claim(f"c-{n}", session, ":timeout: 4\n") for n in range(6)]
    with Runner(jobs=2) as runner:
        stream = runner.run(claims, Lane.CPU)
        runs = [next(stream)]
        time.sleep(5)
        runs += stream
    assert [(each.outcome, each.message) for _, each in runs] == [(Outcome.PASSED, "")] * 6


@pytest.mark.parametrize("taken", [0, 5])
def test_nothing_is_left(taken, monkeypatch, tmp_path):
    """After the runner, no process and no file of it is there, even if its runs were dropped.

    Nor a temporary file that a claim, or a process that it started, has left to others.
    """
    monkeypatch.delenv(KEPT)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    code = """
        >>> import subprocess, sys, tempfile
        >>> open('file', 'w').close()
        >>> make = 'import tempfile; tempfile.mkdtemp()'
        >>> exec(make)
        >>> _ = subprocess.run([sys.executable, '-c', make])"""
    claims = [claim(f"c-{n}", textwrap.dedent(code)) for n in range(20)]
    with Runner(jobs=2) as runner:
        stream = runner.run(claims, Lane.CPU)
        for _ in range(taken):
            next(stream)
        assert is_soon(lambda: processes("engine.fork_server", temporary=tmp_path))
    assert processes("engine.fork_server", temporary=tmp_path) == []
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("at", ["fork", "wait"])
def test_nothing_is_left_of_a_runner_that_was_killed(tmp_path, at):
    """Nor is anything said: who closes a terminal kills what runs in it."""
    program = f"""
        import os, sys
        sys.path.append({str(ROOT / "tests")!r})
        from claimbook.engine import workers
        from claimbook.engine.pool import Runner
        from claimbook.model import Lane
        from helpers import claim

        ask = workers.Workers._ask

        def asked(self, command, about, *descriptors):
            if command != {at!r}:
                return ask(self, command, about, *descriptors)
            workers.send(self._channel, [command, about])
            for descriptor in descriptors:
                workers.send_handle(self._channel, descriptor, None)
            os.kill(os.getpid(), 9)

        workers.Workers._ask = asked
        leaves = ">>> import subprocess\\n>>> _ = subprocess.Popen(['sleep', '600'])"
        with Runner(jobs=1) as runner:
            [*runner.run([claim("leaves", leaves)], Lane.CPU)]
        """
    done = python("-c", textwrap.dedent(program), TMPDIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (-signal.SIGKILL, "")
    assert is_soon(lambda: not processes(temporary=tmp_path))
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("answer", ["fork", "environment", "wait"])
def test_an_interrupt_within_an_answer_ends_all(monkeypatch, tmp_path, answer):
    """What is left of the answer is taken for no other, and no process waits for its rest."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    answers = iter(["fork", "environment", "wait"])

    def interrupted(channel):
        if next(answers) == answer:
            os.read(channel.fileno(), 4)  # the length of the message
            raise KeyboardInterrupt
        return receive(channel)

    with Runner(jobs=1) as runner, monkeypatch.context() as patch:
        patch.setattr("claimbook.engine.workers.receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(runner, SUM)
    assert processes("engine.fork_server", temporary=tmp_path) == []


def test_a_kept_fork_server_is_used_and_ended(monkeypatch, tmp_path):
    """Runs share it one after another and at once, find their own folder, and leave nothing."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    parent = claim("parent", ">>> import os, sys\n>>> os.getsid(0), sys.path[0], os.environ['OWN']")
    with kept():
        assert is_soon(lambda: processes("engine.fork_server", temporary=tmp_path))
        server = processes("engine.fork_server", temporary=tmp_path)
        for folder in (tmp_path / "a", tmp_path / "b"):
            folder.mkdir()
            monkeypatch.chdir(folder)
            monkeypatch.setenv("OWN", folder.name)
            with Runner(jobs=1) as one, Runner(jobs=1) as other:
                printed = [run(each, parent)["parent"].outputs[1] for each in (one, other)]
            assert all(f"'{folder}', '{folder.name}')" in text for text in printed)
            assert len({*printed}) == 2  # each run has its session
        assert processes("engine.fork_server", temporary=tmp_path) == server
    assert not processes("engine.fork_server", temporary=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b"}


def test_settings_of_python_ask_for_another_fork_server(monkeypatch):
    """But for those that no example has anyway."""
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    with Runner(jobs=1) as runner:
        assert runner._workers._server is None
    monkeypatch.setenv("PYTHONPATH", str(Path.cwd()))
    with Runner(jobs=1) as runner:
        assert runner._workers._server is not None


def test_a_fork_server_that_is_gone_is_done_without(monkeypatch, tmp_path):
    """A runner then starts one of its own."""
    monkeypatch.setenv(KEPT, str(tmp_path / Path(os.environ[KEPT]).name))
    with Runner(jobs=1) as runner:
        assert runner._workers._server is not None
        assert run(runner, claim("one", ">>> 1\n1"))["one"].outcome is Outcome.PASSED


def test_a_fork_server_is_kept_for_a_command():
    """It is there while the command runs, whose status it passes on."""
    asks = (
        "import os, sys; sys.exit(3 if os.path.exists(os.environ['CLAIMBOOK_FORK_SERVER']) else 1)"
    )
    done = python("-m", "claimbook.engine.fork_server", sys.executable, "-c", asks)
    assert (done.returncode, done.stderr) == (3, "")


def test_where_no_socket_fits_nothing_is_shared(tmp_path):
    """A folder of temporary files with a long name; the command runs all the same."""
    folder = tmp_path / ("x" * 100)
    folder.mkdir()
    asks = "import os, sys; sys.exit(3 if 'CLAIMBOOK_FORK_SERVER' not in os.environ else 1)"
    command = ["-m", "claimbook.engine.fork_server", sys.executable, "-c", asks]
    done = python(*command, TMPDIR=str(folder))
    assert (done.returncode, done.stderr) == (3, "")


def test_a_runner_goes_on_after_runs_were_dropped(runner):
    """Dropping a stream of runs takes nothing from the next one."""
    stream = runner.run([claim(f"c-{n}", ">>> 1\n1") for n in range(20)], Lane.CPU)
    next(stream)
    stream.close()
    assert run(runner, SUM)["sum"].outcome is Outcome.PASSED


def test_settings_of_the_caller_do_not_matter(monkeypatch):
    """Variables that change what Python or torch shows, or where it hashes, reach no claim."""
    settings = (
        "PYTHONWARNINGS=error PYTHONHASHSEED=7 PYTHONOPTIMIZE=1 PYTHONUTF8=0 "
        "PYTHONCOERCECLOCALE=0 TORCH_SHOW_CPP_STACKTRACES=1 TORCHDYNAMO_DISABLE=1 MKL_VERBOSE=1 "
        "CUBLAS_WORKSPACE_CONFIG=:4096:8 CUDA_LAUNCH_BLOCKING=1 "
        "RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 MASTER_ADDR=::1 MASTER_PORT=1 NCCL_DEBUG=INFO "
        "FORCE_COLOR=1 PYTHON_COLORS=1 COLUMNS=30 PYTHONINTMAXSTRDIGITS=700 PYTHON_CPU_COUNT=999 "
        "PYTHONTRACEMALLOC=1 PYTHONASYNCIODEBUG=1"
    )
    if str(ROOT).isascii():  # before 3.13, Python with this locale reads no .pth file elsewhere
        settings += " LC_ALL=C"
    for setting in settings.split():
        monkeypatch.setenv(*setting.split("="))
    session = """>>> import os, sys, warnings
>>> warnings.warn('mind')
>>> hash('a'), __debug__, sys.getfilesystemencoding()
>>> torch.ones(2).view(3)
>>> _ = torch.ones(64, 64) @ torch.ones(64, 64)
>>> [name for name in os.environ if name.startswith(%r)]
>>> import asyncio, shutil, tracemalloc, subprocess
>>> sys.get_int_max_str_digits(), tracemalloc.is_tracing(), asyncio.new_event_loop().get_debug()
>>> shutil.get_terminal_size().columns, os.cpu_count() == 999
>>> subprocess.run([sys.executable, "-c", "1/0"], capture_output=True).stderr[-36:]"""
    told = ("CUBLAS", "CUDA_L", "TORCHDY", "RANK", "LOCAL", "WORLD", "MASTER", "NCCL")
    with Runner(jobs=1) as runner:
        ((_, done),) = runner.run([claim("c", session.replace("%r", repr(told)))], Lane.CPU)
    hashed = python("-c", "print(hash('a'))", PYTHONHASHSEED="0").stdout.strip()
    error = "RuntimeError: shape '[3]' is invalid for input of size 2"
    assert done.outputs == (
        "",
        "UserWarning: mind",
        f"({hashed}, True, 'utf-8')",
        f"Traceback (most recent call last):\n{error}",
        "",
        "[]",
        "",
        "(4300, False, False)",
        "(80, False)",
        r"b'ZeroDivisionError: division by zero\n'",
    )


def test_one_core_is_enough(runner):
    """What torch says of loader workers where there is one core is not shown; of more, it is."""
    session = """>>> from unittest import mock
>>> from torch.utils.data import DataLoader
>>> with mock.patch("torch._utils.cpu_count", return_value={}):
...     _ = DataLoader("ab", num_workers=3)
"""
    cores = {f"cores-{number}": session.format(number) for number in (1, 2)}
    done = run(runner, *(claim(*pair) for pair in cores.items()))
    printed = ["".join(done[name].outputs) for name in cores]
    assert printed[0] == ""
    assert printed[1].startswith("UserWarning: This DataLoader will create 3 worker processes")


def test_torch_cannot_be_imported(monkeypatch, tmp_path):
    """Without a torch that imports, no claim is skipped or passed: the runner says what to do."""
    Path(tmp_path, "torch.py").write_text("raise ImportError('no torch here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    with Runner(jobs=1) as runner, pytest.raises(RunnerError) as caught:
        next(runner.run([SUM], Lane.CPU))
    assert str(caught.value) == (
        f"{sys.executable} could not import torch; see its output above. "
        "Install the project with its dependencies, or run this through nox."
    )


def test_a_worker_that_cannot_be_set_up_says_why(capfd, monkeypatch):
    """Where it finds no room for its files, for one."""
    monkeypatch.delenv(KEPT)  # which says it elsewhere
    with Runner(jobs=1) as runner:
        shutil.rmtree(runner._workers._scratch.name)
        with pytest.raises(RunnerError, match=r"no worker started on cpu.* above"):
            next(runner.run([SUM], Lane.CPU))
        assert runner._workers._scratch.name in capfd.readouterr().err


def test_a_claim_that_ends_the_parent_of_its_worker():
    """No other claim can run then; what is said is not that torch is missing."""
    session = ">>> import os\n>>> os.kill(os.getppid(), 9)"
    with Runner(jobs=1) as runner, pytest.raises(RunnerError, match="fork server was killed"):
        list(runner.run([claim("ends", session), SUM], Lane.CPU))


def test_slow_imports_are_no_claims_time():
    """What torch imports at its first use is there beforehand, for claims likely to use it."""
    loaded = ">>> import sys\n>>> 'torch._dynamo' in sys.modules\n{}"
    with Runner(jobs=1) as runner:
        plain = claim("plain", loaded.format(False))
        optim = claim("optim", loaded.format(True) + "\n>>> _ = torch.optim.SGD")
        assert run(runner, plain)["plain"].outcome == Outcome.PASSED
        assert run(runner, optim)["optim"].outcome == Outcome.PASSED


READS_A_CLOCK = """\
>>> import time
>>> from pathlib import Path
>>> log = Path({file!r})
>>> with log.open("a") as lines:
...     _ = print({name!r}, "begins", file=lines)
>>> time.sleep(0.1)
>>> with log.open("a") as lines:
...     _ = print({name!r}, "ends", file=lines)
>>> log.read_text().count("{name} ends")
{wanted}
"""


@pytest.mark.parametrize(
    ("wanted", "tries", "outcome", "message"),
    [
        (1, 1, Outcome.PASSED, ""),
        (TRIES, TRIES, Outcome.PASSED, f"passed on try {TRIES} of {TRIES}"),
        (9, TRIES, Outcome.VARIED, f"value: want '9', got '{TRIES}'"),
    ],
)
def test_a_claim_that_depends_on_the_clock_is_tried_again(
    runner, tmp_path, wanted, tries, outcome, message
):
    """What else the machine does may spoil a measurement, and a run that needed another says so."""
    file = tmp_path / "runs"
    session = READS_A_CLOCK.format(file=str(file), name="a", wanted=wanted)
    done = between(runner, session, ":machine: clock\n")
    assert (done.outcome, done.message) == (outcome, message)
    assert file.read_text().count("ends") == tries


def test_a_claim_is_tried_again_alone(tmp_path):
    """Not beside another one, which would disturb it."""
    file = tmp_path / "runs"
    sessions = {name: READS_A_CLOCK.format(file=str(file), name=name, wanted=3) for name in "ab"}
    with Runner(jobs=2) as both:
        claims = (claim(name, text, ":machine: clock\n") for name, text in sessions.items())
        done = run(both, *claims)
    assert {run.message for run in done.values()} == {f"passed on try 3 of {TRIES}"}
    later = [line.split() for line in file.read_text().splitlines()][4:]
    assert [name for name, _ in later[::2]] == [name for name, _ in later[1::2]]
    assert [what for _, what in later] == ["begins", "ends"] * 4


def test_each_later_try_is_in_a_new_process(runner, tmp_path):
    """A library may remember what it measured the first time, as cuDNN does."""
    file = tmp_path / "processes"
    session = f"""\
>>> import os
>>> with open({str(file)!r}, "a") as processes:
...     _ = processes.write(f"{{os.getpid()}} ")
>>> 1
2"""
    assert between(runner, session, ":machine: clock\n").outcome is Outcome.VARIED
    processes = file.read_text().split()
    assert len(set(processes)) == len(processes) == TRIES


@pytest.mark.parametrize(
    ("options", "outcome"), [("", Outcome.FAILED), (":machine: cache, cores\n", Outcome.VARIED)]
)
def test_a_claim_that_does_not_depend_on_the_clock_is_run_once(runner, tmp_path, options, outcome):
    """Its output is the same each time on a machine, or it is a bad claim."""
    file = tmp_path / "runs"
    session = READS_A_CLOCK.format(file=str(file), name="a", wanted=9)
    assert between(runner, session, options).outcome is outcome
    assert file.read_text().count("ends") == 1


@pytest.mark.parametrize(
    ("session", "outcome"),
    [
        (">>> import os\n>>> os._exit(3)", Outcome.CRASHED),
        (">>> import time\n>>> time.sleep(60)", Outcome.VARIED),
        (">>> raise MemoryError", Outcome.VARIED),
    ],
)
def test_what_a_machine_may_decide(session, outcome):
    """An output or a time that differs, but not whether the process lives."""
    with Runner(jobs=1) as runner:
        done = run(runner, claim("a", session, ":machine: memory\n:timeout: 2\n"))["a"]
    assert done.outcome is outcome


def test_an_import_leaves_cuda_as_it_was(monkeypatch):
    """One that looks for a GPU, as torch's compiler does, spoils it for all that is forked."""
    monkeypatch.setitem(SLOW_IMPORTS, "asks_for_gpus", r"asks")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).with_name("modules")))
    seen = ">>> import asks_for_gpus as asks\n>>> asks.VISIBLE\n''"
    after = ">>> import os\n>>> os.environ['CUDA_VISIBLE_DEVICES']\n''"
    with Runner(jobs=1) as runner:
        done = run(runner, claim("seen", seen), claim("after", after))
    assert {run.outcome for run in done.values()} == {Outcome.PASSED}


@pytest.mark.parametrize(
    ("hangs", "outcome", "message"),
    [
        (1, Outcome.PASSED, f"passed on try 2 of {TRIES}"),
        (2, Outcome.TIMED_OUT, "stopped after 3 seconds in example 6 of 6"),
    ],
)
def test_a_claim_that_ran_out_of_time_is_tried_once_more(runner, tmp_path, hangs, outcome, message):
    """The machine may have halted; a claim that hangs costs its limit twice, and no more."""
    file = tmp_path / "runs"
    session = f"""\
>>> log = open({str(file)!r}, "a+")
>>> _ = print("begins", file=log, flush=True)
>>> _ = log.seek(0)
>>> begun = len(log.readlines())
>>> import time
>>> time.sleep(60 * (begun <= {hangs}))"""
    done = between(runner, session, ":timeout: 3\n")
    assert (done.outcome, done.message) == (outcome, message)
    assert file.read_text().count("begins") == 2


def test_one_try_is_one_try(tmp_path):
    """As `falsify` asks for: mutants that hang are many."""
    hangs = claim("hangs", ">>> import time\n>>> time.sleep(60)", ":timeout: 2\n")
    with Runner(jobs=1, tries=1) as once:
        ((_, done),) = run(once, hangs).items()
    assert (done.outcome, done.message) == (
        Outcome.TIMED_OUT,
        "stopped after 2 seconds in example 2 of 2",
    )


CHILD = """\
>>> import os, pty
>>> pid = {fork}
>>> if pid == 0:
...     {ends}
>>> _ = os.waitpid(pid, 0)
>>> print("the page does not say this")"""


@pytest.mark.parametrize("ends", ["os._exit(0)", "pass"])
@pytest.mark.parametrize(
    "fork",
    ["os.fork()", "pty.fork()[0]", "__import__('ctypes').CDLL(None).fork()"],
)
@pytest.mark.filterwarnings("ignore")
def test_a_child_runs_no_more_examples(runner, fork, ends):
    """What it would print counts for nothing, and the next claim is not ended by it."""
    done = between(runner, CHILD.format(fork=fork, ends=ends))
    assert (done.outcome, done.outputs[-1]) == (Outcome.FAILED, "the page does not say this")
    assert len(done.outputs) == 5


def test_a_child_takes_no_output_away(runner):
    """It has the file into which the claim prints, and comes to its end while that prints on."""
    session = """
    >>> import os, time
    >>> if not os.fork():
    ...     time.sleep(0.1)
    >>> print("the parent's"); time.sleep(0.5)
    the parent's
    """
    assert between(runner, session).outcome is Outcome.PASSED


@pytest.mark.parametrize("unbuffered", [False, True])
def test_what_c_code_prints_is_of_its_example(monkeypatch, unbuffered):
    """Whatever the caller has set for Python; it does not turn up in another claim."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    if unbuffered:
        monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    session = ">>> import ctypes\n>>> ctypes.CDLL(None).puts(b'from C') > 0\nfrom C\nTrue\n>>> 1\n1"
    with Runner(jobs=1) as runner:
        done = between(runner, session)
    assert sorted(done.outputs[1].split()) == ["C", "True", "from"]
    assert done.outputs[2] == "1"


def test_limits_of_the_system_that_are_lower_stay(tmp_path):
    """An ordinary user cannot raise them."""
    code = f"""
import ctypes, os, resource, sys
ctypes.CDLL(None).prctl(24, 24, 0, 0, 0)  # no program that is started may raise limits, as root may
del os.environ[{KEPT!r}]  # whose limits are those of the tests
resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
resource.setrlimit(resource.RLIMIT_FSIZE, (500 << 20, 500 << 20))
sys.path.insert(0, {str(ROOT / "tests")!r})
from claimbook.model import Lane
from claimbook.engine.pool import Runner
from helpers import claim
with Runner(jobs=1) as runner:
    ((_, run),) = runner.run([claim("sum", ">>> 1 + 1\\n2")], Lane.CPU)
print(run.outcome)
"""
    done = python("-c", code)
    assert done.stdout == "passed\n", done.stderr


def test_what_is_imported_from_the_future_holds_in_later_examples(runner):
    """As at Python's prompt; and the next claim knows nothing of it."""
    session = """\
>>> from __future__ import annotations
>>> def f(x: not_defined): pass
>>> f.__annotations__
{'x': 'not_defined'}"""
    assert between(runner, session).outcome is Outcome.PASSED
    after = claim("present", ">>> def f(x: 1 + 1): pass\n>>> f.__annotations__\n{'x': 2}")
    assert run(runner, after)["present"].outcome is Outcome.PASSED


def test_a_worker_that_hangs_before_it_begins(monkeypatch, tmp_path):
    """It is ended, and the run says so; a device may keep it for ever."""
    monkeypatch.setattr("claimbook.engine.workers.HELLO", 1.0)
    (tmp_path / "sitecustomize.py").write_text(HANGS, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    started = time.monotonic()
    with (
        Runner(jobs=1) as runner,
        pytest.raises(RunnerError, match="no answer for 1 seconds"),
    ):
        run(runner, claim("sum", ">>> 1 + 1\n2"))
    assert time.monotonic() - started < 60


HANGS = """\
import time
from claimbook.engine import environment
environment.unavailable = lambda lane: time.sleep(600)
"""

GOES_AWAY = """\
import os
from pathlib import Path
from claimbook.engine import environment
GONE = Path(os.environ["GONE"])
environment.unavailable = lambda lane: "it fell off the bus" if GONE.exists() else None
"""


def test_a_lane_that_goes_away_during_a_run(monkeypatch, tmp_path):
    """What ran stands; the run ends, and takes no other claim for one that crashed."""
    (tmp_path / "sitecustomize.py").write_text(GOES_AWAY, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("GONE", str(tmp_path / "gone"))
    first = f">>> import os\n>>> open({str(tmp_path / 'gone')!r}, 'w').close()\n>>> os._exit(3)"
    claims = [claim("ends-it", first), *(claim(f"later-{n}", ">>> 1\n1") for n in range(6))]
    with Runner(jobs=1) as runner:
        runs = runner.run(claims, Lane.CPU)
        assert next(runs)[1].outcome is Outcome.CRASHED
        with pytest.raises(RunnerError, match="the cpu lane is gone: it fell off the bus"):
            next(runs)
