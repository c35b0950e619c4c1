"""Sessions that want one file at the same time, also if one is killed."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import pytest
from fake_files import Asked, FakeFiles
from fetching import (
    FOLDERS,
    LONG,
    SOON,
    Folder,
    are_gone,
    await_that,
    children,
    digest,
)

ROUNDS, WORKERS = 3, 4
BYTES = 1 << 20
HALF = BYTES // 2


class Held:
    """A file of which the first answer stops in the middle."""

    def __init__(self, server: FakeFiles, path: str, content: bytes) -> None:
        self.file = server.put(path, content, etag=f'"{digest(content)}"')
        self.reached = threading.Event()
        self.opened = threading.Event()
        server.scripts[path] = self.serve

    def serve(self, client: socket.socket, asked: Asked) -> None:
        if self.reached.is_set():
            self.file.serve(client, asked)
            return
        head = f"ETag: {self.file.etag}\r\nContent-Length: {BYTES}\r\n\r\n"
        content = self.file.content
        client.sendall(f"HTTP/1.1 200 OK\r\n{head}".encode() + content[:HALF])
        self.reached.set()
        assert self.opened.wait(LONG)
        client.sendall(content[HALF:])


@pytest.mark.parametrize("is_killed", [False, True])
def test_two_jobs_race_on_one_file(
    folder: Folder, server: FakeFiles, is_killed: bool
) -> None:
    for _ in range(ROUNDS):
        content = os.urandom(BYTES)
        held = Held(server, "/a", content)
        first = folder.start(server.url("/a"))
        while first.await_progress() != {"bytes": HALF, "total": BYTES}:
            pass
        assert held.reached.is_set()
        below = children(first.process.pid)
        second = folder.start(server.url("/a"))
        said = second.await_progress()
        assert said == "waiting for another job with this URL"
        if is_killed:
            first.kill()
            await_that(lambda: are_gone(below), "something runs on", SOON)
        held.opened.set()
        if not is_killed:
            assert first.answer().content == content
        got = second.answer()
        assert got.content == content
        # Of the killed job's file only the rest comes.
        assert is_killed == ("range" in server.asked[-1].fields)
        assert got.cached is not is_killed
        assert digest(content) in folder.objects()
        check_left(folder)


def check_left(folder: Folder) -> None:
    assert sorted(os.listdir(folder.work)) == FOLDERS
    assert folder.names("jobs") == folder.names("partial") == []
    assert len(folder.names("entries")) == 1
    for name in folder.objects():
        path = folder.work / "objects" / name
        assert digest(path.read_bytes()) == name
        assert path.stat().st_nlink == 1


def keep_together(place: Path) -> str:
    """Return what lets all workers keep their files at once, slowly."""
    place.mkdir()
    place.chmod(0o777)  # workers may be another user
    return f"""
import os, time
from hearth_downloads.fetch.cache import Cache
keep, rename = Cache.keep, os.rename

def rename_slowly(*names, **folders):
    rename(*names, **folders)
    time.sleep(0.1)

def keep_with_others(*given):
    open({str(place)!r} + f"/{{os.getpid()}}", "w").close()
    while len(os.listdir({str(place)!r})) < {WORKERS}:
        time.sleep(0.01)
    os.rename = rename_slowly
    keep(*given)

Cache.keep = keep_with_others
"""


def test_urls_race_on_one_object(folder: Folder, server: FakeFiles) -> None:
    """All have the same content, which is one file of the cache."""
    urls = [server.url(f"/{number}") for number in range(WORKERS)]
    for count in range(ROUNDS):
        content = os.urandom(BYTES)
        for number in range(WORKERS):
            server.put(f"/{number}", content)
        folder.hook = keep_together(folder.path / f"round-{count}")
        runs = [folder.start(url) for url in urls]
        assert [run.answer().content for run in runs] == [content] * WORKERS
        assert digest(content) in folder.objects()
        assert folder.names("jobs") == folder.names("partial") == []
        assert len(folder.names("entries")) == WORKERS
    folder.hook = ""
    assert all(folder.fetch(url, sha256=digest(content)).cached for url in urls)
