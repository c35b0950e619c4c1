"""A connection of HTTP/1.1 from the sandbox to a server, through the proxy.

It reads what strangers send, and takes no more of it than it must. The proxy
reads the answers of http as strictly, and sees nothing of those of https.
"""

from __future__ import annotations

import encodings.idna  # a name of a host may ask for both
import encodings.punycode  # noqa: F401
import http.client
import re
import socket
import ssl
from typing import Any, Optional

from hearth_downloads.core.addresses import PORTS
from hearth_downloads.core.proxy import INTERIM_MAX
from hearth_downloads.core.sandbox import PROXY_PORT

# http.client takes whatever int() does, as +5, 0x5 and 0_5.
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\n]*)?\n")
_CHUNK_LINE_MAX = 64 * 1024
LINES_MAX = 256 * 1024  # bytes of heads and of what is between chunks
_IGNORE_UNEXPECTED_EOF = getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 1 << 7)


class NoTunnel(OSError):
    """The proxy has no connection to that server."""

    def __init__(self, is_final: bool) -> None:
        super().__init__("the proxy has no connection to it")
        self.is_final = is_final  # another try would be refused, too


def make_context(path: str) -> ssl.SSLContext:
    """Return what knows servers by the authorities in a file.

    It reads no file after that. An end that TLS does not announce may be
    another's doing, so it is no end. Python hides it since OpenSSL 3, and
    suppress_ragged_eofs is not enough.
    """
    context = ssl.create_default_context(cafile=path or None)
    context.options &= ~_IGNORE_UNEXPECTED_EOF
    return context


class _Lines:
    """A server's bytes; lines are bounded by the bytes between them."""

    def __init__(self, file: Any) -> None:
        self.file = file
        self.left = LINES_MAX

    def readline(self, limit: int = -1) -> bytes:
        line: bytes = self.file.readline(limit)
        self.left -= len(line)
        if self.left < 0:
            raise http.client.HTTPException("its heads have no end")
        return line

    def read1(self, size: int = -1) -> bytes:
        piece: bytes = self.file.read1(size)
        self.left = min(LINES_MAX, self.left + 8 * len(piece))
        return piece

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


class _Response(http.client.HTTPResponse):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fp: Any = _Lines(self.fp)

    def _read_next_chunk_size(self) -> int:
        """Return it; ValueError, which ends the answer, if it has none."""
        line = self.fp.readline(_CHUNK_LINE_MAX).replace(b"\r\n", b"\n")
        found = _CHUNK.fullmatch(line)
        if not found:
            raise ValueError
        return int(found[1], 16)

    def _read_status(self) -> tuple[str, int, str]:
        """Return the first line of the answer, after those that announce it.

        The proxy does the same for http; http.client skips a 100 alone.
        """
        for _ in range(INTERIM_MAX + 1):
            found: tuple[str, int, str] = super()._read_status()  # type: ignore[misc]
            if found[1] == 101:
                raise http.client.HTTPException(
                    "an answer changes the protocol"
                )
            if found[1] >= 200:
                return found
            http.client.parse_headers(self.fp)
        raise http.client.HTTPException(
            f"more than {INTERIM_MAX} answers came before one"
        )


class Connection(http.client.HTTPConnection):
    """A connection to a server, which has TLS if there is a context."""

    response_class = _Response

    def __init__(
        self,
        host: str,
        port: int,
        timeout: float,
        context: Optional[ssl.SSLContext] = None,
    ) -> None:
        super().__init__(host, port, timeout)
        self.context = context
        self.default_port = PORTS["https" if context else "http"]

    def connect(self) -> None:
        """Connect to the proxy, and through it with TLS to the server."""
        self.sock: Any = socket.socket()
        self.sock.settimeout(self.timeout)
        self.sock.connect(("127.0.0.1", PROXY_PORT))
        if self.context is not None:
            self._open_tunnel()
            self.sock = self.context.wrap_socket(
                self.sock,
                server_hostname=self.host,
                suppress_ragged_eofs=False,
            )

    def _open_tunnel(self) -> None:
        host = f"[{self.host}]" if ":" in self.host else self.host
        self.sock.sendall(
            f"CONNECT {host}:{self.port} HTTP/1.1\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head and len(head) < 4096:
            piece = self.sock.recv(4096)
            if not piece:
                break
            head += piece
        status = head[9:12]
        if status != b"200":
            raise NoTunnel(status == b"403")
