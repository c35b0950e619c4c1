"""The files that were fetched, shared by all sessions of a gateway.

    lock                locks.py
    objects/SHA256      whole files, mode 0400; never written to again
    entries/KEY         the last file of a URL: its hash, and its server's facts
    partial/KEY         a file of which a part has come, and KEY.about
    jobs/NAME/          a job that runs (space.py), or was killed
    mirrors/            repositories (clone/mirrors.py)

KEY is the SHA-256 of the URL, or of the name of an object of Git LFS
(clone/contents.py). A file is found by that alone, and never by its hash: a
session that knows a hash would get what only another session could fetch, and
would see what others have. Its own URL is judged each time.

Everything here is renamed, made and removed while the index is locked. A file
that is removed stays readable for a worker that has opened it.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import time
from dataclasses import asdict, dataclass
from typing import Any, Optional, Protocol

from hearth_downloads.core.faults import Failed
from hearth_downloads.core.folders import (
    look_at,
    open_folder,
    open_plain,
    read_plain,
    remove,
)
from hearth_downloads.core.gateway import Gateway
from hearth_downloads.fetch.about import (
    ABOUT,
    ABOUT_MAX,
    BODY,
    About,
    parse_about,
    parse_object,
)
from hearth_downloads.fetch.job import Job
from hearth_downloads.fetch.locks import Locks
from hearth_downloads.fetch.space import (
    Space,
    open_left,
    read_about,
    write_new,
)
from hearth_downloads.fetch.url import Url

FILES_MAX = 10_000  # of each kind
PARTIAL_SECONDS = 7 * 86400
COPY_BYTES = 8 << 20
_OBJECTS, _ENTRIES, _PARTIAL, _JOBS = "objects", "entries", "partial", "jobs"
_FOLDERS = (_OBJECTS, _ENTRIES, _PARTIAL, _JOBS)
_KEY = re.compile(r"[0-9a-f]{64}")
_PART = re.compile(r"[0-9a-f]{64}(?:\.about)?")
_NAME = re.compile(r"[0-9a-f]{14}")
_BLOCK = 512  # the unit of st_blocks


@dataclass(frozen=True)
class Entry:
    """A file that a URL had when it was last asked for."""

    url: str
    sha256: str
    size: int
    about: About
    lists: str = ""  # of the job that has got it (job.py)


class Named(Protocol):
    """A name by which a file is found: a URL, or an object of Git LFS."""

    @property
    def text(self) -> str:
        """Return the whole name."""

    @property
    def key(self) -> str:
        """Return its SHA-256, the name of its entry."""


@dataclass(frozen=True)
class Kept:
    """A file that becomes one of the cache's; no program writes to it."""

    folder: int
    name: str
    file: int  # a descriptor of it


@dataclass(frozen=True)
class _Stored:
    """A file that may be removed for others."""

    used: float
    size: int
    folder: int
    name: str


