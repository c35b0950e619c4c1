"""The repositories that were got, shared by all sessions of a gateway.

    mirrors/KEY/objects/pack/   packs and their indexes, and nothing else
    mirrors/KEY/packed-refs     all refs
    mirrors/KEY/shallow         where the history ends, of one with a depth
    mirrors/KEY/asked           when the server was asked (asked.py)

KEY is of the URL and the lists (job.py). A mirror is moved into the folder of
its job, and back again. So no two programs ever write to it, and it is lost if
the job is killed. No configuration of it is kept: each job writes its own.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from dataclasses import dataclass
from typing import Optional

from hearth_downloads.clone.asked import ASKED, Asked, read_asked
from hearth_downloads.clone.git import MIRROR, write_config
from hearth_downloads.clone.job import Job
from hearth_downloads.clone.space import Space, open_file
from hearth_downloads.core.folders import (
    Measure,
    look_at,
    open_folder,
    open_plain,
    permit,
    remove,
)
from hearth_downloads.fetch.cache import Cache

MIRRORS = "mirrors"
MIRRORS_MAX = 1000
PACKS_MAX = 64  # then it is got anew: many packs are slow
_KEPT = ("packed-refs", "shallow", "objects")
_PACK = re.compile(r"pack-([0-9a-f]{40}(?:[0-9a-f]{24})?)\.(pack|idx)")
_COPY_BYTES = 16 << 20  # at a time
_PACK_HEAD = 12  # bytes, the last 4 are the number of objects
_KEY = re.compile(r"[0-9a-f]{64}")
_DIGITS = 40  # of most repositories; program.py finds out


@dataclass(frozen=True)
class _Stored:
    used: float
    size: int
    name: str


@dataclass(frozen=True)
class Taken:
    """Describes a mirror before the job."""

    packs: set[str]
    asked: Optional[Asked]


class Mirrors:
    """The folder of mirrors."""

    def __init__(self, cache: Cache, job: Job) -> None:
        self.cache = cache
        self.job = job
        work = cache.work
        with cache.locks.index():
            about = look_at(MIRRORS, work)
            if about is not None and not stat.S_ISDIR(about.st_mode):
                os.unlink(MIRRORS, dir_fd=work)
            with contextlib.suppress(FileExistsError):
                os.mkdir(MIRRORS, 0o700, dir_fd=work)
            self.folder = open_folder(MIRRORS, work)

    def prepare(self) -> None:
        """Clear up after workers that were killed."""
        with self.cache.locks.index():
            self.cache.clear_jobs()
            for name in os.listdir(self.folder):
                if not _KEY.fullmatch(name):
                    self._remove(name)
            self._bound(self.job.cache_most)

    def _remove(self, name: str) -> None:
        with contextlib.suppress(OSError):
            remove(name, self.folder, self.cache.folders["jobs"])

    def _list(self) -> list[_Stored]:
        found = []
        for name in os.listdir(self.folder):
            try:
                mirror = open_folder(name, self.folder)
            except OSError:
                self._remove(name)
                continue
            try:
                measure = Measure()
                measure.add(mirror)
                used = os.fstat(mirror).st_mtime
                found.append(_Stored(used, measure.found.size, name))
            finally:
                os.close(mirror)
        return found

    def _bound(self, most: int) -> None:
        """Remove what was not used for longest, until there is no more."""
        found = sorted(self._list(), key=lambda one: one.used)
        size, count = sum(one.size for one in found), len(found)
        for one in found:
            if size <= most and count <= MIRRORS_MAX:
                break
            self._remove(one.name)
            size, count = size - one.size, count - 1

    def make_room(self, size: int) -> None:
        """Remove mirrors of that size together, because the disk is full."""
        with self.cache.locks.index():
            whole = sum(one.size for one in self._list())
            self._bound(max(0, whole - size))

    def take(
        self, key: str, space: Space, url: str, earlier: Optional[Space]
    ) -> Taken:
        """Move a mirror to the job, or make one; return what it has.

        `earlier` is of a part of the job that has this mirror: a repository
        may be there more than once.
        """
        with self.cache.locks.index(), contextlib.suppress(FileNotFoundError):
            os.rename(
                key, MIRROR, src_dir_fd=self.folder, dst_dir_fd=space.space
            )
        if earlier is not None and look_at(MIRROR, space.space) is None:
            _copy(earlier, space)
        asked = _read_asked(space)
        packs = self._open_kept(space)
        mirror = space.open_mirror()
        try:
            config = write_config(self.job, url, _DIGITS).encode()
            space.write("config", mirror, config)
            space.write("HEAD", mirror, b"ref: refs/heads/main\n")
            os.close(space.make_folder("refs", mirror))
        finally:
            os.close(mirror)
        return Taken(packs, asked if packs else None)

    def _open_kept(self, space: Space) -> set[str]:
        """Make ready what was kept, for this job's user."""
        if look_at(MIRROR, space.space) is not None:
            packs = trim(space)
            if packs and len(packs) <= PACKS_MAX:
                return packs
            space.remove(MIRROR, space.space)
        mirror = space.make_folder(MIRROR, space.space)
        objects = space.make_folder("objects", mirror)
        os.close(space.make_folder("pack", objects))
        os.close(objects)
        os.close(mirror)
        return set()

    def keep(self, key: str, space: Space, asked: Optional[Asked]) -> None:
        """Move the mirror back, as far as it is one."""
        if not trim(space):
            return
        mirror = space.open_mirror()
        try:
            if asked:
                space.write(ASKED, mirror, asked.encode())
            measure = Measure()
            measure.add(mirror)
            os.utime(mirror)
        finally:
            os.close(mirror)
        if measure.found.size > self.job.cache_most:
            return
        with self.cache.locks.index():
            self._remove(key)
            os.rename(
                MIRROR, key, src_dir_fd=space.space, dst_dir_fd=self.folder
            )
            self._bound(self.job.cache_most)


