"""What is done to the book: `nox -l` lists it. All sessions share one environment.

It is the one that is active; where none is, nox makes one.
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

signal.signal(signal.SIGTERM, signal.default_int_handler)  # nox ends what it runs, as after ^C
nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "none"
nox.options.sessions = ["docs", "tests", "lint"]

PYPROJECT = nox.project.load_toml("pyproject.toml")
OWN = Path(".nox", f"book-{sys.version_info.major}.{sys.version_info.minor}")
ENVIRONMENT = Path(os.environ.get("VIRTUAL_ENV", OWN)).resolve()
PROGRAMS = ENVIRONMENT / ("Scripts" if os.name == "nt" else "bin")
SITE = Path("docs/_build/html")
BUILD = ["-W", "--keep-going", "-j", "auto"]
"""How sphinx-build makes the site: a warning fails it, at its end."""
EPUB = Path("docs/_build/epub")
DOWNLOADS = Path("docs/_build/downloads")
NOT_READ = [".doctrees", ".buildinfo", "objects.inv", "sitemap.xml"]
"""What no reader of the offline site opens: Sphinx's own state, and what speaks to other sites."""
VNU = "vnu-jar@26.9.27"
BOOK = "pytorch-under-test"
PYTHONS = nox.project.python_versions(PYPROJECT)
RELEASES = ["2.6.0", "2.8.0", "2.10.0", "2.12.1", "2.13.0", "2.14.1", "2.15.0"]
"""The releases of torch on which all claims are run, and which pages show."""
NIGHTLY = "https://download.pytorch.org/whl/nightly/cpu"
UPCOMING = {"newest": ["torch"], "nightly": ["--pre", "--index-url", NIGHTLY, "torch"]}
"""What pip is told to install what may become one."""
SHARED = ["--durations", "10", "--numprocesses", "auto", "--maxprocesses", "4", "--dist"]
"""What makes pytest share tests among processes, and say which took longest."""
BY_FILE = ["loadfile", "--no-loadscope-reorder"]
"""Each file to one process, in the order that tests/conftest.py gives: the longest first."""
OTHERS = ["--ignore", "tests/browser", "--ignore", "tests/editions"]
"""Tests of what is made of the book, which have sessions of their own."""
MADE = [Path("docs/_build"), Path("docs/labs")]
BROWSERS = ["chromium-headless-shell", "chromium"]
"""Either looks at the site; the first, which draws no window, opens pages in half the time."""
PROCESSORS = {
    "default": {"ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_CBWR": "COMPATIBLE"},
    "avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    "avx512": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "MKL_ENABLE_INSTRUCTIONS": "AVX512"},
}
"""What torch calls the instructions that it may use → the same for the libraries it calls."""


def install(session: nox.Session, *groups: str) -> None:
    """Install the project and groups of dependencies, each at the version in constraints.txt.

    There is one environment, because torch fills gigabytes; what it holds already is left as it is.
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
    # To compile all that is installed takes a third of the time, and most of it nobody imports.
    pip = ["python", "-m", "pip", "install", "--no-compile", "-c", "constraints.txt"]
    # The project is built anew wherever it is named, and what is there is resolved again.
    pip += packages if held else ["-e", ".", *packages]
    session.run_install(*pip, silent=not sys.stdout.isatty())
    stamp.write_text(" ".join([versions, *held, *missing]))


def run_with(session: nox.Session, *torch: str) -> None:
    """Run all claims with another torch in the session's own environment, and remove that."""
    needed = {re.split(r"\W*=", name)[0] for name in PYPROJECT["project"]["dependencies"]}
    pins = Path("constraints.txt").read_text("utf-8").split("\n")
    own = [pin for pin in pins if pin.partition("==")[0] in needed - {"torch"}]
    # Named again, or pip takes another torch where a version of something else does not suit it.
    kept = [name for name in torch if "==" in name]
    try:
        session.install(*torch)
        session.install("-e", ".", "setuptools", *kept, *own)
        session.run("claimbook", "release", *session.posargs)
    finally:
        shutil.rmtree(session.virtualenv.location, ignore_errors=True)


def passes(session: nox.Session, *command: str) -> bool:
    """Run a command; return whether it ended well, so that others may run all the same."""
    try:
        session.run(*command)
    except nox.command.CommandFailed:
        return False
    return True


def check_built(session: nox.Session) -> None:
    """End a session that reads the site, if there is none."""
    if not (SITE / "index.html").exists():
        session.error("the site is not built; nox -s docs builds it")


