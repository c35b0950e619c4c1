"""A session comes back from its recording, and its agent gets a report."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest
from deadline import DEADLINE
from harness import Gateway, Session
from recordings import ask, begin_revival, revive, run_all


def test_revive_a_deleted_session(gateway: Gateway, session: Session) -> None:
    with session.client() as client:
        client.run("a = [1, 2]\nb = 'text'")
        client.run("a.append(3)\nopen('kept', 'w').write('1')")
        client.run("gone = 1")
        client.run("del gone\na")
        session.delete()
        session.wait_state("gone")
        report = revive(gateway, session)
        assert report["ran"] == report["same"] == 4
        assert report["variables"]["back"] == ["a", "b"]
        assert report["workspace"] == "reused"
        model = session.show()
        assert model["state"] == "idle"
        assert model["connection_file"] == session.connection_file
        assert Path(model["workspace"]) == session.workspace
        # The old client goes on, and its next reply has the report.
        turn = client.run("len(a), b, open('kept').read()")
        assert turn.result == "(3, 'text', '1')"
        shown = turn.reply["metadata"]["hearth"]["revived"]
        assert shown == report
        assert "has been revived: 4 cells ran again" in shown["sentence"]
        assert "revived" not in client.run("1").reply["metadata"]["hearth"]


def test_exec_reports_a_revival(gateway: Gateway, session: Session) -> None:
    run_all(session, "a = 1", "b = 2\n# hearth: skip-on-revive")
    session.delete()
    session.wait_state("gone")
    report = revive(gateway, session)
    assert [cell["number"] for cell in report["cells"]] == [2]
    assert report["skipped"] == 1
    assert report["variables"]["back"] == ["a"]
    assert report["variables"]["missing"] == ["b"]
    first = session.exec("a")
    assert first.stdout == "1\n"
    assert "1 were skipped (cell 2)" in first.stderr
    assert "missing: b" in first.stderr
    assert session.exec("a").stderr == ""


def test_revive_after_the_inactivity_timeout(gateway: Gateway) -> None:
    session = gateway.create("--idle-timeout", "5")
    with session.client() as client:
        ask(client, "a = 1")
        ask(client, "b = 1", outside_effects=True)
    session.wait_state("gone")
    assert session.show()["reason"] == "idle"
    report = revive(gateway, session)
    assert report["variables"]["back"] == ["a"]
    assert [cell["number"] for cell in report["cells"]] == [2]
    assert "effects outside" in report["cells"][0]["why"]
    session.wait_state("gone")  # its inactivity counts anew
    rows = gateway.json("notebook", "trace", "--json", session.id)
    assert [row["what"] for row in rows if row["what"] != "cell"] == [
        "ready",
        "gone",
        "reviving",
        "ready",
        "revived",
        "gone",
    ]


def test_a_restart_that_was_asked_for_is_a_beginning(
    gateway: Gateway, session: Session
) -> None:
    run_all(session, "a = 1")
    gateway.run("session", "restart", session.id)
    session.wait_state("idle")
    run_all(session, "b = 1")
    session.delete()
    session.wait_state("gone")
    report = revive(gateway, session)
    assert report["ran"] == 1
    assert report["variables"] == {
        "back": ["b"],
        "different": [],
        "missing": [],
    }


def test_revive_failed_sessions(gateway: Gateway) -> None:
    session = gateway.create("--restart", "never")
    run_all(session, "import random\na = random.random()\na", "b = 1")
    session.exec("import os\nos.kill(os.getpid(), 9)")
    session.wait_state("gone")
    report = revive(gateway, session)

    assert report["different"] == 1
    assert report["skipped"] == 1
    verdicts = [(c["number"], c["verdict"]) for c in report["cells"]]
    assert verdicts == [(1, "different"), (3, "skipped")]
    assert report["variables"]["back"] == ["a", "b", "random"]
    document = json.loads(session.exec("b", "--json").stdout)
    assert document["revived"] == report
    # Once more: the revival's own cells are what is run now.
    session.delete()
    session.wait_state("gone")
    again = revive(gateway, session)
    assert again["ran"] == 3
    assert again["variables"]["back"] == ["a", "b", "random"]


def test_revive_after_the_gateway_was_away(gateway: Gateway) -> None:
    session = gateway.create()
    run_all(session, "a = 1")
    session.delete()
    session.wait_state("gone")
    shutil.rmtree(gateway.runtime / "sessions" / session.id)
    gateway.kill()
    gateway.start()
    try:
        assert revive(gateway, session)["variables"]["back"] == ["a"]
        gateway.kill()
        gateway.start()
        # No client has the report yet, so the next gateway sends it.
        assert "has been revived" in session.exec("a").stderr
        assert "revived" not in session.exec("a").stderr
    finally:
        session.delete()


SLOW_AGAIN = (
    "import os, time\nif os.path.exists('x'):\n    time.sleep(600)\n"
    "open('x', 'w').close()"
)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_revival_that_is_broken_off(
    gateway: Gateway, session: Session, how: signal.Signals
) -> None:
    reviver = begin_revival(gateway, session, SLOW_AGAIN)
    reviver.send_signal(how)
    said, _ = reviver.communicate(timeout=DEADLINE)
    if how == signal.SIGINT:
        assert reviver.returncode == 1
        assert "it was ended before the last cell" in said
        assert "missing: b" in said
    else:
        gateway.run("session", "interrupt", session.id)
    shown = session.exec("a")
    assert shown.stdout == "1\n"
    assert "before the last cell" in shown.stderr or "not all" in shown.stderr
    assert session.exec("a").stderr == ""
    # The next one begins where that one did, and does not run its cells.
    session.exec("count = [a]")
    (session.workspace / "x").unlink()
    session.delete()
    session.wait_state("gone")
    report = revive(gateway, session)
    assert report["is_complete"] is True
    assert {"a", "b", "count"} <= set(report["variables"]["back"])
    left_out = [c for c in report["cells"] if "broken off" in c["why"]]
    assert [cell["number"] for cell in left_out] == [4, 5]


def test_cells_that_a_revival_leaves_out(
    gateway: Gateway, session: Session
) -> None:
    """Cells that were not run, were interrupted, or took too long."""
    with session.client() as client:
        assert client.run("a = [1]").status == "ok"
        failing = client.kc.execute(
            "import os, time\n"
            "while not os.path.exists('now'): time.sleep(0.01)\n1 / 0"
        )
        aborted = client.kc.execute("a.append('aborted')")
        session.wait_journaled([aborted])
        (session.workspace / "now").touch()
        assert client.finish(failing).status == "error"
        assert client.finish(aborted).status == "aborted"
    slow = session.exec("a.append(2)\nwhile True: pass", "--timeout", "0.5")
    assert slow.returncode == 124
    assert session.exec("a.append(3)\nraise KeyboardInterrupt").returncode == 1
    session.exec("a")
    session.delete()
    session.wait_state("gone")
    report = revive(gateway, session)
    skipped = {c["number"]: c["why"] for c in report["cells"]}
    assert "had not been run" in skipped[3]
    assert "time limit" in skipped[4]
    assert "interrupted" in skipped[5]
    # The effects of those cells are missing, and that is reported.
    assert [c["number"] for c in report["cells"]] == [3, 4, 5, 6]
    assert report["different"] == 1
    assert session.exec("a").stdout == "[1]\n"


def test_a_cell_that_never_began_is_not_run(
    gateway: Gateway, session: Session
) -> None:
    """It was answered that the session is gone: its client did it elsewhere."""
    with session.client() as client:
        assert client.run("a = []").status == "ok"
        client.kc.execute("while True: pass")
        waiting = client.kc.execute("a.append('effect')")
        session.wait_journaled([waiting])
        session.delete()
        assert client.finish(waiting).status == "error"
    session.wait_state("gone")
    (cell,) = [
        cell
        for cell in session.notebook()["cells"]
        if "effect" in "".join(cell["source"])
    ]
    assert cell["metadata"]["hearth"]["refused"] is True
    report = revive(gateway, session)
    skipped = {c["number"]: c["why"] for c in report["cells"]}
    assert "never ran" in skipped[3]
    assert session.exec("a").stdout == "[]\n"


def test_a_replayed_time_limit_is_the_same(
    gateway: Gateway, session: Session
) -> None:
    session.exec("a = 1")
    session.exec("while True: pass", "--timeout", "0.5")
    session.exec("a")
    found = json.loads(
        gateway.run("notebook", "replay", "--json", session.id).stdout
    )
    assert [cell["number"] for cell in found["cells"]] == [1, 2, 3]
    assert found["cells"][2]["verdict"] == "same"


def test_revive_after_older_cells_were_given_up() -> None:
    """The journal keeps its bound: then not all can come back."""
    gateway = Gateway("--set", "profile/python3/limits/journal_bytes=65536")
    try:
        gateway.start()
        session = gateway.create()
        with session.client() as client:
            client.run("first = 1")
            for number in range(40):
                client.run(f"n = {number} #" + "x" * 8000)
            client.run("last = n")
        session.delete()
        session.wait_state("gone")
        done = gateway.run("session", "revive", "--json", session.id)
        report = json.loads(done.stdout)
        assert done.returncode == 1
        assert report["has_gaps"] is True
        assert "older cells are not in the recording" in report["sentence"]
        assert "last" in report["variables"]["back"]
        shown = session.exec("last, 'first' in globals()")
        assert shown.stdout == "(39, False)\n"
        assert "older cells are not in the recording" in shown.stderr
    finally:
        gateway.end()


@pytest.mark.parametrize("torn", [False, True])
def test_revive_from_a_journal_that_was_cut_off(torn: bool) -> None:
    """Between two records, or within one: the rest is missing, and the agent
    gets a report."""
    gateway = Gateway()
    try:
        gateway.start()
        session = gateway.create()
        run_all(session, "a = 1")
        folder = gateway.state / "sessions" / session.id / "journal"
        log = folder / "journal-000001.log"
        rows = gateway.json("notebook", "trace", "--json", session.id)
        assert rows[-1]["status"] == "ok"
        size = log.stat().st_size
        run_all(session, "b = 1")
        session.delete()
        session.wait_state("gone")
        gateway.terminate()
        os.truncate(log, size + (100 if torn else 0))
        gateway.start()
        done = gateway.run("session", "revive", "--json", session.id)
        report = json.loads(done.stdout)
        assert done.returncode == 1, done.stderr
        assert report["is_complete"] is False
        assert "the recording is damaged" in report["sentence"]
        assert report["variables"]["back"] == ["a"]
        assert "recording is damaged" in session.exec("a").stderr
    finally:
        gateway.end()


def test_revivals_that_are_refused(gateway: Gateway, session: Session) -> None:
    alive = gateway.run("session", "revive", session.id)
    assert alive.returncode == 1
    assert "alive" in alive.stderr
    assert gateway.run("session", "revive", "absent").returncode == 3
    assert session.exec("1").stderr == ""