class Cache:
    """The folder, and the job that has it."""

    def __init__(self, job: Job, gateway: Gateway) -> None:
        self.job = job
        self.gateway = gateway
        self.work = open_folder(job.work)
        self.locks = Locks(self.work, job.work)
        with self.locks.index():
            self.folders = {name: self._open(name) for name in _FOLDERS}

    def _open(self, name: str) -> int:
        """Open a folder; what else has its name is removed."""
        about = look_at(name, self.work)
        if about is not None and not stat.S_ISDIR(about.st_mode):
            os.unlink(name, dir_fd=self.work)
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=self.work)
        return open_folder(name, self.work)

    def clear_jobs(self) -> None:
        """Clear up after workers that were killed; the index is locked."""
        for name in os.listdir(self.folders[_JOBS]):
            if not _NAME.fullmatch(name):
                self._remove(name, _JOBS)
            elif self.locks.is_over(name):
                self._clear_left(name)

    def prepare(self) -> None:
        """Clear up after workers that were killed, and make room."""
        with self.locks.index():
            self.clear_jobs()
            self._remove_strange()
            # The rest of what the cache may have is for this job's file.
            self._bound(self.job.cache_most - self.job.max_bytes)

    def _remove(self, name: str, folder: str) -> None:
        """Remove it; a program of a killed worker may be in the way."""
        with contextlib.suppress(OSError):
            remove(name, self.folders[folder], self.folders[_JOBS])

    def _clear_left(self, name: str) -> None:
        """Remove a job's folder, and keep the part of a file that it has."""
        with contextlib.suppress(OSError):
            key, space = open_left(self.folders[_JOBS], name)
            if space is not None:
                try:
                    self._keep_part(key, space)
                finally:
                    os.close(space)
        self._remove(name, _JOBS)

    def _keep_part(self, key: str, space: int) -> None:
        about = read_about(ABOUT, space)
        body = open_plain(BODY, space)
        if body is None:
            return
        size = os.fstat(body).st_size
        os.close(body)
        if (
            about is None
            or not about.range_validator
            or not _KEY.fullmatch(key)
            or not 0 < size <= self.job.cache_most
        ):
            return
        partial = self.folders[_PARTIAL]
        self._remove_part(key)
        write_new(f"{key}.about", partial, about.encode().encode())
        os.rename(BODY, key, src_dir_fd=space, dst_dir_fd=partial)

    def _remove_part(self, key: str) -> None:
        self._remove(key, _PARTIAL)
        self._remove(f"{key}.about", _PARTIAL)

    def _remove_strange(self) -> None:
        """Remove what has no name that is given here."""
        for folder, names in (
            (_OBJECTS, _KEY),
            (_ENTRIES, _KEY),
            (_PARTIAL, _PART),
        ):
            for name in os.listdir(self.folders[folder]):
                if not names.fullmatch(name):
                    self._remove(name, folder)

    def _bound(self, most: int) -> None:
        """Remove what was not used for longest, until there is no more."""
        for part in self._list(_PARTIAL):
            if part.used < time.time() - PARTIAL_SECONDS:
                self._remove(part.name, _PARTIAL)
        files = self._list(_OBJECTS) + self._list(_PARTIAL)
        self._remove_old(files, sum(one.size for one in files) - most)
        self._bound_entries()

    def _remove_old(self, files: list[_Stored], least: int) -> None:
        """Remove the least recently used, of these many bytes together."""
        partial, count = self.folders[_PARTIAL], len(files)
        for one in sorted(files, key=lambda one: one.used):
            if least <= 0 and count <= FILES_MAX:
                break
            folder = _PARTIAL if one.folder == partial else _OBJECTS
            self._remove(one.name, folder)
            least, count = least - one.size, count - 1

    def make_room(self, name: Named, size: int) -> None:
        """Remove files of that size together, because the disk is full.

        The name's own part goes first: its copy may be what there is no room
        for. Then go the files that were not used for longest.
        """
        with self.locks.index():
            part = look_at(name.key, self.folders[_PARTIAL])
            self._remove_part(name.key)
            freed = part.st_blocks * _BLOCK if part else 0
            files = self._list(_OBJECTS) + self._list(_PARTIAL)
            self._remove_old(files, size - freed)
            self._bound_entries()

    def _bound_entries(self) -> None:
        objects = set(os.listdir(self.folders[_OBJECTS]))
        entries = sorted(self._list(_ENTRIES), key=lambda one: -one.used)
        for number, one in enumerate(entries):
            entry = self._read(one.name)
            if (
                number >= FILES_MAX
                or entry is None
                or entry.sha256 not in objects
            ):
                self._remove(one.name, _ENTRIES)

    def _list(self, folder: str) -> list[_Stored]:
        number = self.folders[folder]
        found = []
        for name in os.listdir(number):
            about = look_at(name, number)
            if about is not None:
                size = about.st_blocks * _BLOCK
                found.append(_Stored(about.st_mtime, size, number, name))
        return found

    def _read(self, key: str) -> Optional[Entry]:
        """Return the entry of a URL's key, None if there is none."""
        try:
            text = read_plain(key, self.folders[_ENTRIES], 2 * ABOUT_MAX)
            found: dict[str, Any] = parse_object(text)
            found["about"] = parse_about(found["about"])
            entry = Entry(**found)
        except (ValueError, TypeError, KeyError):
            return None
        is_right = (
            isinstance(entry.url, str)
            and isinstance(entry.sha256, str)
            and _KEY.fullmatch(entry.sha256)
            and type(entry.size) is int
            and isinstance(entry.lists, str)
        )
        return entry if is_right else None

    def find(self, name: Named) -> tuple[Optional[Entry], int]:
        """Return what that name had, and a descriptor of the file.

        None, and no descriptor, if it is not here.
        """
        entry = self._read(name.key)
        if entry is None or entry.url != name.text:
            return None, -1
        number = open_plain(entry.sha256, self.folders[_OBJECTS])
        if number is None:
            return None, -1
        about = os.fstat(number)
        is_kept = about.st_uid == os.geteuid() and not about.st_mode & 0o222
        if not is_kept or about.st_size != entry.size:
            os.close(number)
            return None, -1
        return entry, number

    def mark_used(self, name: Named, number: int) -> None:
        """Note that the file was asked for: others are removed before it."""
        with contextlib.suppress(OSError):
            os.utime(number)
            os.utime(
                name.key,
                dir_fd=self.folders[_ENTRIES],
                follow_symlinks=False,
            )

    def make_job(self) -> tuple[str, int, str]:
        """Make a folder for this job; return its name, descriptor and path."""
        name = self.locks.take_job()
        jobs = self.folders[_JOBS]
        os.mkdir(name, 0o700, dir_fd=jobs)
        path = os.path.join(self.job.work, _JOBS, name)
        return name, open_folder(name, jobs), path

    def make_space(self, url: Url) -> tuple[str, Space]:
        """Return the name and the folder of this job."""
        name, folder, path = self.make_job()
        try:
            return name, Space(self.job, folder, path, url.key)
        finally:
            os.close(folder)

    def put_part(self, url: Url, space: Space) -> Optional[About]:
        """Copy the part that an earlier job has got; return its facts.

        It is a copy, because a program of a killed worker may still write to
        the part itself.
        """
        partial = self.folders[_PARTIAL]
        with self.locks.index():
            about = read_about(f"{url.key}.about", partial)
            part = open_plain(url.key, partial)
        if part is None:
            return None
        with open(part, "rb", buffering=0) as source:
            if not about or os.fstat(part).st_size > self.job.max_bytes:
                return None
            with open(space.create(BODY), "wb", buffering=0) as target:
                self._copy(source.fileno(), target.fileno())
        space.put_about(about)
        return about

    def _copy(self, source: int, target: int) -> None:
        left = self.job.max_bytes
        while left > 0:
            copied = os.sendfile(target, source, None, min(left, COPY_BYTES))
            if copied == 0:
                return
            left -= copied
            self.gateway.check()

    def drop_part(self, url: Url) -> None:
        """Remove the part that an earlier job has got.

        A part that is too large for this job may serve another profile.
        """
        with self.locks.index():
            part = look_at(url.key, self.folders[_PARTIAL])
            if part is None or part.st_size <= self.job.max_bytes:
                self._remove_part(url.key)

    def end(self, name: str, keeps_part: bool) -> None:
        """Remove this job's folder; the part may serve a later job."""
        with self.locks.index():
            if keeps_part:
                self._clear_left(name)
            else:
                self._remove(name, _JOBS)

    def keep(self, name: Named, kept: Kept, entry: Entry) -> None:
        """Make an object of the file, and the entry of that name of it."""
        body = kept.file
        if os.geteuid() == 0:
            os.fchown(body, 0, 0)
        os.fchmod(body, 0o400)
        os.fsync(body)
        objects, entries = self.folders[_OBJECTS], self.folders[_ENTRIES]
        new = f"{name.key}.new"
        with self.locks.index():
            os.rename(
                kept.name,
                entry.sha256,
                src_dir_fd=kept.folder,
                dst_dir_fd=objects,
            )
            found = look_at(entry.sha256, objects)
            if not found or not os.path.samestat(found, os.fstat(body)):
                self._remove(entry.sha256, _OBJECTS)
                raise Failed("the file was changed while it was kept")
            self._remove(new, _ENTRIES)
            write_new(new, entries, json.dumps(asdict(entry)).encode())
            os.rename(new, name.key, src_dir_fd=entries, dst_dir_fd=entries)

    def bound(self) -> None:
        """Remove what is more than all files together may have."""
        with self.locks.index():
            self._bound(self.job.cache_most)
