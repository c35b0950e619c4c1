"""The end of a worker: nothing runs on, and the next job clears up."""

from __future__ import annotations

import os
import random
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from cloning import FOLDERS, Cloned, Folder, Run
from downloading import LONG, SOON, Ended, are_gone, await_that, children
from git_server import GitServer, Repository
from test_clone_races import check_mirrors

ROUNDS = 6
BIG = random.Random(7).randbytes(1 << 20)


@pytest.fixture
def made(server: GitServer) -> Repository:
    repository = server.make()
    repository.commit({"big": BIG, "a": "one"})
    return repository


class Gate:
    """Holds a request of the server back until a test lets it through."""

    def __init__(self, server: GitServer, made: Repository) -> None:
        self.server = server
        self.path = f"/{made.path.name}/git-upload-pack"
        self.reached = threading.Event()
        self.opened = threading.Event()
        server.scripts[self.path] = self.serve

    def serve(self, handler: Any) -> None:
        self.reached.set()
        self.opened.wait(LONG)
        handler.serve_git()

    def open(self) -> None:
        self.server.scripts.pop(self.path, None)
        self.opened.set()


def start_waiting(
    folder: Folder, gate: Gate, made: Repository
) -> tuple[Run, list[int]]:
    """Start a job that waits for the server; return what runs below it."""
    run = folder.start(made.url)
    assert gate.reached.wait(LONG)
    below = children(run.process.pid)
    assert len(below) >= 4  # the proxy, pid 1, the program, git
    return run, below


def test_the_gateways_end_ends_all(
    any_folder: Folder, server: GitServer, made: Repository
) -> None:
    folder = any_folder
    folder.clone(made.url)
    gate = Gate(server, made)
    run, below = start_waiting(folder, gate, made)
    run.link.close()
    assert run.process.wait(LONG) == 1
    await_that(lambda: are_gone(below), "something runs on", SOON)
    gate.open()
    assert folder.names("jobs") == []
    # The mirror is not lost.
    assert folder.clone(made.url, made.find("main")).cached


def test_a_killed_worker_ends_all(
    any_folder: Folder, server: GitServer, made: Repository
) -> None:
    folder = any_folder
    folder.clone(made.url)
    gate = Gate(server, made)
    run, below = start_waiting(folder, gate, made)
    run.process.kill()
    run.process.wait(LONG)
    await_that(lambda: are_gone(below), "something runs on", SOON)
    run.close()
    gate.open()
    assert len(folder.names("jobs")) == 1
    got = check(folder, made)
    assert not got.cached  # it was in the job's folder


