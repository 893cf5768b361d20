"""Describe the machine, Python and torch, and tell whether a lane can run here.

`describe` does not import torch for the `cpu` lane: the version comes from the package
metadata, so a build that runs nothing need not load torch.
"""

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from claimbook.model import Environment, Hardware, Lane, Provenance, digest

CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
CACHE_FILES = ("level", "type", "size")
CPUINFO = Path("/proc/cpuinfo")
ON_X86 = ("vendor_id", "cpu family", "model")
ON_ARM = ("CPU implementer", "CPU variant", "CPU part")
"""Fields of `CPUINFO` that tell a processor's model."""


def unavailable(lane: Lane) -> str | None:
    """Return why the lane cannot run in this process; None if it can."""
    if lane is Lane.CPU:
        return None
    import torch

    # A CUDA build of torch does not mean that there is a GPU.
    return None if torch.cuda.is_available() else f"no CUDA device (torch {torch.__version__})"


def describe(lane: Lane) -> Environment:
    """Return the environment in which this process runs claims of the lane."""
    system = f"{platform.system()} {platform.machine()}"
    common = torch_version(), platform.python_version(), system
    if lane is Lane.CPU:
        return Environment(*common, device=_processor())
    import torch

    return Environment(
        *common,
        device=torch.cuda.get_device_name(),
        cuda=torch.version.cuda,
        driver=_driver(),
        capability=".".join(map(str, torch.cuda.get_device_capability())),
    )


@cache
def torch_version() -> str:
    """Return the version of the installed torch, such as `2.13.0+cpu`; `none` without one."""
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return "none"


def release(version: str) -> str:
    """Return a version without its build tag.

    >>> release("2.13.0+cu130")
    '2.13.0'
    """
    return version.partition("+")[0]


def provenance(root: Path) -> Provenance:
    """Return the date, commit and whether the tree is clean; None for what git cannot tell."""
    commit = git(root, "rev-parse", "--short=12", "HEAD")
    changes = git(root, "status", "--porcelain", "--untracked-files=no")
    clean = None if changes is None else not changes
    return Provenance(today(), commit, clean)


def today() -> str:
    """Return the date in UTC, such as `2026-01-31`."""
    return datetime.now(UTC).date().isoformat()


def hardware() -> Hardware:
    """Return the hardware of the machine, as far as Linux reports it."""
    import torch

    about = _cpuinfo()
    names = ON_ARM if ON_ARM[0] in about else ON_X86
    return Hardware(
        model=" ".join(about.get(name, "?") for name in names),
        cores=cores(),
        cache=dict(_caches()),
        memory=os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        instructions=torch.backends.cpu.get_cpu_capability(),
    )


def cores() -> int:
    """Return the number of cores that this process may use."""
    known = hasattr(os, "sched_getaffinity")  # not on macOS
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


def _caches() -> Iterator[tuple[str, int]]:
    for folder in sorted(CACHES.glob("index*")):
        with suppress(OSError, ValueError):  # some machines report no size
            level, kind, size = ((folder / name).read_text().strip() for name in CACHE_FILES)
            if kind != "Instruction":
                yield f"L{level}", int(size.removesuffix("K")) * 1024


@cache
def _processor() -> str:
    # On ARM the kernel tells numbers only; lscpu knows their names.
    if named := _cpuinfo().get("model name"):
        return named
    lscpu = _fields(_output(["env", "LC_ALL=C", "lscpu"]) or "")
    return lscpu.get("Model name") or platform.processor() or platform.machine()


@cache
def _cpuinfo() -> dict[str, str]:
    """Return the fields of the first processor in `/proc/cpuinfo`; none on other systems."""
    text = CPUINFO.read_text(errors="replace") if CPUINFO.exists() else ""
    return _fields(text.partition("\n\n")[0])


def _fields(text: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in text.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _driver() -> str | None:
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    return (_output(query) or "").partition("\n")[0] or None


def git(root: Path, *arguments: str) -> str | None:
    """Return what git says about the project at `root`; None if it cannot."""
    return _output(["git", "-C", str(root), *arguments])


def _output(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def digest_of_code(files: Iterable[Path]) -> str:
    """Return a digest of code files, to invalidate caches when the code changes."""
    return digest([file.read_text("utf-8") for file in files])
