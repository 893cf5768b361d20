"""The pinned versions: they can be installed wherever the README says that the book can."""

import tomllib
from importlib.metadata import distributions

from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from helpers import ROOT

PINNED = {
    canonicalize_name(line.partition("==")[0])
    for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    if "==" in line
}


def test_each_runs_on_the_oldest_python():
    """A pin that wants a later patch of it would stop the first command of the README."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=") + ".0"
    installed = {canonicalize_name(each.name): each.metadata for each in distributions()}
    asked = {name: installed[name].get("Requires-Python") for name in PINNED & installed.keys()}
    assert len(asked) > 50
    refused = {name: asks for name, asks in asked.items() if oldest not in SpecifierSet(asks or "")}
    assert refused == {}
