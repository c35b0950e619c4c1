"""Turns that are broken off, and what that does to those that wait."""

from __future__ import annotations

from typing import Any, Iterator

import pytest
import zmq
from client import Client, Message, Turn, execute_content, parent_of
from deadline import DEADLINE, wait_for
from harness import Gateway, Session, endpoint

# Fails when a file exists: after the later requests have arrived.
FAIL_WHEN_ASKED = (
    "import asyncio, os\n"
    "while not os.path.exists('now'): await asyncio.sleep(0.01)\n"
    "1/0"
)


def test_stop_on_error(client: Client, session: Session) -> None:
    failing = client.kc.execute(FAIL_WHEN_ASKED)
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
    failing = client.kc.execute(FAIL_WHEN_ASKED, stop_on_error=False)
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
    client.kc.execute(FAIL_WHEN_ASKED)
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


# ---- code that handles its interrupt ----

CHECKPOINT = """
import time
try:
    print('go', flush=True)
    time.sleep(600)
except KeyboardInterrupt:
    time.sleep(2)
    open('checkpoint', 'w').write('saved')
"""
TIDYING = """
import time
try:
    print('go', flush=True)
    time.sleep(600)
finally:
    time.sleep(2)
    open('checkpoint', 'w').write('saved')
"""
STUBBORN = """
import os, time
while True:
    try:
        print('go', flush=True)
        while not os.path.exists('enough'): time.sleep(0.05)
        break
    except KeyboardInterrupt:
        print('caught', flush=True)
"""
# Takes the signals from Python, one by one.
SWALLOWING = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
print('go', flush=True)
for name in 'first', 'second':
    signal.sigwait({signal.SIGINT})
    print(name, flush=True)
"""
# An hour in C.
COMPUTING = """
import hashlib
print('go', flush=True)
hashlib.pbkdf2_hmac('sha512', b'', b'', (1 << 31) - 1)
"""
OWN_HANDLER = """
import signal, time
caught = []
def note(number, frame): caught.append(number)
signal.signal(signal.SIGINT, note)
assert signal.getsignal(signal.SIGINT) is note
print('go', flush=True)
while not caught: time.sleep(0.01)
end = time.monotonic() + 3
while time.monotonic() < end: time.sleep(end - time.monotonic())
len(caught)
"""


def by_control(gateway: Gateway, client: Client, session: Session) -> None:
    assert client.ask("control", "interrupt_request").status == "ok"


def by_command(gateway: Gateway, client: Client, session: Session) -> None:
    done = gateway.run("session", "interrupt", session.id)
    assert "variables preserved" in done.stdout


WAYS = pytest.mark.parametrize(
    "way", [by_control, by_command], ids=["control", "command"]
)


@pytest.fixture(scope="module")
def hasty() -> Iterator[Gateway]:
    """Leaves interrupted code a second."""
    running = Gateway("--set", "sessions/interrupt_grace=1s")
    try:
        yield running.start()
    finally:
        running.end()


def saved(session: Session) -> str:
    return (session.workspace / "checkpoint").read_text()


@WAYS
def test_a_handler_is_not_interrupted(
    gateway: Gateway, client: Client, session: Session, way: Any
) -> None:
    msg_id = client.kc.execute(CHECKPOINT)
    begun = client.stream_until(msg_id, "go")
    way(gateway, client, session)

    assert client.finish(msg_id, begun=begun).status == "ok"
    assert saved(session) == "saved"


@WAYS
def test_a_finally_is_not_interrupted(
    gateway: Gateway, client: Client, session: Session, way: Any
) -> None:
    msg_id = client.kc.execute(TIDYING)
    begun = client.stream_until(msg_id, "go")
    way(gateway, client, session)
    turn = client.finish(msg_id, begun=begun)

    assert turn.content["ename"] == "KeyboardInterrupt"
    assert "During handling" not in "".join(turn.content["traceback"])
    assert saved(session) == "saved"


def run_limited(client: Client, code: str) -> Turn:
    """Run code that reaches its time limit after it has printed `go`.

    Where the machine is too busy for that in a second, the code is interrupted
    before it begins. Then it runs again, with twice the time.
    """
    seconds = 1
    while True:
        turn = client.ask(
            "shell",
            "execute_request",
            execute_content(code),
            {"hearth": {"time_limit": seconds}},
        )
        if turn.stream().startswith("go") or seconds > DEADLINE:
            return turn
        seconds *= 2


def test_a_time_limit_lets_a_handler_end(
    client: Client, session: Session
) -> None:
    turn = run_limited(client, CHECKPOINT)

    assert turn.status == "ok"
    assert "which it caught" in turn.stream("stderr")
    assert saved(session) == "saved"


def test_a_time_limit_lets_a_finally_end(
    client: Client, session: Session
) -> None:
    turn = run_limited(client, TIDYING)

    assert turn.content["ename"] == "TimeLimitExceeded"
    assert "variables: preserved" in turn.content["evalue"]
    assert saved(session) == "saved"


def test_a_time_limit_leaves_an_interrupted_handler_alone(
    client: Client, session: Session
) -> None:
    """It is reached while the handler of a client's interrupt is at work."""
    msg_id = client.send(
        "shell",
        "execute_request",
        execute_content(
            CHECKPOINT.replace(
                "KeyboardInterrupt:", "KeyboardInterrupt:\n    print('at it')"
            )
        ),
        {"hearth": {"time_limit": 3}},
    )
    begun = client.stream_until(msg_id, "go")
    wait_for(lambda: session.show()["state"] == "busy", "the cell", DEADLINE)
    client.send("control", "interrupt_request")

    assert client.finish(msg_id, begun=begun).status == "ok"
    assert saved(session) == "saved"


