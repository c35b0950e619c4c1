"""Frames by which a client ends its WebSocket, as RFC 6455 has them."""

from __future__ import annotations

import socket
import struct

import pytest
from deadline import DEADLINE
from web import Kernel, Web

CLOSE = 0x88
MASK = b"\x01\x02\x03\x04"


def open_socket(web: Web, kernel: str) -> socket.socket:
    lines = [
        f"GET /api/kernels/{kernel}/channels HTTP/1.1",
        "Host: localhost",
        f"Authorization: token {web.token}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version: 13",
    ]
    one = socket.create_connection((web.host, web.port), DEADLINE)
    one.sendall("".join(line + "\r\n" for line in [*lines, ""]).encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += one.recv(1)
    assert head.startswith(b"HTTP/1.1 101 "), head
    return one


def frame(opcode: int, payload: bytes) -> bytes:
    masked = bytes(c ^ MASK[i % 4] for i, c in enumerate(payload))
    return bytes([opcode, 0x80 | len(payload)]) + MASK + masked


def closing(web: Web, kernel: str, payload: bytes) -> bytes:
    """The payload of the frame that answers this close frame."""
    with open_socket(web, kernel) as one:
        one.sendall(frame(CLOSE, payload))
        answer = b""
        while piece := one.recv(65536):
            answer += piece
            if CLOSE in answer and len(answer) > answer.index(CLOSE) + 1:
                break
    at = answer.rindex(CLOSE)
    return answer[at + 2 : at + 2 + answer[at + 1]]


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        (b"", None),
        (struct.pack(">H", 1000) + b"good bye", 1000),
        (struct.pack(">H", 3000), 3000),
        (struct.pack(">H", 4999) + "über".encode(), 4999),
        (b"\x03", 1002),
        (struct.pack(">H", 0), 1002),
        (struct.pack(">H", 999), 1002),
        (struct.pack(">H", 1005), 1002),
        (struct.pack(">H", 5000), 1002),
        (struct.pack(">H", 65535), 1002),
        (struct.pack(">H", 1000) + b"\xff\xfe", 1007),
        (struct.pack(">H", 1000) + b"\xc3", 1007),
    ],
)
def test_close_frames(
    web: Web, kernel: Kernel, payload: bytes, status: int | None
) -> None:
    answer = closing(web, kernel.id, payload)
    if status is None:
        assert answer == b""
    else:
        assert struct.unpack(">H", answer[:2])[0] == status, answer
