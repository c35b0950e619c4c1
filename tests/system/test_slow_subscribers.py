"""A subscriber that does not read: the gateway's memory stays within the
budget, and the others get everything."""

from __future__ import annotations

import json
import time
from typing import Any, Iterator

import pytest
import zmq
from deadline import DEADLINE, wait_for
from harness import Gateway, Session
from resident import Peak, resident

MIB = 1 << 20
BUDGET = 16 * MIB
# What a gateway needs beside, and what malloc keeps of what was freed.
SLACK = 48 * MIB
CHUNK = 1 << 18
CHUNKS = 800  # 200 MiB


@pytest.fixture(params=["tcp"])
def gateway(request: pytest.FixtureRequest) -> Iterator[Gateway]:
    gateway = Gateway(
        "--set", f"gateway/transport={request.param}",
        "--set", f"sessions/subscriber_bytes={BUDGET}",
        "--set", "sessions/subscriber_patience=3s",
    )  # fmt: skip
    try:
        yield gateway.start()
    finally:
        gateway.end()


@pytest.fixture
def session(gateway: Gateway) -> Session:
    return gateway.create()


class Sleeper:
    """Subscribes, and takes nothing until it is asked to."""

    def __init__(self, session: Session) -> None:
        with open(session.connection_file) as file:
            about = json.load(file)
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.SUB)
        self.socket.setsockopt(zmq.RCVHWM, 1)
        # Small, but more than a segment of loopback: a window below that, once
        # shut, is opened by probes alone, which come ever more rarely.
        self.socket.setsockopt(zmq.RCVBUF, 1 << 18)
        self.socket.setsockopt(zmq.SUBSCRIBE, b"")
        if about["transport"] == "ipc":
            path = f"ipc://{about['ip']}-{about['iopub_port']}"
            self.socket.connect(path)
        else:
            self.socket.connect(f"tcp://{about['ip']}:{about['iopub_port']}")
        # The welcome: from here on everything is for it, too.
        assert self.socket.poll(int(DEADLINE) * 1000)
        self.socket.recv_multipart()

    def close(self) -> None:
        self.socket.close(0)
        self.context.term()

    def take(self) -> dict[str, Any]:
        assert self.socket.poll(int(DEADLINE) * 1000), "nothing comes any more"
        frames = self.socket.recv_multipart()
        at = frames.index(b"<IDS|MSG>")
        return {
            "type": json.loads(frames[at + 2])["msg_type"],
            "parent": json.loads(frames[at + 3]),
            "content": json.loads(frames[at + 5]),
        }


def is_idle(message: dict[str, Any], msg_id: str) -> bool:
    return (
        message["type"] == "status"
        and message["content"]["execution_state"] == "idle"
        and message["parent"].get("msg_id") == msg_id
    )


@pytest.mark.parametrize("gateway", ["tcp", "ipc"], indirect=True)
def test_a_sleeping_subscriber_does_not_stop_the_other(
    gateway: Gateway, session: Session
) -> None:
    sleeper = Sleeper(session)
    with session.client() as client, Peak(gateway.pid) as peak:
        turn = client.run(
            f"for i in range({CHUNKS}): print('x' * ({CHUNK} - 1))"
        )
        assert turn.status == "ok"
        assert len(turn.stream()) == CHUNK * CHUNKS
        # The sleeping client, awake: reconnected, and informed that the cell is
        # over.
        msg_id = turn.reply["parent_header"]["msg_id"]
        wait_for(
            lambda: is_idle(sleeper.take(), msg_id),
            "idle for the one that slept",
        )
        assert client.run("1 + 1").result == "2"
    sleeper.close()
    assert peak.growth < BUDGET + SLACK
    # Over TCP the gate sees that it takes nothing, and the session does not.
    is_tcp = client.kc.transport == "tcp"
    found = "took nothing for 1 s" if is_tcp else "were disconnected"
    assert found in gateway.log.read_text()