def test_two_jobs_with_one_url_wait_for_each_other(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    gate = Gate(server, made)
    first, _ = start_waiting(folder, gate, made)
    second = folder.start(made.url)
    said = second.await_progress()
    assert said == "waiting for another job with this URL"
    gate.open()
    assert first.answer().cached is False
    assert second.answer().cached is True
    assert tuple(sorted(os.listdir(folder.work))) == FOLDERS
    assert folder.names("jobs") == []


# When the server's part is there, when it is kept, and at the end of a job.
MOMENTS = [
    ("mirrors", "Mirrors", "take", "after"),
    ("mirrors", "Mirrors", "keep", "after"),
    ("copy", "Copy", "_write", "before"),
    ("space", "Space", "end", "before"),
]
# Each step between them.
MORE_MOMENTS = [
    ("mirrors", "Mirrors", "prepare", "after"),
    ("mirrors", "Mirrors", "take", "before"),
    ("mirrors", "Mirrors", "keep", "before"),
    ("mirrors", "Mirrors", "_bound", "after"),
    ("copy", "Copy", "_write", "after"),
    ("space", "Space", "end", "after"),
]


@pytest.mark.parametrize(
    ("module", "owner", "name", "when"),
    [
        *MOMENTS,
        *(pytest.param(*one, marks=pytest.mark.deep) for one in MORE_MOMENTS),
    ],
)
def test_a_kill_at_a_moment(
    folder: Folder,
    made: Repository,
    place: Path,
    module: str,
    owner: str,
    name: str,
    when: str,
) -> None:
    kill(
        folder,
        made,
        f"""
import os, signal
from hearth_downloads.clone import {module}
real = {module}.{owner}.{name}
def step(*arguments, **options):
    if {when!r} == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    real(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)
{module}.{owner}.{name} = step
""",
    )
    check_kept(folder, place)
    check(folder, made)


def kill(folder: Folder, made: Repository, hook: str) -> None:
    """Let a worker clone, and be killed by itself."""
    folder.hook = hook
    killed = folder.start(made.url)
    with pytest.raises((Ended, ConnectionResetError)):
        killed.answer()
    assert killed.process.wait(LONG) < 0
    folder.hook = ""


def check_kept(folder: Folder, place: Path) -> None:
    """A mirror is whole, if there is one."""
    check_mirrors(folder, place, len(folder.names("mirrors")))


# Keeps a mirror by a copy, and not by one rename. It is killed in the middle.
COPY = """
import os, shutil, signal
def copy(old, new, src_dir_fd=None, dst_dir_fd=None, real=os.rename):
    if old != "mirror":
        return real(old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)
    def half(source, target):
        shutil.copyfile(source, target)
        if source.endswith(".pack"):
            os.truncate(target, os.stat(source).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
    shutil.copytree(
        f"/proc/self/fd/{src_dir_fd}/{old}",
        f"/proc/self/fd/{dst_dir_fd}/{new}",
        copy_function=half,
    )
os.rename = copy
"""


def test_a_kill_in_a_copy_of_a_mirror_is_seen(
    folder: Folder, made: Repository, place: Path
) -> None:
    """So the test before sees a mirror that is not kept by one step."""
    kill(folder, made, COPY)
    assert len(folder.names("mirrors")) == 1
    with pytest.raises(AssertionError):
        check_kept(folder, place)


def check(folder: Folder, made: Repository) -> Cloned:
    """The next job has the right files, and clears up."""
    ends = time.monotonic() + SOON
    first = None
    while True:
        got = folder.clone(made.url)
        first = first or got
        assert (got.tree[b"big"].content, got.text("a")) == (BIG, "one")
        if folder.names("jobs") == []:
            break
        # A program of the killed worker was in the way.
        assert time.monotonic() < ends, "something is left"
    assert tuple(sorted(os.listdir(folder.work))) == FOLDERS
    assert len(folder.names("mirrors")) == 1
    assert folder.clone(made.url, made.find("main")).cached
    return first


def test_a_kill_at_any_moment(folder: Folder, made: Repository) -> None:
    began = time.monotonic()
    folder.clone(made.url)
    whole = time.monotonic() - began
    chance = random.Random(7)
    for _ in range(ROUNDS):
        run = folder.start(made.url)
        after = chance.uniform(0, 1.2 * whole)
        timer = threading.Timer(after, run.process.kill)
        timer.start()
        try:
            assert run.answer().text("a") == "one"
        except (Ended, ConnectionResetError):
            pass
        timer.join()
        run.process.wait(LONG)
    check(folder, made)


def test_a_full_disk_takes_the_place_of_other_mirrors(
    folder: Folder, server: GitServer, made: Repository
) -> None:
    """And says so if that is not enough."""
    other = server.make()
    other.commit({"b": "other"})
    folder.clone(other.url)
    folder.hook = """
import errno
from hearth_downloads.clone import tree
real = tree.TreeFile.end
def end(self):
    tree.TreeFile.end = real
    raise OSError(errno.ENOSPC, "full")
tree.TreeFile.end = end
"""
    assert folder.clone(made.url).text("a") == "one"
    assert len(folder.names("mirrors")) == 1
    folder.hook = folder.hook.replace("    tree.TreeFile.end = real\n", "")
    fault = folder.refuse(made.url)
    assert fault.ename == "FetchFailed"
    assert "took no more of the repository (No space left" in fault.text


def test_a_worker_ends_while_it_writes(
    folder: Folder, made: Repository
) -> None:
    folder.hook = """
import time
from hearth_downloads.clone import walk
def add(self, folder, *rest):
    while True:
        self.sink.tree.gateway.check()
        time.sleep(0.01)
walk.Walk.add = add
"""
    run = folder.start(made.url)
    while run.await_progress() != "reading the files":
        pass
    run.link.close()
    assert run.process.wait(LONG) == 1
    assert folder.names("jobs") == []
