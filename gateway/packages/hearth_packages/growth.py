"""What uv has added to its cache during a job, in bytes and files.

A small download can become a large folder. So the worker looks while uv
unpacks, and not only when it has done so.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator

from hearth_packages.faults import Refused
from hearth_packages.job import Job

# uv's own: metadata of the index and of interpreters, besides the packages.
SPARE_BYTES = 64 << 20
SPARE_FILES = 10_000
LOOK_SECONDS = 0.25
_ARCHIVE = "archive-v0"  # one folder in it for each wheel


class Growth:
    """Knows what was in the cache before."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.cache = os.path.join(job.work, "cache")
        self.before = set(self._entries())
        self.next_look = 0.0

    def _entries(self) -> Iterator[str]:
        """Yield the folders of wheels, and those that uv makes anew."""
        for folder in (self.cache, os.path.join(self.cache, _ARCHIVE)):
            try:
                names = os.listdir(folder)
            except FileNotFoundError:
                continue
            for name in names:
                if name != _ARCHIVE:
                    yield os.path.join(folder, name)

    def _new(self) -> list[str]:
        return [path for path in self._entries() if path not in self.before]

    def look(self) -> None:
        """Refuse what has become too much; cheap, and done now and then."""
        now = time.monotonic()
        if now < self.next_look:
            return
        self.measure()
        spent = time.monotonic() - now
        self.next_look = now + max(LOOK_SECONDS, 10 * spent)

    def measure(self) -> None:
        """Refuse what has become too much."""
        size = count = 0
        for path in self._new():
            for folder, folders, files in os.walk(path):
                count += len(folders) + len(files)
                for name in files:
                    size += _size(os.path.join(folder, name))
                if size > self.job.max_bytes + SPARE_BYTES:
                    raise too_many_bytes(self.job)
                if count > self.job.max_files + SPARE_FILES:
                    raise too_many_files(self.job)

    def take_back(self) -> None:
        """Remove what the job has added."""
        for path in self._new():
            shutil.rmtree(path, ignore_errors=True)


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0  # uv has moved it


def too_many_bytes(job: Job) -> Refused:
    """Return the fault of packages that are too large."""
    return Refused(
        f"the session's packages would have more than {job.max_bytes} bytes, "
        f"which {job.setting('max_bytes')} permits: ask for fewer or smaller "
        "ones"
    )


def too_many_files(job: Job) -> Refused:
    """Return the fault of packages with too many files."""
    return Refused(
        f"the session's packages would have more than {job.max_files} files, "
        f"which {job.setting('max_files')} permits: ask for fewer or smaller "
        "ones"
    )
