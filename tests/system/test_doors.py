"""Viewers with a connection file and a key of their own."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from client import Client
from deadline import wait_for
from harness import Gateway, Session
from injected import injected


class Viewer:
    def __init__(
        self, gateway: Gateway, session: Session, folder: Path, *options: str
    ) -> None:
        self.gateway = gateway
        done = gateway.run(
            "attach",
            "--external",
            "--folder",
            str(folder),
            *options,
            session.id,
        )
        assert done.returncode == 0, done.stderr
        self.link = Path(done.stdout.strip())
        self.file = self.link.readlink()
        self.name = self.file.stem
        self.connection: dict[str, Any] = json.loads(self.link.read_text())

    def client(self) -> Client:
        client = Client(str(self.link))
        try:
            return client.wait_ready()
        except BaseException:
            client.close()
            raise

    def revoke(self) -> None:
        done = self.gateway.run("viewer", "revoke", self.name)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def viewer(gateway: Gateway, session: Session, tmp_path: Path) -> Viewer:
    return Viewer(gateway, session, tmp_path)


def names(gateway: Gateway) -> list[str]:
    return [item["name"] for item in gateway.json("viewer", "list", "--json")]


def test_a_key_of_its_own(
    gateway: Gateway,
    session: Session,
    client: Client,
    viewer: Viewer,
    tmp_path: Path,
) -> None:
    own = json.loads(Path(session.connection_file).read_text())
    assert viewer.connection["key"] != own["key"]
    assert viewer.connection["kernel_name"] == own["kernel_name"]
    assert stat.S_IMODE(viewer.file.stat().st_mode) == 0o600
    client.run("x = 6")
    with viewer.client() as other:
        assert other.value("x * 7") == 42
        # What one runs, the other sees.
        msg_id = client.kc.execute("print('for all')")
        assert "for all" in "".join(
            message["content"].get("text", "")
            for message in other.until_idle(msg_id, 120)
        )
    # The session's key opens no viewer's door, nor his the session's.
    for key, connection in (
        (own["key"], viewer.connection),
        (viewer.connection["key"], own),
    ):
        file = tmp_path / "wrong.json"
        file.write_text(json.dumps({**connection, "key": key}))
        before = gateway.log.read_text().count("bad signature")
        with Client(str(file)) as stranger:
            stranger.kc.execute("x = 'stolen'")
            wait_for(
                lambda: gateway.log.read_text().count("bad signature") > before,
                "the message is dropped",
            )
            assert client.value("x") == 6


def test_questions_and_control(client: Client, viewer: Viewer) -> None:
    with viewer.client() as other:
        msg_id = other.kc.execute("input('who? ')", allow_stdin=True)
        question = other.kc.get_stdin_msg(timeout=120)
        assert question["content"]["prompt"] == "who? "
        other.kc.input("me")
        assert other.finish(msg_id).result == "'me'"
        msg_id = other.kc.execute(
            "import time\nprint('on', flush=True)\ntime.sleep(600)"
        )
        begun = other.stream_until(msg_id, "on")
        asked = other.send("control", "interrupt_request")
        assert other.reply(asked, channel="control")
        turn = other.finish(msg_id, begun=begun)
        assert turn.content["ename"] == "KeyboardInterrupt"


def test_looking_only(
    gateway: Gateway, session: Session, client: Client, tmp_path: Path
) -> None:
    viewer = Viewer(gateway, session, tmp_path, "--observe")
    client.run("x = 1")
    with viewer.client() as other:
        turn = other.run("x = 2")
        assert turn.status == "error"
        assert turn.content["ename"] == "PermissionError"
        assert "observe" in turn.content["evalue"]
        assert turn.types == ["status", "error", "status"]
        for channel, request in (
            ("shell", "complete_request"),
            ("control", "interrupt_request"),
            ("control", "shutdown_request"),
        ):
            turn = other.ask(channel, request, {"code": "", "cursor_pos": 0})
            assert turn.content["ename"] == "PermissionError", request
        msg_id = client.kc.execute("print('seen')")
        assert other.stream_until(msg_id, "seen")
        client.finish(msg_id)
    assert client.value("x") == 1
    assert session.show()["state"] == "idle"


def test_revoked(
    gateway: Gateway, session: Session, client: Client, tmp_path: Path
) -> None:
    viewer = Viewer(gateway, session, tmp_path)
    stays = Viewer(gateway, session, tmp_path)
    with viewer.client() as other, stays.client() as third:
        assert other.value("1 + 1") == 2
        viewer.revoke()
        assert not viewer.file.exists()
        msg_id = other.kc.execute("x = 'revoked'")
        assert third.value("2 + 2") == 4
        assert client.run("x").content["ename"] == "NameError", msg_id
    assert viewer.name not in names(gateway)
    done = gateway.run("viewer", "revoke", viewer.name)
    assert done.returncode == 3
    assert viewer.name in done.stderr
    # Taking the file away is the same.
    stays.file.unlink()
    wait_for(lambda: stays.name not in names(gateway), "the door is closed")
    # What is left of links goes with the next call.
    Viewer(gateway, session, tmp_path).revoke()
    assert not stays.link.is_symlink()


def test_goes_with_its_session(gateway: Gateway, tmp_path: Path) -> None:
    session = gateway.create()
    viewer = Viewer(gateway, session, tmp_path)
    with viewer.client() as other:
        assert other.value("1") == 1
        session.delete()
        # It answers as the session's own sockets do.
        turn = other.run("1")
        assert turn.status == "error"
    done = gateway.run("attach", "--external", session.id)
    assert done.returncode == 3


def test_endpoints_are_bounded(
    gateway: Gateway, session: Session, tmp_path: Path
) -> None:
    made = []
    done = None
    for _ in range(64):
        done = gateway.run(
            "attach", "--external", "--folder", str(tmp_path), session.id
        )
        if done.returncode:
            break
        made.append(Path(done.stdout.strip()).readlink())
    assert done
    assert done.returncode == 1
    assert "hearth viewer revoke" in done.stderr
    for file in made:
        file.unlink()
    wait_for(
        lambda: not {file.stem for file in made} & set(names(gateway)),
        "the doors are closed",
    )


PRINTS = """
import time
for i in range(60):
    print(i, flush=True)
    time.sleep(0.05)
