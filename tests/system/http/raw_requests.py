"""Requests as bytes, for what no client sends, and their answers."""

from __future__ import annotations

import json
import socket

from deadline import DEADLINE
from web import Web


def request(web: Web, line: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    token = f"Authorization: token {web.token}".encode()
    lines = [line, b"Host: localhost", token, *headers, b"", body]
    return b"\r\n".join(lines)


def status(answer: bytes) -> int:
    assert answer.startswith((b"HTTP/1.1 ", b"HTTP/1.0 ")), answer
    return int(answer.split()[1])


def refusal(answer: bytes, expected: int) -> str:
    """The message of an answer that refuses, in the form that all have."""
    assert status(answer) == expected, answer
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"Content-Length: %d" % len(body) in head
    found = json.loads(body)
    assert set(found) - {"ename"} == {"message", "reason"}
    reason = head.partition(b"\r\n")[0].decode().split(" ", 2)[2]
    assert found["reason"] == reason
    message: str = found["message"]
    return message


def send(web: Web, data: bytes, is_half: bool) -> bytes:
    with socket.create_connection((web.host, web.port), DEADLINE) as one:
        one.sendall(data)
        if is_half:
            one.shutdown(socket.SHUT_WR)
        return rest(one)


def rest(connection: socket.socket) -> bytes:
    """All that comes until the other side closes."""
    answer = b""
    while piece := connection.recv(65536):
        answer += piece
    return answer
