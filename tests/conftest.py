"""Shared by all tests: pytester, and hypothesis profiles that suit two cores.

Examples are the same in each run; `pytest --hypothesis-profile search` looks for others.
"""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

from claimbook.engine.fork_server import SETTINGS, kept

pytest_plugins = ["pytester"]
collect_ignore = [
    "clock",
    "modules",
    "stand_in",
    "rehearsal",
]  # not tests; their sitecustomize may clash with the system's

# Background jobs of a shell script ignore SIGINT, and child processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Tests compare what programs print, whatever the user's shell sets.
for name in [*filter(SETTINGS.match, os.environ), "COLUMNS", "LINES"]:
    os.environ.pop(name, None)
os.umask(0o022)

LONGEST = [
    *("test_explorers", "test_labs", "test_incremental", "test_machines", "test_editions"),
    *("test_cuda", "test_cli", "test_rehearsal", "test_sphinx", "test_sweeps", "test_soak"),
]
"""The slowest files, which run first, so that no process idles at the end."""


def pytest_collection_modifyitems(items):
    """Sort the slowest files first."""
    items.sort(key=lambda item: item.path.stem not in LONGEST)


PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("claims", PATIENT, max_examples=150, derandomize=True)
settings.register_profile("search", PATIENT, max_examples=5000)
settings.load_profile("claims")


@pytest.fixture(scope="session", autouse=True)
def torch_is_imported_once():
    """Share one fork server among all runs of this process and its children."""
    with kept():
        yield
