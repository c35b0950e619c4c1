"""A cell that reaches a limit gets its name, its value and what to do. An error
with another cause, or without a certain one, is unchanged."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any, Iterator

import pytest
from client import Client, Turn
from deadline import wait_for
from harness import Gateway, Session
from records import wait_record

PROFILE = "profile/python3/"
SMALL = [
    *("--set", PROFILE + "limits/tmp=4M"),
    *("--set", PROFILE + "limits/shm=3M"),
    *("--set", PROFILE + "limits/file_size=16M"),
    *("--set", PROFILE + "limits/open_files=64"),
    *("--set", PROFILE + "limits/processes=40"),
]
FILL = (
    "with open({path!r}, 'wb', 0) as file:\n"
    "    while True: file.write(bytes(1 << 16))"
)
TMP_FULL = (
    "the session's /tmp is full: 4 MiB of 4 MiB used (limit tmp); delete "
    "files there, or ask for a larger limit"
)
SHM_FULL = TMP_FULL.replace("/tmp", "/dev/shm").replace("4 MiB", "3 MiB")
SHM_FULL = SHM_FULL.replace("limit tmp", "limit shm")
FILE_SIZE = (
    "a file of this session can have 16 MiB at most (limit file_size); write "
    "smaller ones, or ask for a larger limit"
)
FILES = "this process has reached the session's limit of open files: "
KEEP_OPEN = "kept = []\nwhile True: kept.append(open('/dev/null'))"
LET_GO = (
    "from contextlib import ExitStack\n"
    "with ExitStack() as stack:\n"
    "    while True: stack.enter_context(open('/dev/null'))"
)
IN_A_FILE_THAT_GOES = (
    "import tempfile\n"
    "with tempfile.NamedTemporaryFile(dir='/tmp') as file:\n"
    "    while True: file.write(bytes(1 << 16))"
)
MANY_FILES = (
    "for number in range(1 << 20): open(f'/dev/shm/{number}', 'wb').close()"
)
WRAPPED = (
    "try:\n"
    "    with open('/tmp/x', 'wb') as file: file.write(bytes(8 << 20))\n"
    "except OSError as error:\n"
    "    raise ValueError('no copy') from error"
)
DATABASE = (
    "import sqlite3\n"
    "base = sqlite3.connect('/dev/shm/base')\n"
    "base.execute('create table numbers (number)')\n"
    "open('/dev/shm/x', 'wb', 0).write(bytes(8 << 20))\n"
    "base.execute('insert into numbers values (1)')\n"
    "base.commit()"
)
PROGRAM = (
    "import subprocess\n"
    "subprocess.run(['sh', '-c', 'exec head -c 32M /dev/zero > x'], check=True)"
)
FORKS = """
import os, time
while True:
    if os.fork() == 0:
        time.sleep(600)
"""
THREADS = """
import threading
stop = threading.Event()
while True: threading.Thread(target=stop.wait, daemon=True).start()
"""
# Enough processes that none reaches its limit of open files.
TERMINALS = """
import os, time
there, here = os.pipe()
for child in range(2):
    if os.fork() == 0:
        kept = [os.openpty() for _ in range(24)]
        os.write(here, b'x')
        time.sleep(600)
    os.read(there, 1)
kept = []
while True: kept.append(os.openpty())
"""


@pytest.fixture(scope="module")
def gateway() -> Iterator[Gateway]:
    running = Gateway(*SMALL)
    try:
        yield running.start()
    finally:
        running.end()


def hits(gateway: Gateway, limit: str) -> int:
    count: int = gateway.info()["counted"]["limits"][limit]
    return count


def notes(session: Session) -> list[dict[str, Any]]:
    """Return the journal's records about limits."""
    found = []
    for path in sorted(Path(session.model["journal"]).glob("journal-*.log")):
        for piece in path.read_bytes().split(b'{"limit":')[1:]:
            text = b'{"limit":' + piece.split(b"}")[0] + b"}"
            if b'"cell"' in text:
                found.append(json.loads(text))
    return found


def answered(turn: Turn) -> str:
    """The last lines of both, which are the same."""
    assert turn.status == "error"
    value: str = turn.content["evalue"]
    lines = value.split("\n")[1:]
    trace = turn.content["traceback"]
    assert trace[len(trace) - len(lines) :] == lines
    shown = turn.contents("error")[0]
    assert shown["evalue"] == value
    assert shown["traceback"] == trace
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("code", "says", "limit"),
    [
        (FILL.format(path="/tmp/x"), TMP_FULL, "tmp"),
        (FILL.format(path="/var/tmp/x"), TMP_FULL, "tmp"),
        (FILL.format(path="/dev/shm/x"), SHM_FULL, "shm"),
        (WRAPPED, TMP_FULL, "tmp"),
        (DATABASE, SHM_FULL, "shm"),
        (MANY_FILES, "is full: 65536 of 65536 files (limit shm)", "shm"),
        (IN_A_FILE_THAT_GOES, "/tmp had no room for this: 4 MiB are", "tmp"),
        (FILL.format(path="/workspace/x"), FILE_SIZE, "file_size"),
        ("open('x', 'wb').truncate(1 << 30)", FILE_SIZE, "file_size"),
        (PROGRAM, FILE_SIZE, "file_size"),
        (KEEP_OPEN, FILES + "64 of 64 are open (limit", "open_files"),
        (LET_GO, FILES + "64 (limit open_files); close", "open_files"),
    ],
    ids=[
        "tmp", "var-tmp", "shm", "wrapped", "database", "inodes", "gone",
        "file-size", "truncate", "program", "open-files", "closed-files",
    ],
)  # fmt: skip
def test_the_limit_is_named(
    gateway: Gateway,
    session: Session,
    client: Client,
    code: str,
    says: str,
    limit: str,
) -> None:
    before = hits(gateway, limit)
    turn = client.run(code)
    assert says in answered(turn)
    figures = turn.reply["metadata"]["hearth"]["limits"]
    assert [one["limit"] for one in figures] == [limit]
    wait_for(lambda: hits(gateway, limit) == before + 1, "a count")
    (note,) = notes(session)
    assert note == {**figures[0], "cell": 1, "said_by": "kernel"}
    # The session goes on, and the limit is not reported again.
    after = client.run("1 / 0")
    assert after.content["evalue"] == "division by zero"
    assert "limits" not in after.reply["metadata"]["hearth"]
    assert client.value("1 + 1") == 2


