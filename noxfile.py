"""The project's tasks, listed by `nox -l`. All sessions share one environment.

It is the active virtual environment; without one, a new one is created.
"""

import argparse
import hashlib
import os
import re
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import nox

signal.signal(signal.SIGTERM, signal.default_int_handler)  # nox stops its children, as on ^C
nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "none"
nox.options.sessions = ["docs", "tests", "lint"]

PYPROJECT = nox.project.load_toml("pyproject.toml")
OWN = Path(".nox", f"book-{sys.version_info.major}.{sys.version_info.minor}")
ENVIRONMENT = Path(os.environ.get("VIRTUAL_ENV", OWN)).resolve()
PROGRAMS = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
SITE = Path("docs/_build/html")
BUILD = ["-W", "--keep-going", "-j", str(1 + (os.cpu_count() or 1))]
"""Options of sphinx-build: warnings fail the build, at its end.

Sphinx writes pages with one process fewer than it is told.
"""
EPUB = Path("docs/_build/epub")
DOWNLOADS = Path("docs/_build/downloads")
NOT_READ = [".doctrees", ".buildinfo", "objects.inv", "sitemap.xml"]
"""Left out of the offline site: Sphinx's state, and files for other sites."""
VNU = "vnu-jar@26.9.27"
BOOK = "pytorch-under-test"
PYTHONS = nox.project.python_versions(PYPROJECT)
RELEASES = ["2.6.0", "2.8.0", "2.10.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0"]
"""The releases of torch on which all claims are run, as shown on pages."""
NIGHTLY = "https://download.pytorch.org/whl/nightly/cpu"
UPCOMING = {"newest": ["torch"], "nightly": ["--pre", "--index-url", NIGHTLY, "torch"]}
"""pip's arguments for upcoming releases."""
SHARED = ["--durations", "10", "--numprocesses", "auto", "--maxprocesses", "4", "--dist"]
"""pytest's options to run in parallel and report the slowest tests."""
BY_FILE = ["loadfile", "--no-loadscope-reorder"]
"""Run each file in one process, in the order of tests/conftest.py: slowest first."""
OTHERS = ["--ignore", "tests/browser", "--ignore", "tests/editions"]
"""Tests with their own sessions."""
MADE = [Path("docs/_build"), Path("docs/labs")]
BROWSERS = ["chromium-headless-shell", "chromium"]
"""Either can test the site; the first, without windows, is twice as fast."""
EXAMPLES = ["setuptools", "pillow"]
"""Packages that examples import, besides the project's dependencies."""
PROCESSORS = {
    "default": {"ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_CBWR": "COMPATIBLE"},
    "avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    "avx512": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "MKL_ENABLE_INSTRUCTIONS": "AVX512"},
}
"""torch's name for a set of instructions → the settings of its libraries for the same set."""


def install(session: nox.Session, *groups: str) -> None:
    """Install the project and groups of dependencies, at the versions in constraints.txt.

    There is one environment, as torch takes gigabytes; what is already installed is kept.
    """
    os.environ["PATH"] = os.pathsep.join([str(PROGRAMS), os.environ["PATH"]])
    files = [Path("pyproject.toml"), Path("constraints.txt")]
    versions = hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()
    stamp = ENVIRONMENT / "installed.txt"
    kept, *held = stamp.read_text().split() if stamp.is_file() else [""]
    if kept == versions and {*groups} <= {*held}:
        return
    if not shutil.which("pip", path=str(PROGRAMS)):
        session.run_install(sys.executable, "-m", "venv", str(ENVIRONMENT))
    held = held if kept == versions else []
    missing = [group for group in groups if group not in held]
    packages = nox.project.dependency_groups(PYPROJECT, *missing) if missing else []
    # Byte-compiling takes a third of the time, and most modules are never imported.
    pip = ["python", "-m", "pip", "install", "--no-compile", "-c", "constraints.txt"]
    # Naming the project would rebuild it and resolve its dependencies again.
    pip += packages if held else ["-e", ".", *packages]
    session.run_install(*pip, silent=not sys.stdout.isatty())
    stamp.write_text(" ".join([versions, *held, *missing]))


def run_with(session: nox.Session, *torch: str) -> None:
    """Run all claims with another torch in the session's environment, then delete this."""
    needed = {re.split(r"\W*=", name)[0] for name in PYPROJECT["project"]["dependencies"]}
    pins = Path("constraints.txt").read_text("utf-8").split("\n")
    own = [pin for pin in pins if pin.partition("==")[0] in needed - {"torch"}]
    # Pinned again, or pip may choose another torch to satisfy other packages.
    kept = [name for name in torch if "==" in name]
    try:
        session.install(*torch)
        session.install("-e", ".", *EXAMPLES, *kept, *own)
        session.run("claimbook", "release", *session.posargs)
    finally:
        shutil.rmtree(session.virtualenv.location, ignore_errors=True)


