"""A WebSocket's handshake waits neither for a session's thread nor for the
registry's, and no other client waits for it."""

from __future__ import annotations

import socket
from typing import Iterator

import pytest
import websocket
from deadline import DEADLINE
from harness import Gateway
from threads import Frozen, threads
from web import Socket, Web, of_type

UNKNOWN = "00000000-0000-4000-8000-000000000000"


@pytest.fixture(scope="module")
def bare() -> Iterator[Gateway]:
    """Without a pool: a thread that comes is a session's."""
    gateway = Gateway("--set", "profile/python3/pool/max=0")
    try:
        gateway.start()
        create(gateway, is_first=True)  # threads that all have in common
        yield gateway
    finally:
        gateway.end()


def create(gateway: Gateway, is_first: bool = False) -> tuple[str, int]:
    """By the command line: HTTP has not looked at it. And its thread."""
    before = threads(gateway.pid)
    made = gateway.json("session", "create", "--json")
    new = threads(gateway.pid) - before
    assert is_first or len(new) == 1
    gateway.note_namespace(made["pid"])
    return made["id"], new.pop()


def test_a_session_that_does_not_answer(bare: Gateway) -> None:
    web = Web.of(bare)
    kernel, thread = create(bare)
    with Frozen(thread):
        ws = Socket(web, kernel)
        asked = ws.send("kernel_info_request")
        ran = ws.execute("6 * 7")
        assert web.get("/api").status == 200
        assert web.get("/api/status").status == 200
        with Socket(web, kernel) as other:
            other.ws.ping("there?")
            assert other.ws.recv_data(control_frame=True)[1] == b"there?"
    found = ws.finish(asked)
    assert of_type(found, "kernel_info_reply")
    result = of_type(ws.finish(ran), "execute_result")[0]["content"]
    assert result["data"]["text/plain"] == "42"
    ws.close()
    web.delete(kernel)


def test_more_than_may_wait_is_refused(bare: Gateway) -> None:
    web = Web.of(bare)
    kernel, thread = create(bare)
    with Frozen(thread):
        ws = Socket(web, kernel)
        asked = [ws.execute(str(number)) for number in range(70)]
        refused = ws.finish(asked[-1])
        reply = of_type(refused, "execute_reply")[0]["content"]
        assert reply["status"] == "error"
        assert "has not answered yet" in reply["evalue"]
    for number in range(64):
        own = ws.finish(asked[number])
        result = of_type(own, "execute_result")[0]["content"]
        assert result["data"]["text/plain"] == str(number)
    ws.close()
    web.delete(kernel)


def test_a_registry_that_does_not_answer(bare: Gateway) -> None:
    web = Web.of(bare)
    kernel, _ = create(bare)
    seen, _ = create(bare)
    Socket(web, seen).ready().close()
    with Frozen(bare.pid):  # the first thread is the registry's
        ws = Socket(web, kernel)
        asked = ws.send("kernel_info_request")
        assert web.get("/api").status == 200
        with Socket(web, seen) as other:
            assert other.value("1 + 1") == "2"
    assert of_type(ws.finish(asked), "kernel_info_reply")
    ws.close()
    for one in (kernel, seen):
        web.delete(one)


def test_handshakes_for_unknown_kernels_delay_no_other_client(
    bare: Gateway,
) -> None:
    """Nor does the refusal wait for the registry, which knows the reason."""
    web = Web.of(bare)
    lines = [
        f"GET /api/kernels/{UNKNOWN}/channels HTTP/1.1",
        "Host: localhost",
        f"Authorization: token {web.token}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version: 13",
    ]
    request = "".join(line + "\r\n" for line in [*lines, ""]).encode()
    with socket.create_connection((web.host, web.port), DEADLINE) as one:
        with Frozen(bare.pid):
            one.sendall(request)
            for _ in range(3):
                assert web.get("/api").status == 200
            answer = one.recv(65536)
        assert answer.startswith(b"HTTP/1.1 404 "), answer
        assert UNKNOWN.encode() in answer
        assert b"GET /api/kernels/ID has the reason" in answer
        assert b"Connection: close" in answer


def test_each_way_to_a_session_is_known_at_once(bare: Gateway) -> None:
    """Whatever client makes it: each that knows the id gets a WebSocket."""
    web = Web.of(bare)
    for number in range(20):
        kernel = web.create() if number % 2 else create(bare)[0]
        with Socket(web, kernel) as ws:
            assert ws.value("1 + 1") == "2"
        web.delete(kernel)
        with pytest.raises(websocket.WebSocketBadStatusException) as caught:
            Socket(web, kernel)
        assert caught.value.status_code == 404
        assert b"ended on request" in (caught.value.resp_body or b"")


def test_after_a_restart_of_the_gateway(bare: Gateway) -> None:
    """Also who is there before the gateway knows its sessions."""
    web = Web.of(bare)
    kernel, _ = create(bare)
    for _ in range(3):
        bare.terminate()
        bare.start()
        web.renew()
        with Socket(web, kernel) as ws:
            assert ws.value("1 + 1") == "2"
    web.delete(kernel)
