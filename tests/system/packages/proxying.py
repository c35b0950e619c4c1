"""A proxy with its listener, and servers for it."""

from __future__ import annotations

import socket
import time
from typing import Callable

from accepting import Accepting
from hearth_downloads.core.proxy import Bounds, Proxy, Report
from hearth_downloads.packages.rules import Rules

LONG = 30


class RunningProxy:
    """A proxy with its listener, as a program in the sandbox has it."""

    def __init__(self, rules: Rules, bounds: Bounds) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.proxy = Proxy(rules, bounds, 64320, 64320)
        self.proxy.attach(self.listener.fileno())

    def open(self) -> socket.socket:
        client = socket.create_connection(self.listener.getsockname())
        client.settimeout(LONG)
        return client

    def ask(self, text: str) -> bytes:
        """Send a head; return everything up to the end of the connection."""
        with self.open() as client:
            client.sendall(text.encode() + b"\r\n\r\n")
            return read_all(client)

    def reports(self) -> list[Report]:
        """Return them when there is one."""
        ends = time.monotonic() + LONG
        while time.monotonic() < ends:
            found = self.proxy.reports()
            if found:
                return found
            time.sleep(0.01)
        raise AssertionError("no report")

    def close(self) -> None:
        self.proxy.close()
        self.listener.close()


def read_all(client: socket.socket) -> bytes:
    got = b""
    try:
        while piece := client.recv(65536):
            got += piece
    except ConnectionResetError:
        pass
    return got


def answer_plainly(client: socket.socket) -> None:
    head = client.recv(65536)
    body = b"asked: " + head.split(b"\r\n")[0]
    client.sendall(
        b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    )


Servers = Callable[..., Accepting]
Proxies = Callable[..., RunningProxy]
