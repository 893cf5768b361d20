"""Messages between runner, workers and fork server: one JSON value each, over a pipe."""

import json
from multiprocessing.connection import Connection
from typing import Any

LONGEST = 1 << 24
"""Most bytes of a message; a longer one is junk that an example wrote to the pipe."""


def send(channel: Connection, message: object) -> None:
    """Write one message.

    Raises:
        OSError: the other side is gone.
    """
    channel.send_bytes(json.dumps(message).encode())


def receive(channel: Connection) -> Any:
    """Wait for one message and return it; None if the other side is gone or sends no JSON."""
    try:
        return json.loads(channel.recv_bytes(LONGEST))
    except (EOFError, OSError, ValueError):
        return None
