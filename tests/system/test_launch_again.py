"""A client waits for its session while files that the launch needs, or the
zygote, are being replaced. No client has to try again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from deadline import DEADLINE, wait_for
from harness import HEARTH, Gateway, Session
from processes import children


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    with started() as running:
        yield running


@contextmanager
def started(*settings: str) -> Iterator[Gateway]:
    """Without a pool, so that each session is asked of the zygote."""
    running = Gateway("--set", "profile/python3/pool/max=0", *settings)
    try:
        yield running.start()
    finally:
        running.end()


@contextmanager
def showing(folder: Path) -> Iterator[Gateway]:
    folder.mkdir()
    with started("--set", f"profile/python3/readonly={folder}") as running:
        yield running


@contextmanager
def asking(gateway: Gateway) -> Iterator[subprocess.Popen[str]]:
    """A `hearth session create` that is under way."""
    process = subprocess.Popen(
        [HEARTH, "session", "create", "--json"],
        env=gateway.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def kill_zygote(gateway: Gateway) -> None:
    """And wait until the gateway knows."""
    gone = gateway.log.read_text().count("zygote gone")
    for pid in children(gateway.pid):
        os.kill(pid, signal.SIGKILL)
    wait_for(
        lambda: gateway.log.read_text().count("zygote gone") > gone,
        "a zygote less",
    )


def runs(session: Session) -> None:
    with session.client() as client:
        turn = client.run("20 + 22")
        assert turn.result == "42", turn.content


def exchange(folder: Path) -> None:
    """As an installer does with a file: another one under the same name."""
    (folder.parent / "next").mkdir()
    folder.rename(folder.parent / "former")
    (folder.parent / "next").rename(folder)


def test_a_creation_waits_while_files_are_replaced(tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    with showing(shown) as gateway:
        first = gateway.create()
        exchange(shown)
        runs(gateway.create())
        assert "is not what it was any more" in gateway.log.read_text()
        assert gateway.log.read_text().count("zygote ready") == 2
        runs(first)


def test_a_restart_while_files_are_exchanged_waits(tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    with showing(shown) as gateway:
        session = gateway.create()
        runs(session)
        exchange(shown)
        assert gateway.run("session", "restart", session.id).returncode == 0
        runs(session)
        types = [
            json.loads(line)["type"]
            for line in gateway.run(
                "notebook", "export", "-f", "jsonl", session.id
            ).stdout.splitlines()
        ]
        assert types.count("restart") <= 1, types


def test_a_creation_between_two_zygotes_waits(gateway: Gateway) -> None:
    kill_zygote(gateway)
    runs(gateway.create())


def test_a_creation_waits_for_the_zygote_after_the_next(
    gateway: Gateway,
) -> None:
    kill_zygote(gateway)
    with asking(gateway) as process:
        wait_for(lambda: list(children(gateway.pid)), "the next zygote")
        kill_zygote(gateway)
        out, err = process.communicate(timeout=DEADLINE)
        assert process.returncode == 0, err
        runs(Session(gateway, json.loads(out)))


def test_a_session_that_waits_for_a_zygote_can_be_deleted(
    gateway: Gateway,
) -> None:
    kill_zygote(gateway)
    with asking(gateway) as process:
        session = wait_for(gateway.sessions, "a session that waits")[0]
        assert gateway.run("session", "delete", session["id"]).returncode == 0
        _, err = process.communicate(timeout=DEADLINE)
        assert process.returncode == 1
        assert "ended on request" in err
    wait_for(lambda: list(children(gateway.pid)), "the next zygote")
    runs(gateway.create())
    assert len(gateway.sessions()) == 1
