"""The end of a worker: nothing runs on, and the next job uses what is left."""

from __future__ import annotations

import os
import random
import socket
import threading
import time

import pytest
from fake_files import Asked, FakeFiles
from fetching import (
    FOLDERS,
    LONG,
    SOON,
    Ended,
    Folder,
    Run,
    are_gone,
    await_that,
    children,
    digest,
)

ROUNDS = 12
BIG = os.urandom(2 << 20)
HALF = len(BIG) // 2


def start_waiting(folder: Folder, server: FakeFiles) -> tuple[Run, list[int]]:
    """Start a job of which half has come; return what runs below it."""
    file = server.put("/a", BIG, etag='"1"')

    def serve(client: socket.socket, asked: Asked) -> None:
        client.sendall(
            b'HTTP/1.1 200 OK\r\nETag: "1"\r\n'
            b"Content-Length: %d\r\n\r\n" % len(BIG) + BIG[:HALF]
        )
        server.scripts["/a"] = file.serve
        server.ended.wait(LONG)

    server.scripts["/a"] = serve
    run = folder.start(server.url("/a"))
    while run.await_progress() != {"bytes": HALF, "total": len(BIG)}:
        pass
    below = children(run.process.pid)
    assert len(below) >= 3  # the proxy, pid 1, the client
    return run, below


def test_the_gateways_end_ends_all(
    any_folder: Folder, server: FakeFiles
) -> None:
    folder = any_folder
    run, below = start_waiting(folder, server)
    run.link.close()
    assert run.process.wait(LONG) == 1
    await_that(lambda: are_gone(below), "something runs on", SOON)
    assert folder.names("jobs") == folder.objects() == []
    # The part is not lost.
    assert folder.fetch(server.url("/a")).content == BIG
    assert server.asked[-1].fields["range"] == f"bytes={HALF}-"


def test_a_killed_worker_ends_all(
    any_folder: Folder, server: FakeFiles
) -> None:
    folder = any_folder
    run, below = start_waiting(folder, server)
    run.process.kill()
    run.process.wait(LONG)
    await_that(lambda: are_gone(below), "something runs on", SOON)
    run.close()
    assert len(folder.names("jobs")) == 1
    assert folder.fetch(server.url("/a")).content == BIG
    assert server.asked[-1].fields["range"] == f"bytes={HALF}-"
    assert folder.names("jobs") == folder.names("partial") == []
    assert sorted(os.listdir(folder.work)) == FOLDERS


def test_a_job_of_another_url_clears_up(
    folder: Folder, server: FakeFiles
) -> None:
    run, below = start_waiting(folder, server)
    server.put("/b", b"one")
    assert folder.fetch(server.url("/b")).content == b"one"
    assert len(folder.names("jobs")) == 1  # of the one that runs
    run.kill()
    await_that(lambda: are_gone(below), "something runs on", SOON)
    folder.fetch(server.url("/b"))
    assert folder.names("jobs") == []
    assert len(folder.names("partial")) == 2
    assert folder.fetch(server.url("/a")).content == BIG
    assert server.asked[-1].fields["range"] == f"bytes={HALF}-"


# Before the file is whole, when it is kept, and when it has been handed over.
MOMENTS = [
    ("transfer", "_take", "after"),
    ("transfer", "_answer", "before"),
    ("cache", "_keep_part", "after"),
    ("cache", "keep", "after"),
    ("cache", "end", "before"),
]
# Each step between them.
MORE_MOMENTS = [
    ("transfer", "_hash", "before"),
    ("cache", "prepare", "before"),
    ("cache", "_keep_part", "before"),
    ("cache", "keep", "before"),
    ("cache", "make_space", "after"),
    ("cache", "put_part", "after"),
    ("cache", "drop_part", "after"),
    ("cache", "_bound_entries", "after"),
    ("cache", "end", "after"),
]


