"""The folders of a job: who has them, what is in them, and what is not."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

import pytest
from deadline import wait_for
from hearth_downloads.core.faults import Failed, Gone
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.packages import stage as module
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.stage import ARCHIVE, Stage
from hearth_downloads.packages.unpacked import Unpacked
from staging import count_descriptors, make_job

Open = Callable[..., Stage]


@pytest.fixture
def open_stage(tmp_path: Path, gateway: Gateway) -> Open:
    def make(**about: Any) -> Stage:
        stage = Stage(Job("add", str(tmp_path), **user(), **about))
        stage.open(gateway)
        return stage

    return make


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that no job may touch."""
    path = tmp_path_factory.mktemp("outside")
    (path / "file").write_text("kept")
    yield path
    assert (path / "file").read_text() == "kept"
    assert os.listdir(path) == ["file"]


def user() -> dict[str, Any]:
    return {"uid": os.geteuid(), "gid": os.getegid()}


# --- the lock ---


def test_one_worker_has_the_lock(tmp_path: Path) -> None:
    first, second = (Stage(Job("add", str(tmp_path))) for _ in range(2))
    assert first.try_lock()
    before = count_descriptors()
    assert first.try_lock()
    assert count_descriptors() == before
    assert not second.try_lock()
    assert count_descriptors() == before + 1  # of the folder
    assert not second.try_lock()
    assert count_descriptors() == before + 1
    os.close(first.lock)
    assert second.try_lock()


@contextmanager
def when_waited_for(stage: Stage, act: Callable[[], None]) -> Iterator[None]:
    """Act in a thread as soon as another one waits for the stage's lock."""
    inode = os.fstat(stage.lock).st_ino

    def is_waited_for() -> bool:
        lines = Path("/proc/locks").read_text().splitlines()
        return any("->" in line and f":{inode} " in line for line in lines)

    def wait_and_act() -> None:
        try:
            wait_for(is_waited_for, "a wait for the lock")
        finally:
            act()

    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(wait_and_act)
        yield
        acting.result()


def test_a_wait_is_said_once(tmp_path: Path) -> None:
    first, second = (Stage(Job("add", str(tmp_path))) for _ in range(2))
    assert first.try_lock()
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine, theirs:
        with when_waited_for(first, lambda: os.close(first.lock)):
            second.take_lock(Gateway(theirs))
        assert second.lock >= 0
        said = json.loads(mine.recv(1000))
        assert said == {"progress": "waiting for another job's end"}
        with pytest.raises(BlockingIOError):
            mine.recv(1000, socket.MSG_DONTWAIT)


def test_a_wait_ends_with_the_gateway(tmp_path: Path) -> None:
    first, second = (Stage(Job("add", str(tmp_path))) for _ in range(2))
    assert first.try_lock()
    before = signal.getsignal(signal.SIGALRM)
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ends = when_waited_for(first, mine.close)
    with mine, theirs, ends, pytest.raises(Gone):
        second.take_lock(Gateway(theirs))
    assert second.lock < 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
    assert signal.getsignal(signal.SIGALRM) == before


def test_the_lock_of_a_file_that_is_gone_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(Job("add", str(tmp_path)))
    real = stage._open_lock

    def open_removed() -> int:
        number = real()
        os.remove(tmp_path / "lock")
        return number

    with monkeypatch.context() as patch:
        patch.setattr(stage, "_open_lock", open_removed)
        assert not stage.try_lock()
        before = count_descriptors()
        assert not stage.try_lock()
        assert count_descriptors() == before
    assert stage.try_lock()


@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_has_the_locks_name_is_removed(
    tmp_path: Path, outside: Path, kind: str
) -> None:
    lock = tmp_path / "lock"
    if kind == "folder":
        (lock / "inner").mkdir(parents=True)
    elif kind == "link":
        lock.symlink_to(outside / "file")
    else:
        os.mkfifo(lock)
    assert Stage(Job("add", str(tmp_path))).try_lock()
    assert stat.S_ISREG(lock.lstat().st_mode)


