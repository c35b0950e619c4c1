"""The audit log: what is in it, and that a change shows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq
from deadline import wait_for
from harness import Gateway

Record = dict[str, Any]


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    running = Gateway("--set", "profile/python3/policy/refuse_imports=socket")
    try:
        running.start()
        yield running
    finally:
        running.end()


def records(gateway: Gateway, **wanted: str) -> list[Record]:
    done = gateway.run("audit", "show", "--json")
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        record
        for record in found
        if all(record.get(key) == value for key, value in wanted.items())
    ]


def wait_record(gateway: Gateway, **wanted: str) -> Record:
    found = wait_for(lambda: records(gateway, **wanted), f"a record {wanted}")
    return found[-1]


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
    connection = json.loads(Path(session.connection_file).read_text())
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.connect(f"tcp://{connection['ip']}:{connection['shell_port']}")
        dealer.send_multipart(
            [b"<IDS|MSG>", b"bad", b"{}", b"{}", b"{}", b"{}"]
        )
        dropped = wait_record(gateway, event="message", session=session.id)
        assert dropped["outcome"] == "dropped"
        assert dropped["channel"] == "shell"
        assert dropped["verdict"] == "bad signature"
        # A flood is bounded, and how much was left out is told.
        for number in range(3000):
            dealer.send_multipart(
                [b"<IDS|MSG>", b"%d" % number, b"{}", b"{}", b"{}", b"{}"]
            )
        session.exec("1")
        lost = wait_record(gateway, event="lost", session=session.id)
        told = len(records(gateway, event="message", session=session.id))
        assert told < 2500
        assert lost["count"] > 0
    assert gateway.json("audit", "verify", "--json")["ok"]


def test_a_limit_and_the_end_by_it(gateway: Gateway) -> None:
    session = gateway.create()
    session.exec("import os; os._exit(7)")
    end = wait_record(gateway, event="session_end", session=session.id)
    assert (end["outcome"], end["code"]) == ("exit", 7)
    lost = records(gateway, event="cell_end", session=session.id)
    assert lost[-1]["outcome"] == "lost"


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


def test_a_killed_gateway_leaves_a_whole_log(gateway: Gateway) -> None:
    gateway.create()
    for count in (1, 2, 3):
        wait_for(
            lambda count=count: (
                len(records(gateway, event="gateway_start")) == count
            ),
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
