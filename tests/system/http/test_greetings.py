"""The greeting of a new WebSocket: it begins with its kernel's state."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from client import Client
from web import Kernel, Message, of_type, state_of, text_of

FORMS = pytest.mark.parametrize("v1", [False, True], ids=["legacy", "v1"])


def greeting_of(messages: list[Message]) -> list[str]:
    """The states under a request for the kernel's info, which is one."""
    found = [
        m
        for m in messages
        if m["parent_header"].get("msg_type") == "kernel_info_request"
    ]
    assert len({m["parent_header"]["msg_id"] for m in found}) <= 1
    return [m["content"]["execution_state"] for m in of_type(found, "status")]


@FORMS
@pytest.mark.parametrize("query", [{}, {"session_id": "tab"}])
def test_a_new_socket_is_greeted(
    kernel: Kernel, v1: bool, query: dict[str, str]
) -> None:
    other = kernel.socket()
    ws = kernel.socket(v1=v1, query=query)
    first = [ws.receive(), ws.receive()]
    assert greeting_of(first) == ["busy", "idle"]
    for message in first:
        assert message["channel"] == "iopub"
        assert message["frame"] == ("v1" if v1 else "text")
        assert message["header"]["session"]
    assert first[0]["header"]["msg_id"] != first[1]["header"]["msg_id"]
    parent = first[0]["parent_header"]
    assert parent["session"] == query.get("session_id", parent["session"])
    msg_id = ws.execute("1")
    ws.finish(msg_id)
    assert ws.seen[:2] == first
    assert {m["parent_header"]["msg_id"] for m in ws.seen[2:]} == {msg_id}
    other.until_idle(msg_id)
    assert greeting_of(other.seen) == ["busy", "idle"]


WAIT = (
    "import os, time\nprint('on', flush=True)\n"
    "while not os.path.exists('now'): time.sleep(0.01)\nprint('off')"
)


@FORMS
def test_a_busy_kernel_greets_with_busy(kernel: Kernel, v1: bool) -> None:
    ws = kernel.socket()
    msg_id = ws.execute(WAIT)
    ws.until(lambda m: m["header"]["msg_type"] == "stream")
    ws.finish(ws.send("kernel_info_request", channel="control"))
    late = kernel.socket(v1=v1)
    assert greeting_of([late.receive()]) == ["busy"]
    # Requests that are answered beside the cell do not make it idle.
    late.finish(late.send("connect_request", channel="control"))
    assert greeting_of(late.seen) == ["busy"]
    gateway = kernel.web.gateway
    shown = gateway.json("session", "show", "--json", kernel.id)
    (Path(shown["workspace"]) / "now").touch()
    late.until(lambda m: greeting_of([m]) == ["idle"])
    own = [m for m in late.seen if m["parent_header"].get("msg_id") == msg_id]
    assert text_of(own) == "off\n"
    assert state_of(own) == "idle"
    ws.finish(msg_id)
    assert greeting_of(late.seen) == ["busy", "idle"]


def test_a_kernel_that_starts_greets_with_idle_when_it_is(
    kernel: Kernel,
) -> None:
    with ThreadPoolExecutor(1) as pool:
        restarted = pool.submit(
            kernel.web.post, f"/api/kernels/{kernel.id}/restart"
        )
        while not restarted.done():
            ws = kernel.socket()
            assert greeting_of([ws.receive()]) == ["busy"]
            ws.until(lambda m: greeting_of([m]) == ["idle"])
            ws.close()
        assert restarted.result().status == 200
    assert kernel.socket().value("1+1") == "2"


def test_a_socket_that_returns_is_not_greeted(kernel: Kernel) -> None:
    query = {"session_id": "tab"}
    kernel.socket(query=query).ready().close()
    again = kernel.socket(query=query)
    assert again.value("1+1") == "2"
    assert not greeting_of(again.seen)


def test_a_greeting_is_for_its_socket_alone(kernel: Kernel) -> None:
    """No subscriber sees it, no journal has it, and it is no activity."""
    path = f"/api/kernels/{kernel.id}"
    events = f"/hearth/sessions/{kernel.id}/events?since=0"
    shown = kernel.web.gateway.json("session", "show", "--json", kernel.id)
    with Client(shown["connection_file"]) as client:
        client.wait_ready().run("1")
        before = kernel.web.get(path).json["last_activity"]
        journal = kernel.web.get(events).body
        ws = kernel.socket()
        assert greeting_of([ws.receive(), ws.receive()]) == ["busy", "idle"]
        assert kernel.web.get(path).json["last_activity"] == before
        assert kernel.web.get(events).body == journal
        client.run("1")
        assert not greeting_of(client.others)
