"""A cell or a session that says more than it may: a cell is interrupted and its
variables stay; a kernel is ended when that does not stop it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Iterator

import pytest
from deadline import wait_for
from forgery import TAKE_THE_LINK
from harness import Gateway

LOUD = "while True: print('x' * 999)"


@pytest.fixture
def mortal() -> Iterator[Gateway]:
    """Start a gateway for a test that kills it."""
    running = Gateway()
    try:
        yield running.start()
    finally:
        running.end()


@pytest.fixture(scope="module")
def hasty() -> Iterator[Gateway]:
    """Leaves interrupted code a second."""
    running = Gateway("--set", "sessions/interrupt_grace=1s")
    try:
        yield running.start()
    finally:
        running.end()


@pytest.mark.parametrize(
    ("limit", "code", "figures"),
    [
        ("cell_output=1M", LOUD, "at most 1048576 are permitted"),
        (
            "cell_messages=50",
            "while True: display(1)",
            "51 messages of output while running cell 2; at most 50 are",
        ),
    ],
)
def test_a_cell_is_interrupted(
    gateway: Gateway, limit: str, code: str, figures: str
) -> None:
    """Earlier output is there, and no later output."""
    before = gateway.info()["counted"]["limits"]["output"]
    session = gateway.create("--limit", limit)
    where = f"limits/{limit.partition('=')[0]} of session {session.id}"
    with session.client() as client:
        client.run("kept = 7")
        turn = client.run(code)
        assert turn.content["ename"] == "OutputLimitExceeded"
        assert figures in turn.content["evalue"]
        assert where in turn.content["evalue"]
        assert "variables: preserved" in turn.content["evalue"]
        assert figures in turn.stream("stderr")
        assert turn.contents("error")[0]["ename"] == "OutputLimitExceeded"
        assert len(turn.types) <= 60
        assert len(turn.stream()) < 1 << 20
        # The next cell may say as much again.
        assert client.run("print('x' * 1000); kept").result == "7"
    assert gateway.info()["counted"]["limits"]["output"] == before + 1
    rows = gateway.json("notebook", "trace", "--json", session.id)
    assert "output" in str(rows)
    assert gateway.run("notebook", "verify", session.id).returncode == 0


def test_a_handler_may_end_before_its_kernel_is(gateway: Gateway) -> None:
    """It is interrupted once, however much it prints."""
    session = gateway.create("--limit", "cell_output=1M")
    with session.client() as client:
        turn = client.run(
            "import time\n"
            f"try:\n    {LOUD}\n"
            "except KeyboardInterrupt:\n"
            "    end = time.monotonic() + 2\n"
            "    while time.monotonic() < end: print('x' * 999)\n"
            "    open('checkpoint', 'w').write('saved')"
        )
        assert turn.status == "ok", turn.content
    assert (session.workspace / "checkpoint").read_text() == "saved"


def test_a_message_that_does_not_fit(gateway: Gateway) -> None:
    """It is left out whole, and the cell goes on to its end if it is quick."""
    session = gateway.create("--limit", "cell_output=1M")
    with session.client() as client:
        turn = client.run("print('small'); display('y' * 3_000_000)")
        assert "small" in turn.stream()
        assert "its further output is left out" in turn.stream("stderr")
        assert not turn.contents("display_data")
        assert client.run("40 + 2").result == "42"


def test_omitted_output_is_counted_after_a_crash(mortal: Gateway) -> None:
    """The next gateway goes on counting in the same cell."""
    session = mortal.create("--limit", "cell_output=64K")
    with session.client() as client:
        client.run(f"kept = 8\ntry:\n    {LOUD}\nexcept BaseException: pass")
        mortal.kill()
        mortal.start()
        assert client.run("kept").result == "8"


@pytest.mark.parametrize(
    "code",
    [
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + LOUD,
        # A thread, which no interrupt reaches.
        "import threading, time\ndef loud():\n    time.sleep(0.5)\n"
        f"    {LOUD}\nthreading.Thread(target=loud).start()",
    ],
)
def test_a_cell_that_does_not_stop_is_ended(hasty: Gateway, code: str) -> None:
    session = hasty.create("--limit", "cell_output=1M")
    with session.client() as client:
        client.kc.execute(code)
        gone = session.wait_state("gone")
    assert gone["reason"] == "output"
    assert "at most 1048576 are permitted" in gone["detail"]


@pytest.mark.parametrize(
    ("limit", "code", "figures"),
    [
        ("session_output=1M", "while True: print('x' * 99999)", "bytes"),
        (
            "session_messages=50",
            "for n in range(45): display(n)\nimport time; time.sleep(600)",
            "51 messages of output while running cell 2; at most 50 are",
        ),
    ],
)
def test_a_session_says_too_much(limit: str, code: str, figures: str) -> None:
    gateway = Gateway("--set", f"profile/python3/limits/{limit}")
    try:
        session = gateway.start().create()
        with session.client() as client:
            client.run("for number in range(9): display(number)")
            turn = client.run(code)
        assert turn.content["ename"] == "KernelDied"
        assert turn.content["evalue"].startswith("output: the session gave")
        assert figures in turn.content["evalue"]
        key = limit.partition("=")[0]
        assert f"limits/{key} of profile python3" in turn.content["evalue"]
        gone = session.wait_state("gone")
        assert gone["reason"] == "output"
        assert figures in gone["detail"]
    finally:
        gateway.end()


DRIBBLE = (
    TAKE_THE_LINK
    + """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
link.sendall(frame(34, 1, size=1 << 20))
open('trickles', 'w').close()
while True:
    link.sendall(b'x')
    time.sleep(0.02)
"""
)


def test_an_interrupt_does_not_wait_for_a_trickle(hasty: Gateway) -> None:
    """A byte now and then before the mark does not count as earlier output: the
    second signal follows after the grace, and the end after that."""
    session = hasty.create()
    with session.client() as client:
        client.kc.execute(DRIBBLE)
        sign = Path(session.show()["workspace"]) / "trickles"
        wait_for(sign.exists, "the trickle")
        reported: dict[str, Any] = hasty.json(
            "session", "interrupt", "--json", "--kill", session.id
        )
    assert reported["outcome"] == "killed"
    lines = [
        line
        for line in hasty.log.read_text().splitlines()
        if session.id in line
    ]
    assert "did not let Python have two interrupts" in "\n".join(lines)
