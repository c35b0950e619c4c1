"""A session with lower limits than its profile's: they apply, they are shown,
and they stay with it."""

from __future__ import annotations

from typing import Iterator

import pytest
from client import Client
from deadline import wait_for
from harness import Gateway, Session
from records import records, wait_record

PROFILE = "profile/python3/"
GROW = "kept = []\nwhile True: kept.append(bytearray(1 << 20))"
LIMITS = (
    *("--limit", "memory=128M"),
    *("-l", "open_files=100"),
    *("-l", "file_size=1M"),
    *("-l", "tmp=3M"),
    *("-l", "shm=4M"),
)
WAIT = """
import os, time
print('runs', flush=True)
while not os.path.exists('go'):
    time.sleep(0.01)
"""
LOOK = """
import resource, shutil
print([resource.getrlimit(which)[1] for which in
       (resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE)],
      [shutil.disk_usage(place).total >> 20 for place in ("/tmp", "/dev/shm")])
"""


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    running = Gateway()
    try:
        yield running.start()
    finally:
        running.end()


def test_limits_apply_and_are_shown(gateway: Gateway) -> None:
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


def test_output_is_counted_by_session_limits(gateway: Gateway) -> None:
    session = gateway.create("--limit", "cell_output=64K")
    with session.client() as client:
        assert client.run("print('x' * 1000)").status == "ok"
        turn = client.run("while True: print('x' * 1000)")
        assert "at most 65536 are permitted" in turn.content["evalue"]
        assert (
            f"limits/cell_output of session {session.id}"
            in (turn.content["evalue"])
        )


def test_requests_that_wait(gateway: Gateway) -> None:
    """As many as permitted run; the next one gets an error."""
    session = gateway.create("--limit", "requests=3")
    with session.client() as client:
        runs = client.kc.execute(WAIT)
        client.stream_until(runs, "runs")
        ids = [client.kc.execute(f"print({number})") for number in range(5)]
        for late in ids[3:]:
            reply = client.reply(late)["content"]
            assert reply["ename"] == "QueueFull"
            assert "3 requests wait already" in reply["evalue"]
            assert "limits/requests of profile python3" in reply["evalue"]
        (session.workspace / "go").touch()
        assert client.finish(runs).status == "ok"
        for number in range(3):
            assert client.finish(ids[number]).stream() == f"{number}\n"
        # Refused and never run: it may be sent again.
        assert client.run("print('more')").stream() == "more\n"
    record = wait_record(gateway, session=session.id, event="limit")
    assert (record["limit"], record["max"]) == ("requests", 3)
    assert record["who"] == "gateway"


def padded(code: str, kib: int) -> str:
    return code + "  #" + "x" * (kib << 10)


def test_bytes_that_wait(gateway: Gateway) -> None:
    """Requests that are too large together get an error, small ones go on; the
    first waiting one may have any size."""
    session = gateway.create("--limit", "requests_bytes=64K")
    with session.client() as client:
        runs = client.kc.execute(WAIT)
        client.stream_until(runs, "runs")
        big = client.kc.execute(padded("print('big')", 1000))
        late = client.kc.execute(padded("print('late')", 10))
        reply = client.reply(late)["content"]
        assert reply["ename"] == "QueueFull"
        assert "limits/requests_bytes of profile python3" in reply["evalue"]
        assert "more than 65536" in reply["evalue"]
        assert "send it again later" in reply["evalue"]
        # What a busy kernel is can be asked all the same, without waiting.
        info = client.reply(client.send("shell", "kernel_info_request"))
        assert info["content"]["status"] == "ok"
        big_one = {"x": "x" * 100_000}
        info = client.reply(
            client.send("shell", "kernel_info_request", big_one)
        )
        assert info["content"]["protocol_version"].startswith("5.")
        (session.workspace / "go").touch()
        assert client.finish(runs).status == "ok"
        assert client.finish(big).stream() == "big\n"
        assert client.run("print('more')").stream() == "more\n"
        check_room(session, client)
    found = wait_for(
        lambda: records(gateway, session=session.id, event="limit"), "a record"
    )
    assert {(one["limit"], one["max"]) for one in found} == {
        ("requests_bytes", 65536)
    }
    assert found[0]["who"] == "gateway"


def check_room(session: Session, client: Client, restart: bool = False) -> None:
    """Two of 30 KiB may wait at a time, a third one not.

    By replies only: after a restart libzmq subscribes again when that socket is
    next used, and earlier publications are missed.
    """
    (session.workspace / "go").unlink(missing_ok=True)
    client.kc.execute(WAIT)
    ids = [client.kc.execute(padded("1", 30)) for _ in range(2)]
    third = padded("print('third')", 30)
    reply = client.reply(client.kc.execute(third))["content"]
    assert reply["ename"] == "QueueFull", reply
    if restart:
        session.gateway.kill()
        session.gateway.start()
        again = client.reply(client.kc.execute(third))["content"]
        assert again["ename"] == "QueueFull", again
    (session.workspace / "go").touch()
    for msg_id in ids:
        assert client.reply(msg_id)["content"]["status"] == "ok"


def test_bytes_that_wait_no_longer(gateway: Gateway) -> None:
    """Because a cell failed, or they were answered before a gateway came."""
    session = gateway.create("--limit", "requests_bytes=64K")
    with session.client() as client:
        runs = client.kc.execute(WAIT + "\n1 / 0")
        client.stream_until(runs, "runs")
        ids = [client.kc.execute(padded("1", 30)) for _ in range(2)]
        comm = {"comm_id": "none", "data": {"x": "x" * 1000}}
        client.send("shell", "comm_msg", comm)
        (session.workspace / "go").touch()
        for msg_id in ids:
            assert client.reply(msg_id)["content"]["status"] == "aborted"
        check_room(session, client, restart=True)
        check_room(session, client)


def test_journal_that_is_full(gateway: Gateway) -> None:
    """The oldest outputs give way, which is on record and counted."""

    def hits() -> int:
        count: int = gateway.info()["counted"]["limits"]["journal_bytes"]
        return count

    before = hits()
    session = gateway.create("--limit", "journal_bytes=64K")
    other = gateway.create()
    for number in range(30):
        # Of a kind that does not become less by joining.
        for each in (session, other):
            each.exec(f"print({number}, 'x' * 8000)")
    record = wait_record(gateway, session=session.id, event="limit")
    assert (record["limit"], record["max"]) == ("journal_bytes", 64 << 10)
    assert "said_by" not in record
    wait_for(lambda: hits() > before, "a count")
    assert session.show()["journal_bytes"] < 128 << 10
    assert other.show()["journal_bytes"] > 128 << 10
    assert not records(gateway, session=other.id, event="limit")


@pytest.mark.parametrize("kind", ["LOOKED", "STRUCK", "UNCALL"])
def test_what_code_says_of_its_kernel_does_not_fill_the_disk(
    gateway: Gateway, kind: str
) -> None:
    """It is no output, and it gives way as output does."""
    session = gateway.create("--limit", "journal_bytes=256K")
    said = {"look": 1, "call": 1, "taken": False}
    done = session.exec(
        "from hearth_kernel.messaging import outlet\n"
        f"kind = outlet._link.{kind}\n"
        f"for _ in range(20_000): outlet.emit(kind, {said!r})\n"
    )
    assert done.returncode == 0, done
    assert session.show()["journal_bytes"] < 1 << 20
    assert gateway.run("notebook", "verify", session.id).returncode == 0


def test_a_restart_and_the_next_gateway_keep_limits(gateway: Gateway) -> None:
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
        ("memory=3G", "more than the 2G of profile python3"),
        ("memory=0", "more than"),
        ("memory=1K", "limits/memory"),
        ("memories=1G", "limits/memories"),
        ("tmp_bytes=4M", "two limits now: limits/tmp"),
        ("shm=1G", "more than the 256M of profile python3"),
    ],
)
def test_impossible_limits(gateway: Gateway, limit: str, says: str) -> None:
    before = len(gateway.sessions("--all"))
    done = gateway.run("session", "create", "--limit", limit)
    assert done.returncode == 1, done
    assert says in done.stderr
    assert len(gateway.sessions("--all")) == before


def test_no_pair_is_a_usage_error(gateway: Gateway) -> None:
    done = gateway.run("session", "create", "--limit", "memory")
    assert done.returncode == 2
    assert "key=value" in done.stderr
