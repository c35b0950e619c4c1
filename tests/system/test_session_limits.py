"""A session with lower limits than its profile's: they hold, they are told, and
they stay with it."""

from __future__ import annotations

from typing import Iterator

import pytest
from harness import Gateway

PROFILE = "profile/python3/"
GROW = "kept = []\nwhile True: kept.append(bytearray(1 << 20))"
LIMITS = (
    *("--limit", "memory=128M"),
    *("-l", "open_files=100"),
    *("-l", "file_size=1M"),
    *("-l", "tmp=3M"),
    *("-l", "shm=4M"),
)
LOOK = """
import resource, shutil
print([resource.getrlimit(which)[1] for which in
       (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)],
      [shutil.disk_usage(place).total >> 20 for place in ("/tmp", "/dev/shm")])
"""


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    running = Gateway("--set", PROFILE + "preload=")
    try:
        yield running.start()
    finally:
        running.end()


def test_they_hold_and_are_told(gateway: Gateway) -> None:
    small, other = gateway.create(*LIMITS), gateway.create()
    assert small.show()["limits"] == {
        "memory": 128 << 20,
        "open_files": 100,
        "file_size": 1 << 20,
        "tmp": 3 << 20,
        "shm": 4 << 20,
    }
    assert "limits" not in other.show()
    with small.client() as client, other.client() as neighbour:
        assert client.run(LOOK).stream() == "[100, 1048576] [3, 4]\n"
        assert neighbour.run(LOOK).stream() == (
            "[1024, 1073741824] [256, 256]\n"
        )
        turn = client.run(GROW)
        assert turn.content["ename"] == "KernelDied"
        assert "memory: 128 MiB reached" in turn.content["evalue"]
        assert neighbour.run("1+1").result == "2"


def test_output_is_counted_by_them(gateway: Gateway) -> None:
    session = gateway.create("--limit", "cell_output=64K")
    with session.client() as client:
        assert client.run("print('x' * 1000)").status == "ok"
        turn = client.run("while True: print('x' * 1000)")
        assert "65536 are the most" in turn.content["evalue"]
        assert (
            f"limits/cell_output of session {session.id}"
            in (turn.content["evalue"])
        )


def test_a_restart_and_the_next_gateway_keep_them(gateway: Gateway) -> None:
    session = gateway.create(*LIMITS)
    with session.client() as client:
        assert "[100, 1048576] [3, 4]" in client.run(LOOK).stream()
    done = gateway.run("session", "restart", session.id)
    assert done.returncode == 0, done.stderr
    session.wait_state("idle")
    gateway.kill()
    gateway.start()
    assert session.show()["limits"]["memory"] == 128 << 20
    with session.client() as client:
        assert "[100, 1048576] [3, 4]" in client.run(LOOK).stream()
        turn = client.run(GROW)
        assert "memory: 128 MiB reached" in turn.content["evalue"]


@pytest.mark.parametrize(
    ("limit", "says"),
    [
        ("memory=3G", "more than the 2147483648 of profile python3"),
        ("memory=0", "more than"),
        ("memory=1K", "limits/memory"),
        ("memories=1G", "limits/memories"),
        ("tmp_bytes=4M", "two limits now: limits/tmp"),
        ("shm=1G", "more than the 268435456 of profile python3"),
    ],
)
def test_what_cannot_be(gateway: Gateway, limit: str, says: str) -> None:
    before = len(gateway.sessions("--all"))
    done = gateway.run("session", "create", "--limit", limit)
    assert done.returncode == 1, done
    assert says in done.stderr
    assert len(gateway.sessions("--all")) == before


def test_no_pair_is_a_usage_error(gateway: Gateway) -> None:
    done = gateway.run("session", "create", "--limit", "memory")
    assert done.returncode == 2
    assert "key=value" in done.stderr
