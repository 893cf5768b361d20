"""The sessions of nox, as far as they say no before they install anything."""

import runpy
import signal
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers import ROOT


@pytest.fixture
def sessions(monkeypatch):
    """The functions of noxfile.py, which need no nox to be read."""
    nox = SimpleNamespace(
        options=SimpleNamespace(),
        project=SimpleNamespace(load_toml=lambda name: tomllib.loads(Path(name).read_text())),
        session=lambda function: function,
        Session=object,
    )
    monkeypatch.setitem(sys.modules, "nox", nox)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.chdir(ROOT)
    return runpy.run_path("noxfile.py")


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("docs", ["--max-age", "30"], "--max-age goes with --strict-cuda"),
        ("editions", ["--rnu"], "unrecognized arguments: --rnu"),
    ],
)
def test_options_that_mean_nothing(sessions, capsys, name, options, said):
    """An option that would do nothing is an error, told before anything is built."""
    with pytest.raises(SystemExit) as stopped:
        sessions[name](SimpleNamespace(posargs=options))
    assert (stopped.value.code, said in capsys.readouterr().err) == (2, True)
