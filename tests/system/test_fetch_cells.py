"""`%fetch` and `%clone` in a cell: the gateway is asked, and answers the
cell."""

from __future__ import annotations

import hashlib
from typing import Iterator

import pytest
from client import Client
from fetch_gateway import COMMIT, HOST, PLAIN, README, Fetching
from harness import Session, started
from records import wait_record

HASH = hashlib.sha256(PLAIN).hexdigest()


@pytest.fixture(scope="module")
def gateway() -> Iterator[Fetching]:
    with started(Fetching()) as made:
        yield made


def begin(
    gateway: Fetching, client: Client, name: str, magic: str = "%fetch"
) -> str:
    """A cell that waits for what comes; returns the msg_id."""
    msg_id: str = client.kc.execute(f"kept = 7\n{magic} {HOST}/{name}")
    gateway.wait_note("waits", name)
    return msg_id


def test_the_next_line_reads_it(session: Session) -> None:
    done = session.exec(
        f"kept = 1\n%fetch {HOST}/plain.csv data/ --sha256 {HASH}\n"
        "print(kept, open('data/plain.csv').read(), end='')"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"data/plain.csv  {len(PLAIN)} B  sha256 {HASH}\n1 {PLAIN.decode()}"
    )


def test_a_repository_is_described(gateway: Fetching, session: Session) -> None:
    done = session.exec(
        f"kept = 1\n%clone {HOST}/cells.git src/ --ref v1 --depth 2\n"
        f"%clone {HOST}/lacks-3-2\nprint(kept)"
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"src/cells  commit {COMMIT}  branch v1"
    assert lines[1].startswith(f"lacks-3-2  commit {COMMIT}")
    assert lines[2] == "1"
    assert done.stderr.splitlines() == [
        "%clone: 3 files are Git LFS pointers: --lfs brings their contents",
        "%clone: 2 submodules are empty folders",
    ]
    job = gateway.wait_note("began", "cells.git")["job"]
    assert (job["order"], job["ref"], job["depth"]) == ("clone", "v1", 2)


def test_a_repository_arrives(session: Session) -> None:
    done = session.exec(
        f"%clone {HOST}/tool\n"
        "import os, subprocess\n"
        "print(sorted(os.listdir('tool')))\n"
        "print(open('tool/README.md').read(), end='')\n"
        "print(os.readlink('tool/src/about'))\n"
        "print(subprocess.check_output('tool/src/run', text=True), end='')"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1:] == [
        "['.git', 'README.md', 'src']",
        README.decode().strip(),
        "../README.md",
        "it runs",
    ]


@pytest.mark.parametrize("magic", ["%fetch", "%clone"])
def test_a_refusal_ends_the_cell(
    gateway: Fetching, session: Session, magic: str
) -> None:
    done = session.exec(f"{magic} {HOST}/refused\nprint('went on')")
    assert done.returncode == 1
    assert "went on" not in done.stdout
    assert f"{magic}: it is FetchRefused" in done.stderr
    refused = wait_record(
        gateway, event="fetch", session=session.id, outcome="refused"
    )
    assert (refused["who"], refused["path"]) == ("kernel", "refused")


def test_a_fetch_has_its_records(gateway: Fetching, session: Session) -> None:
    assert session.exec(f"%fetch {HOST}/plain").returncode == 0
    record = wait_record(
        gateway, event="file", what="fetch", session=session.id
    )
    assert (record["who"], record["path"]) == ("kernel", "plain")
    call = wait_record(gateway, event="tool_call", session=session.id)
    assert (call["tool"], call["outcome"]) == ("hearth:fetch", "ok")


def test_a_replay_fetches_it_again(gateway: Fetching, session: Session) -> None:
    for code in (
        f"%fetch {HOST}/has-replay",
        "print(open('has-replay').read())",
    ):
        assert session.exec(code).returncode == 0
    done = gateway.run("notebook", "replay", session.id)
    assert done.returncode == 0, done.stdout + done.stderr
    assert gateway.order("began").count("has-replay") == 2


def test_progress_is_one_line_of_the_recording(
    gateway: Fetching, session: Session, client: Client
) -> None:
    """It is rewritten while the cell waits, and a replay has no difference."""
    name = "slow-progress"
    msg_id = begin(gateway, client, name)
    shown = client.stream_until(msg_id, f"\r{name}: 5 B of 10 B, ")
    gateway.let(name)
    turn = client.finish(msg_id, begun=shown)
    line = f"{name}  {len(PLAIN)} B  sha256 {HASH}\n"
    assert turn.stream().endswith(f" \r{line}")
    text = gateway.run("notebook", "export", session.id, "--format", "md")
    assert line in text.stdout
    assert "of 10 B" not in text.stdout
    done = gateway.run("notebook", "replay", session.id)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("magic", ["%fetch", "%clone"])
def test_an_interrupt_ends_the_cell_alone(
    gateway: Fetching, session: Session, client: Client, magic: str
) -> None:
    """The fetch goes on, as it does when a client goes."""
    name = f"slow-interrupted-{magic[1:]}"
    msg_id = begin(gateway, client, name, magic)
    gateway.run("session", "interrupt", session.id)
    turn = client.finish(msg_id)
    assert turn.content["ename"] == "KeyboardInterrupt"
    assert f"{magic}: it goes on outside; " in turn.stream("stderr")
    assert client.value("kept") == 7
    gateway.let(name)
    gateway.wait_note("ended", name)
    assert client.run(f"%fetch {HOST}/plain").status == "ok"


def test_the_session_ends_during_a_fetch(gateway: Fetching) -> None:
    session = gateway.create()
    with session.client() as client:
        begin(gateway, client, "slow-session")
        worker = gateway.wait_note("began", "slow-session")["pid"]
        session.delete()
    gateway.wait_ended(worker)


def test_code_may_be_kept_from_it() -> None:
    gateway = Fetching("--set", "profile/python3/fetch/cells=no")
    try:
        gateway.start()
        session = gateway.create()
        for magic, order in (("%fetch", "fetch"), ("%clone", "clone")):
            done = session.exec(f"{magic} {HOST}/plain")
            assert done.returncode == 1
            assert "profile/python3/fetch/cells" in done.stderr
            assert f"`hearth {order} " in done.stderr
        assert gateway.run("fetch", session.id, f"{HOST}/plain").returncode == 0
    finally:
        gateway.end()