def test_a_lock_file_is_kept(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("x")
    assert Stage(Job("add", str(tmp_path))).try_lock()
    assert (tmp_path / "lock").read_text() == "x"


def test_what_comes_back_as_the_lock_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lock").mkdir()
    monkeypatch.setattr(module, "remove", lambda *_: None)
    with pytest.raises(Failed, match="/lock is no file: remove it"):
        Stage(Job("add", str(tmp_path))).try_lock()


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    stage = Stage(Job("add", str(work)))
    stage.work = os.open(work, os.O_RDONLY)
    work.rmdir()
    with pytest.raises(Failed, match="work cannot be used: No such file"):
        stage.try_lock()


# --- what a job before has left ---


def test_what_is_left_of_a_job_is_removed(
    tmp_path: Path, open_stage: Open
) -> None:
    kept = ["advisories", "lock", "profile-wheels", "unpacked.json"]
    for name in kept:
        (tmp_path / name).touch()
    for name in ("gone-1/a", "uv/stage/new", "uv/cache/.tmp1/a", "uv/cache/b"):
        (tmp_path / name).mkdir(parents=True)
    before = count_descriptors()
    open_stage()
    assert count_descriptors() == before + 5  # work, lock, uv and its two
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, "digests", "uv"])
    assert sorted(os.listdir(tmp_path / "uv")) == ["cache", "stage"]
    assert os.listdir(tmp_path / "uv" / "stage") == []
    assert os.listdir(tmp_path / "uv" / "cache") == ["b"]


