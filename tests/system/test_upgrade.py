"""A newer gateway takes over what the version before has left: sessions that
run, sessions that are gone, their recordings, connection files and the
configuration.

HEARTH_BEFORE is a program of the version before; `./dev test deep` builds the
one that build-aux/version-before names, where the history has it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Iterator

import pytest
from client import Client
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway, Session
from records import records, wait_record

BEFORE = os.environ.get("HEARTH_BEFORE", "")

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(
        not BEFORE, reason="no version before to take over from: HEARTH_BEFORE"
    ),
]

# Keys that both versions know; each with another value than its default.
CONFIGURATION = """\
gateway
    drain_grace = 20s
    transport = tcp
sessions
    idle_timeout = 30m
    gone_keep = 2d
    spill = 64K
profile
    python3
        preload = json
        limits
            memory = 1G
            cell_output = 32M
"""

LINES = """
import os, time
n = 0
while not os.path.exists('stop'):
    print('line', n, flush=True)
    n += 1
    time.sleep(0.01)
n
"""

# Its output is too big for the journal's log: it gets a file of its own.
LARGE = "'x' * 200_000"

COUNTER = """
def count():
    n = 0
    while True:
        n += 1
        yield n
counter = count()
next(counter)
"""


class Upgrade:
    """A gateway of the version before, and then one of this."""

    def __init__(self) -> None:
        self.gateway = Gateway()
        folder = self.gateway.folder / "h/.config/hearth"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hearth.cfg").write_text(CONFIGURATION)
        self.gateway.env["HEARTH_PYTHON"] = str(
            Path(HEARTH).parents[1] / ".venv/bin/python3"
        )
        self.gateway.command = (BEFORE, "serve")

    def start(self) -> None:
        self.gateway.start()

    def start_this_version(self) -> None:
        self.gateway.command = (HEARTH, "serve")
        self.gateway.start()


@pytest.fixture
def upgrade() -> Iterator[Upgrade]:
    made = Upgrade()
    try:
        made.start()
        yield made
    finally:
        made.gateway.end()


def is_stream(message: dict[str, Any]) -> bool:
    return message["msg_type"] == "stream"


def streams(cell: dict[str, Any]) -> str:
    return "".join(
        "".join(output["text"])
        for output in cell["outputs"]
        if output["output_type"] == "stream"
    )


@pytest.mark.parametrize("is_orderly", [True, False])
def test_a_running_cell_goes_on(upgrade: Upgrade, is_orderly: bool) -> None:
    gateway = upgrade.gateway
    session = gateway.create()
    file = Path(session.connection_file).read_bytes()
    with session.client() as client:
        client.run(COUNTER)
        msg_id = client.kc.execute(LINES)
        begun = client.stream_until(msg_id, "line 3\n")
        if is_orderly:
            gateway.terminate()
        else:
            gateway.kill()
        upgrade.start_this_version()
        # The client is subscribed again when it hears more.
        begun.append(client.iopub(DEADLINE, is_stream))
        (session.workspace / "stop").touch()
        turn = client.finish(msg_id, begun=begun)

        assert turn.status == "ok", turn.content
        assert client.value("next(counter)") == 2
    assert Path(session.connection_file).read_bytes() == file
    cells = session.notebook()["cells"]
    (total,) = (
        int("".join(output["data"]["text/plain"]))
        for output in cells[1]["outputs"]
        if output["output_type"] == "execute_result"
    )
    assert streams(cells[1]) == "".join(f"line {n}\n" for n in range(total))
    assert gateway.run("notebook", "verify", session.id).returncode == 0


def test_requests_that_wait_are_run_once(upgrade: Upgrade) -> None:
    session = upgrade.gateway.create()
    with session.client() as client:
        client.run("runs = 0")
        running = client.kc.execute(LINES)
        begun = client.stream_until(running, "line 1\n")
        waiting = [client.kc.execute("runs += 1; runs") for _ in range(3)]
        session.wait_journaled(waiting)
        upgrade.gateway.kill()
        upgrade.start_this_version()
        begun.append(client.iopub(DEADLINE, is_stream))
        (session.workspace / "stop").touch()
        assert client.finish(running, begun=begun).status == "ok"
        results = [client.finish(msg_id).result for msg_id in waiting]

        assert results == ["1", "2", "3"]


def test_gone_sessions_are_still_reported(upgrade: Upgrade) -> None:
    gateway = upgrade.gateway
    session = gateway.create("--name", "earlier")
    assert session.exec("x = 41").returncode == 0
    assert session.exec("x + 1").stdout == "42\n"
    session.delete()
    recorded = session.notebook()
    gateway.terminate()
    upgrade.start_this_version()

    assert session.show()["reason"] == "deleted"
    assert session.exec("x").returncode == 3  # gone
    again = session.notebook()
    assert [cell["source"] for cell in again["cells"]] == [
        cell["source"] for cell in recorded["cells"]
    ]
    assert [cell["outputs"] for cell in again["cells"]] == [
        cell["outputs"] for cell in recorded["cells"]
    ]
    assert gateway.run("notebook", "verify", session.id).returncode == 0


def results(session: Session) -> list[str]:
    return [
        "".join(output["data"]["text/plain"])
        for cell in session.notebook()["cells"]
        for output in cell.get("outputs", ())
    ]


def test_a_recording_with_a_blob_goes_on(upgrade: Upgrade) -> None:
    gateway = upgrade.gateway
    session = gateway.create()
    assert session.exec(LARGE).returncode == 0
    blobs = Path(session.model["journal"]) / "blobs"
    (blob,) = blobs.iterdir()
    gateway.kill()
    upgrade.start_this_version()
    assert session.exec(f"{LARGE} + 'y'").returncode == 0

    assert results(session) == [f"'{'x' * 200_000}'", f"'{'x' * 200_000}y'"]
    assert len(set(blobs.iterdir()) - {blob}) == 1
    verified = gateway.run("notebook", "verify", session.id)
    assert verified.returncode == 0, verified.stdout


def test_a_compacted_recording_goes_on(upgrade: Upgrade) -> None:
    """Its oldest outputs were given up, and a mark is in their place."""
    gateway = upgrade.gateway
    session = gateway.create("--limit", "journal_bytes=64K")
    with session.client() as client:
        for number in range(20):
            client.run(f"({number}, 'x' * 8000)")
    before = results(session)
    kept = {text for text in before if "were given up" not in text}
    assert 0 < len(kept) < 20
    gateway.kill()
    upgrade.start_this_version()
    assert results(session) == before
    with session.client() as client:
        for number in range(20, 40):
            client.run(f"({number}, 'x' * 8000)")
        client.run("'the last'")

    after = results(session)
    assert "were given up" in after[0]
    assert not kept & set(after)
    assert after[-1] == "'the last'"
    verified = gateway.run("notebook", "verify", session.id)
    assert verified.returncode == 0, verified.stdout


def test_the_audit_log_goes_on(upgrade: Upgrade) -> None:
    gateway = upgrade.gateway
    session = gateway.create()
    assert session.exec("x = 1").returncode == 0
    ended = {"event": "cell_end", "session": session.id}
    wait_record(gateway, **ended)
    gateway.terminate()
    before = records(gateway)
    upgrade.start_this_version()
    assert session.exec("x + 1").stdout == "2\n"
    wait_for(
        lambda: len(records(gateway, **ended)) == 2,
        "the second cell's record",
    )

    assert records(gateway)[: len(before)] == before
    verified = gateway.json("audit", "verify", "--json")
    assert verified["ok"], verified
    assert verified["records"] == verified["last"] > len(before)


def test_a_viewers_file_opens_its_session(
    upgrade: Upgrade, tmp_path: Path
) -> None:
    gateway = upgrade.gateway
    session = gateway.create()
    folder = ("--folder", str(tmp_path))
    made = gateway.run("attach", "--external", *folder, session.id)
    link = Path(made.stdout.strip())
    text = link.read_text()
    with Client(str(link)).wait_ready() as viewer:
        viewer.run("x = 6")
        gateway.kill()
        upgrade.start_this_version()
        msg_id = viewer.kc.execute("print(x * 7)")
        assert viewer.finish(msg_id).stream() == "42\n"
    assert link.read_text() == text
    with Client(str(link)).wait_ready() as again:
        assert again.value("x") == 6
    revoked = gateway.run("viewer", "revoke", link.readlink().stem)
    assert revoked.returncode == 0, revoked.stderr
    assert not link.exists()


def test_limits_and_settings_hold(upgrade: Upgrade) -> None:
    gateway = upgrade.gateway
    session = gateway.create("--idle-timeout", "40m", "--limit", "memory=512M")
    before = session.show()
    gateway.kill()
    upgrade.start_this_version()
    after = session.show()

    for name in (
        "id", "name", "profile", "pid", "created", "workspace",
        "idle_timeout", "limits",
    ):  # fmt: skip
        assert after[name] == before[name], name
    fresh = gateway.create()
    assert fresh.show()["idle_timeout"] == 1800
    about = json.loads(Path(fresh.connection_file).read_text())
    assert about["transport"] == "tcp"


def test_a_session_that_was_taken_over_can_restart(upgrade: Upgrade) -> None:
    session: Session = upgrade.gateway.create()
    assert session.exec("x = 1").returncode == 0
    upgrade.gateway.kill()
    upgrade.start_this_version()
    wait_for(lambda: session.show()["state"] == "idle", "a session taken over")
    assert session.exec("x").stdout == "1\n"
    done = upgrade.gateway.run("session", "restart", session.id)

    assert done.returncode == 0, done.stderr
    done = session.exec("'x' in globals()", timeout=DEADLINE)
    assert done.stdout == "False\n"


def test_a_handler_of_an_older_kernel_gets_one_signal(upgrade: Upgrade) -> None:
    """Such a kernel does not say that it has got it."""
    session: Session = upgrade.gateway.create()
    with session.client() as client:
        msg_id = client.kc.execute(
            "import time\n"
            "try:\n"
            "    print('go', flush=True)\n"
            "    time.sleep(600)\n"
            "except KeyboardInterrupt:\n"
            "    time.sleep(4)\n"
            "    open('checkpoint', 'w').write('saved')"
        )
        begun = client.stream_until(msg_id, "go")
        upgrade.gateway.kill()
        upgrade.start_this_version()
        wait_for(lambda: session.show()["state"] == "busy", "a take-over")
        reported = upgrade.gateway.run("session", "interrupt", session.id)

        assert reported.stdout == "running, variables preserved\n"
        assert client.finish(msg_id, begun=begun).status == "ok"
    assert (session.workspace / "checkpoint").read_text() == "saved"
