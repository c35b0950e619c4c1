"""A program that reaches a session's ports without its key harms no client."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from typing import Iterator

import pytest
import zmq
from client import Client
from deadline import DEADLINE, wait_for
from harness import Gateway, Session, endpoint


class Peer:
    """Knows where a session listens, and no key."""

    def __init__(self, session: Session, channel: str, kind: int) -> None:
        self.context = zmq.Context()
        self.socket = self.context.socket(kind)
        self.socket.linger = 0
        self.socket.connect(endpoint(session.connection_file, channel))

    def __enter__(self) -> zmq.Socket[bytes]:
        return self.socket

    def __exit__(self, *_: object) -> None:
        self.socket.close()
        self.context.term()


@pytest.fixture(scope="module", params=["tcp", "ipc"])
def gateway(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    running = Gateway("--set", f"gateway/transport={request.param}")
    try:
        yield running.start()
    finally:
        running.end()


def test_only_this_user_reaches_a_session() -> None:
    """By default, and with a word where it is otherwise."""
    running = Gateway()
    try:
        running.start()
        closed = running.create()
        where = Path(endpoint(closed.connection_file, "iopub")[6:])
        assert stat.S_ISSOCK(where.stat().st_mode)
        assert stat.S_IMODE(where.parent.stat().st_mode) == 0o700
        assert where.parent.stat().st_uid == os.geteuid()
        opened = running.create("--transport", "tcp")
        assert endpoint(opened.connection_file, "iopub").startswith("tcp://")
        for session in (closed, opened):
            assert session.exec("6 * 7").stdout == "42\n"
        found = running.run("doctor", "--json").stdout
        assert "only this user can enter" in found
    finally:
        running.end()


def is_alive(session: Session) -> bool:
    """Its heartbeat echoes, as clients ask for it."""
    with Peer(session, "hb", zmq.REQ) as client:
        client.send(b"ping")
        if not client.poll(int(DEADLINE * 1000)):
            return False
        return client.recv() == b"ping"


def test_a_heartbeat_that_is_no_request(
    gateway: Gateway, session: Session, client: Client
) -> None:
    with Peer(session, "hb", zmq.DEALER) as peer:
        for _ in range(100):
            peer.send(b"x")
        assert is_alive(session)
    assert client.run("6 * 7").result == "42"
    assert session.show()["state"] == "idle"


def test_a_heartbeat_that_is_too_big(session: Session) -> None:
    with Peer(session, "hb", zmq.REQ) as peer:
        peer.send(bytes(5000))
        assert not peer.poll(500)
    assert is_alive(session)


def test_a_subscription_that_is_too_big(
    session: Session, client: Client
) -> None:
    """It ends the connection of who asked for it."""
    with (
        Peer(session, "iopub", zmq.XSUB) as peer,
        peer.get_monitor_socket(zmq.EVENT_DISCONNECTED) as monitor,
    ):
        peer.send(b"\1" + bytes(2000))
        assert monitor.poll(int(DEADLINE * 1000))
        peer.monitor(None, 0)
    assert client.run("6 * 7").result == "42"


def test_noise_is_logged_at_a_bounded_rate(
    gateway: Gateway, session: Session, client: Client
) -> None:
    before = gateway.log.read_text().count("dropped channel")
    count = 5000
    with Peer(session, "shell", zmq.DEALER) as peer:
        begun = time.monotonic()
        for _ in range(count):
            peer.send_multipart([b"<IDS|MSG>", b"", *4 * [b"{}"]])
        # The omitted ones are counted in the next line.
        reported = 0

        def all_counted() -> bool:
            nonlocal reported
            lines = [
                line
                for line in gateway.log.read_text().splitlines()
                if "dropped channel=shell" in line
            ][before:]
            reported = len(lines)
            peer.send_multipart([b"<IDS|MSG>", b"", *4 * [b"{}"]])
            return sum(int(line.rsplit("=", 1)[1]) for line in lines) >= count

        wait_for(all_counted, "all of it counted in the log")
        took = time.monotonic() - begun
    assert reported <= 20 + 2 * took + 1
    assert client.run("6 * 7").result == "42"


def test_a_reflected_message_is_refused(
    session: Session, client: Client
) -> None:
    """Both sides sign with one key, and iopub is open to who reaches it."""
    client.run(
        "import comm\n"
        "heard = []\n"
        "one = comm.create_comm('t')\n"
        "one.on_msg(lambda message: heard.append(message))\n"
    )
    with Peer(session, "iopub", zmq.SUB) as peer:
        peer.subscribe(b"")
        assert peer.poll(int(DEADLINE * 1000))  # the welcome
        client.run("one.send({'x': 1})")
        frames: list[bytes] = []
        while not any(b"comm_msg" in frame for frame in frames):
            assert peer.poll(int(DEADLINE * 1000))
            frames = peer.recv_multipart()
    with Peer(session, "shell", zmq.DEALER) as peer:
        peer.send_multipart(frames[frames.index(b"<IDS|MSG>") :])
        wait_for(
            lambda: "reflected" in session.gateway.log.read_text(),
            "the message dropped",
        )
    assert client.run("len(heard)").result == "0"


@pytest.fixture
def hanging(shim: Path) -> Iterator[Gateway]:
    """The disk takes nothing for the files that folder/stuck names."""
    made = Gateway("--set", "profile/python3/pool/max=0")
    made.env.update(
        LD_PRELOAD=str(shim), CHAOS_STUCK=str(made.folder / "stuck")
    )
    try:
        yield made.start()
    finally:
        (made.folder / "stuck").unlink(missing_ok=True)
        made.end()


@pytest.mark.deep
def test_a_session_that_hangs_delays_no_other(hanging: Gateway) -> None:
    """Its thread waits for a disk; lists, other sessions and the gateway's end
    do not wait for it, and the next gateway has it again."""
    stuck, other = hanging.create(), hanging.create()
    with stuck.client() as client:
        assert client.run("x = 20").status == "ok"
    (hanging.folder / "stuck").write_text(stuck.id)
    with stuck.client(ready=False) as client:
        client.kc.kernel_info()

        def does_not_answer() -> bool:
            """The first list that misses it waits for it, no other."""
            return any(
                model["id"] == stuck.id and model.get("responds") is False
                for model in hanging.sessions()
            )

        client.kc.execute("x")
        wait_for(does_not_answer, "a session that is seen not to answer")
        assert {model["id"] for model in hanging.sessions()} == {
            stuck.id,
            other.id,
        }
        assert other.exec("6 * 7").stdout == "42\n"
        refused = hanging.run("session", "show", stuck.id)
        assert refused.returncode == 1
        assert "has not answered" in refused.stderr
        assert hanging.process is not None
        hanging.process.terminate()
        assert hanging.process.wait(DEADLINE) == 1
        assert "and is left; the next" in hanging.log.read_text()
    (hanging.folder / "stuck").unlink()
    hanging.start()
    assert stuck.exec("x + 22").stdout == "42\n"
    assert other.exec("6 * 7").stdout == "42\n"
