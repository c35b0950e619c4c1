"""The cache: its bounds, and jobs that share it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from pathlib import Path
from typing import Iterator

import pytest
from fake_files import Asked, FakeFiles
from fetching import Folder, digest

MOST = 1 << 20
PIECE = 900 << 10


def size(folder: Folder) -> int:
    """Return the bytes of all files."""
    return sum(
        path.lstat().st_blocks * 512
        for path in folder.work.rglob("*")
        if path.is_file()
    )


def test_all_files_together_are_bounded(
    folder: Folder, server: FakeFiles
) -> None:
    """The file that was not used for longest goes first."""
    contents = [os.urandom(PIECE) for _ in range(7)]
    for number, content in enumerate(contents):
        server.put(f"/{number}", content)
        folder.fetch(server.url(f"/{number}"), max_bytes=MOST)
        age(folder, number)
        assert size(folder) <= 4 * MOST
        # This one is used all the time.
        folder.fetch(
            server.url("/0"), sha256=digest(contents[0]), max_bytes=MOST
        )
    assert server.count("/0") == 1
    left = {digest(contents[number]) for number in (0, 4, 5, 6)}
    assert left - set(folder.objects()) <= {digest(contents[4])}
    assert set(folder.objects()) <= left
    assert len(folder.names("entries")) == len(folder.objects())


def test_a_small_profile_leaves_the_files_of_others(
    folder: Folder, server: FakeFiles
) -> None:
    """The bound of the cache is one for all profiles of a gateway."""
    server.put("/a", os.urandom(PIECE), etag='"1"')
    server.put("/b", b"one")
    folder.fetch(server.url("/a"), max_bytes=MOST, cache_bytes=4 * MOST)
    folder.fetch(server.url("/b"), max_bytes=1000, cache_bytes=4 * MOST)
    assert len(folder.objects()) == 2
    # Without that member it is by this job's limit.
    folder.fetch(server.url("/b"), max_bytes=1000)
    assert folder.objects() == []


def test_a_small_profile_leaves_the_parts_of_others(
    folder: Folder, server: FakeFiles
) -> None:
    """Also what a killed worker has left, and even for the same URL."""
    content = os.urandom(PIECE)
    settings = {"max_bytes": 1000, "cache_bytes": 4 * MOST}

    def serve(client: socket.socket, asked: Asked) -> None:
        client.sendall(
            b'HTTP/1.1 200 OK\r\nETag: "1"\r\n'
            b"Content-Length: %d\r\n\r\n" % PIECE + content[: PIECE // 2]
        )
        assert server.ended.wait(60)

    server.scripts["/a"] = serve
    run = folder.start(server.url("/a"))
    while run.await_progress() != {"bytes": PIECE // 2, "total": PIECE}:
        pass
    run.kill()
    server.put("/a", content, etag='"1"')
    server.put("/b", b"one")
    while True:
        folder.fetch(server.url("/b"), **settings)
        if not folder.names("jobs"):
            break
    assert len(folder.names("partial")) == 2
    fault = folder.refuse(server.url("/a"), **settings)
    assert "900.0 KiB, more than" in fault.text
    assert folder.fetch(server.url("/a")).content == content
    assert server.asked[-1].fields["range"] == f"bytes={PIECE // 2}-"
    assert folder.names("partial") == []


def age(folder: Folder, number: int) -> None:
    """Make the files older, so that their order is known."""
    for name in ("objects", "entries"):
        for path in (folder.work / name).iterdir():
            about = path.stat()
            os.utime(path, (about.st_atime - 100, about.st_mtime - 100))


def test_parts_count_and_grow_old(folder: Folder, server: FakeFiles) -> None:
    for number in range(4):
        content = os.urandom(PIECE)
        server.put(
            f"/{number}",
            content,
            etag='"1"',
            breaks=[PIECE - 1, *[0] * 4],
        )
        folder.refuse(server.url(f"/{number}"), max_bytes=MOST)
        assert size(folder) <= 4 * MOST
    parts = list((folder.work / "partial").glob("?" * 64))
    assert len(parts) >= 3
    server.put("/a", b"one")
    old = time.time() - 6 * 86400
    for path in (folder.work / "partial").iterdir():
        os.utime(path, (old, old))
    folder.fetch(server.url("/a"), max_bytes=4 * MOST)
    assert folder.names("partial")
    old -= 2 * 86400
    for path in (folder.work / "partial").iterdir():
        os.utime(path, (old, old))
    folder.fetch(server.url("/a"), max_bytes=4 * MOST)
    assert folder.names("partial") == []
    assert folder.objects() == [digest(b"one")]


def test_a_removal_takes_nothing_from_another_job(
    folder: Folder, server: FakeFiles
) -> None:
    """It waits for the server, which then says that nothing has changed."""
    content = os.urandom(PIECE)
    file = server.put("/a", content, etag='"1"')
    folder.fetch(server.url("/a"))

    def wait(client: socket.socket, asked: Asked) -> None:
        assert server.ended.wait(60)
        file.serve(client, asked)

    server.scripts["/a"] = wait
    waiting = folder.start(server.url("/a"))
    while server.count("/a") < 2:
        time.sleep(0.01)
    age(folder, 0)
    for number in range(5):
        server.put(f"/{number}", os.urandom(PIECE))
        folder.fetch(server.url(f"/{number}"), max_bytes=MOST)
    assert digest(content) not in folder.objects()
    assert len(folder.names("jobs")) == 1
    server.ended.set()
    got = waiting.answer()
    assert (got.content, got.cached) == (content, True)


def test_what_is_strange_is_removed(folder: Folder, server: FakeFiles) -> None:
    server.put("/a", b"one")
    folder.fetch(server.url("/a"))
    for name in ("objects", "entries", "partial", "jobs"):
        (folder.work / name / "x.new").touch()
        (folder.work / name / "deep" / "er").mkdir(parents=True)
    (folder.work / "entries" / ("0" * 64)).write_text("[" * 10_000)
    (folder.work / "jobs" / ("0" * 14)).mkdir()
    (folder.work / "jobs" / ("1" * 14)).touch()
    (folder.work / "partial" / ("0" * 64)).symlink_to("/etc/passwd")
    about = folder.work.stat()
    for path in folder.work.rglob("*"):
        os.chown(path, about.st_uid, about.st_gid, follow_symlinks=False)
    assert folder.fetch(server.url("/a"), sha256=digest(b"one")).cached
    assert len(folder.names("entries")) == 1
    assert folder.objects() == [digest(b"one")]
    assert folder.names("jobs") == []
    assert "x.new" not in folder.names("partial")
    assert "deep" not in folder.names("partial")


def test_two_jobs_of_one_url_wait_for_each_other(
    folder: Folder, server: FakeFiles
) -> None:
    """Others do not."""
    file = server.put("/a", b"one", etag='"1"')
    server.put("/b", b"two")

    def wait(client: socket.socket, asked: Asked) -> None:
        assert server.ended.wait(60)
        file.serve(client, asked)

    server.scripts["/a"] = wait
    first = folder.start(server.url("/a"))
    while server.count("/a") < 1:
        time.sleep(0.01)
    second = folder.start(server.url("/a"))
    said = second.await_progress()
    assert said == "waiting for another job with this URL"
    assert folder.fetch(server.url("/b")).content == b"two"
    assert server.count("/a") == 1
    third = folder.start(server.url("/a"))
    assert third.await_progress() == said
    third.link.close()
    assert third.process.wait(60) == 1
    server.ended.set()
    assert not first.answer().cached
    assert second.answer().cached


def test_four_jobs_at_once(folder: Folder, server: FakeFiles) -> None:
    contents = [os.urandom(PIECE) for _ in range(4)]
    for number, content in enumerate(contents):
        server.put(f"/{number}", content)
    runs = [folder.start(server.url(f"/{number}")) for number in range(4)]
    assert [run.answer().content for run in runs] == contents
    assert folder.names("jobs") == []


def test_a_part_is_copied(folder: Folder, server: FakeFiles) -> None:
    """A program of a killed worker may still have it open for writing."""
    content = os.urandom(PIECE)
    file = server.put("/a", content, etag='"1"', breaks=[PIECE // 2, *[0] * 4])
    folder.refuse(server.url("/a"))
    (path,) = (folder.work / "partial").glob("?" * 64)
    with open(path, "r+b", buffering=0) as held:
        file.breaks.clear()
        got = folder.fetch(server.url("/a"))
        assert got.content == content
        assert "range" in server.asked[-1].fields
        held.write(b"evil")
    (kept,) = folder.objects()
    assert (folder.work / "objects" / kept).read_bytes() == content


@contextlib.contextmanager
def on_small_disk(path: Path) -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("a file system of its own needs root")
    about = path.stat()
    options = f"size=2m,mode=700,uid={about.st_uid},gid={about.st_gid}"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)],
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no tmpfs here: {mounted.stderr}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)])


@pytest.mark.parametrize("filled", [0, 1000 << 10, 1960 << 10])
def test_a_full_disk_is_said(
    any_folder: Folder, server: FakeFiles, filled: int
) -> None:
    """Nothing is left of the file, so that there is room for another."""
    folder = any_folder
    server.put("/a", bytes(3 << 20), etag='"1"')
    server.put("/b", b"one")
    with on_small_disk(folder.work):
        (folder.work / "objects").mkdir()
        os.chown(
            folder.work / "objects",
            folder.work.stat().st_uid,
            folder.work.stat().st_gid,
        )
        filler = folder.work.parent / "work" / "filler"
        with contextlib.suppress(OSError):
            filler.write_bytes(bytes(filled))
        with pytest.raises(Exception, match="FetchFailed") as refused:
            folder.fetch(server.url("/a"))
        assert str(folder.work) in str(refused.value)
        assert "make room" in str(refused.value)
        for name in ("objects", "partial", "jobs"):
            if (folder.work / name).exists():
                assert folder.names(name) == []
        filler.unlink()
        assert folder.fetch(server.url("/b")).content == b"one"


def test_a_part_without_room_for_its_copy_is_dropped(
    any_folder: Folder, server: FakeFiles
) -> None:
    """Else it would block its URL until it is a week old."""
    folder = any_folder
    content = os.urandom(1400 << 10)
    cut = [1200 << 10, *[0] * 4]
    file = server.put("/a", content, etag='"1"', breaks=cut)
    with on_small_disk(folder.work):
        folder.refuse(server.url("/a"))
        assert len(folder.names("partial")) == 2
        file.breaks.clear()
        assert folder.fetch(server.url("/a")).content == content
        assert "range" not in server.asked[-1].fields
        assert folder.names("partial") == folder.names("jobs") == []


@pytest.mark.parametrize("is_part", [True, False])
def test_a_full_disk_takes_the_place_of_older_files(
    any_folder: Folder, server: FakeFiles, is_part: bool
) -> None:
    """They are files or parts of other URLs."""
    folder = any_folder
    old, kept, new = (os.urandom(500 << 10) for _ in range(3))
    cut = [(500 << 10) - 1, *[0] * 4] if is_part else []
    server.put("/old", old, etag='"1"', breaks=cut)
    server.put("/kept", kept)
    server.put("/new", new + new)
    with on_small_disk(folder.work):
        if is_part:
            folder.refuse(server.url("/old"))
        else:
            folder.fetch(server.url("/old"))
        was = time.time() - 100
        for name in ("objects", "partial"):
            for path in (folder.work / name).iterdir():
                os.utime(path, (was, was))
        folder.fetch(server.url("/kept"))
        (folder.work / "filler").write_bytes(bytes(100 << 10))
        got = folder.fetch(
            server.url("/new"), max_bytes=1000 << 10, cache_bytes=64 << 20
        )
        assert got.content == new + new
        assert folder.names("partial") == folder.names("jobs") == []
        assert digest(old) not in folder.objects()