def test_a_slow_subscriber_gets_everything(
    gateway: Gateway, session: Session
) -> None:
    """It takes little, but takes: the kernel waits for it."""
    sleeper = Sleeper(session)
    text = 0
    with session.client() as client, Peak(gateway.pid) as peak:
        msg_id = client.kc.execute(
            f"for i in range({CHUNKS // 4}): print('x' * ({CHUNK} - 1))"
        )
        while True:
            message = sleeper.take()
            if message["type"] == "stream":
                text += len(message["content"]["text"])
                time.sleep(0.02)  # in all, longer than the patience
            if is_idle(message, msg_id):
                break
    sleeper.close()
    assert text == CHUNK * CHUNKS // 4
    assert peak.growth < BUDGET + SLACK
    assert "were disconnected" not in gateway.log.read_text()


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_a_client_that_takes_no_replies_is_disconnected(transport: str) -> None:
    """100 replies of 2 MB each; the session goes on for the others."""
    gateway = Gateway(
        "--set", f"gateway/transport={transport}",
        "--set", f"sessions/subscriber_bytes={BUDGET}",
        "--set", "sessions/subscriber_patience=1s",
    )  # fmt: skip
    try:
        session = gateway.start().create()
        with session.client() as client, Peak(gateway.pid) as peak:
            asking = client.kc.session
            with zmq.Context() as context, context.socket(zmq.DEALER) as rude:
                rude.setsockopt(zmq.RCVHWM, 1)
                rude.setsockopt(zmq.RCVBUF, 4096)
                rude.setsockopt(zmq.LINGER, 0)
                rude.connect(client.kc.shell_channel.socket.LAST_ENDPOINT)
                for _ in range(100):
                    content = {
                        "code": "n = 1",
                        "silent": False,
                        "store_history": False,
                        "user_expressions": {"x": "'y' * 2_000_000"},
                    }
                    request = asking.msg("execute_request", content)
                    rude.send_multipart(asking.serialize(request))
                assert client.run("40 + 2", timeout=4 * DEADLINE).result == "42"
                wait_for(
                    lambda: "took no reply" in gateway.log.read_text(),
                    "the one who takes no replies to be parted from",
                )
                assert client.run("n").result == "1"
        assert peak.growth < 2 * BUDGET + SLACK
    finally:
        gateway.end()


def test_an_interrupt_is_handled_under_backpressure(
    gateway: Gateway, session: Session
) -> None:
    sleeper = Sleeper(session)
    with session.client() as client:
        client.run("kept = 7")
        client.kc.execute("while True: print('x' * 100000)")
        wait_for(
            lambda: resident(gateway.pid) > BUDGET * 2, "a budget that is full"
        )
        gateway.run("session", "interrupt", session.id)
        session.wait_state("idle")
    # A fresh one: the client above took nothing either, meanwhile.
    assert "7" in session.exec("kept").stdout
    sleeper.close()


def test_an_interrupt_is_judged_after_earlier_output() -> None:
    """The kernel yields at once, but 60 MB of output come before its reply: the
    grace counts from there."""
    gateway = Gateway(
        "--set", f"sessions/subscriber_bytes={BUDGET}",
        "--set", "sessions/subscriber_patience=10m",
        "--set", "sessions/interrupt_grace=0.1s",
    )  # fmt: skip
    try:
        session = gateway.start().create()
        session.exec("kept = 5")
        sleeper = Sleeper(session)
        with session.client(ready=False) as client:
            before = session.show()["memory_kib"]
            client.kc.execute("while True: print('x' * 5000)")
            wait_for(
                lambda: session.show()["memory_kib"] > before + 50 * 1024,
                "a kernel that cannot say more",
            )
            reported = gateway.json(
                "session", "interrupt", "--json", session.id
            )
            assert reported["outcome"] == "interrupted"
            assert reported["variables"] == "preserved"
        sleeper.close()
        assert "5" in session.exec("kept").stdout
    finally:
        gateway.end()
