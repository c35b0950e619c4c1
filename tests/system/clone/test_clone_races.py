"""Sessions that want one repository at the same time, also if one is killed."""

from __future__ import annotations

import os
import random
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from cloning import FOLDERS, Folder
from downloading import LONG, SOON, are_gone, await_that, children
from git_server import GitServer, Repository, git

ROUNDS = 3
BIG = random.Random(7).randbytes(1 << 20)


@pytest.fixture
def made(server: GitServer) -> Repository:
    repository = server.make()
    repository.commit({"big": BIG, "a": "first"})
    repository.git("tag", "v1", "main")
    return repository


class Held:
    """Holds back the first request for objects until the test lets it go."""

    def __init__(self, server: GitServer, made: Repository) -> None:
        self.scripts = server.scripts
        self.path = f"/{made.path.name}/git-upload-pack"
        self.count = 0
        self.reached = threading.Event()
        self.opened = threading.Event()
        self.scripts[self.path] = self.serve

    def serve(self, handler: Any) -> None:
        # The first one of protocol 2 lists refs, the second brings objects.
        self.count += 1
        if self.count == 2:
            self.reached.set()
            self.opened.wait(LONG)
        handler.serve_git()

    def end(self) -> None:
        self.opened.set()
        self.scripts.pop(self.path)


def check_mirrors(folder: Folder, place: Path, count: int) -> None:
    """Let git read each mirror that was kept, as a repository."""
    assert len(folder.names("mirrors")) == count
    for mirror in (folder.work / "mirrors").iterdir():
        copy = place / "checked"
        shutil.copytree(mirror, copy)
        (copy / "HEAD").write_text("ref: refs/heads/main\n")
        (copy / "refs").mkdir()
        git(copy, "fsck", "--full", "--strict")
        assert git(copy, "rev-list", "--all")
        shutil.rmtree(copy)


def check_left(folder: Folder) -> None:
    """Nothing of a job is left, when no program of it is in the way."""

    def is_clear() -> bool:
        # A job of another repository clears up after one that was killed.
        folder.refuse(folder.settings["nowhere"])
        return folder.names("jobs") == []

    await_that(is_clear, "something is left", SOON)
    assert tuple(sorted(os.listdir(folder.work))) == FOLDERS


@pytest.fixture
def racing(folder: Folder, server: GitServer) -> Folder:
    folder.settings["nowhere"] = server.url("/nowhere.git")
    return folder


@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize("had_mirror", [False, True])
def test_two_jobs_race_on_one_mirror(
    racing: Folder,
    server: GitServer,
    made: Repository,
    place: Path,
    is_killed: bool,
    had_mirror: bool,
) -> None:
    """The second waits for the first, however that ends."""
    folder = racing
    if had_mirror:
        folder.clone(made.url)
    for number in range(ROUNDS):
        commit = made.commit({"big": BIG, "a": str(number)})
        held = Held(server, made)
        first = folder.start(made.url)
        assert held.reached.wait(LONG)
        second = folder.start(made.url)
        said = second.await_progress()
        assert said == "waiting for another job with this URL"
        below = children(first.process.pid)
        if is_killed:
            first.kill()
        held.end()
        if not is_killed:
            assert first.answer().commit == commit
        got = second.answer()
        assert (got.commit, got.text("a")) == (commit, str(number))
        assert got.tree[b"big"].content == BIG
        assert got.cached is not is_killed
        unpacked = got.unpack(place / "got")
        git(unpacked, "fsck", "--full", "--strict")
        assert git(unpacked, "status", "--porcelain") == ""
        shutil.rmtree(unpacked)
        await_that(lambda: are_gone(below), "something runs on", SOON)
        check_mirrors(folder, place, 1)
    check_left(folder)


KINDS = [("", 0), ("", 1), ("v1", 0), ("v1", 1), ("main", 1)]


def test_other_depths_and_refs_race(
    racing: Folder, made: Repository, place: Path
) -> None:
    """Jobs with a depth have mirrors of their own; one is killed each time."""
    folder = racing
    old = made.find("v1")
    for number in range(ROUNDS):
        new = made.commit({"big": BIG, "a": str(number)})
        runs = [folder.start(made.url, ref, depth=d) for ref, d in KINDS]
        victim = runs.pop(0)
        victim.await_progress()
        victim.kill()
        for (ref, depth), run in zip(KINDS[1:], runs):
            got = run.answer()
            text = "first" if ref == "v1" else str(number)
            assert got.commit == (old if ref == "v1" else new)
            assert (got.text("a"), got.tree[b"big"].content) == (text, BIG)
            assert (b".git/shallow" in got.tree) == (depth > 0)
        assert folder.clone(made.url).commit == new
        check_mirrors(folder, place, 4)
    check_left(folder)


def test_a_mirror_that_is_not_whole_is_seen(place: Path) -> None:
    """The check of these tests is one."""
    folder = Folder(place / "fetch")
    (folder.work / "mirrors" / "a" / "objects" / "pack").mkdir(parents=True)
    name = "refs/remotes/origin/main"
    (folder.work / "mirrors" / "a" / "packed-refs").write_text(
        f"{'1' * 40} {name}\n"
    )
    with pytest.raises(AssertionError):
        check_mirrors(folder, place, 1)
