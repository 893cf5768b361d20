"""Fresh environments with a release of torch, made by pip and removed after use."""

import importlib.metadata
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import claimbook
from claimbook.records.store import order

NEEDED = ("click", "myst-parser", "numpy", "pyyaml", "rich", "setuptools")
"""What running claims takes beside torch; each as it is installed here."""

NIGHTLY = ("--pre", "--index-url", "https://download.pytorch.org/whl/nightly/cpu", "torch")
"""What pip is told to have the last night's build."""


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
        _pip(*here, *(NIGHTLY if version == "nightly" else [f"torch=={version}"]))
        _pip(*here, *pins)
        library = sysconfig.get_path("purelib", "venv", {"base": folder})
        shutil.copytree(Path(claimbook.__file__).parent, Path(library, "claimbook"))
        yield python


def told(*command: str, **options: Any) -> tuple[str, str, int]:
    """What a command says to either stream that is a pipe, and its exit status.

    It is alone in its group. If this process is stopped, whoever was told to, the whole group is
    asked to end, once, and ends before this returns: nothing writes on where we clean up.
    """
    with subprocess.Popen(command, text=True, start_new_session=True, **options) as process:
        try:
            return *process.communicate(), process.returncode
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGTERM)
            raise


def _pip(*arguments: str) -> str:
    pip = (sys.executable, "-m", "pip")
    out, err, status = told(*pip, *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if status:
        errors = [line for line in err.splitlines() if line.startswith("ERROR: ")]
        said = (errors or err.splitlines() or ["pip said nothing"])[-1]
        raise InstallError(said.removeprefix("ERROR: "))
    return out
