"""What no client sends: it is refused in words, and others go on."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import Iterator

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from raw_requests import refusal, request, rest, send, status
from web import Kernel, Web

pytestmark = pytest.mark.usefixtures("_goes_on")

CHUNKED = b"Transfer-Encoding: chunked"


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ([b"Host: localhost", b"Host: elsewhere"], "There are two Host lines"),
        ([], "HTTP/1.1 requires a Host line"),
        ([b"Host: localhost\0elsewhere"], "A header line has a NUL"),
        ([b"Host: localhost", b"Cookie: a=b\0c"], "A header line has a NUL"),
        (
            [b"Host: localhost", b"Transfer-Encoding : chunked"],
            "A header line has a space before its colon",
        ),
        (
            [b"Host: localhost", b"Content-Length\t: 2"],
            "A header line has a space before its colon",
        ),
    ],
)
def test_lines_that_no_head_may_have(
    web: Web, headers: list[bytes], message: str
) -> None:
    """RFC 9112: 400, and the connection is closed."""
    token = f"Authorization: token {web.token}".encode()
    head = [b"POST /api/kernels HTTP/1.1", token, *headers, b"", b"{}"]
    answer = send(web, b"\r\n".join(head), False)
    assert refusal(answer, 400) == message
    assert web.get("/api/kernels").json == []


def test_a_nul_in_a_token(web: Web) -> None:
    """The text before the NUL is not a token by itself."""
    token = f"Authorization: token {web.token}\0x".encode()
    head = [b"GET /api/kernels HTTP/1.1", b"Host: localhost", token, b"", b""]
    answer = send(web, b"\r\n".join(head), False)
    assert refusal(answer, 400) == "A header line has a NUL"


def test_no_host_in_http_1_0(web: Web) -> None:
    answer = send(web, b"GET /api HTTP/1.0\r\nConnection: close\r\n\r\n", False)
    assert status(answer) == 200


@pytest.mark.parametrize(
    ("headers", "body", "expected"),
    [
        ((b"Content-Length: x",), b"", 400),
        ((b"Content-Length: -1",), b"", 400),
        ((b"Content-Length: 99999999999999999999",), b"", 400),
        ((b"Content-Length: 999999999999",), b"", 413),
        ((CHUNKED,), b"1\r\n{\r\n0\r\n\r\n", 400),
        ((CHUNKED,), b"2\r\n{}0\r\n\r\n", 400),
        ((CHUNKED,), b"2\n{}\n0\n\n", 400),
        ((CHUNKED,), b"-2\r\n{}\r\n0\r\n\r\n", 400),
        ((CHUNKED,), b"fffffffff\r\n{}", 413),
        ((CHUNKED,), b"1;" + b"x" * 300, 400),
        ((CHUNKED,), b"0\r\n" + b"X: y\r\n" * 1000, 400),
        ((CHUNKED, b"Content-Length: 12"), b"2\r\n{}\r\n0\r\n\r\n", 400),
        ((b"Transfer-Encoding: gzip, chunked",), b"0\r\n\r\n", 501),
        ((b"Content-Length: 1",), b"{", 400),
        ((b"Content-Length: 2",), b"\xff\xfe", 400),
    ],
)
def test_bodies(
    web: Web, headers: tuple[bytes, ...], body: bytes, expected: int
) -> None:
    data = request(
        web,
        b"POST /api/kernels HTTP/1.1",
        b"Connection: close",
        *headers,
        body=body,
    )
    answer = web.raw(data)
    assert status(answer) == expected, answer
    assert b'"message"' in answer
    assert web.get("/api/kernels").json == []


def test_chunked(web: Web) -> None:
    """In one piece, and as a peer sends them that has all the time."""
    body = (
        b'2\r\n{"\r\n0F;x=y\r\ntitle":"chunks"\r\n1\r\n}\r\n0\r\nA: b\r\n\r\n'
    )
    data = request(web, b"POST /api/kernels HTTP/1.1", CHUNKED, body=body)
    for size in (len(data), 1):
        with socket.create_connection((web.host, web.port), DEADLINE) as one:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for at in range(0, len(data), size):
                one.sendall(data[at : at + size])
            answer = b""
            while piece := one.recv(65536):
                answer += piece
        assert status(answer) == 201, answer
        assert b"Connection: close" in answer
        kernel = json.loads(answer.partition(b"\r\n\r\n")[2])["id"]
        shown = web.get(f"/hearth/sessions/{kernel}").json
        assert shown["name"] == "chunks"
        web.delete(kernel)


def test_chunks_for_methods_without_a_body(web: Web) -> None:
    data = request(
        web, b"GET /api HTTP/1.1", CHUNKED, body=b"2\r\n{}\r\n0\r\n\r\n"
    )
    assert status(web.raw(data)) == 400


def test_expect_100_continue_is_answered(web: Web) -> None:
    data = request(
        web,
        b"POST /api/kernels HTTP/1.1",
        b"Expect: 100-continue",
        b"Content-Length: 1",
        b"Connection: close",
    )
    with socket.create_connection((web.host, web.port), DEADLINE) as one:
        one.sendall(data)
        assert one.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        one.sendall(b"{")
        assert status(one.recv(65536)) == 400


def test_deep_json(web: Web) -> None:
    answer = web.ask("POST", "/api/kernels", raw=b"[" * 100000)
    assert answer.status == 400


@pytest.mark.parametrize(
    ("noun", "member"), [("fetches", "url"), ("packages", "packages")]
)
def test_json_deeper_than_the_registry_reads(
    web: Web, kernel: Kernel, noun: str, member: str
) -> None:
    raw = f'{{"{member}": {"[" * 200}{"]" * 200}}}'.encode()
    answer = web.ask("POST", f"/hearth/sessions/{kernel.id}/{noun}", raw=raw)
    assert answer.status == 400
    assert "at most 128 levels are permitted" in answer.json["message"]


NO_PLACE = "There is no route "
NO_TEXT = "The path is not UTF-8 text"
NO_KERNEL = "Kernel does not exist: "


@pytest.mark.parametrize(
    ("path", "expected", "message"),
    [
        ("/../../etc/passwd", 404, NO_PLACE + "/etc/passwd"),
        ("/api/kernels/../../../etc/passwd", 404, NO_PLACE + "/etc/passwd"),
        (
            "/kernelspecs/python3/..%2f..%2fetc%2fpasswd",
            404,
            NO_PLACE + "/etc/passwd",
        ),
        ("/kernelspecs/%2e%2e/x", 404, NO_PLACE + "/x"),
        ("/api/kernels/%ff%fe", 400, NO_TEXT),
        ("/api/kernels/%00/x", 400, NO_TEXT),
        ("/api/kernels;x", 400, NO_TEXT),
        ("/api/kernels/" + "x" * 5000, 404, NO_KERNEL + "x" * 100),
        ("/api/kernels/%1b%7f", 400, NO_TEXT),
    ],
)
def test_paths(web: Web, path: str, expected: int, message: str) -> None:
    data = request(web, f"GET {path} HTTP/1.1".encode(), b"Connection: close")
    answer = web.raw(data)
    assert refusal(answer, expected) == message


NO_UTF8 = "is not UTF-8 text; each %XX must be a byte of UTF-8"
LONG = "is longer than 4095 bytes"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("grep=%FF", f"The parameter `grep` of the query {NO_UTF8}"),
        ("grep=%ed%a0%80", f"The parameter `grep` of the query {NO_UTF8}"),
        ("a=1&grep=x%C3&b=%ff", f"The parameter `grep` of the query {NO_UTF8}"),
        (
            "a%fe=1",
            "A parameter of the query, whose name is not UTF-8 text, "
            + NO_UTF8.replace("text, ", ""),
        ),
        ("x=" + "y" * 4094, f"The parameter `x` of the query {LONG}"),
        ("x=" + "y" * 9000 + "&z", f"The parameter `x` of the query {LONG}"),
        (
            "%c3%a9" * 3000 + "=",
            f"The parameter `{'é' * 50}` of the query {LONG}",
        ),
    ],
    ids=["value", "half", "second", "name", "just", "first", "long-name"],
)  # fmt: skip
@pytest.mark.parametrize(
    "path", ["/api/kernels", "/hearth/sessions/x/outputs/1", "/absent"]
)
def test_queries(web: Web, path: str, query: str, message: str) -> None:
    """None is read as if a part of it were not there."""
    line = f"GET {path}?{query} HTTP/1.1".encode()
    answer = web.raw(request(web, line, b"Connection: close"))
    assert refusal(answer, 400) == message


def test_a_query_that_is_read_whole(web: Web) -> None:
    """Parts of the longest that is permitted hide none after them."""
    query = "&".join(f"{name}=" + "y" * 4093 for name in "12")
    query += "&&3=%C3%A9&4&token=wrong"
    line = f"GET /api/kernels?{query} HTTP/1.1\r\nHost: localhost\r\n"
    line += "Connection: close\r\n\r\n"
    assert status(web.raw(line.encode())) == 401
    assert web.token
    line = line.replace("wrong", web.token)
    assert status(web.raw(line.encode())) == 200


@pytest.mark.parametrize("path", ["/api//kernels", "/api/kernels/%00"])
def test_paths_that_libwebsockets_normalises(web: Web, path: str) -> None:
    """It makes one slash of several, and ends a path at a last NUL."""
    data = request(web, f"GET {path} HTTP/1.1".encode(), b"Connection: close")
    assert web.exchange(data, "end").endswith(b"\r\n\r\n[]")


@pytest.mark.parametrize(
    "headers",
    [
        [b"X-Long: " + b"x" * 40000],
        [b"X-Long: " + b"x" * 1000000],
        [b"Cookie: " + b"x" * 100000],
        [b"X-%d: y" % i for i in range(20000)],
    ],
    ids=["just-more", "a-megabyte", "a-known-one", "many"],
)
def test_huge_headers(web: Web, headers: list[bytes]) -> None:
    """libwebsockets closes the connection without an answer."""
    line = b"GET /api HTTP/1.1"
    huge = request(web, line, *headers)
    connection = socket.create_connection((web.host, web.port), DEADLINE)
    with connection:
        connection.sendall(request(web, line))
        assert status(connection.recv(65536)) == 200
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(huge)
            assert rest(connection) == b""
    assert web.get("/api").status == 200


def test_one_connection_for_many(web: Web) -> None:
    connection = web.connect()
    token = {"Authorization": f"token {web.token}"}
    for path in ("api", "api/kernels", "api/none", "api/kernels") * 5:
        connection.request("GET", "/" + path, headers=token)
        response = connection.getresponse()
        response.read()
        assert response.status == (404 if path.endswith("none") else 200)
    connection.close()


def test_pipelined(web: Web) -> None:
    one = request(web, b"GET /api/kernels HTTP/1.1")
    last = request(web, b"GET /api/none HTTP/1.1", b"Connection: close")
    answer = web.raw(one * 4 + last)
    assert answer.count(b"HTTP/1.1 200 OK") == 4, answer
    assert answer.count(b"HTTP/1.1 404") == 1


BODIES = {"GET": b"", "POST": b"{}", "long POST": b"{}" + b" " * 9999}


@pytest.mark.parametrize("second", BODIES)
@pytest.mark.parametrize("first", BODIES)
def test_pipelined_with_bodies(web: Web, first: str, second: str) -> None:
    """The second may be left unanswered: libwebsockets loses its place."""
    pieces = []
    for name in (first, second):
        line = name.split()[-1].encode() + b" /api/kernels/none HTTP/1.1"
        body = BODIES[name]
        length = [b"Content-Length: %d" % len(body)] if body else []
        pieces.append(request(web, line, *length, body=body))
    with socket.create_connection((web.host, web.port), DEADLINE) as one:
        one.sendall(b"".join(pieces))
        assert status(one.recv(65536)) in (404, 405)
        assert web.get("/api").status == 200


def test_a_client_that_goes_before_its_answer(web: Web) -> None:
    data = request(
        web, b"POST /api/kernels HTTP/1.1", b"Content-Length: 2", body=b"{}"
    )
    with socket.create_connection((web.host, web.port), DEADLINE) as one:
        one.sendall(data)
    left = wait_for(lambda: web.get("/api/kernels").json, "its kernel")
    for model in left:
        web.delete(model["id"])


# -- other configurations --


@pytest.fixture(scope="module")
def strict() -> Iterator[Gateway]:
    gateway = Gateway(
        *("--set", "http/connections_max=8"),
        *("--set", "http/request_timeout=1s"),
        *("--set", "http/body_max=64K"),
    )
    try:
        gateway.start()
        yield gateway
    finally:
        gateway.end()


def test_slow_requests_end(strict: Gateway) -> None:
    web = Web.of(strict)
    for start in (
        b"",
        b"GET /api HT",
        request(web, b"POST /api/kernels HTTP/1.1", b"Content-Length: 9"),
    ):
        with socket.create_connection((web.host, web.port), DEADLINE) as one:
            one.sendall(start)
            try:
                assert one.recv(1) == b""
            except ConnectionResetError:
                pass


def test_too_many_connections(strict: Gateway) -> None:
    web = Web.of(strict)

    def is_refused() -> bool:
        answer = web.raw(request(web, b"GET /api HTTP/1.1"), until="}")
        return b" 503 " in answer or not answer

    def is_full() -> bool:
        """Within the second in which idle ones are not closed again."""
        idle = [
            socket.create_connection((web.host, web.port)) for _ in range(8)
        ]
        try:
            return is_refused()
        finally:
            for one in idle:
                one.close()

    wait_for(is_full, "no room for another one")
    wait_for(lambda: not is_refused(), "room for another one")


def test_a_body_that_is_too_long(strict: Gateway) -> None:
    web = Web.of(strict)
    answer = web.raw(
        request(
            web,
            b"POST /api/kernels HTTP/1.1",
            b"Content-Length: 70000",
        )
    )
    assert status(answer) == 413
