"""The build of the site: `python -m claimbook.docs [OPTION…] docs docs/_build/html`.

The options are sphinx-build's. Warnings are errors: they are kept in warnings.txt beside the site,
and named once more at the end. Sphinx tells that nothing changed only after all of it was imported
and has read what it keeps. Here the times of files tell, so that it need not start. Where a page
changed, workers import torch for its claims while Sphinx is imported.
"""

import gc
import os
import signal
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

from claimbook import environment
from claimbook.complaints import complaints, log_of
from claimbook.model import Lane, digest
from claimbook.runner import EARLY, Runner

ANEW = ("-D", "--define", "-E", "--fresh-env", "-a", "--write-all")
"""Options with which a build has something to do though no file changed."""

NOTHING = "nothing changed: 0 claims run, 0 kernels started, 0 labs drawn, 0 pages written"


def main(arguments: list[str]) -> int:
    """Builds what is out of date, and returns Sphinx's exit status."""
    if len(arguments) < 2:
        sys.exit(str(__doc__).partition("\n")[0])
    source, site = (Path(name).resolve() for name in arguments[-2:])
    stamp = site / ".doctrees" / "built-from"
    made_from = _made_from(source.parent, arguments)
    built = stamp.stat().st_mtime_ns if stamp.is_file() else 0
    anew = not built or any(word.startswith(ANEW) for word in arguments)
    if not anew and stamp.read_text("utf-8") == _digest(made_from, source, site):
        print(NOTHING)
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that all ends that was started
    with ExitStack() as early:
        early.callback(gc.enable)
        gc.disable()  # imports leave no garbage; the extension enables it again
        if any(time > built for path, _, time in _files(source) if path.endswith(".md")):
            early.callback(EARLY.clear)
            EARLY.append(early.enter_context(Runner()))
        from sphinx.cmd.build import build_main

        complaints(site)
        status = build_main(["-W", "--keep-going", "-j", "auto", *arguments, "-w", log_of(site)])
    stamp.unlink(missing_ok=True)
    if not status:
        stamp.write_text(_digest(made_from, source, site), "utf-8")
    sys.stderr.writelines(complaints(site))
    return status


def _digest(made_from: list[object], source: Path, site: Path) -> str:
    """Of what goes into a build and of what has come out."""
    return digest([made_from, *_files(site), *_files(source / "labs")])


def _made_from(root: Path, arguments: list[str]) -> list[object]:
    """All on which a site depends: settings, what is installed, and the files with their times."""
    packages = sorted(path.name for path in Path(sysconfig.get_path("purelib")).iterdir())
    settings = sorted(item for item in os.environ.items() if item[0].startswith("BOOK_"))
    parts = [file for part in ("docs", "gallery", "src") for file in _files(root / part)]
    made = [arguments, settings, packages, environment.describe(Lane.CPU).digest()]
    return [*made, *_files(root, deep=False), *parts]


def _files(folder: Path, *, deep: bool = True) -> Iterator[tuple[str, int, int]]:
    """Path, size and time of each file that is not hidden, and not in a folder of made ones."""
    for entry in sorted(os.scandir(folder) if folder.is_dir() else (), key=lambda e: e.name):
        if entry.name.startswith(".") or entry.name in {"_build", "__pycache__", "labs"}:
            continue
        if not entry.is_dir():
            with suppress(FileNotFoundError):  # an editor's own, gone again
                found = entry.stat()
                yield entry.path, found.st_size, found.st_mtime_ns
        elif deep:
            yield from _files(Path(entry.path))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