"""


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_outlives_the_gateway(how: str, transport: str, tmp_path: Path) -> None:
    """Neither connection nor outputs are lost with a gateway."""
    gateway = Gateway("--set", f"gateway/transport={transport}")
    try:
        gateway.start()
        session = gateway.create()
        viewer = Viewer(gateway, session, tmp_path)
        looks = Viewer(gateway, session, tmp_path, "--observe")
        with viewer.client() as other, looks.client() as third:
            msg_id = other.kc.execute(PRINTS)
            begun = other.stream_until(msg_id, "3\n")
            seen = third.stream_until(msg_id, "3\n")
            if how == "kill":
                gateway.kill()
            else:
                gateway.terminate()
            gateway.start()
            assert sorted(names(gateway)) == sorted([viewer.name, looks.name])
            turn = other.finish(msg_id, begun=begun)
            assert turn.status == "ok"
            lines = turn.stream().split()
            missed = third.until_idle(msg_id, 120, seen)
            text = "".join(
                message["content"]["text"]
                for message in missed
                if message["msg_type"] == "stream"
            ).split()
            for reported in (lines, text):
                assert reported[-1] == "59"
                # A kill costs what libzmq had not written.
                assert len(set(map(str, range(60))) - set(reported)) <= 5
            assert other.value("i") == 59
            assert third.run("i").status == "error"
    finally:
        gateway.end()


def test_outlives_gateways_that_are_stopped_at_once(tmp_path: Path) -> None:
    """Also one that has hardly begun to open it."""
    gateway = Gateway()
    try:
        gateway.start()
        session = gateway.create()
        viewer = Viewer(gateway, session, tmp_path)
        for _ in range(10):
            gateway.terminate()
            gateway.start()
        assert names(gateway) == [viewer.name]
        with viewer.client() as other:
            assert other.value("1 + 1") == 2
    finally:
        gateway.end()


def test_goes_with_a_gateway_that_ends_its_sessions(tmp_path: Path) -> None:
    """Also if the registry learns of the session's end long before the thread
    of the viewers does: between the two the session closes its journal."""
    gateway = Gateway()
    try:
        gateway.start()
        session = gateway.create()
        viewer = Viewer(gateway, session, tmp_path)
        [journal] = Path(session.model["journal"]).glob("journal-*.log")
        late = ("delay_enter=2000000", "-f", "-P", str(journal))
        with injected(gateway.pid, "close", *late):
            done = gateway.run("gateway", "stop", "--end-sessions")
        assert done.returncode == 0, done.stderr
        assert not list(viewer.file.parent.iterdir())
    finally:
        gateway.end()


@pytest.mark.parametrize("transport", ["tcp", "ipc"])
def test_no_foreign_door_is_opened(transport: str, tmp_path: Path) -> None:
    """A file without a key, or that says nothing, opens none."""
    gateway = Gateway("--set", f"gateway/transport={transport}")
    try:
        gateway.start()
        session = gateway.create()
        viewer = Viewer(gateway, session, tmp_path)
        broken = Viewer(gateway, session, tmp_path)
        gateway.kill()
        viewer.file.write_text(json.dumps({**viewer.connection, "key": ""}))
        broken.file.with_suffix(".door").write_text("[]")
        gateway.start()
        wait_for(
            lambda: not (viewer.file.exists() or broken.file.exists()),
            "what cannot be opened is taken away",
        )
        assert names(gateway) == []
        assert os.listdir(viewer.file.parent) == []
    finally:
        gateway.end()
