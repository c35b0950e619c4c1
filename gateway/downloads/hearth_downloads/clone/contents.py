"""The contents of Git LFS that a repository's pointers name.

They are kept with the files of fetch (fetch/cache.py), each under a name of its
repository's URL, the lists and its SHA-256. So a repository whose pointers
guess a hash gets nothing that its own server does not give.
"""

from __future__ import annotations

import os
from typing import Optional

from hearth_downloads.clone.batch import OBJECTS_MAX
from hearth_downloads.clone.batch_run import BatchRun, name_object
from hearth_downloads.clone.pointer import (
    Pointer,
    looks_like_pointer,
    parse_pointer,
)
from hearth_downloads.clone.run import About
from hearth_downloads.clone.space import Space
from hearth_downloads.clone.tree import TreeFile
from hearth_downloads.clone.walk import Walk
from hearth_downloads.core.faults import Failed, Refused
from hearth_downloads.core.folders import Measure
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.fetch.cache import FILES_MAX, Cache
from hearth_downloads.fetch.sentences import say_size, too_large

PATHS_BYTES_MAX = 64 << 20
_NOUN = "repository with its Git LFS contents"
_BLOCK_BYTES = 4096
_READ_BYTES = 4096


class Survey:
    """Adds up a working tree, and finds the pointers in it."""

    def __init__(self, paths: set[bytes]) -> None:
        self.paths = paths
        self.bytes = 0  # of all files, with the contents of pointers
        self.pointers: dict[bytes, Pointer] = {}

    def add_folder(self, path: bytes) -> None:
        """Take a folder."""

    def add_link(self, path: bytes, target: bytes) -> None:
        """Take a symbolic link."""

    def add_file(self, path: bytes, source: int, is_program: bool) -> None:
        """Take an open file."""
        size = os.fstat(source).st_size
        pointer: Optional[Pointer] = None
        if path in self.paths and size < _READ_BYTES:
            pointer = parse_pointer(os.pread(source, _READ_BYTES, 0))
        if pointer:
            self.pointers[path] = pointer
            size = pointer.size
        self.bytes += size


class Contents:
    """The contents of a job's repository; none if the job wants none."""

    def __init__(self, about: About, gateway: Gateway, cache: Cache) -> None:
        self.about = about
        self.job = about.job
        self.gateway = gateway
        self.cache = cache
        self.pointers: dict[bytes, Pointer] = {}
        self.is_cached = True  # nothing was downloaded

    @property
    def sizes(self) -> dict[bytes, int]:
        """Return the bytes of each file that has its content."""
        return {path: one.size for path, one in self.pointers.items()}

    def bring(self, space: Space) -> None:
        """Get what is not here, after all of it was judged."""
        if not self.job.lfs:
            return
        survey = Survey(space.read_lfs_paths(PATHS_BYTES_MAX))
        folder = space.open_tree()
        try:
            Walk(survey).add(folder)
        finally:
            os.close(folder)
        self.pointers = survey.pointers
        if not self.pointers:
            return
        objects = self._judge(survey.bytes + _measure_mirror(space))
        lacking = [one for one in objects if not self._is_here(one)]
        self.is_cached = not lacking
        run = BatchRun(self.about, self.gateway, self.cache, lacking)
        for at in range(0, len(lacking), OBJECTS_MAX):
            run.bring(lacking[at : at + OBJECTS_MAX])

    def _judge(self, size: int) -> list[Pointer]:
        """Return the objects; refuse what would be too much."""
        job = self.job
        size += job.spent_bytes
        if size > job.max_bytes:
            raise too_large(job, size, _NOUN)
        if 0 <= job.room < size:
            raise Refused(
                f"the {_NOUN} has {say_size(size)}, and the workspace takes "
                f"{say_size(job.room)} more: remove files there"
            )
        objects = {one.oid: one for one in self.pointers.values()}
        if any(objects[one.oid] != one for one in self.pointers.values()):
            raise Refused(
                "two Git LFS pointers of the repository name one content and "
                "different sizes"
            )
        if len(objects) > FILES_MAX:
            raise Refused(
                f"the repository has {len(objects)} Git LFS contents, and "
                f"{FILES_MAX} are the most: clone it without"
            )
        return list(objects.values())

    def _is_here(self, pointer: Pointer) -> bool:
        name = name_object(self.about, pointer)
        entry, file = self.cache.find(name)
        if entry is None:
            return False
        try:
            if entry.sha256 != pointer.oid or entry.size != pointer.size:
                return False
            self.cache.mark_used(name, file)
            return True
        finally:
            os.close(file)

    def open(self, pointer: Pointer) -> int:
        """Return a descriptor of a content that was brought."""
        entry, file = self.cache.find(name_object(self.about, pointer))
        if entry is None or entry.sha256 != pointer.oid:
            raise Failed(
                "a Git LFS content was removed from the cache for other "
                "files: ask again"
            )
        return file


class Filled:
    """Writes a working tree to a tree file, with contents for pointers."""

    def __init__(self, tree: TreeFile, contents: Contents) -> None:
        self.tree = tree
        self.contents = contents
        self.pointers = 0  # files that stay what names a content

    def add_folder(self, path: bytes) -> None:
        """Take a folder."""
        self.tree.add_folder(path)

    def add_link(self, path: bytes, target: bytes) -> None:
        """Take a symbolic link."""
        self.tree.add_link(path, target)

    def add_file(self, path: bytes, source: int, is_program: bool) -> None:
        """Take an open file."""
        pointer = self.contents.pointers.get(path)
        if pointer is None:
            content = self.tree.add_file(path, source, is_program)
            self.pointers += looks_like_pointer(content)
            return
        number = self.contents.open(pointer)
        try:
            self.tree.add_dated(path, number, is_program)
        finally:
            os.close(number)


def _measure_mirror(space: Space) -> int:
    """Return how many bytes the history has at least."""
    mirror = space.open_mirror()
    try:
        measure = Measure()
        measure.add(mirror)
    finally:
        os.close(mirror)
    found = measure.found
    return max(0, found.size - found.count * _BLOCK_BYTES)