@nox.session
def docs(session: nox.Session) -> None:
    """Build docs/_build/html; warnings are errors. `-- --help` lists what else it takes."""
    parser = argparse.ArgumentParser(prog="nox -s docs --", epilog="The rest goes to sphinx-build.")
    parser.add_argument("--fresh", action="store_true", help="run and draw everything anew")
    parser.add_argument(
        "--strict", action="store_true", help="fail for what comes out otherwise on this machine"
    )
    parser.add_argument(
        "--strict-cuda", action="store_true", help="fail for each claim without a current record"
    )
    parser.add_argument(
        "--max-age", type=int, metavar="DAYS", help="with --strict-cuda: fail for older records too"
    )
    options, rest = parser.parse_known_args(session.posargs)
    if options.max_age is not None and not options.strict_cuda:
        parser.error("--max-age goes with --strict-cuda")
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

    Both run, whatever comes of the first. `-- --strict` fails for what comes out otherwise on this
    machine; what else is given goes to one pytest.
    """
    install(session, "docs", "test")
    strict = ["--strict-machine"] if "--strict" in session.posargs else []
    rest = [argument for argument in session.posargs if argument != "--strict"]
    if rest:
        session.run("pytest", *strict, *rest)
        return
    halves = {
        # Alone: claims compare times, and share the cores themselves.
        "the book's claims": ["docs", *strict],
        "the package's tests": [*SHARED, *BY_FILE, *OTHERS, "tests", "src"],
    }
    failed = [name for name, half in halves.items() if not passes(session, "pytest", *half)]
    if failed:
        session.error(f"failed: {' and '.join(failed)}; what failed stands above")


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
    """Run all claims on each Python that is found, with torch as PyPI gives it: 5 GB each.

    Once in the order of pages and once in another; whatever either says, the 5 GB are removed.
    """
    session.install("-c", "constraints.txt", "-e", ".", "setuptools")
    run = ["claimbook", "run", *session.posargs]
    try:
        orders = {"the order of pages": [], "another order": ["--shuffle", "1"]}
        failed = [name for name, order in orders.items() if not passes(session, *run, *order)]
    finally:
        shutil.rmtree(session.virtualenv.location, ignore_errors=True)
    if failed:
        session.error(f"what does not hold in {' and '.join(failed)} stands above")


@nox.session
def rehearse(session: nox.Session) -> None:
    """Run the CUDA lane on an emulated device, where there is no GPU; needs a C++ compiler."""
    install(session, "docs")
    session.run("python", "tests/rehearsal", *session.posargs)


@nox.session
def sweeps(session: nox.Session) -> None:
    """Search for counterexamples to general statements: what has changed, or `-- --fresh` all."""
    install(session, "test")
    session.run("claimbook", "sweep", *session.posargs)


@nox.session
def record(session: nox.Session) -> None:
    """Run claims and write their records: `-- --lane cuda` on a CUDA machine."""
    install(session)
    # A record of a claim that differs is a record too (3); a machine without a GPU writes none (2).
    session.run("claimbook", "record", *session.posargs, success_codes=[0, 3])


@nox.session(venv_backend="venv")
@nox.parametrize("release", RELEASES, ids=RELEASES)
def matrix(session: nox.Session, release: str) -> None:
    """Run all claims on another release of torch, minutes and 5 GB for each: `-- --changed`."""
    run_with(session, f"torch=={release}")


@nox.session(venv_backend="venv")
@nox.parametrize("build", [*UPCOMING], ids=[*UPCOMING])
def upcoming(session: nox.Session, build: str) -> None:
    """Run all claims on what is not recorded yet: `-- --report FILE` says which flipped."""
    run_with(session, *UPCOMING[build])


@nox.session
def bench(session: nox.Session) -> None:
    """Measure the engine against the other ways to run the same claims: minutes, quiet machine."""
    install(session, "docs", "test", "bench")
    session.run("python", "tests/bench", *session.posargs)


@nox.session
def serve(session: nox.Session) -> None:
    """Build the book, serve it, and build and reload at each save."""
    install(session, "docs", "serve")
    watched = [argument for folder in ("gallery", "src") for argument in ("--watch", folder)]
    ignored = [argument for folder in MADE for argument in ("--ignore", str(folder.resolve()))]
    command = ["sphinx-autobuild", *BUILD, "-q", *watched, *ignored, *session.posargs]
    # Builds then find torch imported, which takes longer than all else that one save asks for.
    kept = ["python", "-m", "claimbook.engine.fork_server"]
    session.run(*kept, *command, "docs", str(SITE))


@nox.session
def browser(session: nox.Session) -> None:
    """Look at the built site with Chromium: errors, phone width, accessibility, lookup."""
    if not any(map(shutil.which, BROWSERS)):
        session.error(f"there is no Chromium; on Debian: apt-get install {BROWSERS[0]}")
    check_built(session)
    install(session, "docs", "test", "browser")
    session.run("pytest", *SHARED, "worksteal", "tests/browser", *session.posargs)


@nox.session
def editions(session: nox.Session) -> None:
    """Make the EPUB and the offline zip of the built site; `-- --run` runs all notebooks too."""
    parser = argparse.ArgumentParser(prog="nox -s editions --")
    parser.add_argument("--run", action="store_true", help="run all notebooks too")
    options = parser.parse_args(session.posargs)
    check_built(session)
    install(session, "docs", "test", "editions")
    # Pages are read once: a copy of what the site was built from leaves the site's own state alone.
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
    """Check format, rules, types, spelling, and the workflow files: their schema, their safety."""
    install(session, "docs", "test", "lint")
    session.run("ruff", "format", "--check", ".")
    session.run("ruff", "check", ".")
    session.run("mypy")
    session.run("codespell")
    workflows = sorted(map(str, Path(".github/workflows").glob("*.yml")))
    session.run("check-jsonschema", "--builtin-schema", "vendor.github-workflows", *workflows)
    session.run("zizmor", "--offline", "--quiet", *workflows)
