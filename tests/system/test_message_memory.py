"""One bound for the messages of all sessions and clients in the gateway's
memory: a client beyond it is refused or a session ended, and the others go on.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Iterator

import pytest
import zmq
from client import Client
from deadline import DEADLINE, wait_for
from forgery import TAKE_THE_LINK
from harness import Gateway, Session
from resident import Peak

MIB = 1 << 20
BOUND = 256 * MIB
# What a gateway needs beside, and what malloc keeps of what was freed.
SLACK = 96 * MIB

HALF_A_FRAME = (
    TAKE_THE_LINK
    + """
link.sendall(frame(34, 1, size=250 << 20))
link.settimeout(600)
piece = bytes(1 << 20)
for _ in range(248):
    link.sendall(piece)
time.sleep(600)
"""
)

QUESTIONS = (
    TAKE_THE_LINK
    + """
from hearth_kernel.messaging import outlet
content = json.dumps({'prompt': 'x' * 1000000, 'password': False}).encode()
for seq in range(1, 2000):
    link.sendall(frame(43, seq, request=find_request(), content=content))
"""
)


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    running = Gateway(
        "--set", f"gateway/message_memory={BOUND}",
        "--set", "sessions/subscriber_patience=3s",
        "--set", "sessions/interrupt_grace=0.5s",
    )  # fmt: skip
    try:
        yield running.start()
    finally:
        running.end()


def figure(gateway: Gateway, name: str) -> int:
    number: int = gateway.info()["message_memory"][name]
    return number


@pytest.fixture
def others() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def begin(session: Session, others: ExitStack, code: str) -> Client:
    """Its client, and a cell that runs."""
    client = others.enter_context(session.client())
    client.kc.execute(code)
    return client


def test_half_a_frame_in_each_session(
    gateway: Gateway, others: ExitStack
) -> None:
    hogs = [gateway.create() for _ in range(5)]
    other = gateway.create()

    def ended() -> list[Any]:
        return [one for one in map(Session.show, hogs) if "reason" in one]

    with Peak(gateway.pid) as peak:
        for hog in hogs:
            begin(hog, others, HALF_A_FRAME)
        first = wait_for(ended, "somebody to be ended")[0]
        assert first["reason"] == "output"
        assert "gateway/message_memory" in first["detail"]
        # Who has much to say, and says it, has room before long.
        with other.client() as client:
            turn = client.run("kept = 'y' * 9_000_000; kept")
            assert turn.result
            assert len(turn.result) > 9_000_000
    assert peak.growth < BOUND + SLACK
    assert figure(gateway, "refused") > 0
    assert figure(gateway, "max") == BOUND
    for hog in hogs:
        gateway.run("session", "delete", hog.id)
    wait_for(lambda: figure(gateway, "bytes") < MIB, "memory to be free")
    assert "9000000" in other.exec("len(kept)").stdout


@pytest.mark.deep
def test_requests_that_wait_in_each_session(
    gateway: Gateway, others: ExitStack
) -> None:
    """They are refused with the bound's name; what was taken, runs."""
    sessions = [gateway.create() for _ in range(4)]
    clients = [
        begin(one, others, "import time\nwhile not __import__('os').path"
              ".exists('go'): time.sleep(0.01)")
        for one in sessions
    ]  # fmt: skip
    big = "x = 1  #" + "x" * (30 * MIB)
    for client in clients:
        for _ in range(6):
            client.kc.execute(big)
    with Peak(gateway.pid) as peak:
        wait_for(lambda: figure(gateway, "refused") >= 4, "refusals")
        for session in sessions:
            (session.workspace / "go").touch()
        # In the order in which they come: a refusal does not wait.
        replies = [
            client.kc.get_shell_msg(timeout=DEADLINE)["content"]
            for client in clients
            for _ in range(7)
        ]
    refused = [one for one in replies if one["status"] == "error"]
    assert {one["status"] for one in replies} == {"ok", "error"}
    assert {one["ename"] for one in refused} == {"QueueFull"}
    assert "gateway/message_memory" in refused[0]["evalue"]
    assert peak.growth < BOUND + 4 * 30 * MIB + SLACK
    for client in clients:
        assert client.run("40 + 2").result == "42"


def test_questions_that_no_client_takes(
    gateway: Gateway, others: ExitStack
) -> None:
    """The kernel is not read while they wait; the client that takes nothing is
    disconnected."""
    session = gateway.create()
    client = others.enter_context(session.client())
    asking = client.kc.session
    content = {"code": QUESTIONS, "allow_stdin": True, "silent": False}
    with Peak(gateway.pid) as peak, zmq.Context() as context:
        sockets = [context.socket(zmq.DEALER) for _ in range(2)]
        for one, channel in zip(sockets, ("shell", "stdin")):
            one.setsockopt(zmq.IDENTITY, b"rude")
            one.setsockopt(zmq.RCVHWM, 1)
            one.setsockopt(zmq.RCVBUF, 4096)
            one.setsockopt(zmq.LINGER, 0)
            one.connect(
                getattr(client.kc, f"{channel}_channel").socket.LAST_ENDPOINT
            )
        request = asking.msg("execute_request", content)
        sockets[0].send_multipart(asking.serialize(request))
        wait_for(
            lambda: "took no reply" in gateway.log.read_text(),
            "the one who takes no questions to be parted from",
        )
        for one in sockets:
            one.close()
    assert peak.growth < 64 * MIB + SLACK
    gateway.run("session", "interrupt", "--kill", session.id)
