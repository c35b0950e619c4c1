"""Sessions that end: their gateway, and what is so of each that has ended."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Iterator

from client import Client
from deadline import DEADLINE, wait_for
from harness import Gateway, Session
from processes import members


@contextmanager
def patient_gateway() -> Iterator[Gateway]:
    """An interrupted cell has long to end by itself, on a slow machine too."""
    running = Gateway("--set", "sessions/interrupt_grace=3s")
    try:
        yield running.start()
    finally:
        running.end()


def expect_no_process(session: Session, namespace: str) -> None:
    wait_for(
        lambda: not members(namespace),
        f"no process of session {session.id}",
        DEADLINE,
    )


def expect_gone(client: Client, session: Session, reason: str) -> None:
    turn = client.run("1", timeout=DEADLINE)

    assert turn.status == "error"
    assert turn.content["ename"] == "SessionGone"
    assert reason in turn.content["evalue"]
    ended = session.show()["ended"]
    assert ended[:19] in turn.content["evalue"]
    assert "discarded" in turn.content["evalue"]
    assert turn.contents("error")[0]["ename"] == "SessionGone"
