"""Fresh environments with a release of torch, made by pip and removed after use."""

import importlib.metadata
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import claimbook
from claimbook.records import order

NEEDED = ("click", "myst-parser", "numpy", "pyyaml", "rich")
"""What running claims takes beside torch; each as it is installed here."""

NIGHTLY = "nightly"
NIGHTLY_INDEX = "https://download.pytorch.org/whl/nightly/cpu"


class InstallError(RuntimeError):
    """A release cannot be had here; says what pip said."""


def available() -> list[str]:
    """Every release of torch that pip can find for this Python, from the oldest on.

    Raises:
        InstallError: pip cannot ask its index.
    """
    said = _pip("index", "versions", "torch")
    line = re.search(r"^Available versions: (.*)$", said, re.MULTILINE)
    found = re.findall(r"\d+\.\d+\.\d+(?=,|\s|\+|$)", line[1]) if line else []
    return sorted(set(found), key=order)


@contextmanager
def installed(version: str) -> Iterator[Path]:
    """An environment with that release of torch and this package; yields its Python.

    Args:
        version: `2.6.0`, or `nightly` for the last night's build of the main branch.

    Raises:
        InstallError: pip cannot install it.
    """
    with TemporaryDirectory(prefix=f"torch-{version}-", ignore_cleanup_errors=True) as folder:
        venv.create(folder, with_pip=False)
        python = Path(sysconfig.get_path("scripts", "venv", {"base": folder})) / "python"
        here = ("--python", str(python), "install", "--quiet", "--no-cache-dir")
        pins = [f"{name}=={importlib.metadata.version(name)}" for name in NEEDED]
        if version == NIGHTLY:
            _pip(*here, "--pre", "--index-url", NIGHTLY_INDEX, "torch")
            _pip(*here, *pins)
        else:
            _pip(*here, f"torch=={version}", *pins)
        library = sysconfig.get_path("purelib", "venv", {"base": folder})
        shutil.copytree(Path(claimbook.__file__).parent, Path(library, "claimbook"))
        yield python


def _pip(*arguments: str) -> str:
    command: Sequence[str] = (sys.executable, "-m", "pip", *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
        said = (errors or done.stderr.splitlines() or ["pip said nothing"])[-1]
        raise InstallError(said.removeprefix("ERROR: "))
    return done.stdout
