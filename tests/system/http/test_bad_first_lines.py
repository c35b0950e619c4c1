"""First lines that no client sends: they are refused, and others go on."""

from __future__ import annotations

import socket

import pytest
from deadline import DEADLINE
from raw_requests import refusal, request, rest, send, status
from web import Web

pytestmark = pytest.mark.usefixtures("_goes_on")

GREETING = b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03" + b"\x5a" * 502
# libwebsockets answers these by itself, or closes the connection.
NO_LINES = [
    b"GET",
    b"\0\0\0\0",
    b"\x16\x03\x01",
    GREETING,
    b"\xff\xfe\xfd /api HTTP/1.1",
    b"BREW /api/kernels HTTP/1.1",
    b"GeT-IT /api/kernels HTTP/1.1",
    b"G\xc3\x8bT /api/kernels HTTP/1.1",
    b"GET api/kernels HTTP/1.1",
    b"GET http://localhost/api HTTP/1.1",
    b"GET  HTTP/1.1",
    b"GET /api/kernels/%zz HTTP/1.1",
    b"GET /api/kernels?x=%4 HTTP/1.1",
    b"TRACE /api HTTP/1.1",
    b"OPTIONS * HTTP/1.1",
    b"PRI * HTTP/2.0",
]
# These reach the gateway, which answers.
HALF_LINES = [
    b"GET /api/kernels",
    b"GET /api/kernels ",
    b"GET /api/kernels HTTP/0.9",
    b"GET /api/kernels HTTP/2.0",
    b"GET /api/kernels HTTP/11",
    b"GET /api/kernels HTTP/1.1x",
    b"GET /api/kernels HTTP/1.x",
    b"GET /api/kernels HTTP/1./",
    b"GET /api/kernels http/1.1",
    b"GET /api/kernels FTP/1.1",
    b"GET /api kernels HTTP/1.1",
    b"GET /api/kernels?token=x y HTTP/1.1",
    b"GET /api/kernels/x%0a HTTP/1.1",
    b"GET /api/kernels%0d HTTP/1.1",
    b"GET /api/kernels%0D%0ASet-Cookie:%20a=b HTTP/1.1",
    b"GET /api/kernels%0aAuthorization:%20token%20x HTTP/1.1",
    b"GET /api/kernels?x=%0d%0aSet-Cookie:%20a=b HTTP/1.1",
    b"DELETE /api/kernels/%0a HTTP/1.1",
    b"POST /api/kernels%0d%0a HTTP/1.1",
]
FIRST_LINE = (
    "The first line of a request is METHOD /PATH HTTP/1.1, without a line feed "
    "(%0a, %0d) in the path"
)
SHIELDS = [
    b"Content-Security-Policy: default-src 'none'; "
    b"frame-ancestors 'self'; sandbox",
    b"X-Content-Type-Options: nosniff",
    b"Referrer-Policy: no-referrer",
    b"Cache-Control: no-store",
    b"Content-Type: application/json",
    b"Connection: close",
]


def check_closed(answer: bytes) -> None:
    """libwebsockets' page, or nothing."""
    if answer:
        assert status(answer) == 403
        assert b"content-type: text/html" in answer.lower()


def check_no_line(answer: bytes) -> None:
    """As any refusal, and the connection's last word."""
    assert refusal(answer, 400) == FIRST_LINE, answer
    head, _, body = answer.partition(b"\r\n\r\n")
    assert set(SHIELDS) <= set(head.split(b"\r\n"))
    assert body.endswith(b'"reason":"Bad Request"}')


@pytest.mark.parametrize("is_half", [False, True], ids=["waits", "half-closed"])
@pytest.mark.parametrize("line", NO_LINES)
def test_malformed_request_lines(web: Web, line: bytes, is_half: bool) -> None:
    answer = send(web, request(web, line, b"Connection: close"), is_half)
    check_closed(answer)


@pytest.mark.parametrize("line", HALF_LINES)
def test_lines_without_a_version(web: Web, line: bytes) -> None:
    """A path that is cut at a line feed reaches no route, nor does the rest of
    it."""
    check_no_line(send(web, request(web, line), False))


@pytest.mark.parametrize("line", [*NO_LINES, *HALF_LINES])
def test_a_bad_first_line_after_a_valid_request(web: Web, line: bytes) -> None:
    """On a connection that was used, and in one piece with what was right."""
    right = request(web, b"GET /api HTTP/1.1")
    check = check_closed if line in NO_LINES else check_no_line
    with socket.create_connection((web.host, web.port), DEADLINE) as one:
        one.sendall(right)
        assert status(one.recv(65536)) == 200
        one.sendall(request(web, line))
        check(rest(one))
    answer = send(web, right + request(web, line), False)
    assert status(answer) == 200
    _, _, behind = answer.partition(b"}")
    check(behind)


def test_a_first_line_that_comes_bit_by_bit(web: Web) -> None:
    line = request(web, b"GET /api/kernels%0aX: HTTP/1.1")
    with socket.create_connection((web.host, web.port), DEADLINE) as one:
        one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(len(line)):
            one.sendall(line[at : at + 1])
        check_no_line(rest(one))


def test_a_method_in_small_letters(web: Web) -> None:
    """libwebsockets makes no difference."""
    line = b"get /api/kernels HTTP/1.1"
    answer = send(web, request(web, line, b"Connection: close"), False)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("version", [b"HTTP/1.0", b"HTTP/1.1", b"HTTP/1.2"])
def test_versions(web: Web, version: bytes) -> None:
    line = b"GET /api/kernels " + version
    answer = send(web, request(web, line, b"Connection: close"), True)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


def test_an_upgrade_to_an_unknown_protocol(web: Web) -> None:
    """libwebsockets' answer."""
    line = request(
        web,
        b"GET /api/kernels HTTP/1.1",
        b"Connection: Upgrade",
        b"Upgrade: IRC/6.9",
    )
    answer = send(web, line, False)
    assert status(answer) == 403, answer
    check_closed(answer)


def test_connect(web: Web) -> None:
    answer = send(web, request(web, b"CONNECT localhost:22 HTTP/1.1"), False)
    assert answer == b""
