"""Files that come in one body: they pass through the gateway, and do not stay
in its memory."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from deadline import DEADLINE, wait_for
from desk import Desk, refused
from harness import Gateway
from web import Answer, Kernel, Web

pytestmark = pytest.mark.usefixtures("empty")

MIB = 1 << 20
BLOCK = os.urandom(3 * MIB)
CODED = base64.b64encode(BLOCK)  # of 4 MiB
SMALL_MAX = 1 * MIB


def peak(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def forget_peak(pid: int) -> int:
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return peak(pid)


def nameless(pid: int) -> list[str]:
    """Open files without a name."""
    found = []
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        try:
            to = os.readlink(entry)
        except FileNotFoundError:
            continue
        if to.startswith("/") and "/#" in to and to.endswith("(deleted)"):
            found.append(to)
    return found


def none_is_left(gateway: Gateway) -> None:
    """It goes with its request, just after the answer."""
    wait_for(lambda: nameless(gateway.pid) == [], "no file without a name")


def put(desk: Desk, name: str, pieces: Iterator[bytes], size: int) -> Answer:
    """Piece by piece: the test need not have it in memory, either."""
    connection = desk.web.connect()
    try:
        connection.putrequest("PUT", f"{desk.api}/{name}")
        connection.putheader("Authorization", f"token {desk.web.token}")
        connection.putheader("Content-Length", str(size))
        connection.endheaders()
        for piece in pieces:
            connection.send(piece)
        return Answer(connection.getresponse())
    finally:
        connection.close()


def model(content_first: bool) -> tuple[bytes, bytes]:
    """What stands before a content in base64, and behind it."""
    kind = b'"type":"file","format":"base64"'
    if content_first:
        return b'{"content":"', b'",' + kind + b"}"
    return b"{" + kind + b',"content":"', b'"}'


@pytest.mark.parametrize(
    ("content_first", "blocks"), [(True, 100), (False, 10)]
)
def test_memory_does_not_grow_with_a_file(
    gateway: Gateway, desk: Desk, content_first: bool, blocks: int
) -> None:
    """400 MiB. Whatever stands first in the model."""
    before, behind = model(content_first)

    def pieces(count: int) -> Iterator[bytes]:
        yield before
        for _ in range(count):
            yield CODED
        yield behind

    def save(count: int) -> Answer:
        size = len(before) + count * len(CODED) + len(behind)
        return put(desk, "big", pieces(count), size)

    assert save(2).status == 201  # what is taken once is taken
    level = forget_peak(gateway.pid)
    answer = save(blocks)
    assert answer.status == 200, answer
    grown = peak(gateway.pid) - level
    print(f"{grown / MIB:.1f} MiB more at the peak")
    assert grown < 24 * MIB
    assert answer.json["size"] == blocks * len(BLOCK)
    expected = hashlib.sha256()
    for _ in range(blocks):
        expected.update(BLOCK)
    found = hashlib.sha256()
    with (desk.folder / "big").open("rb") as stream:
        while piece := stream.read(MIB):
            found.update(piece)
    assert found.digest() == expected.digest()
    none_is_left(gateway)


@pytest.mark.parametrize("kind", ["text", "notebook"])
def test_other_contents(gateway: Gateway, desk: Desk, kind: str) -> None:
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
        answer = put(desk, "new.ipynb", iter([raw]), len(raw))
        assert answer.status in (200, 201), answer
        assert (desk.folder / "new.ipynb").read_bytes() == expected.encode()
    none_is_left(gateway)


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b'{"type":"file","format":"base64","content":"%s"', "ends before"),
        (b'{"type":"file","format":"base64","content":"%s"}}', "JSON"),
        (b'{"type":"file","format":"base64","content":"%s*"}', "no base64"),
        (b'{"type":"file","format":"base64","content":"%s\xff"}', "UTF-8"),
        (b'{"type":"file","content":"%s"}', "format"),
        (b'{"type":"notebook","content":"%s"}', "is an object"),
        (b'{"type":"file","format":"text","content":["%s"]}', "is a text"),
        (b'{"content":"%s","content":null,"type":"file"}', "No file content"),
        (b'["%s"]', "JSON"),
    ],
)
def test_what_is_wrong_leaves_the_old_file(
    gateway: Gateway, desk: Desk, raw: bytes, words: str
) -> None:
    (desk.folder / "old").write_text("old")
    body = raw.replace(b"%s", CODED)
    assert words in refused(put(desk, "old", iter([body]), len(body)), 400)
    assert (desk.folder / "old").read_text() == "old"
    assert os.listdir(desk.folder) == ["old"]
    none_is_left(gateway)


def test_a_long_model_is_refused(desk: Desk) -> None:
    body = b'{"a":"%s"}' % CODED
    said = refused(put(desk, "new", iter([body]), len(body)), 413)
    assert "beside the content" in said


def test_who_may_not_write_leaves_nothing_there(
    gateway: Gateway, desk: Desk
) -> None:
    before, behind = model(True)
    size = len(before) + len(CODED) + len(behind)
    nobody = Desk(desk.web, desk.kernel)
    nobody.web = desk.web.with_token("wrong")
    assert put(nobody, "new", iter([]), size).status == 401
    none_is_left(gateway)


def test_who_goes_takes_his_file_along(gateway: Gateway, desk: Desk) -> None:
    before, _ = model(True)
    with socket.create_connection((desk.web.host, desk.web.port)) as client:
        client.sendall(
            f"PUT {desk.api}/new HTTP/1.1\r\nHost: localhost\r\n"
            f"Authorization: token {desk.web.token}\r\n"
            f"Content-Length: {10 * len(CODED)}\r\n\r\n".encode()
        )
        client.sendall(before + CODED)
        wait_for(lambda: len(nameless(gateway.pid)) == 1, "a file", DEADLINE)
    none_is_left(gateway)
    assert os.listdir(desk.folder) == []


@pytest.fixture
def small() -> Iterator[Desk]:
    """With http/body_max at a MiB: four of those may be on their way."""
    gateway = Gateway("--set", f"http/body_max={SMALL_MAX}")
    gateway.start()
    web = Web.of(gateway)
    kernel = Kernel(web, web.create())
    yield Desk(web, kernel)
    kernel.close()
    gateway.end()


def test_all_files_that_come_have_a_bound(small: Desk) -> None:
    head = (
        f"PUT {small.api}/new HTTP/1.1\r\nHost: localhost\r\n"
        f"Authorization: token {small.web.token}\r\n"
        f"Content-Length: {SMALL_MAX}\r\nExpect: 100-continue\r\n\r\n"
    ).encode()
    before, behind = model(True)
    body = before + CODED[: SMALL_MAX // 2] + behind
    address = (small.web.host, small.web.port)
    clients = []
    try:
        for _ in range(4):
            clients.append(socket.create_connection(address, DEADLINE))
            clients[-1].sendall(head)
            assert clients[-1].recv(100).startswith(b"HTTP/1.1 100 ")
        answer = put(small, "new", iter([]), len(body))
        assert answer.headers["Retry-After"] == "10"
        assert "try again" in refused(answer, 503)
    finally:
        for client in clients:
            client.close()
    wait_for(
        lambda: put(small, "new", iter([body]), len(body)).status == 201,
        "room again",
    )
    too_long = put(small, "new", iter([]), SMALL_MAX + 1)
    assert "http/body_max" in refused(too_long, 413)
