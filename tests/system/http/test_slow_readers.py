"""A WebSocket whose client does not read: its backlog is bounded and in order,
and no other client waits for it."""

from __future__ import annotations

import contextlib
from typing import Iterator, Optional

import pytest
from deadline import wait_for
from harness import Gateway
from web import Closed, Kernel, Socket, Web, of_type, state_of, text_of, types
from websocket import WebSocketException, WebSocketTimeoutException

# More than the buffers of any TCP connection take.
LINES = 400
PRINTS = f"for i in range({LINES}): print(i, 'x' * 60000)"
ASKED = 8000


@pytest.fixture(scope="module")
def narrow() -> Iterator[Gateway]:
    """64 KiB lie for a client, not 4 MiB."""
    gateway = Gateway("--set", "http/queue_max=64K")
    try:
        gateway.start()
        yield gateway
    finally:
        gateway.end()


@pytest.fixture
def kernel(narrow: Gateway) -> Iterator[Kernel]:
    web = Web.of(narrow)
    made = Kernel(web, web.create())
    yield made
    made.close()


def test_the_backlog_comes_in_order(kernel: Kernel) -> None:
    slow = kernel.socket().ready()
    msg_id = slow.execute(PRINTS)
    wait_for(
        lambda: (
            kernel.web.get(f"/api/kernels/{kernel.id}").json["execution_state"]
            == "busy"
        ),
        "the cell runs",
    )
    # It is over, and nothing of it was read.
    other = kernel.socket().ready()
    assert other.value("6 * 7") == "42"
    messages = slow.finish(msg_id)
    shown = [line.split()[0] for line in text_of(messages).splitlines()]
    assert shown == [str(i) for i in range(LINES)]
    assert types(messages).count("execute_reply") == 1
    states = [state_of([m]) for m in of_type(messages, "status")]
    assert states[-1] == "idle"
    assert states.count("idle") == 1
    # After the outputs, or clients would stop listening before them.
    assert types(messages)[-1] == "status"
    assert slow.value("6 * 9") == "54"


def comes_back(kernel: Kernel) -> Optional[Socket]:
    try:
        return kernel.socket(query={"session_id": "slow"}).ready()
    except (Closed, OSError, WebSocketException):
        return None


def test_a_client_that_reads_no_replies_is_disconnected(kernel: Kernel) -> None:
    """Replies that no journal has are not held without an end."""
    slow = kernel.socket(query={"session_id": "slow"}, receive_buffer=65536)
    slow.ready()
    other = kernel.socket().ready()
    # They wait after this cell, and the last one shows that all are there.
    cell = other.execute("input()", allow_stdin=True)
    question = other.until(lambda m: m["channel"] == "stdin")[-1]
    for _ in range(ASKED):
        slow.send("kernel_info_request")
    slow.finish(slow.send("kernel_info_request", channel="control"))
    other.send("input_reply", {"value": ""}, "stdin", parent=question["header"])
    other.finish(cell)
    assert other.value("6 * 7") == "42"
    replies = 0
    closed = None
    while closed is None:
        try:
            message = slow.receive()
        except Closed as reason:
            closed = reason
        else:
            replies += message["header"]["msg_type"] == "kernel_info_reply"
    assert closed.code == 1008
    assert "slowly" in closed.text
    assert 0 < replies < ASKED
    # It may come back, when the rest of what it asked for is over.
    again = wait_for(lambda: comes_back(kernel), "it is let in again")
    assert again.value("6 * 9") == "54"
    assert other.value("6 * 8") == "48"


def test_a_slow_observer_is_no_exception(
    kernel: Kernel, narrow: Gateway
) -> None:
    """Refusals lie for him as replies do."""
    token = narrow.run("token", "create", "--scope", "observe").stdout.strip()
    looker = Kernel(kernel.web.with_token(token), kernel.id)
    slow = looker.socket(receive_buffer=65536).ready()
    with contextlib.suppress(OSError, WebSocketException):
        for _ in range(ASKED):
            slow.execute("")
    refused = 0
    # What he still sends may cost him the last words, so there may be none.
    with pytest.raises((Closed, OSError, WebSocketException)) as parted:  # noqa: PT012
        while True:
            refused += slow.receive()["header"]["msg_type"] == "execute_reply"
    if isinstance(parted.value, Closed):
        assert parted.value.code == 1008
    assert not isinstance(parted.value, TimeoutError)
    assert not isinstance(parted.value, WebSocketTimeoutException)
    assert refused < ASKED
    other = kernel.socket().ready()
    assert other.value("6 * 7") == "42"
