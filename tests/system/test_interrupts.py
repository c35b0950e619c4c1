"""Turns that are broken off, and what that does to those that wait."""

from __future__ import annotations

from typing import Any

import pytest
import zmq
from client import Client, Message, parent_of
from deadline import DEADLINE
from harness import Session, endpoint

# Fails when a file exists: after the later requests have arrived.
FAIL_WHEN_TOLD = (
    "import asyncio, os\n"
    "while not os.path.exists('now'): await asyncio.sleep(0.01)\n"
    "1/0"
)


def test_stop_on_error(client: Client, session: Session) -> None:
    failing = client.kc.execute(FAIL_WHEN_TOLD)
    second = client.kc.execute("print('second')")
    info = client.kc.kernel_info()
    third = client.kc.execute("print('third')")
    session.wait_journaled([second, third])
    (session.workspace / "now").touch()

    assert client.reply(failing)["content"]["status"] == "error"
    replies: dict[Any, Message] = {}
    for _ in range(3):
        message = client.kc.get_shell_msg(timeout=DEADLINE)
        replies[parent_of(message)] = message
    assert replies[second]["content"]["status"] == "aborted"
    assert replies[third]["content"]["status"] == "aborted"
    assert replies[info]["content"]["status"] == "ok"
    assert client.run("print('fresh')").stream() == "fresh\n"


def test_stop_on_error_false(client: Client, session: Session) -> None:
    failing = client.kc.execute(FAIL_WHEN_TOLD, stop_on_error=False)
    second = client.kc.execute("print('second')")
    session.wait_journaled([second])
    (session.workspace / "now").touch()

    assert client.finish(failing).status == "error"
    assert client.finish(second).stream() == "second\n"


def test_cells_after_a_failure_run(client: Client) -> None:
    """A request of a client that knows of the failure is not aborted."""
    for number in range(100):
        assert client.run("1/0").status == "error"
        assert client.run(str(number)).result == str(number)


def test_aborted_is_busy_then_idle(client: Client, session: Session) -> None:
    client.kc.execute(FAIL_WHEN_TOLD)
    waiting = client.kc.execute("1")
    session.wait_journaled([waiting])
    (session.workspace / "now").touch()
    aborted = client.finish(waiting)

    assert aborted.status == "aborted"
    assert aborted.types == ["status", "status"]


def test_interrupt_of_input(client: Client) -> None:
    msg_id = client.kc.execute("input('? ')", allow_stdin=True)
    client.kc.get_stdin_msg(timeout=DEADLINE)
    interrupt = client.ask("control", "interrupt_request")

    assert interrupt.status == "ok"
    turn = client.finish(msg_id)
    assert turn.content["ename"] == "KeyboardInterrupt"
    assert client.run("1").result == "1"


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time; time.sleep(600)",
        "import numpy\nwhile True: numpy.arange(100000).sum()",
        "import asyncio; await asyncio.sleep(600)",
        "import subprocess; subprocess.run(['sleep', '600'])",
        "!sleep 600",
        "lines = !sleep 600",
    ],
    ids=["loop", "sleep", "numpy", "await", "child", "shell", "lines"],
)
def test_interrupt(client: Client, code: str) -> None:
    msg_id = client.kc.execute(f"kept = 1\nprint('go', flush=True)\n{code}")
    begun = client.stream_until(msg_id, "go")
    client.send("control", "interrupt_request")
    turn = client.finish(msg_id, begun=begun)

    assert turn.status == "error"
    assert turn.content["ename"] == "KeyboardInterrupt"
    shown = "\n".join(turn.content["traceback"])
    assert "hearth_kernel" not in shown
    assert "CancelledError" not in shown
    assert client.run("kept").result == "1"


def test_interrupt_when_idle(client: Client) -> None:
    client.run("kept = 1")
    assert client.ask("control", "interrupt_request").status == "ok"
    assert client.run("kept").result == "1"


def test_interrupt_aborts_waiting_cells(
    client: Client, session: Session
) -> None:
    msg_id = client.kc.execute("print('go')\nimport time; time.sleep(600)")
    waiting = client.kc.execute("1")
    begun = client.stream_until(msg_id, "go")
    # Control has no order with shell.
    session.wait_journaled([waiting])
    client.send("control", "interrupt_request")

    assert client.finish(msg_id, begun=begun).status == "error"
    assert client.finish(waiting).status == "aborted"


def test_control_answers_while_busy(client: Client) -> None:
    msg_id, begun = client.begin_long()
    asked = client.send("control", "kernel_info_request")

    assert client.reply(asked, channel="control")["content"]["status"] == "ok"
    client.send("control", "interrupt_request")
    assert client.finish(msg_id, begun=begun).status == "error"


def test_heartbeat(client: Client) -> None:
    msg_id = client.kc.execute("import time; time.sleep(600)")
    client.iopub(
        DEADLINE,
        lambda m: parent_of(m) == msg_id and m["msg_type"] == "execute_input",
    )
    # jupyter_client's own channel calls a heart dead that is a second late.
    with zmq.Context() as context, context.socket(zmq.REQ) as heart:
        heart.linger = 0
        heart.connect(endpoint(client.kc.connection_file, "hb"))
        for beat in (b"ping", b"", bytes(1000), b"again"):
            heart.send(beat)
            assert heart.poll(int(DEADLINE) * 1000)
            assert heart.recv() == beat
    client.send("control", "interrupt_request")
    assert client.finish(msg_id).status == "error"
