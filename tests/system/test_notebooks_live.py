"""Sessions as notebooks while they live, and after."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any, Callable

import pexpect
import pytest
from harness import (
    DEADLINE,
    HEARTH,
    Client,
    Gateway,
    Session,
    Turn,
    wait_for,
)
from kinds import KINDS


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


# -- the time line --


def run_all(session: Session, *cells: str) -> None:
    with session.client() as client:
        for cell in cells:
            client.run(cell)


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
    assert limits == [None, ["time"], ["signal"]]
    assert rows[-1]["what"] == "gone"
    assert rows[-1]["reason"] == "signal"
    assert gateway.run("notebook", "trace", "nobody").returncode == 3


def test_secrets_do_not_stand_in_the_time_line(
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


# -- again, and compared --

CELLS = [
    "import random\nrandom.seed(1)\nx = [random.random() for _ in range(3)]",
    "print(x)\nx",
    "from IPython.display import display, HTML\n"
    "handle = display(HTML('<b>1</b>'), display_id=True)",
    "handle.update(HTML('<b>2</b>'))\nprint('a'); print('b')",
    "1 / 0",
    "len(x)",
]


def replays(gateway: Gateway) -> list[str]:
    """The sessions of replays that are alive."""
    return [
        model["id"]
        for model in gateway.sessions()
        if model["name"].startswith("replay of")
    ]


def test_a_session_replays_without_a_difference(
    gateway: Gateway, session: Session
) -> None:
    run_all(session, *CELLS)
    done = gateway.run("notebook", "replay", "--json", session.id)
    found = json.loads(done.stdout)

    assert done.returncode == 0, found
    assert found["same"] == len(CELLS)
    assert found["different"] == found["skipped"] == 0
    assert found["session"] is None
    wait_for(lambda: not replays(gateway), "the session is ended")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_replays_and_a_change_is_found(
    gateway: Gateway, session: Session, tmp_path: Path, kind: str
) -> None:
    run_all(session, *KINDS[kind])
    path = tmp_path / "run.ipynb"
    gateway.run("notebook", "export", session.id, "-o", str(path))
    same = gateway.run("notebook", "replay", str(path))
    assert same.returncode == 0, same.stdout

    notebook = json.loads(path.read_text())
    number = next(
        index
        for index, cell in enumerate(notebook["cells"], 1)
        if cell["outputs"]
    )
    notebook["cells"][number - 1]["source"] = "print('something else')"
    path.write_text(json.dumps(notebook))
    done = gateway.run("notebook", "replay", "--json", str(path))
    assert done.returncode == 1
    assert json.loads(done.stdout)["first_different"] == number


@pytest.fixture
def recording(
    gateway: Gateway, session: Session, tmp_path: Path
) -> Callable[..., Path]:
    """Makes a notebook file of cells; each can be changed afterwards."""

    def make(cells: list[str], **changed: str) -> Path:
        run_all(session, *cells)
        path = tmp_path / "run.ipynb"
        gateway.run("notebook", "export", session.id, "-o", str(path))
        notebook = json.loads(path.read_text())
        for index, source in changed.items():
            notebook["cells"][int(index[1:])]["source"] = source
        path.write_text(json.dumps(notebook))
        return path

    return make


def test_a_change_is_found(
    gateway: Gateway, recording: Callable[..., Path]
) -> None:
    path = recording(["a = 1", "a + 1", "a + 2", "b = 1"], c0="a = 2")
    done = gateway.run("notebook", "replay", "--json", str(path))
    found = json.loads(done.stdout)

    assert done.returncode == 1
    assert [cell["verdict"] for cell in found["cells"]] == [
        "same",
        "different",
        "different",
        "same",
    ]
    assert found["first_different"] == 2
    early = gateway.run("notebook", "replay", "-s", str(path))
    assert early.returncode == 1
    assert "the first difference is at cell 2" in early.stdout
    assert "a + 2" not in early.stdout
    first = gateway.run("notebook", "replay", "--until", "1", str(path))
    assert first.returncode == 0
    assert "1 same, 0 different" in first.stdout


def test_a_replay_is_kept(
    gateway: Gateway, recording: Callable[..., Path]
) -> None:
    path = recording(["a = 41", "a", "del a"], c1="a + 1")
    done = gateway.run("notebook", "replay", "-s", "--keep", str(path))
    kept = re.search(r"hearth attach (\S+)", done.stdout)

    assert done.returncode == 1
    assert kept
    asked = gateway.run("exec", kept.group(1), "-c", "a")
    assert asked.stdout == "41\n"
    assert gateway.run("session", "delete", kept.group(1)).returncode == 0


def test_cells_with_effects_outside_are_left_out(
    gateway: Gateway, recording: Callable[..., Path]
) -> None:
    path = recording(["a = 1", "a = 2\n  # hearth: outside-effects\n", "a"])
    plain = gateway.run("notebook", "replay", str(path))
    assert plain.returncode == 1
    assert "effects outside" in plain.stdout
    assert gateway.run("notebook", "replay", "--all", str(path)).returncode == 0


def test_replays_that_cannot_be(gateway: Gateway, tmp_path: Path) -> None:
    def status(*arguments: str) -> int:
        return gateway.run("notebook", "replay", *arguments).returncode

    (tmp_path / "bad.ipynb").write_text("{")
    (tmp_path / "empty.ipynb").write_text(
        '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
    )
    assert status(str(tmp_path / "bad.ipynb")) == 1
    assert status(str(tmp_path / "none.ipynb")) == 1
    assert status("nobody") == 3
    assert status(str(tmp_path / "empty.ipynb")) == 0
    assert status("-u", "1", str(tmp_path / "empty.ipynb")) == 2
    assert status("-w", "/none", str(tmp_path / "empty.ipynb")) == 2
    wait_for(lambda: not replays(gateway), "no session is left")


# -- what input() was answered --


def run_answering(client: Client, code: str, *answers: str) -> Turn:
    msg_id = client.kc.execute(code, allow_stdin=True)
    for answer in answers:
        client.kc.get_stdin_msg(timeout=DEADLINE)
        client.kc.input(answer)
    return client.finish(msg_id)


ASKS = "name = input('who? ')\nprint('hello', name, input('and? '))"
ASKS_SECRET = "import getpass\nword = getpass.getpass('word? ')\nlen(word)"


@pytest.fixture
def answered(session: Session) -> Session:
    with session.client() as client:
        told = run_answering(client, ASKS, "Ada", "čaj 🫖")
        assert told.stream() == "hello Ada čaj 🫖\n"
        assert run_answering(client, ASKS_SECRET, "open sesame").result == "11"
        assert client.run("after = len(name)\nafter").result == "3"
    return session


def test_answers_are_recorded_and_passwords_are_not(
    gateway: Gateway, answered: Session, tmp_path: Path
) -> None:
    path = tmp_path / "run.ipynb"
    gateway.run("notebook", "export", answered.id, "-o", str(path))
    first, second, _ = json.loads(path.read_text())["cells"]
    assert first["metadata"]["hearth"]["inputs"] == [
        {"prompt": "who? ", "answered": True, "value": "Ada"},
        {"prompt": "and? ", "answered": True, "value": "čaj 🫖"},
    ]
    assert second["metadata"]["hearth"]["inputs"] == [
        {"prompt": "word? ", "password": True, "answered": True}
    ]
    folder = gateway.state / "sessions" / answered.id / "journal"
    assert not any(
        b"open sesame" in file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    )
    rows = gateway.json("notebook", "trace", "--json", answered.id)
    assert "input_reply" not in [row["what"] for row in rows]


def test_answers_are_given_again(gateway: Gateway, answered: Session) -> None:
    found = gateway.json("notebook", "replay", "--json", answered.id)
    verdicts = [cell["verdict"] for cell in found["cells"]]
    assert verdicts == ["same", "skipped", "same"]
    assert "a password" in found["cells"][1]["why"]
    answered.delete()
    answered.wait_state("gone")
    report = revive(gateway, answered)
    assert report["variables"]["back"] == ["after", "name"]
    assert report["variables"]["missing"] == ["getpass", "word"]
    assert [cell["number"] for cell in report["cells"]] == [2]


def test_a_person_is_asked_for_a_password(
    gateway: Gateway, answered: Session
) -> None:
    """In a terminal; what is typed is not shown, and runs the cell."""
    running = pexpect.spawn(
        HEARTH,
        ["notebook", "replay", answered.id],
        env={**gateway.env, "TERM": "xterm"},
        encoding="utf-8",
        timeout=DEADLINE,
    )
    running.expect_exact("the cell asks: word? ")
    running.waitnoecho(DEADLINE)
    running.sendline("new sesame!")
    running.expect(pexpect.EOF)
    running.close()
    assert "sesame" not in running.before
    assert "3 same, 0 different, 0 skipped" in running.before
    assert running.exitstatus == 0


def test_an_answer_that_was_masked_is_not_given(
    gateway: Gateway, answered: Session, tmp_path: Path
) -> None:
    config = tmp_path / "hearth.cfg"
    config.write_text("sessions\n    mask = Ada\n")
    path = tmp_path / "run.ipynb"
    env = {"HEARTH_CONFIG": str(config)}
    gateway.run("notebook", "export", answered.id, "-o", str(path), env=env)
    found = gateway.json_of(1, "notebook", "replay", "--json", str(path))
    verdicts = [cell["verdict"] for cell in found["cells"]]
    assert verdicts == ["skipped", "skipped", "different"]
    assert "masked" in found["cells"][0]["why"]


def test_a_cell_that_asks_for_more_finds_the_end(
    gateway: Gateway, answered: Session, tmp_path: Path
) -> None:
    path = tmp_path / "run.ipynb"
    gateway.run("notebook", "export", answered.id, "-o", str(path))
    notebook = json.loads(path.read_text())
    notebook["cells"][0]["source"] = ASKS + "\ninput('more? ')"
    path.write_text(json.dumps(notebook))
    found = gateway.json_of(
        1, "notebook", "replay", "--json", "--until", "1", str(path)
    )
    assert found["cells"][0]["verdict"] == "different"
    assert "error, recorded is nothing" in found["cells"][0]["why"]
    notebook["cells"][0]["source"] = (
        "try:\n    names = [input(), input(), input()]\n"
        "except EOFError:\n    print('hello Ada čaj 🫖')"
    )
    path.write_text(json.dumps(notebook))
    same = gateway.json("notebook", "replay", "--json", "-u", "1", str(path))
    assert same["same"] == 1


def test_answers_outlive_the_gateway(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        assert run_answering(client, "a = input('a? ')\na", "1").result == "'1'"
    gateway.kill()
    gateway.start()
    try:
        found = gateway.json("notebook", "replay", "--json", session.id)
        assert found["same"] == 1
    finally:
        session.delete()


# -- the first cell after which something fails --


def test_bisect(gateway: Gateway, recording: Callable[..., Path]) -> None:
    path = recording(["a = [1]", "a.append(2)", "a.clear()", "b = 1"])

    def ask(expression: str) -> tuple[int, dict[str, Any]]:
        done = gateway.run(
            "notebook", "bisect", "--json", "-e", expression, str(path)
        )
        return done.returncode, json.loads(done.stdout)

    status, found = ask("len(a) > 0")
    assert (status, found["failed_at"], found["error"]) == (1, 3, None)
    assert len(found["cells"]) == 3
    status, found = ask("len(a) >= 0")
    assert (status, found["failed_at"]) == (0, None)
    status, found = ask("1 / len(a)")
    assert (status, found["failed_at"]) == (1, 3)
    assert found["error"] == "ZeroDivisionError: division by zero"
    status, found = ask("nowhere")
    assert (status, found["held"]) == (2, False)
    assert "NameError" in found["error"]
    text = gateway.run("notebook", "bisect", str(path), "-e", "len(a) > 0")
    assert "fails first after cell 3" in text.stdout
    assert gateway.run("notebook", "bisect", str(path)).returncode == 2


def test_bisect_with_effects_outside(
    gateway: Gateway, recording: Callable[..., Path]
) -> None:
    """A cell that is left out is not asked behind; the state is as it is."""
    path = recording(
        ["a = [1]", "a.clear() # hm\n# hearth: outside-effects", "a += [2]"]
    )

    def ask(expression: str, *flags: str) -> tuple[int, dict[str, Any]]:
        done = gateway.run(
            "notebook", "bisect", "--json", "-e", expression, *flags, str(path)
        )
        return done.returncode, json.loads(done.stdout)

    status, found = ask("1 in a")
    assert (status, found["failed_at"]) == (0, None)
    verdicts = [cell["verdict"] for cell in found["cells"]]
    assert verdicts == ["same", "skipped", "same"]
    status, found = ask("1 in a", "--all")
    assert (status, found["failed_at"]) == (1, 2)
    # It raises behind the third, having been true behind the first.
    status, found = ask("1 / (2 - len(a))", "--all")
    assert (status, found["failed_at"], found["error"]) == (0, None, None)
    status, found = ask("1 / (2 - len(a))")
    assert (status, found["failed_at"]) == (1, 3)
    assert found["error"] == "ZeroDivisionError: division by zero"


# -- back from the dead --


def revive(gateway: Gateway, session: Session) -> dict[str, Any]:
    done = gateway.run("session", "revive", "--json", session.id)
    report: dict[str, Any] = json.loads(done.stdout)
    whole = (
        report["is_complete"]
        and not report["different"]
        and not report["variables"]["missing"]
        and not report["variables"]["different"]
    )
    assert done.returncode == (0 if whole else 1), done.stderr
    return report


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
        # The client of before goes on, and its next turn tells.
        turn = client.run("len(a), b, open('kept').read()")
        assert turn.result == "(3, 'text', '1')"
        told = turn.reply["metadata"]["hearth"]["revived"]
        assert told == report
        assert "has been revived: 4 cells ran again" in told["sentence"]
        assert "revived" not in client.run("1").reply["metadata"]["hearth"]


def test_exec_tells_of_a_revival(gateway: Gateway, session: Session) -> None:
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


def test_revive_what_ended_badly(gateway: Gateway) -> None:
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
        # Nobody was told yet, so the next gateway does.
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
    run_all(session, "a = 1", SLOW_AGAIN, "b = 1")
    session.delete()
    session.wait_state("gone")
    reviver = subprocess.Popen(
        [HEARTH, "session", "revive", session.id],
        env=gateway.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def is_in_second_cell() -> bool:
        rows = gateway.json("notebook", "trace", "--json", session.id)
        return rows[-1].get("turn") == 5 and rows[-1]["status"] == "running"

    wait_for(is_in_second_cell, "the cell runs again")
    reviver.send_signal(how)
    said, _ = reviver.communicate(timeout=DEADLINE)
    if how == signal.SIGINT:
        assert reviver.returncode == 1
        assert "it was ended before the last cell" in said
        assert "missing: b" in said
    else:
        gateway.run("session", "interrupt", session.id)
    told = session.exec("a")
    assert told.stdout == "1\n"
    assert "before the last cell" in told.stderr or "not all" in told.stderr
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
    """Those that were not run, were interrupted, or took too long."""
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
    # What those had changed is not there, and that is told.
    assert [c["number"] for c in report["cells"]] == [3, 4, 5, 6]
    assert report["different"] == 1
    assert session.exec("a").stdout == "[1]\n"


def test_a_time_limit_is_one_again(gateway: Gateway, session: Session) -> None:
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
    gateway = Gateway("--set", "sessions/journal_bytes=65536")
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
        told = session.exec("last, 'first' in globals()")
        assert told.stdout == "(39, False)\n"
        assert "older cells are not in the recording" in told.stderr
    finally:
        gateway.end()


@pytest.mark.parametrize("torn", [False, True])
def test_revive_from_a_journal_that_was_cut_off(torn: bool) -> None:
    """Between two records, or within one: what stood behind is missing, and
    the agent is told."""
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
    assert gateway.run("session", "revive", "nobody").returncode == 3
    assert session.exec("1").stderr == ""
