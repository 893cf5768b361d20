"""The emulated device: its library, compiled once for each torch, and what makes Python load it."""

import hashlib
import importlib.util
import os
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCE = HERE / "device/device.cpp"


def settings() -> dict[str, str]:
    """The variables of the environment with which Python's torch finds the device.

    Compiles it where that has not been done; ends the program if that fails, or if torch is built
    with CUDA, whose place the device takes.
    """
    path = [str(HERE / "site"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "PYTHONPATH": os.pathsep.join(path),
        "EMULATED_CUDA": str(library()),
        "CUDA_VISIBLE_DEVICES": "0",  # the caller may hide real devices
    }


def library() -> Path:
    """The compiled device, one for each torch and Python, under the built site's folder."""
    package = Path(importlib.util.find_spec("torch").submodule_search_locations[0])
    if build := runpy.run_path(package / "version.py")["cuda"]:
        advice = "install one from https://download.pytorch.org/whl/cpu"
        sys.exit(f"this torch has a CUDA {build} of its own; {advice}")
    made_of = [*sorted(SOURCE.parent.iterdir()), package / "version.py"]
    texts = [*(file.read_bytes() for file in made_of), sys.version.encode()]
    digest = hashlib.sha256(b"".join(texts)).hexdigest()
    compiled = ROOT / f"docs/_build/rehearsal/{digest[:16]}.so"
    if not compiled.exists():
        compiled.parent.mkdir(parents=True, exist_ok=True)
        partial = compiled.with_suffix(f".{os.getpid()}")
        compile_into(partial, package)
        partial.rename(compiled)
    return compiled


def compile_into(file: Path, package: Path) -> None:
    """Compiles the device against an installed torch: half a minute."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        sys.exit("no C++ compiler: install g++ or clang++, or name one in CXX")
    sys.stderr.write(f"compiling {SOURCE.relative_to(ROOT)}\n")
    include = package / "include"
    folders = [include, include / "torch/csrc/api/include", Path(sysconfig.get_path("include"))]
    libraries = ["-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
    command = [compiler, "-shared", "-fPIC", "-std=c++20", "-O1", "-w", str(SOURCE)]
    command += ["-DAT_PER_OPERATOR_HEADERS"]  # a sixth less to compile than all operators
    command += [f"-isystem{folder}" for folder in folders]
    command += [f"-L{package / 'lib'}", *libraries, "-o", str(file)]
    if subprocess.run(command, check=False).returncode:
        sys.exit(f"{SOURCE.relative_to(ROOT)} does not compile with this torch")
