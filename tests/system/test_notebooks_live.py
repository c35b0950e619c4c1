"""Sessions as notebooks while they live, and after."""

from __future__ import annotations

from typing import Any

import pytest
from harness import Client, Gateway, Session, Turn


def ask(connected: Client, code: str, **hearth: Any) -> Turn:
    """A cell with metadata of ours."""
    content = {
        "code": code,
        "silent": False,
        "store_history": True,
        "user_expressions": {},
        "allow_stdin": False,
        "stop_on_error": True,
    }
    return connected.ask(
        "shell", "execute_request", content, {"hearth": hearth}
    )


def test_a_client_is_told_what_a_cell_did_when_it_asks(client: Client) -> None:
    asked = ask(client, "a = [1]\nopen('f', 'w').close()", namespace=True)
    figures = asked.reply["metadata"]["hearth"]

    assert figures["namespace"] == {
        "appeared": [{"name": "a", "type": "list", "size": 1}]
    }
    assert figures["files"] == {"written": ["f"]}
    plain = client.run("b = 1")
    assert set(plain.reply["metadata"]["hearth"]) == {"cpu_us", "rss_kib"}
    assert plain.reply["metadata"]["next_count"] == 3
    again = ask(client, "b", namespace=True)
    assert "namespace" not in again.reply["metadata"]["hearth"]


def journaled(session: Session, *texts: str) -> bool:
    """Whether the journal holds these texts in this order."""
    folder = session.gateway.state / "sessions" / session.id / "journal"
    held = b"".join(path.read_bytes() for path in sorted(folder.glob("*.log")))
    at = 0
    for text in texts:
        at = held.find(text.encode(), at) + 1
        if not at:
            return False
    return True


def test_notes(gateway: Gateway, session: Session) -> None:
    with session.client() as client:
        done = gateway.run("note", session.id, "Look first: čaj 🫖")
        assert (done.returncode, done.stdout) == (0, "")
        client.run("'first'")
        piped = gateway.run("note", "-b", "me", session.id, "-", stdin="two\n")
        assert piped.returncode == 0
        ask(client, "'second'", note="with the cell", client="agent")
        client.run("'third'")
    assert journaled(
        session,
        '{"text":"Look first: čaj 🫖"}',
        "'first'",
        '{"text":"two\\n","by":"me"}',
        '{"text":"with the cell","by":"agent","before":',
        "'second'",
        "'third'",
    )


@pytest.mark.parametrize("note", ["", 1, [], "x" * ((64 << 10) + 1)])
def test_notes_that_are_none(client: Client, note: Any) -> None:
    turn = ask(client, "1", note=note)
    assert turn.content["ename"] == "BadRequest"
    assert "64 KiB" in turn.content["evalue"]


def test_notes_that_are_refused(gateway: Gateway, session: Session) -> None:
    large = gateway.run("note", session.id, "-", stdin="x" * ((64 << 10) + 1))
    assert large.returncode == 2
    assert "64 KiB" in large.stderr
    assert gateway.run("note", session.id, "").returncode == 2
    assert gateway.run("note", session.id).returncode == 2
    assert gateway.run("note", "-b", "x" * 201, session.id, "a").returncode == 2
    assert gateway.run("note", "nobody", "text").returncode == 3
    session.delete()
    session.wait_state("gone")
    gone = gateway.run("note", session.id, "too late")
    assert gone.returncode == 3
    assert "is gone" in gone.stderr
