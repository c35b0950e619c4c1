"""Writes the tree file: all files of a repository, one after another.

The gateway makes the session's files of it (PROTOCOL.downloads.md). All limits
hold here, before anything is written: the gateway makes no more than is said.
"""

from __future__ import annotations

import os
import struct

from hearth_downloads.clone.job import Job
from hearth_downloads.core.faults import Failed, Refused
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.fetch import sentences

NOUN = "repository"  # in sentences
ENTRIES_MAX = 500_000
DEPTH_MAX = 100
PATH_MAX = 4095
LINK_MAX = 4095
FOLDER, FILE, PROGRAM, LINK, END = b"d", b"f", b"x", b"l", b"e"
# Files with a time that the index has, too (index.py).
DATED = {FILE: b"F", PROGRAM: b"X"}
_HEAD = struct.Struct("<c3xIQ")
_BUFFER_BYTES = 1 << 20
_SMALL_BYTES = 64 << 10
_COPY_BYTES = 8 << 20
_CHECK_ENTRIES = 256


class TreeFile:
    """The file, and what was written to it."""

    def __init__(self, job: Job, gateway: Gateway, file: int) -> None:
        self.job = job
        self.gateway = gateway
        self.file = file
        self.bytes = 0  # of all contents
        self.entries = 0
        self.prefix = b""  # of all paths that are added
        self._buffer = bytearray()

    def add_folder(self, path: bytes) -> None:
        """Add a folder, before what is in it."""
        self._begin(FOLDER, path, 0)

    def add_link(self, path: bytes, target: bytes) -> None:
        """Add a symbolic link, which nothing here follows."""
        if not 0 < len(target) <= LINK_MAX:
            raise Refused(
                f"a symbolic link of the repository has {len(target)} bytes, "
                f"and {LINK_MAX} are the most"
            )
        self._begin(LINK, path, len(target))
        self._buffer += target

    def add_content(self, path: bytes, content: bytes) -> None:
        """Add a file with that content."""
        self._count(len(content))
        self._begin(FILE, path, len(content))
        self._put(content)

    def add_file(
        self, path: bytes, source: int, is_program: bool = False
    ) -> bytes:
        """Add an open file; return its content if it is small."""
        return self._add(PROGRAM if is_program else FILE, path, source)

    def add_dated(self, path: bytes, source: int, is_program: bool) -> None:
        """Add an open file that gets the time that the index has."""
        kind = PROGRAM if is_program else FILE
        self._add(DATED[kind], path, source)

    def _add(self, kind: bytes, path: bytes, source: int) -> bytes:
        size = os.fstat(source).st_size
        self._count(size)
        self._begin(kind, path, size)
        if size > _SMALL_BYTES:
            self._copy(source, size)
            return b""
        content = os.read(source, size) if size else b""
        if len(content) != size:
            raise Failed("a file was changed while it was read")
        self._put(content)
        return content

    def _count(self, size: int) -> None:
        self.bytes += size
        if self.bytes > self.job.max_bytes:
            raise too_large(self.job)

    def _begin(self, kind: bytes, path: bytes, size: int) -> None:
        path = self.prefix + path
        self.entries += 1
        if self.entries > ENTRIES_MAX:
            raise too_many()
        if self.entries > self.job.max_files:
            raise Refused(
                f"the repository has more than {self.job.max_files} files, "
                "folders and links, with those of .git, which "
                f"{self.job.setting('max_files')} permits"
            )
        if len(path) > PATH_MAX or path.count(b"/") >= DEPTH_MAX:
            raise too_deep()
        if self.entries % _CHECK_ENTRIES == 0:
            self.gateway.check()
        self._put(_HEAD.pack(kind, len(path), size) + path)

    def _put(self, content: bytes) -> None:
        self._buffer += content
        if len(self._buffer) >= _BUFFER_BYTES:
            self._flush()

    def _flush(self) -> None:
        rest = memoryview(self._buffer)
        while rest:
            rest = rest[os.write(self.file, rest) :]
        self._buffer = bytearray()

    def _copy(self, source: int, size: int) -> None:
        self._flush()
        while size > 0:
            most = min(size, _COPY_BYTES)
            copied = os.sendfile(self.file, source, None, most)
            if copied == 0:
                raise Failed("a file was changed while it was read")
            size -= copied
            self.gateway.check()

    def end(self) -> int:
        """Write the end; return the size of the file."""
        self._put(_HEAD.pack(END, 0, 0))
        self._flush()
        return os.lseek(self.file, 0, os.SEEK_CUR)


def too_large(job: Job) -> Refused:
    """Return the fault of a repository that is too large."""
    text = sentences.too_large(job, noun=f"{NOUN} with its history").text
    return Refused(text if job.depth == 1 else f"{text}: ask for a depth of 1")


def too_many() -> Refused:
    """Return the fault of a repository with too many files."""
    return Refused(
        f"the repository has more than {ENTRIES_MAX} files, folders and links, "
        "which is the most"
    )


def too_deep() -> Refused:
    """Return the fault of a file that lies too deep."""
    return Refused(
        f"the repository has a path of more than {PATH_MAX} bytes or "
        f"{DEPTH_MAX} folders, which is the most"
    )
