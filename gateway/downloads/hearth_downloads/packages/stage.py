"""The work folder, and in it the one that uv's sandbox sees as /workspace.

    lock            held by the one worker that writes
    advisories/     what was read of the operator's (advisories.py)
    profile-wheels/ what uv sees of the profile (profile_wheels.py)
    unpacked.json   what the wheels in uv's cache have (unpacked.py)
    digests/        what the files of each wheel have to be (digests.py)
    uv/             /workspace, made anew by each job
    uv/cache/       uv's cache, taken over from the job before
    uv/stage/       this job's: files that uv reads and writes, and `new`

Files in `uv` may have been written by uv, and a file of an index may have taken
uv over. So the worker holds the folders by descriptors, and checks after each
run of uv that they are still in their places (`check`). No program of uv runs
while the worker reads and writes here. A program of a worker that was killed
may run for a moment: it has the `uv` of its own job, and shares only the cache
with this one.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from dataclasses import dataclass, field, replace
from typing import Optional

from hearth_downloads.core.faults import Failed
from hearth_downloads.core.folders import (
    NEW,
    READ,
    Content,
    Measure,
    Size,
    look_at,
    move_aside,
    open_folder,
    permit,
    remove,
)
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.unpacked import UNPACKED, Unpacked

INSIDE = "/workspace"
ARCHIVE = "archive-v0"  # of the cache; one folder in it for each wheel
# How much of what one session may have is kept in the cache for all.
CACHE_FACTOR = 4
FILE_MAX = 16 << 20
ADVISORIES = "advisories"
PROFILE_WHEELS = "profile-wheels"
DIGESTS = "digests"
_LOCK = "lock"
_SPACE = "uv"
_CACHE = "cache"
_STAGE = "stage"
_KEPT = (_LOCK, _SPACE, ADVISORIES, PROFILE_WHEELS, UNPACKED, DIGESTS)


@dataclass(frozen=True)
class Inventory:
    """The content of the cache when the job began."""

    entries: frozenset[str] = frozenset()
    wheels: frozenset[str] = frozenset()  # the entries of ARCHIVE
    rest: Size = field(default_factory=Size)  # of all but what is in ARCHIVE
    whole: Size = field(default_factory=Size)


class Stage:
    """The folders of one job, held until the worker ends."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.workspace = os.path.join(job.work, _SPACE)
        self.path = os.path.join(self.workspace, _STAGE)
        self.new = os.path.join(self.path, "new")
        # Descriptors:
        self.work = self.lock = self.space = self.cache = self.folder = -1
        self.made: list[str] = ["new"]  # folders in the stage
        self.before = Inventory()
        self.unpacked: Optional[Unpacked] = None
        self.wheels: dict[str, Content] = {}  # in ARCHIVE, at the last look

    def open(self, gateway: Gateway) -> None:
        """Wait until no other worker writes, and make the folders anew."""
        self.take_lock(gateway)
        try:
            self._open_space()
            self._open_cache()
            self._bound_cache()
            self._make_digests()
        except OSError as error:
            raise self._fault(error) from None
        self.folder = self._make(_STAGE, self.space)

    def take_lock(self, gateway: Gateway) -> None:
        """Wait until no other worker writes, and say that first."""
        if self.try_lock():
            return
        gateway.progress("waiting for another job's end")
        with gateway.interrupted():
            while not self._lock(fcntl.LOCK_EX):
                pass  # the file that was locked has lost its name

    def try_lock(self) -> bool:
        """Return true if this worker has the lock, which it keeps."""
        return self._lock(fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _lock(self, how: int) -> bool:
        if self.lock >= 0:
            return True
        if self.work < 0:
            self.work = open_folder(self.job.work)
        lock = self._open_lock()
        try:
            fcntl.flock(lock, how)
            if _is_same(look_at(_LOCK, self.work), os.fstat(lock)):
                self.lock = lock
        except BlockingIOError:
            pass
        finally:
            if self.lock < 0:
                os.close(lock)
        return self.lock >= 0

    def _open_lock(self) -> int:
        """Open the file; what else has its name is removed."""
        for _ in range(2):
            about = look_at(_LOCK, self.work)
            if about is not None and not stat.S_ISREG(about.st_mode):
                remove(_LOCK, self.work, self.work)
            try:
                return os.open(
                    _LOCK,
                    os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC,
                    0o600,
                    dir_fd=self.work,
                )
            except OSError as error:
                if error.errno not in (errno.ELOOP, errno.EISDIR):
                    raise self._fault(error) from None
        raise Failed(f"{self.job.work}/{_LOCK} is no file: remove it")

    def _open_space(self) -> None:
        """Make uv's folder, with the cache of the job before."""
        before = ""
        if look_at(_SPACE, self.work) is not None:
            before = move_aside(_SPACE, self.work, self.work)
        self.space = self._make(_SPACE, self.work)
        if before:
            self._take_over(before)
        for name in os.listdir(self.work):
            # Others were left by a worker that was killed.
            if name not in _KEPT:
                remove(name, self.work, self.work)

    def _take_over(self, before: str) -> None:
        try:
            folder = open_folder(before, self.work)
        except OSError:
            return
        try:
            permit(_CACHE, folder)
            os.rename(_CACHE, _CACHE, src_dir_fd=folder, dst_dir_fd=self.space)
        except FileNotFoundError:
            pass
        finally:
            os.close(folder)

    def _open_cache(self) -> None:
        """Open the cache, without what is no part of it."""
        if self.is_folder(_CACHE, self.space):
            self.cache = open_folder(_CACHE, self.space)
            if not self.is_folder(ARCHIVE, self.cache):
                remove(ARCHIVE, self.cache, self.work)
            for name in os.listdir(self.cache):
                # Left by a uv that was killed.
                if name.startswith(".tmp"):
                    remove(name, self.cache, self.work)
        else:
            remove(_CACHE, self.space, self.work)
            self.cache = self._make(_CACHE, self.space)

    def _make_digests(self) -> None:
        """Make their folder; what else has its name is removed."""
        if not self.is_folder(DIGESTS, self.work):
            remove(DIGESTS, self.work, self.work)
            os.mkdir(DIGESTS, 0o700, dir_fd=self.work)

    def empty_cache(self) -> None:
        """Remove all that is in the cache; uv fills it again."""
        for name in os.listdir(self.cache):
            remove(name, self.cache, self.work)

    def open_archive(self) -> Optional[int]:
        """Return a descriptor of the wheels; None if there are none yet."""
        try:
            return open_folder(ARCHIVE, self.cache)
        except OSError:
            return None

    def _bound_cache(self) -> None:
        """Look once at all that is in the cache.

        Empty it if all jobs together have added too much to it. A job that is
        offline adds nothing, and has nothing else.
        """
        job = self.job
        most = Size(
            job.cache_bytes or CACHE_FACTOR * job.max_bytes,
            job.cache_files or CACHE_FACTOR * job.max_files,
        )
        measure = Measure(None if self.job.offline else most)
        measure.add(self.cache, (ARCHIVE,))
        rest = replace(measure.found)
        wheels: list[str] = []
        archive = self.open_archive()
        if archive is not None:
            try:
                measure.add(archive)
                if not measure.is_over:
                    self._remove_damaged(archive, measure.parts)
                wheels = os.listdir(archive)
            finally:
                os.close(archive)
        if measure.is_over:
            self.empty_cache()
            # So there are notes of no more wheels than the cache had.
            remove(DIGESTS, self.work, self.work)
            return
        self.before = Inventory(
            frozenset(os.listdir(self.cache)),
            frozenset(wheels),
            rest,
            measure.found,
        )

    def _remove_damaged(self, archive: int, found: dict[str, Content]) -> None:
        self.unpacked = Unpacked(self.work)
        for name in self.unpacked.find_damaged(found):
            remove(name, archive, self.work)
            del found[name]
        self.wheels = found

    def is_folder(self, name: str, parent: int) -> bool:
        """Return true if it is a folder of uv's user or the worker's."""
        about = look_at(name, parent)
        return (
            about is not None
            and stat.S_ISDIR(about.st_mode)
            and about.st_uid in (self.job.uid, os.geteuid())
        )

    def check(self) -> None:
        """Fail if uv has put anything in the place of a folder.

        It is removed, so that no later job meets it.
        """
        for folder in (self.space, self.cache, self.folder):
            os.fchmod(folder, 0o700)
        places: list[tuple[str, int, Optional[int]]] = [
            (_CACHE, self.space, self.cache),
            (ARCHIVE, self.cache, None),
            (_STAGE, self.space, self.folder),
            *((name, self.folder, None) for name in self.made),
        ]
        wrong = [place for place in places if not self._is_in_place(*place)]
        for name, parent, _ in wrong:
            remove(name, parent, self.work)
        if wrong:
            raise Failed(
                f"uv has put something else in the place of its folder "
                f"{wrong[0][0]}; that was removed, and the job has ended"
            )

    def _is_in_place(
        self, name: str, parent: int, opened: Optional[int]
    ) -> bool:
        """Return true for the opened folder; or for any folder, or none."""
        about = look_at(name, parent)
        if opened is None:
            return about is None or self.is_folder(name, parent)
        return self.is_folder(name, parent) and _is_same(
            about, os.fstat(opened)
        )

    def clear(self) -> None:
        """Remove all but the cache."""
        try:
            for name in os.listdir(self.space):
                if name != _CACHE:
                    remove(name, self.space, self.work)
            (self.unpacked or Unpacked(self.work)).write(self.wheels)
        except OSError as error:
            raise self._fault(error) from None

    def _fault(self, error: OSError) -> Failed:
        return Failed(
            f"{self.job.work} cannot be used: {error.strerror}; remove what is "
            "in that folder"
        )

    def _make(self, name: str, parent: int) -> int:
        """Make a folder of uv's; return its descriptor."""
        os.mkdir(name, 0o700, dir_fd=parent)
        folder = open_folder(name, parent)
        self.job.own(folder)
        return folder

    def inside(self, name: str) -> str:
        """Return the path of a file of the folder, as uv has it."""
        return f"{INSIDE}/{_STAGE}/{name}"

    def make_folder(self, name: str) -> str:
        """Make a folder for uv; return its path as uv has it."""
        os.close(self._make(name, self.folder))
        self.made.append(name)
        return self.inside(name)

    def write(self, name: str, content: bytes) -> str:
        """Write a file for uv; return its path as uv has it."""
        number = os.open(name, NEW, 0o644, dir_fd=self.folder)
        with open(number, "wb") as file:
            file.write(content)
            self.job.own(number)
        return self.inside(name)

    def read(self, name: str) -> str:
        """Return the text of a file that uv has written."""
        try:
            number = os.open(name, READ, dir_fd=self.folder)
        except OSError as error:
            raise Failed(
                f"uv has written no plain file {name}: {error.strerror}"
            ) from None
        about = os.fstat(number)
        if not stat.S_ISREG(about.st_mode) or about.st_size > FILE_MAX:
            os.close(number)
            raise Failed(f"uv has written no plain file {name}")
        with open(number, "rb") as file:
            return file.read(FILE_MAX).decode("utf-8", "replace")

    def remove_lock_of_uv(self) -> None:
        """Remove the lock file that uv leaves in the folder that it fills."""
        try:
            os.unlink("new/.lock", dir_fd=self.folder)
        except FileNotFoundError:
            pass


def _is_same(one: Optional[os.stat_result], other: os.stat_result) -> bool:
    return one is not None and os.path.samestat(one, other)
