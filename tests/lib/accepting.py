"""A server on 127.0.0.1 for tests, which gives each connection to a function.

Its end leaves no thread that accepts. A close alone ends no accept that waits:
the port would still answer. And when the process is stopped and goes on, the
kernel begins the call anew with the descriptor's number, which may be that of
another test's listener by then.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Callable

Serve = Callable[[socket.socket], None]


class Accepting:
    """The server: a thread that accepts, and one for each connection.

    A connection is closed when the function returns or its client has gone.
    """

    def __init__(self, serve: Serve, port: int = 0) -> None:
        self.serve = serve
        self.accepted = 0
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def close(self) -> None:
        """Accept no more; the connections that there are go on."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()

    def _run(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(
                target=self._serve, args=(client,), daemon=True
            ).start()

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            self.serve(client)
