"""Programs beside the kernel that the session's memory limit ends: they say so,
and a plain SIGKILL stays one."""

from __future__ import annotations

from typing import Iterator

import pytest
from harness import Gateway, Session, started
from records import records
from test_limits import has_groups

GROW = "kept = []\nwhile True: kept.append(bytearray(1 << 20))"
SENTENCE = (
    "ended by the session's memory limit of 128 MiB; a session with a higher "
    "one (limits/memory) would help, or less data at a time"
)


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    if not has_groups():
        pytest.skip("no control groups can be made here")
    with started(Gateway()) as gateway:
        yield gateway


@pytest.fixture
def session(gateway: Gateway) -> Session:
    return gateway.create("--limit", "memory=128M")


def test_a_program_that_the_limit_ends(session: Session) -> None:
    done = session.gateway.run("run", session.id, "--", "python3", "-c", GROW)
    assert done.returncode == 137
    assert f"it was {SENTENCE}" in done.stderr
    (end,) = records(session.gateway, session=session.id, event="process_end")
    assert end["detail"] == f"it was {SENTENCE}"


def test_a_shell_whose_command_the_limit_ends(session: Session) -> None:
    script = f"python3 -c '{GROW}'; exit $?"
    done = session.gateway.run("run", session.id, "--", "sh", "-c", script)
    assert done.returncode == 137
    said = f"it exited with 137, because a process was {SENTENCE}"
    assert said in done.stderr


def test_a_plain_kill_stays_one(session: Session) -> None:
    gateway = session.gateway
    for script, said in (
        ("kill -9 $$", "signal 9 ended it"),
        ("sh -c 'kill -9 $$'; exit $?", "it exited with 137"),
    ):
        done = gateway.run("run", session.id, "--", "sh", "-c", script)
        assert done.returncode == 137
        assert "memory" not in done.stderr
        listed = gateway.json("ps", "--json", session.id)
        assert listed[-1]["sentence"] == said
        assert listed[-1]["cause"] == "itself"
        assert "memory_limit" not in listed[-1]


def test_it_is_listed_after_a_revival(session: Session) -> None:
    """The session ends a moment after the program, with its own memory."""
    gateway = session.gateway
    gateway.run("run", session.id, "--", "python3", "-c", GROW)
    session.wait_state("gone")
    assert session.show()["reason"] == "memory"
    assert gateway.run("session", "revive", session.id).returncode == 0
    (listed,) = gateway.json("ps", "--json", session.id)
    assert listed["sentence"] == f"it was {SENTENCE}"
    assert listed["cause"] == "memory"
    assert listed["memory_limit"] == 128 << 20
    assert (listed["end"], listed["signal"]) == ("signalled", 9)
    row = gateway.run("ps", session.id).stdout.splitlines()[1]
    assert row.split()[1] == "memory"
