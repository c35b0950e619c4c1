"""Upgrades that no client asks for, or not so; others go on."""

from __future__ import annotations

from typing import Optional

import pytest
from raw_requests import refusal, request, send, status
from web import Kernel, Web

pytestmark = pytest.mark.usefixtures("_goes_on")


def test_an_upgrade_to_http2_is_refused(web: Web) -> None:
    """In words, and the connection is closed."""
    answer = send(
        web,
        request(
            web,
            b"GET /api/kernels HTTP/1.1",
            b"Connection: Upgrade, HTTP2-Settings",
            b"Upgrade: h2c",
            b"HTTP2-Settings: AAMAAABkAAQAAP__",
        ),
        False,
    )
    assert "HTTP/1.1 needs no such line" in refusal(answer, 400)


HANDSHAKE = {
    b"Upgrade": b"websocket",
    b"Connection": b"keep-alive, Upgrade",
    b"Sec-WebSocket-Key": b"AAAAAAAAAAAAAAAAAAAAAA==",
    b"Sec-WebSocket-Version": b"13",
}


@pytest.mark.parametrize(
    ("name", "value", "expected", "message"),
    [
        (b"Upgrade", None, 400, 'Can "Upgrade" only to "WebSocket"'),
        (b"Upgrade", b"h2c", 400, 'Can "Upgrade" only to "WebSocket"'),
        (b"Connection", None, 400, '"Connection" must be "Upgrade"'),
        (b"Connection", b"close", 400, '"Connection" must be "Upgrade"'),
        (b"Sec-WebSocket-Key", None, 400, "Sec-WebSocket-Key"),
        (b"Sec-WebSocket-Key", b"A" * 300, 400, "Sec-WebSocket-Key"),
        (b"Sec-WebSocket-Key", b"AAA", 400, "Sec-WebSocket-Key"),
        (b"Sec-WebSocket-Key", b"!" * 24, 400, "Sec-WebSocket-Key"),
        (b"Sec-WebSocket-Key", b"A" * 24, 400, "Sec-WebSocket-Key"),
        (b"Sec-WebSocket-Version", None, 426, "13"),
        (b"Sec-WebSocket-Version", b"8", 426, "13"),
        (b"Sec-WebSocket-Version", b"x", 426, "13"),
    ],
)
def test_half_handshakes(
    web: Web,
    kernel: Kernel,
    name: bytes,
    value: Optional[bytes],
    expected: int,
    message: str,
) -> None:
    headers = {**HANDSHAKE, name: value}
    lines = [b"%s: %s" % (n, v) for n, v in headers.items() if v is not None]
    path = f"/api/kernels/{kernel.id}/channels"
    data = request(web, f"GET {path} HTTP/1.1".encode(), *lines)
    answer = web.raw(data, until="}")
    assert message in refusal(answer, expected)
    head = answer.partition(b"\r\n\r\n")[0]
    assert (b"Sec-WebSocket-Version: 13" in head) is (expected == 426)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"POST %s HTTP/1.1", "A WebSocket begins with GET"),
        (b"GET %s HTTP/1.0", "A WebSocket begins with HTTP/1.1"),
    ],
)
def test_handshakes_by_another_line(
    web: Web, kernel: Kernel, line: bytes, message: str
) -> None:
    path = f"/api/kernels/{kernel.id}/channels".encode()
    lines = [b"%s: %s" % pair for pair in HANDSHAKE.items()]
    answer = web.raw(request(web, line % path, *lines), until="}")
    assert message == refusal(answer, 400)


def test_a_whole_handshake(web: Web, kernel: Kernel) -> None:
    """The one that the others are half of."""
    path = f"/api/kernels/{kernel.id}/channels"
    lines = [b"%s: %s" % pair for pair in HANDSHAKE.items()]
    data = request(web, f"GET {path} HTTP/1.1".encode(), *lines)
    assert status(web.exchange(data, "Sec-WebSocket-Accept")) == 101


def test_a_query_of_a_handshake(web: Web, kernel: Kernel) -> None:
    line = f"GET /api/kernels/{kernel.id}/channels?session_id=%FF HTTP/1.1"
    lines = [b"%s: %s" % pair for pair in HANDSHAKE.items()]
    data = request(web, line.encode(), *lines)
    assert status(web.exchange(data, "\r\n\r\n")) == 400
