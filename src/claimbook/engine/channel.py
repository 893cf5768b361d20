"""How runner, workers and fork server talk: one JSON value a message, over a pipe."""

import json
from multiprocessing.connection import Connection
from typing import Any

LONGEST = 1 << 24
"""Bytes of a message; what claims to be longer is none, but text that an example wrote there."""


def send(channel: Connection, message: object) -> None:
    """Write one message.

    Raises:
        OSError: the other side is gone.
    """
    channel.send_bytes(json.dumps(message).encode())


def receive(channel: Connection) -> Any:
    """Wait for one message and return it; None when the other side is gone, or talks nonsense."""
    try:
        return json.loads(channel.recv_bytes(LONGEST))
    except (EOFError, OSError, ValueError):
        return None
