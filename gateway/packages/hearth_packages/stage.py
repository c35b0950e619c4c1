"""The work folder, which uv's sandbox sees as /workspace.

    cache/          uv's cache
    stage/          this job's: files that uv reads and writes, and `new`
    lock            held by the one worker that writes

What lies here may have been written by uv. No program of uv runs while the
worker writes here, and `stage` is made anew by each job.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import time

from hearth_packages.faults import Failed
from hearth_packages.gateway import Gateway
from hearth_packages.job import Job

INSIDE = "/workspace"
FILE_MAX = 16 << 20
LOCK_SECONDS = 0.1


class Stage:
    """The folder of one job."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.path = os.path.join(job.work, "stage")
        self.new = os.path.join(self.path, "new")
        self.lock = -1

    def open(self, gateway: Gateway) -> None:
        """Wait until no other worker writes, and make the folder anew."""
        self._take_lock(gateway)
        self._own(self.job.work)
        self.clear()
        self._make(self.path)
        cache = os.path.join(self.job.work, "cache")
        if not os.path.isdir(cache):
            self._make(cache)
        for name in os.listdir(self.job.work):
            if name.startswith("init-"):  # a socket of a killed worker
                os.unlink(os.path.join(self.job.work, name))
        # What a uv that was killed has not finished.
        for name in os.listdir(cache):
            if name.startswith(".tmp"):
                shutil.rmtree(os.path.join(cache, name), ignore_errors=True)

    def _take_lock(self, gateway: Gateway) -> None:
        self.lock = os.open(
            os.path.join(self.job.work, "lock"),
            os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC,
            0o600,
        )
        while True:
            try:
                fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                gateway.check()
                time.sleep(LOCK_SECONDS)

    def clear(self) -> None:
        """Remove the folder."""
        try:
            if stat.S_ISDIR(os.lstat(self.path).st_mode):
                shutil.rmtree(self.path)
            else:
                os.unlink(self.path)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise Failed(
                f"{self.path} cannot be removed: {error.strerror}; remove it"
            ) from None

    def _make(self, path: str) -> None:
        os.mkdir(path, 0o700)
        self._own(path)

    def _own(self, path: str) -> None:
        """Give it to the user of uv's sandbox, which only root has to."""
        if os.geteuid() == 0:
            os.chown(path, self.job.uid, self.job.gid, follow_symlinks=False)

    def inside(self, name: str) -> str:
        """Return the path of a file of the folder, as uv has it."""
        return f"{INSIDE}/stage/{name}"

    def make_folder(self, name: str) -> str:
        """Make a folder for uv; return its path as uv has it."""
        self._make(os.path.join(self.path, name))
        return self.inside(name)

    def write(self, name: str, content: bytes) -> str:
        """Write a file for uv; return its path as uv has it."""
        path = os.path.join(self.path, name)
        number = os.open(
            path,
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC,
            0o644,
        )
        with open(number, "wb") as file:
            file.write(content)
        self._own(path)
        return self.inside(name)

    def read(self, name: str) -> str:
        """Return the text of a file that uv has written."""
        path = os.path.join(self.path, name)
        number = os.open(
            path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
        with open(number, "rb") as file:
            about = os.fstat(number)
            if not stat.S_ISREG(about.st_mode) or about.st_size > FILE_MAX:
                raise Failed(f"uv has written no plain file {name}")
            return file.read(FILE_MAX).decode("utf-8", "replace")

    def remove_lock_of_uv(self) -> None:
        """Remove the lock file that uv leaves in the folder that it fills."""
        try:
            os.unlink(os.path.join(self.new, ".lock"))
        except FileNotFoundError:
            pass
