"""Peers without the key before a session's TCP ports: what they can make the
gateway hold is bounded, and the others do not notice."""

from __future__ import annotations

import os
import select
import socket
import time
from pathlib import Path
from typing import Iterator

import pytest
import zmq
from client import Client
from deadline import DEADLINE, wait_for
from harness import Gateway, Session, endpoint
from records import wait_record
from resident import Peak

MIB = 1 << 20
MEMORY = 64 * MIB
# What a gateway needs besides, and what malloc keeps of what was freed.
SLACK = 64 * MIB

GREETING = (
    b"\xff" + bytes(8) + b"\x7f\x03\x01NULL" + bytes(16) + b"\0" + bytes(31)
)
MORE, LONG, COMMAND = 1, 2, 4


def frame(flags: int, body: bytes) -> bytes:
    if len(body) < 256:
        return bytes([flags, len(body)]) + body
    return bytes([flags | LONG]) + len(body).to_bytes(8, "big") + body


def ready(kind: bytes) -> bytes:
    size = len(kind).to_bytes(4, "big")
    return frame(COMMAND, b"\x05READY\x0bSocket-Type" + size + kind)


class Raw:
    """A TCP connection to a channel, without libzmq."""

    def __init__(self, session: Session, channel: str) -> None:
        host, port = endpoint(session.connection_file, channel)[6:].split(":")
        self.socket = socket.create_connection((host, int(port)), DEADLINE)

    def greet(self, kind: bytes) -> Raw:
        """Until the other side is ready: what comes earlier is refused."""
        self.send(GREETING + ready(kind))
        said = b""
        while b"Socket-Type" not in said:
            more = self.socket.recv(1 << 16)
            assert more, "the greeting is refused"
            said += more
        return self

    def send(self, data: bytes) -> bool:
        """False if the connection has ended."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def is_ended(self) -> bool:
        while select.select([self.socket], [], [], 0)[0]:
            try:
                if not self.socket.recv(1 << 16):
                    return True
            except ConnectionResetError:
                return True
        return False

    def wait_end(self) -> None:
        wait_for(self.is_ended, "the end of the connection")

    def close(self) -> None:
        self.socket.close()


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    running = Gateway(
        "--set", "gateway/transport=tcp",
        "--set", f"gateway/message_memory={MEMORY}",
    )  # fmt: skip
    try:
        yield running.start()
    finally:
        running.end()


def reasons(gateway: Gateway) -> str:
    return "\n".join(
        line
        for line in gateway.log.read_text().splitlines()
        if "connection closed" in line
    )


def test_messages_that_never_end(
    gateway: Gateway, session: Session, client: Client
) -> None:
    """50 connections of 8 MiB each, by frames with MORE. The client that has
    the key sends what is as big, and is served."""
    with Peak(gateway.pid) as peak:
        raws = [Raw(session, "shell").greet(b"DEALER") for _ in range(50)]
        piece = frame(MORE, bytes(MIB))
        for _ in range(8):
            for raw in raws:
                raw.send(piece)
        assert client.run(f"len('{'x' * 8 * MIB}')").result == str(8 * MIB)
        wait_for(
            lambda: sum(raw.is_ended() for raw in raws) >= 40,
            "the end of what does not fit",
        )
    for raw in raws:
        raw.close()
    assert peak.growth < MEMORY + SLACK
    assert "unfinished for longest" in reasons(gateway)
    assert client.run("6 * 7").result == "42"


def test_a_message_of_endless_empty_frames(
    gateway: Gateway, session: Session
) -> None:
    with Peak(gateway.pid) as peak:
        for channel, kind in (("shell", b"DEALER"), ("hb", b"REQ")):
            raw = Raw(session, channel).greet(kind)
            for _ in range(100):
                if not raw.send(frame(MORE, b"") * 10000):
                    break
            raw.wait_end()
            raw.close()
    assert peak.growth < SLACK
    assert "more frames" in reasons(gateway)


def test_whole_messages_without_a_key(
    gateway: Gateway, session: Session, client: Client
) -> None:
    """They come faster than their signatures can be verified."""
    with Peak(gateway.pid) as peak:
        raws = [Raw(session, "shell").greet(b"DEALER") for _ in range(4)]
        wire = [frame(MORE, b"<IDS|MSG>"), frame(MORE, b"0" * 64)]
        wire += [frame(MORE, b"{}")] * 3 + [frame(0, bytes(MIB))]
        message = b"".join(wire)
        for _ in range(40):
            for raw in raws:
                assert raw.send(message)
        assert client.run("6 * 7").result == "42"
    for raw in raws:
        raw.close()
    assert peak.growth < MEMORY + SLACK


def test_a_hundred_thousand_subscriptions(
    gateway: Gateway, session: Session, client: Client
) -> None:
    with Peak(gateway.pid) as peak:
        for _ in range(20):
            raw = Raw(session, "iopub").greet(b"SUB")
            for _ in range(50):
                many = b"".join(
                    frame(0, b"\1" + os.urandom(200)) for _ in range(100)
                )
                if not raw.send(many):
                    break
            raw.wait_end()
            raw.close()
    assert peak.growth < SLACK
    assert "subscribes to more" in reasons(gateway)
    assert client.run("6 * 7").result == "42"


def test_a_frame_that_is_bigger_than_any(session: Session) -> None:
    """Nine bytes are enough to see it."""
    raw = Raw(session, "shell").greet(b"DEALER")
    raw.send(bytes([LONG]) + (1 << 40).to_bytes(8, "big"))
    raw.wait_end()
    raw.close()


def test_other_protocols_end_at_once(
    gateway: Gateway, session: Session, client: Client
) -> None:
    for first in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\0", bytes(64)):
        raw = Raw(session, "control")
        raw.send(first)
        raw.wait_end()
        raw.close()
    assert "does not begin as ZMTP" in reasons(gateway)
    assert client.run("6 * 7").result == "42"


def test_many_connections(
    gateway: Gateway, session: Session, client: Client
) -> None:
    """Earlier connections stay, and the other ports take new ones."""
    raws = [Raw(session, "shell") for _ in range(300)]
    wait_for(
        lambda: sum(raw.is_ended() for raw in raws) >= 40,
        "the end of those beyond the limit",
    )
    refused = [
        line
        for line in reasons(gateway).splitlines()
        if "as many connections" in line
    ]
    assert refused
    assert all("peer=127.0.0.1:" in line for line in refused)
    assert client.run("6 * 7").result == "42"
    for raw in raws:
        raw.close()
    wait_for(
        lambda: session.exec("40 + 2").stdout == "42\n", "room for a new client"
    )


def test_a_client_that_vanished_is_noticed(session: Session) -> None:
    """By the system's keepalive: the gate's socket has that timer."""
    raw = Raw(session, "control").greet(b"DEALER")
    port = raw.socket.getpeername()[1]

    def has_timer() -> bool:
        rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
        cells = [row.split() for row in rows]
        return any(
            cell[1].endswith(f":{port:04X}")
            and cell[3] == "01"  # established
            and cell[5].startswith("02:")  # keepalive
            for cell in cells
        )

    wait_for(has_timer, "a keepalive timer")
    raw.close()


def test_heartbeats_that_are_not_read(
    gateway: Gateway, session: Session
) -> None:
    with Peak(gateway.pid) as peak:
        raw = Raw(session, "hb").greet(b"REQ")
        raw.socket.settimeout(2)
        beat = frame(MORE, b"") + frame(0, bytes(4000))
        begun = time.monotonic()
        try:
            while time.monotonic() < begun + 10:
                raw.socket.sendall(beat * 100)
        except (TimeoutError, BrokenPipeError, ConnectionResetError):
            pass
        raw.close()
    assert peak.growth < SLACK
    with zmq.Context() as context, context.socket(zmq.REQ) as other:
        other.linger = 0
        other.connect(endpoint(session.connection_file, "hb"))
        other.send(b"ping")
        assert other.poll(int(DEADLINE * 1000))
        assert other.recv() == b"ping"


def test_what_was_closed_is_in_the_audit_log(
    gateway: Gateway, session: Session
) -> None:
    raw = Raw(session, "stdin").greet(b"DEALER")
    raw.send(frame(COMMAND | MORE, b"x"))
    raw.wait_end()
    raw.close()

    record = wait_record(
        gateway, event="connection", session=session.id, channel="stdin"
    )
    assert record["outcome"] == "closed"
    assert record["peer"].startswith("127.0.0.1:")
    assert "ZMTP does not know" in record["reason"]


def test_subscribers_that_read_nothing(
    gateway: Gateway, session: Session, client: Client
) -> None:
    """They hold up a cell that says much, but not for the 10 s for which a
    session would wait. The client that reads gets everything."""
    size, count = 1 << 18, 800
    raws = [Raw(session, "iopub").greet(b"SUB") for _ in range(5)]
    for raw in raws:
        raw.send(frame(0, b"\1"))
    turn = client.run(f"for i in range({count}): print('x' * ({size} - 1))")
    assert turn.status == "ok"
    assert len(turn.stream()) == size * count
    for raw in raws:
        raw.wait_end()
        raw.close()
    assert "took nothing for 1 s" in reasons(gateway)
    assert "were disconnected" not in gateway.log.read_text()


@pytest.fixture
def quick() -> Iterator[Gateway]:
    running = Gateway("--set", "gateway/transport=tcp")
    try:
        yield running.start()
    finally:
        running.end()


def test_the_last_reply_arrives(quick: Gateway) -> None:
    """Also what the gateway says in its last moment passes the gate."""
    session = quick.create()
    with session.client() as client:
        client.run("x = 1")
        assert quick.process is not None
        quick.process.terminate()
        assert quick.process.wait(DEADLINE) == 0
        quick.start()
        assert client.run("x + 41").result == "42"