def passes(session: nox.Session, *command: str) -> bool:
    """Run a command; return whether it succeeded, instead of ending the session."""
    try:
        session.run(*command)
    except nox.command.CommandFailed:
        return False
    return True


def check_built(session: nox.Session) -> None:
    """End the session with an error if the site is not built."""
    if not (SITE / "index.html").exists():
        session.error("the site is not built; nox -s docs builds it")


@nox.session
def docs(session: nox.Session) -> None:
    """Build docs/_build/html; warnings are errors. `-- --help` lists the options."""
    parser = argparse.ArgumentParser(prog="nox -s docs --", epilog="Others go to sphinx-build.")
    parser.add_argument("--fresh", action="store_true", help="run and draw everything again")
    parser.add_argument(
        "--strict", action="store_true", help="fail for claims that differ on this machine only"
    )
    parser.add_argument(
        "--strict-cuda", action="store_true", help="fail for each claim without a current record"
    )
    parser.add_argument(
        "--max-age", type=int, metavar="DAYS", help="with --strict-cuda: fail for older records too"
    )
    options, rest = parser.parse_known_args(session.posargs)
    if options.max_age is not None and not options.strict_cuda:
        parser.error("--max-age needs --strict-cuda")
    install(session, "docs")
    if options.fresh:
        for folder in MADE:
            shutil.rmtree(folder, ignore_errors=True)
    if options.strict:
        rest += ["-D", "claimbook_strict=1"]
    if options.strict_cuda:
        rest += ["-D", "claimbook_strict_cuda=1"]
    if options.max_age is not None:
        rest += ["-D", f"claimbook_max_age={options.max_age}"]
    session.run("sphinx-build", *BUILD, *rest, "docs", str(SITE))
    session.log(f"open {SITE / 'index.html'}")


@nox.session
def tests(session: nox.Session) -> None:
    """Run every claim on the CPU, then test the package and the examples in its docstrings.

    The second runs even if the first fails. `-- --strict` fails for claims about a machine that
    differ on this one; other arguments go to a single pytest.
    """
    install(session, "docs", "test")
    strict = ["--strict-machine"] if "--strict" in session.posargs else []
    rest = [argument for argument in session.posargs if argument != "--strict"]
    if rest:
        session.run("pytest", *strict, *rest)
        return
    halves = {
        # Without xdist: claims compare times, and the runner uses all cores itself.
        "the book's claims": ["docs", *strict],
        "the package's tests": [*SHARED, *BY_FILE, *OTHERS, "tests", "src"],
    }
    failed = [name for name, half in halves.items() if not passes(session, "pytest", *half)]
    if failed:
        session.error(f"failed: {' and '.join(failed)}; see above")


@nox.session
def doctest(session: nox.Session) -> None:
    """Run the book's claims alone: `-- --lane cuda --require-lane` on a CUDA runner."""
    install(session, "test")
    session.run("pytest", "docs", *session.posargs)


@nox.session
def processors(session: nox.Session) -> None:
    """Run all claims and labs with the instructions of older processors."""
    install(session, "docs")
    labs = [] if session.posargs else sorted(Path("gallery").rglob("plot_*.py"))
    for capability, libraries in PROCESSORS.items():
        settings = {"ATEN_CPU_CAPABILITY": capability, **libraries}
        session.log(" ".join(f"{name}={value}" for name, value in settings.items()))
        session.run("claimbook", "run", *session.posargs, env=settings)
        for lab in labs:
            drawn = {**settings, "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1"}
            session.run("python", str(lab), env=drawn)


@nox.session(python=PYTHONS, venv_backend="venv")
def pythons(session: nox.Session) -> None:
    """Run all claims on each installed Python, with PyPI's build of torch: 5 GB each.

    Run them in page order and in another order; the environment is removed in any case.
    """
    session.install("-c", "constraints.txt", "-e", ".", *EXAMPLES)
    run = ["claimbook", "run", *session.posargs]
    try:
        orders = {"the order of pages": [], "another order": ["--shuffle", "1"]}
        failed = [name for name, order in orders.items() if not passes(session, *run, *order)]
    finally:
        shutil.rmtree(session.virtualenv.location, ignore_errors=True)
    if failed:
        session.error(f"claims failed in {' and '.join(failed)}; see above")


