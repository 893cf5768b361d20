"""What all tests share: pytester, and hypothesis at a pace that two cores can keep.

The examples are the same in each run. `pytest --hypothesis-profile search` looks for others.
"""

import signal

import pytest
from hypothesis import HealthCheck, settings

from claimbook.engine.fork_server import kept

pytest_plugins = ["pytester"]
collect_ignore = [
    "clock",
    "modules",
    "stand_in",
    "rehearsal",
]  # no tests, and some systems have a sitecustomize of their own

# A script's commands in the background ignore ^C, and so would what the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

LONGEST = [
    *("test_explorers", "test_labs", "test_incremental", "test_machines", "test_editions"),
    *("test_cuda", "test_cli", "test_rehearsal", "test_sphinx", "test_sweeps", "test_soak"),
]
"""The files that take longest, which begin: at the end no process then waits for another."""


def pytest_collection_modifyitems(items):
    """Puts the longest files first."""
    items.sort(key=lambda item: item.path.stem not in LONGEST)


PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("claims", PATIENT, max_examples=150, derandomize=True)
settings.register_profile("search", PATIENT, max_examples=5000)
settings.load_profile("claims")


@pytest.fixture(scope="session", autouse=True)
def torch_is_imported_once():
    """A fork server that all runs of this process use, and those of what it starts."""
    with kept():
        yield
