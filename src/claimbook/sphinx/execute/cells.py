"""The cells of pages: where what they draw is kept, and the kernels that run them."""

import hashlib
import json
import logging
import os
import socket
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from copy import deepcopy
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from claimbook.sphinx.execute import kernel

MANY = 3
"""From so many kernels on it pays to fork them."""


def connect(app: Sphinx) -> None:
    """Kernels are all alike, and quick to come where many are needed."""
    open_ = ExitStack()
    _import_clients_late()
    # An import of Furo's sets up logging for whoever asks: nbclient tells of each page it runs.
    logging.getLogger("traitlets").setLevel(logging.WARNING)

    def prepare(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
        if getattr(app.config, "nb_execution_mode", "off") == "cache":
            folder = Path(app.config["nb_execution_cache_path"])
            fresh = not (folder / "global.db").exists()
            if fresh:
                _make_cache(folder)
            pages = [Path(env.doc2path(name)).read_text("utf-8") for name in docnames]
            if fresh and sum("{code-cell}" in page for page in pages) >= MANY:
                _open_fork_server(open_)
                _client_of("cache")  # once, and not in each process that reads pages

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


def _make_cache(folder: Path) -> None:
    """Makes the cache's database before pages are read in parallel; two makers would collide."""
    from jupyter_cache import get_cache

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


EXECUTE = "myst_nb.core.execute"
CLIENTS = ("cache", "direct", "inline")
"""The modules there that run cells. They import a database and Jupyter's client, which takes as
long as the import of Sphinx."""


def _import_clients_late() -> None:
    for kind in CLIENTS:
        late = ModuleType(f"{EXECUTE}.{kind}")
        setattr(late, f"NotebookClient{kind.capitalize()}", partial(_client, kind))
        sys.modules.setdefault(late.__name__, late)


def _client(kind: str, notebook: Any, path: Path, config: Any, *rest: Any, **options: Any) -> Any:
    """What runs cells that way; for cells that have run, what only shows them."""
    execute = import_module(EXECUTE)
    if kind == "cache" and (shown := _with_outputs(notebook, Path(config.execution_cache_path))):
        return execute.NotebookClientBase(shown, path, config, *rest)
    return _client_of(kind)(notebook, path, config, *rest, **options)


def _client_of(kind: str) -> Any:
    name = f"{EXECUTE}.{kind}"
    if not sys.modules[name].__spec__:
        del sys.modules[name]
    # To drop the oldest, it would ask twice what there is, and take what came between for old.
    import_module("jupyter_cache.cache.main").JupyterCacheBase.truncate_caches = lambda _: None
    return getattr(import_module(name), f"NotebookClient{kind.capitalize()}")


def _with_outputs(notebook: Any, cache: Path) -> Any:
    """The notebook with what jupyter-cache keeps of it, found by its key; None if it keeps none."""
    nbformat: Any = import_module("nbformat")
    notebook = deepcopy(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    bare: dict[str, Any] = {"cell_type": "code", "execution_count": None, "outputs": []}
    keyed = {
        "nbformat": 4,
        "nbformat_minor": 4,
        "metadata": {"kernelspec": notebook.metadata.get("kernelspec")},
        "cells": [{**bare, "source": cell.source, "metadata": cell.metadata} for cell in cells],
    }
    text = nbformat.v4.writes(nbformat.from_dict(keyed))
    key = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    file = cache / "executed" / key / "base.ipynb"
    if not file.exists():
        return None
    ran = nbformat.v4.reads(file.read_text("utf-8"))
    notebook.metadata.update(language_info=ran.metadata.get("language_info", {}))
    for cell, done in zip(cells, ran.cells, strict=True):
        cell.update(outputs=done.outputs, execution_count=done.execution_count)
    return notebook