@pytest.mark.parametrize(
    ("module", "name", "when"),
    [
        *MOMENTS,
        *(pytest.param(*one, marks=pytest.mark.deep) for one in MORE_MOMENTS),
    ],
)
def test_a_kill_at_a_moment(
    folder: Folder, server: FakeFiles, module: str, name: str, when: str
) -> None:
    """The job has a part of an earlier one, which was killed, too."""
    run, below = start_waiting(folder, server)
    run.kill()
    await_that(lambda: are_gone(below), "something runs on", SOON)
    owner = module.capitalize()
    folder.hook = f"""
import os, signal
from hearth_downloads.fetch import {module}
real = {module}.{owner}.{name}
def step(*arguments, **options):
    if {when!r} == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    real(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)
{module}.{owner}.{name} = step
"""
    killed = folder.start(server.url("/a"))
    try:
        assert killed.answer().content == BIG
    except (Ended, ConnectionResetError):
        pass
    assert killed.process.wait(LONG) < 0
    folder.hook = ""
    check_objects(folder)
    check(folder, server)


def check_objects(folder: Folder) -> None:
    """Each file of the cache has the content that its name says."""
    for path in (folder.work / "objects").iterdir():
        assert digest(path.read_bytes()) == path.name


# Keeps a file by a copy, and not by one rename. It is killed in the middle.
COPY = f"""
import os, shutil, signal
def copy(old, new, src_dir_fd=None, dst_dir_fd=None, real=os.rename):
    if old != "body":
        return real(old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
    target = f"/proc/self/fd/{{dst_dir_fd}}/{{new}}"
    shutil.copyfile(f"/proc/self/fd/{{src_dir_fd}}/{{old}}", target)
    os.truncate(target, {HALF})
    os.kill(os.getpid(), signal.SIGKILL)
os.rename = copy
"""


def test_a_kill_in_a_copy_of_a_file_is_seen(
    folder: Folder, server: FakeFiles
) -> None:
    """So the test before sees a file that is not kept by one step.

    No session would see it: a file has to have the size of its entry.
    """
    server.put("/a", BIG, etag='"1"')
    folder.hook = COPY
    killed = folder.start(server.url("/a"))
    with pytest.raises((Ended, ConnectionResetError)):
        killed.answer()
    folder.hook = ""
    assert folder.objects() == [digest(BIG)]
    with pytest.raises(AssertionError):
        check_objects(folder)
    check(folder, server)


def check(folder: Folder, server: FakeFiles) -> None:
    """The next job has the right file, and clears up."""
    ends = time.monotonic() + SOON
    while True:
        assert folder.fetch(server.url("/a")).content == BIG
        if folder.names("jobs") == []:
            break
        # A program of the killed worker was in the way.
        assert time.monotonic() < ends, "something is left"
    assert folder.names("partial") == []
    assert folder.objects() == [digest(BIG)]
    assert len(folder.names("entries")) == 1
    again = folder.fetch(server.url("/a"), sha256=digest(BIG))
    assert again.cached


def test_a_kill_at_any_moment(folder: Folder, server: FakeFiles) -> None:
    server.put("/a", BIG, etag='"1"')
    began = time.monotonic()
    folder.fetch(server.url("/a"))
    whole = time.monotonic() - began
    chance = random.Random(7)
    for number in range(ROUNDS):
        if number % 2:
            for path in (folder.work / "objects").iterdir():
                path.unlink()
        run = folder.start(server.url("/a"))
        timer = threading.Timer(
            chance.uniform(0, 1.2 * whole), run.process.kill
        )
        timer.start()
        try:
            assert run.answer().content == BIG
        except (Ended, ConnectionResetError):
            pass
        timer.join()
        run.process.wait(LONG)
    check(folder, server)


def test_a_worker_ends_while_it_hashes(
    folder: Folder, server: FakeFiles
) -> None:
    server.put("/a", BIG, etag='"1"')
    folder.hook = """
import time
from hearth_downloads.fetch import transfer
def hash(self, body):
    self.gateway.progress("now")
    while True:
        self.gateway.check()
        time.sleep(0.01)
transfer.Transfer._hash = hash
"""
    run = folder.start(server.url("/a"))
    while run.await_progress() != "now":
        pass
    run.link.close()
    assert run.process.wait(LONG) == 1
    assert folder.names("jobs") == folder.objects() == []
    folder.hook = ""
    check(folder, server)
