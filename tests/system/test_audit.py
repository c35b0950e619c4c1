"""The audit log: what is in it, and that a change shows."""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq
from deadline import wait_for
from forgery import TAKE_THE_LINK
from harness import Gateway, endpoint
from records import records, wait_record


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    running = Gateway("--set", "profile/python3/policy/refuse_imports=socket")
    try:
        running.start()
        yield running
    finally:
        running.end()


def logs(gateway: Gateway) -> list[Path]:
    return sorted((gateway.state / "audit").glob("*.log"))


def test_a_session_from_start_to_end(gateway: Gateway) -> None:
    session = gateway.create()
    code = "1 + 1  # h\u00f6rnchen"
    assert session.exec(code).returncode == 0
    assert session.exec("1 / 0").returncode == 1
    refused = session.exec("x = 1\nimport socket")
    assert refused.returncode == 1
    assert (
        "line 2: import of socket is refused" in refused.stderr + refused.stdout
    )
    session.delete()
    end = wait_record(gateway, event="session_end", session=session.id)
    assert end["outcome"] == "deleted"
    # Of another thread than the session's: each in its own order.
    wait_record(gateway, event="gateway_start")
    wait_record(gateway, event="zygote", outcome="ready")
    wait_record(gateway, event="order", request="session_delete_request")
    start = records(gateway, event="session_start", session=session.id)
    assert start[0]["profile"] == "python3"
    fork = wait_record(gateway, event="fork", session=session.id)
    assert fork["pid"] > 0
    begun = records(gateway, event="cell_start", session=session.id)
    assert begun[0]["sha256"] == hashlib.sha256(code.encode()).hexdigest()
    assert begun[0]["length"] == len(code.encode())
    ends = records(gateway, event="cell_end", session=session.id)
    assert [(e["outcome"], e["ename"]) for e in ends] == [
        ("ok", None),
        ("error", "ZeroDivisionError"),
        ("error", "PolicyError"),
    ]
    policy = records(gateway, event="policy", session=session.id)
    assert policy[0]["outcome"] == "refused"
    assert "socket" in policy[0]["text"]
    # Code itself is never there; the word has letters that no MAC has.
    assert "rnchen" not in "".join(path.read_text() for path in logs(gateway))
    verified = gateway.json("audit", "verify", "--json")
    assert verified["ok"]
    assert verified["records"] == verified["last"]


def test_files_in_and_out(gateway: Gateway) -> None:
    session = gateway.create()
    session.exec("import os; os.symlink('/etc/passwd', 'link')")
    put = gateway.run("files", "put", session.id, "-", "a\\x1bb", stdin="abc")
    assert put.returncode == 0
    gateway.run("files", "get", session.id, "a\\x1bb", "-")
    gateway.run("files", "get", session.id, "link", "-")
    wait_record(gateway, event="file", what="files_get_request")
    found = [
        (record["what"], record["outcome"], record["path"])
        for record in records(gateway, event="file", session=session.id)
    ]
    assert found == [
        ("put", "ok", "a\\x1bb"),
        ("get", "ok", "a\\x1bb"),
        ("files_get_request", "refused", "link"),
    ]
    copies = records(gateway, event="file", outcome="ok")
    for copy in copies:
        assert copy["sha256"] == hashlib.sha256(b"abc").hexdigest()
        assert copy["size"] == 3


def test_messages_that_are_not_signed(gateway: Gateway) -> None:
    session = gateway.create()
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.connect(endpoint(session.connection_file, "shell"))
        dealer.send_multipart(
            [b"<IDS|MSG>", b"bad", b"{}", b"{}", b"{}", b"{}"]
        )
        dropped = wait_record(gateway, event="message", session=session.id)
        assert dropped["outcome"] == "dropped"
        assert dropped["channel"] == "shell"
        assert dropped["verdict"] == "bad signature"
        # A flood is bounded, and the number of omitted records is reported.
        flood = [b"<IDS|MSG>", b"bad", b"{}", b"{}", b"{}", b"{}"]
        for _ in range(3000):
            dealer.send_multipart(flood)
        session.exec("1")

        def all_reported() -> bool:
            dealer.send_multipart(flood)  # the next one has the count
            found = records(gateway, event="message", session=session.id)
            assert len(found) < 2500
            return sum(record["count"] for record in found) >= 3001

        wait_for(all_reported, "all of the flood counted")
    assert gateway.json("audit", "verify", "--json")["ok"]


def test_the_end_by_the_codes_own_hand(gateway: Gateway) -> None:
    session = gateway.create()
    session.exec("import os; os._exit(7)")
    end = wait_record(gateway, event="session_end", session=session.id)
    assert (end["outcome"], end["code"]) == ("exit", 7)
    lost = records(gateway, event="cell_end", session=session.id)
    assert lost[-1]["outcome"] == "lost"


@pytest.fixture(scope="module")
def narrow() -> Iterator[Gateway]:
    """Start a gateway with low limits, and with one wall less."""
    profile = "profile/python3/"
    running = Gateway(
        "--set",
        profile + "limits/session_output=64K",
        "--set",
        profile + "network=loopback",
    )
    try:
        yield running.start()
    finally:
        running.end()


