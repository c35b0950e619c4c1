"""In the place of hearth_downloads.fetch.worker and of that of clone: does what
the last part of its job's URL says, and notes in the tests' folder that it
began and ended."""

from __future__ import annotations

import hashlib
import json
import os
import socket
import struct
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PLAIN = b"city,people\nBonn,331885\n"

README = b"hello\n"
COMMIT = hashlib.sha1(README).hexdigest()
AWAY = (
    "the server cannot be reached; this is the mirror's state of "
    "2026-11-29 10:00 UTC"
)
# What every repository has but its README.md: a type, a name and a content.
REPOSITORY = [
    (b"d", b"src", b""),
    (b"x", b"src/run", b"#!/bin/sh\necho it runs\n"),
    (b"l", b"src/about", b"../README.md"),
    (b"d", b".git", b""),
    (b"f", b".git/HEAD", b"ref: refs/heads/main\n"),
]


def record(kind: bytes, name: bytes, content: bytes) -> bytes:
    head = struct.pack("<B3xIQ", ord(kind), len(name), len(content))
    return head + name + content


class Worker:
    def __init__(self) -> None:
        # fetch_gateway.py has put this file into a folder of
        # bin/python/hearth_downloads, beside the folder of notes.
        self.notes = Path(__file__).resolve().parents[4] / "n"
        self.socket = socket.socket(fileno=3)
        self.job = json.loads(self.socket.recv(65536))
        self.name = urlsplit(self.job["url"]).path.rpartition("/")[2]
        self.word, _, self.rest = self.name.removesuffix(".git").partition("-")
        self.is_clone = self.job["order"] == "clone"
        self.note("began")

    def note(self, what: str) -> None:
        line = {
            "what": what,
            "name": self.name,
            "pid": os.getpid(),
            "job": self.job,
        }
        with (self.notes / "log").open("a") as log:
            log.write(json.dumps(line) + "\n")

    def send(self, value: Any, *files: int) -> None:
        socket.send_fds(self.socket, [json.dumps(value).encode()], list(files))

    def fault(self, ename: str) -> None:
        self.send({"fault": {"ename": ename, "text": f"it is {ename}"}})

    def about_file(self, content: bytes) -> dict[str, Any]:
        return {
            "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "cached": False,
            "encoding": "",
        }

    def about_tree(self, content: bytes) -> dict[str, Any]:
        """Describe what `give` makes of its content."""
        records = [(b"f", b"README.md", content), *REPOSITORY]
        return {
            "commit": COMMIT,
            "branch": self.job["ref"] or "main",
            "size": len(self.packed(content)),
            "bytes": sum(
                len(text) for kind, _, text in records if kind != b"l"
            ),
            "files": len(records),
            "lfs": 0,
            "submodules": 0,
            "cached": False,
        }

    def packed(self, content: bytes) -> bytes:
        """Return what the worker's file has: a tree with that README.md, or
        just the content."""
        if not self.is_clone:
            return content
        records = [(b"f", b"README.md", content), *REPOSITORY]
        return b"".join(record(*one) for one in [*records, (b"e", b"", b"")])

    def ok(self, content: bytes, *files: int, **others: Any) -> None:
        about = self.about_tree if self.is_clone else self.about_file
        self.send({"ok": {**about(content), **others}}, *files)

    def file(self, content: bytes, flags: int = os.O_RDONLY) -> int:
        path = self.notes / f"file-{os.getpid()}"
        path.write_bytes(content)
        opened = os.open(path, flags | os.O_CLOEXEC)
        path.unlink()
        return opened

    def give(self, content: bytes | None = None, **others: Any) -> None:
        if content is None:
            content = README if self.is_clone else PLAIN
        self.ok(content, self.file(self.packed(content)), **others)

    # What each beginning of a name does.

    def big(self) -> None:
        """As many bytes as the name says."""
        self.give(b"x" * int(self.rest))

    def has(self) -> None:
        """The text after the hyphen."""
        self.give(self.rest.encode())

    def cached(self) -> None:
        self.give(cached=True)

    def table(self) -> None:
        """Cached if it was fetched before."""
        url = json.dumps(self.job["url"])
        before = (self.notes / "log").read_text().count(url)
        self.give(cached=before > 1)

    def zipped(self) -> None:
        self.give(encoding="gzip")

    def slow(self) -> None:
        """Until the test has made a file of that name, or its socket ends."""
        self.send({"progress": "receiving"})
        self.send({"progress": {"bytes": 5, "total": 10}})
        self.note("waits")
        self.socket.setblocking(False)
        while not (self.notes / self.name).exists():
            try:
                has_ended = not self.socket.recv(1)
            except ConnectionResetError:  # progress was left unread
                has_ended = True
            except BlockingIOError:
                has_ended = False
                time.sleep(0.02)
            if has_ended:
                self.note("given up")
                sys.exit(0)
        self.give()

    def stubborn(self) -> None:
        while True:
            time.sleep(60)

    def dies(self) -> None:
        sys.exit(1)

    def killed(self) -> None:
        os.kill(os.getpid(), 9)

    def nofile(self) -> None:
        self.ok(PLAIN)

    def twofiles(self) -> None:
        self.ok(PLAIN, self.file(PLAIN), self.file(PLAIN))

    def folder(self) -> None:
        self.ok(PLAIN, os.open(self.notes, os.O_RDONLY | os.O_CLOEXEC))

    def writable(self) -> None:
        self.ok(PLAIN, self.file(PLAIN, os.O_RDWR))

    def device(self) -> None:
        self.ok(PLAIN, os.open("/dev/zero", os.O_RDONLY | os.O_CLOEXEC))

    def size(self) -> None:
        """Not that of its file."""
        self.give(size=10**6)

    def hash(self) -> None:
        """None at all."""
        name = "commit" if self.is_clone else "sha256"
        wrong: dict[str, Any] = {name: "../../x"}
        self.give(**wrong)

    def lacks(self) -> None:
        """Files in Git LFS and submodules: lacks-3-2."""
        lfs, _, submodules = self.rest.partition("-")
        self.give(lfs=int(lfs), submodules=int(submodules))

    def detached(self) -> None:
        self.give(branch="")

    def away(self) -> None:
        """The server is, and a mirror has answered."""
        self.give(cached=True, note=AWAY)

    def more(self) -> None:
        self.give(path="/etc/passwd")

    def early(self) -> None:
        """A file with a word of progress."""
        self.send({"progress": "receiving"}, self.file(PLAIN))
        self.give()

    def refused(self) -> None:
        self.fault("FetchRefused")

    def invalid(self) -> None:
        self.fault("FetchInvalid")

    def unreachable(self) -> None:
        self.fault("FetchUnreachable")

    def failed(self) -> None:
        self.fault("FetchFailed")

    def unknown(self) -> None:
        self.fault("WorkspaceFull")

    def run(self) -> None:
        kind = self.word.partition(".")[0]
        if urlsplit(self.job["url"]).hostname not in self.job["allow"]:
            kind = "refused"
        getattr(self, kind, self.give)()
        self.note("ended")


def main() -> None:
    Worker().run()
