"""A program, not a module: a kernel for the cells of a page, forked instead of started.

Each kernel would need three seconds for its imports, and there is one a page. Jupyter starts
`kernel.py -f FILE …`, with the file that says where to connect; that asks the fork server for a
kernel and lasts as long as the kernel does. The fork server is `kernel.py fork-server DOOR LIFE`,
with two descriptors: the socket at which it is asked, and a pipe that ends with the build. Where
there is no fork server, the program becomes a kernel itself.
"""

import gc
import json
import os
import select
import signal
import socket
import sys
import threading
from pathlib import Path

NURSERY = "CLAIMBOOK_NURSERY"
"""The variable of the environment with the path of the fork server's socket."""


def main(arguments: list[str]) -> None:
    """Does what the arguments say."""
    if arguments[0] == "fork-server":
        _fork_kernels(*map(int, arguments[1:]))
    elif address := os.environ.get(NURSERY):
        _ask(address, arguments)
    else:
        _be_kernel(arguments)


def _ask(address: str, arguments: list[str]) -> None:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(address)
        line.sendall(json.dumps([arguments, str(Path.cwd())]).encode() + b"\n")
        answers = line.makefile()
        kernel = int(answers.readline())
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Jupyter interrupts before it says goodbye
        signal.signal(signal.SIGTERM, lambda number, _: os.kill(kernel, number))
        answers.readline()  # comes back when the kernel is gone


def _be_kernel(arguments: list[str]) -> None:
    from ipykernel.kernelapp import IPKernelApp

    sys.modules["debugpy"] = None  # type: ignore[assignment]  # slow to import, for no cell
    IPKernelApp.launch_instance(arguments)
    os._exit(0)  # torch takes a fifth of a second to be taken down, and Jupyter waits for the end


def _fork_kernels(door: int, life: int) -> None:
    import ipykernel.kernelapp  # noqa: F401
    import matplotlib.pyplot as plt  # noqa: F401
    import torch  # noqa: F401

    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a kernel
    listener = socket.socket(fileno=door)
    while life not in select.select([door, life], [], [])[0]:
        line, _ = listener.accept()
        if os.fork():
            line.close()
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        listener.close()
        os.close(life)
        _be_kernel(_introduce(line))
    os.killpg(0, signal.SIGKILL)  # itself, and what kernels are left


def _introduce(line: socket.socket) -> list[str]:
    """Tells whoever asked the process id, and sees to it that the kernel ends with them."""
    arguments, folder = json.loads(line.makefile().readline())
    os.chdir(folder)
    line.sendall(f"{os.getpid()}\n".encode())
    threading.Thread(target=lambda: (line.recv(1), os._exit(1)), daemon=True).start()
    return [*arguments, f"--IPKernelApp.parent_handle={os.getppid()}"]


if __name__ == "__main__":
    main(sys.argv[1:])
