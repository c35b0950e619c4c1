"""Files that come in one body: each has a bound, and all have one together."""

from __future__ import annotations

import base64
import json
import os
import socket
from collections.abc import Iterator

import pytest
from deadline import DEADLINE, wait_for
from harness import Gateway
from test_holding import held_bytes
from web import Answer, Kernel, Web

from workspace import Workspace, refused

pytestmark = pytest.mark.usefixtures("empty")

MIB = 1 << 20
BLOCK = os.urandom(3 * MIB)
CODED = base64.b64encode(BLOCK)  # of 4 MiB
SMALL_MAX = 1 * MIB


def put(
    workspace: Workspace, name: str, pieces: Iterator[bytes], size: int
) -> Answer:
    """Piece by piece: the test need not have it in memory, either."""
    connection = workspace.web.connect()
    try:
        connection.putrequest("PUT", f"{workspace.api}/{name}")
        connection.putheader("Authorization", f"token {workspace.web.token}")
        connection.putheader("Content-Length", str(size))
        connection.endheaders()
        for piece in pieces:
            connection.send(piece)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def model(content_first: bool) -> tuple[bytes, bytes]:
    """Return the text before a content in base64, and after it."""
    kind = b'"type":"file","format":"base64"'
    if content_first:
        return b'{"content":"', b'",' + kind + b"}"
    return b"{" + kind + b',"content":"', b'"}'


@pytest.mark.parametrize("kind", ["text", "notebook"])
def test_contents(workspace: Workspace, kind: str) -> None:
    body: dict[str, object]
    if kind == "text":
        text = 'ä "quoted" \\ \n\x00 \U0001f600 ' * 100_000
        expected = text
        body = {"content": text, "format": "text", "type": "file"}
    else:
        notebook = {
            "cells": [{"source": "x" * 50, "n": [i, {}]} for i in range(30_000)]
        }
        expected = json.dumps(notebook, indent=1) + "\n"
        body = {"content": notebook, "format": "json", "type": "notebook"}
    for raw in (
        json.dumps(body).encode(),
        json.dumps(body, ensure_ascii=False, indent=3).encode(),
    ):
        assert len(raw) > MIB
        answer = put(workspace, "new.ipynb", iter([raw]), len(raw))
        assert answer.status in (200, 201), answer
        assert (
            workspace.folder / "new.ipynb"
        ).read_bytes() == expected.encode()


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"type":"file","format":"base64","content":"%s"', "unfinished"),
        (b'{"type":"file","format":"base64","content":"%s"}}', "JSON"),
        (b'{"type":"file","format":"base64","content":"%s*"}', "not base64"),
        (b'{"type":"file","format":"base64","content":"%s\xff"}', "UTF-8"),
        (b'{"type":"file","content":"%s"}', "format"),
        (b'{"type":"notebook","content":"%s"}', "is an object"),
        (b'{"type":"file","format":"text","content":["%s"]}', "is a text"),
        (b'{"content":"%s","content":null,"type":"file"}', "No file content"),
        (b'["%s"]', "JSON"),
    ],
)
def test_an_invalid_body_leaves_the_old_file(
    workspace: Workspace, raw: bytes, words: str
) -> None:
    (workspace.folder / "old").write_text("old")
    body = raw.replace(b"%s", CODED)
    assert words in refused(put(workspace, "old", iter([body]), len(body)), 400)
    assert (workspace.folder / "old").read_text() == "old"
    assert os.listdir(workspace.folder) == ["old"]


def test_the_error_for_a_long_body_names_chunked_uploads(
    workspace: Workspace,
) -> None:
    """Before any of it has come."""
    message = refused(put(workspace, "new", iter([]), 128 * MIB + 1), 413)
    assert "chunk 1, 2, ... and -1" in message
    assert os.listdir(workspace.folder) == []


@pytest.fixture
def small() -> Iterator[Workspace]:
    """Start a gateway with http/body_max of one MiB: there is room for two
    bodies."""
    gateway = Gateway(
        *("--set", f"http/body_max={SMALL_MAX}"),
        *("--set", f"http/frame_max={SMALL_MAX}"),
    )
    gateway.start()
    web = Web.of(gateway)
    kernel = Kernel(web, web.create())
    yield Workspace(web, kernel)
    kernel.close()
    gateway.end()


def test_all_files_that_come_have_a_bound(small: Workspace) -> None:
    before, behind = model(True)
    body = before + CODED[: SMALL_MAX // 2] + behind
    head = (
        f"PUT {small.api}/new HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: token {small.web.token}\r\n"
        f"Content-Length: {SMALL_MAX}\r\n\r\n"
    ).encode()
    address = (small.web.host, small.web.port)
    clients = []
    try:
        for _ in range(2):
            clients.append(socket.create_connection(address, DEADLINE))
            clients[-1].sendall(head + b" " * (SMALL_MAX - 1))

        both = 2 * (SMALL_MAX - 1 - (64 << 10))
        wait_for(lambda: held_bytes(small) == both, "both of them")
        answer = put(small, "new", iter([body]), len(body))
        assert answer.headers["Retry-After"]
        assert "try again" in refused(answer, 503)
    finally:
        for client in clients:
            client.close()
    wait_for(
        lambda: put(small, "new", iter([body]), len(body)).status in (200, 201),
        "room again",
    )
    too_long = put(small, "new", iter([]), SMALL_MAX + 1)
    assert "http/body_max" in refused(too_long, 413)
