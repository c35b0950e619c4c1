"""Bad input is refused with a clear sentence, and no other client notices."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import stat
import struct
from functools import partial
from pathlib import Path
from typing import Any, Iterator, Optional

import pytest
import zmq
from client import Client, Message, parent_of
from deadline import DEADLINE, wait_for
from harness import Gateway, Session
from manager import Manager

DELIMITER = b"<IDS|MSG>"


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    """Start a gateway on TCP, where any program can connect."""
    running = Gateway("--set", "gateway/transport=tcp")
    try:
        yield running.start()
    finally:
        running.end()


class Raw:
    """A peer that can say anything on a session's shell."""

    def __init__(self, session: Session, channel: str = "shell") -> None:
        file = json.loads(Path(session.connection_file).read_text())
        self.key = file["key"].encode()
        self.port: int = file[f"{channel}_port"]
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.connect(f"tcp://127.0.0.1:{self.port}")
        self.counter = 0

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        self.context.term()

    def header(self, msg_type: str = "kernel_info_request") -> dict[str, Any]:
        self.counter += 1
        return {
            "msg_id": f"raw-{id(self)}-{self.counter}",
            "session": "raw",
            "username": "raw",
            "date": "2026-01-01T00:00:00.000000Z",
            "msg_type": msg_type,
            "version": "5.4",
        }

    def frames(
        self,
        header: Any,
        content: Any = None,
        parent: Any = None,
        metadata: Any = None,
    ) -> list[bytes]:
        return [
            part if isinstance(part, bytes) else json.dumps(part).encode()
            for part in (header, parent or {}, metadata or {}, content or {})
        ]

    def sign(self, parts: list[bytes], key: Optional[bytes] = None) -> bytes:
        mac = hmac.new(
            self.key if key is None else key, digestmod=hashlib.sha256
        )
        for part in parts:
            mac.update(part)
        return mac.hexdigest().encode()

    def send(
        self,
        parts: list[bytes],
        signature: Optional[bytes] = None,
        buffers: Optional[list[bytes]] = None,
    ) -> list[bytes]:
        whole = [
            DELIMITER,
            self.sign(parts) if signature is None else signature,
            *parts,
            *(buffers or []),
        ]
        self.socket.send_multipart(whole)
        return whole

    def receive(self, seconds: float) -> Optional[dict[str, Any]]:
        if not self.socket.poll(int(seconds * 1000)):
            return None
        frames = self.socket.recv_multipart()
        at = frames.index(DELIMITER)
        assert frames[at + 1] == self.sign(frames[at + 2 : at + 6])
        return {
            "header": json.loads(frames[at + 2]),
            "parent": json.loads(frames[at + 3]),
            "content": json.loads(frames[at + 5]),
        }

    def is_answered(self) -> bool:
        """A good request on this very connection."""
        header = self.header()
        self.send(self.frames(header))
        while True:
            answer = self.receive(DEADLINE)
            assert answer, "no answer to a good request"
            if answer["parent"].get("msg_id") == header["msg_id"]:
                return answer["content"]["status"] == "ok"


@pytest.fixture
def raw(session: Session) -> Iterator[Raw]:
    with Raw(session) as peer:
        assert peer.is_answered()
        yield peer


def expect_dropped(raw: Raw) -> None:
    """The next answer is that of the next good request."""
    header = raw.header()
    raw.send(raw.frames(header))
    answer = raw.receive(DEADLINE)
    assert answer
    assert answer["parent"]["msg_id"] == header["msg_id"]


EXECUTE = {"code": "open('ran', 'w').write('x')"}


def test_unsigned(raw: Raw, session: Session) -> None:
    raw.send(raw.frames(raw.header("execute_request"), EXECUTE), b"")
    expect_dropped(raw)
    assert not (session.workspace / "ran").exists()


@pytest.mark.parametrize(
    "signature",
    [b"0" * 64, b"g" * 64, b"short", b"0" * 65, b"0" * 100000, b"\xff" * 64],
)
def test_wrong_signature(raw: Raw, session: Session, signature: bytes) -> None:
    raw.send(raw.frames(raw.header("execute_request"), EXECUTE), signature)
    expect_dropped(raw)
    assert not (session.workspace / "ran").exists()


