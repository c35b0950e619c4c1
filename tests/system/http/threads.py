"""One thread of a process is stopped while the others go on, by ptrace."""

from __future__ import annotations

import ctypes
import os
import platform
from pathlib import Path
from types import TracebackType
from typing import Optional

from deadline import wait_for

_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17
_WALL = 0x40000000
# The numbers of poll(2) and ppoll(2).
_POLLS = {"x86_64": ("7", "271"), "aarch64": ("73",)}[platform.machine()]
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long] * 4
_libc.ptrace.restype = ctypes.c_long


def threads(pid: int) -> set[int]:
    return {int(name) for name in os.listdir(f"/proc/{pid}/task")}


def _ptrace(what: int, tid: int) -> None:
    if _libc.ptrace(what, tid, 0, 0) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace: {os.strerror(number)}")


class Frozen:
    """A context in which the thread does nothing. Linux wants the calls of
    one tracer to come from one thread: use it in one."""

    def __init__(self, tid: int) -> None:
        self.tid = tid

    def __enter__(self) -> Frozen:
        wait_for(self.stop, f"thread {self.tid} in a poll(2)")
        return self

    def stop(self) -> bool:
        """Only where it waits: elsewhere it may have a lock that all need."""
        _ptrace(_SEIZE, self.tid)
        _ptrace(_INTERRUPT, self.tid)
        os.waitpid(self.tid, _WALL)
        folder = Path(f"/proc/{self.tid}")
        state = (folder / "stat").read_text()
        assert state.rpartition(")")[2].split()[0] == "t"
        if (folder / "syscall").read_text().split()[0] in _POLLS:
            return True
        _ptrace(_DETACH, self.tid)
        return False

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        _ptrace(_DETACH, self.tid)