def _copy(earlier: Space, space: Space) -> None:
    """Copy what the trimmed mirror of an earlier part has."""
    with contextlib.ExitStack() as stack:

        def keep(number: int) -> int:
            stack.callback(os.close, number)
            return number

        source = keep(earlier.open_mirror())
        target = keep(space.make_folder(MIRROR, space.space))
        for name in ("packed-refs", "shallow"):
            if look_at(name, source) is not None:
                _copy_file(name, source, target, space)
        for name in ("objects", "pack"):
            source = keep(open_folder(name, source))
            target = keep(space.make_folder(name, target))
        for name in os.listdir(source):
            _copy_file(name, source, target, space)


def _copy_file(name: str, source: int, target: int, space: Space) -> None:
    number = open_file(name, source)
    try:
        space.write(name, target, b"")
        copy = os.open(
            name, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=target
        )
        try:
            at = 0
            while sent := os.sendfile(copy, number, at, _COPY_BYTES):
                at += sent
        finally:
            os.close(copy)
    finally:
        os.close(number)


def trim(space: Space) -> set[str]:
    """Remove all that no mirror has; return the names of its packs.

    A folder without packs is no mirror. The rest is given to the job's user.
    """
    mirror = _enter(space, MIRROR, space.space)
    if mirror < 0:
        return set()
    try:
        for name in os.listdir(mirror):
            is_folder = name == "objects"
            is_kept = name in _KEPT
            if not is_kept or not (is_folder or _own_file(space, name, mirror)):
                space.remove(name, mirror)
        return _trim_objects(space, mirror)
    finally:
        os.close(mirror)


def _trim_objects(space: Space, mirror: int) -> set[str]:
    """Leave plain packs with their indexes; nothing else is an object."""
    objects = _enter(space, "objects", mirror)
    if objects < 0:
        return set()
    try:
        for name in os.listdir(objects):
            if name != "pack":
                space.remove(name, objects)
        pack = _enter(space, "pack", objects)
        if pack < 0:
            return set()
        try:
            return _trim_packs(space, pack)
        finally:
            os.close(pack)
    finally:
        os.close(objects)


def _trim_packs(space: Space, pack: int) -> set[str]:
    """Leave each pack that has objects and an index; return their names."""
    found: dict[str, set[str]] = {}
    for name in os.listdir(pack):
        match = _PACK.fullmatch(name)
        if match and _own_file(space, name, pack):
            found.setdefault(match[1], set()).add(match[2])
        else:
            space.remove(name, pack)
    for one, kinds in list(found.items()):
        if len(kinds) < 2 or _is_empty(f"pack-{one}.pack", pack):
            for kind in kinds:
                space.remove(f"pack-{one}.{kind}", pack)
            del found[one]
    return set(found)


def _is_empty(name: str, pack: int) -> bool:
    """Return true for what a server sends that has nothing new to send."""
    number = open_plain(name, pack)
    if number is None:
        return True
    try:
        return os.pread(number, _PACK_HEAD, 0)[8:] == bytes(4)
    finally:
        os.close(number)


def _read_asked(space: Space) -> Optional[Asked]:
    """Return what a mirror has of its server, before git can change it."""
    mirror = _enter(space, MIRROR, space.space)
    if mirror < 0:
        return None
    try:
        return read_asked(mirror)
    finally:
        os.close(mirror)


def _enter(space: Space, name: str, parent: int) -> int:
    """Return a descriptor of a folder that is to be there; -1 if none is."""
    try:
        permit(name, parent)
        number = open_folder(name, parent)
    except OSError:
        return -1
    space.job.own(number)
    return number


def _own_file(space: Space, name: str, parent: int) -> bool:
    """Give a plain file to the job's user; return false for anything else."""
    number = open_plain(name, parent)
    if number is None:
        return False
    space.job.own(number)
    os.close(number)
    return True