def test_signature_of_another_key(raw: Raw, session: Session) -> None:
    parts = raw.frames(raw.header("execute_request"), EXECUTE)
    raw.send(parts, raw.sign(parts, b"another key"))
    expect_dropped(raw)
    assert not (session.workspace / "ran").exists()


def test_replayed(raw: Raw, client: Client) -> None:
    client.run("n = 0")
    header = raw.header("execute_request")
    whole = raw.send(raw.frames(header, {"code": "n += 1"}))
    answer = raw.receive(DEADLINE)
    assert answer
    assert answer["parent"]["msg_id"] == header["msg_id"]
    for _ in range(3):
        raw.socket.send_multipart(whole)
    expect_dropped(raw)
    assert client.run("n").result == "1"


@pytest.mark.parametrize("count", range(6))
def test_truncated(raw: Raw, count: int) -> None:
    parts = raw.frames(raw.header("execute_request"), EXECUTE)
    whole = [DELIMITER, raw.sign(parts), *parts]
    raw.socket.send_multipart(whole[:count] or [b""])
    expect_dropped(raw)


def test_no_delimiter(raw: Raw) -> None:
    raw.socket.send_multipart([b"x"] * 10)
    expect_dropped(raw)


def test_many_frames(raw: Raw, session: Session) -> None:
    """Its connection is closed; another one is served."""
    parts = raw.frames(raw.header())
    raw.send(parts, buffers=[b""] * 100_000)
    raw.socket.send_multipart([b"i"] * 100_000)
    with Raw(session) as second:
        assert second.is_answered()


def test_oversized(raw: Raw, client: Client, gateway: Gateway) -> None:
    """Larger than what the limits permit: that connection may be closed, the
    others do not notice."""
    parts = raw.frames(
        raw.header("execute_request"), {"code": "'" + "x" * (300 << 20) + "'"}
    )
    raw.send(parts)
    assert client.run("1").result == "1"
    with Raw(client_session(client, gateway)) as second:
        assert second.is_answered()


def client_session(client: Client, gateway: Gateway) -> Session:
    file = client.kc.connection_file
    for model in gateway.sessions():
        if model["connection_file"] == file:
            return Session(gateway, model)
    raise AssertionError("no such session")


def zmtp_greeting() -> bytes:
    return (
        b"\xff"
        + b"\0" * 8
        + b"\x7f"
        + b"\x03\x00"
        + b"NULL".ljust(20, b"\0")
        + b"\0"
        + b"\0" * 31
    )


def test_a_gigabyte_announced(raw: Raw, client: Client) -> None:
    """By the raw transport: a frame whose bytes never come."""
    with socket.create_connection(("127.0.0.1", raw.port)) as peer:
        peer.sendall(zmtp_greeting())
        ready = b"\x05READY\x0bSocket-Type\x00\x00\x00\x06DEALER"
        peer.sendall(b"\x04" + bytes([len(ready)]) + ready)
        peer.sendall(b"\x02" + struct.pack(">Q", 1 << 30) + b"only this")
        assert client.run("1").result == "1"
        assert raw.is_answered()


def test_garbage_by_the_transport(raw: Raw, client: Client) -> None:
    for junk in (b"GET / HTTP/1.1\r\n\r\n", os.urandom(4096), b"\xff" * 64):
        with socket.create_connection(("127.0.0.1", raw.port)) as peer:
            peer.sendall(junk)
    assert client.run("1").result == "1"
    assert raw.is_answered()


