"""A server of files for tests, over HTTP on 127.0.0.1, honest or not.

    with FakeFiles() as server:
        server.put("/a", b"content", etag='"1"')
        ... server.url("/a") ...
        assert server.count("/a") == 1

A path may also have a function that does what it likes with the connection.
"""

from __future__ import annotations

import re
import socket
import ssl
import threading
from dataclasses import dataclass, field
from typing import Callable, Optional

from accepting import Accepting

CHUNK = 64 * 1024


@dataclass
class Asked:
    """A request, as the server has got it."""

    path: str
    fields: dict[str, str]


Script = Callable[[socket.socket, Asked], None]


@dataclass
class File:
    """A file, and how the server answers a request for it."""

    content: bytes
    etag: str = ""
    modified: str = ""
    encoding: str = ""
    has_ranges: bool = True
    has_length: bool = True
    breaks: list[int] = field(default_factory=list)
    # After how many bytes of each answer in turn the connection ends.

    def serve(self, client: socket.socket, asked: Asked) -> None:
        """Answer as an honest server, as far as the network lets it."""
        if self._is_known(asked):
            client.sendall(self._head("304 Not Modified", None))
            return
        first = self._first(asked)
        body = self.content[first:]
        if first:
            last = len(self.content) - 1
            part = f"bytes {first}-{last}/{len(self.content)}"
            client.sendall(self._head("206 Partial Content", len(body), part))
        else:
            length = len(body) if self.has_length else None
            client.sendall(self._head("200 OK", length))
        if self.breaks:
            client.sendall(body[: self.breaks.pop(0)])
            return
        for at in range(0, len(body), CHUNK):
            client.sendall(body[at : at + CHUNK])

    def _is_known(self, asked: Asked) -> bool:
        return (
            bool(self.etag) and asked.fields.get("if-none-match") == self.etag
        ) or (
            bool(self.modified)
            and asked.fields.get("if-modified-since") == self.modified
        )

    def _first(self, asked: Asked) -> int:
        found = re.fullmatch(r"bytes=(\d+)-", asked.fields.get("range", ""))
        if not found or not self.has_ranges:
            return 0
        validator = asked.fields.get("if-range")
        if validator not in (None, self.etag, self.modified):
            return 0
        return int(found[1])

    def _head(
        self, status: str, length: Optional[int], part: str = ""
    ) -> bytes:
        lines = [f"HTTP/1.1 {status}"]
        for name, value in (
            ("Content-Length", "" if length is None else str(length)),
            ("Content-Range", part),
            ("ETag", self.etag),
            ("Last-Modified", self.modified),
            ("Content-Encoding", self.encoding),
        ):
            if value:
                lines.append(f"{name}: {value}")
        return "\r\n".join([*lines, "", ""]).encode()


def say(*pieces: bytes) -> Script:
    """Return a script that sends these bytes and closes."""

    def script(client: socket.socket, asked: Asked) -> None:
        for piece in pieces:
            client.sendall(piece)

    return script


def redirect(target: str, status: str = "302 Found") -> Script:
    """Return a script that leads elsewhere."""
    return say(
        f"HTTP/1.1 {status}\r\nLocation: {target}\r\n"
        "Content-Length: 0\r\n\r\n".encode()
    )


class FakeFiles:
    """The server; `tls` makes it one with https."""

    def __init__(
        self, tls: Optional[ssl.SSLContext] = None, host: str = "127.0.0.1"
    ) -> None:
        self.tls = tls
        self.host = host
        self.asked: list[Asked] = []
        self.scripts: dict[str, Script] = {}
        self.ended = threading.Event()  # for scripts that wait
        self.connections = Accepting(self._serve)
        self.port = self.connections.port

    def __enter__(self) -> FakeFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.connections.close()

    @property
    def accepted(self) -> int:
        """Return the number of connections that have come."""
        return self.connections.accepted

    @property
    def place(self) -> str:
        """Return HOST:PORT."""
        return f"{self.host}:{self.port}"

    def url(self, path: str) -> str:
        scheme = "https" if self.tls else "http"
        return f"{scheme}://{self.place}{path}"

    def put(self, path: str, content: bytes, **about: object) -> File:
        """Serve a file; return it, so that a test can change it."""
        made = File(content, **about)  # type: ignore[arg-type]
        self.scripts[path] = made.serve
        return made

    def count(self, path: str) -> int:
        """Return how often that path was asked for."""
        return sum(one.path == path for one in self.asked)

    def _serve(self, client: socket.socket) -> None:
        try:
            if self.tls:
                client = self.tls.wrap_socket(client, server_side=True)
            with client:
                asked = self._read(client)
                if asked is None:
                    return
                self.asked.append(asked)
                missing = say(
                    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
                )
                self.scripts.get(asked.path, missing)(client, asked)
                if isinstance(client, ssl.SSLSocket):
                    client.unwrap()
        except (OSError, ValueError):
            client.close()  # the client has gone

    def _read(self, client: socket.socket) -> Optional[Asked]:
        head = b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(CHUNK)
            if not piece:
                return None
            head += piece
        first, *lines = (
            head.decode("latin-1").split("\r\n\r\n")[0].split("\r\n")
        )
        pairs = (line.partition(":") for line in lines)
        fields = {name.lower(): value.strip() for name, _, value in pairs}
        return Asked(first.split()[1].partition("?")[0], fields)
