"""The worker that reaches a tool server by its URL, alone: servers that do not
behave."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from typing import Callable

import pytest
from fake_mcp import KEY, FakeMcp, Handler
from tools_worker import Begin, Worker, workers


@pytest.fixture
def begin() -> Iterator[Begin]:
    with workers() as make:
        yield make


def _redirect(status: int, where: str) -> Callable[[Handler], None]:
    return lambda handler: handler.send(status, Location=where)


def _events(*lines: bytes) -> Callable[[Handler], None]:
    def play(handler: Handler) -> None:
        handler.begin_events()
        for line in lines:
            handler.wfile.write(line)

    return play


def _endless(piece: bytes) -> Callable[[Handler], None]:
    def play(handler: Handler) -> None:
        handler.begin_events()
        try:
            while True:
                handler.wfile.write(piece)
        except OSError:
            handler.server.fake.note_left(handler.asked.message["id"])

    return play


def _raw(text: bytes) -> Callable[[Handler], None]:
    return lambda handler: handler.connection.sendall(text)


def _body(text: str, kind: str = "application/json") -> Callable[..., None]:
    return lambda handler: handler.send(200, kind, text.encode())


def _deep(depth: int) -> Callable[[Handler], None]:
    def play(handler: Handler) -> None:
        text = '{"jsonrpc":"2.0","id":%d,"result":{"a":%s%s}}'
        number = handler.asked.message["id"]
        _body(text % (number, "[" * depth, "]" * depth))(handler)

    return play


def _head(handler: Handler) -> str:
    """Return the beginning of an answer."""
    return f'{{"jsonrpc":"2.0","id":{handler.asked.message["id"]},'


def _reset(handler: Handler) -> None:
    now = struct.pack("ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)
    os.close(handler.connection.detach())


def _many_heads(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for i in range(1000):
        handler.wfile.write(b"X-%d: %s\r\n" % (i, b"y" * 1000))


OAUTH = b'{"error": "invalid_token", "error_description": "it has expired"}'

HOSTILE = {
    "401": (lambda h: h.send(401), "(401); `headers` must have the right"),
    "403": (lambda h: h.error(403, -1, "no scope"), "lacks a right: no scope"),
    "404": (
        lambda h: h.send(404),
        "has no endpoint there (404); `url` must be that of streamable HTTP",
    ),
    "405": (lambda h: h.send(405), "takes no POST there (405)"),
    "429": (
        lambda h: h.send(429, Retry_After="7"),
        "too many requests (429), and wants a pause of 7 s",
    ),
    "500": (lambda h: h.send(500), "has a failure of its own (500)"),
    "503": (
        lambda h: h.error(503, 1, "\x1b[31mred\nline"),
        "has a failure of its own (503): red line",
    ),
    "503 later": (
        lambda h: h.send(503, Retry_After="7"),
        "has a failure of its own (503), and wants a pause of 7 s",
    ),
    "a reason": (
        lambda h: h.send(400, "text/plain", b"no\nquota"),
        "says that the request is wrong (400): no quota",
    ),
    "OAuth": (
        lambda h: h.send(401, "application/json", OAUTH),
        "must have the right Authorization: it has expired",
    ),
    "302": (
        _redirect(302, "/other?key=hidd3n"),
        "redirects to /other (302), which is no answer; `url` must be where",
    ),
    "away": (
        _redirect(307, "http://127.0.0.2:1/mcp"),
        "redirects to http://127.0.0.2:1 (307), and keys are not taken there",
    ),
    "scheme": (_redirect(308, "//other/mcp"), "and keys are not taken there"),
    "nowhere": (_redirect(307, ""), "redirects (307)"),
    "around": (_redirect(307, "/mcp"), "redirects without end"),
    "html": (_body("<p>", "text/html"), "answers with text/html; an endpoint"),
    "no type": (
        lambda h: h.send(200, body=b"{}"),
        "answers with no type; an endpoint",
    ),
    "202": (lambda h: h.send(202), "answers without a body (202)"),
    "empty": (
        lambda h: h.send(200, "application/json"),
        "answers without a body (200)",
    ),
    "gzip": (
        lambda h: h.send(
            200, "application/json", b"x", Content_Encoding="gzip"
        ),
        "answers with the encoding gzip, which was not asked for",
    ),
    "no JSON": (_body("{"), "sends what is no JSON"),
    "NaN": (_body('{"jsonrpc":"2.0","x":NaN}'), "sends what is no JSON"),
    "binary": (
        lambda h: h.send(200, "application/json", b"\xff\xfe\x00"),
        "sends what is no JSON",
    ),
    "deep": (_deep(130), "it is nested too deeply"),
    "deeper": (_deep(100_000), "it is nested too deeply"),
    "objects": (_body('{"a":' * 9000), "it is nested too deeply"),
    "a deep error": (
        lambda h: h.send(500, "application/json", b"[" * 9000),
        "has a failure of its own (500)",
    ),
    "digits": (
        _body('{"jsonrpc":"2.0","x":' + "9" * 4200 + "}"),
        "sends what is no JSON",
    ),
    "a list": (_body("[]"), "is no message of JSON-RPC 2.0"),
    "another id": (
        _body('{"jsonrpc":"2.0","id":"x","result":{}}'),
        "answers with another id",
    ),
    "other ids": (
        lambda h: (h.begin_events(), h.send_event({"id": 0, "result": {}})),
        "answers with another id",
    ),
    "no result": (
        lambda h: h.send_json({"id": h.asked.message["id"]}),
        "answers with no result, and no error of a text",
    ),
    "infinity": (
        lambda h: _body(f'{_head(h)}"result":{{"x":1e999}}}}')(h),
        "sends a number that JSON cannot have",
    ),
    "half a pair": (
        lambda h: h.result({"content": [], "x": "cut \ud83d"}),
        r"sends half of a surrogate pair, \ud83d, which is no character",
    ),
    "half a pair in an error": (
        lambda h: h.error(200, -1, "cut \ud83d"),
        r"sends half of a surrogate pair, \ud83d, which is no character",
    ),
    "cut": (
        _raw(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            b"Content-Length: 9999\r\n\r\n{"
        ),
        "ends its answer before the end",
    ),
    "cut chunk": (
        _raw(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\nff\r\ndata: {"
        ),
        "ends its answer before the end",
    ),
    "no HTTP": (_raw(b"SSH-2.0-x\r\n"), "answers with what is no HTTP"),
    "reset": (_reset, "breaks off the connection: Connection reset by peer"),
    "closed": (_raw(b""), "closes the connection without an answer"),
    "heads": (_many_heads, "answers with what is no HTTP"),
    "bad event": (_events(b"data: {no\n\n"), "sends what is no JSON"),
    "no answer": (_events(b": x\n\n"), "ends its answer before the end"),
    "endless line": (_endless(b"x" * 65536), "an event of more than 32 MiB"),
    "endless event": (
        _endless(b"data: " + b"x" * 65536 + b"\n"),
        "an event of more than 32 MiB",
    ),
    "task": (
        lambda h: h.result({"resultType": "task", "taskId": "1"}),
        "gives a task, which code cannot use",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def hostile() -> Iterator[tuple[FakeMcp, Worker]]:
    """A server whose calls are scripts, and its worker."""
    with FakeMcp("modern") as made:
        worker = Worker(made.url)
        try:
            yield made, worker.start()
        finally:
            worker.end()


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_server(hostile: tuple[FakeMcp, Worker], kind: str) -> None:
    """Each has a sentence, and the next call is served."""
    server, worker = hostile
    play, expected = HOSTILE[kind]
    with server.script("tools/call", play):
        said = worker.fault()
    assert said.startswith(f"the server weather ({server.origin}) "), said
    assert expected in said
    assert KEY not in said
    assert "\n" not in said
    assert "\x1b" not in said
    assert "result" in worker.call("add", a=1, b=1)


ECHOES = {
    "an error": lambda h, text: h.error(403, -1, text),
    "a plain error": lambda h, text: h.send(400, "text/plain", text.encode()),
    "an error of a call": lambda h, text: h.error(200, -1, text),
    "a type": lambda h, text: h.send(200, f"text/{text}", b"x"),
    "a redirect": lambda h, text: h.send(302, Location=f"/{text}"),
    "another origin": lambda h, text: h.send(307, Location=f"http://{text}/"),
}


@pytest.mark.parametrize("kind", ECHOES)
def test_a_server_that_echoes_a_key(begin: Begin, kind: str) -> None:
    """Neither the key nor a part of it is in a sentence."""
    with FakeMcp("modern") as server:
        worker = begin(f"{server.url}?key=hidd3n-one").start()
        for text in (KEY, "s3cret", "hidd3n-one", "." * 96 + "s3cret"):
            echo = text.replace(" ", "")

            def play(handler: Handler, echo: str = echo) -> None:
                ECHOES[kind](handler, echo)

            with server.script("tools/call", play):
                said = worker.fault()
            assert "s3c" not in said
            assert "hidd3n" not in said
            assert "***" in said or len(text) > 100
        assert "result" in worker.call("add", a=1, b=1)


def test_a_variable_that_is_not_set(begin: Begin) -> None:
    with FakeMcp("modern") as server:
        worker = begin(server.url, missing="TICKETS_KEY").start()
        said = "; the variable TICKETS_KEY of its entry is not set"
        for status, is_named in ((401, True), (403, True), (400, False)):
            refuse = _refuse_as(status)
            with server.script("tools/call", refuse):
                assert worker.fault().endswith(said) == is_named


def _refuse_as(status: int) -> Callable[[Handler], None]:
    return lambda handler: handler.send(status)


def test_a_body_without_end(hostile: tuple[FakeMcp, Worker]) -> None:
    server, worker = hostile

    def play(handler: Handler) -> None:
        handler.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
        )
        try:
            while True:
                handler.wfile.write(b" " * 65536)
        except OSError:
            server.note_left(handler.asked.message["id"])

    with server.script("tools/call", play):
        assert "answers with more than 32768 KiB" in worker.fault()
    server.wait(lambda: worker.last in server.left)


def test_brackets_in_texts(hostile: tuple[FakeMcp, Worker]) -> None:
    """Only those outside of texts are counted."""
    server, worker = hostile
    text = '"\\[[' * 500

    def play(handler: Handler) -> None:
        handler.result({"content": [], "x": text})

    with server.script("tools/call", play):
        assert worker.call("add")["result"]["x"] == text


def test_a_redirect_within_the_origin(
    hostile: tuple[FakeMcp, Worker],
) -> None:
    server, worker = hostile
    once = [True]

    def play(handler: Handler) -> None:
        if once.pop() if once else False:
            handler.send(307, Location=f"{server.origin}/mcp/")
        else:
            server.answer(handler)

    with server.script("tools/call", play):
        assert "result" in worker.call("add", a=1, b=1)
