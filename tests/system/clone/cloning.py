"""Drives the clone worker over its socket, and reads what it hands over."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from downloading import (
    LONG,
    Refusal,
    Worker,
    WorkFolder,
    open_received,
)

FOLDERS = ("entries", "jobs", "lock", "mirrors", "objects", "partial")
DATE = 946684800  # of files with a time
HEAD = struct.Struct("<c3sIQ")


@dataclass
class Record:
    """A folder, file or link of a tree file."""

    kind: str
    content: bytes


def read_tree(file: BinaryIO) -> dict[bytes, Record]:
    """Return the records by path; what the format forbids is an error."""
    found: dict[bytes, Record] = {}
    while True:
        kind, zero, name_size, size = HEAD.unpack(file.read(HEAD.size))
        assert zero == b"\0\0\0"
        if kind == b"e":
            assert name_size == size == 0
            assert file.read(1) == b""
            return found
        name, content = file.read(name_size), file.read(size)
        assert (len(name), len(content)) == (name_size, size)
        check_record(kind, name, content, found)
        found[name] = Record(kind.decode(), content)


def check_record(
    kind: bytes, name: bytes, content: bytes, found: dict[bytes, Record]
) -> None:
    assert kind in (b"d", b"f", b"x", b"F", b"X", b"l")
    assert name not in found
    assert 1 <= len(name) <= 4095
    parts = name.split(b"/")
    assert len(parts) <= 100
    for part in parts:
        assert part not in (b"", b".", b"..")
        assert len(part) <= 255
        assert b"\0" not in part
    parent = name.rpartition(b"/")[0]
    assert not parent or found[parent].kind == "d"
    if kind == b"d":
        assert not content
    if kind == b"l":
        assert 1 <= len(content) <= 4095


# What a worker hands over, by path; in the class `bytes` is a number.
Tree = dict[bytes, Record]


@dataclass
class Cloned:
    """A repository as a gateway gets it, read from the descriptor."""

    commit: str
    branch: str
    size: int
    bytes: int
    files: int
    lfs: int
    submodules: int
    cached: bool
    note: str = ""
    tree: Tree = field(default_factory=dict)

    def check(self) -> None:
        """Compare what is said with what has come."""
        assert self.files == len(self.tree)
        assert self.bytes == sum(
            len(one.content) for one in self.tree.values() if one.kind in "fxFX"
        )

    def text(self, path: str) -> str:
        return self.tree[path.encode()].content.decode()

    @property
    def work(self) -> Tree:
        """Return what is not in `.git`."""
        return {
            name: one
            for name, one in self.tree.items()
            if name.partition(b"/")[0] != b".git"
        }

    def unpack(self, path: Path) -> Path:
        """Make the files as the gateway does; for git to look at."""
        top = os.fsencode(path)
        os.mkdir(top)
        for name, one in self.tree.items():
            place = os.path.join(top, name)
            if one.kind == "d":
                os.mkdir(place)
            elif one.kind == "l":
                os.symlink(one.content, place)
            else:
                with open(place, "wb") as file:
                    file.write(one.content)
                os.chmod(place, 0o755 if one.kind in "xX" else 0o644)
                if one.kind in "FX":
                    os.utime(place, (DATE, DATE))
        return path


class Run(Worker):
    """One worker that runs."""

    def answer(self, seconds: float = LONG) -> Cloned:
        """Return the repository; Refusal for a fault."""
        ok, (number,) = self.reply(seconds)
        assert os.fstat(number).st_nlink == 0
        with open_received(number) as file:
            made = Cloned(**ok, tree=read_tree(file))
            assert file.tell() == ok["size"] == os.fstat(number).st_size
        made.check()
        return made


class Folder(WorkFolder):
    """The folder that a gateway makes for repositories, and a profile."""

    order = "clone"
    always = FOLDERS

    def start(self, url: str, ref: str = "", **settings: Any) -> Run:
        """Start a worker for that URL."""
        return Run(*self.spawn(self.job(url, ref=ref, **settings)))

    def clone(self, url: str, ref: str = "", **settings: Any) -> Cloned:
        """Run one worker to its end; return what it hands over."""
        made = self.start(url, ref, **settings).answer()
        assert tuple(sorted(os.listdir(self.work))) == FOLDERS
        return made

    def refuse(self, url: str, ref: str = "", **settings: Any) -> Refusal:
        """Return the fault, which leaves nothing that runs or lies about."""
        with pytest.raises(Refusal) as refused:
            self.clone(url, ref, **settings)
        return self.check_refusal(refused.value)
