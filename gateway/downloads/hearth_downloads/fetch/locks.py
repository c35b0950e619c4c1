"""Locks that workers on one folder take, all in one file.

They are locks of the system on bytes of the file, and belong to a process: its
end is their end, whatever it has started, and nothing of them is left. So the
file is never opened twice.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from hearth_downloads.core.faults import Failed
from hearth_downloads.core.folders import look_at
from hearth_downloads.core.gateway import Gateway

NAME = "lock"
_INDEX = 0
_URLS = 1 << 60
_JOBS = 1 << 61


class Locks:
    """The file, held open until the worker ends."""

    def __init__(self, work: int, path: str) -> None:
        for _ in range(10):
            try:
                self.file = os.open(
                    NAME,
                    os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC,
                    0o600,
                    dir_fd=work,
                )
            except OSError as error:
                raise Failed(
                    f"{path}/{NAME} is no file that can be used "
                    f"({error.strerror}): remove it"
                ) from None
            found, opened = look_at(NAME, work), os.fstat(self.file)
            if found and os.path.samestat(found, opened):
                break
            os.close(self.file)  # its name has been taken from it
        if not stat.S_ISREG(os.fstat(self.file).st_mode):
            raise Failed(f"{path}/{NAME} is no file: remove it")

    def _try(self, place: int) -> bool:
        try:
            self._wait(place, fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return False
        return True

    def _wait(self, place: int, how: int = 0) -> None:
        fcntl.lockf(self.file, fcntl.LOCK_EX | how, 1, place, os.SEEK_SET)

    def _free(self, place: int) -> None:
        fcntl.lockf(self.file, fcntl.LOCK_UN, 1, place, os.SEEK_SET)

    def take_url(self, key: str, gateway: Gateway) -> None:
        """Wait until no other job has that URL; say first that it waits."""
        place = _URLS | int(key[:14], 16)
        if self._try(place):
            return
        gateway.progress("waiting for another job with this URL")
        with gateway.interrupted():
            self._wait(place)

    def take_job(self) -> str:
        """Return a name for a job, by which others see that it runs."""
        while True:
            number = int.from_bytes(os.urandom(7), "big")
            if self._try(_JOBS | number):
                return f"{number:014x}"

    def is_over(self, name: str) -> bool:
        """Return true if the job of that name has ended; not for one's own."""
        place = _JOBS | int(name, 16)
        if not self._try(place):
            return False
        self._free(place)
        return True

    @contextmanager
    def index(self) -> Iterator[None]:
        """Hold what all workers change; none holds it for long."""
        self._wait(_INDEX)
        try:
            yield
        finally:
            self._free(_INDEX)
