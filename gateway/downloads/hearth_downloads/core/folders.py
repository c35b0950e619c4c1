"""Folders that a sandbox can write to: opened, measured and removed.

All is done by descriptors, and no link is followed. So nothing outside of such
a folder is read or removed, whatever a program has put in a folder's place.
That holds even if it still runs, as for a moment after its worker was
killed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection
from dataclasses import dataclass
from typing import Optional

# Flags of open(2): none follows a link, and READ does not wait for a pipe.
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
DEPTH_MAX = 100
_BLOCK = 512  # the unit of st_blocks
_ALL = 0o700


def open_folder(name: str, parent: Optional[int] = None) -> int:
    """Return a descriptor of the folder; fail for anything else."""
    return os.open(name, FOLDER, dir_fd=parent)


def look_at(name: str, parent: int) -> Optional[os.stat_result]:
    """Return what has that name, without following it; None if nothing."""
    try:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None


def open_plain(name: str, parent: int) -> Optional[int]:
    """Return a descriptor for reading a file with one name, else None."""
    try:
        number = os.open(
            name,
            READ,
            dir_fd=parent,
        )
    except OSError:
        return None
    about = os.fstat(number)
    if stat.S_ISREG(about.st_mode) and about.st_nlink == 1:
        os.set_blocking(number, True)
        return number
    os.close(number)
    return None


def read_plain(name: str, parent: int, limit: int) -> Optional[bytes]:
    """Return the bytes of such a file, None if it is no such one or larger."""
    number = open_plain(name, parent)
    if number is None:
        return None
    with open(number, "rb") as file:
        content = file.read(limit + 1)
    return content if len(content) <= limit else None


@dataclass
class Size:
    """Disk space and entries of a folder."""

    size: int = 0  # bytes
    count: int = 0  # files and folders


# Files and folders, and the lengths of all files.
Content = list[int]


class Measure:
    """Adds up folders until it is more than a limit; an inode counts once.

    It also says what is in a folder by the names, where each counts.
    """

    def __init__(self, most: Optional[Size] = None) -> None:
        self.found = Size()
        self.most = most
        self.is_deep = False  # something lies too deep to be measured
        self.content: Content = [0, 0]
        self.parts: dict[str, Content] = {}  # of folders in the last one
        self._seen: set[tuple[int, int]] = set()

    @property
    def is_over(self) -> bool:
        """Return true if it is more than the limit."""
        return self.most is not None and (
            self.is_deep
            or self.found.size > self.most.size
            or self.found.count > self.most.count
        )

    def add(self, folder: int, without: Collection[str] = ()) -> None:
        """Add what is in the folder, but for these names."""
        self.parts = {}
        self._add(folder, without, 0)

    def _add(self, folder: int, without: Collection[str], depth: int) -> None:
        if depth > DEPTH_MAX:
            self.is_deep = True
            return
        for name in self._add_entries(folder, without):
            if self.is_over:
                return
            try:
                inner = open_folder(name, folder)
            except OSError:
                continue  # a program has moved it
            before = list(self.content)
            try:
                self._add(inner, (), depth + 1)
            finally:
                os.close(inner)
            if depth == 0:
                count, length = self.content
                self.parts[name] = [count - before[0], length - before[1]]

    def _add_entries(self, folder: int, without: Collection[str]) -> list[str]:
        """Add the entries themselves; return the folders among them."""
        folders = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name in without:
                    continue
                try:
                    about = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                self._count(about)
                if stat.S_ISDIR(about.st_mode):
                    folders.append(entry.name)
                if self.is_over:
                    break
        return folders

    def _count(self, about: os.stat_result) -> None:
        self.content[0] += 1
        if not stat.S_ISDIR(about.st_mode):
            self.content[1] += about.st_size
        if about.st_nlink > 1 and not stat.S_ISDIR(about.st_mode):
            key = (about.st_dev, about.st_ino)
            if key in self._seen:
                return
            self._seen.add(key)
        self.found.size += about.st_blocks * _BLOCK
        self.found.count += 1


def remove(name: str, parent: int, aside: int) -> None:
    """Remove whatever has that name, if anything has.

    Folders are moved into the folder `aside` first, where no sandbox reaches
    them. So none lies too deep.
    """
    waiting = _take_out(name, parent, aside)
    while waiting:
        moved = waiting.pop()
        try:
            folder = open_folder(moved, aside)
        except NotADirectoryError:
            os.unlink(moved, dir_fd=aside)
            continue
        try:
            for inner in os.listdir(folder):
                waiting += _take_out(inner, folder, aside)
        finally:
            os.close(folder)
        os.rmdir(moved, dir_fd=aside)


def _take_out(name: str, parent: int, aside: int) -> list[str]:
    """Remove a file; move a folder, and return its new name."""
    try:
        os.unlink(name, dir_fd=parent)
        return []
    except FileNotFoundError:
        return []
    except IsADirectoryError:
        pass
    return [move_aside(name, parent, aside)]


def move_aside(name: str, parent: int, aside: int) -> str:
    """Move it into the other folder; return its name there."""
    permit(name, parent)
    moved = f"gone-{os.urandom(8).hex()}"
    os.rename(name, moved, src_dir_fd=parent, dst_dir_fd=aside)
    return moved


def permit(name: str, parent: int) -> None:
    """Let this user read and write it, if it is a folder."""
    try:
        folder = os.open(
            name,
            os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC,
            dir_fd=parent,
        )
    except (NotADirectoryError, FileNotFoundError):
        return
    try:
        if os.fstat(folder).st_mode & _ALL != _ALL:
            os.chmod(f"/proc/self/fd/{folder}", _ALL)
    finally:
        os.close(folder)