def test_a_first_job_makes_the_folders(
    tmp_path: Path, open_stage: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    owned: list[str] = []

    def own(self: Job, number: int) -> None:
        owned.append(os.path.basename(os.readlink(f"/proc/self/fd/{number}")))

    monkeypatch.setattr(Job, "own", own)
    stage = open_stage()
    stage.write("a", b"1")
    assert owned == ["uv", "cache", "stage", "a"]
    assert stage.open_archive() is None
    for name in ("uv", "uv/cache", "uv/stage"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700


@pytest.mark.parametrize("place", ["uv", "uv/cache", f"uv/cache/{ARCHIVE}"])
@pytest.mark.parametrize("is_link", [True, False])
def test_what_is_no_folder_is_replaced(
    tmp_path: Path, open_stage: Open, outside: Path, place: str, is_link: bool
) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if is_link:
        path.symlink_to(outside)
    else:
        path.write_text("")
    stage = open_stage()
    assert stage.open_archive() is None
    assert stage.before.entries == frozenset()
    stage.check()


def test_a_cache_that_may_not_be_read_is_taken_over(
    tmp_path: Path, open_stage: Open
) -> None:
    cache = tmp_path / "uv" / "cache"
    cache.mkdir(parents=True)
    (cache / "a").touch()
    cache.chmod(0)
    assert open_stage().before.entries == {"a"}
    assert stat.S_IMODE(cache.stat().st_mode) & 0o700 == 0o700


def test_a_wheel_that_is_damaged_is_removed(
    tmp_path: Path, gateway: Gateway
) -> None:
    job = make_job(tmp_path)
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    note = {"boot": boot, "wheels": {"one": [1, 10_000], "two": [9, 9]}}
    (tmp_path / "unpacked.json").write_text(json.dumps(note))
    stage = Stage(job)
    stage.open(gateway)
    assert stage.before.wheels == {"one"}
    assert stage.wheels == {"one": [1, 10_000]}
    assert os.listdir(tmp_path / "uv" / "cache" / ARCHIVE) == ["one"]


def test_a_job_offline_keeps_a_cache_that_is_too_large(
    tmp_path: Path, gateway: Gateway
) -> None:
    stage = Stage(make_job(tmp_path, max_files=1, offline=True))
    stage.open(gateway)
    assert stage.before.wheels == {"one", "two"}


def test_an_error_of_the_system_is_said(
    tmp_path: Path, gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Stage, "_open_cache", fail)
    stage = Stage(Job("add", str(tmp_path), **user()))
    with pytest.raises(Failed, match="cannot be used: No space left"):
        stage.open(gateway)
    monkeypatch.setattr(Unpacked, "write", fail)
    with pytest.raises(Failed, match="cannot be used: No space left"):
        stage.clear()


# --- what uv has made of them ---


@pytest.mark.parametrize(
    "place", ["stage", "cache", f"cache/{ARCHIVE}", "stage/new", "stage/more"]
)
@pytest.mark.parametrize("is_link", [True, False])
def test_what_uv_puts_in_a_folders_place_is_removed(
    tmp_path: Path, open_stage: Open, outside: Path, place: str, is_link: bool
) -> None:
    stage = open_stage()
    assert stage.make_folder("more") == "/workspace/stage/more"
    stage.check()
    path = tmp_path / "uv" / place
    if path.exists():
        path.rename(tmp_path / "uv" / "moved")
    if is_link:
        path.symlink_to(outside)
    else:
        path.write_text("")
    with pytest.raises(Failed, match=f"folder {path.name}; that was removed"):
        stage.check()
    assert not os.path.lexists(path)


@pytest.mark.parametrize("place", ["stage", "cache"])
def test_another_folder_is_not_the_one_that_was_opened(
    tmp_path: Path, open_stage: Open, place: str
) -> None:
    stage = open_stage()
    path = tmp_path / "uv" / place
    path.rename(tmp_path / "uv" / "moved")
    path.mkdir()
    with pytest.raises(Failed, match=f"folder {place}; that was removed"):
        stage.check()
    assert not path.exists()


def test_modes_that_uv_has_changed_are_put_back(
    tmp_path: Path, open_stage: Open
) -> None:
    stage = open_stage()
    places = [tmp_path / "uv" / name for name in (".", "cache", "stage")]
    for path in places:
        path.chmod(0o500)
    stage.check()
    for path in places:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_folder_of_another_user_is_refused(
    tmp_path: Path, open_stage: Open
) -> None:
    stage = open_stage()
    (tmp_path / "uv" / "cache" / ARCHIVE).mkdir()
    stage.check()
    os.chown(tmp_path / "uv" / "cache" / ARCHIVE, 64321, 64321)
    with pytest.raises(Failed, match=ARCHIVE):
        stage.check()


def test_all_but_the_cache_is_removed(tmp_path: Path, open_stage: Open) -> None:
    (tmp_path / "uv" / "cache" / ARCHIVE / "one").mkdir(parents=True)
    stage = open_stage()
    (tmp_path / "uv" / "other").touch()
    stage.clear()
    assert os.listdir(tmp_path / "uv") == ["cache"]
    note = json.loads((tmp_path / "unpacked.json").read_text())
    assert note["wheels"] == {"one": [0, 0]}


# --- files for uv, and of uv ---


def test_files_are_written_once(tmp_path: Path, open_stage: Open) -> None:
    stage = open_stage()
    before = count_descriptors()
    assert stage.write("a", b"text") == "/workspace/stage/a"
    stage.make_folder("b")
    assert count_descriptors() == before
    path = tmp_path / "uv" / "stage" / "a"
    assert path.read_bytes() == b"text"
    assert stage.read("a") == "text"
    assert count_descriptors() == before
    with pytest.raises(FileExistsError):
        stage.write("a", b"")


@pytest.mark.parametrize("kind", ["nothing", "link", "pipe", "folder", "long"])
def test_what_is_no_plain_file_is_not_read(
    tmp_path: Path,
    open_stage: Open,
    outside: Path,
    kind: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "FILE_MAX", 4)
    stage = open_stage()
    path = tmp_path / "uv" / "stage" / "a"
    if kind == "link":
        path.symlink_to(outside / "file")
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "long":
        path.write_bytes(b"12345")
    before = count_descriptors()
    with pytest.raises(Failed, match="uv has written no plain file a"):
        stage.read("a")
    assert count_descriptors() == before


def test_a_file_of_uv_is_text(
    tmp_path: Path, open_stage: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FILE_MAX", 4)
    stage = open_stage()
    (tmp_path / "uv" / "stage" / "a").write_bytes(b"12\xff4")
    assert stage.read("a") == "12\ufffd4"


def test_the_lock_of_uv_is_removed(tmp_path: Path, open_stage: Open) -> None:
    stage = open_stage()
    stage.remove_lock_of_uv()
    stage.make_folder("new")
    lock = tmp_path / "uv" / "stage" / "new" / ".lock"
    lock.touch()
    stage.remove_lock_of_uv()
    assert not lock.exists()
    stage.remove_lock_of_uv()
