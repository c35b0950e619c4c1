"""Heads of requests and answers: what is doubtful is refused."""

from __future__ import annotations

import socket

import pytest
from hearth_downloads.core.http_head import (
    HEAD_MAX,
    HeadFault,
    parse_answer,
    parse_request,
    read_head,
)


def test_reads_connect() -> None:
    request = parse_request(b"CONNECT Index.Example:443 HTTP/1.1\r\nHost: x")
    assert (request.scheme, request.host, request.port) == (
        "https",
        "index.example",
        443,
    )


def test_reads_a_url_and_writes_it_anew() -> None:
    request = parse_request(
        b"GET http://index.example:81/a%20b?c HTTP/1.1\r\n"
        b"Host: other.example\r\nAccept: */*\r\nConnection: keep-alive\r\n"
        b"Proxy-Authorization: x\r\nUpgrade: h2c\r\nContent-Length: 0"
    )
    assert (request.host, request.port) == ("index.example", 81)
    assert request.encode() == (
        b"GET /a%20b?c HTTP/1.1\r\nHost: index.example:81\r\n"
        b"Accept: */*\r\nConnection: close\r\n\r\n"
    )


def test_reads_addresses_of_ipv6() -> None:
    request = parse_request(b"GET http://[::1]/ HTTP/1.1")
    assert (request.host, request.port) == ("::1", 80)
    assert b"Host: [::1]\r\n" in request.encode()


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"GET / HTTP/1.1",
        b"GET https://index.example/ HTTP/1.1",
        b"GET http:///x HTTP/1.1",
        b"GET http://a@index.example/ HTTP/1.1",
        b"GET http://index.example:0/ HTTP/1.1",
        b"GET http://index.example:65536/ HTTP/1.1",
        b"GET http://index.example:/ HTTP/1.1",
        b"GET http://index.example#x/ HTTP/1.1",
        b"GET http://index.example\\@other/ HTTP/1.1",
        b"GET  http://index.example/ HTTP/1.1",
        b"GET http://index.example/ HTTP/2",
        b"GET http://index.example/ x HTTP/1.1",
        b"get http://index.example/ HTTP/1.1",
        b"POST http://index.example/ HTTP/1.1",
        b"OPTIONS * HTTP/1.1",
        b"CONNECT index.example HTTP/1.1",
        b"CONNECT http://index.example:443 HTTP/1.1",
        b"CONNECT index.example:443/ HTTP/1.1",
        b"CONNECT :443 HTTP/1.1",
        b"GET http://index.example/ HTTP/1.1\r\nContent-Length: 5",
        b"GET http://index.example/ HTTP/1.1\r\nContent-Length: 0, 5",
        b"GET http://index.example/ HTTP/1.1\r\nTransfer-Encoding: chunked",
        b"GET http://index.example/ HTTP/1.1\r\nContent-Length: 0\r\n"
        b"Transfer-Encoding: chunked",
        b"GET http://index.example/ HTTP/1.1\r\nA : b",
        b"GET http://index.example/ HTTP/1.1\r\nA: b\r\n c",
        b"GET http://index.example/ HTTP/1.1\r\nA: b\nX: y",
        b"GET http://index.example/ HTTP/1.1\r\nA: \0",
        b"GET http://index.example/ HTTP/1.1\r\nno field",
    ],
)
def test_refuses_a_request(head: bytes) -> None:
    with pytest.raises(HeadFault):
        parse_request(head)


URL = b"POST http://index.example/a HTTP/1.1\r\n"


def test_reads_a_post_where_it_is_taken() -> None:
    head = URL + b"Content-Length: 5\r\nContent-Encoding: gzip"
    request = parse_request(head, True)
    assert request.body == 5
    assert request.encode() == (
        b"POST /a HTTP/1.1\r\nHost: index.example\r\n"
        b"Content-Encoding: gzip\r\nContent-Length: 5\r\n"
        b"Connection: close\r\n\r\n"
    )
    with pytest.raises(HeadFault):
        parse_request(head)


@pytest.mark.parametrize(
    "fields",
    [
        b"A: b",
        b"Content-Length: 5\r\nContent-Length: 5",
        b"Content-Length: 5, 5",
        b"Content-Length: +5",
        b"Content-Length: -1",
        b"Content-Length: 0x5",
        b"Content-Length: \xb2",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: chunked",
    ],
)
def test_refuses_a_post_without_a_plain_length(fields: bytes) -> None:
    with pytest.raises(HeadFault, match="body has no length"):
        parse_request(URL + fields, True)


def test_only_a_post_has_a_body() -> None:
    head = b"GET http://index.example/ HTTP/1.1\r\nContent-Length: 5"
    with pytest.raises(HeadFault):
        parse_request(head, True)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (
            b"POST http://index.example/ HTTP/1.1",
            "a request has the method POST, and only CONNECT, GET and HEAD are "
            "taken",
        ),
        (
            b"GET /simple/ HTTP/1.1",
            "a request with GET names no URL that begins with http:// and a "
            "host",
        ),
        (
            b"HEAD https://index.example/ HTTP/1.1",
            "a request with HEAD names no URL that begins with http:// and a "
            "host",
        ),
    ],
)
def test_says_which_requests_are_taken(line: bytes, why: str) -> None:
    with pytest.raises(HeadFault) as refused:
        parse_request(line)
    assert str(refused.value) == why


def test_passes_an_answer_on_with_its_end() -> None:
    status, head = parse_answer(
        b"HTTP/1.1 302 Found\r\nLocation: x\r\nConnection: keep-alive"
    )
    assert status == 302
    assert head == (
        b"HTTP/1.1 302 Found\r\nLocation: x\r\nConnection: close\r\n\r\n"
    )


@pytest.mark.parametrize(
    "head", [b"", b"HTTP/1.1 x", b"HTTP/2 200", b"HTTP/1.1 200 OK\r\nx"]
)
def test_refuses_an_answer(head: bytes) -> None:
    with pytest.raises(HeadFault):
        parse_answer(head)


def test_bounds_a_head() -> None:
    mine, theirs = socket.socketpair()
    counted: list[int] = []
    with mine, theirs:
        theirs.sendall(b"GET / HTTP/1.1\r\n\r\nrest")
        assert read_head(mine, counted.append) == (b"GET / HTTP/1.1", b"rest")
        assert sum(counted) == 22
        theirs.setblocking(False)
        sent = theirs.send(b"x" * (HEAD_MAX + 1))
        assert sent > HEAD_MAX
        with pytest.raises(HeadFault, match="more than"):
            read_head(mine, counted.append)
