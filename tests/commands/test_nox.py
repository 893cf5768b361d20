"""The sessions of nox, as far as they say no before they install anything."""

import runpy
import signal
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from browser.conftest import PROGRAMS
from helpers import ROOT


class FailedError(Exception):
    """What nox raises of a command that did not end well."""


class Session:
    """Notes what a session runs; what begins with the words given fails."""

    def __init__(self, *posargs, failing=()):
        self.posargs, self.failing, self.ran = [*posargs], failing, []

    def run(self, *command, **_):
        self.ran.append(" ".join(command))
        if self.failing and command[: len(self.failing)] == tuple(self.failing):
            raise FailedError

    def run_install(self, *command, **_):
        self.run(*command)

    def install(self, *packages):
        self.run("pip", "install", *packages)

    def error(self, text):
        raise SystemExit(text)


@pytest.fixture
def sessions(monkeypatch):
    """The functions of noxfile.py, which need no nox to be read."""
    nox = SimpleNamespace(
        options=SimpleNamespace(),
        project=SimpleNamespace(
            load_toml=lambda name: tomllib.loads(Path(name).read_text()),
            python_versions=lambda _: ["3.11"],
            dependency_groups=lambda _, *groups: [*groups],
        ),
        session=lambda function=None, **_: function or (lambda function: function),
        parametrize=lambda *_, **__: lambda function: function,
        command=SimpleNamespace(CommandFailed=FailedError),
        Session=object,
    )
    monkeypatch.setitem(sys.modules, "nox", nox)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.chdir(ROOT)
    return runpy.run_path("noxfile.py")


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("docs", ["--max-age", "30"], "--max-age needs --strict-cuda"),
        ("editions", ["--rnu"], "unrecognized arguments: --rnu"),
    ],
)
def test_options_that_mean_nothing(sessions, capsys, name, options, said):
    """An option that would do nothing is an error, told before anything is built."""
    with pytest.raises(SystemExit) as stopped:
        sessions[name](SimpleNamespace(posargs=options))
    assert (stopped.value.code, said in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize(
    ("name", "there", "said"),
    [
        ("browser", [], "there is no Chromium; on Debian: apt-get install chromium-headless-shell"),
        ("browser", ["chromium-headless-shell"], "the site is not built; nox -s docs builds it"),
        ("browser", ["chromium"], "the site is not built; nox -s docs builds it"),
        ("editions", [], "the site is not built; nox -s docs builds it"),
    ],
)
def test_what_reads_the_site_needs_it(sessions, monkeypatch, tmp_path, name, there, said):
    """And a browser: CI would be green without one if its tests were skipped."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("shutil.which", lambda program: program in there)
    with pytest.raises(SystemExit) as stopped:
        sessions[name](Session())
    assert str(stopped.value) == said


def test_the_browser_that_nox_finds_is_the_one_that_is_run(sessions):
    """Tests that found another one, or none, would be skipped."""
    assert sessions["BROWSERS"] == PROGRAMS


@pytest.mark.parametrize("active", [None, "/somewhere/.venv"])
def test_who_has_an_environment_uses_it(monkeypatch, request, active):
    """Where one is active, nothing is installed a second time beside it."""
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    if active:
        monkeypatch.setenv("VIRTUAL_ENV", active)
    found = request.getfixturevalue("sessions")["ENVIRONMENT"]
    own = f".nox/book-{sys.version_info.major}.{sys.version_info.minor}"
    assert found == Path(active or own).resolve()


@pytest.mark.parametrize("failing", [["pytest", "docs"], ["pytest", "--durations"]])
def test_both_halves_of_the_tests_run(sessions, monkeypatch, failing):
    """Whatever comes of the first; the end names the half that failed."""
    monkeypatch.setitem(sessions["tests"].__globals__, "install", lambda *_: None)
    session = Session("--strict", failing=failing)
    with pytest.raises(SystemExit) as stopped:
        sessions["tests"](session)
    assert [ran.split()[1] for ran in session.ran] == ["docs", "--durations"]
    assert session.ran[0] == "pytest docs --strict-machine"
    half = "the book's claims" if failing[1] == "docs" else "the package's tests"
    assert str(stopped.value) == f"failed: {half}; see above"


def test_what_is_installed_stays(sessions, monkeypatch, tmp_path):
    """A session adds what it lacks; all is installed again where a version has changed."""
    monkeypatch.setitem(sessions["install"].__globals__, "ENVIRONMENT", tmp_path)
    monkeypatch.setattr("shutil.which", lambda *_, **__: "pip")
    session = Session()
    for groups in (["docs"], ["docs", "test"], ["test"]):
        sessions["install"](session, *groups)
    (tmp_path / "installed.txt").write_text("others docs test")
    sessions["install"](session, "docs")
    named = [command.partition("constraints.txt ")[2] for command in session.ran]
    assert named == ["-e . docs", "test", "-e . docs"]


def test_the_matrix_runs_the_release_that_was_asked_for(sessions, monkeypatch):
    """What else is installed afterwards brings no other torch."""
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)
    session = Session()
    session.virtualenv = SimpleNamespace(location="")
    sessions["matrix"](session, "2.12.1")
    *installed, ran = session.ran
    assert all("torch==2.12.1" in command.split() for command in installed)
    assert "setuptools" in installed[-1].split()  # at what version torch wants
    assert ran == "claimbook release"