def test_each_request_is_one_interrupt(
    gateway: Gateway, client: Client, session: Session
) -> None:
    """A loop that catches them goes on, and the reply says so."""
    msg_id = client.kc.execute(STUBBORN)
    begun = client.stream_until(msg_id, "go")
    for _ in range(2):
        reported = gateway.run("session", "interrupt", "--json", session.id)
        assert reported.returncode == 1
        assert '"handling"' in reported.stdout
        assert '"preserved"' in reported.stdout
        assert "still runs" in reported.stderr
        begun += client.stream_until(msg_id, "caught\ngo")
    (session.workspace / "enough").touch()
    turn = client.finish(msg_id, begun=begun)

    assert turn.status == "ok"
    assert turn.stream() == "go\ncaught\ngo\ncaught\ngo\n"


def test_a_time_limit_ends_a_loop_that_catches_it(hasty: Gateway) -> None:
    session = hasty.create()
    with session.client() as client:
        turn = run_limited(client, STUBBORN)
        assert turn.content["ename"] == "TimeLimitExceeded"
        assert "did not end in the grace" in turn.content["evalue"]
        assert "variables are lost" in turn.content["evalue"]
        # The second signal would be another line.
        assert turn.stream() == "go\ncaught\ngo\n"


def test_a_handler_that_may_be_killed_is_not_interrupted(
    gateway: Gateway, client: Client, session: Session
) -> None:
    msg_id = client.kc.execute(CHECKPOINT)
    begun = client.stream_until(msg_id, "go")
    reported = gateway.json(
        "session", "interrupt", "--kill", "--json", session.id
    )

    assert reported == {"outcome": "interrupted", "variables": "preserved"}
    assert client.finish(msg_id, begun=begun).status == "ok"
    assert saved(session) == "saved"


def test_a_handler_of_the_cells_own_gets_one_signal(hasty: Gateway) -> None:
    session = hasty.create()
    with session.client() as client:
        msg_id = client.kc.execute(OWN_HANDLER)
        begun = client.stream_until(msg_id, "go")
        client.send("control", "interrupt_request")
        assert client.finish(msg_id, begun=begun).result == "1"


# ---- code that keeps the interrupt from Python ----


def test_a_signal_that_c_code_takes_is_followed_by_another(
    hasty: Gateway,
) -> None:
    session = hasty.create()
    with session.client() as client:
        msg_id = client.kc.execute(SWALLOWING)
        begun = client.stream_until(msg_id, "go")
        client.send("control", "interrupt_request")
        turn = client.finish(msg_id, begun=begun)
        assert turn.stream() == "go\nfirst\nsecond\n"


def test_a_kernel_that_ignores_the_signal_is_killed(hasty: Gateway) -> None:
    session = hasty.create()
    with session.client() as client:
        msg_id = client.kc.execute(
            "import signal, time\n"
            "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
            "print('go')\n"
            "while True: time.sleep(1)"
        )
        begun = client.stream_until(msg_id, "go")
        reported = hasty.json(
            "session", "interrupt", "-k", "--json", session.id
        )
        assert reported == {"outcome": "killed", "variables": "lost"}
        assert client.finish(msg_id, begun=begun).status == "error"


def test_c_code_that_does_not_return(hasty: Gateway, gateway: Gateway) -> None:
    patient = gateway.create()
    session = hasty.create()
    with patient.client() as client:
        client.stream_until(client.kc.execute(COMPUTING), "go")
        reported = gateway.run("session", "interrupt", patient.id)
        assert reported.returncode == 1
        assert reported.stdout == "running, variables preserved\n"
        assert "has not got the interrupt" in reported.stderr
        patient.delete()
    with session.client() as client:
        turn = run_limited(client, COMPUTING)
        assert turn.content["ename"] == "TimeLimitExceeded"
        assert "did not let Python have two" in turn.content["evalue"]


# ---- an interrupt at any moment ----


def test_an_interrupt_right_after_its_cell(
    client: Client, session: Session
) -> None:
    """The signal may meet a kernel that has not begun the cell."""
    for _ in range(20):
        msg_id = client.kc.execute("import time; time.sleep(600)")
        session.wait_state("busy")
        client.send("control", "interrupt_request")
        turn = client.finish(msg_id)
        assert turn.content["ename"] == "KeyboardInterrupt"