@nox.session
def rehearse(session: nox.Session) -> None:
    """Run the CUDA lane on an emulated device, without a GPU; needs a C++ compiler."""
    install(session, "docs")
    session.run("python", "tests/rehearsal", *session.posargs)


@nox.session
def sweeps(session: nox.Session) -> None:
    """Search for counterexamples to changed general statements; `-- --fresh` for all."""
    install(session, "test")
    session.run("claimbook", "sweep", *session.posargs)


@nox.session
def record(session: nox.Session) -> None:
    """Run claims and write their records: `-- --lane cuda` on a CUDA machine."""
    install(session)
    # 3: records of claims that differ are written too. 2, an error: no GPU, no records.
    session.run("claimbook", "record", *session.posargs, success_codes=[0, 3])


@nox.session(venv_backend="venv")
@nox.parametrize("release", RELEASES, ids=RELEASES)
def matrix(session: nox.Session, release: str) -> None:
    """Run all claims on another release of torch: minutes and 5 GB each; see `-- --changed`."""
    run_with(session, f"torch=={release}")


@nox.session(venv_backend="venv")
@nox.parametrize("build", [*UPCOMING], ids=[*UPCOMING])
def upcoming(session: nox.Session, build: str) -> None:
    """Run all claims on upcoming releases: `-- --report FILE` lists those that flipped."""
    run_with(session, *UPCOMING[build])


@nox.session
def bench(session: nox.Session) -> None:
    """Benchmark the engine against other ways to run claims: minutes, on a quiet machine."""
    install(session, "docs", "test", "bench")
    session.run("python", "tests/bench", *session.posargs)


@nox.session
def serve(session: nox.Session) -> None:
    """Build and serve the book; rebuild and reload on each save."""
    install(session, "docs", "serve")
    watched = [argument for folder in ("gallery", "src") for argument in ("--watch", folder)]
    ignored = [argument for folder in MADE for argument in ("--ignore", str(folder.resolve()))]
    command = ["sphinx-autobuild", *BUILD, "-q", *watched, *ignored, *session.posargs]
    # Builds then need not import torch, which would take most of their time.
    kept = ["python", "-m", "claimbook.engine.fork_server"]
    session.run(*kept, *command, "docs", str(SITE))


@nox.session
def browser(session: nox.Session) -> None:
    """Test the built site in Chromium: errors, phone width, accessibility, lookup."""
    if not any(map(shutil.which, BROWSERS)):
        session.error(f"there is no Chromium; on Debian: apt-get install {BROWSERS[0]}")
    check_built(session)
    install(session, "docs", "test", "browser")
    session.run("pytest", *SHARED, "worksteal", "tests/browser", *session.posargs)


@nox.session
def editions(session: nox.Session) -> None:
    """Make the EPUB and the offline zip of the built site; `-- --run` also runs all notebooks."""
    parser = argparse.ArgumentParser(prog="nox -s editions --")
    parser.add_argument("--run", action="store_true", help="run all notebooks too")
    options = parser.parse_args(session.posargs)
    check_built(session)
    install(session, "docs", "test", "editions")
    # A copy of the site's doctrees saves reading pages again and leaves the site's state alone.
    shutil.copytree(SITE / ".doctrees", EPUB / ".doctrees", dirs_exist_ok=True)
    session.run("sphinx-build", "-W", "--keep-going", "-q", "-b", "epub", "docs", str(EPUB))
    DOWNLOADS.mkdir(exist_ok=True)
    shutil.copy(EPUB / f"{BOOK}.epub", DOWNLOADS)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(SITE, Path(folder, BOOK), ignore=shutil.ignore_patterns(*NOT_READ))
        shutil.make_archive(str(DOWNLOADS / BOOK), "zip", folder, BOOK)
    for file in sorted(DOWNLOADS.iterdir()):
        session.log(f"{file}: {file.stat().st_size / 1e6:.1f} MB")
    if shutil.which("npm"):
        vnu = ["npm", "install", "--silent", "--no-save", "--prefix", "docs/_build/vnu", VNU]
        session.run(*vnu, external=True)
    session.run("pytest", "tests/editions", env={"ALL_NOTEBOOKS": str(options.run)})


@nox.session
def lint(session: nox.Session) -> None:
    """Check formatting, rules, types, spelling, and the schema and safety of workflow files."""
    install(session, "docs", "test", "lint")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy")
    session.run("codespell")
    workflows = sorted(map(str, Path(".github/workflows").glob("*.yml")))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    session.run("zizmor", "--offline", "--quiet", *workflows)
