"""One job's folder, of which git's sandbox has a part as /workspace.

    jobs/NAME/space/    /workspace (program.py)

When git has ended no program changes what is in it.
"""

from __future__ import annotations

import os
from typing import Any, Optional

from hearth_downloads.clone.git import AUTHORITIES, INDEX, MIRROR, TREE
from hearth_downloads.clone.job import Job
from hearth_downloads.clone.modules import FILE_BYTES_MAX
from hearth_downloads.clone.program import LFS, MODULES, REPORT
from hearth_downloads.clone.tree import (
    ENTRIES_MAX,
    too_deep,
    too_large,
    too_many,
)
from hearth_downloads.core.faults import Failed
from hearth_downloads.core.folders import (
    NEW,
    Measure,
    Size,
    look_at,
    open_folder,
    open_plain,
    permit,
    read_plain,
    remove,
)
from hearth_downloads.fetch.about import parse_object
from hearth_downloads.fetch.cache import Cache

SPACE = "space"
REPORT_MAX = 64 * 1024
SPARE_BYTES = 16 << 20  # besides the repository: its index, what git says
SPARE_FILES = 10_000
BLOCK_BYTES = 4096  # the least that a file takes on most disks


class Space:
    """The folder of the job that runs."""

    def __init__(self, job: Job, cache: Cache) -> None:
        self.job = job
        self.cache = cache
        self.name, self.folder, path = cache.make_job()
        self.path = os.path.join(path, SPACE)
        os.mkdir(SPACE, 0o700, dir_fd=self.folder)
        self.space = open_folder(SPACE, self.folder)
        self.job.own(self.space)

    def make_folder(self, name: str, parent: int) -> int:
        """Make a folder for git; return a descriptor."""
        os.mkdir(name, 0o700, dir_fd=parent)
        number = open_folder(name, parent)
        self.job.own(number)
        return number

    def write(self, name: str, parent: int, content: bytes) -> None:
        """Write a file for git, which is not there yet."""
        number = os.open(name, NEW, 0o644, dir_fd=parent)
        with open(number, "wb") as file:
            self.job.own(file.fileno())
            file.write(content)

    def put_authorities(self, content: bytes) -> None:
        """Let git know servers with https by these certificates."""
        self.write(AUTHORITIES, self.space, content)

    def check_size(self) -> None:
        """Refuse more than one repository could need.

        Small files take more of a disk than they have, up to a block each.
        """
        job = self.job
        most_bytes = job.bytes_left + SPARE_BYTES
        most_files = ENTRIES_MAX - job.spent_files
        most = Size(
            most_bytes + max(0, most_files) * BLOCK_BYTES,
            most_files + SPARE_FILES,
        )
        measure = Measure(most)
        measure.add(self.space)
        found = measure.found
        if measure.is_deep:
            raise too_deep()
        if found.count > most.count:
            raise too_many()
        least = found.size - found.count * BLOCK_BYTES
        if measure.is_over or least > most_bytes:
            raise too_large(job)

    def take_back(self) -> None:
        """Let the worker read the folder, whatever its mode."""
        os.fchmod(self.space, 0o700)

    def read_report(self) -> Optional[dict[str, Any]]:
        """Return what the program reports; None if it cannot be read."""
        try:
            return parse_object(read_plain(REPORT, self.space, REPORT_MAX))
        except ValueError:
            return None

    def read_lfs_paths(self, limit: int) -> set[bytes]:
        """Return the paths of files whose contents Git LFS has."""
        content = read_plain(LFS, self.space, limit)
        if content is None:
            raise taken_over("no list of the files of Git LFS")
        return set(content.split(b"\0"))

    def read_modules(self) -> bytes:
        """Return what the file `.gitmodules` has."""
        content = read_plain(MODULES, self.space, FILE_BYTES_MAX)
        if content is None:
            raise taken_over("no list of submodules, or a long one")
        return content

    def open_tree(self) -> int:
        """Return a descriptor of the working tree."""
        return self._open(TREE)

    def open_mirror(self) -> int:
        """Return a descriptor of the repository."""
        return self._open(MIRROR)

    def _open(self, name: str) -> int:
        try:
            permit(name, self.space)
            return open_folder(name, self.space)
        except OSError:
            raise taken_over(f"no folder {name}") from None

    def read_index(self, limit: int) -> bytes:
        """Return the index."""
        content = read_plain(INDEX, self.space, limit)
        if content is None:
            raise taken_over("no index")
        return content

    def create_result(self) -> int:
        """Return a descriptor of a new file without a name."""
        number = os.open(
            "result",
            os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
            0o600,
            dir_fd=self.folder,
        )
        os.unlink("result", dir_fd=self.folder)
        return number

    def remove(self, name: str, parent: int) -> None:
        """Remove what git has left; others do not wait for it."""
        remove(name, parent, self.folder)

    def end(self) -> None:
        """Remove the folder."""
        try:
            self.take_back()
            for name in os.listdir(self.space):
                self.remove(name, self.space)
        finally:
            os.close(self.space)
            os.close(self.folder)
            self.cache.end(self.name, False)


def taken_over(what: str) -> Failed:
    """Return the fault of a program that has not left what git leaves."""
    return Failed(
        f"git has left {what}: it may have been taken over by what the server "
        "has sent"
    )


def open_file(name: str, parent: int) -> int:
    """Return a descriptor of a plain file that git has left."""
    number = open_plain(name, parent)
    if number is None:
        kind = "a file with two names" if look_at(name, parent) else "no file"
        raise taken_over(f"{kind} {name!r}, where a plain file is to be")
    return number
