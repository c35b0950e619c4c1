"""Information about a live session: figures, notes, its time line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from client import Client
from harness import Gateway, Session
from recordings import ask, run_all

pytestmark = pytest.mark.warm


def test_a_client_gets_the_effects_of_a_cell_on_request(client: Client) -> None:
    asked = ask(client, "a = [1]\nopen('f', 'w').close()", namespace=True)
    figures = asked.reply["metadata"]["hearth"]

    assert figures["namespace"] == {
        "appeared": [{"name": "a", "type": "list", "size": 1}]
    }
    assert figures["files"] == {"written": ["f"]}
    plain = client.run("b = 1")
    assert plain.reply["metadata"]["hearth"]["rss_kib"] > 0
    assert not {"namespace", "files"} & set(plain.reply["metadata"]["hearth"])
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
def test_invalid_notes(client: Client, note: Any) -> None:
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
    assert gateway.run("note", "absent", "text").returncode == 3
    session.delete()
    session.wait_state("gone")
    gone = gateway.run("note", session.id, "too late")
    assert gone.returncode == 3
    assert "is gone" in gone.stderr


# -- the time line --


def test_trace(gateway: Gateway, session: Session) -> None:
    run_all(session, "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})")
    gateway.run("note", session.id, "why")
    run_all(
        session, "df['b'] = 2\nopen('out.csv', 'w').close()", "del df", "1/0"
    )
    rows = gateway.json("notebook", "trace", "--json", session.id)
    cells = [row for row in rows if row["what"] == "cell"]

    assert [row["what"] for row in rows] == [
        "ready",
        "cell",
        "note",
        "cell",
        "cell",
        "cell",
    ]
    assert [row["turn"] for row in cells] == [1, 2, 3, 4]
    assert [row["status"] for row in cells] == ["ok", "ok", "ok", "error"]
    assert all(row["duration_ms"] > 0 for row in cells)
    assert all(row["memory_kib"] > 1000 for row in cells)
    assert cells[0]["namespace"]["appeared"][1] == {
        "name": "df",
        "type": "DataFrame",
        "shape": [2, 1],
    }
    assert cells[1]["namespace"]["changed"][0]["shape"] == [2, 2]
    assert cells[1]["files"] == {"written": ["out.csv"]}
    assert cells[2]["namespace"] == {"went": ["df"]}
    assert cells[3]["ename"] == "ZeroDivisionError"
    text = gateway.run("notebook", "trace", session.id).stdout
    assert "~ df DataFrame 2x2, was DataFrame 2x1" in text
    assert "wrote out.csv" in text
    assert "- df" in text
    assert "ZeroDivisionError: division by zero" in text


def test_trace_of_a_session_that_died(gateway: Gateway) -> None:
    session = gateway.create("--restart", "never")
    run_all(session, "x = 1")
    session.exec("import time\ntime.sleep(60)", "--timeout", "0.3")
    session.exec("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    session.wait_state("gone")
    rows = gateway.json("notebook", "trace", "--json", session.id)

    limits = [row.get("limits") for row in rows if row["what"] == "cell"]
    assert limits == [None, ["time"], None]
    assert rows[-1]["what"] == "gone"
    assert rows[-1]["reason"] == "signal"
    assert gateway.run("notebook", "trace", "absent").returncode == 3


def test_secrets_are_not_in_the_time_line(
    gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    run_all(session, "key = 'sk-abc'\nraise ValueError(key)")
    config = tmp_path / "hearth.cfg"
    config.write_text("sessions\n    mask = sk-[a-z]+\n")
    env = {"HEARTH_CONFIG": str(config)}
    for more in ([], ["--json"]):
        done = gateway.run("notebook", "trace", session.id, *more, env=env)
        assert done.returncode == 0, done.stderr
        assert "sk-abc" not in done.stdout
        assert "[masked]" in done.stdout
