"""Heads of HTTP/1.1, read strictly: what is doubtful is refused.

A request has no body here: a download has none, and one would be a way to hide
a second request. Git alone asks with POST, whose body has a plain length.
"""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass
from typing import Callable

from hearth_downloads.core.addresses import PORTS

HEAD_MAX = 64 * 1024
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*")
_REQUEST = re.compile(r"([A-Z]+) (\S+) HTTP/1\.[01]")
_URL = re.compile(r"http://([^/?#@]+)([/?][^#]*)?", re.IGNORECASE)
_LENGTH = re.compile(r"[0-9]{1,18}", re.ASCII)
_PLACE = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::([0-9]{1,5}))?")
# Fields about one connection, and fields that the proxy writes itself.
_DROPPED = frozenset(
    (
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "upgrade",
    )
)
_DROPPED_OF_ANSWER = frozenset(("connection", "keep-alive", "proxy-connection"))


class HeadFault(Exception):
    """A head that cannot be read, or asks for what is not done here."""


@dataclass(frozen=True)
class Request:
    """The head of a request: its method, host and target."""

    method: str
    scheme: str
    host: str
    port: int
    target: str
    fields: list[tuple[str, str]]
    body: int = 0  # bytes that follow, of a POST

    @property
    def place(self) -> str:
        """Return HOST:PORT, for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def encode(self) -> bytes:
        """Return the head that the host gets, of a plain request."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        if self.port != PORTS[self.scheme]:
            host = f"{host}:{self.port}"
        lines = [
            f"{self.method} {self.target} HTTP/1.1",
            f"Host: {host}",
            *(
                f"{name}: {value}"
                for name, value in self.fields
                if name.lower() not in _DROPPED
            ),
            *([f"Content-Length: {self.body}"] * (self.method == "POST")),
            "Connection: close",
        ]
        return _join(lines)


def _join(lines: list[str]) -> bytes:
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def read_head(
    connection: socket.socket, count: Callable[[int], None], got: bytes = b""
) -> tuple[bytes, bytes]:
    """Return a head without its empty line, and what came after it.

    `got` is what was read before.
    """
    while b"\r\n\r\n" not in got:
        if len(got) > HEAD_MAX:
            raise HeadFault(f"a head has more than {HEAD_MAX} bytes")
        piece = connection.recv(HEAD_MAX)
        if not piece:
            raise ConnectionResetError("the connection ended in a head")
        count(len(piece))
        got += piece
    head, _, rest = got.partition(b"\r\n\r\n")
    if len(head) > HEAD_MAX:
        raise HeadFault(f"a head has more than {HEAD_MAX} bytes")
    return head, rest


def _read_lines(head: bytes) -> tuple[str, list[tuple[str, str]]]:
    first, *others = head.decode("latin-1").split("\r\n")
    fields = []
    for line in (first, *others):
        if any(letter < " " and letter != "\t" for letter in line):
            raise HeadFault("a head has a control character")
    for line in others:
        found = _FIELD.fullmatch(line)
        if not found:
            raise HeadFault("a line of a head is no field")
        fields.append((found[1], found[2]))
    return first, fields


def parse_request(head: bytes, takes_posts: bool = False) -> Request:
    """Return the request: CONNECT for https, GET or HEAD of a URL of http.

    POST, too, if such requests are taken.
    """
    first, fields = _read_lines(head)
    found = _REQUEST.fullmatch(first)
    if not found:
        raise HeadFault("a request has no line of HTTP/1.1")
    method, target = found[1], found[2]
    is_post = takes_posts and method == "POST"
    body = _read_length(fields) if is_post else 0
    if not is_post:
        _check_body(fields)
    if method == "CONNECT":
        host, port = split_place(target, None)
        return Request(method, "https", host, port, "", fields)
    url = _URL.fullmatch(target)
    if method not in ("GET", "HEAD") and not is_post:
        raise HeadFault(
            f"a request has the method {method}, and only CONNECT, GET and "
            "HEAD are taken"
        )
    if not url:
        raise HeadFault(
            f"a request with {method} names no URL that begins with http:// "
            "and a host"
        )
    host, port = split_place(url[1], PORTS["http"])
    target = url[2] or "/"
    if target.startswith("?"):
        target = f"/{target}"
    return Request(method, "http", host, port, target, fields, body)


def _read_length(fields: list[tuple[str, str]]) -> int:
    """Return the length of a body; HeadFault if it has no plain one."""
    lengths = [v for name, v in fields if name.lower() == "content-length"]
    if any(name.lower() == "transfer-encoding" for name, _ in fields):
        raise HeadFault("a request's body has no length")
    if len(lengths) != 1 or not _LENGTH.fullmatch(lengths[0]):
        raise HeadFault("a request's body has no length")
    return int(lengths[0])


def _check_body(fields: list[tuple[str, str]]) -> None:
    for name, value in fields:
        length = name.lower() == "content-length"
        if name.lower() == "transfer-encoding" or (length and value != "0"):
            raise HeadFault("a request has a body, and none is taken")


def split_place(text: str, default: int | None) -> tuple[str, int]:
    """Return host and port of HOST:PORT; an address of IPv6 has brackets."""
    found = _PLACE.fullmatch(text.lower())
    if not found or (found[3] is None and default is None):
        raise HeadFault("a request names no host and port")
    port = int(found[3]) if found[3] is not None else default or 0
    if not 0 < port < 65536:
        raise HeadFault(f"a request names the port {port}")
    return found[1] or found[2], port


def parse_answer(head: bytes) -> tuple[int, bytes]:
    """Return the status, and the head as the client gets it."""
    first, fields = _read_lines(head)
    found = re.fullmatch(r"HTTP/1\.[01] ([1-5][0-9]{2})(?: .*)?", first)
    if not found:
        raise HeadFault("an answer has no line of HTTP/1.1")
    kept = [
        f"{name}: {value}"
        for name, value in fields
        if name.lower() not in _DROPPED_OF_ANSWER
    ]
    return int(found[1]), _join([first, *kept, "Connection: close"])