@pytest.mark.parametrize(
    "junk",
    [
        b"",
        b"no json",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b"{}",
        b'{"a": 1} x',
        b'{"msg_type": "\xff\xfe"}',
        b'{"code": "\\ud800"}',
        b'{"code": "\x00"}',
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"a":1,"a":2}',
        b'{"n": 1e999999}',
        b"\x00\x00",
    ],
    ids=range(17),
)
@pytest.mark.parametrize("place", ["header", "parent", "metadata", "content"])
def test_wrong_json(raw: Raw, junk: bytes, place: str) -> None:
    frames = raw.frames(raw.header("execute_request"), {"code": "1"})
    frames[["header", "parent", "metadata", "content"].index(place)] = junk
    raw.send(frames)
    # Dropped or answered with an error, but answered is what follows.
    assert raw.is_answered()


WRONG = [None, True, 7, -1, 1.5, "text", "", [], [1], {}, {"a": 1}, 1 << 70]


@pytest.mark.parametrize(
    ("msg_type", "field"),
    [
        ("execute_request", "code"),
        ("execute_request", "silent"),
        ("execute_request", "store_history"),
        ("execute_request", "user_expressions"),
        ("execute_request", "allow_stdin"),
        ("execute_request", "stop_on_error"),
        ("complete_request", "code"),
        ("complete_request", "cursor_pos"),
        ("inspect_request", "code"),
        ("inspect_request", "cursor_pos"),
        ("inspect_request", "detail_level"),
        ("is_complete_request", "code"),
        ("history_request", "hist_access_type"),
        ("history_request", "output"),
        ("history_request", "raw"),
        ("history_request", "session"),
        ("history_request", "start"),
        ("history_request", "stop"),
        ("history_request", "n"),
        ("history_request", "pattern"),
        ("history_request", "unique"),
        ("comm_info_request", "target_name"),
        ("connect_request", "x"),
        ("kernel_info_request", "x"),
    ],
)
def test_wrong_types(client: Client, msg_type: str, field: str) -> None:
    good: dict[str, dict[str, Any]] = {
        "execute_request": {"code": "1"},
        "complete_request": {"code": "a", "cursor_pos": 1},
        "inspect_request": {"code": "a", "cursor_pos": 1},
        "is_complete_request": {"code": "1"},
        "history_request": {
            "hist_access_type": "tail",
            "n": 3,
            "raw": True,
            "output": False,
        },
    }
    for value in WRONG:
        content = {**good.get(msg_type, {}), field: value}
        turn = client.ask("shell", msg_type, content)
        assert turn.content["status"] in (
            "ok",
            "error",
            "complete",
            "incomplete",
            "invalid",
            "unknown",
        )
    missing = {
        key: value
        for key, value in good.get(msg_type, {}).items()
        if key != field
    }
    client.ask("shell", msg_type, missing)
    assert client.run("'alive'").result == "'alive'"


@pytest.mark.parametrize("field", ["comm_id", "target_name", "data"])
@pytest.mark.parametrize("msg_type", ["comm_open", "comm_msg", "comm_close"])
def test_wrong_comms(client: Client, msg_type: str, field: str) -> None:
    for value in WRONG:
        content = {"comm_id": "c", "target_name": "t", "data": {}}
        client.send("shell", msg_type, {**content, field: value})
    assert client.run("'alive'").result == "'alive'"


@pytest.mark.parametrize(
    "content", [{}, {"restart": 7}, {"restart": "yes"}, {"restart": None}]
)
def test_wrong_interrupt(client: Client, content: dict[str, Any]) -> None:
    assert client.ask("control", "interrupt_request", content).status == "ok"


@pytest.mark.parametrize(
    "field",
    ["msg_id", "session", "username", "date", "msg_type", "version"],
)
def test_wrong_header(raw: Raw, field: str) -> None:
    for value in WRONG:
        raw.send(raw.frames({**raw.header(), field: value}))
    header = raw.header()
    del header[field]
    raw.send(raw.frames(header))
    assert raw.is_answered()


@pytest.mark.parametrize(
    "limit", [True, 0, -1, 0.0001, "1", 1e308, [], {"a": 1}, 1 << 70]
)
def test_wrong_time_limit(client: Client, limit: object) -> None:
    """Code that should have a limit does not run without one."""
    turn = client.ask(
        "shell",
        "execute_request",
        {"code": "done = 1"},
        {"hearth": {"time_limit": limit}},
    )
    assert turn.content["ename"] == "BadRequest"
    assert "`hearth.time_limit`" in turn.content["evalue"]
    assert client.run("'done' in dir()").result == "False"


