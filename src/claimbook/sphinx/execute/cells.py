"""The cells of pages: the kernels that run them, and the cache of what they draw."""

import json
import logging
import os
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from claimbook.sphinx.execute import kernel

MANY = 3
"""From so many kernels on it pays to fork them."""


def connect(app: Sphinx) -> None:
    """Make kernels alike, and quick to come where many are needed."""
    open_ = ExitStack()
    # An import of Furo's sets up logging for whoever asks: nbclient tells of each page it runs.
    logging.getLogger("traitlets").setLevel(logging.WARNING)

    def prepare(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
        if getattr(app.config, "nb_execution_mode", "off") == "cache":
            folder = Path(app.config["nb_execution_cache_path"])
            fresh = not (folder / "global.db").exists()
            _open_cache(folder)
            pages = [Path(env.doc2path(name)).read_text("utf-8") for name in docnames]
            if fresh and sum("{code-cell}" in page for page in pages) >= MANY:
                _open_fork_server(open_)

    app.connect("builder-inited", _make_kernels_alike)
    app.connect("env-before-read-docs", prepare)
    app.connect("env-updated", lambda *_: open_.close())


def _make_kernels_alike(app: Sphinx) -> None:
    """Cells know no IPython settings of whoever builds; kernels log nothing but errors."""
    if getattr(app.config, "nb_execution_mode", "off") == "off":  # of myst_nb, if it is there
        return
    made = Path(app.doctreedir, "jupyter")
    settings = made / "profile_default" / "ipython_kernel_config.py"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("get_config().IPKernelApp.log_level = 40\n", "utf-8")
    spec = made / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-P", str(kernel.__file__), "-f", "{connection_file}"]
    files = {"kernel_provisioner": {"provisioner_name": "claimbook-files"}}
    named = {"display_name": "Python 3", "language": "python", "metadata": files}
    spec.write_text(json.dumps({"argv": command, **named}))
    os.environ.update(IPYTHONDIR=str(made), JUPYTER_PATH=str(made))


def _open_cache(folder: Path) -> None:
    """Make the cache's database before pages are read in parallel; two makers would collide."""
    from jupyter_cache import get_cache
    from jupyter_cache.cache.main import JupyterCacheBase

    # To drop the oldest, it would ask twice what there is, and take what came between for old.
    JupyterCacheBase.truncate_caches = lambda _: None
    get_cache(folder).list_cache_records()


def _open_fork_server(open_: ExitStack) -> None:
    """Starts the process that forks kernels; it ends when `open_` is closed, or this process."""
    address = open_.enter_context(tempfile.TemporaryDirectory()) + "/fork-server"
    life, ours = os.pipe()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(address)
        door.listen()
        passed = (door.fileno(), life)
        command = [sys.executable, "-P", str(kernel.__file__), "fork-server", *map(str, passed)]
        server = subprocess.Popen(command, pass_fds=passed, start_new_session=True)
    os.close(life)
    os.environ[kernel.NURSERY] = address
    open_.callback(os.environ.pop, kernel.NURSERY)
    open_.callback(server.wait)
    open_.callback(os.close, ours)
