"""A session that is deleted or restarted, or whose kernel is asked to shut
down."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import Iterator

import pytest
from client import parent_of
from deadline import DEADLINE, wait_for
from ends import expect_gone, expect_no_process, patient_gateway
from harness import Gateway, Session
from processes import members


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    with patient_gateway() as running:
        yield running


def test_children_end_with_the_kernel(gateway: Gateway) -> None:
    session = gateway.create()
    namespace = session.namespace()
    with session.client() as client:
        client.run(
            "import subprocess\n"
            "subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
            "subprocess.Popen('trap \"\" TERM HUP INT; sleep 600', shell=True)"
        )
        assert len(members(namespace)) >= 4
        session.delete()
        expect_no_process(session, namespace)


def test_delete(gateway: Gateway) -> None:
    session = gateway.create()
    namespace = session.namespace()
    with session.client() as client:
        client.run("x = 1")
        session.delete()
        session.wait_state("gone")
        expect_no_process(session, namespace)
        expect_gone(client, session, "deleted")


def test_a_delete_answers_when_the_session_is_gone(gateway: Gateway) -> None:
    """So whatever is asked next finds it gone, and it can be revived."""
    session = gateway.create()
    for _ in range(10):
        session.exec("1")
        done = gateway.run("session", "delete", session.id)
        assert done.returncode == 0, done.stderr
        assert session.show()["state"] == "gone"
        assert session.id not in [model["id"] for model in gateway.sessions()]
        revived = gateway.run("session", "revive", session.id)
        assert revived.returncode == 0, revived.stderr
    session.delete()


def test_a_slow_delete_says_so(gateway: Gateway) -> None:
    """It is bounded, though no process of the session can end."""
    session = gateway.create()
    with frozen(session):
        done = gateway.run("session", "delete", session.id)
        state = session.show()["state"]
    assert (done.returncode == 0) == (state == "gone"), done.stderr
    session.wait_state("gone")


def test_delete_while_busy(gateway: Gateway) -> None:
    session = gateway.create()
    namespace = session.namespace()
    with session.client() as client:
        msg_id, begun = client.begin_long()
        session.delete()
        turn = client.finish(msg_id, timeout=DEADLINE, begun=begun)
        assert turn.content["ename"] == "SessionGone"
        expect_no_process(session, namespace)


@contextmanager
def frozen(session: Session) -> Iterator[None]:
    """Its processes do not end, not of SIGKILL either, for so long."""
    folder = Path("/sys/fs/cgroup/freezer")
    if not os.access(folder / "cgroup.procs", os.W_OK):
        pytest.skip("no freezer of control groups of version 1")
    folder /= f"hearth-test-{session.id}"
    folder.mkdir()
    pids = session.processes()
    try:
        for pid in pids:
            (folder / "cgroup.procs").write_text(str(pid))
        (folder / "freezer.state").write_text("FROZEN")
        yield
    finally:
        (folder / "freezer.state").write_text("THAWED")
        wait_for(lambda: not folder_members(folder), "an empty group", DEADLINE)
        folder.rmdir()


def folder_members(folder: Path) -> str:
    return (folder / "cgroup.procs").read_text()


def test_delete_while_a_limit_ends_it(gateway: Gateway) -> None:
    """A deletion counts, even if a fresh kernel was about to start."""
    session = gateway.create("--restart", "auto", "--time-limit", "2s")
    with session.client() as client:
        msg_id, begun = client.begin_long()
        with frozen(session):
            session.wait_state("stopping")
            session.delete()
            turn = client.finish(msg_id, timeout=DEADLINE, begun=begun)
            model = session.wait_state("gone")
        assert turn.content["ename"] == "TimeLimitExceeded"
        # On a machine so slow that it was given up before: "deleted".
        if model["reason"] != "deleted":
            assert model["reason"] == "wall"
            assert "hearth session create" in turn.content["evalue"]
        expect_gone(client, session, model["reason"])


def test_command_line_restart(gateway: Gateway) -> None:
    session = gateway.create()
    (session.workspace / "stays").write_text("yes")
    with session.client() as client:
        client.run("x = 1")
        assert gateway.run("session", "restart", session.id).returncode == 0
        turn = client.run("'x' in globals()", timeout=DEADLINE)
        assert turn.result == "False"
        assert client.run("open('stays').read()").result == "'yes'"


@pytest.mark.parametrize("restart", [True, False])
@pytest.mark.parametrize("channel", ["control", "shell"])
def test_shutdown_request(
    gateway: Gateway, restart: bool, channel: str
) -> None:
    session = gateway.create()
    namespace = session.namespace()
    with session.client() as client:
        client.run("x = 1")
        client.run(
            "import atexit\n"
            "atexit.register(lambda: open('bye', 'w').write('bye'))"
        )
        msg_id = client.send(channel, "shutdown_request", {"restart": restart})
        reply = client.reply(msg_id, channel=channel)
        assert reply["content"] == {"status": "ok", "restart": restart}
        shown = client.iopub(
            DEADLINE,
            lambda m: m["msg_type"] == "shutdown_reply",
        )
        assert shown["content"] == {"status": "ok", "restart": restart}
        assert parent_of(shown) == msg_id
        expect_no_process(session, namespace)
        assert (session.workspace / "bye").read_text() == "bye"
        if restart:
            assert client.run("'x' in globals()").result == "False"
        else:
            session.wait_state("gone")
            expect_gone(client, session, "deleted")


def test_shutdown_while_busy(gateway: Gateway) -> None:
    session = gateway.create()
    namespace = session.namespace()
    with session.client() as client:
        msg_id, begun = client.begin_long()
        client.send("control", "shutdown_request", {"restart": False})
        assert client.finish(msg_id, DEADLINE, begun=begun).status == "error"
        expect_no_process(session, namespace)


def test_exit_and_quit(gateway: Gateway) -> None:
    """Jupyter's convention: the front end is asked, the kernel stays."""
    session = gateway.create()
    with session.client() as client:
        turn = client.run("exit", timeout=DEADLINE)
        assert [p["source"] for p in turn.content["payload"]] == ["ask_exit"]


def test_dead_is_reported_to_viewers(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as viewer:
        session.delete()
        viewer.iopub(
            DEADLINE,
            lambda m: m["content"].get("execution_state") == "dead",
        )
