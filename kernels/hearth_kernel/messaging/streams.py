"""sys.stdout and sys.stderr of a kernel."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, Callable, Optional

from hearth_kernel import _link


class Stream(io.TextIOBase):
    """Text goes to the link; bytes and other programs use the descriptor.

    The descriptor is a pipe that the link reads, so both keep their order.
    """

    encoding = "utf-8"
    errors = "replace"
    newlines = None
    line_buffering = True
    write_through = False
    mode = "w"

    def __init__(
        self, name: str, descriptor: int, write: Callable[[str], int]
    ) -> None:
        super().__init__()
        self.name = name
        self.buffer: Any = io.FileIO(descriptor, "wb", closefd=False)
        self._descriptor = descriptor
        # On the instance, so that print() reaches C without a Python frame.
        self.write = write  # type: ignore[method-assign]
        self.flush = _link.flush  # type: ignore[method-assign]

    def fileno(self) -> int:
        return self._descriptor

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def reconfigure(self, **_: Any) -> None:
        """Whatever is asked for, Jupyter's streams are UTF-8."""

    def close(self) -> None:
        """A closed stream would make a session mute: it stays open."""

    def __del__(self) -> None:
        """Nothing to flush: the link has it."""


class SilentStream(io.TextIOBase):
    """Where a zygote's warming up prints to."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        return len(text)


def stdout() -> Stream:
    """Make the stream for sys.stdout."""
    return Stream("<stdout>", 1, _link.write_stdout)


def stderr() -> Stream:
    """Make the stream for sys.stderr."""
    return Stream("<stderr>", 2, _link.write_stderr)


def line() -> Optional[int]:
    """Return how many bytes the last line of sys.stdout has.

    None if the session's code has another object in its place.
    """
    stream = sys.stdout
    if isinstance(stream, Stream) and stream.name == "<stdout>":
        return _link.line()
    return None


def flush_at_exit() -> None:
    """Let os._exit say what was printed before it."""
    leave = os._exit

    def _exit(status: int) -> None:
        _link.flush()
        leave(status)

    os._exit = _exit  # type: ignore[assignment]
