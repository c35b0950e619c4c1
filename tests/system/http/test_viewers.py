"""A viewer that pings, that only looks, that comes back to a question."""

from __future__ import annotations

import time
from typing import Iterator

import pytest
import websocket
from deadline import DEADLINE
from harness import Gateway
from web import (
    Kernel,
    Message,
    Socket,
    Web,
    of_type,
    state_of,
    text_of,
    types,
)

PINGS = 3


@pytest.fixture(scope="module")
def quick() -> Iterator[Gateway]:
    """A second between pings, not thirty."""
    gateway = Gateway("--set", "http/ping_interval=1s")
    try:
        gateway.start()
        yield gateway
    finally:
        gateway.end()


def test_pings_go_out_and_no_pong_is_needed(quick: Gateway) -> None:
    """A-U15, A-U16. Nothing is answered: websocket-client does so in recv()
    alone, and here its frames are read."""
    kernel = Kernel(Web.of(quick), Web.of(quick).create())
    try:
        ws = kernel.socket()
        times: list[float] = []
        while len(times) < PINGS:
            ws.ws.settimeout(DEADLINE)
            frame = ws.ws.recv_frame()
            if frame.opcode == websocket.ABNF.OPCODE_PING:
                assert frame.data == b""
                times.append(time.monotonic())
        # Never earlier than configured; how much later depends on the machine.
        assert times[-1] - times[0] > 0.5 * (PINGS - 1)
        assert ws.value("6 * 7") == "42"
    finally:
        kernel.close()


def ask(ws: Socket, prompt: str = "? ") -> tuple[str, Message]:
    msg_id = ws.execute(f"print('<', input({prompt!r}), '>')", allow_stdin=True)
    return msg_id, question(ws)


def question(ws: Socket) -> Message:
    return ws.until(lambda m: m["header"]["msg_type"] == "input_request")[-1]


@pytest.mark.parametrize("how", ["drop", "close"])
def test_a_question_is_repeated_to_a_returning_client(
    kernel: Kernel, how: str
) -> None:
    query = {"session_id": "tab"}
    ws = kernel.socket(query=query)
    msg_id, first = ask(ws)
    getattr(ws, how)()
    again = kernel.socket(query=query)
    second = question(again)
    assert second["content"] == first["content"]
    assert second["channel"] == "stdin"
    assert second["parent_header"]["msg_id"] == msg_id
    again.send(
        "input_reply", {"value": "late"}, "stdin", parent=second["header"]
    )
    again.finish(msg_id)
    assert text_of(again.seen) == "< late >\n"
    # Who comes back once more is not asked what was answered.
    again.drop()
    third = kernel.socket(query=query)
    third.run("1")
    assert not of_type(third.seen, "input_request")


def test_a_question_goes_to_one_client_only(kernel: Kernel) -> None:
    ws = kernel.socket(query={"session_id": "tab"})
    msg_id, asked = ask(ws)
    other = kernel.socket(query={"session_id": "another"})
    ws.send("input_reply", {"value": "x"}, "stdin", parent=asked["header"])
    ws.finish(msg_id)
    other.until_idle(msg_id)
    assert text_of(other.seen) == "< x >\n"
    assert not of_type(other.seen, "input_request")


def test_observers(kernel: Kernel) -> None:
    """Outputs stream in; each request that runs code is refused in words, and
    with all that clients wait for."""
    token = kernel.web.gateway.json(
        "token", "create", "--json", "--scope", "observe", "looker"
    )["token"]
    looker = Socket(kernel.web.with_token(token), kernel.id)
    kernel.sockets.append(looker)
    looker.ready()
    worker = kernel.socket()
    worker.run("x = 41")
    for code in ("x = 0", "print('no')"):
        found = looker.run(code)
        assert set(types(found)) == {"status", "error", "execute_reply"}
        assert state_of(found) == "idle"
        for kind in ("error", "execute_reply"):
            content = of_type(found, kind)[0]["content"]
            assert content["ename"] == "PermissionError"
            assert "execute" in content["evalue"]
        reply = of_type(found, "execute_reply")[0]
        assert reply["channel"] == "shell"
        assert reply["content"]["status"] == "error"
    for kind in ("complete_request", "inspect_request", "shutdown_request"):
        channel = "control" if kind.startswith("shutdown") else "shell"
        content = {"code": "x", "cursor_pos": 1, "restart": False}
        refused = looker.finish(looker.send(kind, content, channel))
        assert refused[-1]["parent_header"]["msg_type"] == kind
        (reply,) = [m for m in refused if m["channel"] == channel]
        assert reply["content"]["ename"] == "PermissionError"
    looker.send("comm_open", {"comm_id": "c", "target_name": "t", "data": {}})
    asked = worker.execute("print(x + 1)")
    worker.finish(asked)
    seen = looker.until_idle(asked)
    assert text_of(seen) == "42\n"
    assert not of_type(seen, "execute_reply")


def test_an_observer_answers_no_question(kernel: Kernel) -> None:
    token = kernel.web.gateway.json(
        "token", "create", "--json", "--scope", "observe", "mute"
    )["token"]
    looker = Socket(kernel.web.with_token(token), kernel.id)
    kernel.sockets.append(looker)
    looker.ready()
    ws = kernel.socket()
    msg_id, asked = ask(ws)
    looker.send(
        "input_reply", {"value": "forged"}, "stdin", parent=asked["header"]
    )
    looker.ws.ping("taken?")  # what came before was, and thrown away
    while looker.ws.recv_data(control_frame=True)[1] != b"taken?":
        pass
    ws.send("input_reply", {"value": "true"}, "stdin", parent=asked["header"])
    ws.finish(msg_id)
    assert text_of(ws.seen) == "< true >\n"