def test_no_time_limit(client: Client) -> None:
    turn = client.ask(
        "shell",
        "execute_request",
        {"code": "1"},
        {"hearth": {"time_limit": None}},
    )
    assert turn.status == "ok"


def test_unwanted_input_reply(client: Client) -> None:
    client.kc.input("not asked for")
    assert client.run("1").result == "1"
    msg_id = client.kc.execute("input('? ')", allow_stdin=True)
    client.kc.get_stdin_msg(timeout=DEADLINE)
    client.send("stdin", "input_reply", {"value": ["no", "text"]})
    client.kc.input("right")
    turn = client.finish(msg_id)
    assert turn.status in ("ok", "error")
    assert client.run("1").result == "1"


def test_iopub_writes_are_ignored(session: Session, client: Client) -> None:
    file = json.loads(Path(session.connection_file).read_text())
    context = zmq.Context()
    peer = context.socket(zmq.XSUB)
    peer.linger = 0
    peer.connect(f"tcp://127.0.0.1:{file['iopub_port']}")
    for junk in (b"", b"\x02x", b"\x01" + b"t" * 100_000, os.urandom(64)):
        peer.send(junk)
    assert client.run("1").result == "1"
    peer.close()
    context.term()


def is_own(path: Path) -> bool:
    """Whether no other user may use the file, or it has gone."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:  # of a session that goes
        return True
    return stat.S_ISDIR(mode) or mode & 0o077 == 0


def test_management_socket_needs_the_key(gateway: Gateway) -> None:
    context = zmq.Context()
    peer = context.socket(zmq.DEALER)
    peer.linger = 0
    peer.connect(f"ipc://{gateway.runtime}/management.sock")
    for junk in ([b""], [DELIMITER, b"", b"{}", b"{}", b"{}", b"{}"], [b"x"]):
        peer.send_multipart(junk)
    assert gateway.info()["pid"] == gateway.pid
    assert not peer.poll(200)
    peer.close()
    context.term()
    for path in gateway.runtime.rglob("*"):
        # A socket is made and then closed to others, in a folder that is.
        wait_for(partial(is_own, path), f"{path} for its user alone")


def test_a_request_with_a_nul_makes_nothing(gateway: Gateway) -> None:
    """Neither with the beginning of what was asked for nor without it."""
    before = gateway.info()["sessions"]
    with Manager(gateway) as manager:
        for content in ({"name": "a\0b"}, {"environment": {"A": "1\0"}}):
            answer = manager.ask("session_create", content)
            assert answer["ename"] == "BadRequest"
            assert "must not have a NUL" in answer["evalue"]
    assert gateway.info()["sessions"] == before


def test_others_are_served_meanwhile(gateway: Gateway, client: Client) -> None:
    """One session is flooded; another one's turns go on."""
    flooded = gateway.create()
    with Raw(flooded) as peer:
        for _ in range(2000):
            peer.send(peer.frames(peer.header("junk_request")), b"0" * 64)
        for number in range(20):
            assert client.run(str(number)).result == str(number)
        assert peer.is_answered()
    flooded.delete()


def test_slow_reader_loses_nothing(session: Session, client: Client) -> None:
    """A viewer that reads nothing for a while does not hold up the others,
    and gets the end of the turn."""
    with session.client() as slow:
        msg_id = client.kc.execute("for i in range(30000): print('x' * 100)")
        turn = client.finish(msg_id)
        assert turn.stream().count("\n") == 30000
        seen: list[Message] = []
        while not (
            seen
            and seen[-1]["msg_type"] == "status"
            and seen[-1]["content"]["execution_state"] == "idle"
        ):
            seen.append(slow.iopub(DEADLINE, lambda m: parent_of(m) == msg_id))
        assert (
            sum(
                m["content"]["text"].count("\n")
                for m in seen
                if m["msg_type"] == "stream"
            )
            == 30000
        )