def test_a_limit_and_the_end_by_it(narrow: Gateway) -> None:
    session = narrow.create()
    session.exec("while True: print('x' * 1000)")
    limit = wait_record(narrow, event="limit", session=session.id)
    assert (limit["outcome"], limit["who"]) == ("output", "kernel")
    assert "limits/session_output" in limit["detail"]
    end = wait_record(narrow, event="session_end", session=session.id)
    assert end["outcome"] == "output"
    assert verify(narrow)


def test_a_broken_rule(narrow: Gateway) -> None:
    session = narrow.create()
    session.exec(TAKE_THE_LINK + "link.send(frame(34, 1, version=9))")
    broken = wait_record(narrow, event="protocol", session=session.id)
    assert (broken["outcome"], broken["who"]) == ("protocol", "kernel")
    assert broken["detail"]
    assert verify(narrow)


def test_settings_that_open_the_sandbox_are_recorded(narrow: Gateway) -> None:
    session = narrow.create()
    weaker = wait_record(narrow, event="configuration")
    assert weaker["outcome"] == "weaker"
    assert (weaker["profile"], weaker["network"]) == ("python3", True)
    start = wait_record(narrow, event="session_start", session=session.id)
    assert start["network"] == "loopback"


def test_how_a_session_is_closed_in(gateway: Gateway) -> None:
    session = gateway.create()
    pid = session.show()["pid"]
    start = wait_record(gateway, event="session_start", session=session.id)
    assert (start["posture"], start["isolation"]) == ("ok", "namespaces")
    assert start["without"] == []
    assert len(start["namespaces"]) == 7
    for name, number in start["namespaces"].items():
        assert os.stat(f"/proc/{pid}/ns/{name}").st_ino == number
    assert start["landlock_abi"] == landlock_abi()
    if gateway.info()["limits"]["by"] != "watchdog":
        assert start["cgroup"].startswith(session.id)
    session.exec("print('x' * 5000)")
    cell = wait_record(gateway, event="cell_end", session=session.id)
    assert cell["bytes_out"] > 5000
    if start["cgroup"]:
        assert cell["cpu_ms"] >= 0


def landlock_abi() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return max(0, int(libc.syscall(444, None, 0, 1)))


def verify(gateway: Gateway) -> bool:
    return bool(gateway.json("audit", "verify", "--json")["ok"])


def test_a_change_shows(gateway: Gateway) -> None:
    gateway.create().delete()
    gateway.terminate()
    assert gateway.run("audit", "verify").returncode == 0
    path = logs(gateway)[0]
    lines = path.read_bytes().splitlines(keepends=True)
    for changed in (
        lines[:2] + lines[3:],
        lines[:-1],
        [lines[0].replace(b"file", b"fill"), *lines[1:]],
        [*lines, lines[-1]],
    ):
        path.write_bytes(b"".join(changed))
        verified = gateway.run("audit", "verify")
        assert verified.returncode == 1
        assert "do not verify" in verified.stdout
        shown = gateway.run("audit", "show")
        assert shown.returncode == 1
    path.write_bytes(b"".join(lines))
    assert gateway.run("audit", "verify").returncode == 0
    # Missing at the end when a gateway comes: it says so for ever.
    path.write_bytes(b"".join(lines[:-1]))
    gateway.start()
    assert gateway.run("audit", "verify").returncode == 1


def test_an_event_that_the_log_has_not_is_named(gateway: Gateway) -> None:
    gateway.create().delete()
    wait_record(gateway, event="session_start")
    done = gateway.run("audit", "show", "--event", "session_begin")
    assert (done.returncode, done.stdout) == (0, "")
    said = done.stderr
    assert "no record has the event session_begin; the log has" in said
    assert "session_start" in said
    done = gateway.run("audit", "show", "--event", "session_start")
    assert done.stdout
    assert not done.stderr


def test_a_killed_gateway_leaves_a_whole_log(gateway: Gateway) -> None:
    gateway.create()
    for count in (1, 2, 3):
        wait_for(
            lambda: len(records(gateway, event="gateway_start")) == count,
            "the record of this start",
        )
        gateway.kill()
        gateway.start()
        verified = gateway.json("audit", "verify", "--json")
        assert verified["ok"], verified
    wait_for(
        lambda: len(records(gateway, event="gateway_start")) == 4,
        "the record of the last start",
    )


def test_a_cell_that_is_taken_over_begins_once(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        msg_id = client.kc.execute(
            "import os, time\nprint('go', flush=True)\n"
            "while not os.path.exists('now'): time.sleep(0.01)"
        )
        client.stream_until(msg_id, "go")
        before = wait_record(gateway, event="cell_start", session=session.id)
        gateway.kill()
        gateway.start()
        (session.workspace / "now").touch()
        end = wait_record(gateway, event="cell_end", session=session.id)
    assert (end["outcome"], end["request"]) == ("ok", before["request"])
    assert len(records(gateway, event="cell_start", session=session.id)) == 1


def test_the_log_is_the_gateways_alone(gateway: Gateway) -> None:
    assert (gateway.state / "audit.key").stat().st_mode & 0o777 == 0o600
    assert (gateway.state / "audit").stat().st_mode & 0o777 == 0o700
    for path in (gateway.state / "audit").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600


def test_no_log_where_none_is_wanted() -> None:
    quiet = Gateway("--set", "gateway/audit_files=0").start()
    try:
        assert quiet.create().exec("1").returncode == 0
        assert not (quiet.state / "audit").exists()
        assert quiet.run("audit", "show").returncode == 5
    finally:
        quiet.end()
