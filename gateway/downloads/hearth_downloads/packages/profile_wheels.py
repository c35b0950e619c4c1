"""The empty wheels of the profile's packages (profile.py), kept for all jobs.

    profile-wheels/KEY/     those of one set of packages

To write them takes a fifth of a job's processor time. uv sees the folder, and
cannot write to it. One that another job has not finished is made again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from hearth_downloads.core.folders import (
    look_at,
    open_folder,
    permit,
    read_plain,
    remove,
)
from hearth_downloads.packages.job import Job
from hearth_downloads.packages.profile import Installed
from hearth_downloads.packages.stage import PROFILE_WHEELS, Stage

FOLDERS_MAX = 16
_MODE = 0o755  # uv may be another user


class ProfileWheels:
    """The folder of one set, made while the work folder is locked."""

    def __init__(
        self, job: Job, stage: Stage, installed: Iterable[Installed]
    ) -> None:
        self.stage = stage
        self.wheels = {one.filename: one.make_wheel() for one in installed}
        digest = hashlib.sha256()
        for name, content in sorted(self.wheels.items()):
            digest.update(name.encode() + b"\0" + content)
        self.key = digest.hexdigest()[:32]
        self.path = os.path.join(job.work, PROFILE_WHEELS, self.key)

    def keep(self) -> str:
        """Return the path of the folder, which has these wheels alone."""
        self._make_top()
        top = open_folder(PROFILE_WHEELS, self.stage.work)
        try:
            if not self._is_whole(top):
                names = os.listdir(top)
                full = len(names) >= FOLDERS_MAX
                for name in names if full else [self.key]:
                    remove(name, top, self.stage.work)
                self._make(top)
        finally:
            os.close(top)
        return self.path

    def _make_top(self) -> None:
        if not self.stage.is_folder(PROFILE_WHEELS, self.stage.work):
            remove(PROFILE_WHEELS, self.stage.work, self.stage.work)
            os.mkdir(PROFILE_WHEELS, 0o700, dir_fd=self.stage.work)
        permit(PROFILE_WHEELS, self.stage.work)

    def _is_whole(self, top: int) -> bool:
        """Return true if all are there as they were written.

        A machine that lost its power has cut files, and files of zeros.
        """
        if look_at(self.key, top) is None:
            return False
        try:
            folder = open_folder(self.key, top)
        except OSError:
            return False
        try:
            return set(os.listdir(folder)) == set(self.wheels) and all(
                read_plain(name, folder, len(text)) == text
                for name, text in self.wheels.items()
            )
        finally:
            os.close(folder)

    def _make(self, top: int) -> None:
        os.mkdir(self.key, _MODE, dir_fd=top)
        folder = open_folder(self.key, top)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            for name, content in self.wheels.items():
                number = os.open(name, flags, 0o644, dir_fd=folder)
                with open(number, "wb") as file:
                    file.write(content)
        finally:
            os.close(folder)