@pytest.mark.parametrize("code", [FORKS, THREADS], ids=["forks", "threads"])
def test_processes_are_named(session: Session, code: str) -> None:
    with session.client() as client:
        turn = client.run(code)
    assert (
        "the session has as many processes and threads as it may have: 40 of "
        "40 (limit processes); end some, or ask for a larger limit"
        in answered(turn)
    )
    # Once, by whom it may be: the group, or the kernel where there is none.
    (note,) = wait_for(lambda: notes(session), "a note")
    assert note["limit"] == "processes"
    assert note["max"] == 40


def test_a_command_that_fails(gateway: Gateway, client: Client) -> None:
    before = hits(gateway, "tmp")
    turn = client.run("!head -c 8M /dev/zero > /tmp/x")
    assert turn.status == "ok"
    assert TMP_FULL in turn.stream("stderr")
    assert turn.reply["metadata"]["hearth"]["limits"][0]["limit"] == "tmp"
    wait_for(lambda: hits(gateway, "tmp") == before + 1, "a count")
    client.run("!rm /tmp/x")
    assert not client.run("!false").stream("stderr")


def test_the_limit_is_recorded(gateway: Gateway, session: Session) -> None:
    """The audit log says on whose word."""
    with session.client() as client:
        client.run(KEEP_OPEN)

    record = wait_record(gateway, session=session.id, event="limit")
    assert record["who"] == "kernel"
    assert record["limit"] == "open_files"
    assert (record["used"], record["max"]) == (64, 64)
    assert record["said_by"] == "kernel"
    trace = gateway.run("notebook", "trace", session.id)
    assert "limit hit: open_files" in trace.stdout


@pytest.mark.parametrize(
    "code",
    [
        # Not a limit: the code's own exception.
        "import errno; raise OSError(errno.ENOSPC, 'No space left on device')",
        "import errno; raise OSError(errno.EMFILE, 'Too many open files')",
        "import errno; raise OSError(errno.EFBIG, 'File too large')",
        "open('/dev/full', 'wb', 0).write(b'x')",
        "import socket\n"
        "a, b = socket.socketpair(); a.setblocking(False); a.recv(1)",
        'raise RuntimeError("can\'t start new thread")',
        "bytearray(1 << 60)",
        "open('nothing')",
        "import subprocess; subprocess.run(['false'], check=True)",
    ],
)
def test_no_limit_is_named(client: Client, code: str) -> None:
    turn = client.run(code)
    assert answered(turn) == ""
    assert "limits" not in turn.reply["metadata"]["hearth"]


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (
            "import resource as r\n"
            "r.setrlimit(r.RLIMIT_NOFILE, (50, 64))\n" + KEEP_OPEN,
            "set itself a limit of 50 open files, lower than the session's",
        ),
        (
            "import resource as r\n"
            "r.setrlimit(r.RLIMIT_FSIZE, (8192, 8192))\n"
            "open('x', 'wb', 0).truncate(1 << 20)",
            "set itself a limit of 8 KiB a file, lower than the session's",
        ),
        (TERMINALS, "all 64 terminals that a session can have are in use"),
    ],
    ids=["open-files", "file-size", "terminals"],
)
def test_other_causes_have_their_own_names(
    client: Client, code: str, says: str
) -> None:
    turn = client.run(code)
    assert says in answered(turn)
    assert "limits" not in turn.reply["metadata"]["hearth"]


def test_a_full_disk_is_no_limit_of_the_session(gateway: Gateway) -> None:
    """The workspace lies on a small disk, and /tmp is full as well."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    folder = gateway.folder / "small"
    folder.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2M,mode=1777", "small", folder],
        check=True,
    )
    try:
        session = gateway.create("--workspace", str(folder))
        with session.client() as client:
            client.run("open('/tmp/x', 'wb', 0).write(bytes(8 << 20))")
            turn = client.run(
                "file = open('/workspace/x', 'wb', 0)\n"
                "while True: file.write(bytes(1 << 16))"
            )
            said = answered(turn)
            assert "/workspace is full: 2 MiB of 2 MiB used" in said
            assert "not a limit of the session" in said
            # Its path shows that it is this error, and not a limit.
            turn = client.run(
                "import os; os.symlink('x' * 2000, '/workspace/link')"
            )
            assert "limit tmp" not in answered(turn)
            assert "limits" not in turn.reply["metadata"]["hearth"]
        session.delete()
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_a_mapping_without_room_is_hinted_at(gateway: Gateway) -> None:
    session = gateway.create()
    with session.client() as client:
        evalue = client.last_words(
            "import mmap\n"
            "file = open('/dev/shm/x', 'w+b')\n"
            "file.truncate(8 << 20)\n"
            "mmap.mmap(file.fileno(), 8 << 20).write(b'x' * (8 << 20))"
        )
        assert "/dev/shm (limits/shm) is full" in evalue
