"""Shared by all tests: pytester, and hypothesis profiles that suit two cores.

Examples are the same in each run; `pytest --hypothesis-profile search` looks for others.
"""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from claimbook.engine.fork_server import SETTINGS, kept
from claimbook.engine.pool import Runner

pytest_plugins = ["pytester"]
# Not tests; their sitecustomize may clash with the system's.
collect_ignore = ["records/clock", "engine/modules", "cuda/stand_in", "rehearsal"]

# Background jobs of a shell script ignore SIGINT, and child processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests compare what programs print, whatever the user's shell sets.
for name in [*filter(SETTINGS.match, os.environ), "COLUMNS", "LINES"]:
    os.environ.pop(name, None)
os.umask(0o022)

LONGEST = [
    *("test_explorers", "test_labs", "test_incremental", "test_runner", "test_machines"),
    *("test_sweeps", "test_rehearsal", "test_errors", "test_site", "test_sphinx", "test_prose"),
    *("test_editions", "test_versions", "test_build", "test_cells", "test_cli", "test_cuda"),
    *("test_soak", "test_pytest_plugin", "test_falsify", "test_state", "test_structure"),
]
"""The slow files, the slowest first; those that follow are short: no process idles at the end."""


def pytest_collection_modifyitems(items):
    """Sort the slowest files first."""
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))


PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("claims", PATIENT, max_examples=150, derandomize=True)
settings.register_profile("search", PATIENT, max_examples=5000)
settings.load_profile("claims")


@pytest.fixture(scope="session", autouse=True)
def torch_is_imported_once():
    """Share one fork server among all runs of this process and its children."""
    with kept():
        yield


@pytest.fixture(scope="module")
def runner():
    """A runner with one worker, so that each claim follows on the one before it."""
    with Runner(jobs=1) as runner:
        yield runner
