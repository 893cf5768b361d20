"""How runner and worker talk: JSON over a socket, one value a line."""

import json
import socket
from collections.abc import Iterator
from typing import Any


class Channel:
    """A socket on which each side writes one JSON value a line."""

    def __init__(self, sock: socket.socket) -> None:
        self.socket = sock
        self._buffer = b""

    def fileno(self) -> int:
        """Return the socket's descriptor, so that a selector can wait for it."""
        return self.socket.fileno()

    def send(self, message: object) -> None:
        """Write one message.

        Raises:
            OSError: the other side is gone.
        """
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self) -> Any:
        """Wait for one message and return it; None when the other side is gone."""
        while b"\n" not in self._buffer:
            if not self._fill():
                return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return json.loads(line)

    def receive_ready(self) -> Iterator[Any]:
        """Yield the messages that are there now; None comes last when the other side is gone."""
        open_ = self._fill()
        while b"\n" in self._buffer:
            yield self.receive()
        if not open_:
            yield None

    def _fill(self) -> bool:
        try:
            data = self.socket.recv(1 << 16)
        except OSError:
            data = b""
        self._buffer += data
        return bool(data)
