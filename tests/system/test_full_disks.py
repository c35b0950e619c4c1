"""A full disk: a request that was not journaled gets an error and is not run
later."""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import Iterator

import pytest
from client import Client
from deadline import DEADLINE, wait_for
from harness import Gateway
from packages_gateway import Packaged


@pytest.fixture
def small_disk(folders: Gateway) -> Iterator[Gateway]:
    with on_small_disk(folders):
        yield folders


@contextlib.contextmanager
def on_small_disk(folders: Gateway) -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("a file system of its own needs root")
    folders.state.mkdir(mode=0o700)
    mounted = subprocess.run(
        [
            "mount",
            "-t",
            "tmpfs",
            "-o",
            "size=4m,mode=700",
            "tmpfs",
            str(folders.state),
        ],
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no tmpfs here: {mounted.stderr}")
    # Nothing but the test's own session takes of the room, or gives it back.
    for setting in (
        "profile/python3/pool/max=0",
        "gateway/audit_files=0",
    ):
        folders.options += ["--set", setting]
    try:
        yield
    finally:
        if folders.process is not None:
            folders.end()
            folders.process = None
        subprocess.run(["umount", "-l", str(folders.state)])


def test_journal_on_a_full_disk(small_disk: Gateway) -> None:
    small_disk.start()
    session = small_disk.create()
    ballast = small_disk.state / "ballast"
    with session.client() as client:
        client.run("kept = 1")
        fill(ballast)
        # Larger than what is left of the journal's last page.
        code = "print('not to be had') #" + "x" * 8192
        turn = client.run(code, timeout=DEADLINE)
        assert turn.status == "error"
        assert turn.content["ename"] == "JournalError"
        # Reported, not lost: with space again the session goes on.
        ballast.unlink()
        assert client.run("kept").result == "1"


def test_a_file_is_removed_from_a_full_disk(small_disk: Gateway) -> None:
    """A cell cannot: its request is not journaled."""
    small_disk.start()
    session = small_disk.create()
    session.exec("kept = 1; open('ballast', 'w').close()")
    fill(session.workspace / "ballast")
    remove = "import os; os.unlink('ballast') #" + "x" * 8192
    refused = session.exec(remove)
    assert "JournalError" in refused.stderr + refused.stdout
    done = small_disk.run("files", "rm", session.id, "ballast")
    assert done.returncode == 0, done.stderr
    assert session.exec("kept").stdout == "1\n"


def test_disk_fills_while_a_cell_runs(small_disk: Gateway) -> None:
    small_disk.start()
    session = small_disk.create()
    ballast = small_disk.state / "ballast"
    with session.client() as client:
        msg_id = client.kc.execute(
            "import os, time\nprint('go', flush=True)\n"
            "while not os.path.exists('now'): time.sleep(0.01)\n"
            "print('after')\nkept = 2"
        )
        begun = client.stream_until(msg_id, "go")
        fill(ballast)
        make_without_space(session.workspace / "now")
        turn = client.finish(msg_id, begun=begun)
        ballast.unlink()
        assert turn.status in ("ok", "error")
        if turn.status == "error":
            assert turn.content["ename"] == "JournalError"

        def again() -> bool:
            return client.run("kept").result == "2"

        wait_for(again, "the session goes on")


@pytest.fixture
def small_packaged() -> Iterator[Packaged]:
    gateway = Packaged()
    try:
        with on_small_disk(gateway):
            yield gateway
    finally:
        gateway.sweep()


def test_an_answer_waits_for_the_journal(small_packaged: Packaged) -> None:
    """An answer of the gateway itself, whose work is done when it answers."""
    small_packaged.start()
    session = small_packaged.create()
    ballast = small_packaged.state / "ballast"
    names = " ".join(f"{'n' * 90}{number}" for number in range(90))
    with session.client() as client:
        msg_id = client.kc.execute(f"%pip install slow-full {names}")
        small_packaged.wait_note("began", "slow-full")
        fill(ballast)
        small_packaged.let("slow-full")
        wait_for(
            lambda: "tool call: " in small_packaged.log.read_text(),
            "an answer that is not journaled",
        )
        ballast.unlink()
        turn = client.finish(msg_id)
        assert turn.status == "ok", turn.content
        assert "added slow-full 1.0\n" in turn.stream()


def wait_cell(name: str, then: str) -> str:
    return (
        "import os, time\nprint('go', flush=True)\n"
        f"while not os.path.exists({name!r}): time.sleep(0.01)\n{then}"
    )


def is_idle_again(client: Client) -> bool:
    """Return true when the session is idle, also after a stuck journal."""
    return client.run("1").status == "ok"


def test_aborted_without_a_journal_is_not_run_later(
    small_disk: Gateway,
) -> None:
    """The failed cell's reply still fits on the disk, the aborts do not."""
    small_disk.start()
    session = small_disk.create()
    ballast = small_disk.state / "ballast"
    with session.client() as client:
        first = client.kc.execute(wait_cell("now", "1 / 0"))
        begun = client.stream_until(first, "go")
        waiting = [
            client.kc.session.msg(
                "execute_request", {"code": f"os.mkdir('ran{i}')"}
            )
            for i in range(200)
        ]
        for message in waiting:
            client.kc.shell_channel.send(message)
        session.wait_journaled([m["header"]["msg_id"] for m in waiting])
        fill(ballast)
        os.truncate(ballast, ballast.stat().st_size - 32 * 1024)
        make_without_space(session.workspace / "now")
        turn = client.finish(first, begun=begun)
        assert turn.content["ename"] == "ZeroDivisionError"
        replies = {
            message["header"]["msg_id"]: client.finish(
                message["header"]["msg_id"]
            )
            for message in waiting
        }
        assert {turn.status for turn in replies.values()} == {"aborted"}
        log = small_disk.log.read_text()
        assert "reply not journaled" in log
        small_disk.kill()
        ballast.unlink()
        small_disk.start()
        wait_for(lambda: is_idle_again(client), "the session goes on")
        assert not list(session.workspace.glob("ran*"))
        # A client that repeats it gets an error, and does not wait for ever.
        last = waiting[-1]
        last["metadata"] = {"again": True}
        client.kc.shell_channel.send(last)
        turn = client.finish(last["header"]["msg_id"])
        assert turn.content["ename"] == "JournalError"
        assert not list(session.workspace.glob("ran*"))


def test_failed_without_a_journal_is_not_run_later(small_disk: Gateway) -> None:
    """The kernel dies on a full disk, and a fresh one takes its place."""
    small_disk.start()
    session = small_disk.create("--restart", "auto")
    ballast = small_disk.state / "ballast"
    with session.client() as client:
        first = client.kc.execute(wait_cell("now", "os._exit(7)"))
        client.stream_until(first, "go")
        waiting = [
            client.kc.execute(f"import os; os.mkdir('ran{i}')")
            for i in range(60)
        ]
        session.wait_journaled(waiting)
        fill(ballast)
        make_without_space(session.workspace / "now")
        for msg_id in [first, *waiting]:
            content = client.reply(msg_id)["content"]
            assert content["ename"] == "KernelDied"
        ballast.unlink()
        session.wait_state("idle")
        small_disk.kill()
        small_disk.start()
        wait_for(lambda: is_idle_again(client), "the session goes on")
        assert not list(session.workspace.glob("ran*"))


def make_without_space(path: Path) -> None:
    """An empty file needs an inode and no block."""
    path.touch()


def fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass
