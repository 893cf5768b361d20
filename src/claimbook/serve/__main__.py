"""The server: `python -m claimbook.serve [OPTION…] docs docs/_build/html`.

sphinx-autobuild watches, serves and reloads, and takes the options. It starts Sphinx anew for each
build, which spends more on imports than on the change of a claim. Here a process that has made them
builds instead (`builder`, `spare`).
"""

import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sphinx_autobuild import __main__ as autobuild
from sphinx_autobuild import server

from claimbook.complaints import log_of
from claimbook.serve.builder import SpareBuilder

if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what is temporary goes
    autobuild.Builder = SpareBuilder
    # It would fork a process that waits for the spare, and that a killed server leaves behind.
    server.ProcessPoolExecutor = ThreadPoolExecutor
    autobuild.main(["-w", log_of(Path(sys.argv[-1])), *sys.argv[1:]])
