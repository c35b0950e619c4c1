"""Measures what uv has added to its folder during a job, on disk and in files.

A small download can become a large folder, and a small page of an index a
large file. So the worker looks while uv works, and not only when it has ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from typing import Optional

from hearth_downloads.core.faults import Refused
from hearth_downloads.core.folders import Measure, Size, remove
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.stage import ARCHIVE, Stage

# uv's own: metadata of the index and of interpreters, besides the packages.
SPARE_BYTES = 64 << 20
SPARE_FILES = 10_000
LOOK_SECONDS = 0.25


class Growth:
    """Compares the folder with what was in it before.

    The wheels that were there before are many, and uv leaves them as they are.
    So most looks leave them out, and some do not.
    """

    def __init__(self, job: Job, stage: Stage) -> None:
        self.job = job
        self.stage = stage
        self.before = stage.before
        self.next_look = self.next_whole = 0.0

    def _measure(
        self, without: Collection[str], most: Optional[Size] = None
    ) -> Measure:
        """Measure all of uv's folder, without those wheels."""
        measure = Measure(most)
        measure.add(self.stage.cache, (ARCHIVE,))
        archive = self.stage.open_archive()
        if archive is not None:
            try:
                measure.add(archive, without)
            finally:
                os.close(archive)
        if not without and not measure.is_over:
            self.stage.wheels = measure.parts
        # An installed file is a second name of one in the cache.
        measure.add(self.stage.space, ("cache",))
        return measure

    def look(self) -> None:
        """Refuse what has become too much; cheap, and done now and then."""
        now = time.monotonic()
        if now < self.next_look:
            return
        if now < self.next_whole:
            self._refuse(self.before.wheels, self.before.rest)
            spent = time.monotonic() - now
        else:
            self.measure()
            spent = 0.0
            self.next_whole = now + 20 * (time.monotonic() - now)
        self.next_look = time.monotonic() + max(LOOK_SECONDS, 10 * spent)

    def measure(self) -> None:
        """Refuse what has become too much."""
        self._refuse((), self.before.whole)

    def _refuse(self, without: Collection[str], before: Size) -> None:
        times = 2 if self.job.is_copied else 1
        most = Size(
            before.size + times * self.job.max_bytes + SPARE_BYTES,
            before.count + times * self.job.max_files + SPARE_FILES,
        )
        measure = self._measure(without, most)
        if measure.is_deep:
            raise Refused("a package has folders that are too deep")
        if measure.found.size > most.size:
            raise too_many_bytes(self.job)
        if measure.found.count > most.count:
            raise too_many_files(self.job)

    def take_back(self) -> None:
        """Remove what the job has added.

        Only the size shows what it has added to folders that were there, such
        as that of the index's pages: then all of the cache goes.
        """
        stage = self.stage
        stage.clear()
        for name in os.listdir(stage.cache):
            if name not in self.before.entries:
                remove(name, stage.cache, stage.work)
        archive = stage.open_archive()
        if archive is not None:
            try:
                for name in os.listdir(archive):
                    if name not in self.before.wheels:
                        remove(name, archive, stage.work)
            finally:
                os.close(archive)
        left = self._measure(())
        if (
            left.is_deep
            or left.found.size > self.before.whole.size + SPARE_BYTES
        ):
            stage.empty_cache()


def too_many_bytes(job: Job) -> Refused:
    """Return the fault of packages that are too large."""
    return Refused(
        f"the {job.whose}'s packages would have more than {job.max_bytes} "
        f"bytes, which {job.setting('max_bytes')} permits: ask for fewer or "
        "smaller ones",
        rule="max_bytes",
    )


def too_many_files(job: Job) -> Refused:
    """Return the fault of packages with too many files."""
    return Refused(
        f"the {job.whose}'s packages would have more than {job.max_files} "
        f"files, which {job.setting('max_files')} permits: ask for fewer or "
        "smaller ones",
        rule="max_files",
    )
